package e2e

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

const fourKinds = "persistentvolumes,persistentvolumeclaims,storageclasses,volumeattachments"

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
	theirs := startStateMetrics(t, c.Kubeconfig)
	dir := t.TempDir()
	start := func() *harness.Tracker {
		return harness.StartTracker(t, c.Kubeconfig, "--data-dir="+dir, "--metrics.kube-state-metrics="+fourKinds,
			"--metrics.kube-state-metrics-labels-allowlist="+servedLabels, "--metrics.kube-state-metrics-annotations-allowlist="+servedAnnotations)
	}
	p := start()
	o.create(t)
	theirs.expectEqual(t, p, "at first")
	everyFamilyHasSeries(t, theirs, p)
	t.Run("promtool says of them what it says of kube-state-metrics", func(t *testing.T) { promtoolSaysTheSame(t, theirs, p) })

	o.change(t)
	theirs.expectEqual(t, p, "after changes")
	o.remove(t)
	theirs.expectEqual(t, p, "after deletions")

	p.Stop(t)
	o.changeAway(t, "stopped")
	p = start()
	theirs.expectEqual(t, p, "after a restart")
	expectResumed(t, p)
	o.changeAway(t, "again")
	theirs.expectEqual(t, p, "after changes that follow a restart")

	p.Kill(t)
	o.changeAway(t, "killed")
	p = start()
	theirs.expectEqual(t, p, "after a SIGKILL")
	expectResumed(t, p)
	p.ExpectReady(t)

	// An older API server does not stream lists.
	if err := c.Restart("kube-apiserver", "--feature-gates=WatchList=false"); err != nil {
		t.Fatal(err)
	}
	c.AwaitAPI(t)
	o.changeAway(t, "restarted") // a version that the new API server's cache has
	theirs.expectEqual(t, p, "after a restart of the API server")
	p.Stop(t)
	o.changeAway(t, "paged")
	p = start()
	theirs.expectEqual(t, p, "after a restart, by lists in pages")
}

// stateMetrics is a running kube-state-metrics.
type stateMetrics struct{ url string }

func startStateMetrics(t testing.TB, kubeconfig string) *stateMetrics {
	t.Helper()
	port, own := harness.FreePort(t), harness.FreePort(t)
	process := exec.Command(harness.Program(t, "kube-state-metrics"), "--resources="+fourKinds, "--kubeconfig="+kubeconfig,
		"--metric-labels-allowlist="+servedLabels, "--metric-annotations-allowlist="+servedAnnotations,
		"--host=127.0.0.1", "--port="+port, "--telemetry-host=127.0.0.1", "--telemetry-port="+own)
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	s := &stateMetrics{"http://127.0.0.1:" + port + "/metrics"}
	harness.Eventually(t, "kube-state-metrics serves", func() error {
		_, err := s.text()
		return err
	})
	return s
}

// text scrapes kube-state-metrics.
func (s *stateMetrics) text() (string, error) {
	r, err := http.Get(s.url)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return string(b), err
}

// expectEqual waits until both serve the same series with the same values. They learn of a change at different
// moments, and nothing changes while they are compared.
func (s *stateMetrics) expectEqual(t testing.TB, p *harness.Tracker, when string) {
	t.Helper()
	harness.Eventually(t, "the series of both are equal "+when, func() error {
		theirs, err := s.text()
		if err != nil {
			return err
		}
		_, ours, err := p.Get("/metrics")
		if err != nil {
			return err
		}
		return difference(stateSeries(theirs), stateSeries(ours))
	})
}

// stateSeries returns the lines of kube-state-metrics' families, sorted.
func stateSeries(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "kube_") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// difference returns an error with the lines that only one of the two has.
func difference(theirs, ours []string) error {
	if len(theirs) == 0 {
		return fmt.Errorf("kube-state-metrics has no series")
	}
	if slices.Equal(theirs, ours) {
		return nil
	}
	var lines []string
	for _, line := range theirs {
		if _, found := slices.BinarySearch(ours, line); !found {
			lines = append(lines, "missing: "+line)
		}
	}
	for _, line := range ours {
		if _, found := slices.BinarySearch(theirs, line); !found {
			lines = append(lines, "too many: "+line)
		}
	}
	return fmt.Errorf("%d series, want %d:\n%s", len(ours), len(theirs), strings.Join(lines[:min(len(lines), 20)], ""))
}

// everyFamilyHasSeries compares the names and help texts of the families, and expects that the objects of the test
// have a series in each.
func everyFamilyHasSeries(t *testing.T, s *stateMetrics, p *harness.Tracker) {
	t.Helper()
	theirs, err := s.text()
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
func promtoolSaysTheSame(t *testing.T, s *stateMetrics, p *harness.Tracker) {
	theirs, err := s.text()
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
