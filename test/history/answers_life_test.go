package history

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// change is an event of an object that is no beginning or end of its life.
type change struct {
	at              fact.Time
	of              any // *volume, *claim or *pod
	action, details string
}

// objectName is an object as the lives have it.
func objectName(o any) string {
	switch o := o.(type) {
	case *volume:
		return "PersistentVolume/" + o.name
	case *claim:
		return "PersistentVolumeClaim/" + o.namespace + "/" + o.name
	case *pod:
		return "Pod/" + o.namespace + "/" + o.name
	}
	return ""
}

// subjects are the objects of a cluster whose lives a report tells.
type subjects struct {
	volumes  []*volume
	claims   []*claim
	pods     []*pod
	bindings []*binding
	mounts   []mount
	ofClaims bool // what happened to the volumes counts only while the claims had them
}

// takes reports whether something that happened to a volume, or lasted, counts.
func (s subjects) takes(v *volume, began, ended fact.Time) bool {
	its := func(b *binding) bool { return b.volume == v }
	while := func(b *binding) bool {
		return its(b) && began <= cmp.Or(b.released.at, endOfTime()) && cmp.Or(ended, endOfTime()) >= b.bound
	}
	return slices.Contains(s.volumes, v) && (!s.ofClaims || !slices.ContainsFunc(s.bindings, its) || slices.ContainsFunc(s.bindings, while))
}

// life is a row of a life: what lasts has a duration, and what happened at a moment has none.
type life struct {
	began                  fact.Time
	ended                  end
	lasts                  bool
	event, object, details string
}

// over is when a life ended, or now.
func (l life) over() fact.Time {
	switch {
	case !l.lasts:
		return l.began
	case l.ended.at == 0:
		return now()
	}
	return l.ended.at
}

func (l life) row(cluster string) row {
	r := row{
		"cluster": cluster, "started_at": l.began, "ended_at": l.ended.at, "ended_not_before": l.ended.unsure(), "lasted_seconds": nil, "event": l.event,
		"object": l.object, "details": l.details, "actor": "",
	}
	if l.lasts {
		r["lasted_seconds"] = lasted(l.began, l.ended.at)
	}
	return r
}

// live returns the lives of some objects as rows, in a window.
func (m *model) live(s subjects, w window) (rows []row) {
	var all []life
	for _, v := range s.volumes {
		details := v.source.kind + " "
		if v.source.kind == "csi" {
			details += v.source.path + " "
		}
		all = append(all, life{v.created, v.gone, true, "exists", objectName(v), strings.Trim(details+v.class, " ")})
	}
	for _, c := range s.claims {
		details := c.class
		if c.owner != "" {
			details += " of " + c.owner
		}
		all = append(all, life{c.created, c.gone, true, "exists", objectName(c), strings.Trim(details, " ")})
	}
	for _, b := range s.bindings {
		all = append(all, life{b.bound, b.released, true, "bound", objectName(b.claim), "to volume " + b.volume.name})
	}
	for _, p := range s.pods {
		all = append(all, p.life())
	}
	for _, u := range s.mounts {
		all = append(all, u.life())
	}
	all = append(all, m.attachedTo(s)...)
	for _, c := range m.changesOf(s) {
		all = append(all, life{c.at, end{}, false, c.action, objectName(c.of), c.details})
	}
	all = slices.DeleteFunc(all, func(l life) bool { return l.began == 0 }) // it has no place in time
	for _, l := range append(all, m.unwatched(all)...) {
		if l.lasts && w.overlaps(l.began, l.ended.at) || !l.lasts && l.began >= w.since && l.began <= w.until {
			rows = append(rows, l.row(m.cluster))
		}
	}
	return rows
}

// attachedTo returns the attachments of some volumes, also those that wait.
func (m *model) attachedTo(s subjects) (all []life) {
	for _, a := range m.attached {
		if !a.known {
			continue
		}
		l := life{a.created, end{a.gone, a.gone}, true, "attaching", "Node/" + a.node, strings.Trim("by "+a.volume.source.driver+" "+a.seenFailure, " ")}
		if a.seenAttached {
			l.began, l.event = a.at, "attached"
		}
		if s.takes(a.volume, l.began, a.gone) {
			all = append(all, l)
		}
	}
	return all
}

func (p *pod) life() life {
	l := life{p.started(), p.gone, true, "ran", objectName(p), "on node " + p.node}
	if l.began == 0 {
		l.event, l.began = "waited", p.created
	}
	if at := p.finished(); at != 0 {
		l.ended = end{at, at}
	}
	if p.workload != "" {
		l.details += " for " + workloadOf(p)
	}
	l.details = strings.Trim(l.details, " ")
	return l
}

func (m mount) life() life {
	details := cmp.Or(m.store.claimName, m.store.name) + " in " + m.container.name + " at " + m.point.path
	if m.point.readOnly {
		details += " read-only"
	}
	if m.pod.workload != "" {
		details += " for " + workloadOf(m.pod)
	}
	if reason := m.container.seen.reason; reason != "" {
		details += ": " + reason
	}
	return life{m.started(), m.ended(), true, "mounted", objectName(m.pod), details}
}

// unwatched returns the gaps of coverage between the first and the last moment of some lives.
func (m *model) unwatched(all []life) (gaps []life) {
	if len(all) == 0 {
		return nil
	}
	first, last := all[0].began, all[0].over()
	for _, l := range all {
		first, last = min(first, l.began), max(last, l.over())
	}
	for i := range m.spans[1:] {
		if from, to := m.spans[i][1], m.spans[i+1][0]; from < last && to > first {
			gaps = append(gaps, life{from, end{to, to}, true, "unwatched", "", "what ended then has bounds; more may have happened"})
		}
	}
	return gaps
}

// changesOf returns the changes of some objects.
func (m *model) changesOf(s subjects) (list []change) {
	for _, r := range m.resizes {
		c := change{r.at, r.claim, r.action, r.before + " → " + r.behind}
		if r.volume != nil {
			c.of = r.volume
		}
		list = append(list, c)
	}
	list = append(list, m.changes...)
	return slices.DeleteFunc(list, func(c change) bool {
		switch o := c.of.(type) {
		case *volume:
			return !s.takes(o, c.at, c.at)
		case *claim:
			return !slices.Contains(s.claims, o)
		case *pod:
			return !slices.Contains(s.pods, o)
		}
		return true
	})
}

func named(o any, name string) bool {
	switch o := o.(type) {
	case *claim:
		return o.known && (o.uid == name || o.namespace+"/"+o.name == name)
	case *pod:
		return o.known && (o.uid == name || o.namespace+"/"+o.name == name)
	}
	return false
}

// lives answers a report on the life of what it chooses in each cluster.
func (h *history) lives(flags map[string]string, of func(m *model) subjects) (rows []row) {
	f := h.choose(flags)
	w := h.window(flags, always, false)
	for _, m := range h.models {
		if f.takes(m, "", "", nil, "") {
			rows = append(rows, m.live(of(m), w)...)
		}
	}
	return rows
}

func volumeLife(h *history, flags map[string]string) []row {
	name := h.volumeName()
	flags["volume"] = name
	return h.lives(flags, func(m *model) (s subjects) {
		s.volumes = m.hadVolumes(name)
		for _, c := range m.claims {
			bound := slices.ContainsFunc(m.bindings, func(b *binding) bool { return b.known && b.claim == c && slices.Contains(s.volumes, b.volume) })
			if c.known && (bound || slices.Contains(s.volumes, c.volume)) {
				s.claims = append(s.claims, c)
			}
		}
		for _, b := range m.bindings {
			if b.known && slices.Contains(s.volumes, b.volume) {
				s.bindings = append(s.bindings, b)
			}
		}
		for _, u := range m.mounts() {
			if u.volume() != nil && slices.Contains(s.volumes, u.volume()) {
				s.mounts = append(s.mounts, u)
			}
		}
		return s
	})
}

func claimLife(h *history, flags map[string]string) []row {
	list := h.models[h.rnd.IntN(len(h.models))].claims
	c := list[h.rnd.IntN(len(list))]
	if of := h.subject.store.claim; of != nil && h.rnd.IntN(4) > 0 {
		c = of
	}
	name := []string{c.uid, c.namespace + "/" + c.name}[h.rnd.IntN(2)]
	flags["claim"] = name
	return h.lives(flags, func(m *model) (s subjects) {
		s.ofClaims = true
		for _, c := range m.claims {
			if !named(c, name) {
				continue
			}
			s.claims = append(s.claims, c)
			had := c.volume
			for _, b := range m.bindings {
				if b.known && b.claim == c {
					s.bindings = append(s.bindings, b)
					had = b.volume
				}
			}
			if had != nil && !slices.Contains(s.volumes, had) {
				s.volumes = append(s.volumes, had)
			}
		}
		for _, u := range m.mounts() {
			if u.store.claim != nil && slices.Contains(s.claims, u.store.claim) {
				s.mounts = append(s.mounts, u)
			}
		}
		return s
	})
}

func podLife(h *history, flags map[string]string) []row {
	p := h.subject.pod
	name := []string{p.uid, p.namespace + "/" + p.name}[h.rnd.IntN(2)]
	flags["pod"] = name
	return h.lives(flags, func(m *model) (s subjects) {
		for _, p := range m.pods {
			if named(p, name) {
				s.pods = append(s.pods, p)
			}
		}
		for _, c := range m.claims {
			if c.known && c.pod != nil && slices.Contains(s.pods, c.pod) {
				s.claims = append(s.claims, c)
			}
		}
		s.mounts = m.mountsOf(s.pods)
		return s
	})
}

func (m *model) mountsOf(pods []*pod) (list []mount) {
	for _, u := range m.mounts() {
		if slices.Contains(pods, u.pod) {
			list = append(list, u)
		}
	}
	return list
}

func workloadLife(h *history, flags map[string]string) []row {
	name := h.subject.pod.namespace + "/" + h.subject.pod.workloadName()
	flags["workload"] = name
	return h.lives(flags, func(m *model) (s subjects) {
		for _, p := range m.pods {
			if p.known && p.namespace+"/"+p.workloadName() == name {
				s.pods = append(s.pods, p)
			}
		}
		for _, c := range m.claims {
			ofPod := c.pod != nil && slices.Contains(s.pods, c.pod)
			if c.known && (ofPod || c.workload != "" && c.namespace+"/"+c.kind+"/"+c.workload == name) {
				s.claims = append(s.claims, c)
			}
		}
		s.mounts = m.mountsOf(s.pods)
		return s
	})
}
