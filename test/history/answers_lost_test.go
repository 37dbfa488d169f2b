package history

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// lastUse adds to a row who used a volume last.
func (m *model) lastUse(v *volume, r row) (last *mount) {
	r["last_pod"], r["last_workload"] = "", ""
	if v == nil {
		return nil
	}
	inUse, last := m.use(v)
	if inUse || last == nil {
		return nil
	}
	r["last_pod"], r["last_workload"] = last.pod.name, workloadOf(last.pod)
	return last
}

// leftBehind finds the volumes that were deleted and kept their store, which no volume and no pod has had since.
func leftBehind(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass")
	w := h.pointInTime(flags)
	type place struct {
		cluster string
		source  source
	}
	placeOf := func(m *model, s source) place {
		if s.kind == "local" || s.kind == "hostPath" {
			return place{m.cluster, s}
		}
		return place{source: s}
	}
	type owner struct {
		m *model
		v *volume
	}
	last := map[place]owner{}
	goneAt := func(v *volume) fact.Time {
		if v.gone.at == 0 || v.gone.at > w.until {
			return endOfTime()
		}
		return v.gone.at
	}
	later := func(a, b owner) bool {
		return cmp.Or(cmp.Compare(goneAt(a.v), goneAt(b.v)), cmp.Compare(b2i(a.v.policy != "Retain"), b2i(b.v.policy != "Retain")),
			cmp.Compare(a.m.cluster, b.m.cluster), cmp.Compare(a.v.uid, b.v.uid)) > 0
	}
	inline := map[place]fact.Time{}
	for _, m := range h.models {
		for _, v := range m.volumes {
			if p := placeOf(m, v.source); v.known && v.created <= w.until && (last[p].v == nil || later(owner{m, v}, last[p])) {
				last[p] = owner{m, v}
			}
		}
		for _, u := range m.mounts() {
			if p := placeOf(m, u.source()); u.store.claim == nil && u.started() <= w.until {
				until := u.ended().at
				if until == 0 {
					until = endOfTime()
				}
				inline[p] = max(inline[p], until)
			}
		}
	}
	for p, o := range last {
		m, v := o.m, o.v
		if v.policy != "Retain" || v.gone.at == 0 || v.gone.at > w.until || inline[p] > v.gone.at {
			continue
		}
		r := row{
			"cluster": m.cluster, "persistentvolume": v.name, "source": v.source.kind, "backend": v.source.backend(), "capacity_bytes": v.size,
			"storage_class": v.class, "namespace": "", "claim": "", "owner": "", "groups": []string{}, "last_used_at": nil, "deleted_at": v.gone.at,
			"deleted_not_before": v.gone.unsure(),
		}
		groups := []string(nil)
		if c := v.claim; c != nil && c.known {
			r["namespace"], r["claim"], r["owner"], r["groups"], groups = c.namespace, c.name, c.owner, c.groups, c.groups
		}
		if u := m.lastUse(v, r); u != nil {
			r["last_used_at"], r["last_workload"] = u.ended().at, u.pod.workloadName()
		}
		if f.takes(m, r["namespace"].(string), r["owner"].(string), groups, v.class) {
			rows = append(rows, r)
		}
	}
	return rows
}

// nextStep is what the report orphans advises.
var nextStep = map[string]string{
	"Released, Retain":     "keep a copy of the data if needed; then delete it, and its backing store by hand, or clear its claimRef to use it again",
	"Available, was bound": "delete it, or bind a claim to it",
	"Lost":                 "delete it, or restore its volume",
	"scaled down":          "delete it if the workload will not grow again",
	"no pods":              "delete it if its workload will not come back and nobody needs the data",
	"not mounted":          "see whether a pod waits for it; delete it if nobody needs it",
	"never mounted":        "see whether a pod waits for it; delete it if nobody needs it",
}

func orphans(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass")
	minAge := 30 * 86400 * second
	if h.rnd.IntN(3) > 0 {
		days := h.rnd.Int64N(20)
		flags["min-age"] = fmt.Sprint(days, "d")
		minAge = fact.Time(days) * 86400 * second
	}
	for _, m := range h.models {
		add := func(r row, c *claim, class string, v *volume, since fact.Time) {
			groups := []string{}
			r["cluster"], r["orphaned_since"], r["orphaned_seconds"], r["next_step"] = m.cluster, since, lasted(since, 0), nextStep[r["reason"].(string)]
			r["namespace"], r["claim"], r["owner"] = "", "", ""
			if c != nil && c.known {
				r["namespace"], r["claim"], r["owner"], groups = c.namespace, c.name, c.owner, c.groups
				if class == "" {
					class = c.class
				}
			}
			r["storage_class"], r["groups"] = class, groups
			m.lastUse(v, r)
			if f.takes(m, r["namespace"].(string), r["owner"].(string), groups, class) {
				rows = append(rows, r)
			}
		}
		for _, v := range m.volumes {
			if !v.known || v.gone.at != 0 {
				continue
			}
			r := row{"kind": "PersistentVolume", "name": v.name, "capacity_bytes": v.size}
			switch last := m.lastBinding(v); {
			case v.phase == "Released" && v.policy == "Retain":
				r["reason"] = "Released, Retain"
				add(r, v.claim, v.class, v, v.phaseAt)
			case v.phase == "Available" && last != nil && v.phaseAt <= now()-minAge:
				r["reason"] = "Available, was bound"
				add(r, last.claim, v.class, v, v.phaseAt)
			}
		}
		for _, c := range m.claims {
			if reason, since := m.orphaned(c); c.known && c.gone.at == 0 && c.pod == nil && reason != "" && (reason == "Lost" || since <= now()-minAge) {
				size := c.capacity
				if size == 0 {
					size = c.requested
				}
				add(row{"kind": "PersistentVolumeClaim", "name": c.name, "capacity_bytes": size, "reason": reason}, c, c.class, c.volume, since)
			}
		}
	}
	return rows
}

func (m *model) lastBinding(v *volume) (last *binding) {
	for _, b := range m.bindings {
		if b.known && b.volume == v && (last == nil || b.bound > last.bound) {
			last = b
		}
	}
	return last
}

// orphaned returns why nobody uses a claim, and since when; no reason if somebody does, or if it is usual.
func (m *model) orphaned(c *claim) (reason string, since fact.Time) {
	if c.phase == "Lost" {
		return "Lost", c.lostAt
	}
	var last *mount
	for _, u := range m.mounts() {
		switch {
		case u.store.claim != c:
		case u.ended().at == 0:
			return "", 0
		case last == nil || later(u, *last):
			last = &u
		}
	}
	kind, workload := c.kind, c.workload
	if since = c.created; last != nil {
		since = max(since, last.ended().at)
		if workload == "" {
			kind, workload = last.pod.kind, last.pod.workload
		}
	}
	scaled := false
	for _, p := range m.living(c.namespace, kind, workload) {
		scaled = true
		if kind == "StatefulSet" && strings.HasSuffix(c.name, "-"+p.name) { // its own pod may wait for it
			return "", 0
		}
	}
	switch {
	case last == nil:
		return "never mounted", since
	case workload == "":
		return "not mounted", since
	case !scaled:
		return "no pods", since
	case kind == "StatefulSet":
		return "scaled down", since
	}
	return "", 0
}

// living returns the pods of a workload that are not over.
func (m *model) living(namespace, kind, workload string) (list []*pod) {
	for _, p := range m.pods {
		over := p.gone.at != 0 || p.finished() != 0 || p.phase == "Succeeded" || p.phase == "Failed"
		if workload != "" && p.known && !over && p.namespace == namespace && p.kind == kind && p.workload == workload {
			list = append(list, p)
		}
	}
	return list
}
