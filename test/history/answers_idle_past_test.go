package history

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// wasIdle is idle at a moment.
func (m *model) wasIdle(v *volume, at fact.Time) (r row, whose *claim, since fact.Time) {
	b := m.lastBindingBy(v, at)
	if !v.known || !existed(at, v.created, v.gone.at) || b == nil {
		return nil, nil, 0
	}
	bound := existed(at, b.bound, b.released.at)
	if phase := v.phaseBy(at); !bound && phase != "Bound" && phase != "Released" {
		return nil, nil, 0
	}
	inUse, last := m.useBy(v, at)
	if inUse || m.wasAwaited(v, b.claim, at) {
		return nil, nil, 0
	}
	since, used := m.wasIdleSince(v, b, last, at)
	r = row{
		"cluster": m.cluster, "volume": v.name, "state": "never_mounted", "namespace": b.claim.namespace, "claim": b.claim.name, "storage_class": v.class,
		"capacity_bytes": m.sizeAt(v, at), "used_bytes": v.usedBy(at), "reclaim_policy": v.policy, "last_used_at": nil, "last_namespace": "", "last_pod": "",
		"last_workload": "", "keep_until": nil, "keep_reason": "",
	}
	if last != nil {
		r["last_used_at"], r["last_namespace"], r["last_pod"], r["last_workload"] = last.ended().at, last.pod.namespace, last.pod.name, workloadOf(last.pod)
	}
	switch {
	case !bound:
		r["state"] = "released"
	case used:
		r["state"] = "idle"
	}
	r["idle_since"], r["idle_seconds"] = since, int64((at-since)/second)
	r["observed_seconds"] = int64(m.observedBetween(since, m.vouchedSince(b.claim, at), at) / second)
	return r, b.claim, since
}

// lastBindingBy returns the last binding of a volume that had begun by a moment.
func (m *model) lastBindingBy(v *volume, at fact.Time) (last *binding) {
	for _, b := range m.bindings {
		if b.known && b.volume == v && b.bound <= at && (last == nil || b.bound >= last.bound) {
			last = b
		}
	}
	return last
}

// phaseBy returns the last phase that a volume had come into by a moment, as far as a tracker knows.
func (v *volume) phaseBy(at fact.Time) (phase string) {
	for _, s := range v.versions {
		if s.phaseAt <= at {
			phase = s.phase
		}
	}
	return phase
}

// useBy is use at a moment.
func (m *model) useBy(v *volume, at fact.Time) (inUse bool, last *mount) {
	for _, u := range m.mounts() {
		switch {
		case u.volume() != v || u.started() > at:
		case existed(at, u.started(), u.ended().at):
			inUse = true
		case last == nil || later(u, *last):
			last = &u
		}
	}
	return inUse, last
}

// wasAwaited reports whether a pod waited for the claim of a volume at a moment that has mounted it: of others the mounts know nothing.
func (m *model) wasAwaited(v *volume, c *claim, at fact.Time) bool {
	return slices.ContainsFunc(m.mounts(), func(u mount) bool {
		began := func(c *container) bool { return c.kind == "main" && c.seen.started != 0 && c.seen.started <= at }
		return u.volume() == v && u.store.claim == c && existed(at, u.pod.created, u.pod.gone.at) && existed(at, u.pod.created, u.pod.finished()) &&
			!slices.ContainsFunc(u.pod.containers, began)
	})
}

// sizeAt returns the size of a volume at a moment: that before its next resize.
func (m *model) sizeAt(v *volume, at fact.Time) any {
	for _, r := range m.resizes {
		if r.volume == v && r.at > at {
			return bytesOf(r.before)
		}
	}
	return v.size
}

// bytesOf reads a size that gibText wrote.
func bytesOf(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(text, "Gi"), 10, 64)
	if err != nil {
		panic(err)
	}
	return n * gib
}

// lastSample returns the last one by a moment; nil if there is none.
func (v *volume) lastSample(at fact.Time) (last *sample) {
	for i := range v.samples {
		if v.samples[i].at <= at {
			last = &v.samples[i]
		}
	}
	return last
}

// usedBy returns what a kubelet had measured last by a moment.
func (v *volume) usedBy(at fact.Time) any {
	if last := v.lastSample(at); last != nil {
		return last.used
	}
	return nil
}

// unused is a condition Unused of a claim that a volume had.
type unused struct {
	since fact.Time
	claim *claim
	bound fact.Time // when the claim had the volume
}

// unusedBy returns the conditions of all claims that a volume had by a moment, oldest first.
func (m *model) unusedBy(v *volume, at fact.Time) (list []unused) {
	for _, b := range m.bindings {
		if !b.known || b.volume != v || b.bound > at {
			continue
		}
		for _, s := range b.claim.versions {
			if s.unused != 0 && s.unused <= at {
				list = append(list, unused{s.unused, b.claim, b.bound})
			}
		}
	}
	slices.SortFunc(list, func(a, b unused) int { return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.bound, b.bound)) })
	return list
}

// wasIdleSince returns since when a volume was idle at a moment, and whether it had been used. b is its last binding by then.
func (m *model) wasIdleSince(v *volume, b *binding, last *mount, at fact.Time) (since fact.Time, used bool) {
	if last != nil {
		since, used = last.ended().at, true
	}
	list := m.unusedBy(v, at)
	for _, u := range list {
		before := since
		if !used {
			before = max(v.created, u.bound)
		}
		if u.since > before+slack && !m.wasWatched(before, u.since) {
			since, used = u.since, true
		}
	}
	if !used {
		since = max(v.created, m.boundBy(v, b))
	}
	list = slices.DeleteFunc(list, func(u unused) bool { return u.claim != b.claim })
	if n := len(list); n > 0 && existed(at, b.claim.created, b.claim.gone.at) && list[n-1].since > since && !m.wasWatched(since, list[n-1].since) {
		since = list[n-1].since
	}
	return since, used
}

// boundBy returns the earliest that a volume can have been bound, as far as the catalog knows: volume_states has that until a pod comes.
func (m *model) boundBy(v *volume, b *binding) fact.Time {
	if inUse, ever := m.use(v); inUse || ever != nil || m.awaited(v) || v.gone.at != 0 || m.lastBinding(v) != b {
		return b.bound
	}
	return m.boundNotBefore(v, b)
}

// vouchedSince returns since when the API server vouched at a moment that no pod refers to a claim, or zero.
func (m *model) vouchedSince(c *claim, at fact.Time) fact.Time {
	if !existed(at, c.created, c.gone.at) {
		return 0
	}
	var last, next *claimVersion
	for i := range c.versions {
		switch s := &c.versions[i]; {
		case s.at <= at:
			last = s
		case next == nil:
			next = s
		}
	}
	watched := slices.ContainsFunc(m.spans, func(s [2]fact.Time) bool { return s[0] <= at && at <= s[1] })
	switch {
	case next != nil && next.unused != 0 && next.unused <= at:
		return next.unused
	case next == nil && c.gone.at == 0 && c.seenUnused <= at:
		return c.seenUnused
	case last != nil && watched:
		return last.unused
	}
	return 0
}

// observedBetween returns for how long it was observed until a moment that nobody used a volume: by a tracker, or, if vouched is not
// zero, since then by the API server.
func (m *model) observedBetween(since, vouched, at fact.Time) fact.Time {
	watched := func(until fact.Time) (sum fact.Time) {
		for _, s := range m.spans {
			sum += max(0, min(s[1], until)-max(since, s[0]))
		}
		return sum
	}
	if vouched == 0 {
		return watched(at)
	}
	vouched = max(vouched, since)
	return watched(vouched) + at - vouched
}
