package collector

import (
	"cmp"
	"slices"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// maxSpans bounds the list of spans at 16 KB (1,000 x 16 bytes). A new span begins only when pods
// are listed again after history was lost. Beyond the bound the shortest span is dropped, and the
// time in it then counts as not watched. A tracker that may list pods and not watch them lists them
// every few seconds, so that the oldest spans, and with them all that was watched before, would soon
// be gone.
const maxSpans = 1000

// spans records when pods were watched without a miss (see fact.Update.Watched). Only pods matter
// here, because a use of a volume is a pod's.
//
// A watch that resumes from its resource version misses nothing, also across a restart of the
// tracker: the last span continues with the position of Pods. A list begins a new span.
type spans struct {
	list  []fact.Span // oldest first, disjoint; never written to, because others read it
	at    fact.Time   // the present end of the last span, whose To is older
	since fact.Time   // Since of the position with which the last span continues
	goOn  bool        // the last span continues; if false, the next position begins a new span
	fresh bool        // the list has not been emitted yet
}

// restoreSpans returns the spans of an earlier tracker. The last span continues if the watch of
// pods resumes.
func restoreSpans(watched []fact.Span, pods fact.Position) spans {
	var s spans
	s.merge(watched)
	if len(s.list) > 0 && pods.ResourceVersion != "" {
		s.since, s.goOn, s.at = pods.Since, true, max(s.at, pods.At)
	}
	return s
}

// move records how far pods have been watched. It reports whether the list has changed.
func (s *spans) move(pods fact.Position) (changed bool) {
	if s.goOn && pods.Since == s.since {
		s.at = max(s.at, pods.At)
		return false
	}
	begin := pods.Since
	if begin == 0 { // the position of an old journal has no Since
		begin = pods.At
	}
	list := s.now()
	if n := len(list); n > 0 {
		begin = max(begin, list[n-1].To+1) // the span begins after the last one even if the clock was set back: there was a gap
	}
	s.since, s.goOn, s.at = pods.Since, true, max(begin, pods.At)
	s.set(append(list, fact.Span{From: begin, To: s.at}))
	return true
}

// merge adds the spans of other trackers up to the present end of the last span, which continues
// and covers the time after that. It reports whether the list has changed.
func (s *spans) merge(others []fact.Span) (changed bool) {
	list := s.now()
	for _, o := range others {
		if s.goOn {
			o.To = min(o.To, s.at)
		}
		if o.From <= o.To {
			list = append(list, o)
		}
	}
	list = union(list)
	if n := len(list); n > 0 {
		s.at = list[n-1].To
	}
	if slices.Equal(list, s.now()) {
		return false
	}
	s.set(list)
	return true
}

func (s *spans) set(list []fact.Span) {
	for len(list) > maxSpans {
		i := shortest(list[:len(list)-1]) // the last one may still grow
		list = slices.Delete(list, i, i+1)
	}
	s.list, s.fresh = list, true
}

// shortest returns the index of the first of the shortest spans.
func shortest(spans []fact.Span) int {
	at := 0
	for i, s := range spans {
		if s.To-s.From < spans[at].To-spans[at].From {
			at = i
		}
	}
	return at
}

// now returns a copy of the list, whose last span ends now.
func (s *spans) now() []fact.Span {
	list := slices.Clone(s.list)
	if n := len(list); n > 0 {
		list[n-1].To = s.at
	}
	return list
}

// take returns the list if it changed since the last call, else nil.
func (s *spans) take() []fact.Span {
	if !s.fresh {
		return nil
	}
	s.list, s.fresh = s.now(), false
	return s.list
}

// union returns the union of the spans as disjoint spans, oldest first. It does not change its
// argument.
func union(spans []fact.Span) []fact.Span {
	sorted := slices.SortedFunc(slices.Values(spans), func(a, b fact.Span) int { return cmp.Compare(a.From, b.From) })
	var list []fact.Span
	for _, s := range sorted {
		if n := len(list); n > 0 && s.From <= list[n-1].To {
			list[n-1].To = max(list[n-1].To, s.To)
		} else {
			list = append(list, s)
		}
	}
	return list
}
