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

// TestAPausedTracker stops a tracker by a signal while a pod is deleted by force, and wakes it
// up: the catalog does not say more of the pod's end than the tracker can know, and no watch
// was up meanwhile.
func TestAPausedTracker(t *testing.T) {
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
		// The tracker ran until it was stopped, and read on as soon as it was woken up. That a container
		// lives is known until its node's last heartbeat before, a minute at most (rule 3.6).
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

	// From now on the tracker is a live observer again.
	if err := c.Client.CoreV1().Pods(ns).Delete(background, "later", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	p.ExpectRows(t, "SELECT deleted_at = deleted_not_before FROM pods WHERE namespace = 'paused' AND name = 'later' AND deleted_at IS NOT NULL", "1")
}
