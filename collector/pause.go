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
	if c.mu.TryLock() { // else the next event notes it: the recorder may block under the lock for hours
		c.noteInterruption()
		c.mu.Unlock()
	}
}

// present returns, in the lock, the moment for what has been read by now. Where the process
// was paused before that moment, all stores know.
func (c *Collector) present() fact.Time {
	now := c.heart.beat()
	c.noteInterruption()
	return fact.At(now)
}

// noteInterruption has, in the lock, all stores know of what the heartbeat has noticed.
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

// addStore has a store know of pauses from now on.
func (c *Collector) addStore(s *store) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stores = append(c.stores, s)
}

// paused notes, in the collector's lock, that nobody read the watch from a moment on. An event
// may have been on its way then for as long as a live one may: see heldUpAfter.
func (s *store) paused(from, now fact.Time) {
	s.openGap(from-fact.Time(heldUpAfter/time.Microsecond), now)
	s.askGapEnd()
}

// setBack notes, in the collector's lock, that the clock was set back: the moments that the
// store compares with it move along.
func (s *store) setBack(by fact.Time) {
	for _, at := range []*fact.Time{&s.lastSeen, &s.gapFrom, &s.listBegan, &s.arrived} {
		if *at != 0 {
			*at -= by
		}
	}
	s.probes = nil // the next ones come soon
}
