package collector

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	statsv1alpha1 "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// What a kubelet says: of a claim that two pods use, of a block device, of a volume that is no
// claim's, and of one of a driver that cannot count.
const kubeletSummary = `{"node":{"nodeName":"n1","cpu":{"usageNanoCores":1}},"pods":[{"podRef":{"name":"db-1","namespace":"shop","uid":"p2"},"volume":[
  {"time":"2026-03-01T11:59:59Z","usedBytes":29,"name":"data","pvcRef":{"name":"data-db-0","namespace":"shop"}}]},{"podRef":{"name":"db-0","namespace":"shop","uid":"p1"},"containers":[{"name":"db"}],"volume":[
  {"time":"2026-03-01T12:00:00Z","availableBytes":60,"capacityBytes":100,"usedBytes":30,"inodesFree":45,"inodes":50,"inodesUsed":5,"name":"data","pvcRef":{"name":"data-db-0","namespace":"shop"}},
  {"time":"2026-03-01T12:00:00Z","capacityBytes":100,"name":"raw","pvcRef":{"name":"raw-db-0","namespace":"shop"}},
  {"time":"2026-03-01T12:00:00Z","usedBytes":1,"name":"tmp"},
  {"time":"2026-03-01T12:00:00Z","usedBytes":18446744073709551000,"capacityBytes":100,"name":"odd","pvcRef":{"name":"odd-db-0","namespace":"shop"}}]}]}`

// TestKubeletsThatFail has a server in the place of a kubelet that does what a kubelet does
// only when something is wrong.
func TestKubeletsThatFail(t *testing.T) {
	for name, test := range map[string]struct {
		code   int
		answer string
		want   string // in the error
	}{
		"well":            {200, kubeletSummary, ""},
		"no rights":       {403, "Forbidden", "the kubelet of node n1: 403 Forbidden: grant nodes/stats, as deploy/rbac.yaml does"},
		"no credentials":  {401, "Unauthorized", "the kubelet of node n1: 401 Unauthorized: it takes no credentials of the API server (its --authentication-token-webhook)"},
		"another program": {200, "<html>", "the kubelet of node n1: its answer is no summary of statistics"},
		"cut off":         {200, kubeletSummary[:300], "the kubelet of node n1: its answer is no summary of statistics"},
		"old":             {404, "", "the kubelet of node n1: 404 Not Found"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/stats/summary" {
					t.Errorf("asked for %s", r.URL)
				}
				w.WriteHeader(test.code)
				_, _ = io.WriteString(w, test.answer)
			}))
			defer server.Close()
			k := &Kubelets{client: server.Client(), addresses: map[string]string{"n1": server.Listener.Addr().String()}}
			samples, errs := k.read(t.Context(), map[string]struct{}{"n1": {}})
			if test.want == "" {
				want := inventory.Sample{
					PodUID: "p1", Volume: "data", At: 1772366400_000000,
					Space: fact.Space{CapacityBytes: 100, UsedBytes: 30, AvailableBytes: 60, Inodes: 50, InodesUsed: 5},
				}
				claim := statsv1alpha1.PVCReference{Namespace: "shop", Name: "data-db-0"}
				if len(errs) != 0 || len(samples) != 1 || samples[claim] != want {
					t.Errorf("got %+v, %v, want %+v", samples, errs, want)
				}
				return
			}
			if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), test.want) || len(samples) != 0 {
				t.Errorf("got %v, %+v; want %s", errs, samples, test.want)
			}
			if len(k.addresses) != 0 {
				t.Error("a kubelet that fails is looked for where it was, for ever")
			}
		})
	}
}

func TestAKubeletOfAnUnknownAuthority(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer server.Close()
	k := &Kubelets{client: http.DefaultClient, addresses: map[string]string{"n1": server.Listener.Addr().String()}}
	_, errs := k.read(t.Context(), map[string]struct{}{"n1": {}})
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "--kubelet.certificate-authority") {
		t.Errorf("no cure in %v", errs)
	}
}

func TestWhereAKubeletIs(t *testing.T) {
	address := func(kind corev1.NodeAddressType, text string) corev1.NodeAddress {
		return corev1.NodeAddress{Type: kind, Address: text}
	}
	for want, status := range map[string]corev1.NodeStatus{
		"10.0.0.1:10250":  {Addresses: []corev1.NodeAddress{address(corev1.NodeHostName, "n1"), address(corev1.NodeInternalIP, "10.0.0.1"), address(corev1.NodeExternalIP, "1.2.3.4")}},
		"[fd00::1]:10250": {Addresses: []corev1.NodeAddress{address(corev1.NodeInternalIP, "fd00::1")}},
		"n1:4711":         {Addresses: []corev1.NodeAddress{address(corev1.NodeHostName, "n1")}, DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 4711}}},
		"":                {},
	} {
		got, err := kubeletAddress(&corev1.Node{Status: status})
		if got != want || (err == nil) != (want != "") {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
}

func TestANodeThatIsGone(t *testing.T) {
	k := &Kubelets{nodes: fake.NewClientset().CoreV1().Nodes(), client: http.DefaultClient, addresses: map[string]string{}}
	_, errs := k.read(t.Context(), map[string]struct{}{"n1": {}})
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), `"n1" not found`) {
		t.Errorf("got %v", errs)
	}
}

// BenchmarkKubelet is an answer of the kubelet of a node with 110 pods of two containers and a
// claim, of which most is about other things.
func BenchmarkKubelet(b *testing.B) {
	used := uint64(1 << 30)
	now := metav1.NewTime(time.Unix(1772366400, 0))
	numbers := statsv1alpha1.FsStats{Time: now, AvailableBytes: &used, CapacityBytes: &used, UsedBytes: &used, InodesFree: &used, Inodes: &used, InodesUsed: &used}
	container := statsv1alpha1.ContainerStats{
		Name: "main", StartTime: now, Rootfs: &numbers, Logs: &numbers,
		CPU:    &statsv1alpha1.CPUStats{Time: now, UsageNanoCores: &used, UsageCoreNanoSeconds: &used},
		Memory: &statsv1alpha1.MemoryStats{Time: now, AvailableBytes: &used, UsageBytes: &used, WorkingSetBytes: &used, RSSBytes: &used, PageFaults: &used, MajorPageFaults: &used},
	}
	var s statsv1alpha1.Summary
	for i := range 110 {
		p := statsv1alpha1.PodStats{
			PodRef:     statsv1alpha1.PodReference{Name: fmt.Sprint("db-", i), Namespace: "shop", UID: fmt.Sprintf("33333333-0000-4000-8000-%012d", i)},
			Containers: []statsv1alpha1.ContainerStats{container, container}, CPU: container.CPU, Memory: container.Memory, EphemeralStorage: &numbers,
			VolumeStats: []statsv1alpha1.VolumeStats{
				{Name: "data", FsStats: numbers, PVCRef: &statsv1alpha1.PVCReference{Namespace: "shop", Name: fmt.Sprint("data-db-", i)}},
				{Name: "kube-api-access-x2vbk", FsStats: numbers},
			},
		}
		s.Pods = append(s.Pods, p)
	}
	answer, err := json.Marshal(&s)
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(answer) }))
	defer server.Close()
	k := &Kubelets{client: server.Client(), addresses: map[string]string{"n1": server.Listener.Addr().String()}}
	b.SetBytes(int64(len(answer)))
	b.ReportAllocs()
	for b.Loop() {
		if told, errs := k.read(b.Context(), map[string]struct{}{"n1": {}}); len(errs) > 0 || len(told) != 110 {
			b.Fatal(len(told), errs)
		}
	}
}
