package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// RecorderOptions are what a Recorder needs.
type RecorderOptions struct {
	Journal *journal.Journal
	// Cluster is the cluster that is tracked. A journal holds one.
	Cluster string
	// WithoutFacts leaves the rows out, where there is no catalog to feed: the journal
	// then holds only what a restart needs.
	WithoutFacts bool
	// BatchAge is how long rows are gathered for one transaction at most, BatchRows
	// how many they are; 1 s and 50,000 if zero.
	BatchAge  time.Duration
	BatchRows int
	// Tally counts what comes into the journal, and is kept there; none if nil.
	Tally Tally
	// Registerer takes the metrics; none are kept if nil.
	Registerer prometheus.Registerer
	Logger     log.Logger
}

// Tally is what the next run's counters go on from: it is told exactly of the rows that
// are committed, and its records go into the same transaction. Both are called by Run.
type Tally interface {
	Add(*fact.Facts)
	// Records are those that have changed since the last call, by name; nil is one that
	// is no more.
	Records() (map[string][]byte, error)
}

const (
	// gather is how long the first rows after a quiet while wait for others.
	gather = 20 * time.Millisecond
	// pendingBatches is how many batches of rows may wait for the disk before Apply does.
	pendingBatches = 4
	// recordsPerCommit bounds a transaction of state, rowsPerCommit one of rows, and
	// objectsPerCommit one of objects, whose documents have a kilobyte or two each: what a
	// transaction takes is held several times on its way, encoded, decoded and in columns, and
	// by the connection to ClickHouse for a while.
	recordsPerCommit = 20_000
	rowsPerCommit    = 10_000
	objectsPerCommit = 1_500
	// freeEvery is how often at most garbage is collected after a commit in parts. A thousand
	// changes of pods a second are such commits, too, and would wait for it.
	freeEvery = 10 * time.Minute
	// coverageEvery is how often the catalog is told how far the watches are.
	coverageEvery = time.Minute
)

// Recorder puts into the journal what the collector gives out: rows for the catalog,
// and what a restart needs to go on. It is a sink of the collector.
type Recorder struct {
	options RecorderOptions
	covered *coverage

	mu      sync.Mutex // guards pending and closed
	room    *sync.Cond // there may be room in pending again
	pending pending
	closed  bool

	committing bool          // what was pending is on its way into the journal
	freed      time.Time     // when garbage was last collected after a commit; Run's
	arrived    chan struct{} // capacity 1
}

// pending is what is not in the journal yet.
type pending struct {
	facts     fact.Facts
	rows      int
	snapshots []fact.ObjectSnapshot
	forgotten map[[2]string]int // by kind and UID: which of the snapshots says so
	positions map[fact.Kind]fact.Position
	watched   []fact.Span // nil if they have not changed
	version   uint64
	meta      map[string][]byte
}

// NewRecorder prepares a recorder; Run does the work. It is an error if the journal is
// another cluster's.
func NewRecorder(o RecorderOptions) (*Recorder, error) {
	o.BatchAge = orDefault(o.BatchAge, time.Second)
	o.BatchRows = orDefault(o.BatchRows, 50_000)
	if o.Logger == nil {
		o.Logger = log.NewNopLogger()
	}
	if of := string(o.Journal.Meta()[metaCluster]); of != "" && of != o.Cluster {
		return nil, fmt.Errorf("the journal holds the cluster %q, and this one is %q: give each cluster a --data-dir of its own, or this one its former --cluster.name", of, o.Cluster)
	}
	if o.Registerer != nil {
		registerJournal(o.Registerer, o.Journal)
	}
	r := &Recorder{options: o, arrived: make(chan struct{}, 1), covered: newCoverage(o.Journal)}
	r.room = sync.NewCond(&r.mu)
	return r, nil
}

// Apply takes what changed. It blocks while the disk is behind, or while the journal
// is full, and never fails.
func (r *Recorder) Apply(u *fact.Update) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.pending.rows > pendingBatches*r.options.BatchRows && !r.closed {
		r.room.Wait()
	}
	p := &r.pending
	p.remember(u)
	if u.Large && p.rows == 0 && len(p.snapshots) == 0 {
		p.facts, p.rows, p.snapshots = u.Facts, u.Facts.Len(), u.Snapshots // of the first lists, 100 MB
	} else {
		facts := u.Facts
		p.rows += moveRows(&p.facts, &facts, facts.Len())
		p.snapshots = append(p.snapshots, u.Snapshots...)
	}
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
	r.notify()
}

// remember keeps in order what was forgotten and came back, as an object does that is restored
// with its UID: its record is written before the forgotten ones are removed.
func (p *pending) remember(u *fact.Update) {
	for i := range u.Facts.Objects {
		o := &u.Facts.Objects[i]
		if at, ok := p.forgotten[[2]string{string(o.Kind), o.UID}]; ok {
			p.snapshots[at] = fact.ObjectSnapshot{Kind: o.Kind, UID: o.UID}
			delete(p.forgotten, [2]string{string(o.Kind), o.UID})
		}
	}
	for i := range u.Snapshots {
		if s := &u.Snapshots[i]; s.Forgotten {
			if p.forgotten == nil {
				p.forgotten = map[[2]string]int{}
			}
			p.forgotten[[2]string{string(s.Kind), s.UID}] = len(p.snapshots) + i
		}
	}
}

// notify tells Run that there is something to commit.
func (r *Recorder) notify() {
	select {
	case r.arrived <- struct{}{}:
	default:
	}
}

// Save puts the snapshot that the catalog had into a new journal: objects that do not change from now on
// would not come into it otherwise, and the next start restores the journal alone. It is called before
// Run, and tries for as long as ctx lasts. The journal counts as new until the collector reports a
// position.
func (r *Recorder) Save(ctx context.Context, known *fact.Snapshot) error {
	b := journal.Batch{Version: known.Version, Meta: map[string][]byte{metaCluster: []byte(r.options.Cluster)}}
	for i := range known.Objects {
		o := &known.Objects[i]
		if o.Incomplete {
			continue // it comes with its rows
		}
		b.State = append(b.State, journal.Record{Kind: string(o.Kind), UID: o.UID, Data: []byte(o.Object)})
		if o.Snapshot.UID != "" {
			snapshot, err := snapshotRecord(&o.Snapshot)
			if err != nil {
				return err
			}
			b.State = append(b.State, snapshot)
		}
		if len(b.State) >= recordsPerCommit {
			if err := r.put(ctx, b, fact.Facts{}); err != nil {
				return err
			}
			b.State = b.State[:0]
		}
	}
	return r.put(ctx, b, fact.Facts{})
}

// SetIncomplete notes in the journal, with the next commit, whether the catalog knows of objects that the
// journal lacks, and its snapshot is still to be restored.
func (r *Recorder) SetIncomplete(incomplete bool) { r.note(metaIncomplete, incomplete) }

// SetTakingOver notes in the journal, with the next commit, whether another tracker may have written rows
// that wait in it: see WriterOptions.TakesOver.
func (r *Recorder) SetTakingOver(takingOver bool) { r.note(metaTakingOver, takingOver) }

// TakingOver is what was noted last, by this run or an earlier one.
func (r *Recorder) TakingOver() bool { return r.options.Journal.Meta()[metaTakingOver] != nil }

func (r *Recorder) note(key string, holds bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending.meta == nil {
		r.pending.meta = map[string][]byte{}
	}
	r.pending.meta[key] = nil
	if holds {
		r.pending.meta[key] = []byte("yes")
	}
	r.notify()
}

// Incomplete is what was noted last, by this run or an earlier one.
func (r *Recorder) Incomplete() bool { return r.options.Journal.Meta()[metaIncomplete] != nil }

// Pending reports whether there are rows that are not in the journal yet.
func (r *Recorder) Pending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pending.rows > 0 || r.committing
}

// Run commits what is applied until ctx ends, and then the rest. The error is one that
// does not pass: the journal is damaged.
func (r *Recorder) Run(ctx context.Context) error {
	defer r.close()
	// A transaction that has begun when ctx ends is brought to its end, if it can be.
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

// age is how long rows are gathered for: longer while ClickHouse does not take them, so
// that there are fewer batches to catch up with.
func (r *Recorder) age() time.Duration {
	oldest := r.options.Journal.Stats().Oldest
	if behind := 10 * r.options.BatchAge; !oldest.IsZero() && time.Since(oldest) > behind {
		return behind
	}
	return r.options.BatchAge
}

// gather waits for more rows, for at most d, or until there are enough.
func (r *Recorder) gather(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		r.mu.Lock()
		full := r.pending.rows >= r.options.BatchRows
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

// finishTime is how long the journal may take for what is left in the end.
const finishTime = 5 * time.Second

func (r *Recorder) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.room.Broadcast()
}

// commit puts what is pending into the journal: first the rows, then the state that
// they brought about, then how far the watches were. After a crash in between, what was
// seen since the last position is seen again, and rows that are told again change
// nothing.
func (r *Recorder) commit(ctx context.Context) error {
	r.mu.Lock()
	p := r.pending
	r.pending, r.committing = pending{}, true
	r.room.Broadcast()
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.committing = false
	}()

	tallied, err := r.tally(&p.facts)
	if err != nil {
		return err
	}
	now := time.Now()
	r.covered.add(&p.facts, p.positions, now)
	points := r.covered.checkpoints(p.facts.Len(), now)
	if r.options.WithoutFacts {
		points = nil
	}
	rows, state := r.part(&p.facts)
	if p.facts.Len() > 0 && now.Sub(r.freed) > freeEvery {
		// A list, most likely the first ones: many times what is held of it then, and nothing
		// else would have the garbage collected for minutes.
		defer func() {
			debug.FreeOSMemory()
			r.freed = time.Now()
		}()
	}
	for p.facts.Len() > 0 {
		if err := r.put(ctx, journal.Batch{State: state}, rows); err != nil {
			return err
		}
		rows, state = r.part(&p.facts)
	}
	for len(p.snapshots) > recordsPerCommit {
		if state, err = appendSnapshots(state, p.snapshots[:recordsPerCommit]); err != nil {
			return err
		}
		if err := r.put(ctx, journal.Batch{State: state}, rows); err != nil {
			return err
		}
		rows, state, p.snapshots = fact.Facts{}, nil, p.snapshots[recordsPerCommit:]
	}
	if state, err = appendSnapshots(state, p.snapshots); err != nil {
		return err
	}
	last := journal.Batch{State: append(state, tallied...), Version: p.version, Meta: map[string][]byte{metaCluster: []byte(r.options.Cluster)}}
	maps.Copy(last.Meta, p.meta)
	if p.watched != nil {
		watched, err := watchedRecord(p.watched)
		if err != nil {
			return err
		}
		last.State = append(last.State, watched)
	}
	for kind, position := range p.positions {
		last.Positions = append(last.Positions, journal.Position{Kind: string(kind), ResourceVersion: position.ResourceVersion, At: position.At.Time()})
		last.Meta[metaSince+string(kind)] = []byte(position.Since.Time().Format(time.RFC3339Nano))
	}
	// Of a commit that was cut, only the end says how far it is.
	rows.Checkpoints = append(rows.Checkpoints, points...)
	return r.put(ctx, last, rows)
}

// part takes the rows of one transaction out of facts, and returns the records of the
// objects among them. Those come last: an object that is held is one whose rows are there.
func (r *Recorder) part(facts *fact.Facts) (rows fact.Facts, state []journal.Record) {
	objects := facts.Objects
	facts.Objects = nil
	most := min(r.options.BatchRows, rowsPerCommit)
	n := moveRows(&rows, facts, most)
	if facts.Objects = objects; facts.Len() == len(objects) {
		n = min(most-n, objectsPerCommit, len(objects))
		rows.Objects = slices.Clone(objects[:n])
		clear(objects[:n]) // what is in the journal can go
		facts.Objects = objects[n:]
	}
	rows.WriteDocuments() // of this transaction alone
	for i := range rows.Objects {
		o := &rows.Objects[i]
		state = append(state, journal.Record{Kind: string(o.Kind), UID: o.UID, Data: []byte(o.Object)})
	}
	if r.options.WithoutFacts {
		rows = fact.Facts{}
	}
	return rows, state
}

// tally counts the rows, and returns the records to commit with the positions behind
// them.
func (r *Recorder) tally(facts *fact.Facts) ([]journal.Record, error) {
	if r.options.Tally == nil {
		return nil, nil
	}
	r.options.Tally.Add(facts)
	changed, err := r.options.Tally.Records()
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	var records []journal.Record
	for name, data := range changed {
		records = append(records, journal.Record{Kind: tallyKind, UID: name, Data: data})
	}
	return records, nil
}

// put commits one transaction, tried for as long as it takes: a full disk may be
// cleared.
func (r *Recorder) put(ctx context.Context, b journal.Batch, facts fact.Facts) (err error) {
	if b.Rows = facts.Len(); b.Rows > 0 {
		if b.Facts, err = encodeFacts(&facts); err != nil {
			return err
		}
	}
	delay := wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Jitter: 0.3, Steps: 20, Cap: 10 * time.Second}.DelayFunc()
	var said time.Time
	for {
		err := r.options.Journal.Commit(ctx, b)
		switch {
		case err == nil || errors.Is(err, journal.ErrCorrupt) || errors.Is(err, journal.ErrFailed) || errors.Is(err, journal.ErrClosed):
			return err
		case ctx.Err() != nil:
			return fmt.Errorf("journal: %d rows could not be put into it before the end; the watches go on before them: %w", b.Rows, err)
		case time.Since(said) > time.Minute:
			said = time.Now()
			level.Error(r.options.Logger).Log("msg", "the journal cannot be written; retrying, and the watches wait", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(delay()):
		}
	}
}

// The names of what the journal keeps beside facts, state and positions.
const (
	metaCluster    = "cluster"
	metaSince      = "since/" // + kind: from when on nothing can have been missed
	metaIncomplete = "unread" // there while the catalog knows of more than the journal
	// there while the catalog may have rows of what waits in the journal, by another tracker
	metaTakingOver = "taking-over"
	memorySuffix   = ".memory"
	tallyKind      = "tally" // of records that are no object's
)

// appendSnapshots turns snapshots into records of the journal.
func appendSnapshots(records []journal.Record, snapshots []fact.ObjectSnapshot) ([]journal.Record, error) {
	for i := range snapshots {
		m := &snapshots[i]
		if m.Forgotten {
			records = append(records, journal.Record{Kind: string(m.Kind), UID: m.UID}, journal.Record{Kind: string(m.Kind) + memorySuffix, UID: m.UID})
			continue
		}
		record, err := snapshotRecord(m)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, nil
}

func snapshotRecord(m *fact.ObjectSnapshot) (journal.Record, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return journal.Record{}, fmt.Errorf("journal: %w", err)
	}
	return journal.Record{Kind: string(m.Kind) + memorySuffix, UID: m.UID, Data: text}, nil
}
