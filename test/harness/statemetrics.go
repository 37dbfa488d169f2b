package harness

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// StateKinds are the resources of kube-state-metrics whose families the tracker can serve.
const StateKinds = "persistentvolumes,persistentvolumeclaims,storageclasses,volumeattachments"

// StateMetrics is a running kube-state-metrics.
type StateMetrics struct{ url string }

// StartStateMetrics runs kube-state-metrics until the test ends.
func StartStateMetrics(t testing.TB, kubeconfig string, flags ...string) *StateMetrics {
	t.Helper()
	port, own := FreePort(t), FreePort(t)
	process := exec.Command(Program(t, "kube-state-metrics"), append([]string{
		"--kubeconfig=" + kubeconfig, "--host=127.0.0.1", "--port=" + port, "--telemetry-host=127.0.0.1", "--telemetry-port=" + own,
	}, flags...)...)
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	s := &StateMetrics{"http://127.0.0.1:" + port + "/metrics"}
	Eventually(t, "kube-state-metrics serves", func() error {
		_, err := s.Text()
		return err
	})
	return s
}

// Text scrapes kube-state-metrics.
func (s *StateMetrics) Text() (string, error) {
	r, err := http.Get(s.url)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return string(b), err
}

// ExpectEqual waits until both serve the same series with the same values. They learn of a change at different
// moments, and nothing changes while they are compared.
func (s *StateMetrics) ExpectEqual(t testing.TB, p *Tracker, when string) {
	t.Helper()
	Eventually(t, "the series of both are equal "+when, func() error {
		theirs, err := s.Text()
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
