package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestCountersGoOnAfterARestart kills a tracker, creates a claim and a mount while it is away, and starts it again.
// It counts each of them once, and counts nothing twice.
func TestCountersGoOnAfterARestart(t *testing.T) {
	t.Parallel()
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "counted")
	c.CreateBoundClaim(t, ns, "found", "standard")
	dir := t.TempDir()
	p := harness.StartTracker(t, c.Kubeconfig, "--data-dir="+dir, "--catalog.url=none")
	expect := func(want map[string]string) {
		t.Helper()
		harness.Eventually(t, "the counters are right", func() error {
			metrics := p.Metrics(t)
			for series, value := range want {
				if got := metrics[series]; got != value {
					return fmt.Errorf("%s is %q, want %s", series, got, value)
				}
			}
			return nil
		})
	}
	labels := fmt.Sprintf(`{namespace=%q,storageclass="standard"}`, ns)
	created, bound, mounted := "kubevoltracker_claims_created_total"+labels, "kubevoltracker_claims_bound_total"+labels, fmt.Sprintf("kubevoltracker_mounts_started_total{namespace=%q}", ns)
	expect(map[string]string{created: "0", bound: "0", mounted: "0"})
	for _, name := range []string{"a", "b", "c"} {
		c.CreateBoundClaim(t, ns, name, "standard")
	}
	c.CreatePod(t, ns, "user", 0, "a", "b")
	c.AwaitPod(t, ns, "user", corev1.PodRunning)
	expect(map[string]string{created: "3", bound: "3", mounted: "2"})

	p.Kill(t) // the last counts may not be in the journal yet
	c.CreateBoundClaim(t, ns, "away", "standard")
	c.CreatePod(t, ns, "away", 0, "away")
	c.AwaitPod(t, ns, "away", corev1.PodRunning)
	p = harness.StartTracker(t, c.Kubeconfig, "--data-dir="+dir, "--catalog.url=none")
	for first := ""; first == ""; { // no scrape may have less than before
		if first = p.Metrics(t)[created]; first != "" && first != "4" {
			t.Errorf("the first scrape with counters says %s, want 4", first)
		}
	}
	expect(map[string]string{created: "4", bound: "4", mounted: "3"})

	const binds = `kubevoltracker_claim_bind_duration_seconds_count{storageclass="standard"}`
	before := mustFloat(t, p.Metrics(t)[binds]) // of the claims of all tests
	if before == 0 {
		t.Errorf("no claim's binding is in %s", binds)
	}
	p.Stop(t) // nothing happens in this namespace before the next start
	p = harness.StartTracker(t, c.Kubeconfig, "--data-dir="+dir, "--catalog.url=none")
	expect(map[string]string{created: "4", bound: "4", mounted: "3"})
	if after := mustFloat(t, p.Metrics(t)[binds]); after < before {
		t.Errorf("%s was %g, and is %g after a restart", binds, before, after)
	}
	c.CreateClaim(t, ns, "last", "standard")
	expect(map[string]string{created: "5", bound: "5"})
}
