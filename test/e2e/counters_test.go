package e2e

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestCountersGoOnAfterARestart kills a tracker, creates a claim and a mount while it is away, and starts it again.
// It counts each of them once, and counts nothing twice.
func TestCountersGoOnAfterARestart(t *testing.T) {
	t.Parallel()
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "counted")
	c.CreateBoundClaim(t, ns, "found", "standard")
	dir := t.TempDir()
	p := harness.StartTracker(t, c.Kubeconfig, "--data-dir="+dir, "--catalog.url=none")
	expect := func(want map[string]string) {
		t.Helper()
		harness.Eventually(t, "the counters are right", func() error {
			metrics := p.Metrics(t)
			for series, value := range want {
				if got := metrics[series]; got != value {
					return fmt.Errorf("%s is %q, want %s", series, got, value)
				}
			}
			return nil
		})
	}
	labels := fmt.Sprintf(`{namespace=%q,storageclass="standard"}`, ns)
	created, bound, mounted := "kubevoltracker_claims_created_total"+labels, "kubevoltracker_claims_bound_total"+labels, fmt.Sprintf("kubevoltracker_mounts_started_total{namespace=%q}", ns)
	expect(map[string]string{created: "0", bound: "0", mounted: "0"})
	for _, name := range []string{"a", "b", "c"} {
		c.CreateBoundClaim(t, ns, name, "standard")
	}
	c.CreatePod(t, ns, "user", 0, "a", "b")
	c.AwaitPod(t, ns, "user", corev1.PodRunning)
	for i := range 3 { // whoever may create claims can invent classes
		c.CreateClaim(t, ns, fmt.Sprint("invented-", i), fmt.Sprint("invented-", i, "-", ns))
	}
	unknown := fmt.Sprintf("kubevoltracker_claims_created_total{namespace=%q,storageclass=%q}", ns, fact.UnknownClass)
	class := bindLate(t, c, ns)
	waited := fmt.Sprintf("kubevoltracker_claim_bind_duration_seconds_count{storageclass=%q}", class)
	within := fmt.Sprintf("kubevoltracker_claim_bind_duration_seconds_bucket{storageclass=%q,le=\"0.5\"}", class)
	expect(map[string]string{created: "3", bound: "3", mounted: "2", waited: "1", within: "0", unknown: "4"}) // the class of bindLate was unknown at first

	p.Kill(t) // the last counts may not be in the journal yet
	c.CreateBoundClaim(t, ns, "away", "standard")
	c.CreatePod(t, ns, "away", 0, "away")
	c.AwaitPod(t, ns, "away", corev1.PodRunning)
	p = harness.StartTracker(t, c.Kubeconfig, "--data-dir="+dir, "--catalog.url=none")
	for first := ""; first == ""; { // no scrape may have less than before
		if first = p.Metrics(t)[created]; first != "" && first != "4" {
			t.Errorf("the first scrape with counters says %s, want 4", first)
		}
	}
	expect(map[string]string{created: "4", bound: "4", mounted: "3", waited: "1", within: "0"})

	p.Stop(t) // nothing happens before the next start
	p = harness.StartTracker(t, c.Kubeconfig, "--data-dir="+dir, "--catalog.url=none")
	expect(map[string]string{created: "4", bound: "4", mounted: "3", waited: "1", within: "0", unknown: "4"})
	c.CreateClaim(t, ns, "last", "standard")
	expect(map[string]string{created: "5", bound: "5"})
}

// bindLate creates a claim of a class of its own, and seconds later the volume that it waits for: a duration that
// is not 0 in the API's whole seconds. It returns the class.
func bindLate(t *testing.T, c *harness.LocalCluster, ns string) (class string) {
	t.Helper()
	class = "late-" + ns
	c.CreateClaim(t, ns, "late", class)
	time.Sleep(2 * time.Second)
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: class},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Ti")},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"}},
		},
	}
	if _, err := c.Client.CoreV1().PersistentVolumes().Create(background, volume, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.AwaitBound(t, ns, "late")
	return class
}

// apiSecond is how much the times of the API, which are whole seconds, may differ from the test's.
const apiSecond = 1.0

// charged is a volume that a test made: its size, and the test's clock around its binding.
type charged struct{ bytes, soonest, latest float64 }

func unixSeconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

func createCharged(t *testing.T, c *harness.LocalCluster, ns, claim string) (h charged) {
	t.Helper()
	h.soonest = unixSeconds(time.Now()) - apiSecond
	_, volume := c.CreateBoundClaim(t, ns, claim, "standard")
	h.latest = unixSeconds(time.Now()) + apiSecond
	h.bytes = float64(volume.Spec.Capacity.Storage().Value())
	return h
}

// TestByteSecondsAreThoseOfTheAPIServer compares the byte-seconds of volumes that nobody mounts with the sizes and times
// that the test knows. A tracker is killed, a claim is deleted and another one created before the next one starts. That
// one is stopped at once, and the next one has to know all the same.
func TestByteSecondsAreThoseOfTheAPIServer(t *testing.T) {
	t.Parallel()
	c := harness.Cluster(t)
	ns, later := c.CreateNamespace(t, "charged"), c.CreateNamespace(t, "charged-later")
	dir := t.TempDir()
	run := func() *harness.Tracker {
		return harness.StartTracker(t, c.Kubeconfig, "--data-dir="+dir, "--catalog.url=none")
	}
	p := run()
	harness.Eventually(t, "the tracker watches", func() error {
		if p.Metrics(t)["kubevoltracker_unused_disagreements_total"] == "" {
			return errors.New("it does not")
		}
		return nil
	})
	// expect scrapes until the two counters of a namespace have grown to what they must be at least: an event of a watch may be on
	// its way. No scrape may show more than the most, or less than one before.
	shown := map[string]float64{}
	expect := func(ns string, least, most func(now float64) float64) {
		t.Helper()
		harness.Eventually(t, "capacity and idle byte-seconds of "+ns+" are right", func() error {
			soonest := unixSeconds(time.Now())
			m := p.Metrics(t)
			latest := unixSeconds(time.Now())
			for _, name := range []string{"capacity", "idle"} {
				series := fmt.Sprintf("kubevoltracker_namespace_%s_byte_seconds_total{namespace=%q,storageclass=\"standard\"}", name, ns)
				if m[series] == "" {
					return errors.New(series + " is not served")
				}
				value := mustFloat(t, m[series])
				if value < shown[series] || value > most(latest) {
					t.Fatalf("%s is %g after %g, want %g at most", series, value, shown[series], most(latest))
				}
				if shown[series] = value; value < least(soonest) {
					return fmt.Errorf("%s is %g, want %g at least", series, value, least(soonest))
				}
			}
			return nil
		})
	}

	// The volumes count for seconds before each end of a run: more than the tolerance.
	a, b, e := createCharged(t, c, ns, "a"), createCharged(t, c, ns, "b"), createCharged(t, c, later, "e")
	time.Sleep(3 * time.Second)
	least := func(now float64) float64 { return a.bytes*(now-a.latest) + b.bytes*(now-b.latest) }
	most := func(now float64) float64 { return a.bytes*(now-a.soonest) + b.bytes*(now-b.soonest) }
	expect(ns, least, most)
	expect(later, func(now float64) float64 { return e.bytes * (now - e.latest) }, func(now float64) float64 { return e.bytes * (now - e.soonest) })

	p.Kill(t)
	if err := c.Client.CoreV1().PersistentVolumeClaims(ns).Delete(background, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	d := createCharged(t, c, later, "d")
	time.Sleep(3 * time.Second)
	p = run()
	p.Stop(t) // after any of the events of the claims a and d, and of their volumes
	p = run()
	least = func(now float64) float64 { return b.bytes * (now - b.latest) } // a counts until it was seen last, whenever that was
	expect(ns, least, most)
	expect(later, func(now float64) float64 { return e.bytes*(now-e.latest) + d.bytes*(now-d.latest) },
		func(now float64) float64 { return e.bytes*(now-e.soonest) + d.bytes*(now-d.soonest) })
}
