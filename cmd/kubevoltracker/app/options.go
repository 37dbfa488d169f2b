package app

import (
	"github.com/go-kit/log"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/engine"
	"github.com/kubevoltracker/kubevoltracker/collector"
	"github.com/kubevoltracker/kubevoltracker/collector/redact"
	"github.com/kubevoltracker/kubevoltracker/exporter"
)

// The values of Options.Catalog.URL that name no ClickHouse server.
const (
	EmbeddedCatalog = "embedded:" // the tracker runs a ClickHouse of its own
	NoCatalog       = "none"      // metrics alone
)

// Options are the values of the flags of "run".
type Options struct {
	Client collector.ClientOptions
	// Cluster is the cluster's name in the catalog; if empty, the UID of its namespace kube-system.
	Cluster string
	// DataDir is the directory for all of the tracker's files.
	DataDir string
	// JournalBytes bounds the rows in the journal that wait for ClickHouse.
	JournalBytes int64
	Web          exporter.ServerOptions   // New sets the handler and the checks
	Metrics      exporter.Options         // New sets Registry and Logger
	Kubelets     collector.KubeletOptions // not asked if the interval is 0
	// Features are those of the collector that are on.
	Features collector.Features
	// Policy says which fields and annotations of the objects are kept.
	Policy  redact.Policy
	Catalog catalog.Options
	// Retention says for how long the catalog's tables keep what is over; nil leaves them as they are.
	Retention catalog.Retention
	Engine    engine.Options // of EmbeddedCatalog; New sets DataDir and Logger
	Election  ElectionOptions
	Logger    log.Logger
}

// ElectionOptions configure whether several trackers share one catalog, and by which lease.
type ElectionOptions struct {
	Enabled bool
	// Namespace is the lease's namespace; if empty, the pod's own in a cluster, else
	// kubevoltracker.
	Namespace, Name string
}

// UsageError is a mistake in the options that the user has to correct. Its text names the flag.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

func (e UsageError) Unwrap() error { return e.Err }
