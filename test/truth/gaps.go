package truth

import (
	"slices"
	"time"
)

// Gap is a time in which no tracker watched, or in which what it saw was lost again.
type Gap struct {
	From, To time.Time
	// Lossy: nobody can know what came and went within the gap. Otherwise the API server still knew the events, and only
	// the moments that it does not date are unknown.
	Lossy bool
}

// Gaps are the gaps of one tracker.
type Gaps []Gap

// lateness is how late a tracker that watches may see an event: two cores do everything here.
const lateness = 10 * time.Second

// until returns when at the latest a tracker sees what happens at a moment.
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
	return end.Add(lateness)
}

// overlaps reports whether nobody watched at some moment of a span.
func (g Gaps) overlaps(from, to time.Time) bool {
	return slices.ContainsFunc(g, func(one Gap) bool { return !one.From.After(to) && !one.To.Before(from) })
}

// loses reports whether a span is within one lossy gap, so that nobody knows of it.
func (g Gaps) loses(from, to time.Time) bool {
	return slices.ContainsFunc(g, func(one Gap) bool { return one.Lossy && !from.Before(one.From) && !to.After(one.To) })
}

// losesEither reports whether one of some moments is within a lossy gap.
func (g Gaps) losesEither(moments ...cell) bool {
	return slices.ContainsFunc(moments, func(c cell) bool {
		at, ok := c.moment()
		return ok && (g.loses(at, at) || g.loses(at.Add(time.Second), at.Add(time.Second)))
	})
}

// tooWide is the problem of bounds around a moment at which the tracker watched.
const tooWide = "the bounds are wide, though it was watched"

// accept compares a value of the catalog, and its earlier bound if it has one, with the truth. A moment that was
// observed may have bounds, which have to contain the truth. A moment without bounds claims to be exact, and has to
// be.
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
		return false, "it is no moment"
	}
	from, err := time.Parse(microseconds, since)
	switch {
	case err == nil:
		return g.acceptBounds(want, at, said, span[time.Time]{from, to})
	case want.holds(said):
		return false, ""
	}
	// The table has no column for the earlier bound.
	if to.Before(at.Add(-time.Second)) || to.After(g.until(want.latest())) || !g.overlaps(at, to) {
		return false, "it is not the API's"
	}
	return true, ""
}

// acceptBounds compares the bounds that the catalog gives for a moment with the truth. Equal bounds claim to be exact:
// said is their text.
func (g Gaps) acceptBounds(want cell, at time.Time, said string, bounds span[time.Time]) (bounded bool, problem string) {
	// etcd may have been slow: the request was carried out at some time before it was answered.
	done := want.latest()
	slack := time.Second + done.Sub(at)
	if !want.from.IsZero() && g.loses(at, at) {
		slack += 4 * time.Second
	}
	from, to := bounds.from, bounds.to
	switch {
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

// endSpan returns the moments that the catalog may give for the end of a use: the moment that the API dates, or else
// any until a watcher saw the end.
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

// losesSome reports whether some moment of a span is within a lossy gap.
func (g Gaps) losesSome(from, to time.Time) bool {
	return slices.ContainsFunc(g, func(one Gap) bool { return one.Lossy && !one.From.After(to) && !one.To.Before(from) })
}
