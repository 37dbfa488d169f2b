package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Tests are the tests, fuzz tests and benchmarks of the project. The key is the name, and the value are the literal
// texts of the test's file, which include the names of subtests.
type Tests map[string][]string

// testName is the name of a test in a sentence, with its subtest.
var testName = regexp.MustCompile(`^((?:Test|Fuzz|Benchmark)[A-Z0-9]\w*)(?:/(\S+))?$`)

// ReadTests reads the test files below a directory, those of nested modules too.
func ReadTests(root string) (Tests, error) {
	tests := Tests{}
	err := walk(root, func(path, _ string) error {
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return tests.read(path, source)
	})
	return tests, err
}

func (tests Tests) read(path string, source []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	var names, literals []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil && testName.MatchString(n.Name.Name) {
				names = append(names, n.Name.Name)
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				literals = append(literals, strings.ReplaceAll(text, " ", "_"))
			}
		}
		return true
	})
	for _, name := range names {
		tests[name] = append(tests[name], literals...)
	}
	return nil
}

// WrongTests returns a finding for each test on the page that does not exist, and for each command line of go test
// whose pattern chooses none. A subtest exists if a literal text in its test's file is its name.
func (p *Page) WrongTests(tests Tests) (findings []string) {
	for _, span := range p.Spans {
		m := testName.FindStringSubmatch(span.Text)
		if m == nil {
			continue
		}
		literals, exists := tests[m[1]]
		switch {
		case !exists:
			findings = append(findings, fmt.Sprintf("%v: the project has no test of this name", span))
		case m[2] != "" && !slices.Contains(literals, m[2]):
			findings = append(findings, fmt.Sprintf("%v: the file of this test does not name the subtest %s", span, m[2]))
		}
	}
	for _, piece := range append(slices.Clone(p.Spans), p.Blocks...) {
		for _, m := range testPattern.FindAllStringSubmatch(piece.Text, -1) {
			if !tests.match(m[1]) {
				findings = append(findings, fmt.Sprintf("%s:%d: no test matches %s", p.Name, piece.Line, m[0]))
			}
		}
	}
	return findings
}

// testPattern is a command line that chooses tests. Its pattern ends before that of the subtests.
var testPattern = regexp.MustCompile(`\bgo test [^\n]*-run[ =]["']?([^\s"'/]+)`)

// match reports whether a pattern of go test chooses a test.
func (tests Tests) match(pattern string) bool {
	of, err := regexp.Compile(pattern)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(slices.Collect(maps.Keys(tests)), of.MatchString)
}

// walk calls visit with each file of the project: its path, and its name relative to root with slashes. Hidden
// directories and those of downloaded packages are not the project's.
func walk(root string, visit func(path, name string) error) error {
	return filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return visit(path, filepath.ToSlash(name))
	})
}
