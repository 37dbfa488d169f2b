// Package collector watches the Kubernetes API and keeps the inventory of
// storage usage.
//
// It owns the watches and the inventory. One reflector for each kind lists and
// watches; what arrives is trimmed to what storage questions need and taken into
// the inventory, one event after another, under one lock. What changed goes at
// once to the sinks: rows to the catalog, present states to the exporter. A
// sink that blocks holds up the watches and loses nothing: the API server keeps
// the state, and the watches go on, or list again, from where they were.
//
// An event of a live watch happened when it is taken. After a gap it has bounds: between two
// connections, after a sink has held up the watch, after a pause of this process (heartbeat.go),
// and on a watch that lags (lag.go). A store (watch.go) knows whether its watch is in a gap.
//
// What no watch tells, how full volumes are, the kubelets are asked for (Kubelets).
//
// The first lists of all kinds are taken as one event, once all are there, from
// the backing stores up to the pods: nobody is shown a half of the cluster.
package collector

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// Sink takes what changed. Calls come one at a time, in the order of the events.
// The update's memory is used again after the call: a sink copies what it keeps, unless it
// is Large, which the last sink may keep.
type Sink interface {
	Apply(*fact.Update)
}

// Options are what a Collector needs.
type Options struct {
	Client     *Client
	Sinks      []Sink
	Logger     log.Logger
	Registerer prometheus.Registerer
	// Snapshot is where an earlier tracker of this cluster ended; nil if that is not known.
	Snapshot *fact.Snapshot
	// VersionFloor returns the row version that all rows to come have to be above, as another tracker may
	// have given the versions up to it to rows of its own. It does not block; none if nil.
	VersionFloor func() uint64
	// Kubelets tell how full volumes are; nil if they are not to be asked.
	Kubelets *Kubelets
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// Collector feeds the inventory from the API. Use New.
type Collector struct {
	client   *Client
	kubelets *Kubelets
	sinks    []Sink
	logger   log.Logger
	metrics  *metrics
	now      func() time.Time
	heart    *heartbeat

	snapshot *fact.Snapshot // what restore goes on from

	mu      sync.Mutex // guards inv, update, moved, watched, and how far the stores are
	stores  []*store   // one for each watch
	inv     *inventory.Inventory
	update  fact.Update
	moved   map[fact.Kind]fact.Position // not given out yet
	watched spans

	firstMu sync.Mutex
	first   map[fact.Kind]firstList // until all are there

	floor     func() uint64 // row versions are higher
	synced    chan struct{} // closed when the first lists have been taken
	behind    atomic.Int32  // watches that go on from before, and have not told yet what was missed
	busySince atomic.Int64  // when the event in work began, in Unix nanoseconds; 0 between events
}

// New returns a Collector that does not run yet.
func New(o Options) *Collector {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.VersionFloor == nil {
		o.VersionFloor = func() uint64 { return 0 }
	}
	return &Collector{
		client:   o.Client,
		kubelets: o.Kubelets,
		sinks:    o.Sinks,
		logger:   o.Logger,
		metrics:  newMetrics(o.Registerer),
		now:      o.Now,
		heart:    newHeartbeat(readings(o.Now)),
		snapshot: o.Snapshot,
		floor:    o.VersionFloor,
		inv:      inventory.New(),
		moved:    map[fact.Kind]fact.Position{},
		first:    map[fact.Kind]firstList{},
		synced:   make(chan struct{}),
	}
}

// tickEvery is how often the sinks are told how far the watches are while nothing
// happens.
const tickEvery = 5 * time.Second

// Run watches until the context ends. An API server that is away is waited for.
func (c *Collector) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { wait.UntilWithContext(ctx, c.beat, beatEvery) })
	c.restore()
	wg.Go(func() { wait.UntilWithContext(ctx, c.tick, tickEvery) })
	wg.Go(func() { wait.UntilWithContext(ctx, c.probe, probeEvery) })
	if c.kubelets != nil {
		wg.Go(func() { c.readKubelets(ctx) })
	}
	for _, r := range c.client.resources() {
		wg.Go(func() { c.watch(ctx, r) })
	}
	wg.Wait()
}

// restore has the inventory go on where an earlier tracker ended. If that one knew how far it had
// watched, the watches go on from there, and nothing is listed.
func (c *Collector) restore() {
	if c.snapshot == nil {
		return
	}
	for _, kind := range fact.Kinds() {
		if c.before(kind).ResourceVersion != "" {
			c.behind.Add(1)
		}
	}
	restore := func(inv *inventory.Inventory, now fact.Time) error {
		c.watched = restoreSpans(c.snapshot.Watched, c.before(fact.Pods))
		inv.SetWatched(c.watched.list)
		return inv.Restore(c.snapshot.Objects, c.snapshot.Version, now)
	}
	var err error
	if c.behind.Load() > 0 {
		err = c.observe(restore, fact.Kinds()...)
		defer close(c.synced)
	} else { // it is given out with the first lists
		c.mu.Lock()
		err = restore(c.inv, fact.At(c.now()))
		c.mu.Unlock()
	}
	if err != nil {
		level.Warn(c.logger).Log("msg", "an object that was held before is not taken up", "err", err)
	}
	level.Info(c.logger).Log("msg", "going on where the last run ended", "objects", len(c.snapshot.Objects), "since", c.snapshot.LastSeen().Time().UTC().Format(time.RFC3339))
	c.snapshot.Objects = nil
}

// before is how far an earlier tracker watched a kind.
func (c *Collector) before(kind fact.Kind) fact.Position {
	if c.snapshot == nil {
		return fact.Position{Kind: kind}
	}
	return c.snapshot.Positions[kind]
}

// Reconcile restores a snapshot after the first lists were taken: it adds to what the inventory knows. No
// event is taken in while read reads the snapshot. Its error is returned.
func (c *Collector) Reconcile(read func() (*fact.Snapshot, error)) error {
	return c.observe(func(inv *inventory.Inventory, now fact.Time) error {
		c.busySince.Store(0) // the catalog may take its time
		known, err := read()
		if err != nil || known == nil {
			return err
		}
		lastSeen := map[fact.Kind]fact.Time{}
		for kind, p := range known.Positions {
			lastSeen[kind] = p.At
		}
		if c.watched.merge(known.Watched) {
			inv.SetWatched(c.watched.list)
		}
		return inv.Reconcile(known.Objects, known.Version, now, lastSeen)
	}, fact.Kinds()...)
}

// tick moves the inventory's clock while nothing happens. Nothing is given out before the first
// lists.
func (c *Collector) tick(context.Context) {
	if c.Synced() != nil {
		return
	}
	_ = c.observe(func(inv *inventory.Inventory, now fact.Time) error {
		inv.Tick(now)
		return nil
	})
}

// Synced reports whether the first lists have been taken: nil, or an error that
// names the kinds still missing.
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
	for _, kind := range fact.Kinds() {
		if _, ok := c.first[kind]; !ok {
			missing = append(missing, string(kind))
		}
	}
	return fmt.Errorf("not listed yet: %s", strings.Join(missing, ", "))
}

// CaughtUp reports whether all has been told that happened while no tracker watched: by
// the first lists, or by the watches that go on where they were.
func (c *Collector) CaughtUp() bool { return c.Synced() == nil && c.behind.Load() == 0 }

// stuckAfter is how long one event may take before the collector is taken for
// stuck. A list of the largest clusters takes seconds; a catalog that takes no
// more rows for this long is an outage of its own, which the watch waits for, so
// waiting there does not count (see deliver).
const stuckAfter = 2 * time.Minute

// Alive reports whether events are being worked off: nil, or an error that says
// for how long one has been in work.
func (c *Collector) Alive() error {
	if since := c.busySince.Load(); since != 0 {
		if d := c.now().Sub(time.Unix(0, since)); d > stuckAfter {
			return fmt.Errorf("one event has been in work for %s", d.Round(time.Second))
		}
	}
	return nil
}

// observe takes one event of some kinds into the inventory and gives out what
// changed.
func (c *Collector) observe(take func(*inventory.Inventory, fact.Time) error, kinds ...fact.Kind) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.present()
	c.busySince.Store(now.Time().UnixNano())
	defer c.busySince.Store(0)
	c.inv.Raise(c.floor())
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

func (c *Collector) deliver(ticked bool) {
	c.inv.Take(&c.update)
	c.update.Positions, c.update.Watched = c.update.Positions[:0], nil
	if c.update.Empty() && !ticked && !c.watched.fresh {
		return // the positions can wait for the next tick
	}
	for _, p := range c.moved {
		c.update.Positions = append(c.update.Positions, p)
	}
	clear(c.moved)
	c.update.Watched = c.watched.take()
	if c.update.Empty() {
		return
	}
	c.busySince.Store(0)
	c.update.Large = c.update.Facts.Len() > keepRows
	for _, sink := range c.sinks {
		sink.Apply(&c.update)
	}
	if c.update.Large {
		c.update = fact.Update{}
	}
}

// moveTo notes how far a kind has been watched. The caller holds the lock. If that begins a new span
// of Pods, the inventory learns of it here, before it takes the event.
func (c *Collector) moveTo(position fact.Position) {
	c.moved[position.Kind] = position
	if position.Kind == fact.Pods && c.watched.move(position) {
		c.inv.SetWatched(c.watched.list)
	}
}

// keepRows is how large an update may have been whose memory is kept for the next one:
// not that of a list, which takes as much as the inventory itself.
const keepRows = 10_000

// firstList is the first list of a kind.
type firstList struct {
	objects  []any
	position fact.Position // zero if the kind is not shown
}

// replace takes the list of a kind. The first lists are held back, and their
// watches with them, until all kinds have theirs.
func (c *Collector) replace(ctx context.Context, objects []any, lastSeen fact.Time, position fact.Position) error {
	kind := position.Kind
	c.metrics.lists[kind].Inc()
	select {
	case <-c.synced:
		level.Info(c.logger).Log("msg", "listed again", "kind", kind, "objects", len(objects))
		return c.observe(func(inv *inventory.Inventory, now fact.Time) error {
			c.moveTo(position)
			return inv.Replace(kind, objects, listSeen(now, lastSeen, position.ResourceVersion))
		}, kind)
	default:
	}
	level.Info(c.logger).Log("msg", "listed", "kind", kind, "objects", len(objects))
	if err := c.listed(kind, firstList{objects, position}); err != nil {
		return err
	}
	select {
	case <-c.synced:
	case <-ctx.Done():
	}
	return nil
}

// listSeen is how a list is seen. A kind that is shown for the first time is found:
// it did not come to be now. What a later list shows has happened since the kind was
// last seen.
func listSeen(now, lastSeen fact.Time, version string) inventory.Observation {
	return inventory.Observation{At: now, NotBefore: min(lastSeen, now), Found: lastSeen == 0, Version: version}
}

// listed notes a kind's first list; the last one makes all be taken.
func (c *Collector) listed(kind fact.Kind, list firstList) error {
	c.firstMu.Lock()
	defer c.firstMu.Unlock()
	if c.first == nil {
		return nil // taken meanwhile
	}
	c.first[kind] = list
	if len(c.first) < len(fact.Kinds()) {
		return nil
	}
	lists := c.first
	c.first = nil
	return c.takeFirst(lists)
}

// takeFirst takes the first lists of all kinds as one event.
func (c *Collector) takeFirst(lists map[fact.Kind]firstList) error {
	err := c.observe(func(inv *inventory.Inventory, now fact.Time) error {
		for _, list := range lists {
			if list.position.ResourceVersion != "" {
				c.moveTo(list.position)
			}
		}
		for _, kind := range fact.Kinds() {
			if err := inv.Replace(kind, lists[kind].objects, listSeen(now, c.before(kind).At, lists[kind].position.ResourceVersion)); err != nil {
				return err
			}
			delete(lists, kind) // what it held can go
		}
		return nil
	}, fact.Kinds()...)
	if err == nil {
		close(c.synced)
	}
	return err
}
