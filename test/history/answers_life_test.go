package history

import (
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
}

// live returns the lives of some objects as rows, in a window.
func (m *model) live(s subjects, w window) (rows []row) {
	var first, last fact.Time
	add := func(began fact.Time, ended end, event, object, details string) {
		until := ended.at
		if until == 0 {
			until = now()
		}
		if first == 0 || began < first {
			first = began
		}
		last = max(last, until)
		if w.overlaps(began, ended.at) {
			rows = append(rows, row{
				"cluster": m.cluster, "started_at": began, "ended_at": ended.at, "ended_not_before": ended.unsure(), "lasted_seconds": lasted(began, ended.at),
				"event": event, "object": object, "details": strings.Trim(details, " "), "actor": "",
			})
		}
	}
	for _, v := range s.volumes {
		details := v.source.kind + " "
		if v.source.kind == "csi" {
			details += v.source.path + " "
		}
		add(v.created, v.gone, "exists", objectName(v), details+v.class)
	}
	for _, c := range s.claims {
		details := c.class
		if c.owner != "" {
			details += " of " + c.owner
		}
		add(c.created, c.gone, "exists", objectName(c), details)
	}
	for _, b := range s.bindings {
		add(b.bound, b.released, "bound", objectName(b.claim), "to volume "+b.volume.name)
	}
	for _, p := range s.pods {
		event, began, ended := "ran", p.started(), p.gone
		if began == 0 {
			event, began = "waited", p.created
		}
		if at := p.finished(); at != 0 {
			ended = end{at, at}
		}
		details := "on node " + p.node
		if p.workload != "" {
			details += " for " + workloadOf(p)
		}
		add(began, ended, event, objectName(p), details)
	}
	for _, u := range s.mounts {
		details := u.store.claimName
		if details == "" {
			details = u.store.name
		}
		details += " in " + u.container.name + " at " + u.point.path
		if u.point.readOnly {
			details += " read-only"
		}
		if u.pod.workload != "" {
			details += " for " + workloadOf(u.pod)
		}
		if reason := u.container.seen.reason; reason != "" {
			details += ": " + reason
		}
		add(u.started(), u.ended(), "mounted", objectName(u.pod), details)
	}
	for _, c := range m.changesOf(s) {
		if first == 0 || c.at < first {
			first = c.at
		}
		last = max(last, c.at)
		if c.at >= w.since && c.at <= w.until {
			rows = append(rows, row{
				"cluster": m.cluster, "started_at": c.at, "ended_at": nil, "ended_not_before": nil, "lasted_seconds": nil, "event": c.action,
				"object": objectName(c.of), "details": c.details, "actor": "",
			})
		}
	}
	if first == 0 {
		return nil
	}
	for i := range m.spans[1:] {
		if from, to := m.spans[i][1], m.spans[i+1][0]; from < last && to > first {
			begin, over := first, last
			add(from, end{to, to}, "unwatched", "", "what ended then has bounds; more may have happened")
			first, last = begin, over
		}
	}
	return rows
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
			return !slices.Contains(s.volumes, o)
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
			if p.known && p.workload != "" && p.namespace+"/"+workloadOf(p) == name {
				s.pods = append(s.pods, p)
			}
		}
		for _, c := range m.claims {
			if c.known && c.workload != "" && c.namespace+"/"+c.kind+"/"+c.workload == name {
				s.claims = append(s.claims, c)
			}
		}
		s.mounts = m.mountsOf(s.pods)
		return s
	})
}
