package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// dashboardsDir has what users install.
const dashboardsDir = "dashboards"

// dashboard is the part of a Grafana dashboard that the tests look at.
type dashboard struct {
	UID, Title, Description string
	Templating              struct {
		List []struct {
			Name, Type, Definition string
		}
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               datasource
	FieldConfig              struct {
		Defaults struct{ Unit string }
	}
	Targets []struct {
		RefID, Expr string
		Datasource  datasource
	}
}

type datasource struct{ Type, UID string }

// dashboards reads the dashboards, by file name, and checks the form of each file.
func dashboards(t testing.TB) map[string]dashboard {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(harness.File(t, dashboardsDir), "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no dashboards in %s: %v", dashboardsDir, err)
	}
	all := map[string]dashboard{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[filepath.Base(path)] = d
		sameForm(t, path, text)
	}
	return all
}

// sameForm checks that a dashboard is written as `jq -S .` writes it, whoever exported it from Grafana, so that a
// diff shows what changed.
func sameForm(t testing.TB, path string, text []byte) {
	t.Helper()
	var parsed map[string]any
	if err := json.Unmarshal(text, &parsed); err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(parsed); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, want.Bytes()) {
		t.Errorf("%s is not in the common form: jq -S . %[1]s", path)
	}
	if bytes.Contains(text, []byte(": null")) {
		t.Errorf("%s has nulls: leave such keys out", path)
	}
}

// fixedRange matches a rate whose range does not follow the panel's resolution.
var fixedRange = regexp.MustCompile(`(?:rate|increase)\([^\[]*\[(?:[^$]|\$__[^r])`)

// TestDashboardPanelsAreComplete checks that each panel has a title, a description, a unit, a query, and the data
// source that the user chooses.
func TestDashboardPanelsAreComplete(t *testing.T) {
	t.Parallel()
	uids := map[string]string{}
	for name, d := range dashboards(t) {
		if other, taken := uids[d.UID]; taken || !strings.HasPrefix(d.UID, "kubevoltracker-") || d.Title == "" || d.Description == "" {
			t.Errorf("%s: uid %q (also of %q), title %q, description %q", name, d.UID, other, d.Title, d.Description)
		}
		uids[d.UID] = name
		ids := map[int]bool{}
		for _, p := range d.Panels {
			if ids[p.ID] || p.Title == "" {
				t.Errorf("%s: panel %d is there twice, or has no title", name, p.ID)
			}
			ids[p.ID] = true
			if p.Type != "row" {
				checkPanel(t, name, p)
			}
		}
	}
}

// checkPanel checks a panel that is no row: what it shows, and each of its queries.
func checkPanel(t *testing.T, dashboard string, p panel) {
	t.Helper()
	if p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
		t.Errorf("%s, panel %q lacks a description, a unit or a query", dashboard, p.Title)
	}
	for _, target := range p.Targets {
		chosen := datasource{"prometheus", "${datasource}"}
		if p.Datasource != chosen || target.Datasource != chosen {
			t.Errorf("%s, panel %q: its data source is not the one that the user chooses", dashboard, p.Title)
		}
		if fixedRange.MatchString(target.Expr) {
			t.Errorf("%s, panel %q: a rate over anything but $__rate_interval: %s", dashboard, p.Title, target.Expr)
		}
	}
}

// ask runs every query of a dashboard twice: with all that can be chosen, where each must return series, and with
// one namespace and one class.
func (d dashboard) ask(t *testing.T, s *prometheusServer, ns string) {
	all := strings.NewReplacer("$__rate_interval", "1m", "$cluster", ".*", "$namespace", ".*", "$storageclass", ".*")
	one := strings.NewReplacer("$__rate_interval", "1m", "$cluster", "test", "$namespace", "("+ns+"|other)", "$storageclass", "standard")
	for _, variable := range d.Templating.List {
		if variable.Type == "query" {
			askVariable(t, s, variable.Name, all.Replace(variable.Definition))
		}
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			expr := all.Replace(target.Expr)
			if v, err := s.query(expr); err != nil || len(v) == 0 {
				t.Errorf("panel %q, query %s: %d series, %v\n%s", p.Title, target.RefID, len(v), err, expr)
			}
			if _, err := s.query(one.Replace(target.Expr)); err != nil {
				t.Errorf("panel %q, query %s: %v\n%s", p.Title, target.RefID, err, one.Replace(target.Expr))
			}
		}
	}
}

var labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)

// askVariable asks for the values of a variable as Grafana does.
func askVariable(t *testing.T, s *prometheusServer, name, definition string) {
	t.Helper()
	m := labelValues.FindStringSubmatch(definition)
	if m == nil {
		t.Errorf("variable %s: %s is no label_values(series, label)", name, definition)
		return
	}
	values, warnings, err := s.LabelValues(background, m[2], []string{m[1]}, time.Now().Add(-time.Hour), time.Now())
	if err != nil || len(warnings) > 0 || len(values) == 0 {
		t.Errorf("variable %s: values %v, warnings %v, %v", name, values, warnings, err)
	}
}

// pairCountsOnce compares a panel of the overview with the API. Both targets watch the same cluster, and its claims
// must not count twice.
func pairCountsOnce(t *testing.T, c *harness.LocalCluster, s *prometheusServer, ns string) {
	for _, p := range dashboards(t)["overview.json"].Panels {
		if p.Title != "Claimed space" {
			continue
		}
		expr := strings.NewReplacer("$cluster", ".*", "$namespace", ns, "$storageclass", "standard|scraped|manual").Replace(p.Targets[0].Expr)
		harness.Eventually(t, "the space of the claims counts once", func() error {
			claims, err := c.Client.CoreV1().PersistentVolumeClaims(ns).List(background, metav1.ListOptions{})
			if err != nil {
				return err
			}
			if got, err := s.value(expr); err != nil || got != float64(len(claims.Items)<<30) {
				return fmt.Errorf("%v bytes, want %d claims of 1Gi: %w", got, len(claims.Items), err)
			}
			return nil
		})
		return
	}
	t.Error("the overview has no panel \"Claimed space\"")
}
