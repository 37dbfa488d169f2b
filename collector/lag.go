package collector

import (
	"context"
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// A watch can lag although this process runs: the API server's cache or the network may be behind.
// An event does not say when it happened, but its resource version does, if the tracker knows when
// the API server was at which version. Probes find that out. They cover pods alone: most bounds
// depend on the ends of pods, and the cost is one request each probeEvery.

// probeEvery is how often the tracker asks the API server for its version. A lag that begins
// between two probes stays undetected for that long at most, and the bounds of a late event are
// wider than its lag by that much at most.
const probeEvery = 5 * time.Second

// probesKept is the number of probes in memory: one minute's. The bounds of an event that is later
// than a minute go back to the last event that was on time.
const probesKept = 12

// probe records the version at which the API server was, at some moment from asked to answered.
type probe struct {
	asked, answered fact.Time
	version         uint64
}

// probe probes the watch of pods.
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

// probe asks the API server for its current version and stores the answer.
func (s *store) probe() {
	ctx, cancel := context.WithTimeout(s.ctx, connectTimeout)
	defer cancel()
	p := probe{asked: fact.At(s.collector.heart.beat())}
	p.version, _ = s.currentVersion(ctx)
	p.answered = fact.At(s.collector.heart.beat())
	if p.version == 0 {
		return // the request failed, or the answer has no version
	}
	s.collector.mu.Lock()
	defer s.collector.mu.Unlock()
	s.collector.noteInterruption()
	if len(s.probes) == probesKept {
		s.probes = s.probes[:copy(s.probes, s.probes[1:])]
	}
	s.probes = append(s.probes, p)
}

// noteLag opens a gap, under the collector's lock, if an event is late: the API server was past the
// event's version more than delayedAfter ago. The event happened after each probe that found the API
// server before that version. The gap ends at the API server's latest known version; if the watch
// still lags then, the next event opens another gap.
func (s *store) noteLag(now fact.Time, version uint64) {
	from, late := s.lastSeen, false
	for _, p := range s.probes {
		if p.version < version {
			from = p.asked
		} else if now-p.answered > fact.Time(delayedAfter/time.Microsecond) {
			late = true
		}
	}
	if late && version != 0 {
		s.openGap(from, now)
		s.gap.to = s.probes[len(s.probes)-1].version
	}
}
