package e2e

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
	"github.com/kubevoltracker/kubevoltracker/test/truth"
)

// The gate lets the controller manager write the condition Unused of claims. The API server
// knows it in any case.
const unusedGate = "PersistentVolumeClaimUnusedSinceTime"

// switchGate restarts the controller manager with the gate on or off. Nobody's watch is cut.
func switchGate(t *testing.T, c *harness.LocalCluster, on string) {
	t.Helper()
	if err := c.Restart("kube-controller-manager", "--feature-gates="+unusedGate+"="+on); err != nil {
		t.Fatal(err)
	}
}

// beforeTheGate are claims that are older than the condition Unused. As soon as the gate is on,
// those that nobody uses then are said to be unused since then, which is no news: that they
// were not used before either, or when, was watched.
func beforeTheGate(t *testing.T, s *story) {
	switchGate(t, s.c, "false")
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
	time.Sleep(3 * time.Second) // longer than a metric may be off
	switchGate(t, s.c, "true")
	for _, claim := range []*corev1.PersistentVolumeClaim{never, used} {
		s.until("is said to be unused", claim, func() bool { return truth.UnusedOf(claim) != "" })
	}
}
