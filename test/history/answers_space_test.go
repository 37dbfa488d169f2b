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

// observed returns for how long it was observed since a moment that nobody uses a claim: by a tracker, or by the API server.
func (m *model) observed(c *claim, since fact.Time) fact.Time {
	if c.seenUnused == 0 || c.gone.at != 0 {
		return m.watchedSince(since)
	}
	vouched := max(since, c.seenUnused)
	return m.watchedSince(since) - m.watchedSince(vouched) + now() - vouched
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
	f := h.choose(flags, "namespace", "owner", "group", "storageclass")
	w := h.pointInTime(flags)
	atLeast := fact.Time(0)
	if h.rnd.IntN(3) == 0 {
		days := h.rnd.Int64N(50)
		atLeast = fact.Time(days) * 86400 * second
		flags["min-idle"] = fmt.Sprint(days, "d")
	}
	for _, m := range h.models {
		for _, v := range m.volumes {
			r, whose, since := m.idle(v, w)
			if r == nil || !f.takes(m, whose.namespace, whose.owner, whose.groups, v.class) {
				continue
			}
			if max(0, min(now(), w.until)-since) >= atLeast { // a pod on a node whose clock is ahead may end later than now
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// idle returns the row of a volume, or nil, with the claim that it has or had last, and since when it is idle.
func (m *model) idle(v *volume, w window) (r row, whose *claim, since fact.Time) {
	if w.until != endOfTime() {
		return m.wasIdle(v, w.until)
	}
	if !v.known || v.gone.at != 0 || v.phase != "Bound" && v.phase != "Released" {
		return nil, nil, 0
	}
	inUse, last := m.use(v)
	if inUse || m.awaited(v) {
		return nil, nil, 0
	}
	r, since = m.idleRow(v, last)
	return r, v.claim, since
}

// idleRow returns the row of a volume that is not in use, and since when that is so.
func (m *model) idleRow(v *volume, last *mount) (r row, since fact.Time) {
	r = row{
		"cluster": m.cluster, "volume": v.name, "state": "never_mounted", "namespace": v.claim.namespace, "claim": v.claim.name, "storage_class": v.class,
		"capacity_bytes": v.size, "used_bytes": usedBytes(v), "reclaim_policy": v.policy, "last_used_at": nil, "last_namespace": "", "last_pod": "",
		"last_workload": "", "keep_until": nil, "keep_reason": "",
	}
	since, used := m.idleSince(v, last)
	if last != nil {
		r["last_used_at"], r["last_namespace"], r["last_pod"], r["last_workload"] = last.ended().at, last.pod.namespace, last.pod.name, workloadOf(last.pod)
	}
	// Of a claim that is gone, the condition counts only if it shows a use.
	if unused := v.claim.seenUnused; unused > since && !m.wasWatched(since, unused) && (v.claim.gone.at == 0 || unused > since+slack) {
		used = used || unused > since+slack
		since = unused
	}
	switch {
	case v.phase == "Released":
		r["state"] = "released"
	case used:
		r["state"] = "idle"
	}
	r["idle_since"], r["idle_seconds"], r["observed_seconds"] = since, int64(max(0, now()-since)/second), int64(max(0, m.observed(v.claim, since))/second)
	return r, since
}

// sums are what a row of the report space adds up.
type sums struct {
	claims, bound, released, requested, capacity, idle, used int64
	measured                                                 bool
}

func (s *sums) add(m *model, v *volume) {
	s.bound += int64(b2i(v.phase == "Bound"))
	s.released += int64(b2i(v.phase == "Released"))
	s.capacity += v.size
	if inUse, _ := m.use(v); !inUse && !m.awaited(v) {
		s.idle += v.size
	}
	if v.used >= 0 {
		s.used, s.measured = s.used+v.used, true
	}
}

func (s *sums) row(cluster, by, name string) row {
	r := row{
		"cluster": cluster, by: name, "claims": s.claims, "bound_volumes": s.bound, "released_volumes": s.released, "requested_bytes": s.requested,
		"capacity_bytes": s.capacity, "idle_bytes": s.idle, "used_bytes": nil,
	}
	if s.measured {
		r["used_bytes"] = s.used
	}
	return r
}

func (c *claim) lives() bool { return c.known && c.gone.at == 0 }

func (v *volume) takesSpace() bool {
	return v.known && v.gone.at == 0 && (v.phase == "Bound" || v.phase == "Released")
}

func space(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass")
	by := []string{"namespace", "storageclass", "owner", "group"}[h.rnd.IntN(4)]
	flags["by"] = by
	if w := h.window(flags, atNow, true); w.until != w.since || w.until != endOfTime() {
		return h.spaceThen(f, by, w)
	}
	for _, m := range h.models {
		groups := map[string]*sums{}
		add := func(c *claim, class string, each func(*sums)) {
			if !f.takes(m, c.namespace, c.owner, c.groups, class) {
				return
			}
			for _, name := range c.names(by, class) {
				if groups[name] == nil {
					groups[name] = &sums{}
				}
				each(groups[name])
			}
		}
		for _, c := range m.claims {
			if c.lives() {
				add(c, c.class, func(s *sums) { s.claims, s.requested = s.claims+1, s.requested+c.requested })
			}
		}
		for _, v := range m.volumes {
			if v.takesSpace() {
				add(v.claim, v.class, func(s *sums) { s.add(m, v) })
			}
		}
		for name, g := range groups {
			rows = append(rows, g.row(m.cluster, by, name))
		}
	}
	return rows
}
