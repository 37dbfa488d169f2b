package app

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// The garbage, in percent of the live heap, at which Go collects it.
const (
	// startGarbage applies until the first lists are in the journal. Go never moves an object, and the
	// objects that stay are allocated among the buffers that reading them took: the earlier those buffers
	// are collected, the fewer pages stay half empty. The start takes up to two thirds more CPU time.
	startGarbage = 25
	// garbage applies from then on. Go's own 100 would save some per cent of a core at a thousand events
	// a second, and double the memory.
	garbage = 50
)

// SetStartGarbage limits garbage for the time of the first lists. GOGC wins if the user has set it.
func SetStartGarbage() { setGarbage(startGarbage) }

// SetRestGarbage limits garbage for the time after them. GOGC wins here, too.
func SetRestGarbage() { setGarbage(garbage) }

func setGarbage(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// spareMemory waits until the tracker has started, and then sets the limit of garbage for the time after.
func spareMemory(ctx context.Context, started func() bool) error {
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(context.Context) (bool, error) { return started(), nil })
	if err == nil { // else ctx has ended before
		SetRestGarbage()
	}
	return nil
}
