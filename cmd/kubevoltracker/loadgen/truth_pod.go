package loadgen

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// use is how an account shows the use of a container.
type use struct {
	number uint64     // the resource version of the first state that showed its start
	start  *time.Time // nil if it has not started
	end    want
}

// first takes a reported start: the earliest counts. A player of kubelets that is behind may write a start twice, with two
// dates.
func (u *use) first(started, created *time.Time) {
	if started = later(started, created); u.start == nil || started.Before(*u.start) {
		u.start = started
	}
}

// useOf follows a container through the states of its pod: a use lasts from the first start to the last end. While a
// container runs again, or waits to, its use goes on. A player of kubelets that is behind may write an end twice, too, with two dates in either
// order: what the API server has last counts.
func useOf(l *life, container string) use {
	u := use{end: absent}
	var r lastRun
	for _, v := range l.versions {
		for _, c := range v.Pod.Containers {
			if c.Name != container {
				continue
			}
			r.take(v, &c)
			if c.Started == nil {
				continue
			}
			if u.start == nil {
				u.number = v.number
			}
			u.first(c.Started, v.Created)
		}
	}
	if u.start != nil {
		u.end = r.end(l, *u.start)
	}
	return u
}

// lastRun is the last run of a container, as the states of a pod show it.
type lastRun struct {
	finished *time.Time // its end; nil if it goes on
	reported time.Time  // when that was first observed
	former   *time.Time // the end of the run before, if the container was to run again
	stale    bool       // a date lies before the pod's creation: the dates are those of a former pod
}

func (r *lastRun) take(v version, c *ContainerState) {
	r.stale = r.stale || isBefore(c.Started, v.Created) || isBefore(c.Finished, v.Created)
	if c.Finished == nil || v.Pod.restarts() {
		r.finished, r.former = nil, cmp.Or(c.Finished, c.Former)
		return
	}
	if r.finished == nil {
		r.reported = v.At
	}
	r.finished = c.Finished
}

// end returns when a use that began at start ended.
func (r *lastRun) end(l *life, start time.Time) want {
	switch {
	case r.finished != nil && r.stale:
		return within(start, r.reported).after(start)
	case r.finished != nil:
		return exactly(later(r.finished, &start)).after(start)
	case l.gone == nil:
		return absent
	case r.former != nil: // between two runs: the former one was the last, or there was another that nobody reported
		return within(*later(r.former, &start), l.gone.At).after(start)
	}
	// Deleted by force: nobody reported its end.
	end := within(latest(start, l.asked, l.before(l.gone)), l.gone.At).after(start)
	end.unproven = true
	return end
}

// restarts reports whether a container that has ended runs again.
func (p *PodState) restarts() bool {
	over := p.Phase == string(corev1.PodSucceeded) || p.Phase == string(corev1.PodFailed)
	return p.Restarts && !p.Deleting && !over
}

func isBefore(a, b *time.Time) bool { return a != nil && a.Before(*b) }

// later returns the later of two moments. Where pods of one name follow each other, a player of kubelets that is behind
// (kwok) may write the status of the former pod into the new one: nothing in a pod happened before its creation.
func later(a, b *time.Time) *time.Time {
	if a.Before(*b) {
		return b
	}
	return a
}

// addPod adds the rows of a pod, its containers and its mounts.
func (t *truth) addPod(l *life) {
	p := l.last().Pod
	r := row{
		"namespace": text(Namespace), "name": text(l.name), "phase": text(p.Phase), "node": text(p.Node), "owner": text(p.Owner),
		"created_at": exactly(l.first().Created), "deleted_at": l.deleted(), "started_at": absent, "finished_at": absent,
	}
	t.rows["pods"][keyOf(l.uid)] = r
	for _, c := range p.Containers {
		u := useOf(l, c.Name)
		t.rows["containers"][keyOf(l.uid, c.Name)] = row{"started_at": exactly(u.start), "finished_at": u.end}
		if u.start == nil {
			continue
		}
		r["started_at"], r["finished_at"] = exactly(u.start), u.end // the pods of a run have one container
		for _, m := range p.Mounts {
			if m.Container == c.Name {
				t.rows["mounts"][keyOf(l.uid, c.Name, m.Volume, m.Path)] = t.mount(l, &m, u)
			}
		}
	}
}

// mount returns the row of a mount of a pod's container that has started.
func (t *truth) mount(pod *life, m *MountState, u use) row {
	r := row{
		"namespace": text(Namespace), "source_kind": text(m.Source), "claim_name": text(m.Claim), "claim_uid": text(""), "volume_uid": text(""),
		"started_at": exactly(u.start).after(*pod.first().Created), "ended_at": u.end,
	}
	claim, bound := t.claimAt(m.Claim, u.number), u.number
	if m.Ephemeral { // a player of kubelets may start the pod before the claim is made or bound
		claim, bound = t.claimOf(pod.uid, m.Claim), ever
	}
	if claim == nil {
		return r
	}
	r["claim_uid"] = text(claim.uid)
	if s := t.boundTo(claim.uid, bound); s != nil {
		r["volume_uid"], r["source_kind"] = text(s.volume), text(t.life[s.volume].last().Volume.Source)
	}
	return r
}

// claimOf returns the claim that was made for a pod under a name; nil if there is none.
func (t *truth) claimOf(pod, name string) *life {
	for _, l := range t.life {
		if l.kind == ClaimKind && l.name == name && len(l.versions) > 0 && l.last().Claim.Pod == pod {
			return l
		}
	}
	return nil
}

// claimAt returns the claim that had a name at a resource version: the youngest that existed by then. A claim stays
// until its pods are over, so that this is the claim of a pod that started then.
func (t *truth) claimAt(name string, number uint64) (youngest *life) {
	if name == "" {
		return nil
	}
	for _, l := range t.life {
		if l.kind == ClaimKind && l.name == name && len(l.versions) > 0 && l.first().number < number &&
			(youngest == nil || l.first().number > youngest.first().number) {
			youngest = l
		}
	}
	return youngest
}
