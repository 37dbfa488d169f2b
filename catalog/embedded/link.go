package embedded

import (
	"context"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// stopPatience is how long a client may still neither send nor take while the server stops.
const stopPatience = time.Second

// link is the traffic with one client. A client that neither goes on sending its rows nor
// takes its result, yet keeps the connection, would hold a statement's place for ever and
// keep the server from stopping in good order.
type link struct {
	http.ResponseWriter
	controller *http.ResponseController
	body       io.ReadCloser
	running    context.Context // of the server
	patience   time.Duration
	read       atomic.Bool // the whole body: what net/http then reads waits for the client's going
}

// connect returns the link of a request. The returned function must be called when the
// request has been answered.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) (*link, func()) {
	l := &link{ResponseWriter: w, controller: http.NewResponseController(w), body: r.Body, running: s.running, patience: s.options.Patience}
	l.read.Store(r.Body == http.NoBody)
	l.extend(l.controller.SetWriteDeadline)
	unhook := context.AfterFunc(s.running, l.extendBoth)
	return l, func() {
		unhook()
		l.extendBoth() // for net/http, which now reads what is left of the body and sends what is left of the answer
	}
}

func (l *link) extendBoth() {
	l.extend(l.controller.SetWriteDeadline)
	if !l.read.Load() {
		l.extend(l.controller.SetReadDeadline)
	}
}

// extend gives the client its time anew. A connection without deadlines (a test's) has patience.
func (l *link) extend(set func(time.Time) error) {
	if l.running.Err() == nil {
		_ = set(time.Now().Add(l.patience))
	}
	if l.running.Err() != nil { // or has begun to stop meanwhile
		_ = set(time.Now().Add(stopPatience))
	}
}

// Read reads the request's body.
func (l *link) Read(p []byte) (int, error) {
	l.extend(l.controller.SetReadDeadline)
	n, err := l.body.Read(p)
	switch {
	case err == io.EOF:
		l.read.Store(true)
		_ = l.controller.SetReadDeadline(time.Time{})
	case err == nil && l.running.Err() != nil:
		err = os.ErrDeadlineExceeded // a body that trickles in ends too
	}
	return n, err
}

func (l *link) Close() error { return l.body.Close() }

// Write writes the answer, a part at a time: patience is for each.
func (l *link) Write(p []byte) (int, error) {
	const part = 64 << 10
	for done := 0; ; {
		l.extend(l.controller.SetWriteDeadline)
		n, err := l.ResponseWriter.Write(p[done:min(len(p), done+part)])
		if done += n; err != nil || done == len(p) {
			return done, err
		}
	}
}

// Unwrap is for http.ResponseController.
func (l *link) Unwrap() http.ResponseWriter { return l.ResponseWriter }
