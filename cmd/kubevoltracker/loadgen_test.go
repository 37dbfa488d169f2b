package main

import (
	"io"
	"strings"
	"testing"
)

// TestLoadgenRefusesRatesThatAreNoNumbers holds that a rate which no limiter can follow is a mistake in the command line,
// which is found before the kubeconfig is read.
func TestLoadgenRefusesRatesThatAreNoNumbers(t *testing.T) {
	for _, rate := range []string{"NaN", "+Inf", "-Inf", "0", "-1"} {
		var stderr strings.Builder
		code := run([]string{"loadgen", "--rate=" + rate, "--kube.kubeconfig=" + t.TempDir() + "/none"}, io.Discard, &stderr)
		if want := "kubevoltracker: --rate=" + rate + ": must be above 0"; code != 2 || !strings.HasPrefix(stderr.String(), want) {
			t.Errorf("--rate=%s: exit code %d: %s", rate, code, &stderr)
		}
	}
}
