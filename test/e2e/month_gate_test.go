package e2e

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
	"github.com/kubevoltracker/kubevoltracker/test/truth"
)

// unusedGate is the feature gate by which the controller manager writes the condition Unused of claims. The API
// server accepts the condition in any case.
const unusedGate = "PersistentVolumeClaimUnusedSinceTime"

// setGate restarts the controller manager with the gate on or off. That ends no watch of the tracker.
func setGate(t *testing.T, c *harness.LocalCluster, on string) {
	t.Helper()
	if err := c.Restart("kube-controller-manager", "--feature-gates="+unusedGate+"="+on); err != nil {
		t.Fatal(err)
	}
}

// beforeTheGate creates claims that are older than the condition Unused. Once the gate is on, those that nobody uses
// then get the condition, dated with that moment. That is no use: the tracker watched that nobody used them before,
// or when somebody did.
func beforeTheGate(t *testing.T, s *story) {
	setGate(t, s.c, "false")
	never, mounted, awaited := s.Claim("before-the-gate-never", "standard"), s.Claim("before-the-gate-mounted", "nfs"), s.Claim("before-the-gate-awaited", "standard")
	user, waits := s.Pod("before-the-gate", harness.ClaimVolume(mounted.Name)), s.Unplaced("before-the-gate-waits", harness.ClaimVolume(awaited.Name))
	s.create(never, mounted, awaited, user, waits)
	used := s.used("before-the-gate-used", "nfs")
	s.running(user)
	for _, claim := range []*corev1.PersistentVolumeClaim{never, awaited, used} {
		s.bound(claim)
		if truth.UnusedOf(claim) != "" {
			t.Fatalf("the gate is off, and claim %s is %s", claim.Name, truth.UnusedOf(claim))
		}
	}
	s.unschedulable(waits)
	time.Sleep(3 * time.Second) // longer than the comparison tolerates
	setGate(t, s.c, "true")
	for _, claim := range []*corev1.PersistentVolumeClaim{never, used} {
		s.until("is said to be unused", claim, func() bool { return truth.UnusedOf(claim) != "" })
	}
}
