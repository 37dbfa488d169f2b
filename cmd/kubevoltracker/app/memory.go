package app

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// garbage is GOGC: the heap may grow by 50 % over the live heap before Go collects it. Go's default
// of 100 would save some per cent of a core at a thousand events a second, and double the memory.
// 25 would save 100 of 1,000 MB at the start of the largest cluster, and take half as much CPU time
// again.
const garbage = 50

// LimitGarbage sets GOGC to garbage, unless the user has set GOGC.
func LimitGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
}

// freeMemory waits until the tracker has started, and then returns the memory that only the start
// needed to the system. Go itself would return it over the next minutes.
func freeMemory(ctx context.Context, started func() bool) error {
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(context.Context) (bool, error) { return started(), nil })
	if err == nil { // otherwise ctx ended first
		debug.FreeOSMemory()
	}
	return nil
}
