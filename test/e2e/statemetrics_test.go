package e2e

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// The labels and annotations that both programs serve, by exact names and by wildcards.
const (
	servedLabels      = "persistentvolumes=[*],persistentvolumeclaims=[app,team-*,excluded_from_alerts],storageclasses=[tier]"
	servedAnnotations = "persistentvolumes=[note],persistentvolumeclaims=[*],storageclasses=[storageclass.kubernetes.io/*]"
)

// TestStateMetricsEqualKubeStateMetrics compares, series by series and value by value, kube-state-metrics itself and
// a tracker that serves its families, on one API server: with objects of all sorts, after changes and deletions, after
// a restart that resumes from the journal, and after a SIGKILL; by streamed lists and by lists in pages.
func TestStateMetricsEqualKubeStateMetrics(t *testing.T) {
	t.Parallel()
	c := harness.OwnCluster(t)
	o := newOddObjects(t, c)
	theirs := harness.StartStateMetrics(t, c.Kubeconfig, "--resources="+harness.StateKinds,
		"--metric-labels-allowlist="+servedLabels, "--metric-annotations-allowlist="+servedAnnotations)
	dir := t.TempDir()
	start := func() *harness.Tracker {
		return harness.StartTracker(t, c.Kubeconfig, "--data-dir="+dir, "--metrics.kube-state-metrics="+harness.StateKinds,
			"--metrics.kube-state-metrics-labels-allowlist="+servedLabels, "--metrics.kube-state-metrics-annotations-allowlist="+servedAnnotations)
	}
	p := start()
	o.create(t)
	theirs.ExpectEqual(t, p, "at first")
	everyFamilyHasSeries(t, theirs, p)
	t.Run("promtool says of them what it says of kube-state-metrics", func(t *testing.T) { promtoolSaysTheSame(t, theirs, p) })

	o.change(t)
	theirs.ExpectEqual(t, p, "after changes")
	o.remove(t)
	theirs.ExpectEqual(t, p, "after deletions")
	t.Run("the demo's company", func(t *testing.T) { withTheDemo(t, c, theirs, p) })

	p.Stop(t)
	o.changeAway(t, "stopped")
	p = start()
	theirs.ExpectEqual(t, p, "after a restart")
	expectResumed(t, p)
	o.changeAway(t, "again")
	theirs.ExpectEqual(t, p, "after changes that follow a restart")

	p.Kill(t)
	o.changeAway(t, "killed")
	p = start()
	theirs.ExpectEqual(t, p, "after a SIGKILL")
	expectResumed(t, p)
	p.ExpectReady(t)

	// An older API server does not stream lists.
	if err := c.Restart("kube-apiserver", "--feature-gates=WatchList=false"); err != nil {
		t.Fatal(err)
	}
	c.AwaitAPI(t)
	o.changeAway(t, "restarted") // a version that the new API server's cache has
	theirs.ExpectEqual(t, p, "after a restart of the API server")
	p.Stop(t)
	o.changeAway(t, "paged")
	p = start()
	theirs.ExpectEqual(t, p, "after a restart, by lists in pages")
}

// withTheDemo compares both with the objects of the demo, once all of its claims are bound, and after it is deleted.
func withTheDemo(t *testing.T, c *harness.LocalCluster, theirs *harness.StateMetrics, p *harness.Tracker) {
	company := harness.File(t, "deploy/demo/company.yaml")
	harness.Eventually(t, "the company is applied", func() error { // its pods need the service accounts of its namespaces
		_, err := c.TryKubectl(t, "apply", "-f", company)
		return err
	})
	for _, claim := range []string{"shop/data-mysql-1", "shop/media", "analytics/log-kafka-2", "analytics/reports", "ci/runner-scratch", "legacy/erp-data", "legacy/erp-index"} {
		namespace, name, _ := strings.Cut(claim, "/")
		c.AwaitBound(t, namespace, name)
	}
	theirs.ExpectEqual(t, p, "with the demo's company")
	c.Kubectl(t, "delete", "-f", company)
	theirs.ExpectEqual(t, p, "without the demo's company")
}

// everyFamilyHasSeries compares the names and help texts of the families, and expects that the objects of the test
// have a series in each.
func everyFamilyHasSeries(t *testing.T, s *harness.StateMetrics, p *harness.Tracker) {
	t.Helper()
	theirs, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	_, ours, err := p.Get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	want, got := stateHeaders(theirs), stateHeaders(ours)
	if len(want) < 25 {
		t.Errorf("kube-state-metrics has only %d families", len(want))
	}
	for _, header := range slices.Sorted(maps.Keys(want)) {
		if !got[header] {
			t.Errorf("the tracker has no such family, or no series in it: %s", header)
		}
	}
}

// stateHeaders returns the lines # HELP and # TYPE of kube-state-metrics' families.
func stateHeaders(text string) map[string]bool {
	headers := map[string]bool{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "# HELP kube_") || strings.HasPrefix(line, "# TYPE kube_") {
			headers[line] = true
		}
	}
	return headers
}

// promtoolSaysTheSame compares what promtool finds in the tracker's scrape and in kube-state-metrics'. Its findings
// on kube-state-metrics' names are not the tracker's to change.
func promtoolSaysTheSame(t *testing.T, s *harness.StateMetrics, p *harness.Tracker) {
	theirs, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	_, ours, err := p.Get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	want, got := promtoolFindings(t, theirs), promtoolFindings(t, ours)
	t.Logf("promtool on kube-state-metrics: %q", want)
	if !slices.Equal(got, want) {
		t.Errorf("promtool on the tracker: %q, want %q", got, want)
	}
}

func promtoolFindings(t *testing.T, text string) []string {
	check := exec.Command(harness.Program(t, "promtool"), "check", "metrics")
	check.Stdin = strings.NewReader(text)
	out, err := check.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(lines)
	return slices.Compact(lines)
}

// expectResumed expects that the tracker resumed its watches and listed nothing for its inventory.
func expectResumed(t *testing.T, p *harness.Tracker) {
	t.Helper()
	metrics := p.Metrics(t)
	for _, kind := range []string{"PersistentVolume", "PersistentVolumeClaim", "StorageClass", "VolumeAttachment"} {
		if series := `kubevoltracker_watch_lists_total{kind="` + kind + `"}`; metrics[series] != "0" {
			t.Errorf("%s is %q, want 0", series, metrics[series])
		}
	}
}
