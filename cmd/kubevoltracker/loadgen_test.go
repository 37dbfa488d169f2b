package main

import (
	"os"
	"strings"
	"testing"
)

// TestLoadgenRefusesRatesThatAreNoNumbers checks that a rate which no limiter can follow is a mistake in the command line,
// which is found before the kubeconfig is read.
func TestLoadgenRefusesRatesThatAreNoNumbers(t *testing.T) {
	for _, rate := range []string{"NaN", "+Inf", "-Inf", "0", "-1"} {
		code, _, errs := outputOf("loadgen", "--rate="+rate, "--kube.kubeconfig="+os.DevNull)
		if want := "kubevoltracker: --rate=" + rate + ": must be above 0"; code != 2 || !strings.HasPrefix(errs, want) {
			t.Errorf("--rate=%s: exit code %d: %s", rate, code, errs)
		}
	}
}
