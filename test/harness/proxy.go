package harness

import (
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"syscall"
	"testing"
	"time"
)

// FaultProxy stands between a tracker and its ClickHouse, and fails requests by the fault that Set chooses.
type FaultProxy struct {
	proxy   *httputil.ReverseProxy
	Address string

	mu      sync.Mutex
	fault   Fault
	inserts int
	Faults  map[string]int // how many requests had each fault
}

// StartFaultProxy starts a proxy, which ends with the test.
func StartFaultProxy(t testing.TB, server *ClickHouse) *FaultProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target := &url.URL{Scheme: "http", Host: server.Address}
	p := &FaultProxy{
		Address: listener.Addr().String(), Faults: map[string]int{},
		proxy: &httputil.ReverseProxy{
			Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.URL.Path = r.In.URL.Path },
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		},
	}
	front := &http.Server{Handler: p}
	go func() { _ = front.Serve(listener) }()
	t.Cleanup(func() { _ = front.Close() })
	return p
}

// Set chooses the fault of the next requests.
func (p *FaultProxy) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
}

func (p *FaultProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	f := p.fault
	if insert := isInsert(r); f.alternate {
		if insert {
			p.inserts++
		}
		if !insert || p.inserts%2 == 0 {
			f = Fault{}
		}
	}
	if f.Do != nil {
		p.Faults[f.Name]++
	}
	p.mu.Unlock()
	if f.Do == nil {
		p.proxy.ServeHTTP(w, r)
		return
	}
	f.Do(p, w, r)
}

// Gone kills a ClickHouse, and starts it again after a while.
func (p *FaultProxy) Gone(server *ClickHouse, d time.Duration) {
	if d == 0 {
		return
	}
	server.End(syscall.SIGKILL)
	time.Sleep(d)
	server.Start()
}

// Torment inflicts one fault after another on a ClickHouse until the end, and kills its process now and then.
func (p *FaultProxy) Torment(server *ClickHouse, random *rand.Rand, longest time.Duration, end time.Time) {
	for time.Now().Before(end) {
		switch random.IntN(8) {
		case 0, 1:
			p.Gone(server, 1+time.Duration(random.Int64N(int64(longest))))
		case 2:
			p.Set(killedInMidInsert(server))
			time.Sleep(1 + time.Duration(random.Int64N(int64(longest))))
			p.Set(Fault{})
			time.Sleep(200 * time.Millisecond) // an insert may be on its way
			server.End(syscall.SIGKILL)        // no insert may have come
			server.Start()
		default:
			p.Set(clickHouseFaults[random.IntN(len(clickHouseFaults))])
			time.Sleep(time.Duration(random.Int64N(int64(longest))))
		}
		p.Set(Fault{})
		time.Sleep(time.Duration(random.Int64N(int64(longest))))
	}
	p.Set(Fault{})
}
