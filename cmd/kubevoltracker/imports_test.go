package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDirectionOfImports checks which of our packages may import which: the journal knows nothing of the project, the
// catalog nothing of how its rows come in, and neither the exporter nor the collector anything of the catalog. Only
// catalog/embedded binds the engine.
func TestDirectionOfImports(t *testing.T) {
	const module = "github.com/kubevoltracker/kubevoltracker/"
	allowed := map[string][]string{
		"collector/intern":              {},
		"collector/fact":                {"collector/intern"},
		"collector/inventory":           {"collector/fact", "collector/intern"},
		"collector":                     {"collector/fact", "collector/inventory"},
		"collector/election":            {},
		"exporter":                      {"collector/fact"},
		"catalog":                       {},
		"catalog/ingest":                {"catalog", "catalog/journal", "collector/fact"},
		"catalog/catalogtest":           {"catalog"},
		"catalog/journal":               {},
		"catalog/embedded":              {},
		"catalog/engine":                {},
		"cmd/kubevoltracker/app":        {"collector", "collector/election", "collector/fact", "exporter", "catalog", "catalog/engine", "catalog/ingest", "catalog/journal"},
		"cmd/kubevoltracker":            {"cmd/kubevoltracker/app", "catalog", "exporter"},
		"cmd/kubevoltracker-clickhouse": {"catalog/embedded"},
	}
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		imports := strings.Fields(line)
		name := strings.TrimPrefix(imports[0], module)
		may, known := allowed[name]
		if !known {
			t.Errorf("%s is a new package: say here what it may import", name)
			continue
		}
		seen++
		for _, path := range imports[1:] {
			if own, ok := strings.CutPrefix(path, module); ok && !slices.Contains(may, own) {
				t.Errorf("%s imports %s", name, own)
			}
			if strings.HasPrefix(path, "github.com/ebitengine/purego") && name != "catalog/embedded" {
				t.Errorf("%s imports %s: only catalog/embedded binds the engine, so that the tracker stays static", name, path)
			}
			if (name == "collector/inventory" || name == "collector/fact" || name == "collector/intern") && !pure(path) {
				t.Errorf("%s imports %s: the state machine has no I/O", name, path)
			}
		}
	}
	if seen != len(allowed) {
		t.Errorf("%d packages were looked at, %d are listed here", seen, len(allowed))
	}
}

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

// pure reports whether the inventory may import a package: the API's types, and
// of the standard library what only computes.
func pure(path string) bool {
	switch path {
	case "crypto/sha256", "encoding/binary", "encoding/json", "encoding/hex", "hash/maphash", "unique", "errors", "fmt", "maps", "reflect", "slices", "strings", "strconv", "time", "cmp", "math":
		return true
	}
	if strings.HasPrefix(path, "github.com/kubevoltracker/") {
		return true // the table says which
	}
	return path == "k8s.io/utils/ptr" || strings.HasPrefix(path, "k8s.io/api/") || strings.HasPrefix(path, "k8s.io/apimachinery/")
}
