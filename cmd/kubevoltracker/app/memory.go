package app

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// garbage is at which percentage of garbage, of the live heap, Go collects it. Go's own 100 would save some per cent of a
// core at a thousand events a second, and double the memory; 25 would save 100 of 1,000 MB at the start of the largest
// cluster, and take half as much CPU time again.
const garbage = 50

// LimitGarbage sets the limit of garbage. GOGC wins if the user has set it.
func LimitGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
}

// freeMemory waits until the tracker has started, and then gives the memory back to the system that only the start
// needed. Go would do that over the next minutes.
func freeMemory(ctx context.Context, started func() bool) error {
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(context.Context) (bool, error) { return started(), nil })
	if err == nil { // else ctx has ended before
		debug.FreeOSMemory()
	}
	return nil
}
