package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/engine"
	"github.com/kubevoltracker/kubevoltracker/catalog/ingest"
	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector"
	"github.com/kubevoltracker/kubevoltracker/collector/election"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
	"github.com/kubevoltracker/kubevoltracker/collector/redact"
	"github.com/kubevoltracker/kubevoltracker/exporter"
)

// history is the data that outlives a run: the journal, and the catalog with its writer. The
// embedded catalog has an engine, and --leader-election an election. Without a catalog, the fields
// catalog, writer, engine, election and retention are nil.
type history struct {
	cluster      string
	logger       log.Logger
	policy       redact.Policy // what is kept of the objects and rows that an older tracker has saved
	journal      *journal.Journal
	recorder     *ingest.Recorder
	tally        *exporter.Tally // of the rows in the journal
	catalog      *catalog.Catalog
	passwordFile bool // the password is in a file, and may change
	writer       *ingest.Writer
	engine       *engine.Engine
	election     *election.Election
	retention    catalog.Retention // nil without --catalog.retention

	snapshot   *fact.Snapshot // of the run before; nil if there is none, or it cannot be read yet
	incomplete bool           // the catalog has objects that snapshot lacks, and could not be read yet
}

// open opens the journal and the catalog, and restores the snapshot of the run before: the
// journal's, or the catalog's if the journal is new. An unreachable ClickHouse is no error; one
// that refuses the login is.
func (h *history) open(ctx context.Context, o Options, client *collector.Client, registry *prometheus.Registry) (err error) {
	var said delayedLog
	if err := prepareDataDir(o.DataDir, &said); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			said.flush(h.logger)
		}
	}()
	if err := h.openBoth(ctx, o); err != nil {
		return err
	}
	h.tally = exporter.NewTally(time.Now)
	if h.snapshot != nil {
		if err := h.tally.Restore(h.snapshot.Counters); err != nil {
			level.Warn(h.logger).Log("msg", "some counters begin anew", "err", err)
		}
	}
	h.recorder, err = ingest.NewRecorder(ingest.RecorderOptions{
		Journal: h.journal, Cluster: h.cluster, WithoutFacts: h.catalog == nil, Tally: h.tally, Registerer: registry, Logger: h.logger,
	})
	if err != nil || h.catalog == nil {
		return err
	}
	ingest.RegisterSandbox(registry, h.catalog.Sandboxed)
	h.newWriter(o, client, registry)
	h.retention = o.Retention
	if err := h.restoreFromCatalog(ctx); err != nil {
		return err
	}
	if h.incomplete != h.recorder.Incomplete() {
		h.recorder.SetIncomplete(h.incomplete)
	}
	return nil
}

// openBoth opens the catalog while it opens the journal: with a long history and many objects, each takes a second.
//
// An error of the journal cancels the start of the engine and is the one returned: a second tracker on one data directory
// finds both in use, and only the journal's error names the cure. The engine would wait 20 s for its directory.
//
// An engine that fails to start does not undo what openJournal has done. A damaged journal is set aside by the first start
// only: the next ones find the new journal, without positions, and clear it.
func (h *history) openBoth(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opened := make(chan error, 1)
	go func() { opened <- h.openCatalog(ctx, o) }()
	err := h.openJournal(ctx, o)
	if err != nil {
		cancel()
	}
	return cmp.Or(err, <-opened)
}

func (h *history) openCatalog(ctx context.Context, o Options) (err error) {
	switch o.Catalog.URL {
	case NoCatalog:
		return nil
	case EmbeddedCatalog:
		o.Engine.DataDir, o.Engine.Logger = filepath.Join(o.DataDir, engineDir), o.Logger
		if h.engine, err = startEngine(ctx, o.Engine); err != nil {
			return err
		}
		o.Catalog.URL = h.engine.URL() + "/" + catalog.DefaultDatabase
		o.Catalog.Username, o.Catalog.Password, o.Catalog.PasswordFile = engine.User, h.engine.Password(), ""
	}
	h.passwordFile = o.Catalog.PasswordFile != ""
	if h.catalog, err = catalog.Open(o.Catalog); err != nil {
		return UsageError{err}
	}
	return nil
}

// openJournal opens the journal and restores its snapshot; a new journal has none. A journal that
// turns out to be damaged is set aside, and one without positions is cleared.
func (h *history) openJournal(ctx context.Context, o Options) (err error) {
	options := journal.Options{
		Path: filepath.Join(o.DataDir, journalDir), MaxBytes: o.JournalBytes, MaxVersion: ingest.VersionCeiling(time.Now()),
		UndoMeta: ingest.UndoMeta(), Logger: h.logger,
	}
	if h.journal, err = journal.Open(ctx, options); err != nil {
		return err
	}
	h.snapshot, err = ingest.RestoreJournal(h.journal)
	resumed := h.journal.Origin() == journal.Resumed || h.journal.Origin() == journal.Rewound
	switch {
	case errors.Is(err, journal.ErrCorrupt):
		return h.journal.Reset()
	case err == nil && h.snapshot == nil && resumed:
		// The start that made this journal ended before all of the first lists were in it. This start lists the objects
		// again, and nobody would ever learn that some of those in the journal are gone.
		level.Info(h.logger).Log("msg", "the last start ended before the first lists were in the journal; beginning a new journal")
		return h.journal.Clear()
	}
	return err
}

// newWriter creates the writer, and the election if there is one.
func (h *history) newWriter(o Options, client *collector.Client, registry *prometheus.Registry) {
	writing := ingest.WriterOptions{
		Journal: h.journal, Dir: o.DataDir, Cluster: h.cluster, Registerer: registry, Logger: h.logger,
		Document: h.document, Redact: h.policy.Rows, CurrentVersion: client.CurrentVersion,
		MayRepeat: h.snapshot == nil || h.recorder.TakingOver() || h.journal.Origin() == journal.Rewound,
	}
	if writing.MayRepeat {
		h.recorder.SetTakingOver(true)
		writing.AfterTakeover = func() { h.recorder.SetTakingOver(false) }
	}
	if o.Election.Enabled {
		h.election = election.New(o.Election.options(client, h.journal.ID(), log.With(o.Logger, "component", "election")))
		writing.Lease = h.election
	}
	h.writer = ingest.NewWriter(h.catalog, writing)
}

// restoreFromCatalog migrates the catalog and, if the journal had no snapshot, restores the
// catalog's. If the catalog is unreachable now, restoreLater does so.
func (h *history) restoreFromCatalog(ctx context.Context) error {
	migrateCtx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	switch err := h.migrate(migrateCtx); {
	case catalog.IsFatal(err):
		return err
	case err != nil:
		level.Warn(h.logger).Log("msg", "the catalog cannot be reached yet; the tracker starts without it", "err", err)
		h.incomplete = h.snapshot == nil || h.recorder.Incomplete()
		return nil
	case h.snapshot != nil:
		h.incomplete = h.recorder.Incomplete()
		return nil
	}
	snapshot, err := h.readCatalog(ctx)
	switch {
	case err != nil:
		level.Warn(h.logger).Log("msg", "the snapshot in the catalog cannot be read yet", "err", err)
		h.incomplete = true
		return nil
	case snapshot == nil:
		return nil
	}
	h.snapshot = snapshot
	return h.recorder.Save(ctx, snapshot)
}

// refusedFor is how long a start accepts that ClickHouse refuses a password from a file: another program may be
// writing the file, or ClickHouse may not have read it yet.
const refusedFor = 10 * time.Second

// migrate migrates the catalog. If the password in a file is refused, migrate tries again, with what the file has then.
func (h *history) migrate(ctx context.Context) (err error) {
	_ = wait.PollUntilContextTimeout(ctx, time.Second, refusedFor, true, func(context.Context) (bool, error) {
		err = h.catalog.Migrate(ctx)
		return !h.passwordFile || !catalog.IsReason(err, catalog.RefusedLogin), nil
	})
	return err
}

// readCatalog reads the snapshot in the catalog, without what this tracker does not keep.
func (h *history) readCatalog(ctx context.Context) (*fact.Snapshot, error) {
	snapshot, err := ingest.RestoreCatalog(ctx, h.catalog, h.cluster, h.journal.ID())
	if err != nil || snapshot == nil {
		return nil, err
	}
	objects := fact.SavedList{}
	err = snapshot.Saved().Each(func(o *fact.SavedObject) error {
		object, err := h.decode(o.Kind, o.Object, nil)
		if err != nil {
			level.Warn(h.logger).Log("msg", "an object in the catalog cannot be read, and is left out until it changes", "err", err)
			return nil
		}
		o.Object, o.Wire = "", inventory.Wire(object)
		objects = append(objects, *o)
		return nil
	})
	snapshot.Objects = objects
	return snapshot, err
}

// document returns an object of the journal as JSON.
func (h *history) document(kind fact.Kind, wire []byte) (string, error) {
	object, err := h.decode(kind, "", wire)
	if err != nil {
		return "", err
	}
	return inventory.JSON(object), nil
}

// decode decodes a saved object, and reduces it to the fields that this tracker keeps.
func (h *history) decode(kind fact.Kind, text string, wire []byte) (metav1.Object, error) {
	object, err := inventory.Decode(kind, text, wire)
	if err == nil {
		h.policy.Object(kind, object)
	}
	return object, err
}

// takeSnapshot returns the snapshot and forgets it, so that the collector can free it once it is
// restored.
func (h *history) takeSnapshot() *fact.Snapshot {
	snapshot := h.snapshot
	h.snapshot = nil
	return snapshot
}

// restoreLater restores the catalog's snapshot as soon as the catalog is reachable and has all rows
// of the journal. Resumed watches come first: they say more exactly what became of an object that the journal lacks.
func (h *history) restoreLater(ctx context.Context, tracker *collector.Collector) error {
	const (
		every   = time.Second
		nearly  = 10_000          // so few rows are soon in the catalog
		longest = 5 * time.Second // an attempt lets events wait for so long at most
	)
	pause := wait.Backoff{Duration: every, Factor: 2, Steps: math.MaxInt, Cap: 5 * time.Minute} // after an attempt
	next := every
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(next):
		}
		next = every
		if !tracker.CaughtUp() || !h.writer.Up() || h.journal.Stats().Rows > nearly {
			continue
		}
		err := tracker.Reconcile(func() (*fact.Snapshot, error) {
			// No new rows of this tracker can come meanwhile, but others write theirs. On a busy cluster there is hardly a moment without any.
			written := func(context.Context) (bool, error) {
				if !h.writer.Up() {
					return false, errNotYet
				}
				return !h.recorder.Pending() && h.journal.Stats().Rows == 0, nil
			}
			if err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, longest, true, written); err != nil {
				return nil, errNotYet
			}
			return ingest.RestoreCatalog(ctx, h.catalog, h.cluster, h.journal.ID())
		})
		switch {
		case err == nil:
			h.recorder.SetIncomplete(false)
			level.Info(h.logger).Log("msg", "restored the snapshot in the catalog")
			return nil
		case ctx.Err() == nil:
			next = pause.Step()
			level.Warn(h.logger).Log("msg", "the snapshot in the catalog cannot be read yet", "err", err, "again_in", next)
		}
	}
}

var errNotYet = errors.New("rows are on their way to the catalog")

// startEngine starts the embedded ClickHouse. The end of ctx cancels the start, but does not stop a
// started engine, because the writer needs it for its last rows.
func startEngine(ctx context.Context, o engine.Options) (*engine.Engine, error) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, cancel)()
	e, err := engine.Start(running, o)
	if exit := (*engine.ExitError)(nil); errors.As(err, &exit) {
		// The engine's errors name its own flags; the user knows the tracker's flags.
		ours := strings.NewReplacer("--listen-address", "--catalog.embedded-listen-address", "--library", "--catalog.embedded-library",
			"--reader-password-file", "--catalog.reader-password-file")
		return nil, errors.New(ours.Replace(exit.Line))
	}
	return e, err
}

// versionFloor returns the row version that all new rows must exceed.
func (h *history) versionFloor() uint64 {
	if h.writer == nil {
		return 0
	}
	return h.writer.VersionFloor()
}

// ready is a readiness check: it returns nil once the catalog is migrated, or known to be down.
func (h *history) ready() error {
	if h.writer != nil && !h.writer.Ready() {
		return errors.New("the catalog is being migrated")
	}
	return nil
}

// waitsFor returns why rows wait in the journal; empty if ClickHouse takes them.
func (h *history) waitsFor() string {
	if h.writer == nil {
		return ""
	}
	if trouble := h.writer.Trouble(); trouble != "" {
		return "rows wait in the journal: " + trouble
	}
	return ""
}

// close closes the catalog, its engine, and the journal, which keeps the rows that the catalog has
// not acknowledged.
func (h *history) close() error {
	if h.catalog != nil {
		_ = h.catalog.Close() // a lost answer does no harm: its rows are in the journal
	}
	if h.engine != nil {
		h.engine.Stop()
	}
	if h.journal == nil {
		return nil
	}
	if err := h.journal.Close(); err != nil {
		return fmt.Errorf("closing the journal: %w", err)
	}
	return nil
}
