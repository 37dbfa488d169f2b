package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/docs"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// The tests of TestTracksStorage that look at what users see: the exposition, the docs and the commands.

func (s *tracked) exposition(t *testing.T) {
	_, body, err := s.p.Get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	check := exec.Command(harness.Program(t, "promtool"), "check", "metrics")
	check.Stdin = strings.NewReader(body)
	if out, err := check.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

var writes = regexp.MustCompile(`^\s*(ALTER|CREATE|DELETE|INSERT)\s`)

// queriesInDocs asks all questions of the pages as a reader. Tests of test/docs and others run the statements that write.
func (s *tracked) queriesInDocs(t *testing.T) {
	asked := map[string]int{}
	for _, page := range docs.Pages(t) {
		for _, statement := range page.Statements() {
			asked[page.Name]++
			switch _, err := s.p.Query(statement.Text); {
			case writes.MatchString(statement.Text):
				if err == nil || !strings.Contains(err.Error(), "reads only") {
					t.Errorf("a reader may run\n%v", statement)
				}
			case err != nil:
				t.Errorf("%v in\n%v", err, statement)
			}
		}
	}
	for _, name := range []string{"README.md", "docs/catalog.md", "docs/operate.md", "docs/upgrade-from-2016.md"} {
		if asked[name] == 0 {
			t.Errorf("%s has no query", name)
		}
	}
}

func (s *tracked) metricsInDocs(t *testing.T) {
	page, err := os.ReadFile(harness.File(t, "docs/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, body, err := s.p.Get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(body) {
		if name, ok := strings.CutPrefix(line, "# TYPE kubevoltracker_"); ok {
			if name = strings.Fields(name)[0]; !bytes.Contains(page, []byte("`"+name+"`")) {
				t.Errorf("docs/metrics.md lacks %s", name)
			}
		}
	}
}

// sqlCommand counts claims that were written several times: when they came, when they were bound, when one grew.
func (s *tracked) sqlCommand(t *testing.T) {
	ns := s.c.CreateNamespace(t, "replaced")
	for _, claim := range []string{"bound", "grown"} {
		s.c.CreateClaim(t, ns, claim, "standard")
		s.c.AwaitBound(t, ns, claim)
	}
	s.resize(t, ns, "grown", "3Gi")
	s.p.ExpectRows(t, "SELECT name, phase, capacity_bytes FROM claims WHERE namespace = 'replaced' ORDER BY name", "bound\tBound\t1073741824", "grown\tBound\t3221225472")
	out, err := exec.Command(harness.Program(t, "kubevoltracker"), "sql", "--catalog.url="+s.p.Catalog, "-o", "csv", "--param=ns="+ns,
		"SELECT name, count() AS n FROM claims WHERE namespace = {ns:String} GROUP BY name ORDER BY name").CombinedOutput()
	if want := "name,n\nbound,1\ngrown,1\n"; err != nil || string(out) != want {
		t.Errorf("%v\n got %q\nwant %q", err, out, want)
	}
}

func (s *tracked) secondMigration(t *testing.T) {
	out, err := exec.Command(harness.Program(t, "kubevoltracker"), "schema", "migrate", "--catalog.url="+s.p.Catalog).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "0 migrations applied") {
		t.Errorf("%v %s", err, out)
	}
}

func (s *tracked) landingPage(t *testing.T) {
	if _, body, err := s.p.Get("/"); err != nil || !strings.Contains(body, `/metrics`) || !strings.Contains(body, "kubevoltracker") {
		t.Errorf("%v %s", err, body)
	}
}
