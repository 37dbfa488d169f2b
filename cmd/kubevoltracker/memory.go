package main

import (
	"context"
	"os"
	"runtime/debug"
	"time"
)

// How much garbage there may be, in percent of what is held.
const (
	// startMemory is until the first lists are in the journal. What is kept of an object lies
	// among what was needed to read it, and stays where it is: the earlier that is collected,
	// the fewer pages are left half empty. The start takes up to two thirds more processor time.
	startMemory = 25
	// spareMemory is from then on. Go's own 100 saves some per cent of a core at a thousand
	// events a second, and doubles the memory.
	spareMemory = 50
)

// spare has garbage be collected when there is so much of it, unless the user has said by
// GOGC when to.
func spare(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// sparing waits for the end of the start.
func sparing(ctx context.Context, started func() bool) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for !started() {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
	spare(spareMemory)
	unload()
	return nil
}
