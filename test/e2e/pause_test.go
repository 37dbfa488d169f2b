package e2e

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestPausedTrackerBoundsWhatItMissed stops a tracker by SIGSTOP while a pod is deleted by force, and continues it.
// The catalog claims no more about the pod's end than the tracker can know, and no watch counts as up meanwhile. It
// does not run in parallel, as it measures the tracker's own delays.
func TestPausedTrackerBoundsWhatItMissed(t *testing.T) {
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "paused")
	for _, name := range []string{"forced", "later"} {
		c.CreateClaim(t, ns, name, "standard")
		c.CreatePod(t, ns, name, 0, name)
	}
	p := harness.StartTracker(t, c.Kubeconfig)
	for _, name := range []string{"forced", "later"} {
		c.AwaitPod(t, ns, name, corev1.PodRunning)
	}
	p.ExpectRows(t, "SELECT claim_name FROM mounts WHERE namespace = 'paused' AND ended_at IS NULL ORDER BY claim_name", "forced", "later")
	if pauses := p.Metrics(t)["kubevoltracker_watch_pauses_total"]; pauses != "0" {
		t.Errorf("%s pauses before the first one", pauses)
	}

	stopped := time.Now()
	p.Signal(t, syscall.SIGSTOP)
	defer p.Signal(t, syscall.SIGCONT)
	time.Sleep(3 * time.Second)
	began := time.Now()
	now := int64(0)
	if err := c.Client.CoreV1().Pods(ns).Delete(background, "forced", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	ended := time.Now()
	time.Sleep(3 * time.Second)
	woken := time.Now()
	p.Signal(t, syscall.SIGCONT)

	for table, columns := range map[string]string{
		"pods WHERE name = 'forced' AND deleted_at IS NOT NULL":       "deleted",
		"mounts WHERE claim_name = 'forced' AND ended_at IS NOT NULL": "ended",
	} {
		from := table + " AND namespace = 'paused'"
		p.ExpectRows(t, "SELECT count() FROM "+from, "1")
		notBefore, at := bounds(t, p, fmt.Sprintf("SELECT toUnixTimestamp64Micro(assumeNotNull(%s_not_before)), toUnixTimestamp64Micro(assumeNotNull(%[1]s_at)) FROM %s", columns, from))
		if notBefore.After(began) || at.Before(ended) || !notBefore.Before(at) {
			t.Errorf("%s between %s and %s, and the catalog says between %s and %s", columns, began, ended, notBefore, at)
		}
		// The tracker ran until it was stopped, and reads on as soon as it is continued. A container is known to run
		// until the last heartbeat of its node, which is a minute old at most (rule 3.6).
		ran := stopped.Add(-2 * time.Second)
		if columns == "ended" {
			ran = ran.Add(-time.Minute)
		}
		if notBefore.Before(ran) || at.After(woken.Add(2*time.Second)) {
			t.Errorf("%s between %s and %s is wider than the pause from %s to %s", columns, notBefore, at, stopped, woken)
		}
	}
	harness.Eventually(t, "the pause is counted", func() error {
		if pauses := p.Metrics(t)["kubevoltracker_watch_pauses_total"]; pauses != "1" {
			return errors.New(pauses + " pauses")
		}
		return nil
	})
	within := fmt.Sprintf(" > fromUnixTimestamp64Micro(%d) AND %%[1]s < fromUnixTimestamp64Micro(%d)", stopped.UnixMicro(), woken.UnixMicro())
	p.ExpectRows(t, fmt.Sprintf("SELECT count() FROM checkpoints WHERE %[1]s"+within, "at"), "0")
	p.ExpectRows(t, fmt.Sprintf("SELECT count() FROM coverage WHERE %[1]s"+within, "seen_at"), "0")

	// Now the tracker observes live again.
	if err := c.Client.CoreV1().Pods(ns).Delete(background, "later", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	p.ExpectRows(t, "SELECT deleted_at = deleted_not_before FROM pods WHERE namespace = 'paused' AND name = 'later' AND deleted_at IS NOT NULL", "1")
}
