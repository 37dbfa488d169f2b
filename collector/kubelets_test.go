package collector

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	kitlog "github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	statsv1alpha1 "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// What a kubelet says: of a claim that two pods use, of a block device, of a volume that is no
// claim's, of one of a driver that cannot count, and of one of a driver that counts no bytes.
const kubeletSummary = `{"node":{"nodeName":"n1","cpu":{"usageNanoCores":1}},"pods":[{"podRef":{"name":"db-1","namespace":"shop","uid":"p2"},"volume":[
  {"time":"2026-03-01T11:59:59Z","availableBytes":61,"capacityBytes":100,"usedBytes":29,"inodesFree":45,"inodes":50,"inodesUsed":5,"name":"data","pvcRef":{"name":"data-db-0","namespace":"shop"}}]},{"podRef":{"name":"db-0","namespace":"shop","uid":"p1"},"containers":[{"name":"db"}],"volume":[
  {"time":"2026-03-01T12:00:00Z","availableBytes":60,"capacityBytes":100,"usedBytes":30,"inodesFree":45,"inodes":50,"inodesUsed":5,"name":"data","pvcRef":{"name":"data-db-0","namespace":"shop"}},
  {"time":"2026-03-01T12:00:00Z","availableBytes":0,"capacityBytes":100,"usedBytes":0,"inodesFree":0,"inodes":0,"inodesUsed":0,"name":"raw","pvcRef":{"name":"raw-db-0","namespace":"shop"}},
  {"time":"2026-03-01T12:00:00Z","usedBytes":1,"name":"tmp"},
  {"time":"2026-03-01T12:00:00Z","usedBytes":18446744073709551000,"capacityBytes":100,"name":"odd","pvcRef":{"name":"odd-db-0","namespace":"shop"}},
  {"time":"2026-03-01T12:00:00Z","availableBytes":0,"capacityBytes":0,"usedBytes":0,"inodesFree":45,"inodes":50,"inodesUsed":5,"name":"files","pvcRef":{"name":"files-db-0","namespace":"shop"}}]}]}`

// asked returns the Kubelets of a node n1 whose kubelet serves at an address; it trusts the server's certificate.
func asked(server *httptest.Server) *Kubelets {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	rules := &addresses{types: addressTypes[:1], loopback: true}
	return &Kubelets{
		transport: &kubeletTransport{tls: rest.TLSClientConfig{CAData: authority}, token: func(context.Context) (string, error) { return "secret", nil }, rules: rules},
		rules:     rules, timeout: kubeletTimeout, addresses: map[string]string{"n1": server.Listener.Addr().String()},
	}
}

// serveKubelet serves in the place of a kubelet.
func serveKubelet(t testing.TB, serve http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(serve)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

var n1 = map[string]struct{}{"n1": {}}

func believe(list []inventory.Sample) ([]inventory.Sample, map[inventory.Refusal]int) {
	return list, map[inventory.Refusal]int{}
}

// TestKubeletsThatFail has a server in the place of a kubelet that does what a kubelet does
// only when something is wrong.
func TestKubeletsThatFail(t *testing.T) {
	for name, test := range map[string]struct {
		code   int
		answer string
		want   string // in the error
	}{
		"well":            {200, kubeletSummary, ""},
		"no rights":       {403, "Forbidden", "the kubelet of node n1: 403 Forbidden: grant nodes/stats, as deploy/rbac.yaml or `helm upgrade` with the chart's values does"},
		"no credentials":  {401, "Unauthorized", "the kubelet of node n1: 401 Unauthorized: it takes no credentials of the API server (its --authentication-token-webhook)"},
		"another program": {200, "<html>", "the kubelet of node n1: its answer is no summary of statistics"},
		"another object":  {200, `{"pods":{}}`, "the kubelet of node n1: its answer is no summary of statistics"},
		"a bare number":   {200, "1", "the kubelet of node n1: its answer is no summary of statistics"},
		"nothing":         {200, "", "the kubelet of node n1: its answer is no summary of statistics: unexpected EOF"},
		"cut off":         {200, kubeletSummary[:300], "the kubelet of node n1: its answer is no summary of statistics: unexpected EOF"},
		"old":             {404, "", "the kubelet of node n1: 404 Not Found"},
		"another node's":  {200, strings.Replace(kubeletSummary, `"nodeName":"n1"`, `"nodeName":"n7"`, 1), `the kubelet of node n1: its answer is that of node "n7"`},
	} {
		t.Run(name, func(t *testing.T) {
			server := serveKubelet(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/stats/summary" || r.Header.Get("Authorization") != "Bearer secret" || r.Header.Get("Accept-Encoding") != "" {
					t.Errorf("asked for %s with %v", r.URL, r.Header)
				}
				w.WriteHeader(test.code)
				_, _ = io.WriteString(w, test.answer)
			})
			k := asked(server)
			said := k.read(t.Context(), n1, believe)
			if test.want == "" {
				want := inventory.Sample{
					Node: "n1", PodUID: "p1", Namespace: "shop", Pod: "db-0", Volume: "data", ClaimNamespace: "shop", Claim: "data-db-0", At: 1772366400_000000,
					Space: fact.Space{CapacityBytes: 100, UsedBytes: 30, AvailableBytes: 60, Inodes: 50, InodesUsed: 5},
				}
				raw := want // which the inventory knows for a block device
				raw.Volume, raw.Claim, raw.Space = "raw", "raw-db-0", fact.Space{CapacityBytes: 100}
				if len(said.errs) != 0 || len(said.samples) != 2 || said.samples[claimName{"shop", "data-db-0"}] != want || said.samples[claimName{"shop", "raw-db-0"}] != raw {
					t.Errorf("got %+v, want %+v and %+v", said, want, raw)
				}
				if got := said.refused[refusal{"n1", refusedFigures}]; got != 2 {
					t.Errorf("%d volumes with figures that cannot be, want 2", got)
				}
				return
			}
			if len(said.errs) != 1 || !strings.HasPrefix(said.errs[0].Error(), test.want) || len(said.samples) != 0 {
				t.Errorf("got %+v; want %s", said, test.want)
			}
			if len(k.addresses) != 0 {
				t.Error("a kubelet that fails is looked for where it was, for ever")
			}
		})
	}
}

// TestTheRightToStatistics has kubelets answer 200 or 403, or not be there. The right is missing if one refuses and none answers.
func TestTheRightToStatistics(t *testing.T) {
	var logged bytes.Buffer
	rights := newRights(prometheus.NewRegistry(), kitlog.NewLogfmtLogger(&logged))
	nodes := map[string]struct{}{}
	ask := func(answers ...int) {
		t.Helper()
		var k *Kubelets
		known := map[string]string{}
		clear(nodes)
		for i, code := range answers {
			server := serveKubelet(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(code)
				_, _ = io.WriteString(w, `{}`)
			})
			k = asked(server)
			node := fmt.Sprint("n", i)
			nodes[node], known[node] = struct{}{}, server.Listener.Addr().String()
		}
		k.rights, k.addresses = rights, known
		if said := k.read(t.Context(), nodes, believe); len(said.errs) == len(answers) != !slices.Contains(answers, 200) {
			t.Errorf("%v: %v", answers, said.errs)
		}
	}
	stats := right{"get", "", "nodes/stats"}
	for _, turn := range []struct {
		answers []int
		missing bool
	}{
		{[]int{403, 200}, false}, {[]int{200, 403}, false}, {[]int{404, 500}, false}, {[]int{403, 404}, true},
		{[]int{403, 403}, true}, {[]int{404, 500}, true}, {[]int{403, 200}, false}, {[]int{403, 200, 404}, false},
	} {
		ask(turn.answers...)
		if got := rights.lacks(stats); got != turn.missing {
			t.Errorf("%v: missing is %v, want %v", turn.answers, got, turn.missing)
		}
	}
	if strings.Count(logged.String(), "a right is missing") != 1 || strings.Count(logged.String(), "is granted now") != 1 {
		t.Errorf("logged\n%s", logged.String())
	}
}

func TestANodeWithoutPods(t *testing.T) {
	for _, text := range []string{`{}`, `null`, `{"pods":null}`, `{"pods":[]}`, `{"pods":[{}]}`, `{"pods":[{"volume":null}]}`, `{"pods":[null]}`} {
		if samples, implausible, err := readAnswer("n1", strings.NewReader(text)); len(samples) != 0 || implausible != 0 || err != nil {
			t.Errorf("%s: %v, %d, %v", text, samples, implausible, err)
		}
	}
}

func TestANodeThatIsGone(t *testing.T) {
	k := asked(serveKubelet(t, http.NotFound))
	k.nodes, k.addresses = fake.NewClientset().CoreV1().Nodes(), map[string]string{}
	said := k.read(t.Context(), n1, believe)
	if len(said.errs) != 1 || !strings.Contains(said.errs[0].Error(), `"n1" not found`) {
		t.Errorf("got %v", said.errs)
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
	k := asked(server)
	b.SetBytes(int64(len(answer)))
	b.ReportAllocs()
	for b.Loop() {
		if said := k.read(b.Context(), n1, believe); len(said.errs) > 0 || len(said.samples) != 110 {
			b.Fatal(len(said.samples), said.errs)
		}
	}
}
