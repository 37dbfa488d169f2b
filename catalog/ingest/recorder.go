package ingest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// RecorderOptions are what a Recorder needs.
type RecorderOptions struct {
	Journal *journal.Journal
	// Cluster is the cluster that is tracked. A journal is of one cluster.
	Cluster string
	// WithoutFacts leaves the rows out, where there is no catalog. The journal then has only what a restart needs.
	WithoutFacts bool
	// Tally counts the rows that are committed, and is kept in the journal; none if nil.
	Tally Tally
	// Registerer takes the metrics; none are kept if nil.
	Registerer prometheus.Registerer
	Logger     log.Logger

	batchRows int // only tests set it: see batchRows
}

// Tally counts rows for the counters of the next run. Add sees exactly the rows that are committed, and what Records
// returns goes into the same transaction. Run calls these two.
type Tally interface {
	Add(*fact.Facts)
	// Records returns the records that have changed since the last call, by name; nil deletes a record.
	Records() (map[string][]byte, error)
	// Integrals adds to records those that follow from the states of the updates, and have changed since the last call: values
	// to encode as JSON, by name; nil deletes a record. Record calls it with each update, so that they are committed with
	// the states that they follow from, and with none that come later.
	Integrals(records map[string]any)
}

const (
	// batchAge is the longest time for which rows are gathered for one transaction, batchRows their largest number.
	batchAge  = time.Second
	batchRows = 25_000
	// gather is how long the first rows after a quiet time wait for others.
	gather = 20 * time.Millisecond
	// batchBytes is the largest size of their texts and objects: 32 MiB. 25,000 usual rows have 4 MB, and as many objects 25 MB. Users can
	// make objects of 1.5 MB, of which 25,000 would take all memory.
	batchBytes = 32 << 20
	// pendingBatches is how many batches of rows may wait for the disk before Record blocks.
	pendingBatches = 2
	// finishTime is how long the last commit, after Run's context has ended, may take.
	finishTime = 5 * time.Second
)

// Recorder commits the collector's updates to the journal: rows for the catalog, and the state and positions that a
// restart needs. It implements collector.Recorder.
type Recorder struct {
	options  RecorderOptions
	coverage *coverage

	mu      sync.Mutex // guards pending, closed and committing
	room    *sync.Cond // signals that pending may have room again
	pending pending
	closed  bool
	// committing is true while rows that were pending are on their way into the journal.
	committing bool

	arrived chan struct{} // capacity 1
	scratch bytes.Buffer  // of encodeFacts
}

// pending is what has been recorded and is not in the journal yet.
type pending struct {
	chunks    []chunk // in the order in which they were recorded
	size      int     // of all chunks
	bytes     int     // of all rows: see bytesOf
	positions map[fact.Kind]fact.Position
	watched   []fact.Span    // nil if they have not changed
	integrals map[string]any // see Tally
	version   uint64
	meta      map[string][]byte
	// unprompted is true if no event caused some of these rows. Rows of usage do not count: the writer keeps the last one of each volume (follower).
	unprompted bool
}

// chunk has the rows and snapshots of one large update, or copies of those of many small updates.
type chunk struct {
	facts     fact.Facts
	snapshots []fact.ObjectSnapshot
	forgotten map[[2]string]int // by kind and UID: the index of the snapshot that says so
}

// size is how many rows and snapshots a chunk has. Both take memory, and a large event has parts of snapshots alone.
func (c *chunk) size() int { return c.facts.Len() + len(c.snapshots) }

// chunkSize is the size of a chunk, or of an update, from which on the update becomes a chunk of its own, and is not
// copied into the chunk before. To copy fewer rows takes less time than a transaction more.
const chunkSize = 5_000

// NewRecorder returns a recorder that does nothing until Run. It is an error if the journal is another cluster's.
func NewRecorder(o RecorderOptions) (*Recorder, error) {
	o.batchRows = cmp.Or(o.batchRows, batchRows)
	if o.Logger == nil {
		o.Logger = log.NewNopLogger()
	}
	if of := string(o.Journal.Meta()[metaCluster]); of != "" && of != o.Cluster {
		return nil, fmt.Errorf("the journal holds the cluster %q, and this one is %q: give each cluster a --data-dir of its own, or this one its former --cluster.name", of, o.Cluster)
	}
	if o.Registerer != nil {
		registerJournal(o.Registerer, o.Journal)
	}
	r := &Recorder{options: o, arrived: make(chan struct{}, 1), coverage: newCoverage(o.Journal)}
	r.room = sync.NewCond(&r.mu)
	return r, nil
}

// Record takes an update. It blocks while the disk is too slow or the journal is full, and never fails.
//
// It may take the lists of rows and snapshots out of the update (see collector.Recorder): those of the first lists are
// hundreds of MB, which are not copied.
func (r *Recorder) Record(u *fact.Update) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for (r.pending.size > pendingBatches*r.options.batchRows || r.pending.bytes > pendingBatches*batchBytes) && !r.closed {
		r.room.Wait()
	}
	p := &r.pending
	p.unprompted = p.unprompted || u.Unprompted && u.Facts.Len() > len(u.Facts.Usage)
	p.add(u)
	p.version = max(p.version, u.Version)
	if p.positions == nil {
		p.positions = map[fact.Kind]fact.Position{}
	}
	for _, position := range u.Positions {
		p.positions[position.Kind] = position
	}
	if u.Watched != nil {
		p.watched = u.Watched
	}
	if r.options.Tally != nil {
		if p.integrals == nil {
			p.integrals = map[string]any{}
		}
		r.options.Tally.Integrals(p.integrals)
	}
	r.notify()
}

// add adds the rows and snapshots of an update.
func (p *pending) add(u *fact.Update) {
	size := u.Facts.Len() + len(u.Snapshots)
	if size == 0 {
		return
	}
	p.size += size
	p.bytes += bytesOf(&u.Facts)
	n := len(p.chunks)
	if n == 0 || size >= chunkSize || p.chunks[n-1].size() >= chunkSize {
		p.chunks = append(p.chunks, chunk{})
		c := &p.chunks[n]
		c.keepOrder(u)
		c.facts, c.snapshots = u.TakeRows()
		return
	}
	c := &p.chunks[n-1]
	c.keepOrder(u)
	copyRows(&c.facts, &u.Facts)
	c.snapshots = append(c.snapshots, u.Snapshots...)
}

// keepOrder cancels the Forgotten snapshot of an object that is in the update again, as an object is that was
// restored with its UID: a commit writes the records of a chunk's objects before it deletes the forgotten ones.
func (c *chunk) keepOrder(u *fact.Update) {
	for i := range u.Facts.Objects {
		o := &u.Facts.Objects[i]
		if at, ok := c.forgotten[[2]string{string(o.Kind), o.UID}]; ok {
			c.snapshots[at] = fact.ObjectSnapshot{Kind: o.Kind, UID: o.UID}
			delete(c.forgotten, [2]string{string(o.Kind), o.UID})
		}
	}
	for i := range u.Snapshots {
		if s := &u.Snapshots[i]; s.Forgotten {
			if c.forgotten == nil {
				c.forgotten = map[[2]string]int{}
			}
			c.forgotten[[2]string{string(s.Kind), s.UID}] = len(c.snapshots) + i
		}
	}
}

// notify wakes Run, as there is something to commit.
func (r *Recorder) notify() {
	select {
	case r.arrived <- struct{}{}:
	default:
	}
}

// SetIncomplete notes in the journal, with the next commit, whether the catalog knows of objects that the
// journal lacks, and its snapshot is still to be restored.
func (r *Recorder) SetIncomplete(incomplete bool) { r.note(metaIncomplete, incomplete) }

// Incomplete is what SetIncomplete noted last, in this run or an earlier one.
func (r *Recorder) Incomplete() bool { return r.options.Journal.Meta()[metaIncomplete] != nil }

// UndoMeta returns what SetIncomplete(true) notes, for journal.Options.UndoMeta. The catalog gets the rows of a commit that was cut
// off, but the journal no longer has their objects.
func UndoMeta() map[string][]byte { return map[string][]byte{metaIncomplete: noted} }

// SetTakingOver notes in the journal, with the next commit, whether another tracker may have written rows
// that wait in it: see WriterOptions.MayRepeat.
func (r *Recorder) SetTakingOver(takingOver bool) { r.note(metaTakingOver, takingOver) }

// TakingOver is what SetTakingOver noted last, in this run or an earlier one.
func (r *Recorder) TakingOver() bool { return r.options.Journal.Meta()[metaTakingOver] != nil }

// SetLiveHeap notes in the journal, with the next commit, how many bytes of live heap this program has.
func (r *Recorder) SetLiveHeap(bytes uint64) {
	r.noteValue(metaLiveHeap, strconv.AppendUint(nil, bytes, 10))
}

// LiveHeap is what SetLiveHeap noted last, in this run or an earlier one; 0 if nothing.
func (r *Recorder) LiveHeap() uint64 {
	bytes, _ := strconv.ParseUint(string(r.options.Journal.Meta()[metaLiveHeap]), 10, 64)
	return bytes
}

var noted = []byte("yes")

func (r *Recorder) note(key string, on bool) {
	var value []byte
	if on {
		value = noted
	}
	r.noteValue(key, value)
}

// noteValue notes a value; nil deletes it.
func (r *Recorder) noteValue(key string, value []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending.meta == nil {
		r.pending.meta = map[string][]byte{}
	}
	r.pending.meta[key] = value
	r.notify()
}

// Pending reports whether there are rows or snapshots that are not in the journal yet.
func (r *Recorder) Pending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pending.size > 0 || r.committing
}

// Run commits what is recorded until ctx ends, and then the rest. It returns an error only if the journal cannot be
// used any more, as it is damaged, or if the rest could not be committed within five seconds.
func (r *Recorder) Run(ctx context.Context) error {
	defer r.close()
	// A transaction that has begun when ctx ends is completed, if it can be.
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(finishTime, cancel) })()
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return r.commit(working)
		case <-r.arrived:
		}
		r.gather(ctx, max(gather, r.age()-time.Since(last)))
		last = time.Now()
		if err := r.commit(working); err != nil {
			return err
		}
	}
}

// age is how long rows are gathered for: ten times longer while ClickHouse does not take them, for fewer batches to
// write once it does.
func (r *Recorder) age() time.Duration {
	oldest := r.options.Journal.Stats().Oldest
	if behind := 10 * batchAge; !oldest.IsZero() && time.Since(oldest) > behind {
		return behind
	}
	return batchAge
}

// gather waits for more rows, for at most d, or until there are enough for a batch.
func (r *Recorder) gather(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		r.mu.Lock()
		full := r.pending.size >= r.options.batchRows || r.pending.bytes >= batchBytes
		r.mu.Unlock()
		if full {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-r.arrived:
		}
	}
}

// close makes Record block no more: nobody commits.
func (r *Recorder) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.room.Broadcast()
}
