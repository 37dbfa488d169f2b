package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestTheFilesAreWhatTheCodeWrites compares dashboards/*.json with the boards.
func TestTheFilesAreWhatTheCodeWrites(t *testing.T) {
	const dir = "../../dashboards"
	written, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(written) != len(boards()) {
		t.Errorf("%d files, want %d: %v", len(written), len(boards()), err)
	}
	for _, b := range boards() {
		want, err := render(b)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, b.name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s.json is not what its code writes: make dashboards", b.name)
		}
	}
}
