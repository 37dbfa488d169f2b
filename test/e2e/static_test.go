package e2e

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTrackerIsStatic holds that the tracker needs no loader and no libc where it
// runs: that is why the engine is a program of its own.
func TestTrackerIsStatic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubevoltracker")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := elf.Open(path)
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
