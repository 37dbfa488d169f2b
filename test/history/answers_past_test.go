package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// versionsAround returns the last version that was observed by a moment, and the next one; nil if there is none.
func (v *volume) versionsAround(at fact.Time) (last, next *version) {
	for i := range v.versions {
		if s := &v.versions[i]; s.at > at {
			return last, s
		}
		last = &v.versions[i]
	}
	return last, nil
}

// as is a volume as it was at a moment, as far as a tracker knows: its size, or -1, and its phase, or "".
func (m *model) as(v *volume, at fact.Time) (size int64, phase string) {
	last, next := v.versionsAround(at)
	watched := slices.ContainsFunc(m.spans, func(s [2]fact.Time) bool { return s[0] <= at && at <= s[1] })
	size = -1
	switch sure := watched || next == nil && v.gone.at == 0; {
	case at >= now():
		return v.size, v.phase
	case last != nil && sure:
		return last.size, last.phase
	case last != nil && next != nil && last.size == next.size:
		size = last.size
	}
	if next != nil && next.phaseAt <= at && !m.old {
		phase = next.phase
	}
	return size, phase
}

// bindingAt returns the binding of a volume at a moment; nil if there is none.
func (m *model) bindingAt(v *volume, at fact.Time) (found *binding) {
	for _, b := range m.bindings {
		if b.known && b.volume == v && (window{at, at}).overlaps(b.bound, b.released.at) && (found == nil || b.bound > found.bound) {
			found = b
		}
	}
	return found
}

func at(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass", "workload")
	ofClaims := f
	ofClaims.workload = "" // chooses by the mounts
	w := h.pointInTime(flags)
	for _, m := range h.models {
		for _, v := range m.volumes {
			if !v.known || !w.overlaps(v.created, v.gone.at) || !ofClaims.takesVolumeThen(m, v, flags, w) {
				continue
			}
			namespace, claim := "", ""
			if b := m.bindingAt(v, w.until); b != nil {
				namespace, claim = b.claim.namespace, b.claim.name
			}
			var of []mount
			for _, u := range m.mounts() {
				if u.volume() == v && w.overlaps(u.started(), u.ended().at) {
					of = append(of, u)
				}
			}
			if f.workload != "" && !slices.ContainsFunc(of, func(u mount) bool { return f.takesPod(u.pod) }) {
				continue
			}
			size, phase := m.as(v, w.until)
			r := row{
				"cluster": m.cluster, "persistentvolume": v.name, "capacity_bytes": nil, "phase": phase, "namespace": namespace, "claim": claim,
				"storage_class": v.class, "pods": podsOf(of), "workloads": workloadsOf(of), "source": v.source.kind, "backend": v.source.backend(),
			}
			if size >= 0 {
				r["capacity_bytes"] = size
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// existed reports whether a life had begun and not ended at a moment.
func existed(at, began, ended fact.Time) bool { return window{at, at}.overlaps(began, ended) }

func diff(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass", "workload")
	w := h.window(flags, pastDay, false)
	for _, m := range h.models {
		add := func(c *claim, class, kind, name, difference, before, after string) {
			namespace, owner, groups := "", "", []string(nil)
			if c != nil && c.known {
				namespace, owner, groups = c.namespace, c.owner, c.groups
			}
			if f.takes(m, namespace, owner, groups, class) && f.takesUsed(m, c, w) {
				rows = append(rows, row{"cluster": m.cluster, "kind": kind, "namespace": namespace, "name": name, "difference": difference, "before": before, "after": after})
			}
		}
		lived := func(c *claim, class, kind, name string, began fact.Time, ended end) {
			switch before, after := existed(w.since, began, ended.at), existed(w.until, began, ended.at); {
			case before && !after:
				add(c, class, kind, name, "went", "", "")
			case after && !before:
				add(c, class, kind, name, "came", "", "")
			}
		}
		for _, v := range m.volumes {
			if v.known {
				lived(m.claimThen(v, w.until), v.class, "PersistentVolume", v.name, v.created, v.gone)
			}
		}
		for _, c := range m.claims {
			if c.known {
				lived(c, c.class, "PersistentVolumeClaim", c.name, c.created, c.gone)
			}
		}
		m.resized(w, add)
		m.rebound(w, add)
		rows = append(rows, mountDifferences(slices.DeleteFunc(h.uses(w, f, ""), func(u mount) bool { return u.m != m }), w)...)
	}
	return rows
}

// mountDifferences counts the mounts of each workload at both ends of a window.
func mountDifferences(uses []mount, w window) (rows []row) {
	for _, g := range grouped(uses, func(u mount) string { return fmt.Sprintf("%q", []any{u.pod.namespace, u.pod.workloadName()}) }) {
		before, after := 0, 0
		for _, u := range g {
			before += b2i(u.started() <= w.since)
			after += b2i(u.ended().at == 0 || u.ended().at > w.until)
		}
		kind, name, _ := strings.Cut(g[0].pod.workloadName(), "/")
		if before != after {
			rows = append(rows, row{
				"cluster": g[0].m.cluster, "kind": kind, "namespace": g[0].pod.namespace, "name": name, "difference": "mounts",
				"before": fmt.Sprint(before), "after": fmt.Sprint(after),
			})
		}
	}
	return rows
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

type addDifference = func(c *claim, class, kind, name, difference, before, after string)

// resized adds the sizes that differ between the ends of a window.
func (m *model) resized(w window, add addDifference) {
	type subject struct {
		volume *volume
		claim  *claim
		action string
	}
	sizes, order := map[subject]*[2]string{}, []subject{}
	for _, r := range m.resizes { // in the order of time
		if r.at <= w.since || r.at > w.until {
			continue
		}
		s := subject{r.volume, r.claim, r.action}
		if sizes[s] == nil {
			sizes[s], order = &[2]string{r.before}, append(order, s)
		}
		sizes[s][1] = r.behind
	}
	for _, s := range order {
		before, after := sizes[s][0], sizes[s][1]
		there := func(began fact.Time, ended end) bool {
			return existed(w.since, began, ended.at) && existed(w.until, began, ended.at)
		}
		switch {
		case before == after:
		case s.volume != nil && !there(s.volume.created, s.volume.gone), s.volume == nil && !there(s.claim.created, s.claim.gone):
		case s.volume != nil:
			add(m.claimThen(s.volume, w.until), s.volume.class, "PersistentVolume", s.volume.name, s.action, before, after)
		default:
			add(s.claim, s.claim.class, "PersistentVolumeClaim", s.claim.name, s.action, before, after)
		}
	}
}

// rebound adds the bindings that differ between the ends of a window. A claim that lost its volume and got it again has it.
func (m *model) rebound(w window, add addDifference) {
	type pair struct {
		volume *volume
		claim  *claim
	}
	had, order := map[pair]*[2]bool{}, []pair{}
	for _, b := range m.bindings {
		if !b.known {
			continue
		}
		p := pair{b.volume, b.claim}
		if had[p] == nil {
			had[p], order = &[2]bool{}, append(order, p)
		}
		had[p][0] = had[p][0] || existed(w.since, b.bound, b.released.at)
		had[p][1] = had[p][1] || existed(w.until, b.bound, b.released.at)
	}
	for _, p := range order {
		name := p.claim.namespace + "/" + p.claim.name
		switch before, after := had[p][0], had[p][1]; {
		case before && !after:
			add(p.claim, p.volume.class, "PersistentVolume", p.volume.name, "released", name, "")
		case after && !before:
			add(p.claim, p.volume.class, "PersistentVolume", p.volume.name, "bound", "", name)
		}
	}
}
