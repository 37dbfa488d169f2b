package exporter

import (
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/collectors/version"

	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// prefix begins the name of each metric of the tracker.
const prefix = "kubevoltracker"

// Options say what to expose. The zero value of each field but Registry works.
type Options struct {
	// Registry is where the other packages register the metrics of their own
	// health. New adds build_info, the Go runtime's and the process's; all of it
	// is gathered at each scrape, and served along with what comes from the
	// inventory.
	Registry *prometheus.Registry

	// PerVolume exposes the families that have a series for each volume; the flag
	// is --metrics.per-volume. Without it only aggregates are kept.
	PerVolume bool

	// CreatedTimestamps adds a _created line for each counter and histogram to
	// OpenMetrics' text. A Prometheus without the feature flag
	// created-timestamp-zero-ingestion stores each as one more series, hence the
	// choice. Protobuf always carries them, at no such cost.
	CreatedTimestamps bool

	// MaxScrapes is how many scrapes may run at once; one more is answered with
	// 503. Zero means 5.
	MaxScrapes int

	// Now is the clock against which idle times are measured; nil means time.Now.
	Now func() time.Time

	// Logger gets the errors of a scrape that still could be answered.
	Logger log.Logger
}

// Exporter holds the present state of volumes and claims as metrics.
type Exporter struct {
	logger    log.Logger
	now       func() time.Time
	perVolume bool
	created   bool
	scrapes   chan struct{}        // a slot for each scrape that may run
	health    *prometheus.Registry // of all packages; not bound to the moment
	usage     *prometheus.Registry // of the counters and latencies below
	render    renderer             // used by Apply alone, outside the lock

	// mu makes one moment of all below. Apply holds it while it moves to the next
	// one, a scrape while it takes a copy; neither does I/O under it.
	mu         sync.Mutex
	volumes    volumes
	namespaces namespaces
	counters   counters
	caughtUp   func() bool // nil once it has said so
	latencies  latencies
}

// New returns an Exporter that has seen nothing yet. It panics when o.Registry
// already holds collectors that New registers: two exporters on one registry are
// a mistake of the program, not of its user.
func New(o Options) *Exporter {
	if o.Logger == nil {
		o.Logger = log.NewNopLogger()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxScrapes <= 0 {
		o.MaxScrapes = 5
	}
	o.Registry.MustRegister(
		version.NewCollector(prefix),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	usage := prometheus.NewRegistry()
	return &Exporter{
		logger:     o.Logger,
		now:        o.Now,
		perVolume:  o.PerVolume,
		created:    o.CreatedTimestamps,
		scrapes:    make(chan struct{}, o.MaxScrapes),
		health:     o.Registry,
		usage:      usage,
		volumes:    newVolumes(),
		namespaces: newNamespaces(),
		counters:   newCounters(usage, o.Now),
		latencies:  newLatencies(usage),
	}
}

// Apply takes in what one event, or one whole list, changed: the next scrape
// shows all of it, none shows a part. It keeps nothing of u but strings. It is
// for one goroutine: calls must not overlap.
func (e *Exporter) Apply(u *inventory.Update) {
	// The text, which is most of the work, is made before the lock is taken, so
	// that a list of 100,000 volumes does not hold up a scrape either.
	var rows []*row
	if e.perVolume {
		rows = e.render.rows(u.Volumes)
	}

	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range u.Claims {
		c := &u.Claims[i]
		if e.namespaces.applyClaim(c) {
			e.counters.knowClaims(c.Namespace, c.StorageClass)
			e.latencies.knowClass(c.StorageClass)
		}
	}
	for i := range u.Volumes {
		v := &u.Volumes[i]
		e.counters.knowVolumes(v.StorageClass, v.SourceKind)
		var r *row
		if rows != nil {
			r = rows[i]
		}
		if old := e.volumes.apply(v, r); old != nil {
			e.namespaces.removeVolume(*old)
		}
		if !v.Gone {
			e.volumes.setShare(v.UID, e.namespaces.addVolume(v))
		}
	}
	for i := range u.Facts.Pods {
		e.counters.knowMounts(u.Facts.Pods[i].Namespace)
	}
	e.counters.tally.Add(&u.Facts)
	for i := range u.Facts.Changes {
		if c := &u.Facts.Changes[i]; !c.Found {
			e.latencies.observe(c)
		}
	}
}

// Resume lets the counters go on from what an earlier run has counted and kept. What
// happened just before that run was killed may not be kept, and is told once more by the
// API server; until caughtUp says that it has been, the counters are left out of the
// scrapes: Prometheus bridges a gap, but takes a counter that is lower for a moment for
// one that began anew, and all of it for an increase.
func (e *Exporter) Resume(t *Tally, caughtUp func() bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counters.tally.adopt(t)
	e.caughtUp = caughtUp
}
