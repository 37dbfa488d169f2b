package exporter

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/exporter/statemetrics"
)

// newStateExporter returns an exporter that serves kube-state-metrics' families of volumes and claims.
func newStateExporter(t *testing.T) (*Exporter, *statemetrics.Generators) {
	t.Helper()
	g, err := statemetrics.New(statemetrics.Options{Resources: statemetrics.Resources{"persistentvolumes", "persistentvolumeclaims"}})
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{Registry: prometheus.NewRegistry(), PerVolume: true, StateMetrics: g}), g
}

// A list of 2,000 volumes and claims moves all of them at once from size 1 to size 2 and back, and replaces a tenth of
// them. Each scrape must see one size only, the same in kube-state-metrics' families and in the tracker's own.
func TestScrapeShowsOneMomentWithStateMetrics(t *testing.T) {
	const n, replaced, lists = 2000, 200, 30
	e, g := newStateExporter(t)
	list := func(turn int) *fact.Update {
		size := int64(turn%2 + 1)
		u := &fact.Update{Relisted: g.Kinds()}
		for i := range n {
			uid := fmt.Sprintf("stays-%d", i)
			if i < replaced {
				uid = fmt.Sprintf("turn-%d-%d", turn, i)
				if turn > 0 {
					v := testVolume()
					v.UID, v.Gone = fmt.Sprintf("turn-%d-%d", turn-1, i), true
					u.Volumes = append(u.Volumes, v)
				}
			}
			v := testVolume()
			v.UID, v.Name, v.CapacityBytes = uid, uid, size
			u.Volumes = append(u.Volumes, v)
			space := corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(size, resource.BinarySI)}
			u.Rendered = append(u.Rendered,
				fact.Rendered{Kind: fact.Volumes, UID: uid, Text: g.Render(fact.Volumes, &corev1.PersistentVolume{
					ObjectMeta: metav1.ObjectMeta{Name: uid}, Spec: corev1.PersistentVolumeSpec{Capacity: space},
				})},
				fact.Rendered{Kind: fact.Claims, UID: uid, Text: g.Render(fact.Claims, &corev1.PersistentVolumeClaim{
					ObjectMeta: metav1.ObjectMeta{Name: uid}, Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: space}},
				})})
		}
		return u
	}
	scrapeMeanwhile(t, e, lists, list, func(body string) error { return oneSize(body, n) })
}

// oneSize returns an error unless three families have n series each, all with one value.
func oneSize(body string, n int) error {
	counts := map[string]int{} // by family and value
	for line := range strings.Lines(body) {
		family, _, _ := strings.Cut(line, "{")
		switch family {
		case "kube_persistentvolume_capacity_bytes", "kube_persistentvolumeclaim_resource_requests_storage_bytes", "kubevoltracker_volume_capacity_bytes":
			counts[line[strings.LastIndexByte(line, ' ')+1:]]++
		}
	}
	if len(counts) != 1 || counts["1\n"]+counts["2\n"] != 3*n {
		return fmt.Errorf("values and their number are %v, want one value %d times", counts, 3*n)
	}
	return nil
}

// All three formats have the same families, names and values.
func TestStateMetricsInAllFormats(t *testing.T) {
	e, g := newStateExporter(t)
	labels := metav1.ObjectMeta{Name: "a\\b\"c\nd"}
	e.Apply(&fact.Update{Relisted: g.Kinds(), Rendered: []fact.Rendered{
		{Kind: fact.Volumes, UID: "v", Text: g.Render(fact.Volumes, &corev1.PersistentVolume{ObjectMeta: labels, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeFailed}})},
		{Kind: fact.Claims, UID: "c", Text: g.Render(fact.Claims, &corev1.PersistentVolumeClaim{ObjectMeta: labels})},
	}})
	handler := http.HandlerFunc(e.scrape)
	const phase = `kube_persistentvolume_status_phase{persistentvolume="a\\b\"c\nd",phase="Failed"} 1` + "\n"
	for _, accept := range []string{acceptText, acceptOpenMetrics} {
		body := get(handler, accept).Body.String()
		if !strings.Contains(body, phase) || !strings.Contains(body, "# TYPE kube_persistentvolume_info gauge\n") ||
			!strings.Contains(body, "# HELP kube_persistentvolume_info [STABLE] Information about persistentvolume.\n") {
			t.Errorf("%s: %s", accept, body)
		}
	}
	r := get(handler, acceptProto)
	decoder := expfmt.NewDecoder(r.Body, expfmt.ResponseFormat(r.Header()))
	values := map[string]float64{}
	for {
		var f dto.MetricFamily
		if decoder.Decode(&f) != nil {
			break
		}
		if f.GetName() == "kube_persistentvolume_status_phase" {
			for _, m := range f.GetMetric() {
				if name := m.GetLabel()[0].GetValue(); name != labels.Name {
					t.Errorf("the volume's name is %q", name)
				}
				values[m.GetLabel()[1].GetValue()] = m.GetGauge().GetValue()
			}
		}
	}
	if len(values) != 5 || values["Failed"] != 1 || values["Bound"] != 0 {
		t.Errorf("phases in protobuf are %v", values)
	}
}
