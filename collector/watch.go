package collector

import (
	"context"
	"math"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// quietFor is how often at most a watch that keeps failing says so.
const quietFor = time.Minute

// againAfter is how long a watch that failed waits. The reflector's own pauses grow to a
// minute, and what comes and goes meanwhile is lost where the API server was restarted.
// There is one tracker for a cluster, with one watch for a kind.
var againAfter = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 100, Cap: 5 * time.Second}

// watch lists and watches one kind until the context ends.
func (c *Collector) watch(ctx context.Context, r resource) {
	before := c.before(r.kind)
	s := &store{
		collector: c, kind: r.kind, ctx: ctx, logger: log.With(c.logger, "kind", r.kind),
		resumeAt: before.ResourceVersion, behind: before.ResourceVersion != "", lastSeen: before.At, since: before.Since,
	}
	lw := listWatch{r.listWatch, s, r.example}
	s.latest = lw.latest
	c.addStore(s)
	c.metrics.seen(r.kind, before.At)
	cache.NewReflectorWithOptions(lw, r.example, s, cache.ReflectorOptions{
		Name:            "kubevoltracker",
		TypeDescription: string(r.kind),
		Backoff:         &againAfter,
	}).RunWithContext(ctx)
}

// listWatch tells the store how the requests fare, and trims each page of a list
// as it arrives: an API server that cannot stream a list sends pages, which are
// gathered before the store is given them.
//
// A store that resumes is given no list: in its place, the reflector is told of an
// empty one at the version where the watch goes on, which the store passes over.
type listWatch struct {
	*cache.ListWatch
	store   *store
	example runtime.Object
}

func (l listWatch) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if at := l.store.resumeAt; at != "" {
		l.store.resumed()
		return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: at}}, nil
	}
	if options.Continue == "" {
		l.store.listing()
	}
	list, err := l.ListWatch.ListWithContext(ctx, options)
	if err != nil {
		l.store.failed(err)
		return nil, err
	}
	return list, meta.EachListItem(list, func(obj runtime.Object) error {
		Trim(l.store.kind, obj)
		return nil
	})
}

func (l listWatch) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if l.store.resumeAt != "" && options.SendInitialEvents != nil {
		w, err := l.resume(ctx, options)
		if w != nil || err != nil {
			return w, err
		}
	}
	listing := options.SendInitialEvents != nil // a whole list comes first
	if listing {
		l.store.listing()
	}
	w, err := l.ListWatch.WatchWithContext(ctx, options)
	if err != nil {
		l.store.failed(err)
		return nil, err
	}
	if !listing {
		l.store.connected()
	}
	return w, nil
}

// latest asks for the version that the API server is at, for the price of one object;
// zero if it does not say.
func (l listWatch) latest(ctx context.Context) uint64 {
	list, err := l.ListWatch.ListWithContext(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return 0
	}
	return fact.VersionNumber(accessor.GetResourceVersion())
}

// resume opens a watch where an earlier tracker's ended, in place of a streamed list.
// It returns nothing where the API server does not know that version any more.
func (l listWatch) resume(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	at := l.store.resumeAt
	options.SendInitialEvents, options.ResourceVersionMatch, options.ResourceVersion = nil, "", at
	w, err := l.ListWatch.WatchWithContext(ctx, options)
	switch {
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		l.store.resumeAt = ""
		level.Info(l.store.logger).Log("msg", "the API server does not know any more what happened since, listing", "err", err)
		return nil, nil
	case err != nil:
		l.store.failed(err)
		return nil, err
	}
	end := l.example.DeepCopyObject()
	accessor, err := meta.Accessor(end)
	if err != nil {
		return nil, err
	}
	accessor.SetResourceVersion(at)
	accessor.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	l.store.resumed()
	l.store.connected()
	return prepended(w, watch.Event{Type: watch.Bookmark, Object: end}), nil
}

// prepended is a watch with an event before all others.
func prepended(w watch.Interface, first watch.Event) watch.Interface {
	events := make(chan watch.Event)
	p := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		defer w.Stop()
		event, open := first, true
		for open {
			select {
			case events <- event:
			case <-p.StopChan():
				return
			}
			select {
			case event, open = <-w.ResultChan():
			case <-p.StopChan():
				return
			}
		}
	}()
	return p
}

// store is a reflector's store that keeps nothing: it hands on. The reflector
// calls it, and its listWatch, one call at a time.
type store struct {
	collector *Collector
	kind      fact.Kind
	ctx       context.Context // of the reflector, whose interface has none
	logger    log.Logger

	resumeAt string // the version to go on from; empty once that has been done, or if there is none
	passOver bool   // the next list is no list
	behind   bool   // it has not told yet what was missed since an earlier tracker ended

	refused     bool      // the API server does not show this kind
	since       fact.Time // from when on nothing can have been missed
	event       string    // the version of the last event or list
	lastSeen    fact.Time // what happened until then has been told, all of it
	gapFrom     fact.Time // an event may have happened from then on; zero on a live watch
	gapTo       uint64    // the last version in the gap; notKnownYet, or zero if the API server did not say
	asked       int       // how often gapTo has been asked for; an answer to a former question is void
	listBegan   fact.Time // when the last list was asked for
	probes      []probe   // the last ones, the oldest first
	latest      func(context.Context) uint64
	arrived     fact.Time // when the last event came, or the watch was set up
	failedSince time.Time // zero while it is up
	failedTold  time.Time
}

var (
	_ cache.ReflectorStore         = (*store)(nil)
	_ cache.ReflectorBookmarkStore = (*store)(nil)
	_ cache.TransformingStore      = (*store)(nil)
)

// liveAfter is how long a watch that was set up again is silent once it has told
// what was missed, where its version does not tell so: that comes in one go.
const liveAfter = fact.Time(2 * time.Second / time.Microsecond)

// heldUpAfter is how long an event may be in work before what comes after it cannot be
// said to have happened when it is taken.
const heldUpAfter = time.Second

// notKnownYet is the end of a gap while the API server is asked for it: every version is in
// the gap.
const notKnownYet = math.MaxUint64

// resumed notes that the watch goes on where an earlier one ended.
func (s *store) resumed() {
	s.resumeAt, s.passOver = "", true
	s.collector.mu.Lock()
	defer s.collector.mu.Unlock()
	level.Debug(s.logger).Log("msg", "watching on from where the last run ended", "away", s.collector.now().Sub(s.lastSeen.Time()).Round(time.Millisecond))
}

// connected notes that a watch was set up: what it tells first happened while there was none.
func (s *store) connected() {
	s.collector.mu.Lock()
	defer s.collector.mu.Unlock()
	now := s.collector.present()
	from := s.lastSeen
	if from == 0 {
		from = now
	}
	s.openGap(from, now)
	s.askGapEnd()
	s.awaitQuiet()
}

// openGap notes, in the collector's lock, that the events to come may have happened from a
// moment on: nobody read them while they did. A gap that is open already stays open from its
// own moment on, if that is earlier. The gap ends at the version that askGapEnd asks for.
func (s *store) openGap(from, now fact.Time) {
	if s.gapFrom == 0 || from < s.gapFrom {
		s.gapFrom = from
	}
	s.gapTo, s.arrived = notKnownYet, now
	s.asked++
}

// askGapEnd asks, in the collector's lock, which version the API server is at now. All that
// happened in the gap has a version up to that one. The answer comes later.
func (s *store) askGapEnd() {
	asked := s.asked
	go func() {
		ctx, cancel := context.WithTimeout(s.ctx, connectTimeout)
		defer cancel()
		latest := s.latest(ctx)
		s.collector.mu.Lock()
		defer s.collector.mu.Unlock()
		if s.asked == asked {
			s.gapTo = latest
		}
	}()
}

// closeGap notes, in the collector's lock, that the watch is live.
func (s *store) closeGap() {
	s.gapFrom, s.gapTo = 0, 0
	s.asked++
}

// caughtUp notes, in the collector's lock, that what was missed before the start has been
// told.
func (s *store) caughtUp() {
	if s.behind {
		s.behind = false
		s.collector.behind.Add(-1)
	}
}

// awaitQuiet takes a watch that has been silent for a while for caught up: nothing need
// come that tells so.
func (s *store) awaitQuiet() {
	if !s.behind {
		return
	}
	time.AfterFunc(time.Duration(liveAfter)*time.Microsecond, func() {
		s.collector.mu.Lock()
		defer s.collector.mu.Unlock()
		if fact.At(s.collector.now())-s.arrived < liveAfter {
			s.awaitQuiet()
			return
		}
		s.caughtUp()
	})
}

// seen is how an event of a version is seen that comes now.
func (s *store) seen(now fact.Time, resourceVersion string) inventory.Observation {
	s.arrive(now, resourceVersion, true)
	if s.gapFrom == 0 {
		return inventory.Live(now)
	}
	return inventory.Observation{At: now, NotBefore: min(s.gapFrom, now)}
}

// arrive notes that the watch has come to a version, and whether that is past the gap.
// As long as it is not, nobody knows how far in time it is: a tracker that goes on from
// here has all of the gap before it. An event has the version at which it happened; a bookmark
// may have an old one, and still be on time.
func (s *store) arrive(now fact.Time, resourceVersion string, event bool) {
	version := fact.VersionNumber(resourceVersion)
	past := now-s.arrived > liveAfter
	if s.gapTo != 0 {
		past = version > s.gapTo
	}
	if past {
		s.closeGap()
		s.caughtUp()
	}
	if event && s.gapFrom == 0 {
		s.noteLag(now, version)
	}
	s.arrived = now
	if s.gapFrom == 0 {
		s.lastSeen = now
	}
}

func (s *store) Add(obj any) error    { return s.take(obj, (*inventory.Inventory).Set) }
func (s *store) Update(obj any) error { return s.take(obj, (*inventory.Inventory).Set) }
func (s *store) Delete(obj any) error { return s.take(obj, (*inventory.Inventory).Delete) }

func (s *store) take(obj any, do func(*inventory.Inventory, any, inventory.Observation) error) error {
	s.up()
	s.collector.metrics.events[s.kind].Inc()
	came := s.collector.now()
	waited := func() bool { return s.collector.now().Sub(came) > heldUpAfter }
	err := s.collector.observe(func(inv *inventory.Inventory, now fact.Time) error {
		if waited() {
			s.openGap(s.lastSeen, now)
		}
		version := ""
		if o, ok := obj.(metav1.Object); ok {
			version = o.GetResourceVersion()
		}
		seen := s.seen(now, version)
		if version != "" {
			s.event = version
			s.move(version)
		}
		s.collector.metrics.seen(s.kind, now)
		return do(inv, Trim(s.kind, obj), seen)
	}, s.kind)
	if waited() {
		s.heldUp()
	}
	return err
}

// heldUp notes that the events to come have been waiting since the last one, as the recorder
// took its time.
func (s *store) heldUp() {
	s.collector.mu.Lock()
	defer s.collector.mu.Unlock()
	s.openGap(s.lastSeen, s.collector.present())
	s.askGapEnd()
}

// move notes, in the collector's lock, how far the watch is.
func (s *store) move(resourceVersion string) {
	s.collector.moveTo(fact.Position{Kind: s.kind, ResourceVersion: resourceVersion, EventVersion: s.event, Since: s.since, At: s.lastSeen})
}

// Replace is given objects that have been trimmed as they arrived, streamed (by
// Transformer, which also packed them) or in pages (by listWatch).
func (s *store) Replace(objects []any, resourceVersion string) error {
	s.up()
	if s.passOver {
		s.passOver = false
		return nil
	}
	before, position := s.listed(resourceVersion)
	defer func() {
		s.collector.mu.Lock()
		defer s.collector.mu.Unlock()
		s.caughtUp()
	}()
	began := s.collector.now()
	err := s.collector.replace(s.ctx, objects, before, position)
	if s.collector.now().Sub(began) > heldUpAfter { // for the first lists of other kinds, perhaps
		s.heldUp()
	}
	return err
}

// listing notes that a list is asked for. Until it is there no event comes.
func (s *store) listing() {
	s.collector.mu.Lock()
	defer s.collector.mu.Unlock()
	s.listBegan = s.collector.present()
	s.closeGap()
}

// listed notes that a list is there, and returns until when all was known before, and how far
// the watch is. A list shows what there is at its end, unless there was a pause meanwhile.
func (s *store) listed(resourceVersion string) (before fact.Time, p fact.Position) {
	s.collector.mu.Lock()
	defer s.collector.mu.Unlock()
	before = s.lastSeen
	s.lastSeen = s.collector.present()
	if s.gapFrom != 0 {
		s.lastSeen = s.listBegan
		s.gapFrom = s.listBegan
	}
	s.since = s.lastSeen
	s.collector.metrics.seen(s.kind, s.lastSeen)
	s.event = resourceVersion
	return before, fact.Position{Kind: s.kind, ResourceVersion: resourceVersion, EventVersion: s.event, Since: s.since, At: s.lastSeen}
}

func (s *store) Bookmark(resourceVersion string) error {
	s.up()
	now := fact.At(s.collector.heart.beat()) // before others are waited for
	s.collector.mu.Lock()
	defer s.collector.mu.Unlock()
	s.collector.noteInterruption()
	s.arrive(now, resourceVersion, false)
	s.collector.metrics.seen(s.kind, now)
	s.move(resourceVersion)
	return nil
}

func (s *store) Resync() error { return nil }

// Transformer trims and packs the objects of a list as they stream in, so that they are
// never all held in full.
func (s *store) Transformer() cache.TransformFunc {
	p := &packer{kind: s.kind}
	return func(obj any) (any, error) { return p.pack(Trim(s.kind, obj)), nil }
}

// refused reports whether the API server will not show a kind: it does not serve
// it, or does not allow us to see it.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// without goes on without a kind, and says so once: its first list is taken to be
// empty. It is asked for again and again, in case that changes.
func (c *Collector) without(s *store, err error) {
	c.mu.Lock()
	s.caughtUp()
	c.mu.Unlock()
	if !s.refused {
		s.refused = true
		c.metrics.available[s.kind].Set(0)
		level.Warn(s.logger).Log("msg", "going on without this kind", "hint", "grant what deploy/rbac.yaml does, if it is not allowed", "err", err)
	}
	select {
	case <-c.synced:
	default:
		if err := c.listed(s.kind, firstList{}); err != nil {
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
