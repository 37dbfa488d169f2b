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

	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// Sink takes what changed. Calls come one at a time, in the order of the events.
// The update's memory is used again after the call: a sink copies what it keeps.
type Sink interface {
	Apply(*inventory.Update)
}

// Options are what a Collector needs.
type Options struct {
	Client     *Client
	Sinks      []Sink
	Logger     log.Logger
	Registerer prometheus.Registerer
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// Collector feeds the inventory from the API. Use New.
type Collector struct {
	client  *Client
	sinks   []Sink
	logger  log.Logger
	metrics *metrics
	now     func() time.Time

	mu     sync.Mutex // guards inv and update
	inv    *inventory.Inventory
	update inventory.Update

	firstMu sync.Mutex
	first   map[inventory.Kind][]any // the first lists, until all are there

	synced    chan struct{} // closed when the first lists have been taken
	busySince atomic.Int64  // when the event in work began, in Unix nanoseconds; 0 between events
}

// New returns a Collector that does not run yet.
func New(o Options) *Collector {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Collector{
		client:  o.Client,
		sinks:   o.Sinks,
		logger:  o.Logger,
		metrics: newMetrics(o.Registerer),
		now:     o.Now,
		inv:     inventory.New(),
		first:   map[inventory.Kind][]any{},
		synced:  make(chan struct{}),
	}
}

// Run watches until the context ends. An API server that is away is waited for.
func (c *Collector) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, r := range c.client.resources() {
		wg.Go(func() { c.watch(ctx, r) })
	}
	wg.Wait()
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
	for _, kind := range inventory.Kinds() {
		if _, ok := c.first[kind]; !ok {
			missing = append(missing, string(kind))
		}
	}
	return fmt.Errorf("not listed yet: %s", strings.Join(missing, ", "))
}

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
func (c *Collector) observe(take func(*inventory.Inventory, inventory.Time) error, kinds ...inventory.Kind) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	c.busySince.Store(now.UnixNano())
	defer c.busySince.Store(0)
	if err := take(c.inv, inventory.At(now)); err != nil {
		return err
	}
	for _, kind := range kinds {
		c.metrics.lastEvent[kind].Set(float64(now.UnixMilli()) / 1e3)
		c.metrics.objects[kind].Set(float64(c.inv.Count(kind)))
	}
	c.deliver()
	return nil
}

func (c *Collector) deliver() {
	c.inv.Take(&c.update)
	if c.update.Empty() {
		return
	}
	c.busySince.Store(0)
	for _, sink := range c.sinks {
		sink.Apply(&c.update)
	}
}

// replace takes the list of a kind. The first lists are held back, and their
// watches with them, until all kinds have theirs.
func (c *Collector) replace(ctx context.Context, kind inventory.Kind, objects []any, lastSeen time.Time) error {
	c.metrics.lists[kind].Inc()
	select {
	case <-c.synced:
		level.Info(c.logger).Log("msg", "listed again", "kind", kind, "objects", len(objects))
		return c.observe(func(inv *inventory.Inventory, now inventory.Time) error {
			// A kind that is shown only now is found, as all was in the beginning.
			seen := inventory.Seen{At: now, NotBefore: inventory.At(lastSeen), Found: lastSeen.IsZero()}
			return inv.Replace(kind, objects, seen)
		}, kind)
	default:
	}
	level.Info(c.logger).Log("msg", "listed", "kind", kind, "objects", len(objects))
	if err := c.listed(kind, objects); err != nil {
		return err
	}
	select {
	case <-c.synced:
	case <-ctx.Done():
	}
	return nil
}

// listed notes a kind's first list; the last one makes all be taken.
func (c *Collector) listed(kind inventory.Kind, objects []any) error {
	c.firstMu.Lock()
	defer c.firstMu.Unlock()
	if c.first == nil {
		return nil // taken meanwhile
	}
	c.first[kind] = objects
	if len(c.first) < len(inventory.Kinds()) {
		return nil
	}
	lists := c.first
	c.first = nil
	return c.takeFirst(lists)
}

// takeFirst takes the first lists of all kinds as one event.
func (c *Collector) takeFirst(lists map[inventory.Kind][]any) error {
	err := c.observe(func(inv *inventory.Inventory, now inventory.Time) error {
		for _, kind := range inventory.Kinds() {
			if err := inv.Replace(kind, lists[kind], inventory.Seen{At: now, Found: true}); err != nil {
				return err
			}
		}
		return nil
	}, inventory.Kinds()...)
	if err == nil {
		close(c.synced)
	}
	return err
}
