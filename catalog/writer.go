package catalog

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// WriterOptions bound what a Writer holds and how long it waits.
type WriterOptions struct {
	// Cluster names the cluster that the rows are of.
	Cluster string
	// MaxRows is how many rows may wait in memory before Record blocks; 500,000 if
	// zero. A row takes 100 to 500 bytes, besides the strings that it shares with
	// the inventory, so that caps memory at about 250 MB, and outlasts an outage of
	// an hour at 140 rows a second.
	MaxRows int
	// BatchRows and BatchAge end a batch; 50,000 rows and 1 s if zero.
	BatchRows int
	BatchAge  time.Duration
	// Grace is how long Run goes on writing once it was told to end; 5 s if zero.
	Grace time.Duration
	// MaxBackoff is the longest pause between two attempts; 30 s if zero.
	MaxBackoff time.Duration
	// Registerer takes the metrics; none are kept if nil.
	Registerer prometheus.Registerer
	Logger     log.Logger
}

const (
	// An attempt that takes longer than this has hung: a full batch takes a second
	// or two on a small machine.
	attemptTimeout = 2 * time.Minute
	// How often a catalog that nothing is written to is asked for a sign of life.
	pingEvery = 15 * time.Second
)

// Writer brings facts to ClickHouse: in order, in batches, retried for ever.
// Rows wait in memory meanwhile.
type Writer struct {
	catalog *Catalog
	options WriterOptions
	tables  []table
	queue   *queue
	metrics *metrics
	outage  outage
	// run tells apart the tokens of two trackers, or of one before and after a
	// restart, which count their batches alike.
	run string

	migrated atomic.Bool
	up       atomic.Bool
	settled  atomic.Bool
}

// NewWriter prepares a writer; Run does the writing.
func NewWriter(c *Catalog, o WriterOptions) *Writer {
	o.MaxRows = orDefault(o.MaxRows, 500_000)
	o.BatchRows = min(orDefault(o.BatchRows, 50_000), o.MaxRows)
	o.BatchAge = orDefault(o.BatchAge, time.Second)
	o.Grace = orDefault(o.Grace, 5*time.Second)
	o.MaxBackoff = orDefault(o.MaxBackoff, 30*time.Second)
	if o.Logger == nil {
		o.Logger = log.NewNopLogger()
	}
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	w := &Writer{
		catalog: c, options: o, tables: tables(), run: rand.Text(),
		queue:  newQueue(o.BatchRows, o.MaxRows, time.Now),
		outage: outage{logger: o.Logger, now: time.Now},
	}
	w.metrics = newMetrics(o.Registerer, w)
	return w
}

func orDefault[T int | time.Duration](value, standard T) T {
	if value <= 0 {
		return standard
	}
	return value
}

// Record takes the rows of facts to be written. It copies them, so the caller
// may use the memory again; maps and lists in the rows are shared and must not be
// written to. It never fails, and blocks only while MaxRows rows wait. After Run
// has returned, rows are dropped.
func (w *Writer) Record(facts *inventory.Facts) {
	facts.WriteDocuments()
	w.queue.add(w.options.Cluster, facts)
}

// Migrated reports whether the schema is in place.
func (w *Writer) Migrated() bool { return w.migrated.Load() }

// Up reports whether ClickHouse did what it was asked last.
func (w *Writer) Up() bool { return w.up.Load() }

// Settled reports whether the catalog is migrated or known to be down: what a
// tracker that wants to be ready waits for.
func (w *Writer) Settled() bool { return w.settled.Load() }

// Run migrates the schema and writes what is recorded until ctx ends; then it
// writes what it can within the grace period. The error says how many rows were
// lost, if any.
func (w *Writer) Run(ctx context.Context) error {
	_ = w.persist(ctx, func(context.Context) error { return nil })
	for ctx.Err() == nil {
		b, pause := w.queue.take(w.options.BatchAge)
		if b != nil {
			w.write(ctx, b)
			continue
		}
		w.idle(ctx, pause)
	}
	return w.finish(ctx)
}

// idle waits until a batch may be ready, or asks for a sign of life if none comes.
func (w *Writer) idle(ctx context.Context, pause time.Duration) {
	ping := pause == 0
	if ping {
		pause = pingEvery
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-w.queue.arrived:
	case <-timer.C:
		if ping {
			_ = w.attempt(ctx, w.catalog.Ping)
		}
	}
}

// finish writes what is left, for as long as the grace period lasts.
func (w *Writer) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.options.Grace)
	defer cancel()
	if w.queue.writing != nil {
		w.write(ctx, w.queue.writing)
	}
	for ctx.Err() == nil {
		b, _ := w.queue.take(0)
		if b == nil {
			break
		}
		w.write(ctx, b)
	}
	if lost := w.queue.close(); lost > 0 {
		return fmt.Errorf("catalog: %d rows could not be written to ClickHouse at %s before the end, and are lost", lost, w.catalog.Address())
	}
	return nil
}

// write inserts what is left of a batch, table by table, each until ClickHouse
// has acknowledged it or ctx ends.
func (w *Writer) write(ctx context.Context, b *batch) {
	for _, t := range w.tables {
		rows := t.count(&b.facts)
		if rows == 0 {
			continue
		}
		token := fmt.Sprintf("%s-%d-%s", w.run, b.number, t.name)
		err := w.persist(ctx, func(ctx context.Context) error {
			start := time.Now()
			err := w.catalog.insert(ctx, t, b.cluster, token, &b.facts)
			w.metrics.insertDuration.Observe(time.Since(start).Seconds())
			return err
		})
		if err != nil {
			return
		}
		w.metrics.rows.WithLabelValues(t.name).Add(float64(rows))
		t.clear(&b.facts)
		w.queue.acknowledge(rows)
	}
	w.metrics.batches.Inc()
}

// persist attempts do until it succeeds, with growing pauses; its error is that
// of ctx.
func (w *Writer) persist(ctx context.Context, do func(context.Context) error) error {
	delay := wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Jitter: 0.3, Steps: 20, Cap: w.options.MaxBackoff}.DelayFunc()
	for {
		if w.attempt(ctx, do) == nil {
			return nil
		}
		timer := time.NewTimer(delay())
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// attempt does one thing with ClickHouse, after migrating the schema if that is
// still to be done, and keeps account of how it went.
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
	if ctx.Err() != nil && err != nil {
		return err // we ended it; that says nothing about ClickHouse
	}
	w.up.Store(err == nil)
	w.settled.Store(true)
	if err == nil {
		w.outage.ended()
		return nil
	}
	if hasCode(err, codeUnknownDatabase, codeUnknownTable) {
		// The database was dropped, or another one answers there now.
		w.migrated.Store(false)
	}
	w.metrics.failures.Inc()
	rows, _ := w.queue.rows()
	w.outage.failed(err, rows)
	return err
}

// outage logs the first of a row of failures, then one a minute, and the end.
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
	if IsReason(err, Refused) && !hasCode(err, codeUnknownDatabase) {
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
