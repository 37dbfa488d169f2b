package inventory

import "github.com/kubevoltracker/kubevoltracker/collector/fact"

// Observation is when and how an object's state was observed (rules 1.1 to 1.3).
type Observation struct {
	// At is the moment of the observation.
	At fact.Time
	// NotBefore is the last moment at which the object was known to be in its previous state: At
	// itself on a live watch, or, after a gap, the last moment watched before it. Zero if no
	// previous state is known, or if that moment is unknown because the clock was set back.
	NotBefore fact.Time
	// Found is true for the first list: the states that it shows did not begin now.
	Found bool
	// Version is the resource version of the list that showed the state. Set and Delete use their
	// object's version instead.
	Version string
}

// Live returns the observation of a live watch at the given moment.
func Live(at fact.Time) Observation { return Observation{At: at, NotBefore: at} }

// live reports whether nothing can have happened between this observation and the one before.
func (o Observation) live() bool { return o.NotBefore == o.At }

// bounds returns the two moments between which an observed event happened (rule 1.2). They are not
// before the moments that the object itself gives, whatever the tracker's clock says, and they are
// equal if the observation is live.
func (o Observation) bounds(dated ...fact.Time) (notBefore, at fact.Time) {
	notBefore = o.NotBefore
	for _, t := range dated {
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
