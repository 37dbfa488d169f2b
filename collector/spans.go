package collector

import (
	"cmp"
	"slices"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// maxSpans bounds the list of spans: 16 KB, and a list of pods after lost history for each.
// Beyond it the oldest is dropped: what an idle time has from before then does not count as
// watched.
const maxSpans = 1000

// spans keeps when pods were watched and nothing can have been missed (see
// fact.Update.Watched). Pods are the kind that counts, as a use of a volume is a pod's.
//
// A watch that goes on from its resource version misses nothing, also over a restart of the
// tracker: the last span goes on with the position of Pods. A list begins a new one.
type spans struct {
	list  []fact.Span // oldest first, apart from each other; not written to, as others read it
	at    fact.Time   // the present end of the last one, whose To is older
	since fact.Time   // Since of the position that the last one goes on with
	goOn  bool        // the last one goes on; if not, the next position begins another
	fresh bool        // the list was not given out
}

// restoreSpans returns the spans of an earlier tracker. The last one goes on if the watch of
// pods does.
func restoreSpans(watched []fact.Span, pods fact.Position) spans {
	var s spans
	s.merge(watched)
	if len(s.list) > 0 && pods.ResourceVersion != "" {
		s.since, s.goOn, s.at = pods.Since, true, max(s.at, pods.At)
	}
	return s
}

// move notes how far pods have been watched. It reports whether the list has changed.
func (s *spans) move(pods fact.Position) (changed bool) {
	if s.goOn && pods.Since == s.since {
		s.at = max(s.at, pods.At)
		return false
	}
	begin := pods.Since
	if begin == 0 { // an old journal does not say since when
		begin = pods.At
	}
	list := s.now()
	if n := len(list); n > 0 {
		begin = max(begin, list[n-1].To+1) // also where the clock was set back: there was a gap
	}
	s.since, s.goOn, s.at = pods.Since, true, max(begin, pods.At)
	s.set(append(list, fact.Span{From: begin, To: s.at}))
	return true
}

// merge adds spans that others have watched, up to where the last one is now: that goes on,
// and has what they watched after that. It reports whether the list has changed.
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
	s.list, s.fresh = list[max(0, len(list)-maxSpans):], true
}

// now returns a copy of the list as of now.
func (s *spans) now() []fact.Span {
	list := slices.Clone(s.list)
	if n := len(list); n > 0 {
		list[n-1].To = s.at
	}
	return list
}

// take returns the list if it was not given out since it changed, else nil.
func (s *spans) take() []fact.Span {
	if !s.fresh {
		return nil
	}
	s.list, s.fresh = s.now(), false
	return s.list
}

// union returns the moments that are in any of the spans as spans that are apart from each
// other, oldest first. It writes to none of them.
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
