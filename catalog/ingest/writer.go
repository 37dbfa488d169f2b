package ingest

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/catalog/privatedir"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// WriterOptions say what a Writer writes and how long it waits.
type WriterOptions struct {
	// Journal is where the rows come from.
	Journal *journal.Journal
	// Dir is the directory for the files of batches that cannot be read, such as those of a later version of this
	// program; the working directory if empty.
	Dir string
	// Cluster is the name of the cluster in each row.
	Cluster string
	// Document returns an object of the journal, which is protobuf, as JSON for the catalog.
	Document func(kind fact.Kind, wire []byte) (string, error)
	// Redact masks secrets in the rows of a batch, which an older tracker may have recorded; nil to leave them.
	Redact func(*fact.Facts)
	// CurrentVersion asks the API server for its resource version, by a list of one kind (leaveOutForeign); nil to believe all checkpoints.
	CurrentVersion func(context.Context, fact.Kind) (uint64, error)
	// Lease says when this tracker may write, if there are several; nil if there is one.
	Lease Lease
	// MayRepeat is true if the journal is new or has lost its last transaction. An earlier tracker, with another
	// journal or with the lost end of this one, may then have written rows that are also in this journal. The writer
	// takes over from it: changes that are already in the catalog are not written again.
	MayRepeat bool
	// AfterTakeover is called once no batch of that time is left in the journal; it may be nil.
	AfterTakeover func()
	// Grace is how long Run goes on writing after its context has ended; 5 s if zero.
	Grace time.Duration
	// Registerer takes the metrics; none are kept if nil.
	Registerer prometheus.Registerer
	Logger     log.Logger

	maxBackoff time.Duration // only tests set it: see maxBackoff
}

const (
	// maxBackoff is the longest pause between two attempts.
	maxBackoff = 30 * time.Second
	// attemptTimeout is for attempts that hang: a full batch takes one or two seconds on a small machine.
	attemptTimeout = 2 * time.Minute
	// pingEvery is how often ClickHouse is pinged while there is nothing to write.
	pingEvery = 15 * time.Second
)

// Writer writes the batches of the journal to ClickHouse, in order, and retries each for ever. It acknowledges a batch
// to the journal once ClickHouse has all of its rows on disk.
//
// Of several trackers, one holds the lease and writes. The writers of the others stand by, and acknowledge the batches
// whose rows the leader has written (lease.go).
type Writer struct {
	catalog *catalog.Catalog
	options WriterOptions
	metrics *metrics
	outage  outage

	term     context.Context // ends with the lease; nil while this tracker has none
	takeover takeover
	overOnce sync.Once // see endTakeover
	follower follower
	measured map[string]fact.Usage // by the volume's UID: those acknowledged unwritten while another tracker led

	floor    atomic.Uint64 // see VersionFloor
	migrated atomic.Bool
	up       atomic.Bool
	ready    atomic.Bool
	trouble  atomic.Pointer[error] // of the last attempt; nil if it succeeded
}

// NewWriter returns a writer that does nothing until Run.
func NewWriter(c *catalog.Catalog, o WriterOptions) *Writer {
	o.Grace = cmp.Or(o.Grace, 5*time.Second)
	o.maxBackoff = cmp.Or(o.maxBackoff, maxBackoff)
	if o.Logger == nil {
		o.Logger = log.NewNopLogger()
	}
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	w := &Writer{catalog: c, options: o, outage: outage{logger: o.Logger, now: time.Now}, measured: map[string]fact.Usage{}}
	w.metrics = newMetrics(o.Registerer, w)
	return w
}

// Up reports whether the last attempt to use ClickHouse succeeded.
func (w *Writer) Up() bool { return w.up.Load() }

// Ready reports whether the first attempt to use the catalog is over: it is migrated, or known to be down.
func (w *Writer) Ready() bool { return w.ready.Load() }

// Trouble returns why ClickHouse could not be used at the last attempt; empty if it could.
func (w *Writer) Trouble() string {
	if err := w.trouble.Load(); err != nil {
		return (*err).Error()
	}
	return ""
}

// VersionFloor returns the row version above which new rows need their versions: another tracker may have given the
// versions up to it. It rises when this tracker takes over from another one.
func (w *Writer) VersionFloor() uint64 { return w.floor.Load() }

// batch is a batch of the journal on its way to ClickHouse.
type batch struct {
	number   uint64 // in the journal
	recorded time.Time
	facts    fact.Facts
}

// Run migrates the schema and writes the batches of the journal until ctx ends. Then it goes on for the grace period,
// and leaves the rest for the next start. Its error says that the journal cannot be used any more.
func (w *Writer) Run(ctx context.Context) error {
	_ = w.persist(ctx, func(context.Context) error { return nil })
	if w.options.Lease == nil {
		w.term = context.Background()
	}
	for ctx.Err() == nil {
		turn := w.lead
		if w.term = w.currentTerm(); w.term == nil {
			turn = w.follow
		}
		if err := turn(ctx); err != nil {
			return err
		}
	}
	var err error
	if w.term != nil {
		err = w.finish(ctx)
	}
	if rows := w.options.Journal.Stats().Rows; rows > 0 {
		level.Warn(w.options.Logger).Log("msg", "rows wait in the journal for the next start", "rows", rows)
	}
	return err
}

// currentTerm returns the term of the lease: nil while another tracker has it, without end where there is no lease.
func (w *Writer) currentTerm() context.Context {
	if w.options.Lease == nil {
		return context.Background()
	}
	return w.options.Lease.Held()
}

// errLeaseLost is why a leader stops writing.
var errLeaseLost = errors.New("the lease is lost")

// mayWrite returns an error if the term is over. It is called just before each insert: a process that was stopped for
// a while (SIGSTOP, a paused machine) notices only then that its lease has run out.
func (w *Writer) mayWrite() error {
	if w.currentTerm() != w.term {
		return errLeaseLost
	}
	return nil
}

// within returns a context that ends with ctx and with the term.
func (w *Writer) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(w.term, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// lead writes the batches of the journal until ctx or the term ends.
func (w *Writer) lead(ctx context.Context) error {
	ctx, cancel := w.within(ctx)
	defer cancel()
	if err := w.beginTakeover(ctx); err != nil {
		w.term = nil
		return nil // the term is over already
	}
	if w.options.Lease != nil {
		if caughtUp, err := w.catchUp(ctx); err != nil || !caughtUp {
			w.term = nil // finish must not write either
			return err
		}
	}
	w.follower = follower{}
	if !w.writeMeasured(ctx) {
		return nil
	}
	w.awaitFirstLists(ctx)
	for ctx.Err() == nil {
		done, err := w.writeNext(ctx, pingEvery)
		if err != nil {
			return err
		}
		if !done && ctx.Err() == nil {
			_ = w.attempt(ctx, w.catalog.Ping)
		}
	}
	return nil
}

// recorderStalled is how long no rows may come while the first lists are recorded, before the writer writes.
const recorderStalled = 2 * time.Second

// awaitFirstLists waits while the rows of the first lists come into a new journal: until all of them are recorded the
// tracker is not ready, and writing them meanwhile would take the processor from the recorder. With the last rows come
// the first positions. If no more rows come before that, the recorder may be waiting for room, in the journal or on the
// disk, that only the writer can make; then the writer waits no longer.
func (w *Writer) awaitFirstLists(ctx context.Context) {
	rows, grown := 0, time.Now()
	_ = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		if n := w.options.Journal.Stats().Rows; n != rows {
			rows, grown = n, time.Now()
		}
		return len(w.options.Journal.Positions()) > 0 || rows > 0 && time.Since(grown) > recorderStalled, nil
	})
}

// finish writes the batches that are left within the grace period. ctx has ended.
func (w *Writer) finish(ctx context.Context) error {
	ctx, cancel := w.within(context.WithoutCancel(ctx))
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, w.options.Grace)
	defer cancel()
	for {
		if done, err := w.writeNext(ctx, 0); err != nil || !done {
			return err
		}
	}
}

// writeNext writes the first batch of the journal and acknowledges it. It returns false if none came within the time
// given, or if ctx ended.
func (w *Writer) writeNext(ctx context.Context, within time.Duration) (bool, error) {
	waiting, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	b, err := w.read(waiting, 0)
	if b == nil {
		return false, err
	}
	if w.adapt(ctx, b) != nil || w.writeDocuments(ctx, b) != nil || !w.write(ctx, b) {
		return false, nil
	}
	return true, w.options.Journal.Acknowledge(b.number)
}

// peek returns the first batch after a number without waiting; nil if there is none.
func (w *Writer) peek(after uint64) (*batch, error) {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	return w.read(now, after)
}

// read returns the first batch after a number; nil if ctx ended before one came. A batch that cannot be decoded is put
// aside, and an empty batch is returned in its place.
func (w *Writer) read(ctx context.Context, after uint64) (*batch, error) {
	entry, err := w.options.Journal.Next(ctx, after)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return nil, nil
		}
		return nil, fmt.Errorf("journal: %w", err)
	}
	b := &batch{number: entry.Number, recorded: entry.At}
	if err := decodeFacts(entry.Facts, &b.facts); err != nil {
		if err := w.putAside(entry, err); err != nil {
			return nil, err
		}
		b.facts = fact.Facts{}
	}
	if w.options.Redact != nil {
		w.options.Redact(&b.facts)
	}
	return b, nil
}

// writeDocuments sets the JSON of a batch's objects, and sets those aside that cannot be decoded. Its error is that of
// ctx, or errLeaseLost.
func (w *Writer) writeDocuments(ctx context.Context, b *batch) error {
	written := b.facts.Objects[:0]
	for _, o := range b.facts.Objects {
		if o.Wire != nil {
			text, err := w.options.Document(o.Kind, o.Wire)
			if err != nil {
				o.Object = base64.StdEncoding.EncodeToString(o.Wire)
				if err := w.setAside(ctx, objects(), &fact.Facts{Objects: []fact.Object{o}}, err); err != nil {
					return err
				}
				continue
			}
			o.Object, o.Wire = text, nil
		}
		written = append(written, o)
	}
	b.facts.Objects = written
	return nil
}

// putAside saves a batch that cannot be decoded as a file, so that it does not block the batches after it.
func (w *Writer) putAside(entry journal.Entry, reason error) error {
	path := filepath.Join(w.options.Dir, fmt.Sprintf("journal.batch-%s-%d", entry.ID, entry.Number))
	if err := writeFile(path, entry.Facts); err != nil {
		return fmt.Errorf("journal: batch %d cannot be read (%w) nor put aside: %w", entry.Number, reason, err)
	}
	level.Error(w.options.Logger).Log("msg", "a batch of the journal cannot be read; it is put aside", "file", path, "rows", entry.Rows, "err", reason)
	return nil
}

// writeFile writes a file of this user's alone, and returns once it is on disk: it will have the only copy of its rows. It follows no
// symbolic link, which another user may have made.
func writeFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return privatedir.SyncParent(path)
}

// write inserts a batch table by table. It returns false if ctx ended before ClickHouse acknowledged all tables.
func (w *Writer) write(ctx context.Context, b *batch) bool {
	for _, t := range allTables {
		if t.count(&b.facts) > 0 && w.insert(ctx, t, &b.facts, 0) != nil {
			return false
		}
	}
	w.metrics.batches.Inc()
	return true
}

// halveAfter is how often ClickHouse may lack the memory for a block before the block is halved.
const halveAfter = 3

// setAsideAfter is how often ClickHouse refuses a row, alone or in larger blocks, before the row is set aside: it refuses
// a block that a proxy has cut on its way for its content, too.
const setAsideAfter = 2

// insert writes the rows of one table. If ClickHouse refuses the block for its content, insert halves it until the
// refused row is alone, and sets that row aside. It also halves a block that ClickHouse lacks the memory for.
// refused is how often larger blocks with these rows were refused before. The error is that of ctx, or errLeaseLost.
func (w *Writer) insert(ctx context.Context, t table, facts *fact.Facts, refused int) error {
	rows, lacked := t.count(facts), 0
	err := w.persistUntil(ctx, func(ctx context.Context) error {
		start := time.Now()
		err := insertRows(ctx, w.catalog, t, w.options.Cluster, facts, w.mayWrite)
		w.metrics.insertDuration.Observe(time.Since(start).Seconds())
		return err
	}, func(err error) bool {
		switch {
		case catalog.HasCode(err, chproto.ErrMemoryLimitExceeded):
			lacked++
		case refusesRows(err):
			refused++
			return rows > 1 || refused >= setAsideAfter
		}
		return lacked == halveAfter && rows > 1
	})
	switch {
	case err == nil:
		w.metrics.rows.WithLabelValues(t.name).Add(float64(rows))
		return nil
	case refusesRows(err) && rows == 1:
		return w.setAside(ctx, t, facts, err)
	case !refusesRows(err) && !catalog.HasCode(err, chproto.ErrMemoryLimitExceeded):
		return err
	}
	var first fact.Facts
	t.cut(&first, facts, rows/2)
	return errors.Join(w.insert(ctx, t, &first, refused), w.insert(ctx, t, facts, refused))
}

// setAside writes a row that cannot be written to its table to catalog_rejects, where a person can look at it.
func (w *Writer) setAside(ctx context.Context, t table, facts *fact.Facts, refusal error) error {
	w.metrics.rejects.WithLabelValues(t.name).Inc()
	level.Error(w.options.Logger).Log("msg", "a row cannot be written for what is in it; it is set aside in catalog_rejects", "table", t.name, "err", refusal)
	at := time.Now()
	return w.persist(ctx, func(ctx context.Context) error {
		return insertReject(ctx, w.catalog, w.options.Cluster, at, t.name, t.text(facts), refusal)
	})
}

// persist is persistUntil that accepts the error that ClickHouse refuses rows for their content.
func (w *Writer) persist(ctx context.Context, do func(context.Context) error) error {
	return w.persistUntil(ctx, do, refusesRows)
}

// persistUntil attempts do, with growing pauses, until it succeeds, ctx ends, the lease is lost, or isFinal accepts the error.
func (w *Writer) persistUntil(ctx context.Context, do func(context.Context) error, isFinal func(error) bool) error {
	return pauses(w.options.maxBackoff).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		err := w.attempt(ctx, do)
		if err == nil || errors.Is(err, errLeaseLost) || isFinal(err) {
			return true, err
		}
		return false, nil
	})
}

// pauses returns the pauses between attempts: they grow from 250 ms to the longest one.
func pauses(longest time.Duration) wait.DelayFunc {
	return wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Jitter: 0.3, Steps: 20, Cap: longest}.DelayFunc()
}

// attempt calls do once, after migrating the schema if that has not been done, and notes whether ClickHouse is up.
func (w *Writer) attempt(ctx context.Context, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	var err error
	if !w.migrated.Load() {
		if err = w.catalog.Migrate(limited); err == nil {
			w.migrated.Store(true)
		}
	}
	if err == nil {
		err = do(limited)
	}
	if (ctx.Err() != nil && err != nil) || errors.Is(err, errLeaseLost) {
		return err // this tracker ended the attempt, which says nothing about ClickHouse
	}
	w.up.Store(err == nil || refusesRows(err))
	w.ready.Store(true)
	if w.Up() {
		w.trouble.Store(nil)
		w.outage.ended()
		return err
	}
	if catalog.HasCode(err, chproto.ErrUnknownDatabase, chproto.ErrUnknownTable) {
		// The database was dropped, or another one answers there now.
		w.migrated.Store(false)
	}
	w.trouble.Store(&err)
	w.metrics.failures.Inc()
	w.outage.failed(err, w.options.Journal.Stats().Rows)
	return err
}

// outage logs the first of consecutive failures, then one a minute, and the first success after them.
type outage struct {
	logger        log.Logger
	now           func() time.Time
	since, logged time.Time
	failures      int
}

func (o *outage) failed(err error, rows int) {
	now := o.now()
	o.failures++
	if o.failures == 1 {
		o.since = now
	} else if now.Sub(o.logged) < time.Minute {
		return
	}
	o.logged = now
	msg := "ClickHouse cannot be written to; retrying"
	if catalog.IsReason(err, catalog.Refused) && !catalog.HasCode(err, chproto.ErrUnknownDatabase) {
		msg = "ClickHouse refuses the rows; retrying, but this will not pass by itself"
	}
	level.Error(o.logger).Log("msg", msg, "err", err, "failures", o.failures, "waiting_rows", rows)
}

func (o *outage) ended() {
	if o.failures == 0 {
		return
	}
	level.Info(o.logger).Log("msg", "ClickHouse is back", "away", o.now().Sub(o.since).Round(time.Millisecond), "failures", o.failures)
	o.failures = 0
}
