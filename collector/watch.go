package collector

import (
	"context"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// quietFor is how often at most a watch that keeps failing says so.
const quietFor = time.Minute

// watch lists and watches one kind until the context ends.
func (c *Collector) watch(ctx context.Context, r resource) {
	s := &store{collector: c, kind: r.kind, ctx: ctx, logger: log.With(c.logger, "kind", r.kind)}
	cache.NewReflectorWithOptions(listWatch{r.listWatch, s}, r.example, s, cache.ReflectorOptions{
		Name:            "kubevoltracker",
		TypeDescription: string(r.kind),
	}).RunWithContext(ctx)
}

// listWatch tells the store how the requests fare, and trims each page of a list
// as it arrives: an API server that cannot stream a list sends pages, which are
// gathered before the store is given them.
type listWatch struct {
	*cache.ListWatch
	store *store
}

func (l listWatch) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := l.ListWatch.ListWithContext(ctx, options)
	if err != nil {
		l.store.failed(err)
		return nil, err
	}
	return list, meta.EachListItem(list, func(obj runtime.Object) error {
		trim(l.store.kind, obj)
		return nil
	})
}

func (l listWatch) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := l.ListWatch.WatchWithContext(ctx, options)
	if err != nil {
		l.store.failed(err)
	}
	return w, err
}

// store is a reflector's store that keeps nothing: it hands on. The reflector
// calls it, and its listWatch, one call at a time.
type store struct {
	collector *Collector
	kind      inventory.Kind
	ctx       context.Context // of the reflector, whose interface has none
	logger    log.Logger

	refused     bool      // the API server does not show this kind
	lastSeen    time.Time // when the watch was last known to be up
	failedSince time.Time // zero while it is up
	failedTold  time.Time
}

var (
	_ cache.ReflectorStore         = (*store)(nil)
	_ cache.ReflectorBookmarkStore = (*store)(nil)
	_ cache.TransformingStore      = (*store)(nil)
)

func (s *store) Add(obj any) error    { return s.set(obj) }
func (s *store) Update(obj any) error { return s.set(obj) }

func (s *store) set(obj any) error {
	s.up()
	s.collector.metrics.events[s.kind].Inc()
	return s.collector.observe(func(inv *inventory.Inventory, now inventory.Time) error {
		return inv.Set(trim(s.kind, obj), inventory.Live(now))
	}, s.kind)
}

func (s *store) Delete(obj any) error {
	s.up()
	s.collector.metrics.events[s.kind].Inc()
	return s.collector.observe(func(inv *inventory.Inventory, now inventory.Time) error {
		return inv.Delete(trim(s.kind, obj), inventory.Live(now))
	}, s.kind)
}

// Replace is given objects that have been trimmed as they arrived, streamed (by
// Transformer) or in pages (by listWatch).
func (s *store) Replace(objects []any, _ string) error {
	before := s.lastSeen
	s.up()
	return s.collector.replace(s.ctx, s.kind, objects, before)
}

func (s *store) Bookmark(string) error {
	s.up()
	return nil
}

func (s *store) Resync() error { return nil }

// Transformer trims the objects of a first list as they stream in, so that they
// are never all held in full.
func (s *store) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) { return trim(s.kind, obj), nil }
}

// refused reports whether the API server will not show a kind: it does not serve
// it, or does not allow us to see it.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// without goes on without a kind, and says so once: its first list is taken to be
// empty. It is asked for again and again, in case that changes.
func (c *Collector) without(s *store, err error) {
	if !s.refused {
		s.refused = true
		c.metrics.available[s.kind].Set(0)
		level.Warn(s.logger).Log("msg", "going on without this kind", "hint", "grant what deploy/rbac.yaml does, if it is not allowed", "err", err)
	}
	select {
	case <-c.synced:
	default:
		if err := c.listed(s.kind, nil); err != nil {
			level.Error(s.logger).Log("msg", "the first lists could not be taken in", "err", err)
		}
	}
}

// up notes that the watch works.
func (s *store) up() {
	if s.refused {
		s.refused = false
		s.collector.metrics.available[s.kind].Set(1)
		level.Info(s.logger).Log("msg", "this kind is shown now")
	}
	now := s.collector.now()
	if !s.failedSince.IsZero() {
		level.Info(s.logger).Log("msg", "the API server answers again", "away", now.Sub(s.failedSince).Round(time.Millisecond))
		s.failedSince, s.failedTold = time.Time{}, time.Time{}
	}
	s.lastSeen = now
}

// failed is told of a list or watch that failed and will be tried again.
func (s *store) failed(err error) {
	if s.ctx.Err() != nil {
		return // we are stopping
	}
	if refused(err) {
		s.collector.without(s, err)
		return
	}
	s.collector.metrics.failures[s.kind].Inc()
	now := s.collector.now()
	if s.failedSince.IsZero() {
		s.failedSince = now
	}
	if now.Sub(s.failedTold) < quietFor {
		return
	}
	s.failedTold = now
	hint := "waiting for the API server"
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		hint = "too far behind to resume, listing again"
	}
	level.Warn(s.logger).Log("msg", "watch failed", "hint", hint, "err", err)
}
