// Package app is the tracker as a whole: it connects its parts, starts them, restores the state of
// an earlier run, and stops them in order.
//
// The collector watches the API server and passes each update to the exporter, which serves the
// metrics, and to the recorder, which commits rows and state to the journal. The writer copies the
// rows from the journal to ClickHouse. With --leader-election it does so only while it has the
// lease.
//
// New returns an error for a part that cannot work (an API server, a port, a directory, a login)
// before anything runs. Once the tracker runs, it waits for a part that becomes unavailable.
package app

import (
	"context"
	"errors"
	"net"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/version"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector"
	"github.com/kubevoltracker/kubevoltracker/collector/election"
	"github.com/kubevoltracker/kubevoltracker/exporter"
)

// App is a tracker whose parts are open, and which does not run yet. Call Run or Close.
type App struct {
	logger    log.Logger
	listeners []net.Listener
	server    *exporter.Server
	collector *collector.Collector
	history   *history
}

// New connects to the API server, opens the ports, the journal and the catalog, and restores the
// state of an earlier run. An unreachable ClickHouse is no error, nor is a missing right: the tracker waits for them. The
// error is one line that names the mistake and its flag; it is a UsageError if only the user can
// correct it, and ctx's error if ctx ends first.
func New(ctx context.Context, o Options) (_ *App, err error) {
	registry := prometheus.NewRegistry()
	client, err := collector.NewClient(o.Client)
	if errors.Is(err, collector.ErrNotConfigured) {
		return nil, UsageError{err}
	}
	if err != nil {
		return nil, err
	}
	kubelets, err := openKubelets(client, o.Kubelets, log.With(o.Logger, "component", "collector"))
	if err != nil {
		return nil, err
	}
	o.Cluster, err = client.Connect(ctx, o.Cluster, log.With(o.Logger, "component", "collector"))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if err := o.Election.check(ctx, client, o.Catalog.URL, log.With(o.Logger, "component", "election")); err != nil {
		return nil, err
	}
	if err := o.Web.Check(); err != nil {
		return nil, UsageError{err}
	}
	a := &App{logger: o.Logger, history: &history{cluster: o.Cluster, logger: log.With(o.Logger, "component", "catalog"), policy: o.Policy}}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if a.listeners, err = exporter.Listen(ctx, o.Web.ListenAddresses); err != nil {
		return nil, err
	}
	if err := a.history.open(ctx, o, client, registry); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	o.Metrics.Registry, o.Metrics.Logger = registry, log.With(o.Logger, "component", "exporter")
	o.Metrics.NoStorageCapacity, o.Metrics.NoAttachments = !o.Features.StorageCapacity, !o.Features.Attachments
	metrics := exporter.New(o.Metrics)
	if a.history.writer != nil {
		election.Register(registry, a.history.election)
	}
	a.collector = collector.New(collector.Options{
		Client: client, Policy: o.Policy, Features: o.Features, Kubelets: kubelets, Exporter: metrics, Recorder: a.history.recorder,
		Renderer: rendererOf(o.Metrics.StateMetrics),
		Snapshot: a.history.takeSnapshot(), VersionFloor: a.history.versionFloor,
		Logger: log.With(o.Logger, "component", "collector"), Registerer: registry,
	})
	metrics.Restore(a.history.tally, a.collector.CaughtUp)
	o.Web.Metrics, o.Web.Logger = metrics.Handler(), log.With(o.Logger, "component", "web")
	o.Web.Live = []exporter.Check{{Name: "collector", Check: a.collector.Alive}}
	o.Web.Ready = []exporter.Check{
		{Name: "lists", Check: a.collector.Synced},
		{Name: "rights", Check: a.collector.Allowed, Note: a.collector.MissingRights},
		{Name: "catalog", Check: a.history.ready, Note: a.history.waitsFor},
		{Name: "kube-state-metrics", Check: metrics.StateMetricsReady},
	}
	exporter.RegisterReady(registry, o.Web.Ready)
	if a.server, err = exporter.NewServer(o.Web); err != nil {
		return nil, UsageError{err}
	}
	level.Info(o.Logger).Log("msg", "tracking", "version", version.Info(), "server", client.Host(), "cluster", o.Cluster,
		"instance", a.history.journal.ID())
	for _, l := range a.listeners {
		level.Info(o.Logger).Log("msg", "serving", "address", l.Addr())
	}
	return a, nil
}

// Run tracks until ctx ends or a part fails, stops all parts in order, and closes the App. The
// error says why parts failed, and why they could not be stopped or closed in order; it is nil
// after an orderly end.
func (a *App) Run(ctx context.Context) error {
	err := runStages(ctx, a.stages())
	if errors.Is(err, journal.ErrCorrupt) {
		err = errors.Join(err, a.history.journal.Reset()) // for the next start
	}
	err = errors.Join(err, a.Close())
	level.Info(a.logger).Log("msg", "stopped")
	return err
}

// stages returns the parts in the order in which they stop. The watches stop first. The recorder
// then commits the last updates; while the journal is full the collector waits for the recorder,
// and cannot stop before. The writer then writes as many rows of the journal as it can. The lease
// is released last.
func (a *App) stages() []stage {
	h := a.history
	watching := stage{
		{"web server", func(ctx context.Context) error { return a.server.Serve(ctx, a.listeners) }},
		{"collector", a.collector.Run},
		{"memory", memory{
			started: func() bool {
				return a.collector.Synced() == nil && (len(h.journal.Positions()) > 0 || !h.recorder.Pending())
			},
			rest:    func() uint64 { return max(h.recorder.LiveHeap(), perObject*a.collector.Listed()) },
			resting: func() bool { return h.journal.Stats().Rows < fewRows },
			note:    h.recorder.SetLiveHeap,
		}.run},
	}
	if h.incomplete {
		watching = append(watching, part{"restore", func(ctx context.Context) error { return h.restoreLater(ctx, a.collector) }})
	}
	if h.retention != nil {
		watching = append(watching, part{"retention", h.upkeep("the retention cannot be applied; retrying", retainEvery, h.retain)})
	}
	if h.writer != nil {
		watching = append(watching, part{"rollup", h.upkeep("days that are over cannot be summed up; retrying", rollUpEvery, h.rollUp)})
	}
	stages := []stage{watching, {{"recorder", h.recorder.Run}}}
	if h.writer != nil {
		stages = append(stages, stage{{"writer", h.writer.Run}})
	}
	if h.election != nil {
		stages = append(stages, stage{{"leader election", h.election.Run}})
	}
	return stages
}

// Close releases what New has opened. Run calls it.
func (a *App) Close() error {
	for _, l := range a.listeners {
		_ = l.Close() // the server has closed the listeners on which it served
	}
	return a.history.close()
}
