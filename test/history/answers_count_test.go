package history

import (
	"fmt"
	"slices"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

func apps(h *history, flags map[string]string) (rows []row) {
	name := h.volumeName()
	flags["volume"] = name
	f := h.choose(flags, "namespace", "owner", "group", "storageclass", "workload")
	w := h.window(flags, atNow, true)
	for _, g := range grouped(h.uses(w, f, name), func(u mount) string {
		return fmt.Sprintf("%q", []any{u.m.cluster, u.volume().uid, u.pod.namespace, u.pod.workloadName(), u.store.claimName, u.owner(), u.groups()})
	}) {
		u := g[0]
		since, until := spanned(g)
		writes := slices.ContainsFunc(g, func(u mount) bool { return !u.point.readOnly })
		rows = append(rows, row{
			"cluster": u.m.cluster, "persistentvolume": u.volume().name, "namespace": u.pod.namespace, "workload": u.pod.workloadName(), "claim": u.store.claimName,
			"owner": u.owner(), "groups": u.groups(), "read_only": !writes, "nodes": distinct(g, func(u mount) string { return u.pod.node }), "pods": podsOf(g),
			"used_since": since, "used_until": until,
		})
	}
	return rows
}

func podsPerVolume(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass", "workload")
	w := h.window(flags, atNow, true)
	uses := slices.DeleteFunc(h.uses(w, f, ""), func(u mount) bool { return u.volume() == nil })
	for _, g := range grouped(uses, func(u mount) string { return fmt.Sprintf("%q", []any{u.m.cluster, u.volume().uid, u.class()}) }) {
		u := g[0]
		rows = append(rows, row{
			"cluster": u.m.cluster, "persistentvolume": u.volume().name, "claims": distinct(g, func(u mount) string { return u.pod.namespace + "/" + u.store.claimName }),
			"storage_class": u.class(), "pods": podsOf(g), "nodes": distinct(g, func(u mount) string { return u.pod.node }), "workloads": workloadsOf(g),
		})
	}
	return rows
}

func volumesPerPod(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass", "workload")
	w := h.window(flags, atNow, true)
	for _, g := range grouped(h.uses(w, f, ""), func(u mount) string { return fmt.Sprintf("%q", []any{u.m.cluster, u.pod.uid}) }) {
		u := g[0]
		inline := slices.DeleteFunc(slices.Clone(g), func(u mount) bool { return u.store.claim != nil })
		ofClaims := slices.DeleteFunc(slices.Clone(g), func(u mount) bool { return u.store.claim == nil })
		rows = append(rows, row{
			"cluster": u.m.cluster, "namespace": u.pod.namespace, "pod": u.pod.name, "workload": u.pod.workloadName(), "node": u.pod.node,
			"volumes": len(distinct(ofClaims, volumeUID)), "inline": len(distinct(inline, mount.inlineKey)),
			"claims": distinct(ofClaims, func(u mount) string { return u.store.claimName }),
		})
	}
	return rows
}

// lasted counts the seconds between two moments, or until now; ClickHouse leaves fractions out of both.
func lasted(since, until fact.Time) int64 {
	if until == 0 {
		until = now()
	}
	return max(0, int64(until/second-since/second))
}

func ephemeral(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass", "workload")
	w := h.window(flags, atNow, true)
	for _, m := range h.models {
		for _, c := range m.claims {
			if c.pod == nil || !c.known || !w.overlaps(c.created, c.gone.at) {
				continue
			}
			u := mount{m: m, pod: c.pod, store: store{claim: c, claimName: c.name}}
			f := f
			if f.class != "" && f.class != c.class {
				continue
			}
			if f.class = ""; !f.takesUse(u) {
				continue
			}
			rows = append(rows, row{
				"cluster": m.cluster, "namespace": c.namespace, "claim": c.name, "pod": c.pod.name, "workload": c.pod.workloadName(), "owner": u.owner(),
				"groups": u.groups(), "storage_class": c.class, "persistentvolume": u.volumeName(), "created_at": c.created, "deleted_at": c.gone.at,
				"deleted_not_before": c.gone.unsure(), "lasted_seconds": lasted(c.created, c.gone.at),
			})
		}
	}
	return rows
}

// class is the class of a binding's volume, else of its claim.
func (b *binding) class() string {
	if b.volume.class != "" {
		return b.volume.class
	}
	return b.claim.class
}

func bindings(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass", "workload")
	w := h.window(flags, atNow, true)
	class := f.class
	f.class = ""
	for _, m := range h.models {
		for _, b := range m.bindings {
			c := b.claim
			if !b.known || !w.overlaps(b.bound, b.released.at) || class != "" && class != b.class() || !f.takesClaim(m, c, w) {
				continue
			}
			r := row{
				"cluster": m.cluster, "namespace": c.namespace, "claim": c.name, "persistentvolume": b.volume.name, "storage_class": b.class(), "owner": c.owner,
				"groups": c.groups, "bound_at": b.bound, "released_at": b.released.at, "released_not_before": b.released.unsure(),
				"lasted_seconds": lasted(b.bound, b.released.at),
			}
			if b.bound == 0 {
				r["lasted_seconds"] = nil
			}
			rows = append(rows, r)
		}
	}
	return rows
}

func counts(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass", "workload")
	w := h.pointInTime(flags)
	for _, m := range h.models {
		count := map[string]int{}
		add := func(kind string, chosen bool, began, ended fact.Time) {
			if chosen && w.overlaps(began, ended) {
				count[kind]++
			}
		}
		takesVolume := func(v *volume) bool { return v.known && f.takesVolumeThen(m, v, flags, w) }
		m.countVolumesAndClaims(f, w, takesVolume, add)
		m.countPodsAndMounts(f, add)
		for _, a := range m.attached {
			if v := a.volume; a.known && f.takes(m, f.namespace, f.owner, []string{f.group}, f.class) {
				add("VolumeAttachment", takesVolume(v), a.created, a.gone)
			}
		}
		for _, n := range m.namespaces { // which have no owner
			add("Namespace", f.takes(m, n, "", nil, "") && f.workload == "", m.born, 0)
		}
		for _, class := range m.classes { // which have no namespace and no owner
			add("StorageClass", f.takes(m, "", "", nil, class) && f.workload == "", m.born, 0)
		}
		for kind, n := range count {
			rows = append(rows, row{"cluster": m.cluster, "kind": kind, "count": n})
		}
	}
	return rows
}

func (m *model) countVolumesAndClaims(f filters, w window, takesVolume func(*volume) bool, add func(kind string, chosen bool, began, ended fact.Time)) {
	for _, v := range m.volumes {
		add("PersistentVolume", takesVolume(v), v.created, v.gone.at)
	}
	for _, c := range m.claims {
		add("PersistentVolumeClaim", f.takesClaim(m, c, w), c.created, c.gone.at)
	}
}

func (m *model) countPodsAndMounts(f filters, add func(kind string, chosen bool, began, ended fact.Time)) {
	mounting := map[*pod]bool{}
	for _, u := range m.mounts() {
		add("mount", f.takesUse(u), u.started(), u.ended().at)
		mounting[u.pod] = mounting[u.pod] || f.takesUse(u)
	}
	for _, p := range m.pods {
		add("Pod", p.known && (mounting[p] || f.takesPod(p) && f.takes(m, p.namespace, p.owner, p.groups, "")), p.created, p.gone.at)
	}
}

func coverage(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags)
	w := h.window(flags, always, true)
	for _, m := range h.models {
		add := func(state string, began, ended fact.Time) {
			if f.takes(m, "", "", nil, "") && w.overlaps(began, ended) {
				rows = append(rows, row{"cluster": m.cluster, "state": state, "started_at": began, "ended_at": ended, "lasted_seconds": lasted(began, ended)})
			}
		}
		for i, s := range m.spans {
			if i == len(m.spans)-1 {
				add("watched", s[0], 0)
				continue
			}
			add("watched", s[0], s[1])
			add("unwatched", s[1], m.spans[i+1][0])
		}
	}
	return rows
}

func resizes(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass", "workload")
	w := h.window(flags, pastMonth, false)
	for _, m := range h.models {
		for _, r := range m.resizes {
			out := row{"cluster": m.cluster, "at": r.at, "action": r.action, "size": r.before + " → " + r.behind, "actor": ""}
			var takes bool
			if v := r.volume; v != nil {
				out["kind"], out["namespace"], out["name"] = "PersistentVolume", "", v.name
				takes = f.takesAClaimOf(m, v, w)
			} else {
				out["kind"], out["namespace"], out["name"] = "PersistentVolumeClaim", r.claim.namespace, r.claim.name
				takes = f.takesClaim(m, r.claim, w)
			}
			if takes && r.at >= w.since && r.at <= w.until {
				rows = append(rows, out)
			}
		}
	}
	return rows
}

// part is how many objects were created in a part of a window, and in the same part of the window before.
type part struct{ volumes, volumesBefore, claims, claimsBefore int }

// comparable returns a number of the part before, or nil if that began before anybody watched.
func (m *model) comparable(n int, began fact.Time) any {
	if began < m.spans[0][0] {
		return nil
	}
	return n
}

// parts are those of a window.
type parts struct {
	first, step, last fact.Time
	list              []part
	some              bool
}

// count counts a creation, in one of the counters of its part.
func (p *parts) count(created fact.Time, counter, before func(*part) *int) {
	length := fact.Time(len(p.list)) * p.step
	switch {
	case created >= p.last || created < p.first-length || created < p.first && created >= p.last-length:
		return
	case created >= p.first:
		*counter(&p.list[(created-p.first)/p.step])++
	default:
		*before(&p.list[(created-p.first+length)/p.step])++
	}
	p.some = true
}

func creationRate(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass")
	w := h.window(flags, pastMonth, false)
	per := []string{"hour", "day", "week"}[h.rnd.IntN(3)]
	flags["per"] = per
	step := map[string]fact.Time{"hour": 3600, "day": 86400, "week": 7 * 86400}[per] * second
	monday := fact.Time(0)
	if per == "week" {
		monday = 4 * 86400 * second // January 5th 1970
	}
	first, last := (w.since-monday)/step*step+monday, min(w.until, now())
	for _, m := range h.models {
		p := parts{first: first, step: step, last: last, list: make([]part, max(1, (last-first+step-1)/step))}
		for _, v := range m.volumes {
			if v.known && f.takesAClaimOf(m, v, w) {
				p.count(v.created, func(p *part) *int { return &p.volumes }, func(p *part) *int { return &p.volumesBefore })
			}
		}
		for _, c := range m.claims {
			if c.known && f.takes(m, c.namespace, c.owner, c.groups, c.class) {
				p.count(c.created, func(p *part) *int { return &p.claims }, func(p *part) *int { return &p.claimsBefore })
			}
		}
		for i, n := range p.list {
			if p.some {
				start := first + fact.Time(i)*step
				before := start - fact.Time(len(p.list))*step
				rows = append(rows, row{
					"cluster": m.cluster, "period_start": start, "period_end": min(last, start+step), "volumes": n.volumes, "volumes_before": m.comparable(n.volumesBefore, before),
					"claims": n.claims, "claims_before": m.comparable(n.claimsBefore, before),
				})
			}
		}
	}
	return rows
}

func lifetimes(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass")
	w := h.window(flags, always, false)
	for _, m := range h.models {
		lives := map[[2]string][]int64{}
		count := func(kind, namespace, owner string, groups []string, class string, began, ended fact.Time) {
			if ended != 0 && ended >= w.since && ended <= w.until && f.takes(m, namespace, owner, groups, class) {
				key := [2]string{kind, class}
				lives[key] = append(lives[key], lasted(began, ended))
			}
		}
		add := func(kind string, c *claim, class string, began, ended fact.Time) {
			if c != nil && c.known {
				count(kind, c.namespace, c.owner, c.groups, class, began, ended)
				return
			}
			count(kind, "", "", nil, class, began, ended)
		}
		for _, v := range m.volumes {
			if v.known {
				add("PersistentVolume", v.claim, v.class, v.created, v.gone.at)
			}
		}
		for _, c := range m.claims {
			if c.known {
				add("PersistentVolumeClaim", c, c.class, c.created, c.gone.at)
			}
		}
		for _, u := range m.mounts() {
			if c := u.store.claim; c != nil {
				count("mount", u.pod.namespace, u.owner(), u.groups(), c.class, u.started(), u.ended().at)
			}
		}
		for key, list := range lives {
			slices.Sort(list)
			rows = append(rows, row{
				"cluster": m.cluster, "kind": key[0], "storage_class": key[1], "ended": len(list), "shortest_seconds": list[0],
				"median_seconds": list[len(list)/2], "longest_seconds": list[len(list)-1],
			})
		}
	}
	return rows
}

func neverMounted(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass")
	w := h.pointInTime(flags)
	for _, m := range h.models {
		for _, c := range m.claims {
			mounted := slices.ContainsFunc(m.mounts(), func(u mount) bool { return u.store.claim == c && u.started() <= w.until })
			if !c.known || !w.overlaps(c.created, c.gone.at) || mounted || !f.takes(m, c.namespace, c.owner, c.groups, c.class) {
				continue
			}
			r := row{
				"cluster": m.cluster, "namespace": c.namespace, "claim": c.name, "phase": "Pending", "persistentvolume": "", "storage_class": c.class,
				"owner": c.owner, "groups": c.groups, "requested_bytes": m.requestedAt(c, w.until), "created_at": c.created,
				"age_seconds": lasted(c.created, min(w.until, now())), "unused_since": nil,
			}
			if m.wasBound(c, w.until) {
				r["phase"], r["persistentvolume"] = "Bound", c.volume.name
			}
			if c.lostAt != 0 && c.lostAt <= w.until {
				r["phase"] = "Lost"
			}
			if c.seenUnused != 0 && c.seenUnused <= w.until {
				r["unused_since"] = c.seenUnused
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// wasBound reports whether a claim had got its volume by a moment, as far as a tracker knows.
func (m *model) wasBound(c *claim, at fact.Time) bool {
	return slices.ContainsFunc(m.bindings, func(b *binding) bool { return b.known && b.claim == c && b.bound <= at })
}

// requestedAt returns the size that a claim asked for at a moment: that before its next request.
func (m *model) requestedAt(c *claim, at fact.Time) int64 {
	for _, r := range m.resizes {
		if r.claim == c && r.action == "resize_requested" && r.at > at {
			return bytesOf(r.before)
		}
	}
	return c.requested
}
