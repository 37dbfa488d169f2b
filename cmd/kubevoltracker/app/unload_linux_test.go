package app

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// fileMemory is how much of this process's files is in memory, in kB.
func fileMemory(t *testing.T) (kB int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "RssFile:")
	if _, err := fmt.Sscan(after, &kB); err != nil {
		t.Fatal(err)
	}
	return kB
}

func TestUnload(t *testing.T) {
	before := fileMemory(t)
	unload()
	if after := fileMemory(t); after >= before { // what runs comes back at once
		t.Errorf("of %d kB of files %d are still in memory", before, after)
	}
}
