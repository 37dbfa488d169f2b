package collector

import (
	"sync"
	"time"
)

// beatEvery is how often a heartbeat reads the clocks. It widens the bounds of a pause by 250 ms at
// most.
const beatEvery = 250 * time.Millisecond

// pausedAfter is how far a clock must move between two beats before the process counts as paused:
// one second, which is a beat that is 0.75 s late. A shorter pause dates an event no later than a
// slow recorder may (delayedAfter). On two cores with eight busy processes beats were 10 ms late. A
// false alarm widens bounds but makes none wrong.
const pausedAfter = delayedAfter

// reading is the time on both clocks at one moment.
type reading struct {
	wall   time.Time     // may be set; advances while the machine is suspended
	steady time.Duration // since an arbitrary moment; is never set; stands still while the machine is suspended
}

// readings returns a function that reads both clocks. The steady clock is the monotonic reading of
// time.Now; a clock without one counts as steady itself.
func readings(now func() time.Time) func() reading {
	start := now()
	return func() reading {
		t := now()
		return reading{wall: t.Round(0), steady: t.Sub(start)}
	}
}

// heartbeat detects that the process did not run for a while: a signal stopped it, its node
// throttled it, or its machine was suspended or paused. Each beat compares both clocks with the
// previous beat. Beats come from a goroutine of their own and from every caller that dates an
// event: the first beat after a pause detects the pause, and no later beat reports it again.
//
// A wall clock that is set forward looks like a suspended machine and counts as a pause, which only
// widens bounds. A wall clock that is set back is no pause.
type heartbeat struct {
	read func() reading

	mu      sync.Mutex
	last    reading
	noticed interruption
}

// interruption is what a heartbeat has detected; the zero value is no interruption.
type interruption struct {
	pauses  int
	from    time.Time     // the last beat before the first pause, by the wall clock after it was set
	setBack time.Duration // how far the wall clock was set back
}

func newHeartbeat(read func() reading) *heartbeat { return &heartbeat{read: read, last: read()} }

// beat reads the clocks, records an interruption since the last beat, and returns the wall clock's
// moment. An event that was read before the call was read before that moment.
func (h *heartbeat) beat() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, last := h.read(), h.last
	h.last = now
	wall, steady := now.wall.Sub(last.wall), now.steady-last.steady
	n := &h.noticed
	if back := steady - wall; back > pausedAfter {
		n.setBack += back
		n.from = n.from.Add(-back) // has no effect if there was no pause
	}
	if max(wall, steady) > pausedAfter {
		n.pauses++
		if n.pauses == 1 {
			n.from = earlier(last.wall, now.wall.Add(-steady))
		}
	}
	return now.wall
}

// interrupted returns the interruptions that were detected since its last call.
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
