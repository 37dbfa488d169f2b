// Package collector watches the Kubernetes API and keeps the inventory of storage usage.
//
// It owns the watches and the inventory. One reflector for each kind lists and watches. The
// collector trims each object to the fields that storage questions need and sets it in the
// inventory, one event after another, under one lock. It emits each change at once as a
// fact.Update: to the Exporter, which shows the present states, and then to the Recorder, which
// persists the rows. When the Recorder blocks, the watches wait, and nothing is lost: the API
// server keeps the state, and the watches resume, or list again, from their last position.
//
// The collector dates an event of a live watch with the moment at which it takes the event. After a
// gap an event has bounds instead: between two connections, after the Recorder blocked, after a
// pause of this process (heartbeat.go), and on a watch that lags (lag.go). A store (store.go) knows
// whether its watch is in a gap.
//
// No watch shows how full volumes are: the collector asks the kubelets (Kubelets).
//
// Features can be switched off: their kinds need rights of their own. A kind that the API server does not show is
// skipped, except for pods, claims and volumes, and rights.go reports which right is missing.
//
// The collector takes the first lists of all kinds as one event, once it has all of them, from the
// backing stores up to the pods. Their rows go on in parts, as they take more memory than the
// inventory; the states of volumes and claims are in one update.
package collector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
	"github.com/kubevoltracker/kubevoltracker/collector/redact"
)

// Exporter shows what changed. It borrows the update: it may read it until Apply returns, must not change it, and
// copies what it keeps, as the collector reuses the memory of the lists. Strings, maps and Update.Watched are never
// written to again and may be kept.
//
// The collector calls Apply for one update after another, in the order of the events.
type Exporter interface {
	Apply(*fact.Update)
}

// Recorder persists what changed. The collector calls Record for each update after Exporter.Apply, and waits for it:
// a Recorder that blocks makes the watches wait.
//
// The Recorder borrows the update as the Exporter does, but it may take the lists of rows and snapshots out of it, and
// then owns them (fact.Update.TakeRows). The collector reuses the memory of the lists that are left in the update. The
// first lists of a large cluster have 100 MB of rows, which need not be copied this way.
type Recorder interface {
	Record(*fact.Update)
}

// Options are what a Collector needs.
type Options struct {
	Client *Client
	// Exporter and Recorder receive the updates; nil if there is none.
	Exporter Exporter
	Recorder Recorder
	// Renderer makes the texts of metric families that the updates carry; nil if there is none.
	Renderer   Renderer
	Logger     log.Logger
	Registerer prometheus.Registerer
	// Snapshot is the saved state of an earlier tracker of this cluster; nil if there is none.
	Snapshot *fact.Snapshot
	// VersionFloor returns a row version that all new rows must exceed, because another tracker may
	// have used the versions up to it. It does not block. If it is nil there is no floor.
	VersionFloor func() uint64
	// Kubelets reads from the kubelets how full volumes are; nil to read nothing.
	Kubelets *Kubelets
	// Features are those that are on: the kinds of the others are not watched.
	Features Features
	// Policy says which fields of the objects are kept.
	Policy redact.Policy
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// Collector feeds the inventory from the API. Use New.
type Collector struct {
	client   *Client
	policy   redact.Policy
	kubelets *Kubelets
	exporter Exporter
	recorder Recorder
	renderer Renderer
	logger   log.Logger
	metrics  *metrics
	rights   *rights
	kinds    []fact.Kind // those that are watched
	now      func() time.Time
	heart    *heartbeat

	snapshot *fact.Snapshot // restore resumes from it

	mu       sync.Mutex // guards stores and their positions, inv, update, moved, taken, watched, families and keeps
	stores   []*store   // one for each watch
	inv      *inventory.Inventory
	update   fact.Update
	moved    map[fact.Kind]fact.Position // positions that changed since the last update
	taken    map[fact.Kind]uint64        // the versions up to which inv has taken all events; 0 if one is no number
	watched  spans
	families families
	keeps    keeps

	firstMu sync.Mutex
	first   map[fact.Kind]firstList // the lists that have arrived; complete when all kinds have theirs

	floor     func() uint64 // new row versions are above it
	synced    chan struct{} // closed when the first lists have been taken
	objects   atomic.Uint64 // in the first lists that have arrived
	behind    atomic.Int32  // watches that resumed from an earlier run and have not caught up yet
	busySince atomic.Int64  // when the event in progress began, in Unix nanoseconds; 0 between events
}

// New returns a Collector that does not run yet.
func New(o Options) *Collector {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.VersionFloor == nil {
		o.VersionFloor = func() uint64 { return 0 }
	}
	c := &Collector{
		client:   o.Client,
		policy:   o.Policy,
		kubelets: o.Kubelets,
		exporter: o.Exporter,
		recorder: o.Recorder,
		renderer: o.Renderer,
		families: newFamilies(o.Renderer),
		keeps:    keeps{logger: o.Logger, unreadable: map[string]string{}},
		logger:   o.Logger,
		metrics:  newMetrics(o.Registerer, o.Features.kinds()),
		rights:   newRights(o.Registerer, o.Logger),
		kinds:    o.Features.kinds(),
		now:      o.Now,
		heart:    newHeartbeat(readings(o.Now)),
		snapshot: o.Snapshot,
		floor:    o.VersionFloor,
		inv:      inventory.New(),
		moved:    map[fact.Kind]fact.Position{},
		taken:    map[fact.Kind]uint64{},
		first:    map[fact.Kind]firstList{},
		synced:   make(chan struct{}),
	}
	if c.kubelets != nil {
		c.kubelets.rights = c.rights
	}
	c.inv.SetTrim(func(kind fact.Kind, object metav1.Object) { Trim(o.Policy, kind, object) })
	return c
}

// tickEvery is how often the collector emits the positions of the watches while no events arrive.
const tickEvery = 5 * time.Second

// Run watches until the context ends. It keeps retrying while the API server is unavailable. It
// returns an error only if it cannot read the snapshot to its end.
func (c *Collector) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() { wait.UntilWithContext(ctx, c.beat, beatEvery) })
	if err := c.restore(ctx); ctx.Err() != nil {
		return nil
	} else if err != nil {
		return err
	}
	wg.Go(func() { wait.UntilWithContext(ctx, c.tick, tickEvery) })
	wg.Go(func() { wait.UntilWithContext(ctx, c.probe, probeEvery) })
	if c.kubelets != nil {
		wg.Go(func() { c.readKubelets(ctx) })
	}
	for _, r := range c.client.resources() {
		if slices.Contains(c.kinds, r.kind) {
			wg.Go(func() { c.watch(ctx, r) })
		}
	}
	wg.Wait()
	return nil
}

// count returns the number of objects in the inventory.
func (c *Collector) count() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, kind := range fact.Kinds() {
		n += c.inv.Count(kind)
	}
	return n
}

// tick moves the inventory's clock while no events arrive. It emits nothing before the first lists.
func (c *Collector) tick(context.Context) {
	if c.Synced() != nil {
		return
	}
	_ = c.observe(func(inv *inventory.Inventory, now fact.Time) error {
		inv.Tick(now)
		return nil
	})
}

// Synced returns nil once the first lists have been taken, and before that an error that names the
// missing kinds.
func (c *Collector) Synced() error {
	select {
	case <-c.synced:
		return nil
	default:
	}
	if !c.firstMu.TryLock() {
		return errors.New("the first lists are being taken in")
	}
	defer c.firstMu.Unlock()
	var missing []string
	for _, kind := range c.kinds {
		if _, ok := c.first[kind]; !ok {
			missing = append(missing, string(kind))
		}
	}
	text := "not listed yet: " + strings.Join(missing, ", ")
	if rights := c.rights.String(); rights != "" {
		text += "; missing rights: " + rights
	}
	return errors.New(text)
}

// Allowed returns nil unless the tracker may not watch a kind without which volumes in use look idle.
func (c *Collector) Allowed() error {
	for _, r := range []right{{"watch", "", "pods"}, {"watch", "", "persistentvolumeclaims"}, {"watch", "", "persistentvolumes"}} {
		if c.rights.lacks(r) {
			return fmt.Errorf("missing: %s; grant it, %s", c.rights, asGranted)
		}
	}
	return nil
}

// MissingRights lists the rights that the API server refuses to the tracker; empty if there is none.
func (c *Collector) MissingRights() string {
	if list := c.rights.String(); list != "" {
		return "missing: " + list
	}
	return ""
}

// Listed returns how many objects the first lists have that have arrived.
func (c *Collector) Listed() uint64 { return c.objects.Load() }

// CaughtUp reports whether the collector has emitted all changes from before this run: those that
// the first lists show, or those that the resumed watches deliver first.
func (c *Collector) CaughtUp() bool { return c.Synced() == nil && c.behind.Load() == 0 }

// stuckAfter is how long one event may take before Alive reports the collector as stuck. A list of
// the largest clusters takes seconds. While the catalog is out of service the recorder blocks for
// longer; that time does not count (see emit).
const stuckAfter = 2 * time.Minute

// Alive returns nil while events make progress, or an error that says how long the present event
// has been in progress.
func (c *Collector) Alive() error {
	if since := c.busySince.Load(); since != 0 {
		if d := c.now().Sub(time.Unix(0, since)); d > stuckAfter {
			return fmt.Errorf("one event has been in work for %s", d.Round(time.Second))
		}
	}
	return nil
}

// observe applies one event of the given kinds to the inventory and emits the changes.
func (c *Collector) observe(take func(*inventory.Inventory, fact.Time) error, kinds ...fact.Kind) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.present()
	c.busySince.Store(now.Time().UnixNano())
	defer c.busySince.Store(0)
	c.inv.Raise(c.floor())
	c.update.Unprompted = len(kinds) == 0
	if err := take(c.inv, now); err != nil {
		return err
	}
	for _, kind := range kinds {
		c.metrics.lastEvent[kind].Set(float64(now/1e3) / 1e3)
		c.metrics.objects[kind].Set(float64(c.inv.Count(kind)))
	}
	c.deliver(len(kinds) == 0)
	return nil
}

// observeFamilies takes a list that changes nothing but the texts of metric families, and emits them.
func (c *Collector) observeFamilies(take func()) error {
	return c.observe(func(*inventory.Inventory, fact.Time) error {
		take()
		return nil
	})
}

// moveTo notes how far a kind has been watched. The caller holds the lock. If that begins a new span
// of Pods, the inventory learns of it here, before it takes the event.
func (c *Collector) moveTo(position fact.Position) {
	c.moved[position.Kind] = position
	c.taken[position.Kind] = fact.VersionNumber(position.ResourceVersion)
	if position.Kind == fact.Pods && c.watched.move(position) {
		c.inv.SetWatched(c.watched.list)
	}
}
