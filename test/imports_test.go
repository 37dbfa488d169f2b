package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/kubevoltracker/kubevoltracker/"

// mayImport lists which packages of the project each package imports, other than in its tests.
var mayImport = map[string][]string{
	"collector/intern":              {},
	"collector/fact":                {"collector/intern"},
	"collector/inventory":           {"collector/fact", "collector/intern"},
	"collector/redact":              {"collector/fact", "collector/inventory"},
	"collector/skim":                {},
	"collector":                     {"collector/fact", "collector/inventory", "collector/redact", "collector/skim"},
	"collector/election":            {},
	"exporter":                      {"collector/fact", "exporter/statemetrics"},
	"exporter/statemetrics":         {"collector/fact"},
	"catalog":                       {},
	"catalog/ingest":                {"catalog", "catalog/journal", "catalog/privatedir", "collector/fact"},
	"catalog/catalogtest":           {"catalog"},
	"catalog/journal":               {"catalog/privatedir"},
	"catalog/privatedir":            {},
	"catalog/embedded":              {"catalog/embedded/sandbox", "catalog/privatedir"},
	"catalog/embedded/sandbox":      {},
	"catalog/engine":                {"catalog/listen"},
	"catalog/listen":                {},
	"cmd/namedflag":                 {},
	"cmd/kubevoltracker/loadgen":    {"catalog"},
	"cmd/kubevoltracker/app":        {"collector", "collector/election", "collector/fact", "collector/inventory", "collector/redact", "exporter", "exporter/statemetrics", "catalog", "catalog/engine", "catalog/ingest", "catalog/journal", "catalog/privatedir"},
	"cmd/kubevoltracker":            {"cmd/kubevoltracker/app", "cmd/kubevoltracker/loadgen", "cmd/namedflag", "catalog", "collector/redact", "exporter", "exporter/statemetrics"},
	"cmd/kubevoltracker-clickhouse": {"catalog/embedded", "catalog/embedded/sandbox", "catalog/listen", "catalog/privatedir", "cmd/namedflag"},
	"deploy/vulncheck":              {},
	"test":                          {},
	"test/harness":                  {"catalog/catalogtest"},
	"test/attack":                   {},
	"test/docs":                     {"test/harness"},
	"test/clients":                  {},
	"test/truth":                    {"test/harness"},
	"test/e2e":                      {},
	"test/grafana":                  {"test/harness"},
	"test/install":                  {},
	"test/soak":                     {},
	"test/loadgen":                  {},
	"test/compare":                  {},
	"test/rbac":                     {},
	"test/scale":                    {},
	"test/history":                  {},
}

// neverReach lists what a package must not depend on, not even through others, whatever mayImport allows.
var neverReach = []struct{ from, to, because string }{
	{"exporter", "catalog", "metrics are served without a catalog"},
	{"catalog", "exporter", "a catalog is written without metrics of volumes"},
	{"collector", "exporter", "facts flow out of the collector, and it does not know its sinks"},
	{"collector", "catalog", "facts flow out of the collector, and it does not know its sinks"},
}

// listed is a package as `go list` tells it.
type listed struct {
	name    string
	imports []string // import paths
	deps    []string // all that it depends on
}

// packages lists the packages of the project.
func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}|{{join .Imports " "}}|{{join .Deps " "}}`, module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []listed
	for line := range strings.Lines(string(out)) {
		part := strings.Split(strings.TrimSpace(line), "|")
		all = append(all, listed{strings.TrimPrefix(part[0], module), strings.Fields(part[1]), strings.Fields(part[2])})
	}
	return all
}

func TestPackagesImportOnlyWhatTheTableAllows(t *testing.T) {
	all := packages(t)
	for _, p := range all {
		allowed, known := mayImport[strings.TrimSuffix(p.name, "/")]
		if !known {
			t.Errorf("%s is a new package: say here what it may import", p.name)
			continue
		}
		for _, path := range p.imports {
			if own, ok := strings.CutPrefix(path, module); ok && !slices.Contains(allowed, own) {
				t.Errorf("%s imports %s", p.name, own)
			}
		}
	}
	if len(all) != len(mayImport) {
		t.Errorf("there are %d packages, and %d are listed here", len(all), len(mayImport))
	}
}

// TestMakeBuildsAProgramAnewWhenItsPackagesChange compares the sources of the programs' rules with what they import.
func TestMakeBuildsAProgramAnewWhenItsPackagesChange(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string][]string{}
	for _, rule := range regexp.MustCompile(`(?m)^\$\(BIN\)/(\S+): \$\(call sources,(.*)\)$`).FindAllStringSubmatch(string(makefile), -1) {
		rules["cmd/"+rule[1]] = strings.Fields(rule[2])
	}
	programs := 0
	for _, p := range packages(t) {
		sources, ok := rules[p.name]
		if !ok {
			continue
		}
		programs++
		for _, path := range append(p.deps, module+p.name) {
			own, ok := strings.CutPrefix(path, module)
			if ok && !slices.ContainsFunc(sources, func(source string) bool { return within(own, source) }) {
				t.Errorf("%s imports %s, and is not built anew when that changes: the Makefile says %s", p.name, own, sources)
			}
		}
	}
	if programs != 2 {
		t.Errorf("the Makefile has rules for %d of the two programs", programs)
	}
}

func TestMakeHelpListsEachTarget(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	help, err := exec.Command("make", "-s", "-C", "..", "--no-print-directory", "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	const column = 20
	listed := map[string]bool{}
	for line := range strings.Lines(string(help)) {
		name, _, _ := strings.Cut(line, " ")
		listed[name] = true
		if len(line) <= column || line[column-1] != ' ' || line[column] == ' ' {
			t.Errorf("the description does not begin in column %d: %s", column+1, line)
		}
	}
	for _, rule := range regexp.MustCompile(`(?m)^\.PHONY: ([a-z -]+)$`).FindAllStringSubmatch(string(makefile), -1) {
		for _, name := range strings.Fields(rule[1]) {
			if !listed[name] {
				t.Errorf("make help lacks %s", name)
			}
		}
	}
}

// within reports whether a package is in a directory.
func within(name, parent string) bool { return name == parent || strings.HasPrefix(name, parent+"/") }

func TestNoPackageReachesWhatItMustNotKnow(t *testing.T) {
	for _, p := range packages(t) {
		for _, path := range p.deps {
			own, ok := strings.CutPrefix(path, module)
			if !ok {
				continue
			}
			for _, rule := range neverReach {
				if within(p.name, rule.from) && within(own, rule.to) {
					t.Errorf("%s depends on %s: %s", p.name, own, rule.because)
				}
			}
			if within(own, "test") && !within(p.name, "test") {
				t.Errorf("%s depends on %s: only tests may", p.name, own)
			}
		}
	}
}

func TestOnlyTheEngineBindsTheLibrary(t *testing.T) {
	for _, p := range packages(t) {
		for _, path := range p.imports {
			if strings.HasPrefix(path, "github.com/ebitengine/purego") && p.name != "catalog/embedded" {
				t.Errorf("%s imports %s: only catalog/embedded binds the engine, so that the tracker stays static", p.name, path)
			}
		}
	}
}

func TestTheStateMachineHasNoIOAndNoGoroutine(t *testing.T) {
	for _, p := range packages(t) {
		if p.name != "collector/inventory" && p.name != "collector/fact" && p.name != "collector/intern" {
			continue
		}
		for _, path := range p.imports {
			if !pure(path) {
				t.Errorf("%s imports %s: the state machine has no I/O", p.name, path)
			}
		}
		for _, at := range goStatements(t, filepath.Join("..", p.name)) {
			t.Errorf("%s begins a goroutine: the Makefile tests the state machine without the race detector", at)
		}
	}
}

// goStatements returns where the code of a package, other than its tests, begins goroutines.
func goStatements(t *testing.T, dir string) (at []token.Position) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(files), err)
	}
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if statement, ok := n.(*ast.GoStmt); ok {
				at = append(at, set.Position(statement.Pos()))
			}
			return true
		})
	}
	return at
}

// pure reports whether the state machine may import a package: the API's types, and of the standard library what only
// computes.
func pure(path string) bool {
	switch path {
	case "crypto/sha256", "encoding/binary", "encoding/json", "encoding/hex", "hash/fnv", "hash/maphash", "unique", "errors", "fmt", "maps", "reflect", "slices", "strings", "strconv", "time", "cmp", "math", "unicode":
		return true
	}
	if strings.HasPrefix(path, module) {
		return true // mayImport says which
	}
	return path == "k8s.io/utils/ptr" || strings.HasPrefix(path, "k8s.io/api/") || strings.HasPrefix(path, "k8s.io/apimachinery/")
}
