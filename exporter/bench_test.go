package exporter

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// benchUpdate is n volumes with claims as a provisioner names them, a hundred to
// a namespace, idle since somewhere among a thousand spans of watching.
func benchUpdate(n int) *fact.Update {
	u := &fact.Update{
		Volumes: make([]fact.VolumeState, n),
		Claims:  make([]fact.ClaimState, n),
	}
	for i := range 1000 {
		from := ago(2*time.Hour) + fact.Time(i*7e6)
		u.Watched = append(u.Watched, fact.Span{From: from, To: from + 5e6})
	}
	for i := range n {
		uid := fmt.Sprintf("%08x-5c3e-4f6a-9d0b-2f1e3c4d5a6b", i)
		namespace := fmt.Sprintf("team-%d", i/100)
		u.Volumes[i] = fact.VolumeState{
			UID: uid, Name: "pvc-" + uid, StorageClass: "standard-rwo", SourceKind: "csi", Driver: "pd.csi.storage.gke.io",
			ReclaimPolicy: "Delete", CapacityBytes: 10 << 30, Namespace: namespace, Claim: fmt.Sprintf("data-mysql-%d", i%100),
			Owner: "team@example.com", Status: fact.VolumeIdle, ChangedAt: ago(time.Hour) + fact.Time(i),
			LastUsed: ago(time.Hour) + fact.Time(i), IdleSince: ago(time.Hour) + fact.Time(i),
		}
		u.Claims[i] = fact.ClaimState{
			UID: "c" + uid, Namespace: namespace, StorageClass: "standard-rwo", Phase: "Bound",
			RequestedBytes: 10 << 30, CapacityBytes: 10 << 30,
		}
	}
	return u
}

func benchSizes(b *testing.B, run func(b *testing.B, n int)) {
	for _, n := range []int{20_000, 100_000} {
		b.Run(fmt.Sprintf("volumes=%d", n), func(b *testing.B) { run(b, n) })
	}
}

func BenchmarkScrape(b *testing.B) {
	for _, format := range []struct{ name, accept, encoding string }{
		{"text", acceptText, ""}, {"gzip", acceptText, "gzip"}, {"zstd", acceptText, "zstd"}, {"protobuf", acceptProto, ""},
	} {
		b.Run(format.name, func(b *testing.B) {
			benchSizes(b, func(b *testing.B, n int) {
				e := newTestExporter()
				e.Apply(benchUpdate(n))
				r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
				r.Header.Set("Accept", format.accept)
				r.Header.Set("Accept-Encoding", format.encoding)
				var w sink
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					w = sink{header: http.Header{}}
					e.scrape(&w, r)
				}
				b.ReportMetric(float64(w.bytes), "body-B")
			})
		})
	}
}

// sink counts what is written, and drops it.
type sink struct {
	header http.Header
	bytes  int64
}

func (s *sink) Header() http.Header { return s.header }
func (s *sink) WriteHeader(int)     {}
func (s *sink) Write(p []byte) (int, error) {
	s.bytes += int64(len(p))
	return io.Discard.Write(p)
}

// BenchmarkMoment is for how long a scrape holds the lock that Apply waits for.
func BenchmarkMoment(b *testing.B) {
	benchSizes(b, func(b *testing.B, n int) {
		e := newTestExporter()
		e.Apply(benchUpdate(n))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := e.moment(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkApplyOneVolume(b *testing.B) {
	e := newTestExporter()
	u := benchUpdate(100_000)
	e.Apply(u)
	one := &fact.Update{Volumes: make([]fact.VolumeState, 1)}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		one.Volumes[0] = u.Volumes[i%len(u.Volumes)]
		e.Apply(one)
	}
}

func BenchmarkApplyList(b *testing.B) {
	benchSizes(b, func(b *testing.B, n int) {
		u := benchUpdate(n)
		e := newTestExporter()
		b.ReportAllocs()
		for b.Loop() {
			e.Apply(u)
		}
	})
}

// BenchmarkMemory is what the exporter holds for a volume and its claim beyond
// the strings that it shares with the inventory.
func BenchmarkMemory(b *testing.B) {
	benchSizes(b, func(b *testing.B, n int) {
		u := benchUpdate(n)
		heap := func() uint64 {
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		for range b.N {
			before := heap()
			e := newTestExporter()
			e.Apply(u)
			b.ReportMetric(float64(heap()-before)/float64(n), "B/volume")
			runtime.KeepAlive(e)
		}
		runtime.KeepAlive(u)
	})
}
