package grafana_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/grafana"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

var (
	diagnosis = regexp.MustCompile(`(?s)\*\*Diagnosis\.\*\* (Dashboard .*?)\n\n`)
	emphasis  = regexp.MustCompile(`(?s)\*([^*]+)\*`)
	linkTo    = regexp.MustCompile(`(?m)^\s*dashboard: /d/([\w-]+)(\S.*)?$`)
	variable  = regexp.MustCompile(`var-(\w+)=`)
)

// TestRunbookNamesPanelsThatExist reads each "Dashboard *A*, panel *B*; *C*, panels *D* and *E*" of the runbook. A row of panels counts as one.
func TestRunbookNamesPanelsThatExist(t *testing.T) {
	byTitle := map[string][]string{}
	for _, d := range grafana.Dashboards(t) {
		for _, p := range d.Panels {
			title := strings.TrimPrefix(d.Title, "Storage usage / ")
			byTitle[title] = append(byTitle[title], p.Title)
		}
	}
	page, err := os.ReadFile(harness.File(t, "docs/runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range diagnosis.FindAllStringSubmatch(string(page), -1) {
		for part := range strings.SplitSeq(m[1], ";") {
			names := emphasis.FindAllStringSubmatch(part, -1)
			if len(names) < 2 {
				t.Errorf("%q names no dashboard with a panel", part)
				continue
			}
			board := strings.Join(strings.Fields(names[0][1]), " ")
			for _, name := range names[1:] {
				found++
				if panel := strings.Join(strings.Fields(name[1]), " "); !slices.Contains(byTitle[board], panel) {
					t.Errorf("the runbook names the panel %q of the dashboard %q, which has %q", panel, board, byTitle[board])
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d panels were found in the runbook", found)
	}
}

// TestAlertsLinkToDashboardsThatExist reads the annotations dashboard: the uid, and the variables that the link sets.
func TestAlertsLinkToDashboardsThatExist(t *testing.T) {
	byUID := map[string]grafana.Dashboard{}
	for _, d := range grafana.Dashboards(t) {
		byUID[d.UID] = d
	}
	files, err := filepath.Glob(harness.File(t, "alerts/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.yaml") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range linkTo.FindAllStringSubmatch(string(text), -1) {
			found++
			d, ok := byUID[m[1]]
			if !ok {
				t.Errorf("%s: no dashboard has the uid %s", filepath.Base(file), m[1])
			}
			for _, v := range variable.FindAllStringSubmatch(m[2], -1) {
				if !slices.ContainsFunc(d.Templating.List, func(known grafana.Variable) bool { return known.Name == v[1] }) {
					t.Errorf("%s: the dashboard %s has no variable %s", filepath.Base(file), m[1], v[1])
				}
			}
		}
	}
	if found < 25 {
		t.Errorf("only %d links were found", found)
	}
}
