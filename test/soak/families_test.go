package soak

import (
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestFamiliesEqualKubeStateMetrics runs the soak's workers beside a tracker with kube-state-metrics' families and
// kube-state-metrics itself. The tracker is stopped and killed meanwhile. Once the workers have stopped, and again after a
// restart, both serve the same series with the same values.
func TestFamiliesEqualKubeStateMetrics(t *testing.T) {
	c := harness.Cluster(t)
	theirs := harness.StartStateMetrics(t, c.Kubeconfig, "--resources="+harness.StateKinds)
	dir := t.TempDir()
	start := func() *harness.Tracker {
		return harness.StartTracker(t, c.Kubeconfig, "--data-dir="+dir, "--metrics.kube-state-metrics="+harness.StateKinds)
	}
	p := start()
	ch := startChurn(t, c, "families-", soakSeed(t), 4, 100*time.Millisecond)
	for _, end := range []func(*harness.Tracker, testing.TB){(*harness.Tracker).Stop, (*harness.Tracker).Kill} {
		time.Sleep(10 * time.Second)
		end(p, t)
		time.Sleep(2 * time.Second)
		p = start()
	}
	time.Sleep(5 * time.Second)
	ch.stop()
	harness.Eventually(t, "the churn has come to rest", ch.quiet)
	theirs.ExpectEqual(t, p, "after the churn")
	if left := seriesOf(p.Metrics(t), "kube_persistentvolumeclaim_info"); left < 4 { // each worker has a veteran
		t.Errorf("%d claims are left, want 4 at least", left)
	}
	p.Stop(t)
	p = start()
	theirs.ExpectEqual(t, p, "after a restart")
	t.Logf("%d things were done", ch.done.Load())
}

// seriesOf counts the series of a family.
func seriesOf(metrics map[string]string, family string) (n int) {
	for series := range metrics {
		if strings.HasPrefix(series, family+"{") {
			n++
		}
	}
	return n
}
