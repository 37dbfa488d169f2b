package main

import (
	"os"
	"testing"
)

func TestUnload(t *testing.T) {
	before := memoryOf(t, os.Getpid()).file
	unload()
	if after := memoryOf(t, os.Getpid()).file; after > before/2 {
		t.Errorf("of %.0f bytes of files %.0f are still in memory", before, after)
	}
}
