package app

import (
	"context"
	"os"
	"runtime"
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
	// fewRows is how many rows in the journal take no memory worth noting on their way to the catalog.
	fewRows = 10_000

	limitEvery = 50 * time.Millisecond
	noteEvery  = time.Minute
)

// memory is what the part "memory" needs to know.
type memory struct {
	started func() bool   // whether the first lists, or the last run's objects, are taken and recorded
	rest    func() uint64 // the live heap that is to be expected after the start, in bytes; 0 if unknown
	resting func() bool   // whether no backlog takes memory
	note    func(uint64)  // records the live heap at rest, in bytes; run calls it each minute
}

// run limits the garbage of the start, and notes the live heap for the next start. After the start,
// and again once the rows of the start are in the catalog, it returns free memory to the system: Go
// itself would do that over the next minutes. From then on it keeps to one processor while few rows wait.
func (m memory) run(ctx context.Context) error {
	if !m.start(ctx) {
		return nil // ctx ended
	}
	m.note(m.rest()) // the expected one: the next start may come before the first rest
	debug.FreeOSMemory()
	if !poll(ctx, time.Second, m.resting) {
		return nil
	}
	debug.FreeOSMemory()
	defer spread(true)
	wait.UntilWithContext(ctx, func(context.Context) {
		resting := m.resting()
		spread(!resting)
		if resting {
			m.note(reading(liveHeap))
		}
	}, noteEvery)
	return nil
}

// spread has goroutines run on all processors that Go found, or on one of them, unless the user has set GOMAXPROCS. An event
// passes through four goroutines: with more than one processor Go wakes a thread for each, which takes a sixth of the CPU
// time of an event. One processor is enough at rest: a thousand changes a second take a quarter of it.
func spread(wide bool) {
	switch {
	case os.Getenv("GOMAXPROCS") != "":
	case wide:
		runtime.SetDefaultGOMAXPROCS()
	default:
		runtime.GOMAXPROCS(1)
	}
}

// start waits until the tracker has started, and returns false if ctx ends. Until then a limit takes
// the place of GOGC while the live heap is far from that at rest, unless the user has set GOGC. A
// user's GOMEMLIMIT stays in force.
func (m memory) start(ctx context.Context) bool {
	if os.Getenv("GOGC") != "" || reading("/gc/gogc:percent") != garbage {
		return poll(ctx, time.Second, m.started)
	}
	users := debug.SetMemoryLimit(-1)
	byGOGC := func() {
		debug.SetMemoryLimit(users)
		debug.SetGCPercent(garbage)
	}
	defer byGOGC()
	return poll(ctx, limitEvery, func() bool {
		if heap := startHeap(m.rest(), reading(liveHeap)); heap == 0 {
			byGOGC()
		} else {
			debug.SetMemoryLimit(min(users, int64(heap+notHeap()))) //nolint:gosec // no memory has 2^63 bytes
			debug.SetGCPercent(-1)
		}
		return m.started()
	})
}

// poll waits until is returns true, which it asks at once and then every so often. It returns false
// if ctx ends.
func poll(ctx context.Context, every time.Duration, is func() bool) bool {
	return wait.PollUntilContextCancel(ctx, every, true, func(context.Context) (bool, error) { return is(), nil }) == nil
}

// startHeap returns the size in bytes at which the heap is to be collected during the start, by the
// live heap at rest and the present one. It is 0 if GOGC lets the heap become larger.
func startHeap(rest, live uint64) uint64 {
	if heap := startFactor * rest; heap > live*(100+garbage)/100 {
		return heap
	}
	return 0
}

// notHeap returns how many bytes Go's memory limit counts beside the objects of the heap: stacks,
// its own tables, and holes between objects, which no collection takes away.
func notHeap() uint64 {
	counted := reading("/memory/classes/total:bytes") - reading("/memory/classes/heap/released:bytes")
	free := reading("/memory/classes/heap/objects:bytes") + reading("/memory/classes/heap/free:bytes")
	return max(counted, free) - free // they are read one after the other
}

// liveHeap is the metric of the heap that the last collection left.
const liveHeap = "/gc/heap/live:bytes"

// reading returns the value of one of Go's own metrics.
func reading(name string) uint64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
