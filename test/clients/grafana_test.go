package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestTheDashboardsHaveGrafanasTypes compares dashboards/*.json with @grafana/schema, which make fetches by npm.
func TestTheDashboardsHaveGrafanasTypes(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(harness.File(t, "dashboards"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	node := exec.Command("node", append([]string{"grafana.mjs"}, files...)...)
	node.Env = append(os.Environ(), "CLIENTS="+harness.File(t, ".cache/grafana"))
	if out, err := node.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
