package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/alecthomas/units"
	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/version"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/engine"
	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector"
	"github.com/kubevoltracker/kubevoltracker/collector/election"
	"github.com/kubevoltracker/kubevoltracker/exporter"
)

// The catalogs of run that are no ClickHouse server.
const (
	embeddedCatalog = "embedded:"
	noCatalog       = "none"
)

// stopGrace is how long the collector may take to end, once told to; with the
// writer's own grace period that is well within the 30 s that a pod has.
const stopGrace = 5 * time.Second

type runFlags struct {
	kubeconfig, context string
	cluster             string
	dataDir             string
	journalBytes        units.Base2Bytes
	web                 exporter.ServerOptions
	metrics             *exporter.Options
	election            electionFlags
	kubelets            kubeletFlags
	catalog             *catalogFlags
	engine              engine.Options
	log                 *logFlags
}

func addRun(app *kingpin.Application, commands map[string]command, stderr io.Writer) {
	cmd := app.Command("run", "Watch the cluster, serve metrics, write the catalog.")
	f := &runFlags{}
	cmd.Flag("kube.kubeconfig", "Kubeconfig file; default: $KUBECONFIG, ~/.kube/config, or in a cluster the service account.").StringVar(&f.kubeconfig)
	cmd.Flag("kube.context", "Context of the kubeconfig; default: its current one.").StringVar(&f.context)
	cmd.Flag("cluster.name", "Name of the cluster in the catalog; default: the UID of its namespace kube-system.").StringVar(&f.cluster)
	cmd.Flag("data-dir", "Directory for what the tracker keeps on disk.").Default("data").StringVar(&f.dataDir)
	cmd.Flag("journal.max-bytes", "How much may wait in the journal for ClickHouse; then the watch waits.").Default("4GiB").BytesVar(&f.journalBytes)
	cmd.Flag("web.listen-address", "Address to serve on; repeatable.").Default(":9790").StringsVar(&f.web.ListenAddresses)
	cmd.Flag("web.config.file", "File with TLS and authentication, in the format of Prometheus' exporter-toolkit.").StringVar(&f.web.WebConfigFile)
	cmd.Flag("web.telemetry-path", "Path of the metrics.").Default("/metrics").StringVar(&f.web.TelemetryPath)
	cmd.Flag("web.enable-pprof", "Serve Go's profiles of the tracker under /debug/pprof/.").BoolVar(&f.web.Pprof)
	f.metrics = addMetricsFlags(cmd)
	f.kubelets.add(cmd)
	f.catalog = addCatalogFlags(cmd, embeddedCatalog, "; "+embeddedCatalog+" for a ClickHouse of the tracker's own, "+noCatalog+" for metrics alone")
	cmd.Flag("catalog.embedded-listen-address", "Where the embedded ClickHouse serves its HTTP interface; on loopback.").Default("127.0.0.1:8123").StringVar(&f.engine.ListenAddress)
	cmd.Flag("catalog.embedded-binary", "The program kubevoltracker-clickhouse; default: beside the tracker, or on PATH.").StringVar(&f.engine.Binary)
	cmd.Flag("catalog.embedded-library", "ClickHouse itself, libchdb.so; default: found by kubevoltracker-clickhouse.").StringVar(&f.engine.Library)
	f.election.add(cmd)
	f.log = addLogFlags(cmd)
	commands[cmd.FullCommand()] = func() error { return track(f, stderr) }
}

// track runs the tracker until it is told to stop. What cannot be had at the
// start (the API server, a port, the data directory, a login) is an error; what
// goes away later is waited for.
func track(f *runFlags, stderr io.Writer) error {
	spare(startMemory)
	// The first signal stops the tracker in order, a second one at once.
	ctx, stopSignals := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stopSignals)

	logger := f.log.logger(stderr)
	takeOverKlog(logger)
	registry := prometheus.NewRegistry()

	// First all that can be refused, so that a mistake is one line and nothing is
	// left half started: the API server, the ports, the catalog.
	client, err := collector.NewClient(collector.ClientOptions{
		Kubeconfig: f.kubeconfig, Context: f.context, UserAgent: "kubevoltracker/" + version.Version,
	})
	if err != nil {
		return err
	}
	kubelets, err := f.kubelets.open(client)
	if err != nil {
		return err
	}
	uid, err := client.Connect(ctx, log.With(logger, "component", "collector"))
	if ctx.Err() != nil {
		return nil // stopped while it waited
	}
	if err != nil && (f.cluster == "" || !apierrors.IsForbidden(err)) {
		return err
	}
	if err := f.election.check(ctx, client, f.catalog.url); err != nil {
		return err
	}
	cluster := cmp.Or(f.cluster, uid)
	f.metrics.Registry, f.metrics.Logger = registry, log.With(logger, "component", "exporter")
	metrics := exporter.New(*f.metrics)
	var tracker *collector.Collector
	history := &history{raise: func(version uint64) { tracker.Raise(version) }}
	f.web.Metrics = metrics.Handler()
	f.web.Logger = log.With(logger, "component", "web")
	f.web.Live = []exporter.Check{{Name: "collector", Check: func() error { return tracker.Alive() }}}
	f.web.Ready = []exporter.Check{{Name: "lists", Check: func() error { return tracker.Synced() }}, {Name: "catalog", Check: history.settled}}
	server, err := exporter.NewServer(f.web)
	if err != nil {
		return usageError{err}
	}
	listeners, err := server.Listen(ctx)
	if err != nil {
		return err
	}
	defer history.close()
	resume, err := history.open(ctx, f, client, cluster, logger, registry)
	if err != nil {
		return err
	}
	registerLeader(registry, history.election)
	tracker = collector.New(collector.Options{
		Client: client, Kubelets: kubelets, Sinks: []collector.Sink{metrics, history.recorder}, Resume: resume,
		Logger: log.With(logger, "component", "collector"), Registerer: registry,
	})
	metrics.Resume(history.tally, tracker.CaughtUp)
	level.Info(logger).Log("msg", "tracking", "version", version.Info(), "server", client.Host(), "cluster", cluster)
	for _, l := range listeners {
		level.Info(logger).Log("msg", "serving", "address", l.Addr())
	}

	// All stop when one of them fails or a signal comes: first the watches, then the
	// journal, which takes the last of what they told, and then the writer, which has a
	// grace period for what the journal holds. Last of all the lease is given back.
	group, groupCtx := errgroup.WithContext(ctx)
	recorderCtx, stopRecorder := context.WithCancel(context.Background())
	writerCtx, stopWriter := context.WithCancel(context.Background())
	electionCtx, stopElection := context.WithCancel(context.Background())
	group.Go(func() error { return server.Serve(groupCtx, listeners) })
	group.Go(func() error {
		defer stopRecorder()
		tracker.Run(groupCtx)
		return nil
	})
	// While the journal is full the collector waits for room in it, and does not see the
	// end: then the recorder's end lets go of it.
	defer context.AfterFunc(groupCtx, func() { time.AfterFunc(stopGrace, stopRecorder) })()
	group.Go(func() error {
		defer stopWriter()
		return history.recorder.Run(recorderCtx)
	})
	group.Go(func() error {
		defer stopElection()
		return history.write(writerCtx)
	})
	group.Go(func() error {
		return sparing(groupCtx, func() bool { return tracker.Synced() == nil && !history.recorder.Pending() })
	})
	if history.election != nil {
		group.Go(func() error { return history.election.Run(electionCtx) })
	}
	if history.unread {
		group.Go(func() error { return history.readBack(groupCtx, tracker) })
	}
	err = group.Wait()
	level.Info(logger).Log("msg", "stopped")
	return err
}

// history is what outlives a run: the journal, and the catalog, with its writer, and for
// the embedded one its engine. Without a catalog those are nil.
type history struct {
	cluster  string
	logger   log.Logger
	journal  *journal.Journal
	recorder *catalog.Recorder
	tally    *exporter.Tally // of what is in the journal
	catalog  *catalog.Catalog
	writer   *catalog.Writer
	engine   *engine.Engine
	election *election.Election // nil without --leader-election
	raise    func(version uint64)
	unread   bool // what the catalog holds open could not be read back yet
}

// open makes the journal and the catalog ready as far as they can be, and returns where
// the last run ended. A ClickHouse that is away is no error: it is waited for. One that
// refuses us is.
func (h *history) open(ctx context.Context, f *runFlags, client *collector.Client, cluster string, logger log.Logger, registry *prometheus.Registry) (*collector.Resume, error) {
	h.cluster, h.logger = cluster, log.With(logger, "component", "catalog")
	if err := h.openCatalog(ctx, f, logger); err != nil {
		return nil, err
	}
	recalled, err := h.openJournal(f)
	if err != nil {
		return nil, err
	}
	h.tally = exporter.NewTally(time.Now)
	if recalled != nil {
		if err := h.tally.Restore(recalled.Tally); err != nil {
			level.Warn(logger).Log("msg", "some counters begin anew", "err", err)
		}
	}
	h.recorder, err = catalog.NewRecorder(catalog.RecorderOptions{
		Journal: h.journal, Cluster: cluster, WithoutFacts: h.catalog == nil, Tally: h.tally, Registerer: registry, Logger: h.logger,
	})
	if err != nil || h.catalog == nil {
		return resumeOf(recalled), err
	}
	writing := catalog.WriterOptions{
		Journal: h.journal, Dir: f.dataDir, Cluster: cluster, TakesOver: recalled == nil || h.recorder.TakingOver(), Raise: h.raise, Registerer: registry, Logger: h.logger,
	}
	if writing.TakesOver {
		h.recorder.SetTakingOver(true)
		writing.TookOver = func() { h.recorder.SetTakingOver(false) }
	}
	if f.election.on {
		h.election = election.New(f.election.options(client, h.journal.ID(), log.With(logger, "component", "election")))
		writing.Lease = h.election
	}
	h.writer = catalog.NewWriter(h.catalog, writing)
	migrateCtx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	switch err := h.catalog.Migrate(migrateCtx); {
	case catalog.IsFatal(err):
		return nil, err
	case err != nil:
		level.Warn(logger).Log("msg", "the catalog is not there yet, going on without it until it is", "err", err)
		h.unread = recalled == nil || h.recorder.Unread()
	case recalled != nil:
		h.unread = h.recorder.Unread()
	default:
		if recalled, err = h.catalog.Recall(ctx, cluster, h.journal.ID()); err != nil {
			level.Warn(logger).Log("msg", "what the catalog holds open cannot be read back yet", "err", err)
			h.unread = true
		} else if recalled != nil {
			if err := h.recorder.Adopt(ctx, recalled); err != nil {
				return nil, err
			}
		}
	}
	if h.unread != h.recorder.Unread() {
		h.recorder.SetUnread(h.unread)
	}
	return resumeOf(recalled), nil
}

func (h *history) openCatalog(ctx context.Context, f *runFlags, logger log.Logger) (err error) {
	switch f.catalog.url {
	case noCatalog:
		return nil
	case embeddedCatalog:
		f.engine.DataDir = filepath.Join(f.dataDir, "clickhouse")
		f.engine.Logger = logger
		if h.engine, err = startEngine(ctx, f.engine); err != nil {
			return err
		}
		f.catalog.url = h.engine.URL() + "/" + catalog.DefaultDatabase
	}
	h.catalog, err = f.catalog.open()
	return err
}

// openJournal opens the journal and reads what it knows; nothing if it is new. One that
// turns out to be damaged is set aside.
func (h *history) openJournal(f *runFlags) (recalled *catalog.Recalled, err error) {
	if err := os.MkdirAll(f.dataDir, 0o750); err != nil {
		return nil, fmt.Errorf("--data-dir: %w", err)
	}
	h.journal, err = journal.Open(journal.Options{
		Path: filepath.Join(f.dataDir, "journal.db"), MaxBytes: int64(f.journalBytes), Logger: h.logger,
	})
	if err != nil {
		return nil, err
	}
	if recalled, err = catalog.RecallJournal(h.journal); errors.Is(err, journal.ErrCorrupt) {
		err = h.journal.Reset()
	}
	return recalled, err
}

func resumeOf(r *catalog.Recalled) *collector.Resume {
	if r == nil {
		return nil
	}
	return &collector.Resume{Objects: r.Objects, Version: r.Version, Positions: r.Positions, Watched: r.Watched}
}

// readBack completes what is known by what the catalog holds open, as soon as that can
// be read: when all that this run has written is in it.
func (h *history) readBack(ctx context.Context, tracker *collector.Collector) error {
	const every = time.Second
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
		if tracker.Synced() != nil || !h.writer.Up() || h.journal.Stats().Rows > 0 {
			continue
		}
		err := tracker.Reconcile(func() (*collector.Resume, error) {
			if h.recorder.Pending() || h.journal.Stats().Rows > 0 {
				return nil, errNotYet
			}
			recalled, err := h.catalog.Recall(ctx, h.cluster, h.journal.ID())
			return resumeOf(recalled), err
		})
		switch {
		case err == nil:
			h.recorder.SetUnread(false)
			level.Info(h.logger).Log("msg", "what the catalog held open has been read back")
			return nil
		case !errors.Is(err, errNotYet) && ctx.Err() == nil:
			level.Warn(h.logger).Log("msg", "what the catalog holds open cannot be read back yet", "err", err)
		}
	}
}

var errNotYet = errors.New("rows are on their way to the catalog")

// startEngine starts the embedded ClickHouse. The context ends the start, but
// not what was started: the writer's last rows still need it.
func startEngine(ctx context.Context, o engine.Options) (*engine.Engine, error) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, cancel)()
	e, err := engine.Start(running, o)
	if exit := (*engine.ExitError)(nil); errors.As(err, &exit) {
		// The engine speaks of its own flags; the user has ours.
		ours := strings.NewReplacer("--listen-address", "--catalog.embedded-listen-address", "--library", "--catalog.embedded-library")
		return nil, errors.New(ours.Replace(exit.Line))
	}
	return e, err
}

func (h *history) write(ctx context.Context) error {
	if h.writer == nil {
		<-ctx.Done()
		return nil
	}
	return h.writer.Run(ctx)
}

// settled is a check of readiness: the catalog is migrated, or known to be down.
func (h *history) settled() error {
	if h.writer != nil && !h.writer.Settled() {
		return errors.New("the catalog is being migrated")
	}
	return nil
}

func (h *history) close() {
	if h.catalog != nil {
		_ = h.catalog.Close() // what it has not taken stays in the journal
	}
	if h.engine != nil {
		h.engine.Stop()
	}
	if h.journal != nil {
		if err := h.journal.Close(); err != nil {
			level.Error(h.logger).Log("msg", "the journal could not be closed in order", "err", err)
		}
	}
}
