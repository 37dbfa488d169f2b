package docs_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/test/docs"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// engine is the address of the ClickHouse that runs the pages' SQL.
var engine string

func TestMain(m *testing.M) { catalogtest.Main(m, &engine) }

// others are flags and names in the documentation that are those of other programs.
var others = []string{
	"--authentication-token-webhook", "--enable-gzip-encoding", // kubelet, kube-state-metrics
	"--bare", "--kubelet", "--dir", "--down", "--kill", "--feature-gates", "--nodes", "--exit-with-parent", // localcluster
	"--token", "--x", "--no-x", // examples
	"--resources", "--metric-allowlist", "--metric-denylist", "--metric-labels-allowlist", "--metric-annotations-allowlist", // kube-state-metrics
	"--password-file",          // a former flag, in the changelog
	"kubevoltracker_reader",    // a user of ClickHouse
	"kubevoltracker_catalog_",  // the beginning of names
	"kubevoltracker_linux_amd", // and 64: an archive
}

func names(t *testing.T) docs.Names {
	t.Helper()
	var texts []string
	for _, name := range []string{docs.ConfigurePage, "docs/metrics.md", "Makefile"} {
		text, err := os.ReadFile(harness.File(t, name))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	n := docs.NamesOf(texts[0], texts[1], texts[2])
	if len(n.Flags) < 50 || len(n.Variables) < 50 || len(n.Targets) < 20 || len(n.Metrics) < 50 {
		t.Fatalf("too few names are found: %d flags, %d variables, %d targets, %d metrics", len(n.Flags), len(n.Variables), len(n.Targets), len(n.Metrics))
	}
	return n
}

func texts(t *testing.T) docs.Texts {
	t.Helper()
	read, err := docs.ReadTexts(harness.File(t, "cmd"), harness.File(t, "catalog"), harness.File(t, "collector"), harness.File(t, "exporter"))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestLinksLeadSomewhere(t *testing.T) {
	pages := docs.Pages(t)
	if len(pages) < 12 {
		t.Errorf("only %d pages are found", len(pages))
	}
	n := 0
	for _, p := range pages {
		n += len(p.Links)
		report(t, p.WrongLinks(harness.File(t, "."), pages))
	}
	if n < 35 {
		t.Errorf("only %d links are found", n)
	}
}

func TestNamesExist(t *testing.T) {
	known := names(t)
	for _, p := range docs.Pages(t) {
		report(t, p.WrongNames(known, others))
	}
}

func TestQuotedMessagesExist(t *testing.T) {
	code := texts(t)
	for _, p := range docs.Pages(t) {
		report(t, p.WrongQuotes(code))
	}
}

// TestStatementsRun runs the SQL of each page in its order, as the writer, in a database of its own with all tables.
func TestStatementsRun(t *testing.T) {
	n := 0
	for _, p := range docs.Pages(t) {
		statements := p.Statements()
		if n += len(statements); len(statements) == 0 {
			continue
		}
		t.Run(strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(p.Name), func(t *testing.T) {
			c := catalogtest.Open(t, engine, "page"+strings.ReplaceAll(filepath.Base(t.Name()), "-", "_"))
			if err := c.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, s := range statements {
				if err := run(t.Context(), c, s.Text); err != nil {
					t.Errorf("%v\n%v", s, err)
				}
			}
		})
	}
	if n < 30 {
		t.Errorf("only %d statements are found", n)
	}
}

// TestExpressionsParse gives the PromQL of the pages to promtool, as rules.
func TestExpressionsParse(t *testing.T) {
	var rules strings.Builder
	rules.WriteString("groups:\n- name: docs\n  rules:\n")
	n := 0
	for _, p := range docs.Pages(t) {
		for _, block := range p.Blocks {
			if block.Lang == "promql" {
				n++
				rules.WriteString("  - record: docs\n    expr: |\n")
				for line := range strings.Lines(block.Text) {
					rules.WriteString("      " + line)
				}
			}
		}
	}
	if n == 0 {
		t.Error("no expression is found")
	}
	out, err := promtool(t, rules.String())
	if err != nil {
		t.Errorf("%v\n%s\n%s", err, out, rules.String())
	}
	if out, err := promtool(t, rules.String()+"  - record: broken\n    expr: rate(x\n"); err == nil {
		t.Errorf("a broken expression passes: %s", out)
	}
}

func promtool(t *testing.T, rules string) ([]byte, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	return exec.Command(harness.Program(t, "promtool"), "check", "rules", "--lint=none", file).CombinedOutput()
}

// TestMistakesAreFound gives each check a page with a mistake, and one without.
func TestMistakesAreFound(t *testing.T) {
	known, code := names(t), texts(t)
	links := func(p *docs.Page) []string { return p.WrongLinks(harness.File(t, "."), []*docs.Page{p}) }
	spelled := func(p *docs.Page) []string { return p.WrongNames(known, others) }
	quotes := func(p *docs.Page) []string { return p.WrongQuotes(code) }
	for text, check := range map[string]func(*docs.Page) []string{
		"[a](other.md)":                                                links,
		"[a](#nowhere)\n\n## Somewhere":                                links,
		"![a](../nothing.png)":                                         links,
		"Use `--data-dirs`.":                                           spelled,
		"Use `--no-data-dir=x`.":                                       spelled,
		"Use `--webb.…`.":                                              spelled,
		"Set `KUBEVOLTRACKER_DATADIR`.":                                spelled,
		"```sh\nexport KUBEVOLTRACKER_DATADIR=x\n```":                  spelled,
		"Run `make everything`.":                                       spelled,
		"```sh\nmake build everything ARGS=x\n```":                     spelled,
		"See `kubevoltracker_journal_facets`.":                         spelled,
		"```promql\nrate(kubevoltracker_catalog_batch_total[5m])\n```": spelled,
		"It logs `msg=\"the moon is full\"`.":                          quotes,
		"## Troubleshooting\n\n| a | b |\n|---|---|\n| `journal … is empty` | x |": quotes,
	} {
		if findings := check(docs.Parse("page.md", []byte(text))); len(findings) != 1 {
			t.Errorf("%d findings in %q: %v", len(findings), text, findings)
		}
	}
	for text, check := range map[string]func(*docs.Page) []string{
		"[a](go.mod) [b](#somewhere-else) [c](https://example.org/x#y)\n\n## Somewhere, `else`":                          links,
		"Use `--data-dir=x`, `--no-metrics.per-volume`, `--web.…` and `--bare`.":                                         spelled,
		"Set `KUBEVOLTRACKER_DATA_DIR`, run `make build test`, see `kubevoltracker_claim_bind_duration_seconds_bucket`.": spelled,
		"It logs `msg=\"watch failed\"`.":                                           quotes,
		"## Troubleshooting\n\n| a | b |\n|---|---|\n| `journal … is full` | `x` |": quotes,
	} {
		report(t, check(docs.Parse("page.md", []byte(text))))
	}
	broken := docs.Parse("page.md", []byte("```sql\nSELECT 1;\nSELECT nothing FROM mounts\n```")).Statements()
	c := catalogtest.OpenMigrated(t, engine)
	if len(broken) != 2 || run(t.Context(), c, broken[0].Text) != nil || run(t.Context(), c, broken[1].Text) == nil {
		t.Errorf("a broken statement passes, or is not found: %v", broken)
	}
}

// TestProgramsDoNotContainTheParsers checks that what reads the pages is in no program.
func TestProgramsDoNotContainTheParsers(t *testing.T) {
	out, err := exec.CommandContext(context.Background(), "go", "list", "-deps", "../../cmd/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, "github.com/alecthomas/kingpin/v2") {
		t.Error("the programs' dependencies are not found")
	}
	for _, dep := range deps {
		if strings.HasPrefix(dep, "github.com/yuin/goldmark") || strings.HasPrefix(dep, "mvdan.cc/sh") {
			t.Errorf("a program contains %s", dep)
		}
	}
}

func report(t *testing.T, findings []string) {
	t.Helper()
	for _, finding := range findings {
		t.Error(finding)
	}
}
