package catalog

import (
	"sync"
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// batch is rows that go to ClickHouse together: one block per table. It is never
// changed once it is being written, so that its blocks, and with them their
// deduplication tokens, are the same at each attempt.
type batch struct {
	number  uint64 // counts from 1; part of the tokens
	cluster string
	facts   inventory.Facts
	rows    int
	since   time.Time // when its first row came
}

// queue holds the rows that ClickHouse has not acknowledged, in order of arrival,
// as batches of at most batchRows.
type queue struct {
	batchRows, maxRows int
	now                func() time.Time

	mu      sync.Mutex
	room    sync.Cond // rows were acknowledged, or the queue was closed
	waiting []*batch
	writing *batch // the one that take returned last
	held    int    // rows of waiting and of what is left of writing
	outside int    // rows that add waits to take in
	numbers uint64
	closed  bool

	arrived chan struct{} // a first row or a full batch is waiting; holds 1
}

func newQueue(batchRows, maxRows int, now func() time.Time) *queue {
	q := &queue{batchRows: batchRows, maxRows: maxRows, now: now, arrived: make(chan struct{}, 1)}
	q.room.L = &q.mu
	return q
}

// add copies the rows in. It blocks while the queue is full, which is how the
// watch comes to wait for ClickHouse in a long outage.
func (q *queue) add(cluster string, facts *inventory.Facts) {
	rest := *facts
	q.mu.Lock()
	defer q.mu.Unlock()
	q.outside += rest.Len()
	for left := rest.Len(); left > 0; {
		for q.held >= q.maxRows && !q.closed {
			q.room.Wait()
		}
		if q.closed {
			return
		}
		b := q.last(cluster)
		n := moveRows(&b.facts, &rest, min(q.batchRows-b.rows, q.maxRows-q.held))
		b.rows += n
		q.held += n
		q.outside -= n
		left -= n
		if len(q.waiting) > 1 || b.rows == n || b.rows >= q.batchRows {
			q.signal()
		}
	}
}

// last is the batch that has room for a row of cluster.
func (q *queue) last(cluster string) *batch {
	if n := len(q.waiting); n > 0 {
		if b := q.waiting[n-1]; b.rows < q.batchRows && b.cluster == cluster {
			return b
		}
	}
	q.numbers++
	b := &batch{number: q.numbers, cluster: cluster, since: q.now()}
	q.waiting = append(q.waiting, b)
	return b
}

func (q *queue) signal() {
	select {
	case q.arrived <- struct{}{}:
	default:
	}
}

// take returns the next batch if it is full or its first row is older than
// maxAge, else how long until it will be; zero if nothing waits. The batch stays
// counted as held until acknowledged row by row.
func (q *queue) take(maxAge time.Duration) (*batch, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return nil, 0
	}
	b := q.waiting[0]
	age := q.now().Sub(b.since)
	if len(q.waiting) == 1 && b.rows < q.batchRows && age < maxAge {
		// A clock that was set back must not hold rows for ever.
		return nil, min(maxAge, maxAge-age)
	}
	q.waiting[0] = nil
	q.waiting = q.waiting[1:]
	q.writing = b
	return b, 0
}

// acknowledge lets go of rows of the batch that is being written.
func (q *queue) acknowledge(rows int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held -= rows
	q.writing.rows -= rows
	if q.writing.rows == 0 {
		q.writing = nil
	}
	q.room.Broadcast()
}

// close lets nobody wait any more and returns the number of rows that are left,
// which are lost.
func (q *queue) close() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	lost := q.held + q.outside
	q.held, q.waiting, q.writing = 0, nil, nil
	q.room.Broadcast()
	return lost
}

// rows is how many rows are held, and since when the oldest of them.
func (q *queue) rows() (int, time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.writing != nil:
		return q.held, q.writing.since
	case len(q.waiting) > 0:
		return q.held, q.waiting[0].since
	}
	return 0, time.Time{}
}

// moveRows copies up to n rows from the front of src to the end of dst, table by
// table in the order in which they are written, and takes them off src without
// touching its memory.
func moveRows(dst, src *inventory.Facts, n int) (moved int) {
	moved += move(&dst.Namespaces, &src.Namespaces, n)
	moved += move(&dst.StorageClasses, &src.StorageClasses, n-moved)
	moved += move(&dst.StorageCapacity, &src.StorageCapacity, n-moved)
	moved += move(&dst.VolumeSources, &src.VolumeSources, n-moved)
	moved += move(&dst.Volumes, &src.Volumes, n-moved)
	moved += move(&dst.Claims, &src.Claims, n-moved)
	moved += move(&dst.Pods, &src.Pods, n-moved)
	moved += move(&dst.Containers, &src.Containers, n-moved)
	moved += move(&dst.Bindings, &src.Bindings, n-moved)
	moved += move(&dst.Attachments, &src.Attachments, n-moved)
	moved += move(&dst.Mounts, &src.Mounts, n-moved)
	moved += move(&dst.Changes, &src.Changes, n-moved)
	moved += move(&dst.Objects, &src.Objects, n-moved)
	return moved
}

func move[T any](dst, src *[]T, n int) int {
	n = min(n, len(*src))
	*dst = append(*dst, (*src)[:n]...)
	*src = (*src)[n:]
	return n
}
