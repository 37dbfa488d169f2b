package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/alecthomas/units"
	"github.com/prometheus/common/version"

	"github.com/kubevoltracker/kubevoltracker/cmd/kubevoltracker/app"
	"github.com/kubevoltracker/kubevoltracker/collector/redact"
	"github.com/kubevoltracker/kubevoltracker/exporter/statemetrics"
)

// runFlags are the flags of "run".
type runFlags struct {
	app.Options
	journalBytes    units.Base2Bytes
	keepAnnotations []string
	stateMetrics    statemetrics.Options
	catalog         *catalogFlags
	log             *logFlags
}

func addRun(application *kingpin.Application, commands map[string]command, stderr io.Writer) {
	cmd := application.Command("run", "Watch the cluster, serve metrics, write the catalog.")
	f := &runFlags{}
	cmd.Flag("kube.kubeconfig", "Kubeconfig file; default: $KUBECONFIG, ~/.kube/config, or in a cluster the service account.").ExistingFileVar(&f.Client.Kubeconfig)
	cmd.Flag("kube.context", "Context of the kubeconfig; default: its current one.").StringVar(&f.Client.Context)
	cmd.Flag("cluster.name", "Name of the cluster in the catalog; default: the UID of its namespace kube-system.").StringVar(&f.Cluster)
	cmd.Flag("data-dir", "Directory for what the tracker keeps on disk.").Default("data").StringVar(&f.DataDir)
	addFeatureFlags(cmd, f)
	cmd.Flag("collector.keep-annotations", "Name of an annotation to keep besides those that storage questions need; repeatable.").StringsVar(&f.keepAnnotations)
	cmd.Flag("journal.max-bytes", "How much may wait in the journal for ClickHouse; then the watch waits.").Default("4GiB").BytesVar(&f.journalBytes)
	cmd.Flag("web.listen-address", "Address to serve on; repeatable.").Default(":9790").StringsVar(&f.Web.ListenAddresses)
	cmd.Flag("web.config.file", "File with TLS and authentication, in the format of Prometheus' exporter-toolkit.").StringVar(&f.Web.WebConfigFile)
	cmd.Flag("web.telemetry-path", "Path of the metrics.").Default("/metrics").StringVar(&f.Web.TelemetryPath)
	cmd.Flag("web.enable-pprof", "Serve Go's profiles of the tracker under /debug/pprof/.").BoolVar(&f.Web.Pprof)
	addMetricsFlags(cmd, &f.Metrics)
	addStateMetricsFlags(cmd, &f.stateMetrics)
	addKubeletFlags(cmd, f)
	f.catalog = addCatalogFlags(cmd, app.EmbeddedCatalog, "; "+app.EmbeddedCatalog+" for a ClickHouse of the tracker's own, "+app.NoCatalog+" for metrics alone")
	addRetentionFlag(cmd, &f.Retention)
	cmd.Flag("catalog.embedded-listen-address", "Where the embedded ClickHouse serves its HTTP interface; a loopback address, unless --catalog.reader-password-file is set.").Default("127.0.0.1:8123").StringVar(&f.Engine.ListenAddress)
	cmd.Flag("catalog.embedded-binary", "The program kubevoltracker-clickhouse; default: beside the tracker, or on PATH.").StringVar(&f.Engine.Binary)
	cmd.Flag("catalog.reader-password-file", "File with the password that the embedded ClickHouse asks of its readers, where others share the machine; default: none.").StringVar(&f.Engine.ReaderPasswordFile)
	cmd.Flag("catalog.embedded-library", "ClickHouse itself, libchdb.so; default: found by kubevoltracker-clickhouse.").StringVar(&f.Engine.Library)
	cmd.Flag("leader-election", "Of several trackers with one catalog, let one write; the others stand by.").BoolVar(&f.Election.Enabled)
	cmd.Flag("leader-election.namespace", "Namespace of the lease; default: in a cluster the pod's own, else kubevoltracker.").StringVar(&f.Election.Namespace)
	cmd.Flag("leader-election.lease", "Name of the lease.").Default("kubevoltracker").StringVar(&f.Election.Name)
	f.log = addLogFlags(cmd)
	commands[cmd.FullCommand()] = func() error { return track(f, stderr) }
}

func addFeatureFlags(cmd *kingpin.CmdClause, f *runFlags) {
	const saved = " Off: these kinds are not asked for, and need no right. Those that an earlier run has saved stay as they were until this is on again."
	cmd.Flag("collector.owners", "Follow a pod's owners to its workload: StatefulSets, DaemonSets, Deployments, ReplicaSets, Jobs and CronJobs. Without it the workload of a new pod is its direct owner, or the Deployment that the owner's name shows."+saved).
		Default("true").BoolVar(&f.Features.Owners)
	cmd.Flag("collector.attachments", "Keep the history of VolumeAttachments."+saved+" An attachment that ends meanwhile gets its end, with bounds, only then.").
		Default("true").BoolVar(&f.Features.Attachments)
	cmd.Flag("collector.storage-capacity", "Show and sample CSIStorageCapacities."+saved+" The metric storage_capacity_bytes is absent.").
		Default("true").BoolVar(&f.Features.StorageCapacity)
}

func addKubeletFlags(cmd *kingpin.CmdClause, f *runFlags) {
	o := &f.Kubelets
	// Without a default of kingpin's: an interval that the environment gives is asked for, too.
	o.Interval, o.OnlyInCluster = 5*time.Minute, true
	cmd.Flag("kubelet.interval", "How often each kubelet is asked how full its volumes are; 0s for never; default: in a cluster 5m, outside 0s.").PlaceHolder("5m").
		SetValue(&listFlag{once: true, add: func(text string) (err error) {
			o.OnlyInCluster = false
			if o.Interval, err = time.ParseDuration(text); err != nil {
				return fmt.Errorf("%q is not a duration such as 5m", text)
			}
			return nil
		}})
	cmd.Flag("kubelet.certificate-authority", "File with the authorities of the kubelets' certificates; default: those of the API server's.").StringVar(&o.CertificateAuthority)
	cmd.Flag("kubelet.insecure-tls", "Accept any certificate of a kubelet, as self-signed ones need. Who can answer in a node's place gets the token.").BoolVar(&o.InsecureTLS)
	cmd.Flag("kubelet.address-types", "At which addresses in a Node its kubelet is asked, in this order: InternalIP, InternalDNS, Hostname, ExternalIP, ExternalDNS; with commas between them, or repeatable.").
		Default("InternalIP").StringsVar(&o.AddressTypes)
	cmd.Flag("kubelet.port", "Port of the kubelets; 0 for the one that each Node names, which the node itself can change.").Default("10250").IntVar(&o.Port)
	cmd.Flag("kubelet.service-account", "Service account, [NAMESPACE/]NAME, whose short-lived tokens the kubelets get; default: kubevoltracker-kubelets in the tracker's namespace, or the kubeconfig's client certificate instead.").StringVar(&o.ServiceAccount)
	cmd.Flag("kubelet.token-file", "File with the token that the kubelets get instead; it is read again for each turn.").StringVar(&o.TokenFile)
}

// track runs the tracker until a signal stops it: the first signal in order, a second one at once.
func track(f *runFlags, stderr io.Writer) error {
	ctx, stopSignals := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stopSignals)
	app.LimitGarbage()

	if err := f.complete(stderr); err != nil {
		return err
	}
	takeOverKlog(f.Logger)
	a, err := app.New(ctx, f.Options)
	if errors.Is(err, context.Canceled) { // a signal stopped it while it started
		return nil
	}
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// complete checks the flags, and sets the options that are not the value of a flag.
func (f *runFlags) complete(stderr io.Writer) (err error) {
	f.Logger = f.log.logger(stderr)
	f.Engine.LogLevel = f.log.level
	f.Client.UserAgent = "kubevoltracker/" + version.Version
	f.JournalBytes = int64(f.journalBytes)
	f.Catalog = f.catalog.following()
	if f.Retention != nil && f.Catalog.URL == app.NoCatalog {
		return app.UsageError{Err: errors.New("--catalog.retention needs a catalog, and --catalog.url=" + app.NoCatalog + " has none; leave out one of them")}
	}
	if f.Policy, err = redact.New(f.keepAnnotations...); err != nil {
		return app.UsageError{Err: fmt.Errorf("--collector.keep-annotations: %w", err)}
	}
	if !f.Features.Attachments && slices.Contains(f.stateMetrics.Resources, "volumeattachments") {
		return app.UsageError{Err: errors.New("--metrics.kube-state-metrics=volumeattachments needs --collector.attachments, which is off")}
	}
	if f.Metrics.StateMetrics, err = statemetrics.New(f.stateMetrics); err != nil {
		return app.UsageError{Err: err}
	}
	return nil
}
