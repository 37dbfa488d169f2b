package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// clickHouse is the embedded engine in a process of its own, at an address that it keeps.
type clickHouse struct {
	t             testing.TB
	data, address string

	mu      sync.Mutex
	process *exec.Cmd
}

func freeAddress(t testing.TB) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func ownClickHouse(t testing.TB) *clickHouse {
	t.Helper()
	s := &clickHouse{t: t, data: t.TempDir(), address: freeAddress(t)}
	s.start()
	t.Cleanup(func() { s.end(syscall.SIGTERM) })
	return s
}

func (s *clickHouse) url(database string) string { return "http://" + s.address + "/" + database }

// start starts the engine, and does not wait for it.
func (s *clickHouse) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = exec.Command(program(s.t, "kubevoltracker-clickhouse"), "--data-dir="+s.data, "--listen-address="+s.address)
	if err := s.process.Start(); err != nil {
		s.t.Error(err)
		s.process = nil
	}
}

func (s *clickHouse) end(signal syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		_ = s.process.Process.Signal(signal)
		_ = s.process.Wait()
		s.process = nil
	}
}

// fault is what a proxy does with what the tracker asks of ClickHouse.
type fault struct {
	name string
	// every other insert alone has the fault
	alternate bool
	do        func(p *faultProxy, w http.ResponseWriter, r *http.Request)
}

// exception answers as ClickHouse does when it cannot do something.
func exception(code int, name string) fault {
	return fault{name: name, do: func(_ *faultProxy, w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("X-ClickHouse-Exception-Code", fmt.Sprint(code))
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, "Code: %d. DB::Exception: this is a test. (%s) (version 26.7.2.1)\n", code, name)
	}}
}

// alternately has a fault at every other insert.
func alternately(f fault) fault {
	f.name, f.alternate = "every other insert: "+f.name, true
	return f
}

var (
	// hangUp closes the connection without a word.
	hangUp = fault{name: "hangs up", do: func(*faultProxy, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}
	// loseAnswer does what is asked, and closes the connection in place of the answer.
	loseAnswer = fault{name: "loses the answer", do: func(p *faultProxy, _ http.ResponseWriter, r *http.Request) {
		p.proxy.ServeHTTP(nowhere{http.Header{}}, r)
		panic(http.ErrAbortHandler)
	}}
	unavailable = fault{name: "503", do: func(_ *faultProxy, w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no upstream", http.StatusServiceUnavailable)
	}}
	slow = fault{name: "slow", do: func(p *faultProxy, w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(time.Second):
			p.proxy.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}}
	// cutShort passes half of what is asked on, and then nothing.
	cutShort = fault{name: "cuts the request short", do: func(p *faultProxy, _ http.ResponseWriter, r *http.Request) {
		r.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, 200), broken{}))
		p.proxy.ServeHTTP(nowhere{http.Header{}}, r)
		panic(http.ErrAbortHandler)
	}}

	clickHouseFaults = []fault{
		hangUp, unavailable, slow, loseAnswer, cutShort,
		exception(242, "TABLE_IS_READ_ONLY"), exception(241, "MEMORY_LIMIT_EXCEEDED"), exception(252, "TOO_MANY_PARTS"),
		alternately(loseAnswer), alternately(unavailable), alternately(cutShort), alternately(exception(319, "UNKNOWN_STATUS_OF_INSERT")),
	}
)

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header       { return n.header }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}

// faultProxy stands before a ClickHouse and does to it what it is told.
type faultProxy struct {
	proxy   *httputil.ReverseProxy
	address string

	mu      sync.Mutex
	fault   fault
	inserts int
	faults  map[string]int // how often each happened
}

func startFaultProxy(t testing.TB, server *clickHouse) *faultProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target := &url.URL{Scheme: "http", Host: server.address}
	p := &faultProxy{
		address: listener.Addr().String(), faults: map[string]int{},
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

func (p *faultProxy) set(f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
}

func (p *faultProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	f := p.fault
	if insert := isInsert(r); f.alternate {
		if insert {
			p.inserts++
		}
		if !insert || p.inserts%2 == 0 {
			f = fault{}
		}
	}
	if f.do != nil {
		p.faults[f.name]++
	}
	p.mu.Unlock()
	if f.do == nil {
		p.proxy.ServeHTTP(w, r)
		return
	}
	f.do(p, w, r)
}

// gone has a ClickHouse be killed, and not be there for a while.
func (p *faultProxy) gone(server *clickHouse, d time.Duration) {
	if d == 0 {
		return
	}
	server.end(syscall.SIGKILL)
	time.Sleep(d)
	server.start()
}

// killedInMidInsert is a fault that kills the process when it has half of an insert.
func killedInMidInsert(server *clickHouse) fault {
	return fault{name: "is killed in mid-insert", do: func(p *faultProxy, w http.ResponseWriter, r *http.Request) {
		if !isInsert(r) {
			p.proxy.ServeHTTP(w, r)
			return
		}
		r.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, 200), killing{server}))
		p.proxy.ServeHTTP(nowhere{http.Header{}}, r)
		panic(http.ErrAbortHandler)
	}}
}

// killing is a reader at whose turn a server is killed.
type killing struct{ server *clickHouse }

func (k killing) Read([]byte) (int, error) {
	time.Sleep(50 * time.Millisecond) // what comes before has arrived
	k.server.end(syscall.SIGKILL)
	return 0, io.ErrUnexpectedEOF
}

func isInsert(r *http.Request) bool {
	return strings.Contains(r.URL.RawQuery, "insert_deduplication_token")
}

// torment does one thing after another to a ClickHouse until the end: faults of the
// proxy, and now and then its process is killed.
func (p *faultProxy) torment(server *clickHouse, random *rand.Rand, longest time.Duration, end time.Time) {
	for time.Now().Before(end) {
		switch random.IntN(8) {
		case 0, 1:
			p.gone(server, 1+time.Duration(random.Int64N(int64(longest))))
		case 2:
			p.set(killedInMidInsert(server))
			time.Sleep(1 + time.Duration(random.Int64N(int64(longest))))
			p.set(fault{})
			time.Sleep(200 * time.Millisecond) // for an insert on its way
			server.end(syscall.SIGKILL)        // if there was none
			server.start()
		default:
			p.set(clickHouseFaults[random.IntN(len(clickHouseFaults))])
			time.Sleep(time.Duration(random.Int64N(int64(longest))))
		}
		p.set(fault{})
		time.Sleep(time.Duration(random.Int64N(int64(longest))))
	}
	p.set(fault{})
}
