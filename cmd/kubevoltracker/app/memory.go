package app

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// garbage is GOGC: the heap may grow by 50 % over the live heap before Go collects it. Go's default
// of 100 would save some per cent of a core at a thousand events a second, and double the memory.
const garbage = 50

// LimitGarbage sets GOGC to garbage, unless the user has set GOGC.
func LimitGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
}

// While the tracker starts, its heap grows from nothing to its size at rest, and by GOGC half of all
// CPU time goes to collections on the way (restart with 100,000 volumes: 12.2 s, peak 683 MB). A
// limit leaves out those that come long before the heap has that size (9 s, 650 MB).
const (
	// startFactor is how much larger than at rest the heap may be before it is collected.
	startFactor = 2
	// perObject is about how many bytes of live heap an object in the lists takes at rest.
	perObject = 700
	// notHeap is what Go's memory limit counts beside the heap, in bytes.
	notHeap = 32 << 20

	limitEvery = 50 * time.Millisecond
	noteEvery  = time.Minute
)

// memory is what the part "memory" needs to know.
type memory struct {
	started func() bool   // whether the tracker has started, and all that only the start needed is garbage
	rest    func() uint64 // the live heap that is to be expected after the start, in bytes; 0 if unknown
	resting func() bool   // whether nothing takes memory for a while only
	note    func(uint64)  // is told the live heap at rest, from time to time
}

// run limits the garbage of the start. It returns the memory that only the start needed to the
// system, and once more what its rows took on their way to the catalog: Go itself would return it
// over the next minutes.
func (m memory) run(ctx context.Context) error {
	if !m.start(ctx) {
		return nil // ctx ended
	}
	m.note(m.rest()) // for a next start that comes before the first rest
	debug.FreeOSMemory()
	if !poll(ctx, time.Second, m.resting) {
		return nil
	}
	debug.FreeOSMemory()
	wait.UntilWithContext(ctx, func(context.Context) {
		if m.resting() {
			m.note(reading("/gc/heap/live:bytes"))
		}
	}, noteEvery)
	return nil
}

// start waits until the tracker has started, and returns false if ctx ends. Until then a limit that
// follows the live heap takes the place of GOGC, if that is LimitGarbage's. A user's GOMEMLIMIT
// stays in force.
func (m memory) start(ctx context.Context) bool {
	if reading("/gc/gogc:percent") != garbage {
		return poll(ctx, time.Second, m.started)
	}
	users := debug.SetMemoryLimit(-1)
	defer func() {
		debug.SetGCPercent(garbage)
		debug.SetMemoryLimit(users)
	}()
	return poll(ctx, limitEvery, func() bool {
		debug.SetMemoryLimit(min(users, startLimit(m.rest(), reading("/gc/heap/live:bytes"))))
		debug.SetGCPercent(-1)
		return m.started()
	})
}

// poll waits until is returns true, which it asks at once and then every so often. It returns false
// if ctx ends.
func poll(ctx context.Context, every time.Duration, is func() bool) bool {
	return wait.PollUntilContextCancel(ctx, every, true, func(context.Context) (bool, error) { return is(), nil }) == nil
}

// startLimit returns Go's memory limit during the start, by the live heap at rest and the present
// one. It never has Go collect more often than GOGC would.
func startLimit(rest, live uint64) int64 {
	return int64(max(startFactor*rest, live*(100+garbage)/100) + notHeap)
}

// reading returns the value of one of Go's own metrics.
func reading(name string) uint64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
