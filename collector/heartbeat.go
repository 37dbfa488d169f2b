package collector

import (
	"sync"
	"time"
)

// beatEvery is how often a heartbeat reads the clocks. The bounds of what a pause hides are
// wider by that much at most.
const beatEvery = 250 * time.Millisecond

// pausedAfter is how far a clock must have moved between two beats for the process to have
// been paused: a beat that is 0.75 s late. A shorter pause dates an event late by no more than
// a slow recorder may: see heldUpAfter. On two cores with eight busy processes beats were 10 ms
// late; a beat called late wrongly widens bounds, and makes none wrong.
const pausedAfter = heldUpAfter

// reading is what the clocks say at one moment.
type reading struct {
	wall   time.Time     // can be set; goes on while the machine is suspended
	steady time.Duration // since some moment; cannot be set; stands still while the machine is suspended
}

// readings returns a clock's readings. The steady clock is the monotonic one that time.Now
// reads; a clock that has none counts as steady itself.
func readings(now func() time.Time) func() reading {
	start := now()
	return func() reading {
		t := now()
		return reading{wall: t.Round(0), steady: t.Sub(start)}
	}
}

// heartbeat notices that the process did not run for a while: it was stopped by a signal, its
// node was throttled, its machine was suspended or paused. Each beat compares both clocks with
// the beat before. Beats come from a goroutine of their own, and from everyone who dates an
// event: whoever runs first after a pause notices it, and nobody notices it again.
//
// A wall clock that is set forward looks like a suspended machine, and counts as a pause, which only
// widens bounds. A wall clock that is set back is no pause.
type heartbeat struct {
	read func() reading

	mu      sync.Mutex
	last    reading
	noticed interruption
}

// interruption is what a heartbeat has noticed. The zero one is nothing.
type interruption struct {
	pauses  int
	from    time.Time     // the last beat before the first pause, by the wall clock as it is now
	setBack time.Duration // how far the wall clock was set back
}

func newHeartbeat(read func() reading) *heartbeat { return &heartbeat{read: read, last: read()} }

// beat reads the clocks, notices an interruption since the last beat, and returns the moment
// by the wall clock. An event that was read before the call was read before that moment.
func (h *heartbeat) beat() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, last := h.read(), h.last
	h.last = now
	wall, steady := now.wall.Sub(last.wall), now.steady-last.steady
	n := &h.noticed
	if back := steady - wall; back > pausedAfter {
		n.setBack += back
		n.from = n.from.Add(-back) // no matter where there was no pause
	}
	if max(wall, steady) > pausedAfter {
		n.pauses++
		if n.pauses == 1 {
			n.from = earlier(last.wall, now.wall.Add(-steady))
		}
	}
	return now.wall
}

// interrupted returns what has been noticed since it was last asked.
func (h *heartbeat) interrupted() interruption {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.noticed
	h.noticed = interruption{}
	return n
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
