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

// ofPair are the series of a volume as two trackers show them: the first one saw its last use, the second one began later.
const ofPair = `
      - {series: 'kubevoltracker_volume_idle_seconds{cluster="east", instance="a", persistentvolume="pv-1", namespace="shop", persistentvolumeclaim="data", storageclass="fast"}', values: 7200}
      - {series: 'kubevoltracker_volume_idle_seconds{cluster="east", instance="b", persistentvolume="pv-1", namespace="shop", persistentvolumeclaim="data", storageclass="fast"}', values: 31536000}
      - {series: 'kubevoltracker_volume_idle_observed_seconds{cluster="east", instance="a", persistentvolume="pv-1", namespace="shop", persistentvolumeclaim="data", storageclass="fast"}', values: 7200}
      - {series: 'kubevoltracker_volume_idle_observed_seconds{cluster="east", instance="b", persistentvolume="pv-1", namespace="shop", persistentvolumeclaim="data", storageclass="fast"}', values: 2592000}
      - {series: 'kubevoltracker_volume_capacity_bytes{cluster="east", instance="a", persistentvolume="pv-1"}', values: 20}
      - {series: 'kubevoltracker_volume_capacity_bytes{cluster="east", instance="b", persistentvolume="pv-1"}', values: 10}`

// seriesCases are queries of panels, and what they answer about ofPair.
var seriesCases = []struct{ dashboard, panel, ref, labels, value string }{
	{"overview", "Longest idle volumes", "idle", `{cluster="east", namespace="shop", persistentvolume="pv-1", persistentvolumeclaim="data", storageclass="fast"}`, "7200"},
	{"overview", "Longest idle volumes", "observed", `{cluster="east", persistentvolume="pv-1"}`, "7200"},
	{"overview", "Longest idle volumes", "size", `{cluster="east", persistentvolume="pv-1"}`, "20"},
	{"volume", "Idle", "A", "{}", "7200"},
	{"volume", "Watched idle", "A", "{}", "7200"},
	{"volume", "Size", "A", "{}", "20"},
}

// TestPanelsOfTwoTrackers has promtool evaluate the queries of panels that show one value for each volume: of two trackers the smaller idle time
// counts, as the alerts have it.
func TestPanelsOfTwoTrackers(t *testing.T) {
	now := time.Unix(0, 0)
	view := grafana.View{From: now, To: now, Chosen: map[string][]string{"volume": {"pv-1"}}}
	test := "tests:\n  - input_series:" + ofPair + "\n    promql_expr_test:\n"
	for _, c := range seriesCases {
		d := grafana.Dashboards(t)[c.dashboard]
		i := slices.IndexFunc(d.Panels, func(of grafana.Panel) bool { return of.Title == c.panel })
		if i < 0 {
			t.Fatalf("%s has no panel %q", c.dashboard, c.panel)
		}
		j := slices.IndexFunc(d.Panels[i].Targets, func(of grafana.Target) bool { return of.RefID == c.ref })
		if j < 0 {
			t.Fatalf("%s, panel %q has no query %s", c.dashboard, c.panel, c.ref)
		}
		expr := strings.ReplaceAll(view.PromQL(d, d.Panels[i].Targets[j].Expr), "\n", " ")
		test += fmt.Sprintf("      - {expr: %q, eval_time: 0m, exp_samples: [{labels: %q, value: %s}]}\n", expr, c.labels, c.value)
	}
	path := filepath.Join(t.TempDir(), "panels.yaml")
	if err := os.WriteFile(path, []byte(test), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(harness.Program(t, "promtool"), "test", "rules", path).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, test)
	}
}
