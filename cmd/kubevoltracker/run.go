package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/version"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/engine"
	"github.com/kubevoltracker/kubevoltracker/collector"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
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
	web                 exporter.ServerOptions
	perVolume           bool
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
	cmd.Flag("web.listen-address", "Address to serve on; repeatable.").Default(":9790").StringsVar(&f.web.ListenAddresses)
	cmd.Flag("web.config.file", "File with TLS and authentication, in the format of Prometheus' exporter-toolkit.").StringVar(&f.web.WebConfigFile)
	cmd.Flag("web.telemetry-path", "Path of the metrics.").Default("/metrics").StringVar(&f.web.TelemetryPath)
	cmd.Flag("metrics.per-volume", "Serve the metrics that have a series for each volume.").Default("true").BoolVar(&f.perVolume)
	f.catalog = addCatalogFlags(cmd, embeddedCatalog, "; "+embeddedCatalog+" for a ClickHouse of the tracker's own, "+noCatalog+" for metrics alone")
	cmd.Flag("catalog.embedded-listen-address", "Where the embedded ClickHouse serves its HTTP interface; on loopback.").Default("127.0.0.1:8123").StringVar(&f.engine.ListenAddress)
	cmd.Flag("catalog.embedded-binary", "The program kubevoltracker-clickhouse; default: beside the tracker, or on PATH.").StringVar(&f.engine.Binary)
	cmd.Flag("catalog.embedded-library", "ClickHouse itself, libchdb.so; default: found by kubevoltracker-clickhouse.").StringVar(&f.engine.Library)
	f.log = addLogFlags(cmd)
	commands[cmd.FullCommand()] = func() error { return track(f, stderr) }
}

// track runs the tracker until it is told to stop. What cannot be had at the
// start (the API server, a port, the data directory, a login) is an error; what
// goes away later is waited for.
func track(f *runFlags, stderr io.Writer) error {
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
	uid, err := client.Connect(ctx)
	if err != nil && (f.cluster == "" || !apierrors.IsForbidden(err)) {
		return err
	}
	cluster := cmp.Or(f.cluster, uid)
	metrics := exporter.New(exporter.Options{Registry: registry, PerVolume: f.perVolume, Logger: logger})
	history := &history{}
	var tracker *collector.Collector
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
	if err := history.open(ctx, f, cluster, logger, registry); err != nil {
		return err
	}
	sinks := []collector.Sink{metrics}
	if history.writer != nil {
		sinks = append(sinks, history)
	}
	tracker = collector.New(collector.Options{
		Client: client, Sinks: sinks, Logger: log.With(logger, "component", "collector"), Registerer: registry,
	})
	level.Info(logger).Log("msg", "tracking", "version", version.Info(), "server", client.Host(), "cluster", cluster)
	for _, l := range listeners {
		level.Info(logger).Log("msg", "serving", "address", l.Addr())
	}

	// All stop when one of them fails or a signal comes; the writer stops last,
	// when nothing more comes in, and takes a grace period for what it holds.
	group, groupCtx := errgroup.WithContext(ctx)
	writerCtx, stopWriter := context.WithCancel(context.Background())
	group.Go(func() error { return server.Serve(groupCtx, listeners) })
	group.Go(func() error {
		defer stopWriter()
		tracker.Run(groupCtx)
		return nil
	})
	// In a long outage the collector waits for room in the writer and does not see
	// the end: then the writer's end lets go of it.
	defer context.AfterFunc(groupCtx, func() { time.AfterFunc(stopGrace, stopWriter) })()
	group.Go(func() error { return history.run(writerCtx) })
	err = group.Wait()
	level.Info(logger).Log("msg", "stopped")
	return err
}

// history is the catalog as run uses it: a writer, and for the embedded one its
// engine. Without a catalog it is empty.
type history struct {
	catalog *catalog.Catalog
	writer  *catalog.Writer
	engine  *engine.Engine
}

// open makes the catalog ready as far as it can be. A ClickHouse that is away is
// no error: it is waited for. One that refuses us is.
func (h *history) open(ctx context.Context, f *runFlags, cluster string, logger log.Logger, registry *prometheus.Registry) (err error) {
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
	if h.catalog, err = f.catalog.open(); err != nil {
		return err
	}
	migrateCtx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	switch err := h.catalog.Migrate(migrateCtx); {
	case catalog.IsFatal(err):
		return err
	case err != nil:
		level.Warn(logger).Log("msg", "the catalog is not there yet, going on without it until it is", "err", err)
	}
	h.writer = catalog.NewWriter(h.catalog, catalog.WriterOptions{
		Cluster: cluster, Registerer: registry, Logger: log.With(logger, "component", "catalog"),
	})
	return nil
}

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

// Apply hands the rows of an update to the writer.
func (h *history) Apply(u *inventory.Update) { h.writer.Record(&u.Facts) }

func (h *history) run(ctx context.Context) error {
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
		_ = h.catalog.Close() // its rows are written or reported lost by now
	}
	if h.engine != nil {
		h.engine.Stop()
	}
}
