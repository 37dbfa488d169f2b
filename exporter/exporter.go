package exporter

import (
	"net/http"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/collectors/version"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/exporter/statemetrics"
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

	// PerVolume exposes the families that have a series for each volume; the flag is
	// --metrics.per-volume. Without it only aggregates are exposed.
	PerVolume bool

	// Namespaces and StorageClasses select the volumes that have such series, by the claim's
	// namespace (empty for a volume that never had a claim) and by class. Aggregates count
	// all volumes. The flags are --metrics.namespace-allowlist and so on.
	Namespaces, StorageClasses Filter

	// ClaimLabels and NamespaceLabels are the labels of the volume's claim and namespace that
	// volume_info carries as well; --metrics.claim-labels, --metrics.namespace-labels.
	ClaimLabels, NamespaceLabels LabelKeys

	// MaxVolumes limits the volumes with such series to the first ones observed; as those end, others take their
	// places, in any order. 0 is no limit. The flag is --metrics.max-volumes.
	MaxVolumes uint32

	// StateMetrics makes kube-state-metrics' families, whose texts are in the updates; nil for none.
	// The flag is --metrics.kube-state-metrics.
	StateMetrics *statemetrics.Generators

	// CreatedTimestamps adds a _created line for each counter and histogram to
	// OpenMetrics' text. A Prometheus without the feature flag
	// created-timestamp-zero-ingestion stores each as one more series, hence the
	// choice. Protobuf always carries them, at no such cost.
	CreatedTimestamps bool

	// NoStorageCapacity leaves storage_capacity_bytes out: CSIStorageCapacities are not watched, and those that an
	// earlier run has saved say nothing of the present.
	NoStorageCapacity bool

	// NoAttachments leaves attachment_pending_seconds out, for the same reason: VolumeAttachments are not watched.
	NoAttachments bool

	// Now is the clock against which idle times are measured; nil means time.Now.
	Now func() time.Time

	// Logger gets the errors of a scrape that still could be answered.
	Logger log.Logger
}

// Exporter exposes the present state of volumes and claims as metrics.
type Exporter struct {
	logger    log.Logger
	now       func() time.Time
	perVolume bool
	created   bool
	scrapes   slots
	stall     time.Duration // how long a client may not read before its scrape ends; stallTimeout but in tests
	compress  func(http.Handler) http.HandlerFunc
	health    *prometheus.Registry // of all packages; not bound to the moment
	render    renderer             // used by Apply alone, outside the lock

	// mu makes the fields below one consistent state. Apply locks it while it changes them, a
	// scrape while it copies them; neither does I/O under it.
	mu          sync.Mutex
	volumes     volumes
	watched     watched
	namespaces  namespaces
	capacities  latest[fact.CapacityState]   // what CSI drivers say is left; nil with Options.NoStorageCapacity
	attachments latest[fact.AttachmentState] // those that wait now, which are few; nil with Options.NoAttachments
	classes     classes
	states      *statemetrics.Texts
	counters    counters
	caughtUp    func() bool // nil once it has returned true
	cutting     bool        // there are more volumes than MaxVolumes, and a warning has been logged
}

// maxScrapes is how many scrapes may run at once. One more is answered with 503, or ends one of a client that has more
// of them.
const maxScrapes = 5

// New returns an Exporter without state. It panics when o.Registry already contains collectors that
// New registers: two exporters on one registry are a mistake of the program, not of its user.
func New(o Options) *Exporter {
	if o.Logger == nil {
		o.Logger = log.NewNopLogger()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Registry.MustRegister(
		version.NewCollector(prefix),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	e := &Exporter{
		logger:    o.Logger,
		now:       o.Now,
		perVolume: o.PerVolume,
		created:   o.CreatedTimestamps,
		scrapes:   slots{max: maxScrapes},
		stall:     stallTimeout,
		compress:  newCompression(),
		health:    o.Registry,
		render: renderer{
			namespaces: o.Namespaces, storageClasses: o.StorageClasses,
			claimLabels: carry("label_", o.ClaimLabels), namespaceLabels: carry("namespace_label_", o.NamespaceLabels),
		},
		volumes:     newVolumes(int(o.MaxVolumes)),
		namespaces:  newNamespaces(),
		capacities:  latest[fact.CapacityState]{},
		attachments: latest[fact.AttachmentState]{},
		classes:     newClasses(),
		states:      statemetrics.NewTexts(o.StateMetrics),
		counters:    newCounters(o.Now),
	}
	if o.NoStorageCapacity {
		e.capacities = nil
	}
	if o.NoAttachments {
		e.attachments = nil
	}
	e.namespaces.tally = e.counters.tally
	return e
}

// applyClusterKinds applies the changes of classes, capacities and attachments. The caller has the lock.
func (e *Exporter) applyClusterKinds(u *fact.Update) {
	for i := range u.Classes {
		if source := e.classes.apply(&u.Classes[i]); source != "" {
			e.counters.knowVolumes(u.Classes[i].Name, source)
			e.counters.knowClass(u.Classes[i].Name)
		}
	}
	for i := range u.Capacities {
		if e.capacities != nil {
			e.capacities.apply(u.Capacities[i].UID, &u.Capacities[i], u.Capacities[i].Gone)
		}
	}
	for i := range u.Attachments {
		if e.attachments != nil {
			e.attachments.apply(u.Attachments[i].UID, &u.Attachments[i], u.Attachments[i].Since == 0)
		}
	}
}

// Apply applies the changes of one event or of one whole list: the next scrape
// shows all of them, and no scrape shows a part. It keeps only strings and the list
// Watched of u. One goroutine may call it at a time.
func (e *Exporter) Apply(u *fact.Update) {
	// Rendering is most of the work, and happens before the lock is taken, so that
	// a list of 100,000 volumes does not delay a scrape.
	var rows []*row
	if e.perVolume {
		rows = e.render.rows(u.Volumes)
	}

	e.mu.Lock()
	defer e.mu.Unlock()
	at := u.At
	if at == 0 {
		at = fact.At(e.now())
	}
	e.counters.tally.begin(at)
	if u.Resumed {
		e.counters.tally.resumed()
	}
	e.watched.apply(u)
	e.states.Apply(u)
	e.applyClusterKinds(u)
	for i := range u.Claims {
		c := &u.Claims[i]
		e.namespaces.applyClaim(c, at)
		if !c.Gone {
			e.counters.knowClaims(c.Namespace, c.StorageClass)
		}
	}
	for i := range u.Volumes {
		v := &u.Volumes[i]
		e.counters.knowVolumes(v.StorageClass, v.SourceKind)
		e.counters.knowClass(v.StorageClass) // not those of claims: who may make claims can invent classes
		e.classes.learn(v.StorageClass, v.SourceKind)
		var r *row
		if rows != nil {
			r = rows[i]
		}
		old, now := e.volumes.places[v.UID].share, share{}
		e.namespaces.removeVolume(old)
		if v.Gone {
			e.volumes.remove(v.UID)
		} else {
			now = e.namespaces.addVolume(v)
			e.volumes.apply(v.UID, now, r)
		}
		e.namespaces.countIdle(&old, &now, v, u.Facts.Mounts, at)
	}
	e.sayIfCut()
	for i := range u.Facts.Pods {
		e.counters.knowMounts(u.Facts.Pods[i].Namespace)
	}
	e.counters.tally.Add(&u.Facts)
}

// StateMetricsReady returns nil once kube-state-metrics' families are served, or if none are to be
// served; otherwise an error that names the kinds that are missing.
func (e *Exporter) StateMetricsReady() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.states.Complete()
}

// sayIfCut logs a warning when volumes begin to outnumber MaxVolumes.
func (e *Exporter) sayIfCut() {
	_, over := e.volumes.shown()
	if over > 0 && !e.cutting {
		_ = level.Warn(e.logger).Log("msg", "there are more volumes than the limit of series per volume; some have none",
			"limit", e.volumes.max, "hint", "raise --metrics.max-volumes, or leave some out with --metrics.namespace-denylist or --metrics.storageclass-denylist")
	}
	e.cutting = over > 0
}

// Restore continues the counters and histograms from the Tally of an earlier run, and has that Tally
// persist the byte-seconds of this one. It is called before Apply. That Tally may lack the events
// just before the run was killed, and the API server sends them again. Until caughtUp returns true,
// scrapes leave the counters and histograms out: Prometheus bridges a gap, but takes a counter that
// decreases for a reset, and then counts its whole value as an increase.
func (e *Exporter) Restore(t *Tally, caughtUp func() bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counters.tally.adopt(t)
	t.freezeBytes = e.freezeBytes
	e.caughtUp = caughtUp
}
