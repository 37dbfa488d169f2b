package exporter

import (
	"sort"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// watched records when pods were watched: the spans of fact.Update.Watched, and their running sum,
// so that the watched time of one volume takes a binary search. Neither slice is written to once
// made, so a scrape shares them with Apply.
type watched struct {
	spans  []fact.Span
	before []fact.Time // before[i] is the length of all spans before spans[i]
	end    fact.Time   // of the last span, in place of its To: it advances with the position of Pods
}

// apply takes in the spans and the position of Pods, where an update has them.
func (w *watched) apply(u *fact.Update) {
	if u.Watched != nil {
		*w = watched{spans: u.Watched, before: make([]fact.Time, len(u.Watched))}
		var sum fact.Time
		for i, s := range w.spans {
			w.before[i], w.end = sum, s.To
			sum += s.To - s.From
		}
	}
	for _, p := range u.Positions {
		if p.Kind == fact.Pods && len(w.spans) > 0 {
			w.end = max(w.end, p.At)
		}
	}
}

// current returns when the last span began, and how long the gap before it was; zero if there is none.
func (w *watched) current() (since, gap fact.Time) {
	n := len(w.spans)
	if n == 0 {
		return 0, 0
	}
	if n > 1 {
		gap = w.spans[n-1].From - w.spans[n-2].To
	}
	return w.spans[n-1].From, gap
}

// until returns for how long pods were watched up to the moment t, in microseconds.
func (w *watched) until(t fact.Time) fact.Time {
	last := sort.Search(len(w.spans), func(i int) bool { return w.spans[i].From > t }) - 1
	if last < 0 {
		return 0
	}
	end := w.spans[last].To
	if last == len(w.spans)-1 {
		end = w.end
	}
	return w.before[last] + min(t, end) - w.spans[last].From
}

// instant is the moment of a scrape, and the spans in which pods were watched up to it.
type instant struct {
	now     fact.Time
	watched watched
	end     fact.Time // the last moment at which pods were known to be watched, now at the latest
	total   fact.Time // for how long they were watched up to end
}

func instantOf(now fact.Time, w watched) instant {
	end := min(w.end, now)
	return instant{now: now, watched: w, end: end, total: w.until(end)}
}

// idle returns the longest time in seconds for which the volume can have been idle.
func (at *instant) idle(r *row) int64 { return secondsSince(r.since, at.now) }

// idleObserved returns how many of those seconds were watched, or vouched for by the claim's
// condition Unused, which covers all from its time on. It is never more than idle.
func (at *instant) idleObserved(r *row) int64 {
	if r.since.IsZero() || r.since >= at.end {
		return 0
	}
	before := at.watched.until(r.since)
	if vouched := max(r.since, r.unused); r.unused != 0 && vouched < at.end {
		return int64(at.watched.until(vouched)-before+at.end-vouched) / 1e6
	}
	return int64(at.total-before) / 1e6
}
