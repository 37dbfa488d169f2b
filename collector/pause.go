package collector

import (
	"context"
	"time"

	"github.com/go-kit/log/level"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// beat reads the clocks once.
func (c *Collector) beat(context.Context) {
	c.heart.beat()
	if c.mu.TryLock() { // otherwise the next event notes it: the recorder may block for hours under the lock
		c.noteInterruption()
		c.mu.Unlock()
	}
}

// present returns, under the lock, the moment that dates what has been read by now. If the process
// was paused before that moment, present has informed all stores.
func (c *Collector) present() fact.Time {
	now := c.heart.beat()
	c.noteInterruption()
	return fact.At(now)
}

// noteInterruption passes what the heartbeat has detected on to all stores, under the lock.
func (c *Collector) noteInterruption() {
	n := c.heart.interrupted()
	if n.setBack > 0 {
		level.Info(c.logger).Log("msg", "the clock was set back", "by", n.setBack)
		for _, s := range c.stores {
			s.setBack(fact.Time(n.setBack / time.Microsecond))
		}
	}
	if n.pauses == 0 {
		return
	}
	c.metrics.pauses.Add(float64(n.pauses))
	level.Warn(c.logger).Log("msg", "this process was paused, or the clock was set forward: what happened meanwhile is dated with bounds", "from", n.from.UTC().Format(time.RFC3339Nano))
	for _, s := range c.stores {
		s.paused(fact.At(n.from), fact.At(c.now()))
	}
}

// addStore registers a store, which is informed of pauses from then on.
func (c *Collector) addStore(s *store) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stores = append(c.stores, s)
}

// paused notes, under the collector's lock, that nobody read the watch since from. An event may
// have been on its way at that moment for as long as a live event may (delayedAfter).
func (s *store) paused(from, now fact.Time) {
	s.openGap(from-fact.Time(delayedAfter/time.Microsecond), now)
	s.askGapEnd()
}

// setBack notes, under the collector's lock, that the clock was set back: it moves the store's
// moments back by as much, so that they stay comparable.
func (s *store) setBack(by fact.Time) {
	for _, at := range []*fact.Time{&s.lastSeen, &s.gap.from, &s.listBegan, &s.arrived} {
		if *at != 0 {
			*at -= by
		}
	}
	s.probes = nil // new ones follow within probeEvery
}
