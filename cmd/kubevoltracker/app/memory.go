package app

import (
	"context"
	"os"
	"runtime/debug"
	"time"
)

// How much garbage there may be, in percent of the live heap, before it is collected.
const (
	// startGarbage holds until the first lists are in the journal. An object that is kept lies among
	// buffers that were needed to read it, and is never moved: the earlier those are collected, the fewer
	// pages stay half empty. The start takes up to two thirds more CPU time.
	startGarbage = 25
	// garbage holds from then on. Go's own 100 saves some per cent of a core at a thousand events a
	// second, and doubles the memory.
	garbage = 50
)

// SetStartGarbage prepares the process's memory for the first lists. GOGC, if the user has set it, wins.
func SetStartGarbage() { setGarbage(startGarbage) }

// SetRestGarbage does so for the time after them.
func SetRestGarbage() { setGarbage(garbage) }

func setGarbage(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// spareMemory waits until the tracker has started, and then has memory be used as at rest.
func spareMemory(ctx context.Context, started func() bool) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for !started() {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
	SetRestGarbage()
	unload()
	return nil
}
