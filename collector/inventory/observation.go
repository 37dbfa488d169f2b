package inventory

import "github.com/kubevoltracker/kubevoltracker/collector/fact"

// Observation is how an object was observed to be as it is (rules 1.1 to 1.3).
type Observation struct {
	// At is the moment of the observation.
	At fact.Time
	// NotBefore is the last moment at which the object was known to be as before: At itself on a
	// live watch, the last moment watched when it was caught up with after a gap. Zero where
	// nothing is known of before.
	NotBefore fact.Time
	// Found is true for the first list: what it shows did not happen now.
	Found bool
	// Version is the resource version of what showed it: of a list; Set and Delete
	// take their object's.
	Version string
}

// Live is what a watch that is up observes at the given moment.
func Live(at fact.Time) Observation { return Observation{At: at, NotBefore: at} }

// live reports whether nothing can have happened between this observation and the one before.
func (o Observation) live() bool { return o.NotBefore == o.At }

// bounds returns between which moments something happened that this observation shows (rule 1.2), not
// before the moments that the object itself gives, whatever our clock says. They are equal if
// the observation is live.
func (o Observation) bounds(told ...fact.Time) (notBefore, at fact.Time) {
	notBefore = o.NotBefore
	for _, t := range told {
		notBefore = latest(notBefore, t)
	}
	at = latest(o.At, notBefore)
	if o.live() {
		notBefore = at
	}
	return notBefore, at
}

// before returns the observation of an end that came before a successor of the same name was
// created (rule 1.4). The API gives creations in whole seconds.
func (o Observation) before(created fact.Time) Observation {
	if end := created + almostASecond; !o.live() && end < o.At && end > o.NotBefore {
		o.At = end
	}
	return o
}
