package exporter

import (
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// host returns the host of a client's address, by which clients share slots and connections.
func host(address string) string {
	h, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return h
}

// busiest returns the index of the oldest entry of the client that has most entries, and how many each client has. The
// list is in the order of age.
func busiest[T any](list []T, client func(T) string) (oldest int, counts map[string]int) {
	counts = map[string]int{}
	most := 0
	for _, entry := range list {
		counts[client(entry)]++
	}
	for i, entry := range slices.Backward(list) {
		if n := counts[client(entry)]; n >= most {
			oldest, most = i, n
		}
	}
	return oldest, counts
}

// slots limits how many scrapes run at once, because each takes memory and CPU time. Clients share the slots: while
// all are taken, a new scrape ends the oldest one of a client that has at least two more than its own. A host that
// reads slowly, and asks again as soon as it is cut off, does not keep Prometheus out.
type slots struct {
	max   int
	mu    sync.Mutex
	taken []*slot // in the order in which they were taken
}

// slot is one scrape's.
type slot struct {
	client   string
	response *http.ResponseController
	lost     atomic.Bool   // another client gets the slot, and the scrape has to end
	free     chan struct{} // closed once the scrape has ended
}

// take returns a slot, or nil if there is none for this client. If another client has to give it up, take
// returns once the scrape of that one has ended.
func (s *slots) take(client string, response *http.ResponseController) *slot {
	own := &slot{client: client, response: response, free: make(chan struct{})}
	s.mu.Lock()
	if len(s.taken) < s.max {
		s.taken = append(s.taken, own)
		s.mu.Unlock()
		return own
	}
	oldest, counts := busiest(s.taken, func(t *slot) string { return t.client })
	loser := s.taken[oldest]
	if counts[loser.client] < counts[client]+2 {
		s.mu.Unlock()
		return nil
	}
	s.taken = append(slices.Delete(s.taken, oldest, oldest+1), own)
	loser.end()
	s.mu.Unlock()
	<-loser.free
	return own
}

// give returns a slot whose scrape has ended.
func (s *slots) give(own *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = slices.DeleteFunc(s.taken, func(t *slot) bool { return t == own })
	close(own.free)
}

// end makes the scrape's present write, and its next one, fail. The caller has the lock of the slots, so that the
// response has not ended.
func (s *slot) end() {
	s.lost.Store(true)
	_ = s.response.SetWriteDeadline(time.Unix(1, 0))
}

// sharedListener limits the connections, because each takes memory. Clients share them: a connection above the
// limit ends the oldest one of the client that has most. So a host that opens connections without end closes its own, and
// neither Prometheus nor the kubelet with its probes is kept out.
type sharedListener struct {
	net.Listener
	max  int
	mu   sync.Mutex
	open []*sharedConn // in the order in which they were accepted
}

type sharedConn struct {
	net.Conn
	client   string
	listener *sharedListener
}

func (l *sharedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &sharedConn{Conn: conn, client: host(conn.RemoteAddr().String()), listener: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = append(l.open, c)
	if len(l.open) > l.max {
		oldest, _ := busiest(l.open, func(c *sharedConn) string { return c.client })
		_ = l.open[oldest].Conn.Close() // the server notices, and calls Close as well
		l.open = slices.Delete(l.open, oldest, oldest+1)
	}
	return c, nil
}

// Close makes room for another connection.
func (c *sharedConn) Close() error {
	c.listener.mu.Lock()
	c.listener.open = slices.DeleteFunc(c.listener.open, func(o *sharedConn) bool { return o == c })
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
