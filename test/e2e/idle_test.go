package e2e

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// idleVolume creates a volume without a claim. It is idle since then, and no condition Unused says so.
func idleVolume(t *testing.T, c *harness.LocalCluster, name string) {
	t.Helper()
	volumes := c.Client.CoreV1().PersistentVolumes()
	_, err := volumes.Create(background, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: "nobody-asks", AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs.example", Path: "/spare"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = volumes.Delete(background, name, metav1.DeleteOptions{}) })
}

// idleTimes scrapes for how long a volume has been idle, and for how much of that it was watched, in seconds.
func idleTimes(t *testing.T, p *harness.Tracker, volume string) (idle, observed float64) {
	t.Helper()
	m := p.Metrics(t)
	return mustFloat(t, m[metricOf(m, "kubevoltracker_volume_idle_seconds", volume)]),
		mustFloat(t, m[metricOf(m, "kubevoltracker_volume_idle_observed_seconds", volume)])
}

// unwatched returns how many seconds of a volume's idle time were not watched. It changes a pod first, so that the
// watch of pods advances: sinks learn its position every 5 s.
func unwatched(t *testing.T, p *harness.Tracker, c *harness.LocalCluster, pod *corev1.Pod, volume string) float64 {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"changed":"%d"}}}`, time.Now().UnixNano())
	if _, err := c.Client.CoreV1().Pods(pod.Namespace).Patch(background, pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	idle, observed := idleTimes(t, p, volume)
	if observed > idle || observed < 0 {
		t.Errorf("%v s of %v s are observed", observed, idle)
	}
	return idle - observed
}

// TestObservedIdleTimeGoesOnOverRestarts follows the watched part of an idle time: it grows, goes on over a restart
// from the journal, and comes back from the catalog without the journal, less the gap.
func TestObservedIdleTimeGoesOnOverRestarts(t *testing.T) {
	t.Parallel()
	const volume, away = "watched-spare", 6 * time.Second
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "watched")
	idleVolume(t, c, volume)
	c.CreateClaim(t, ns, "idle", "standard")
	pod := c.CreatePod(t, ns, "used", 1, "idle")
	c.AwaitPod(t, ns, "used", corev1.PodSucceeded)
	time.Sleep(4 * time.Second)
	dir := t.TempDir()
	var p *harness.Tracker
	start := func() {
		t.Helper()
		p = harness.StartTracker(t, c.Kubeconfig, "--data-dir="+dir)
		harness.Eventually(t, "volume "+volume+" is served", func() error {
			if metricOf(p.Metrics(t), "kubevoltracker_volume_idle_observed_seconds", volume) == "" {
				return fmt.Errorf("it is not")
			}
			return nil
		})
	}
	// expect waits until that many seconds of the idle time were not watched. Fewer fail at once.
	const slack = 2.5 // the API's times are whole seconds, and a change takes a moment
	expect := func(what string, want float64) {
		t.Helper()
		harness.Eventually(t, fmt.Sprintf("%s, %v s of the idle time were not watched", what, want), func() error {
			got := unwatched(t, p, c, pod, volume)
			if got < want-slack {
				t.Fatalf("%s: %v s of the idle time were not watched, want %v s", what, got, want)
			}
			if got > want+slack {
				return fmt.Errorf("%v s were not", got)
			}
			return nil
		})
	}

	start()
	before := math.Inf(1)
	for began := time.Now(); time.Since(began) < 8*time.Second; time.Sleep(100 * time.Millisecond) {
		before = min(before, unwatched(t, p, c, pod, volume))
	}
	if before < 4 {
		t.Errorf("the volume is older than the tracker, and only %v s of its idle time were not watched", before)
	}
	_, observed := idleTimes(t, p, volume)
	harness.Eventually(t, "the observed time grows", func() error {
		_ = unwatched(t, p, c, pod, volume)
		if _, now := idleTimes(t, p, volume); now < observed+4 {
			return fmt.Errorf("from %v s to %v s", observed, now)
		}
		return nil
	})
	p.Kill(t)

	time.Sleep(away)
	start()
	expect("after a restart, which missed nothing", before)
	p.ExpectRows(t, "SELECT count(), min(seen_at > started_at + INTERVAL 10 SECOND) FROM coverage WHERE kind = 'Pod'", "1\t1")
	expectBothTimes(t, p, ns, "idle")
	p.Stop(t)

	if err := os.RemoveAll(filepath.Join(dir, "journal")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(away)
	start()
	p.ExpectRows(t, "SELECT count() FROM coverage WHERE kind = 'Pod'", "2")
	seen, again := bounds(t, p, "SELECT toUnixTimestamp64Micro(argMin(seen_at, started_at)), toUnixTimestamp64Micro(max(started_at)) FROM coverage WHERE kind = 'Pod'")
	gap := again.Sub(seen)
	if gap < away {
		t.Errorf("nobody watched for %s, and the catalog says for %s", away, gap)
	}
	expect(fmt.Sprintf("without the journal, and %s that nobody watched", gap), before+gap.Seconds())
	expectBothTimes(t, p, ns, "idle")
	p.Stop(t)

	start()
	expect("after a restart from the new journal", before+gap.Seconds())
}

// expectBothTimes checks that the report idle has the idle time of a claim's volume, and the watched part of it.
func expectBothTimes(t *testing.T, p *harness.Tracker, namespace, claim string) {
	t.Helper()
	for _, row := range p.Report(t, "idle", "--namespace", namespace) {
		if row["claim"] == claim {
			idle, observed := row["idle_seconds"].(float64), row["observed_seconds"].(float64)
			if observed <= 0 || observed > idle {
				t.Errorf("%v s of %v s are observed: %v", observed, idle, row)
			}
			return
		}
	}
	t.Errorf("the report idle lacks the claim %s", claim)
}
