package e2e

import (
	"fmt"
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestPrometheusAnswersAlertsAndDashboards lets a real Prometheus scrape a tracker, and asks it all that our alerts,
// dashboards and docs ask. The subtests depend on the volumes that are created here, and not on each other.
func TestPrometheusAnswersAlertsAndDashboards(t *testing.T) {
	t.Parallel()
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "scraped")
	c.CreateClass(t, "scraped", "nfs") // counterGrows counts its volumes
	p := harness.StartTracker(t, c.Kubeconfig, "--kubelet.interval=1s")
	for claim, class := range map[string]string{"used": "standard", "unused": "standard", "goes": "standard", "kept": "standard-retain", "first": "scraped"} {
		c.CreateClaim(t, ns, claim, class)
	}
	c.CreatePod(t, ns, "user", 0, "used")
	storageCapacity(t, c, ns, "everywhere", nil)
	d := newDisk(t, c, ns, "disk")
	d.awaitUsed(t, p)
	d.leave(t)
	s := startPrometheus(t, p.Web)
	c.AwaitPod(t, ns, "user", corev1.PodRunning)
	for _, claim := range []string{"unused", "goes", "kept", "first"} {
		c.AwaitBound(t, ns, claim)
	}

	_, kept := c.AwaitBound(t, ns, "kept")
	deleteClaim(t, c, ns, "kept")
	c.AwaitVolume(t, kept.Name, corev1.VolumeReleased)
	s.awaitScrape(t)

	t.Run("both targets are up", func(t *testing.T) {
		if up, err := s.value(`sum(up{job="kubevoltracker"})`); err != nil || up != 2 {
			t.Errorf("%v of 2 targets are up: %v", up, err)
		}
	})
	t.Run("a counter grows by what was created", func(t *testing.T) { counterGrows(t, c, p, s, ns) })
	t.Run("series of a deleted claim's volume end with the next scrape", func(t *testing.T) { seriesEnd(t, c, p, s, ns) })
	t.Run("a released volume has that state", func(t *testing.T) {
		harness.Eventually(t, "released", func() error {
			_, err := s.value(fmt.Sprintf(`max by (state) (kubevoltracker_volume_state{persistentvolume=%q, namespace=%q, state="released"})`, kept.Name, ns))
			return err
		})
	})
	t.Run("every question of the metrics' page can be asked", func(t *testing.T) { askQueriesOfMetricsPage(t, s) })
	t.Run("every alert can be evaluated", func(t *testing.T) { rulesWork(t, s) })
	t.Run("a pair of trackers counts once", func(t *testing.T) { pairCountsOnce(t, c, s, ns) })
}

// storageCapacity publishes what the class standard can still provision for nodes with these labels, as a CSI driver does. It returns
// a function that deletes the object, as the driver does once these nodes are gone.
func storageCapacity(t testing.TB, c *harness.LocalCluster, namespace, name string, nodes map[string]string) (remove func()) {
	t.Helper()
	capacity := resource.MustParse("100Gi")
	capacities := c.Client.StorageV1().CSIStorageCapacities(namespace)
	if _, err := capacities.Create(background, &storagev1.CSIStorageCapacity{
		ObjectMeta: metav1.ObjectMeta{Name: name}, StorageClassName: "standard", Capacity: &capacity, NodeTopology: &metav1.LabelSelector{MatchLabels: nodes},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	remove = func() { _ = capacities.Delete(background, name, metav1.DeleteOptions{}) }
	t.Cleanup(remove)
	return remove
}

// deleteClaim deletes a claim and does not wait for it.
func deleteClaim(t testing.TB, c *harness.LocalCluster, namespace, name string) {
	t.Helper()
	if err := c.Client.CoreV1().PersistentVolumeClaims(namespace).Delete(background, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// counterGrows compares volumes_created_total, as scraped, with what is created. Its series exists already:
// Prometheus would not see the first step otherwise.
func counterGrows(t *testing.T, c *harness.LocalCluster, p *harness.Tracker, s *prometheusServer, ns string) {
	const (
		created = 5
		counter = `kubevoltracker_volumes_created_total{instance="a", storageclass="scraped", source="nfs"}`
		shown   = `kubevoltracker_volumes_created_total{source="nfs",storageclass="scraped"}`
	)
	before, beforeShown := s.samples(t, counter), p.Metrics(t)[shown]
	for i := range created {
		c.CreateClaim(t, ns, fmt.Sprint("more-", i), "scraped")
	}
	for i := range created {
		c.AwaitBound(t, ns, fmt.Sprint("more-", i))
	}
	harness.Eventually(t, "the tracker has seen them", func() error {
		if now := p.Metrics(t)[shown]; now != fmt.Sprint(mustFloat(t, beforeShown)+created) {
			return fmt.Errorf("%s, before %s", now, beforeShown)
		}
		return nil
	})
	s.awaitScrape(t)
	after := s.samples(t, counter)
	first, last := before[len(before)-1], after[len(after)-1]
	if grown := last.Value - first.Value; grown != created {
		t.Errorf("it grew by %v, want %d", grown, created)
	}
	// increase() extrapolates to the ends of its range. This range ends with a sample and begins right before one, as a
	// range does not include its beginning.
	length := last.Timestamp - first.Timestamp + 1
	window := fmt.Sprintf("(%s[%dms] @ %s)", counter, length, last.Timestamp)
	if increase, err := s.value("increase" + window); err != nil || math.Abs(increase-created) > 0.01 {
		t.Errorf("increase() is %v, want %d: %v", increase, created, err)
	}
	if rate, err := s.value("rate" + window); err != nil || math.Abs(rate*float64(length)/1000-created) > 0.01 {
		t.Errorf("rate() is %v, want %d in %d ms: %v", rate, created, length, err)
	}
}

// mustFloat parses a number.
func mustFloat(t testing.TB, text string) (f float64) {
	t.Helper()
	if _, err := fmt.Sscan(text, &f); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return f
}

// seriesEnd deletes a claim, and its volume with it, and looks for the volume's series after the next scrape.
func seriesEnd(t *testing.T, c *harness.LocalCluster, p *harness.Tracker, s *prometheusServer, ns string) {
	_, volume := c.AwaitBound(t, ns, "goes")
	all := fmt.Sprintf(`{__name__=~"kubevoltracker_.+", persistentvolume=%q}`, volume.Name)
	s.awaitScrape(t)
	if v, err := s.query(all); err != nil || len(v) == 0 {
		t.Fatalf("no series before: %v", err)
	}
	deleteClaim(t, c, ns, "goes")
	harness.Eventually(t, "the tracker drops its series", func() error {
		if series := metricOf(p.Metrics(t), "kubevoltracker_volume_info", volume.Name); series != "" {
			return fmt.Errorf("%s", series)
		}
		return nil
	})
	s.awaitScrape(t)
	if v, err := s.query(all); err != nil || len(v) > 0 {
		t.Errorf("series after the next scrape: %v %v", v, err)
	}
}
