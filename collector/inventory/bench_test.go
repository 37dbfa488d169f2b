package inventory

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// cluster makes n claims with their volumes and pods of two containers, as the
// API would send them: no string is shared between objects.
func cluster(n int, each func(*corev1.PersistentVolumeClaim, *corev1.PersistentVolume, *corev1.Pod)) {
	for i := range n {
		claim := pvc(fmt.Sprintf("data-db-%d", i), fmt.Sprintf("11111111-0000-4000-8000-%012d", i), 1, fmt.Sprintf("pvc-11111111-0000-4000-8000-%012d", i))
		claim.Namespace = fmt.Sprintf("team-%03d", i%1000)
		claim.Labels = map[string]string{"app.kubernetes.io/name": "db", "app.kubernetes.io/instance": fmt.Sprint("db-", i)}
		claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes", "volume.kubernetes.io/storage-provisioner": "csi.example"}
		volume := pv(claim.Spec.VolumeName, fmt.Sprintf("22222222-0000-4000-8000-%012d", i), 2, claim, corev1.VolumeBound, 3)
		volume.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
			Driver: "csi.example", VolumeHandle: fmt.Sprintf("vol-%016x", i), FSType: "ext4",
			VolumeAttributes: map[string]string{"storage.kubernetes.io/csiProvisionerIdentity": "1-2-csi.example"},
		}}
		volume.Annotations = map[string]string{"pv.kubernetes.io/provisioned-by": "csi.example"}
		o := podOf(fmt.Sprintf("db-%d", i), fmt.Sprintf("33333333-0000-4000-8000-%012d", i), 4, []string{"db", "backup"}, claim.Name)
		o.Namespace = claim.Namespace
		for i := range o.Spec.Containers { // the template's path, as in a StatefulSet
			o.Spec.Containers[i].VolumeMounts[0].MountPath = "/var/lib/db"
		}
		o.Labels = map[string]string{"app.kubernetes.io/name": "db", "app.kubernetes.io/instance": fmt.Sprint("db-", i), "statefulset.kubernetes.io/pod-name": o.Name}
		each(claim, volume, running(o, 5))
	}
}

func feed(b *testing.B, inv *Inventory, u *fact.Update, object any, at fact.Time) {
	if err := inv.Set(object, Live(at)); err != nil {
		b.Fatal(err)
	}
	inv.Take(u)
}

// BenchmarkHeldBytes is what a claim with its volume and a pod of two containers
// takes together.
func BenchmarkHeldBytes(b *testing.B) {
	const n = 20_000
	for b.Loop() {
		inv, u := New(), &fact.Update{}
		before := heap()
		cluster(n, func(c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume, p *corev1.Pod) {
			feed(b, inv, u, c, at(10))
			feed(b, inv, u, v, at(10))
			feed(b, inv, u, p, at(10))
		})
		*u = fact.Update{}
		b.ReportMetric(float64(heap()-before)/n, "B/pod-claim-volume")
		runtime.KeepAlive(inv)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkPodUpdates is updates of pods with 100,000 volumes and 150,000 pods
// held: ignored ones (resync, status noise) and such that end a container.
func BenchmarkPodUpdates(b *testing.B) {
	inv, u := New(), &fact.Update{}
	pods := make([]*corev1.Pod, 0, 150_000)
	cluster(100_000, func(c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume, p *corev1.Pod) {
		feed(b, inv, u, c, at(10))
		feed(b, inv, u, v, at(10))
		feed(b, inv, u, p, at(10))
		pods = append(pods, p)
		if len(pods)%3 == 0 {
			second := p.DeepCopy()
			second.UID, second.Name = types.UID("4"+string(p.UID)[1:]), p.Name+"-reader"
			feed(b, inv, u, second, at(10))
			pods = append(pods, second)
		}
	})
	b.Run("ignored", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			feed(b, inv, u, pods[i%len(pods)], at(20))
			i++
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	})
	b.Run("restarts", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			p := pods[i%len(pods)]
			p.Status.ContainerStatuses[0].RestartCount++
			feed(b, inv, u, p, at(20))
			i++
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	})
}

// BenchmarkMeasure is the kubelets of 100,000 volumes saying that each is fuller than before.
func BenchmarkMeasure(b *testing.B) {
	inv, u := New(), &fact.Update{}
	var samples []Sample
	cluster(100_000, func(c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume, p *corev1.Pod) {
		feed(b, inv, u, c, at(10))
		feed(b, inv, u, v, at(10))
		feed(b, inv, u, p, at(10))
		samples = append(samples, Sample{
			Node: p.Spec.NodeName, PodUID: string(p.UID), Namespace: p.Namespace, Pod: p.Name,
			Volume: p.Spec.Volumes[0].Name, ClaimNamespace: c.Namespace, Claim: c.Name, At: at(99),
		})
	})
	b.ReportAllocs()
	for b.Loop() {
		for i := range samples {
			samples[i].At++
			samples[i].UsedBytes++
		}
		inv.Measure(samples, at(100))
		inv.Take(u)
	}
	b.ReportMetric(float64(len(samples)*b.N)/b.Elapsed().Seconds(), "volumes/s")
}
