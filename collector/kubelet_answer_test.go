package collector

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// hostile writes an answer: a beginning, and then a part again and again, until it has size bytes or is refused. It
// returns the largest heap that it saw while it wrote.
type hostile struct {
	begin, part, end string
	size             int64 // 0 for without end
}

func (h hostile) write(w io.Writer) (peak uint64) {
	if _, err := io.WriteString(w, h.begin); err != nil {
		return 0
	}
	chunk := []byte(strings.Repeat(h.part, 1+1<<16/len(h.part)))
	for written := int64(0); h.size == 0 || written < h.size; written += int64(len(chunk)) {
		if _, err := w.Write(chunk); err != nil {
			return peak
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapAlloc)
	}
	_, _ = io.WriteString(w, h.end)
	return peak
}

const (
	aPod    = `{"podRef":{"name":"p","namespace":"shop","uid":"u"},"volume":[{"time":"2026-03-01T12:00:00Z","usedBytes":1,"capacityBytes":9,"name":"v","pvcRef":{"name":"c","namespace":"shop"}}]},`
	aVolume = `{"time":"2026-03-01T12:00:00Z","usedBytes":1,"capacityBytes":9,"name":"v","pvcRef":{"name":"c","namespace":"shop"}},`
)

// TestHostileAnswers asks kubelets that want the tracker's memory, and measures the heap while they answer. An answer
// of 63 MB, decoded as a whole, cost 6.4 GB.
func TestHostileAnswers(t *testing.T) {
	const bound = 64 << 20 // the heap's growth, with what the garbage collector has not collected yet
	for name, test := range map[string]struct {
		hostile
		want string
	}{
		"pods with nothing in them":     {hostile{`{"pods":[`, `{},`, ``, 63 << 20}, "it has more than 16 MiB"},
		"pods without end":              {hostile{`{"pods":[`, `{"podRef":{"name":"p"}},`, ``, 0}, "it has more than 16 MiB"},
		"claims without end":            {hostile{`{"pods":[`, aPod, ``, 0}, "it has more than 10000 volumes of claims"},
		"claims of a pod without end":   {hostile{`{"pods":[{"volume":[`, aVolume, ``, 0}, "it has more than 10000 volumes of claims"},
		"volumes with nothing in them":  {hostile{`{"pods":[{"volume":[`, `{},`, ``, 63 << 20}, "it has more than 16 MiB"},
		"lists of volumes":              {hostile{`{"pods":[{`, `"volume":[],`, ``, 63 << 20}, "it has more than 16 MiB"},
		"keys":                          {hostile{`{`, `"` + strings.Repeat("a", 40) + `":0,`, ``, 63 << 20}, "it has more than 16 MiB"},
		"spaces":                        {hostile{``, " ", ``, 63 << 20}, "one of its values has more than 1 MiB"},
		"spaces among pods":             {hostile{`{"pods":[`, "\n", ``, 63 << 20}, "one of its values has more than 1 MiB"},
		"a long string":                 {hostile{`{"pods":[{"podRef":{"name":"`, "x", ``, 63 << 20}, "one of its values has more than 1 MiB"},
		"a long key":                    {hostile{`{"`, "x", ``, 63 << 20}, "one of its values has more than 1 MiB"},
		"a long number":                 {hostile{`{"pods":[{"volume":[{"usedBytes":1`, "0", ``, 63 << 20}, "one of its values has more than 1 MiB"},
		"a long name":                   {hostile{`{"pods":[{"volume":[{"name":"`, "x", `","time":"2026-03-01T12:00:00Z","usedBytes":1,"capacityBytes":9,"pvcRef":{}}]}]}`, 1 << 19}, "it has a name that is longer than Kubernetes allows"},
		"a long UID":                    {hostile{`{"pods":[{"podRef":{"uid":"`, "x", `"}}]}`, 1 << 19}, "it has a name that is longer than Kubernetes allows"},
		"much that is skipped":          {hostile{`{"node":[`, `{"a":[1,2,3]},`, ``, 63 << 20}, "one of its values has more than 1 MiB"},
		"deep in what is skipped":       {hostile{`{"node":`, `[`, ``, 63 << 20}, "exceeded max depth"},
		"deep in a volume":              {hostile{`{"pods":[{"volume":[{"pvcRef":`, `{"name":`, ``, 63 << 20}, "exceeded max depth"},
		"deep in place of the pods":     {hostile{`{"pods":`, `[`, ``, 63 << 20}, "in the place of"},
		"no JSON":                       {hostile{`{"pods":[{"volume":[}`, `x`, ``, 63 << 20}, "invalid character"},
		"a number that is out of range": {hostile{`{"pods":[{"volume":[{"usedBytes":`, `9`, `}]}]}`, 1 << 16}, "cannot unmarshal number"},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var peak uint64
			k := asked(serveKubelet(t, func(w http.ResponseWriter, _ *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				peak = test.write(w)
			}))
			var before runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			said := k.read(t.Context(), n1, believe)
			if len(said.errs) != 1 || !strings.Contains(said.errs[0].Error(), test.want) || len(said.samples) != 0 {
				t.Errorf("got %.300v and %d samples; want %s", said.errs, len(said.samples), test.want)
			}
			if len(said.errs) > 0 && len(said.errs[0].Error()) > 1000 {
				t.Errorf("an error of %d bytes", len(said.errs[0].Error()))
			}
			mu.Lock() // the kubelet has ended
			defer mu.Unlock()
			if grown := int64(peak) - int64(before.HeapAlloc); grown > bound {
				t.Errorf("the heap grew by %d MB", grown>>20)
			} else {
				t.Logf("the heap grew by %.1f MB", float64(grown)/(1<<20))
			}
		})
	}
}

// TestHostileAnswersAtOnce has all kubelets that are asked at once answer with the most that an answer may have: as many
// claims as it may, with the longest names.
func TestHostileAnswersAtOnce(t *testing.T) {
	name, label := strings.Repeat("n", nameBytes), strings.Repeat("n", labelBytes)
	part := fmt.Sprintf(`{"podRef":{"name":%[1]q,"namespace":%[2]q,"uid":%[2]q},"volume":[{"time":"2026-03-01T12:00:00Z","usedBytes":1,"capacityBytes":9,"name":%[2]q,"pvcRef":{"name":%[1]q,"namespace":%[2]q}}]},`, name, label)
	var mu sync.Mutex
	var peak uint64
	server := serveKubelet(t, func(w http.ResponseWriter, _ *http.Request) {
		seen := hostile{`{"pods":[`, part, ``, 0}.write(w)
		mu.Lock()
		defer mu.Unlock()
		peak = max(peak, seen)
	})
	k, nodes := asked(server), map[string]struct{}{}
	for i := range kubeletsAtOnce {
		node := fmt.Sprint("n", i)
		k.addresses[node], nodes[node] = server.Listener.Addr().String(), struct{}{}
	}
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if said := k.read(t.Context(), nodes, believe); len(said.errs) != kubeletsAtOnce {
		t.Errorf("%d errors: %v", len(said.errs), said.errs)
	}
	mu.Lock()
	defer mu.Unlock()
	const bound = kubeletsAtOnce * answerBytes
	if grown := int64(peak) - int64(before.HeapAlloc); grown > bound {
		t.Errorf("the heap grew by %d MB", grown>>20)
	} else {
		t.Logf("the heap grew by %d MB", grown>>20)
	}
}

// TestALargeAnswer is that of a node with more pods than Kubernetes supports, and thrice as much of other things.
func TestALargeAnswer(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"pods":[`)
	for i := range 2000 {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `{"podRef":{"name":"p","namespace":"shop","uid":"u"},"containers":[%s{}],"volume":[{"time":"2026-03-01T12:00:00Z","usedBytes":1,"capacityBytes":9,"name":"v","pvcRef":{"name":"c-%d","namespace":"shop"}}]}`,
			strings.Repeat(`{"name":"main","cpu":{"usageNanoCores":1}},`, 100), i)
	}
	b.WriteString(`]}`)
	samples, _, err := readAnswer("n1", strings.NewReader(b.String()))
	if len(samples) != 2000 || err != nil {
		t.Errorf("%d samples of %d bytes: %v", len(samples), b.Len(), err)
	}
}

// TestACompressedAnswer is small, and of any size once decompressed. The tracker does not ask for one, and does not
// decompress it.
func TestACompressedAnswer(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	hostile{`{"pods":[`, ` `, `]}`, 1 << 20}.write(z)
	_ = z.Close()
	said := asked(serveKubelet(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "" {
			t.Errorf("it accepts %s", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(b.Bytes())
	})).read(t.Context(), n1, believe)
	if len(said.errs) != 1 || !strings.Contains(said.errs[0].Error(), "invalid character") {
		t.Errorf("got %v", said.errs)
	}
}

// TestSlowAnswers has kubelets that never finish: they may not keep the others waiting for ever.
func TestSlowAnswers(t *testing.T) {
	for name, serve := range map[string]http.HandlerFunc{
		"silence": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"a trickle": func(w http.ResponseWriter, r *http.Request) {
			for text := `{"pods":[`; r.Context().Err() == nil; text = " " {
				_, _ = io.WriteString(w, text)
				_ = http.NewResponseController(w).Flush()
				time.Sleep(time.Millisecond)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := asked(serveKubelet(t, serve))
			k.timeout = 50 * time.Millisecond
			said := k.read(t.Context(), n1, believe)
			if len(said.errs) != 1 || !strings.Contains(said.errs[0].Error(), "it did not finish its answer within 50ms") {
				t.Errorf("got %v", said.errs)
			}
		})
	}
}

// TestLongHeaders has a kubelet answer with headers of a megabyte.
func TestLongHeaders(t *testing.T) {
	said := asked(serveKubelet(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
		w.WriteHeader(http.StatusOK)
	})).read(t.Context(), n1, believe)
	if len(said.errs) != 1 || !strings.Contains(said.errs[0].Error(), "server response headers exceeded") {
		t.Errorf("got %v", said.errs)
	}
}
