package test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestDirectionOfImports holds the table of DESIGN.md: which of our packages may
// import which, and where the engine's binding may get to.
func TestDirectionOfImports(t *testing.T) {
	const module = "github.com/kubevoltracker/kubevoltracker/"
	allowed := map[string][]string{
		"collector/intern":              {},
		"collector/fact":                {"collector/intern"},
		"collector/inventory":           {"collector/fact", "collector/intern"},
		"collector":                     {"collector/fact", "collector/inventory"},
		"collector/election":            {},
		"exporter":                      {"collector/fact"},
		"catalog":                       {"catalog/journal", "collector/fact"},
		"catalog/journal":               {},
		"catalog/embedded":              {},
		"catalog/engine":                {},
		"cmd/kubevoltracker/app":        {"collector", "collector/election", "collector/fact", "exporter", "catalog", "catalog/engine", "catalog/journal"},
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
