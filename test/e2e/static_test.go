package e2e

import (
	"debug/elf"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestTrackerIsStatic checks that the built tracker needs no loader and no libc where it runs. The engine does, and is a
// program of its own for that reason.
func TestTrackerIsStatic(t *testing.T) {
	t.Parallel()
	f, err := elf.Open(harness.Program(t, "kubevoltracker"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, segment := range f.Progs {
		if segment.Type == elf.PT_INTERP || segment.Type == elf.PT_DYNAMIC {
			t.Errorf("it has a segment %s", segment.Type)
		}
	}
}
