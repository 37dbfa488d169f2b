package loadgen

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/cmd/kubevoltracker/loadgen"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestDrill makes load by each profile, and compares it with the catalog of a tracker: somewhat more than 100 changes a
// second are asked for, for LOADGEN_DURATION each, by as many objects as that takes. It prints the rate that was reached,
// and does not judge it.
func TestDrill(t *testing.T) {
	c := marked(t)
	tracker := harness.StartTracker(t, c.Kubeconfig, "--catalog.url=embedded:")
	long := os.Getenv("LOADGEN_DURATION")
	size := []string{"--volumes=9", "--claims=18", "--pods=24"}
	if long != "" {
		size = []string{"--volumes=400", "--claims=1500", "--pods=1500"}
	}
	for _, profile := range loadgen.Profiles() {
		t.Run(profile, func(t *testing.T) {
			file, out, last := load(t, long, append(slices.Clone(size), "--kube.kubeconfig="+c.Kubeconfig, "--rate=103", "--profile="+profile)...)
			if text, err := os.ReadFile(file); err != nil || string(text) != out {
				t.Errorf("the file and the standard output differ, or %v", err)
			}
			verdict, _, err := run(t, "verify", "--exact", "--file="+file, "--catalog.url="+tracker.Catalog)
			t.Logf("%s: %s\n%s", profile, last, verdict)
			if err != nil || !strings.HasSuffix(verdict, "\n0 missing, 0 duplicated, 0 wrong\n") {
				t.Error(err)
			}
			for _, table := range []string{"pods", "claims", "volumes", "containers", "mounts", "bindings"} {
				if strings.Contains(verdict, " 0 "+table) {
					t.Errorf("the run proves no row of %s", table)
				}
			}
			checkUses(t, tracker.Catalog, "")
			if !strings.HasSuffix(last, " 0 objects left") {
				t.Errorf("the run has left something: %s", last)
			}
		})
	}
}

// checkUses waits until what a catalog keeps of the volumes' use and state agrees with its other tables: beside this test,
// others may make load.
func checkUses(t *testing.T, url, password string) {
	t.Helper()
	c, err := catalog.Open(catalog.Options{URL: url, Password: password})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	harness.Eventually(t, "volume_uses and volume_states agree with the other tables", func() error { return catalogtest.CheckSums(t, c) })
}
