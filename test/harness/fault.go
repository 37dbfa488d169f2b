package harness

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// Fault is what a FaultProxy does with a request to ClickHouse. The zero Fault passes it on.
type Fault struct {
	Name string
	Do   func(p *FaultProxy, w http.ResponseWriter, r *http.Request)

	alternate bool // only every other insert has the fault
}

// exception answers as ClickHouse does when a request fails.
func exception(code int, name string) Fault {
	return Fault{Name: name, Do: func(_ *FaultProxy, w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("X-ClickHouse-Exception-Code", fmt.Sprint(code))
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, "Code: %d. DB::Exception: this is a test. (%s) (version 26.7.2.1)\n", code, name)
	}}
}

// alternately restricts a fault to every other insert.
func alternately(f Fault) Fault {
	f.Name, f.alternate = "every other insert: "+f.Name, true
	return f
}

var (
	// hangUp closes the connection without an answer.
	hangUp = Fault{Name: "hangs up", Do: func(*FaultProxy, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}
	// loseAnswer passes the request on, and closes the connection in place of the answer.
	loseAnswer = Fault{Name: "loses the answer", Do: func(p *FaultProxy, _ http.ResponseWriter, r *http.Request) {
		p.proxy.ServeHTTP(nowhere{http.Header{}}, r)
		panic(http.ErrAbortHandler)
	}}
	unavailable = Fault{Name: "503", Do: func(_ *FaultProxy, w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no upstream", http.StatusServiceUnavailable)
	}}
	slow = Fault{Name: "slow", Do: func(p *FaultProxy, w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(time.Second):
			p.proxy.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}}
	// cutShort passes the first 200 bytes of the request on, and closes both connections.
	cutShort = Fault{Name: "cuts the request short", Do: func(p *FaultProxy, _ http.ResponseWriter, r *http.Request) {
		r.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, 200), broken{}))
		p.proxy.ServeHTTP(nowhere{http.Header{}}, r)
		panic(http.ErrAbortHandler)
	}}

	clickHouseFaults = []Fault{
		hangUp, unavailable, slow, loseAnswer, cutShort,
		exception(242, "TABLE_IS_READ_ONLY"), exception(241, "MEMORY_LIMIT_EXCEEDED"), exception(252, "TOO_MANY_PARTS"),
		alternately(loseAnswer), alternately(unavailable), alternately(cutShort), alternately(exception(319, "UNKNOWN_STATUS_OF_INSERT")),
	}
)

// broken is a request body that ends too early.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// nowhere is a ResponseWriter that drops the answer.
type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header       { return n.header }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}

// killedInMidInsert kills the process once it has 200 bytes of an insert.
func killedInMidInsert(server *ClickHouse) Fault {
	return Fault{Name: "is killed in mid-insert", Do: func(p *FaultProxy, w http.ResponseWriter, r *http.Request) {
		if !isInsert(r) {
			p.proxy.ServeHTTP(w, r)
			return
		}
		r.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, 200), killing{server}))
		p.proxy.ServeHTTP(nowhere{http.Header{}}, r)
		panic(http.ErrAbortHandler)
	}}
}

// killing is a request body that kills a ClickHouse when it is read.
type killing struct{ server *ClickHouse }

func (k killing) Read([]byte) (int, error) {
	time.Sleep(50 * time.Millisecond) // so that ClickHouse has the bytes before
	k.server.End(syscall.SIGKILL)
	return 0, io.ErrUnexpectedEOF
}

func isInsert(r *http.Request) bool {
	return strings.Contains(r.URL.RawQuery, "insert_deduplication_token")
}
