package catalog

import "net/http"

// deadlines sends HTTP requests. A deadline of a request's context goes before ReadTimeout, as clickhouse-go has it by the
// native protocol. ClickHouse sends the head of an answer with its first rows, and of a statement without rows at its end:
// that of a merge, which Retain waits for, can come after hours. A request without a deadline waits for the head for ReadTimeout,
// which is 5 minutes. Where the server's machine is gone, TCP's keep-alive ends both.
type deadlines struct {
	without, with *http.Transport
	sandbox       *sandbox // reads each answer
}

func newDeadlines(t *http.Transport, s *sandbox) deadlines {
	with := t.Clone()
	with.ResponseHeaderTimeout = 0
	return deadlines{t, with, s}
}

func (d deadlines) RoundTrip(r *http.Request) (*http.Response, error) {
	through := d.without
	if _, ok := r.Context().Deadline(); ok {
		through = d.with
	}
	answer, err := through.RoundTrip(r)
	if err == nil {
		d.sandbox.read(answer)
	}
	return answer, err
}

// CloseIdleConnections is what the Close of a connection calls.
func (d deadlines) CloseIdleConnections() {
	d.with.CloseIdleConnections()
	d.without.CloseIdleConnections()
}
