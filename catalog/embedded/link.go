package embedded

import (
	"context"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// stopPatience is how long a client may neither send nor receive while the server stops.
const stopPatience = time.Second

// drainPatience is how long net/http may read what is left of a body after the answer.
const drainPatience = 3 * time.Second

// link is the traffic with one client. Without its deadlines, a client that neither sends its rows
// nor reads its result, but keeps the connection, would occupy a statement's slot forever and keep
// the server from stopping.
type link struct {
	http.ResponseWriter
	controller *http.ResponseController
	body       io.ReadCloser
	running    context.Context // of the server
	patience   time.Duration
	answer     context.Context // of a reader's answer, which ends with the reader's time; nil for no such end
	uploaded   time.Time       // when the whole body must have been read; zero for no such time
	read       atomic.Bool     // the whole body has been read: net/http's next read waits for the client to disconnect
}

// connect returns the link of a request. The caller must call the returned function when the
// request has been answered.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) (*link, func()) {
	l := &link{ResponseWriter: w, controller: http.NewResponseController(w), body: r.Body, running: s.running, patience: s.options.limits.patience}
	l.read.Store(r.Body == http.NoBody)
	l.extend(l.controller.SetWriteDeadline, time.Time{})
	unhook := context.AfterFunc(s.running, l.extendBoth)
	return l, func() {
		unhook()
		l.extendBoth() // for net/http, which now sends the rest of the answer, and reads the rest of the body
		if !l.read.Load() {
			_ = l.controller.SetReadDeadline(time.Now().Add(drainPatience))
		}
	}
}

func (l *link) extendBoth() {
	l.extend(l.controller.SetWriteDeadline, time.Time{})
	if !l.read.Load() {
		l.extend(l.controller.SetReadDeadline, time.Time{})
	}
}

// extend restarts the client's deadline, which is not after the latest time, if there is one. A
// connection without deadlines (in a test) never times out.
func (l *link) extend(set func(time.Time) error, latest time.Time) {
	if l.running.Err() == nil {
		deadline := time.Now().Add(l.patience)
		if !latest.IsZero() && latest.Before(deadline) {
			deadline = latest
		}
		_ = set(deadline)
	}
	if l.running.Err() != nil { // or has begun to stop meanwhile
		_ = set(time.Now().Add(stopPatience))
	}
}

// Read reads the request's body.
func (l *link) Read(p []byte) (int, error) {
	l.extend(l.controller.SetReadDeadline, time.Time{})
	if !l.uploaded.IsZero() && l.running.Err() == nil {
		_ = l.controller.SetReadDeadline(l.uploaded)
	}
	n, err := l.body.Read(p)
	switch {
	case err == io.EOF:
		l.read.Store(true)
		_ = l.controller.SetReadDeadline(time.Time{})
	case err == nil && l.running.Err() != nil:
		err = os.ErrDeadlineExceeded // a body that trickles in must end, too
	}
	return n, err
}

func (l *link) Close() error { return l.body.Close() }

// Write writes the answer in parts; the deadline applies to each part. A reader's answer ends with the
// reader's time: a client that reads slowly must not keep its statement, or the file of its answer, for
// longer.
func (l *link) Write(p []byte) (int, error) {
	const part = 64 << 10
	for done := 0; ; {
		var latest time.Time
		if l.answer != nil {
			if err := context.Cause(l.answer); err != nil {
				return done, err
			}
			latest, _ = l.answer.Deadline()
		}
		l.extend(l.controller.SetWriteDeadline, latest)
		n, err := l.ResponseWriter.Write(p[done:min(len(p), done+part)])
		if done += n; err != nil || done == len(p) {
			return done, err
		}
	}
}

// Unwrap serves http.ResponseController.
func (l *link) Unwrap() http.ResponseWriter { return l.ResponseWriter }
