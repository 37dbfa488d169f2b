package history

import (
	"math/big"
	"slices"
	"strings"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// takes is what a claim or a volume takes at a moment. used is negative if nobody has measured it.
type takes struct {
	claim                 *claim
	claims                int64
	bound, released       int64
	requested, size, used int64
	idle                  bool
}

// names are those by which space groups what a claim takes: one, or each of its groups.
func (c *claim) names(by, class string) []string {
	if by == "group" && len(c.groups) > 0 {
		return c.groups
	}
	return []string{map[string]string{"namespace": c.namespace, "storageclass": class, "owner": c.owner}[by]}
}

// quantity reads a size as the changes have it.
func quantity(text string) int64 {
	n, ok := new(big.Int).SetString(strings.TrimRight(text, "KMGTi"), 10)
	if !ok {
		panic("not a quantity: " + text)
	}
	return n.Int64() << map[string]int{"": 0, "Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}[strings.TrimLeft(text, "0123456789")]
}

// grew returns by how much a claim or a volume grew after a moment.
func (m *model) grew(c *claim, v *volume, after fact.Time) (sum int64) {
	for _, r := range m.resizes {
		of := c != nil && r.claim == c && r.action == "resize_requested" || v != nil && r.claim == nil && r.volume == v && r.action == "resized"
		if of && r.at > after {
			sum += quantity(r.behind) - quantity(r.before)
		}
	}
	return sum
}

// claimAt is what a claim takes at a moment.
func (m *model) claimAt(c *claim, t fact.Time) (s takes) {
	s.used = -1
	if s.claim = c; c.known && c.created <= t && (c.gone.at == 0 || t < c.gone.at) {
		s.claims, s.requested = 1, c.seenRequested-m.grew(c, nil, t)
	}
	return s
}

// stayAt returns the binding that a volume has at a moment, or had last.
func (m *model) stayAt(v *volume, t fact.Time) (last *binding) {
	for _, b := range m.bindings {
		if b.known && b.volume == v && b.bound <= t && (last == nil || b.bound >= last.bound) {
			last = b
		}
	}
	return last
}

// lastPhase returns the last change of a volume's phase between two moments, or nil.
func (m *model) lastPhase(v *volume, since, t fact.Time) (last *change) {
	for i := range m.changes {
		c := &m.changes[i]
		if c.of == v && (c.action == "phase" || c.action == "released") && c.at > since && c.at <= t && (last == nil || c.at >= last.at) {
			last = c
		}
	}
	return last
}

// freed reports whether a volume was made available again, or failed, between two moments, and has not been released since.
func (m *model) freed(v *volume, since, t fact.Time) bool {
	last := m.lastPhase(v, since, t)
	return last != nil && last.action == "phase" && !strings.HasSuffix(last.details, "→ Bound") && !strings.HasSuffix(last.details, "→ Released")
}

// claimThen is the claim that a volume had at a moment, or had last unless it was available again. A volume whose binding nobody saw has
// had its claim from the beginning.
func (m *model) claimThen(v *volume, t fact.Time) *claim {
	if !slices.ContainsFunc(m.bindings, func(b *binding) bool { return b.known && b.volume == v }) {
		return v.claim
	}
	b := m.stayAt(v, t)
	if b == nil {
		return nil
	}
	if last := m.lastPhase(v, b.bound, t); last != nil && strings.HasSuffix(last.details, "→ Available") {
		return nil
	}
	return b.claim
}

// volumeAt is what a volume takes at a moment.
func (m *model) volumeAt(v *volume, uses []mount, t fact.Time) (s takes) {
	s.used = -1
	b := m.stayAt(v, t)
	if !v.known || b == nil || v.created > t || v.gone.at != 0 && t >= v.gone.at || m.freed(v, b.bound, t) {
		return s
	}
	s.claim, s.size = b.claim, v.size-m.grew(nil, v, t)
	if b.released.at == 0 || t < b.released.at {
		s.bound = 1
	} else {
		s.released = 1
	}
	s.idle = !slices.ContainsFunc(uses, func(u mount) bool {
		return existed(t, u.started(), u.ended().at) || u.store.claim == b.claim && existed(t, u.pod.created, u.ended().at)
	})
	for _, x := range v.samples {
		if x.at <= t {
			s.used = x.used
		}
	}
	return s
}

// marks are the moments at which something of a claim or a volume can change.
func (m *model) marks(c *claim, v *volume, uses []mount) (list []fact.Time) {
	if c != nil {
		list = append(list, c.created, c.gone.at)
	}
	for _, r := range m.resizes {
		if c != nil && r.claim == c || v != nil && r.volume == v {
			list = append(list, r.at)
		}
	}
	if v == nil {
		return list
	}
	list = append(list, v.created, v.gone.at)
	for _, b := range m.bindings {
		if b.volume == v {
			list = append(list, b.bound, b.released.at)
		}
	}
	for _, u := range uses {
		list = append(list, u.pod.created, u.started(), u.ended().at)
	}
	for _, x := range m.changes {
		if x.of == v {
			list = append(list, x.at)
		}
	}
	for _, x := range v.samples {
		list = append(list, x.at)
	}
	return list
}

// total is what a row of space adds up: at a moment, or over time.
type total struct {
	claims, bound, released              int64
	requested, capacity, idle, used, all big.Int
	measured                             bool
}

func (s *total) add(x takes, lasts fact.Time) {
	times := func(sum *big.Int, n int64) {
		sum.Add(sum, new(big.Int).Mul(big.NewInt(n), big.NewInt(int64(lasts))))
	}
	s.claims, s.bound, s.released = s.claims+x.claims, s.bound+x.bound, s.released+x.released
	times(&s.requested, x.requested)
	times(&s.capacity, x.size)
	times(&s.all, x.claims+x.bound+x.released)
	if x.idle {
		times(&s.idle, x.size)
	}
	if x.used >= 0 {
		times(&s.used, x.used)
		s.measured = true
	}
}

// spaceThen answers space at a moment or over a window.
func (h *history) spaceThen(f filters, by string, w window) (rows []row) {
	until := min(w.until, now())
	moment := w.since == w.until
	if moment {
		until = w.since + 1
	}
	for _, m := range h.models {
		totals := map[string]*total{}
		add := func(class string, x takes, lasts fact.Time) {
			if x.claims+x.bound+x.released == 0 || !f.takes(m, x.claim.namespace, x.claim.owner, x.claim.groups, class) {
				return
			}
			for _, name := range x.claim.names(by, class) {
				if totals[name] == nil {
					totals[name] = &total{}
				}
				totals[name].add(x, lasts)
			}
		}
		// between adds up what is so from each mark to the next one.
		between := func(marks []fact.Time, class string, at func(fact.Time) takes) {
			list := append(slices.DeleteFunc(marks, func(t fact.Time) bool { return t <= w.since || t >= until }), w.since, until)
			slices.Sort(list)
			for i := range len(list) - 1 {
				if list[i] < list[i+1] {
					add(class, at(list[i]), list[i+1]-list[i])
				}
			}
		}
		uses := map[*volume][]mount{}
		for _, u := range m.mounts() {
			uses[u.volume()] = append(uses[u.volume()], u)
		}
		for _, c := range m.claims {
			between(m.marks(c, nil, nil), c.class, func(t fact.Time) takes { return m.claimAt(c, t) })
		}
		for _, v := range m.volumes {
			between(m.marks(nil, v, uses[v]), v.class, func(t fact.Time) takes { return m.volumeAt(v, uses[v], t) })
		}
		for name, s := range totals {
			rows = append(rows, s.row(m.cluster, by, name, moment))
		}
	}
	return rows
}

func (s *total) row(cluster, by, name string, moment bool) row {
	r := row{"cluster": cluster, by: name}
	sums := map[string]*big.Int{"requested": &s.requested, "capacity": &s.capacity, "idle": &s.idle, "used": &s.used}
	if moment {
		r["claims"], r["bound_volumes"], r["released_volumes"] = s.claims, s.bound, s.released
	}
	for column, sum := range sums {
		unit := "_bytes"
		if !moment {
			unit = "_byte_hours"
			sum = new(big.Int).Div(sum, big.NewInt(int64(3600*second)))
		}
		r[column+unit] = sum
	}
	if !s.measured {
		r["used_bytes"], r["used_byte_hours"] = nil, nil
		delete(r, map[bool]string{true: "used_byte_hours", false: "used_bytes"}[moment])
	}
	return r
}
