package grafana_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/test/grafana"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// answer is a query of a panel, and the one sample that it returns: its labels and value. Without labels it returns none.
type answer struct{ dashboard, panel, ref, labels, value string }

// seriesCases are series as Prometheus has them for an hour, and what panels show of them at its end.
var seriesCases = []struct {
	name    string
	series  []string // series and value
	answers []answer
}{
	{
		"two trackers of a volume: the first one saw its last use, the second one began later", []string{
			`kubevoltracker_volume_idle_seconds{cluster="east", instance="a", persistentvolume="pv-1", namespace="shop", persistentvolumeclaim="data", storageclass="fast"} 7200`,
			`kubevoltracker_volume_idle_seconds{cluster="east", instance="b", persistentvolume="pv-1", namespace="shop", persistentvolumeclaim="data", storageclass="fast"} 31536000`,
			`kubevoltracker_volume_idle_observed_seconds{cluster="east", instance="a", persistentvolume="pv-1", namespace="shop", persistentvolumeclaim="data", storageclass="fast"} 7200`,
			`kubevoltracker_volume_idle_observed_seconds{cluster="east", instance="b", persistentvolume="pv-1", namespace="shop", persistentvolumeclaim="data", storageclass="fast"} 2592000`,
			`kubevoltracker_volume_capacity_bytes{cluster="east", instance="a", persistentvolume="pv-1"} 20`,
			`kubevoltracker_volume_capacity_bytes{cluster="east", instance="b", persistentvolume="pv-1"} 10`,
		}, []answer{
			{"overview", "Longest idle volumes", "idle", `{cluster="east", namespace="shop", persistentvolume="pv-1", persistentvolumeclaim="data", storageclass="fast"}`, "7200"},
			{"overview", "Longest idle volumes", "observed", `{cluster="east", persistentvolume="pv-1"}`, "7200"},
			{"overview", "Longest idle volumes", "size", `{cluster="east", persistentvolume="pv-1"}`, "20"},
			{"volume", "Idle", "A", "{}", "7200"},
			{"volume", "Watched idle", "A", "{}", "7200"},
			{"volume", "Size", "A", "{}", "20"},
		},
	},
	{
		"two trackers, and the watch of one of them hangs", []string{
			`kubevoltracker_watch_available{cluster="east", instance="a", kind="Pod"} 1`, `kubevoltracker_watch_available{cluster="east", instance="b", kind="Pod"} 1`,
			`kubevoltracker_watch_last_seen_timestamp_seconds{cluster="east", instance="a", kind="Pod"} 600`,
			`kubevoltracker_watch_last_seen_timestamp_seconds{cluster="east", instance="b", kind="Pod"} 3570`,
			`kubevoltracker_watch_last_seen_timestamp_seconds{cluster="east", instance="c", kind="Pod"} 0`,
		}, []answer{
			{"tracker", "Watch last seen", "A", "{}", "3000"},
			{"tracker", "Kinds", "seen", `{cluster="east", kind="Pod"}`, "3000"},
		},
	},
	{
		"no tracker", []string{`up 0`}, figures(""),
	},
	{
		"a tracker that is not ready", []string{
			`kubevoltracker_build_info{cluster="east"} 1`, `kubevoltracker_ready{cluster="east"} 0`, `kubevoltracker_inventory_objects{cluster="east", kind="PersistentVolume"} 0`,
		}, figures("", "tracker/Trackers 1", "tracker/Missing rights 0"),
	},
	{
		"a tracker without a catalog and without metrics per volume, of a cluster without claims", []string{
			`kubevoltracker_build_info{cluster="east"} 1`, `kubevoltracker_ready{cluster="east"} 1`, `kubevoltracker_watch_available{cluster="east", kind="Pod"} 1`,
			`kubevoltracker_inventory_objects{cluster="east", kind="PersistentVolume"} 1`,
		}, figures("0", "tracker/Trackers 1", "tracker/Rows refused", "overview/Volumes", "overview/Released or failed", "overview/Idle for 30 days", "idle/Never mounted", "idle/Released or failed"),
	},
	{
		"a tracker of a cluster without volumes", []string{
			`kubevoltracker_build_info{cluster="east"} 1`, `kubevoltracker_ready{cluster="east"} 1`, `kubevoltracker_watch_available{cluster="east", kind="Pod"} 1`,
			`kubevoltracker_catalog_up{cluster="east"} 1`, `kubevoltracker_inventory_objects{cluster="east", kind="PersistentVolume"} 0`,
			`kubevoltracker_inventory_objects{cluster="east", kind="Pod"} 0`,
		}, figures("0", "tracker/Trackers 1"),
	},
	{
		"a tracker of a cluster with a volume that is in use", []string{
			`kubevoltracker_build_info{cluster="east"} 1`, `kubevoltracker_ready{cluster="east"} 1`, `kubevoltracker_watch_available{cluster="east", kind="Pod"} 1`,
			`kubevoltracker_catalog_up{cluster="east"} 1`,
			`kubevoltracker_volume_state{cluster="east", persistentvolume="pv-1", namespace="shop", storageclass="fast", state="mounted"} 1`,
			`kubevoltracker_volume_idle_observed_seconds{cluster="east", persistentvolume="pv-1", namespace="shop", storageclass="fast"} 0`,
		}, figures("0", "tracker/Trackers 1", "overview/Volumes 1"),
	},
}

// figures are the panels that show a number of objects or bytes, and 0 if there are none, with a value for all of them but some:
// "dashboard/panel value", or "dashboard/panel" for one without a value.
func figures(value string, but ...string) (all []answer) {
	for _, name := range []string{
		"overview/Volumes", "overview/Claimed space", "overview/Idle space", "overview/Idle for 30 days", "overview/Released or failed", "overview/Claims pending or lost",
		"idle/Idle space", "idle/Idle volumes", "idle/Never mounted", "idle/Released or failed",
		"namespace/Claims", "namespace/Requested", "namespace/Given", "namespace/Idle", "growth/Given", "workload/Space of the namespace",
		"tracker/Missing rights", "tracker/Kinds not shown", "tracker/Rows refused", "tracker/Volumes not measured", "tracker/Trackers",
	} {
		of := value
		if name == "tracker/Trackers" {
			of = "0"
		}
		for _, other := range but {
			if other == name {
				of = ""
			} else if after, found := strings.CutPrefix(other, name+" "); found {
				of = after
			}
		}
		dashboard, panel, _ := strings.Cut(name, "/")
		a := answer{dashboard, panel, "A", "{}", of}
		if of == "" {
			a.labels = ""
		}
		all = append(all, a)
	}
	return all
}

// TestPanelsOfSeries has promtool evaluate the queries of panels. Of two trackers the smaller idle time of a volume counts, as the alerts have it.
// A panel shows 0 only if a tracker says that there is nothing.
func TestPanelsOfSeries(t *testing.T) {
	now := time.Unix(0, 0)
	view := grafana.View{From: now, To: now, Chosen: map[string][]string{"volume": {"pv-1"}}}
	test := "tests:\n"
	for _, c := range seriesCases {
		test += fmt.Sprintf("- name: %q\n  input_series:\n", c.name)
		for _, s := range c.series {
			i := strings.LastIndex(s, " ")
			test += fmt.Sprintf("  - {series: '%s', values: %sx60}\n", s[:i], s[i+1:])
		}
		test += "  promql_expr_test:\n"
		for _, a := range c.answers {
			samples := ""
			if a.labels != "" {
				samples = fmt.Sprintf("{labels: %q, value: %s}", a.labels, a.value)
			}
			test += fmt.Sprintf("  - {expr: %q, eval_time: 1h, exp_samples: [%s]}\n", a.expr(t, view), samples)
		}
	}
	path := filepath.Join(t.TempDir(), "panels.yaml")
	if err := os.WriteFile(path, []byte(test), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(harness.Program(t, "promtool"), "test", "rules", path).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, test)
	}
}

// expr is the query of the panel, on one line.
func (a answer) expr(t *testing.T, view grafana.View) string {
	t.Helper()
	d := grafana.Dashboards(t)[a.dashboard]
	i := slices.IndexFunc(d.Panels, func(of grafana.Panel) bool { return of.Title == a.panel })
	if i < 0 {
		t.Fatalf("%s has no panel %q", a.dashboard, a.panel)
	}
	j := slices.IndexFunc(d.Panels[i].Targets, func(of grafana.Target) bool { return of.RefID == a.ref })
	if j < 0 {
		t.Fatalf("%s, panel %q has no query %s", a.dashboard, a.panel, a.ref)
	}
	return strings.ReplaceAll(view.PromQL(d, d.Panels[i].Targets[j].Expr), "\n", " ")
}
