package exporter

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/exporter/statemetrics"
)

// newStateBench returns an exporter of kube-state-metrics' families of three kinds, and an update with n bound and attached
// CSI volumes.
func newStateBench(b *testing.B, n int) (*Exporter, *fact.Update) {
	b.Helper()
	g, err := statemetrics.New(statemetrics.Options{Resources: statemetrics.Resources{"persistentvolumes", "persistentvolumeclaims", "volumeattachments"}})
	if err != nil {
		b.Fatal(err)
	}
	u := &fact.Update{Relisted: g.Kinds()}
	add := func(kind fact.Kind, object metav1.Object) {
		u.Rendered = append(u.Rendered, fact.Rendered{Kind: kind, UID: string(object.GetUID()), Text: g.Render(kind, object)})
	}
	created := metav1.NewTime(time.Unix(1_700_000_000, 0))
	class, mode := "standard", corev1.PersistentVolumeFilesystem
	space := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	for i := range n {
		meta := func(kind, name string) metav1.ObjectMeta {
			return metav1.ObjectMeta{Name: name, UID: types.UID(fmt.Sprintf("%s-5c3e-4f6a-9d0b-%012d", kind, i)), CreationTimestamp: created}
		}
		name, namespace := fmt.Sprintf("pvc-5c3e1a2b-4f6a-4d0b-8f1e-%012d", i), fmt.Sprintf("team-%04d", i/100)
		v := &corev1.PersistentVolume{ObjectMeta: meta("11111111", name), Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound}}
		v.Spec = corev1.PersistentVolumeSpec{Capacity: space, StorageClassName: class, VolumeMode: &mode, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete}
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "pd.csi.example.com", VolumeHandle: fmt.Sprintf("projects/example/zones/a/disks/disk-%016x", i)}
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: namespace, Name: fmt.Sprint("data-db-", i)}
		add(fact.Volumes, v)
		c := &corev1.PersistentVolumeClaim{ObjectMeta: meta("22222222", fmt.Sprint("data-db-", i)), Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}}
		c.Namespace = namespace
		c.Spec = corev1.PersistentVolumeClaimSpec{VolumeName: name, StorageClassName: &class, VolumeMode: &mode, AccessModes: modes, Resources: corev1.VolumeResourceRequirements{Requests: space}}
		add(fact.Claims, c)
		add(fact.VolumeAttachments, &storagev1.VolumeAttachment{
			ObjectMeta: meta("33333333", fmt.Sprintf("csi-%064x", i)), Status: storagev1.VolumeAttachmentStatus{Attached: true},
			Spec: storagev1.VolumeAttachmentSpec{Attacher: "pd.csi.example.com", NodeName: fmt.Sprint("node-", i%50), Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &name}},
		})
	}
	return New(Options{Registry: prometheus.NewRegistry(), StateMetrics: g}), u
}

// BenchmarkStateMetrics is a scrape of kube-state-metrics' families, without the tracker's own of each volume.
func BenchmarkStateMetrics(b *testing.B) {
	const n = 20_000
	e := filledStateBench(b, n)
	for _, format := range []struct{ name, accept, encoding string }{{"text", acceptText, ""}, {"gzip", acceptText, "gzip"}, {"protobuf", acceptProto, ""}} {
		b.Run(format.name, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
			r.Header.Set("Accept", format.accept)
			r.Header.Set("Accept-Encoding", format.encoding)
			var w sink
			b.ReportAllocs()
			for b.Loop() {
				w = sink{header: http.Header{}}
				e.scrape(&w, r)
			}
			b.ReportMetric(float64(w.bytes), "body-B")
		})
	}
}

// BenchmarkStateMetricsMemory is what the families of a volume, its claim and its attachment take.
func BenchmarkStateMetricsMemory(b *testing.B) {
	const n = 20_000
	for b.Loop() {
		before := heapAfterGC()
		e := filledStateBench(b, n)
		b.ReportMetric(float64(heapAfterGC()-before)/n, "B/volume")
		runtime.KeepAlive(e)
	}
}

// filledStateBench returns newStateBench's exporter, with the update applied and forgotten.
func filledStateBench(b *testing.B, n int) *Exporter {
	e, u := newStateBench(b, n)
	e.Apply(u)
	return e
}

func heapAfterGC() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
