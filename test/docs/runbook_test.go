package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/test/docs"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

var (
	sumsUp   = regexp.MustCompile(`\b(max|sum|count)\(`)
	sentence = regexp.MustCompile("(?s)kubevoltracker sql \"([^\"]+)\"")
)

// TestTheRunbookSeparatesClusters runs the runbook's and the alerts' statements that sum up rows, in a catalog of two clusters. The
// tracker of east has written nothing for a day; west's rows, and those of the other tracker of east, must not hide that.
func TestTheRunbookSeparatesClusters(t *testing.T) {
	c := catalogtest.OpenMigrated(t, engine)
	for _, sql := range []string{
		"INSERT INTO coverage (cluster, instance, kind, started_at, seen_at) VALUES ('east', 'a', 'Pod', '2026-01-01 00:00:00', '2026-02-28 12:00:00')," +
			" ('east', 'b', 'Pod', '2026-01-01 00:00:00', '2026-03-01 12:00:00'), ('west', 'c', 'Pod', '2026-01-01 00:00:00', '2026-03-01 12:00:00')",
		"INSERT INTO changes (cluster, at, kind, uid) VALUES ('east', '2026-02-28 12:00:00', 'Pod', 'p'), ('west', '2026-03-01 12:00:00', 'Pod', 'p')",
	} {
		catalogtest.Rows(t, c, sql)
	}
	statements := inSentences(t, "docs/runbook.md")
	for _, s := range docs.Find(t, "docs/runbook.md").Statements() {
		statements = append(statements, s.Text)
	}
	paths, err := filepath.Glob(harness.File(t, "alerts/*[a-z].yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if !strings.HasSuffix(path, "_test.yaml") {
			statements = append(statements, inSentences(t, "alerts/"+filepath.Base(path))...)
		}
	}
	n := 0
	for _, sql := range statements {
		if sumsUp.MatchString(sql) {
			n++
			separatesClusters(t, c, sql)
		}
	}
	if n < 20 {
		t.Errorf("only %d statements sum up rows", n)
	}
}

// TestADownTrackerIsDiagnosedFromOutside checks that the commands for KubevoltrackerDown need no container of the tracker that runs.
func TestADownTrackerIsDiagnosedFromOutside(t *testing.T) {
	text, err := os.ReadFile(harness.File(t, "docs/runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n### KubevoltrackerDown\n")
	section, _, _ = strings.Cut(section, "\n### ")
	commands, findings := docs.Parse("docs/runbook.md", []byte(section)).Commands()
	report(t, findings)
	var verbs []string
	for _, c := range commands {
		if c.Args[0] == "kubectl" && !c.Inline {
			verbs = append(verbs, c.Args[1])
		}
	}
	if !slices.Equal(verbs, []string{"describe", "logs", "port-forward"}) {
		t.Errorf("it has kubectl's commands %q", verbs)
	}
}

// separatesClusters runs a statement, and checks that its rows are those of one cluster each. Those of a kind are also of one
// tracker each.
func separatesClusters(t *testing.T, c *catalog.Catalog, sql string) {
	t.Helper()
	result, err := c.Run(t.Context(), sql, nil)
	if err != nil {
		t.Errorf("%v: %s", err, sql)
		return
	}
	defer result.Close()
	column := func(name string) bool {
		return slices.ContainsFunc(result.Columns, func(column catalog.ResultColumn) bool { return column.Name == name })
	}
	if !column("cluster") || column("kind") && !column("instance") {
		t.Errorf("its answer is one for all clusters, or for all trackers: %s", sql)
	}
	easts := 0
	for result.Next() {
		if slices.Contains(result.Row(), any("east")) {
			easts++
		}
	}
	if err := result.Err(); err != nil {
		t.Errorf("%v: %s", err, sql)
	}
	want := 0
	switch {
	case strings.Contains(sql, "FROM coverage") && column("instance"):
		want = 2
	case strings.Contains(sql, "FROM coverage"), strings.HasPrefix(sql, "SELECT cluster, max(at) AS last_change"):
		want = 1
	}
	if easts != want {
		t.Errorf("%d rows of the cluster east, want %d: %s", easts, want, sql)
	}
}

// inSentences returns the statements that a file gives to `kubevoltracker sql`, as an alert of the cluster east has them.
func inSentences(t *testing.T, name string) (statements []string) {
	t.Helper()
	text, err := os.ReadFile(harness.File(t, name))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range sentence.FindAllStringSubmatch(string(text), -1) {
		parsed, err := template.New(name).Parse("{{$labels := .}}" + strings.Join(strings.Fields(m[1]), " "))
		if err != nil {
			t.Fatal(err)
		}
		for _, labels := range []map[string]string{{"cluster": "east"}, {}} {
			var sql strings.Builder
			if err := parsed.Execute(&sql, labels); err != nil {
				t.Fatal(err)
			}
			statements = append(statements, sql.String())
		}
	}
	return statements
}
