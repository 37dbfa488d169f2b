package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestRowsWaitForClickHouse starts a tracker whose ClickHouse does not run yet. It is ready, and writes all that it
// has seen once ClickHouse runs.
func TestRowsWaitForClickHouse(t *testing.T) {
	t.Parallel()
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "waits")
	server := harness.NewClickHouse(t)
	p := harness.StartTracker(t, c.Kubeconfig, "--catalog.url="+server.URL("kubevoltracker"))
	harness.Eventually(t, "ready without ClickHouse", func() error {
		if status, body, err := p.Get("/readyz"); err != nil || status != 200 {
			return fmt.Errorf("%d %s %w", status, body, err)
		}
		return nil
	})
	c.CreateBoundClaim(t, ns, "data", "standard")
	if up := p.Metrics(t)["kubevoltracker_catalog_up"]; up != "0" {
		t.Errorf("catalog_up is %s", up)
	}

	p.Catalog = server.URL("kubevoltracker")
	server.Start()
	p.ExpectRows(t, "SELECT name, phase FROM claims WHERE namespace = 'waits'", "data\tBound")
	t.Cleanup(func() { p.Stop(t) }) // the tracker stops before its ClickHouse
}

// TestEngineCrashLosesNoRow kills the embedded ClickHouse under the tracker.
func TestEngineCrashLosesNoRow(t *testing.T) {
	t.Parallel()
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "crash")
	p := harness.StartTracker(t, c.Kubeconfig)
	p.ExpectRows(t, "SELECT count() > 0 FROM storage_classes", "1")
	if err := syscall.Kill(engineOf(t, p.PID()), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.CreateBoundClaim(t, ns, "data", "standard")
	p.ExpectRows(t, "SELECT name, phase FROM claims WHERE namespace = 'crash'", "data\tBound")
}

// engineOf returns the process of a tracker's embedded ClickHouse.
func engineOf(t testing.TB, parent int) int {
	t.Helper()
	if child := harness.ChildOf(t, parent); child != 0 {
		return child
	}
	t.Fatalf("process %d has no child", parent)
	return 0
}

// waitsForTheAPIServer takes the API server away and back.
func waitsForTheAPIServer(t *testing.T, c *harness.LocalCluster) {
	ns := c.CreateNamespace(t, "restart")
	c.CreateBoundClaim(t, ns, "before", "standard")
	p := harness.StartTracker(t, c.Kubeconfig)
	p.ExpectRows(t, "SELECT name FROM claims WHERE namespace = 'restart'", "before")

	if err := c.Restart("kube-apiserver", "--down=3s"); err != nil {
		t.Fatal(err)
	}
	if status, _, err := p.Get("/livez"); err != nil || status != 200 {
		t.Errorf("not alive: %d %v", status, err)
	}
	c.AwaitAPI(t)
	c.CreateClaim(t, ns, "after", "standard")
	c.CreatePod(t, ns, "user", 0, "before", "after")
	c.AwaitPod(t, ns, "user", corev1.PodRunning)
	p.ExpectRows(t, "SELECT claim_name FROM mounts WHERE namespace = 'restart' ORDER BY claim_name", "after", "before")
	if failures := p.Metrics(t)[`kubevoltracker_watch_failures_total{kind="Pod"}`]; failures == "0" {
		t.Error("no failure of the watch was counted")
	}
}

// TestStopWritesAllRowsAndEndsTheEngine stops a tracker as soon as it has listed, and looks for its rows by a second
// one.
func TestStopWritesAllRowsAndEndsTheEngine(t *testing.T) {
	t.Parallel()
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "stops")
	c.CreateBoundClaim(t, ns, "data", "standard")
	dir := t.TempDir()
	p := harness.StartTracker(t, c.Kubeconfig, "--data-dir="+dir)
	harness.Eventually(t, "listed", func() error {
		if !p.Logged("listed") {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	engine := engineOf(t, p.PID())
	p.Stop(t)
	if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", engine)); err == nil && !strings.Contains(string(state), ") Z ") {
		t.Error("the engine is left behind")
	}
	again := harness.StartTracker(t, c.Kubeconfig, "--data-dir="+dir, "--kube.context=")
	again.ExpectRows(t, "SELECT count() FROM claims WHERE namespace = 'stops'", "1")
}

// TestKilledTrackerLeavesNothingBehind checks that the engine ends with its tracker, even one that is killed, and
// that the next tracker can open the data.
func TestKilledTrackerLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "killed")
	c.CreateBoundClaim(t, ns, "data", "standard")
	dir := t.TempDir()
	p := harness.StartTracker(t, c.Kubeconfig, "--data-dir="+dir)
	p.ExpectRows(t, "SELECT phase FROM claims WHERE namespace = 'killed'", "Bound")
	engine := engineOf(t, p.PID())
	p.Kill(t)
	harness.Eventually(t, "the engine ends", func() error {
		if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", engine)); err == nil && !strings.Contains(string(state), ") Z ") {
			return fmt.Errorf("process %d is left behind", engine)
		}
		return nil
	})
	again := harness.StartTracker(t, c.Kubeconfig, "--data-dir="+dir)
	again.ExpectRows(t, "SELECT phase FROM claims WHERE namespace = 'killed'", "Bound")
}

// TestASecondSignalStopsAtOnce stops a tracker whose rows cannot be written now. It tries to write them for a while,
// unless a second signal comes. The next tracker writes them.
func TestASecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "hurried")
	proxy := harness.StartFaultProxy(t, harness.StartClickHouse(t))
	dir, url := t.TempDir(), harness.CatalogURL(proxy.Address, "hurried")
	p := harness.StartTracker(t, c.Kubeconfig, "--data-dir="+dir, "--catalog.url="+url)
	p.Catalog = url
	p.ExpectRows(t, "SELECT count() FROM namespaces WHERE name = 'hurried'", "1")
	proxy.Set(harness.Fault{Name: "hangs", Do: func(_ *harness.FaultProxy, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }})
	c.CreateClaim(t, ns, "data", "standard")
	harness.Eventually(t, "rows wait", func() error {
		if p.Metrics(t)["kubevoltracker_journal_facts"] == "0" {
			return errors.New("none waits")
		}
		return nil
	})
	first := time.Now()
	for range 2 {
		p.Signal(t, syscall.SIGTERM)
		time.Sleep(500 * time.Millisecond)
	}
	err := p.Wait()
	if took := time.Since(first); took > 4500*time.Millisecond {
		t.Errorf("it ended after %s: %v", took, err)
	}
	proxy.Set(harness.Fault{})
	p = harness.StartTracker(t, c.Kubeconfig, "--data-dir="+dir, "--catalog.url="+url)
	p.Catalog = url
	p.ExpectRows(t, "SELECT name FROM claims WHERE namespace = 'hurried'", "data")
}
