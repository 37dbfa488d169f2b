package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
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

// TestSharesAreOfTheFileSystem looks for panels that divide the used space of a file system by the size of the volume: of a
// directory on a shared file system, as NFS has them, that is more than all.
func TestSharesAreOfTheFileSystem(t *testing.T) {
	share := regexp.MustCompile(`kubevoltracker_volume_used_bytes\{[^}]*\}[^"]* / [^"]*kubevoltracker_volume_capacity_bytes`)
	for _, b := range boards() {
		for _, r := range b.rows {
			for _, p := range r.panels {
				for _, q := range p.queries {
					if share.MatchString(q.expr) {
						t.Errorf("%s, panel %q: %s", b.name, p.title, q.expr)
					}
				}
			}
		}
	}
}

// TestAVolumeIsOfOneCluster looks for dashboards on one volume and several clusters: the volumes of two clusters can have the same name.
func TestAVolumeIsOfOneCluster(t *testing.T) {
	for _, b := range boards() {
		one := map[string]bool{}
		for _, c := range b.choices {
			one[c.name] = c.one
		}
		if one["volume"] && !one["cluster"] {
			t.Errorf("%s is about one volume and any number of clusters", b.name)
		}
	}
}

// TestPrometheusPanelsWorkWithoutClickHouse looks for queries to Prometheus with a variable whose values come from ClickHouse, which Grafana
// does not reach in the default installation.
func TestPrometheusPanelsWorkWithoutClickHouse(t *testing.T) {
	for _, b := range boards() {
		for _, c := range b.choices {
			if c.sql == "" {
				continue
			}
			uses := regexp.MustCompile(`\$\{?` + c.name + `\b`)
			for _, other := range b.choices {
				if uses.MatchString(other.expr) {
					t.Errorf("%s: the choice $%s asks Prometheus with $%s, which ClickHouse lists: %s", b.name, other.name, c.name, other.expr)
				}
			}
			for _, r := range b.rows {
				for _, p := range r.panels {
					for _, q := range p.queries {
						if uses.MatchString(q.expr) {
							t.Errorf("%s, panel %q asks Prometheus with $%s, which ClickHouse lists: %s", b.name, p.title, c.name, q.expr)
						}
					}
				}
			}
		}
	}
}

// TestPanelsSayThatTheyAreOfAllOwners looks for panels that ask Prometheus on a dashboard with owners: the metrics do not have them, so the panel
// shows the same whoever is chosen.
func TestPanelsSayThatTheyAreOfAllOwners(t *testing.T) {
	for _, r := range namespaces().rows {
		for _, p := range r.panels {
			if p.queries[0].expr != "" && !(strings.HasSuffix(r.title, ", of all owners") && strings.Contains(p.description, "of all owners")) {
				t.Errorf("the row %q, panel %q, or its description %q does not say that it is of all owners", r.title, p.title, p.description)
			}
		}
	}
}

// TestALinkedValueStays looks for a list of values that Grafana reads again when the chosen time changes: it would show another volume or workload
// than the one that a link names, if the list does not have that one.
func TestALinkedValueStays(t *testing.T) {
	for _, b := range boards() {
		for _, v := range b.dashboard().Templating.List {
			if v.Name == b.name && v.Multi == nil && *v.Refresh != dashboard.VariableRefreshOnDashboardLoad {
				t.Errorf("%s: the variable %s is not refreshed when the dashboard is opened, but when the chosen time changes", b.name, v.Name)
			}
		}
	}
}

// TestNoNameComesFirst looks for a variable with exactly one value that Grafana sorts, if ClickHouse lists the values: these are names that whoever
// creates a pod chooses, and Grafana shows the first one when the dashboard is opened.
func TestNoNameComesFirst(t *testing.T) {
	for _, b := range boards() {
		for _, v := range b.dashboard().Templating.List {
			if v.Datasource != nil && *v.Datasource.Type == *inClickHouse.Type && v.Multi == nil && *v.Sort != dashboard.VariableSortDisabled {
				t.Errorf("%s: Grafana sorts the values of the variable %s", b.name, v.Name)
			}
		}
	}
}
