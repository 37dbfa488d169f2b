package truth

import (
	"slices"
	"time"
)

// gap is a time in which no tracker watched, or in which what it saw was lost again.
type Gap struct {
	From, To time.Time
	// lossy: nobody can tell afterwards what came and went within it. Otherwise the
	// API server still knew, and only the moment of what it does not date is not known.
	Lossy bool
}

type Gaps []Gap

// tardy is how much later than it happened something may be seen by one who watches:
// two cores do everything here.
const tardy = 10 * time.Second

// until returns when at the latest one sees what happens at a moment.
func (g Gaps) until(at time.Time) time.Time {
	end := at
	for again := true; again; {
		again = false
		for _, one := range g {
			if !one.From.After(end) && one.To.After(end) {
				end, again = one.To, true
			}
		}
	}
	return end.Add(tardy)
}

// overlaps tells whether nobody watched at some moment of a span.
func (g Gaps) overlaps(from, to time.Time) bool {
	return slices.ContainsFunc(g, func(one Gap) bool { return !one.From.After(to) && !one.To.Before(from) })
}

// swallow tells whether a span is within one lossy gap: to nobody's knowledge.
func (g Gaps) swallow(from, to time.Time) bool {
	return slices.ContainsFunc(g, func(one Gap) bool { return one.Lossy && !from.Before(one.From) && !to.After(one.To) })
}

// swallowsEither tells whether one of two moments is within a lossy gap.
func (g Gaps) swallowsEither(moments ...cell) bool {
	return slices.ContainsFunc(moments, func(c cell) bool {
		at, ok := c.moment()
		return ok && (g.swallow(at, at) || g.swallow(at.Add(time.Second), at.Add(time.Second)))
	})
}

const tooWide = "the bounds are wide, though it was watched"

// accept compares a moment, or another value, that the catalog says with the truth: one
// that was observed may have bounds, which have to contain the truth, and one that claims
// to be exact has to be.
func (g Gaps) accept(want cell, said, since string) (bounded bool, problem string) {
	at, isMoment := want.moment()
	if !isMoment {
		if said != want.text {
			problem = "it differs"
		}
		return false, problem
	}
	to, err := time.Parse(microseconds, said)
	if err != nil {
		return false, "it is not told"
	}
	from, err := time.Parse(microseconds, since)
	// etcd may have been slow: what was asked for was done later, by when it was answered.
	done := want.latest()
	slack := time.Second + done.Sub(at)
	if !want.from.IsZero() && g.swallow(at, at) {
		slack += 4 * time.Second
	}
	switch {
	case err != nil && want.holds(said):
		return false, ""
	case err != nil: // it has no column for the earlier bound
		if to.Before(at.Add(-time.Second)) || to.After(g.until(done)) || !g.overlaps(at, to) {
			return false, "it is not the API's"
		}
		return true, ""
	case from.After(to):
		return true, "it ends before it begins"
	case from.Equal(to):
		if !want.holds(said) {
			problem = "it claims to be exact"
		}
		return false, problem
	case from.After(at.Add(slack)) || to.Before(at.Add(-time.Second)):
		return true, "the bounds do not contain the truth"
	case !g.overlaps(from, to) || to.After(g.until(done)):
		return true, tooWide
	}
	return true, ""
}

// endSpan returns the moments that may be given for the end of a use: an API time as it is,
// and one that had to be observed when a watcher saw it.
func (g Gaps) endSpan(end cell) (s span[time.Time]) {
	at, _ := end.moment()
	s = span[time.Time]{at, at}
	if !end.from.IsZero() {
		s = span[time.Time]{end.from, end.to}
	}
	if until := g.until(end.latest()); g.overlaps(at.Add(-time.Second), at.Add(2*time.Second)) && until.After(s.to) {
		s.to = until
	}
	return s
}

// someLost tells whether nobody can tell what happened at some moment of a span.
func (g Gaps) someLost(from, to time.Time) bool {
	return slices.ContainsFunc(g, func(one Gap) bool { return one.Lossy && !one.From.After(to) && !one.To.Before(from) })
}
