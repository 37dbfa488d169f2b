package collector

import (
	"context"
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// A watch can lag though this process runs: the API server's cache is behind, or the network.
// An event does not say when it happened, but its version does, where somebody knows at which
// moment the API server was at which version. Probes ask for that. They are for pods alone:
// the ends of pods are what most bounds depend on, and one request each probeEvery is little.

// probeEvery is how often the API server is asked for its version. A lag that begins between
// two probes stays unnoticed for that long at most; the bounds of a late event are wider than
// its lag by that much at most.
const probeEvery = 5 * time.Second

// probesKept is how many probes are remembered: those of a minute. The bounds of an event that
// is later than that go back to the last event that was not late.
const probesKept = 12

// probe says which version the API server was at, at some moment from asked to answered.
type probe struct {
	asked, answered fact.Time
	version         uint64
}

// probe asks how far the API server is with pods.
func (c *Collector) probe(context.Context) {
	c.mu.Lock()
	stores := c.stores
	c.mu.Unlock()
	for _, s := range stores {
		if s.kind == fact.Pods {
			s.probe()
		}
	}
}

// probe asks for the version that the API server is at, and remembers the answer.
func (s *store) probe() {
	ctx, cancel := context.WithTimeout(s.ctx, connectTimeout)
	defer cancel()
	p := probe{asked: fact.At(s.collector.heart.beat())}
	p.version = s.latest(ctx)
	p.answered = fact.At(s.collector.heart.beat())
	if p.version == 0 {
		return // it does not say
	}
	s.collector.mu.Lock()
	defer s.collector.mu.Unlock()
	s.collector.noteInterruption()
	if len(s.probes) == probesKept {
		s.probes = s.probes[:copy(s.probes, s.probes[1:])]
	}
	s.probes = append(s.probes, p)
}

// noteLag opens a gap, in the collector's lock, if an event of a version is late: the API
// server was past that version more than heldUpAfter ago. The event happened after each probe
// that found the API server before that version. The gap ends where the API server is now, as
// far as that is known; if the watch still lags then, the next event opens another one.
func (s *store) noteLag(now fact.Time, version uint64) {
	from, late := s.lastSeen, false
	for _, p := range s.probes {
		if p.version < version {
			from = p.asked
		} else if now-p.answered > fact.Time(heldUpAfter/time.Microsecond) {
			late = true
		}
	}
	if late && version != 0 {
		s.openGap(from, now)
		s.gapTo = s.probes[len(s.probes)-1].version
	}
}
