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
	var finished, former *time.Time // the end of the last run, and of one after which the container was to run again
	var reported time.Time          // when the end of the last run was first observed
	stale := false                  // a date lies before the pod's creation: the container's dates are those of a former pod
	for _, v := range l.versions {
		for _, c := range v.Pod.Containers {
			switch {
			case c.Name != container:
				continue
			case c.Finished == nil || v.Pod.restarts():
				finished, former = nil, cmp.Or(c.Finished, c.Former)
			default:
				if finished == nil {
					reported = v.At
				}
				finished = c.Finished
			}
			stale = stale || isBefore(c.Started, v.Created) || isBefore(c.Finished, v.Created)
			if c.Started == nil {
				continue
			}
			if u.start == nil {
				u.number = v.number
			}
			u.first(c.Started, v.Created)
		}
	}
	if u.start == nil {
		return u
	}
	switch {
	case finished != nil && stale:
		u.end = within(*u.start, reported).after(*u.start)
	case finished != nil:
		u.end = exactly(later(finished, u.start)).after(*u.start)
	case l.gone == nil:
	case former != nil: // between two runs: the former one was the last, or there was another that nobody reported
		u.end = within(*later(former, u.start), l.gone.At).after(*u.start)
	default: // deleted by force: nobody reported its end
		u.end = within(latest(*u.start, l.asked, l.before(l.gone)), l.gone.At).after(*u.start)
		u.end.unproven = true
	}
	return u
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
