package history

import (
	"fmt"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// watchedSince returns for how long a cluster was watched from a moment on.
func (m *model) watchedSince(at fact.Time) (sum fact.Time) {
	for _, s := range m.spans {
		sum += max(0, s[1]-max(at, s[0]))
	}
	return sum
}

// boundTo returns when a volume was bound last to the claim that it has; 0 if it never was.
func (m *model) boundTo(v *volume) (at fact.Time) {
	for _, b := range m.bindings {
		if b.known && b.volume == v && b.claim == v.claim {
			at = max(at, b.bound)
		}
	}
	return at
}

// workloadOf is the workload of a pod; empty for a pod without a controller.
func workloadOf(p *pod) string {
	if p.workload == "" {
		return ""
	}
	return p.kind + "/" + p.workload
}

func usedBytes(v *volume) any {
	if v.used < 0 {
		return nil
	}
	return v.used
}

func idle(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "storageclass")
	atLeast := fact.Time(0)
	if h.rnd.IntN(3) == 0 {
		days := h.rnd.Int64N(50)
		atLeast = fact.Time(days) * 86400 * second
		flags["min-idle"] = fmt.Sprint(days, "d")
	}
	for _, m := range h.models {
		for _, v := range m.volumes {
			if !v.known || v.gone.at != 0 || v.phase != "Bound" && v.phase != "Released" {
				continue
			}
			inUse, last := m.use(v)
			if inUse || !f.takes(m, v.claim.namespace, "", nil, v.class) {
				continue
			}
			r := row{
				"cluster": m.cluster, "volume": v.name, "state": "never_mounted", "namespace": v.claim.namespace, "claim": v.claim.name, "storage_class": v.class,
				"capacity_bytes": v.size, "used_bytes": usedBytes(v), "reclaim_policy": v.policy, "last_used_at": nil, "last_namespace": "", "last_pod": "",
				"last_workload": "",
			}
			since := m.boundTo(v)
			if since == 0 {
				since = v.created
			}
			if last != nil {
				since = last.ended().at
				r["state"], r["last_used_at"], r["last_namespace"], r["last_pod"], r["last_workload"] = "idle", since, last.pod.namespace, last.pod.name, workloadOf(last.pod)
			}
			if v.phase == "Released" {
				r["state"] = "released"
			}
			r["idle_since"], r["idle_seconds"] = since, int64((now()-since)/second)
			r["observed_seconds"] = int64(m.watchedSince(since) / second)
			if now()-since >= atLeast {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

func space(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags)
	by := []string{"namespace", "storageclass"}[h.rnd.IntN(2)]
	flags["by"] = by
	for _, m := range h.models {
		type sum struct {
			claims, bound, released, requested, capacity, idle, used int64
			measured                                                 bool
		}
		groups := map[string]*sum{}
		group := func(namespace, class string) *sum {
			if by == "storageclass" {
				namespace = class
			}
			if groups[namespace] == nil {
				groups[namespace] = &sum{}
			}
			return groups[namespace]
		}
		for _, c := range m.claims {
			if c.known && c.gone.at == 0 && f.takes(m, "", "", nil, "") {
				g := group(c.namespace, c.class)
				g.claims++
				g.requested += c.requested
			}
		}
		for _, v := range m.volumes {
			if !v.known || v.gone.at != 0 || v.phase != "Bound" && v.phase != "Released" || !f.takes(m, "", "", nil, "") {
				continue
			}
			g := group(v.claim.namespace, v.class)
			if v.phase == "Bound" {
				g.bound++
			} else {
				g.released++
			}
			g.capacity += v.size
			if inUse, _ := m.use(v); !inUse {
				g.idle += v.size
			}
			if v.used >= 0 {
				g.used, g.measured = g.used+v.used, true
			}
		}
		for name, g := range groups {
			r := row{
				"cluster": m.cluster, by: name, "claims": g.claims, "bound_volumes": g.bound, "released_volumes": g.released, "requested_bytes": g.requested,
				"capacity_bytes": g.capacity, "idle_bytes": g.idle, "used_bytes": nil,
			}
			if g.measured {
				r["used_bytes"] = g.used
			}
			rows = append(rows, r)
		}
	}
	return rows
}
