package collector

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// store is a reflector's store that stores nothing: it passes each object on to the collector. The
// reflector calls it, and its listWatch, one call at a time.
type store struct {
	collector *Collector
	kind      fact.Kind
	resource  schema.GroupResource
	ctx       context.Context // the reflector's, whose interface passes none
	logger    log.Logger

	resumeAt string // the version to resume from; empty once resumed, or if there is none
	passOver bool   // the next list is the empty one of a watch that resumes
	behind   bool   // events since an earlier tracker ended are still to come

	refused    bool        // the API server does not serve or allow this kind, as is reported
	shown      atomic.Bool // the API server has shown this kind
	awaitsList atomic.Bool // awaitListRight runs
	since      fact.Time   // from then on nothing can have been missed
	event      string      // the version of the last event or list
	lastSeen   fact.Time   // all events until then have been taken
	gap        gap
	openedAt   uint64             // the version at which the watch was opened; zero if it streams a list first
	restored   chan<- watch.Event // ends that watch
	listBegan  fact.Time          // when the last list was requested
	probes     []probe            // the latest ones, oldest first
	// currentVersion returns the API server's version; zero if the answer has none.
	currentVersion  func(context.Context) (uint64, error)
	drawing         drawing            // of the list that is arriving
	relist          func(after string) // begins, under the collector's lock, to list the kind for its metric families alone
	background      sync.WaitGroup     // the goroutines of begin
	ended           bool               // end was called
	arrived         fact.Time          // when the last event arrived, or the watch was set up
	failedSince     time.Time          // zero while the watch is up
	failureLoggedAt time.Time
	// refusedSince is since when the API server has refused each request of the watch; zero if the last one failed otherwise, or worked.
	refusedSince time.Time
	broken       error // why the last watch broke; guard sets it before the reflector reads the end of that watch
}

var (
	_ cache.ReflectorStore         = (*store)(nil)
	_ cache.ReflectorBookmarkStore = (*store)(nil)
	_ cache.TransformingStore      = (*store)(nil)
)

// quietFor is the minimum time between two log lines of a watch that keeps failing.
const quietFor = time.Minute

// liveAfter is how long a new watch must be silent to count as caught up, if its versions do not
// show that it has: missed events arrive without pauses.
const liveAfter = fact.Time(2 * time.Second / time.Microsecond)

// delayedAfter is how long an event may be in progress. After a longer one, later events cannot be
// dated with the moment at which they are taken.
const delayedAfter = time.Second

// begin runs do on a goroutine that end waits for. The caller has the collector's lock. Do returns when the store's
// context ends.
func (s *store) begin(do func()) {
	if !s.ended {
		s.background.Go(do)
	}
}

// end waits for all goroutines of begin, once the store's context has ended. From then on begin does nothing.
func (s *store) end() {
	s.collector.mu.Lock()
	s.ended = true
	s.collector.mu.Unlock()
	s.background.Wait()
}

// resumed notes that the watch resumed where an earlier one ended.
func (s *store) resumed() {
	at := s.resumeAt
	s.resumeAt, s.passOver = "", true
	s.collector.mu.Lock()
	defer s.collector.mu.Unlock()
	s.event = at
	if s.collector.renders(s.kind) {
		s.collector.families.await(s.kind)
		s.relist(at)
	}
	level.Debug(s.logger).Log("msg", "resuming the watch where the last run ended", "away", s.collector.now().Sub(s.lastSeen.Time()).Round(time.Millisecond))
}

// opened notes that a watch was set up at a version: its first events happened while there was no watch. The channel that it returns
// receives the error that ends the watch if the API server has lost that version by a restore (endRestored).
func (s *store) opened(at string) <-chan watch.Event {
	s.collector.mu.Lock()
	defer s.collector.mu.Unlock()
	now := s.collector.present()
	from := s.lastSeen
	if from == 0 {
		from = now
	}
	restored := make(chan watch.Event, 1)
	s.openedAt, s.restored = fact.VersionNumber(at), restored
	s.openGap(from, now)
	s.askGapEnd()
	s.awaitQuiet()
	return restored
}

// awaitListRight repeats a refused request of askGapEnd until it is allowed. The watch works meanwhile, so that
// nothing else would notice that the right is granted.
func (s *store) awaitListRight() {
	if !s.collector.rights.lacks(s.right("list")) || !s.awaitsList.CompareAndSwap(false, true) {
		return
	}
	defer s.awaitsList.Store(false)
	_ = wait.PollUntilContextCancel(s.ctx, againAfter.Cap, false, func(ctx context.Context) (bool, error) {
		_, _ = s.currentVersion(ctx) // notes the right
		return !s.collector.rights.lacks(s.right("list")), nil
	})
}

func (s *store) right(verb string) right { return right{verb, s.resource.Group, s.resource.Resource} }

// noteRight records the result of a request of this kind. Without the right to list, streamed lists still work.
func (s *store) noteRight(verb string, err error) {
	without := "this kind is skipped"
	switch {
	case verb == "list":
		without = "this kind is skipped, or, where the API server streams lists, events after an interruption are dated less exactly"
	case essential(s.kind):
		without = "this kind is skipped, and the tracker is not ready without it"
	}
	cure := ""
	if flag, _ := (Features{}).of(s.kind); flag != "" {
		cure = "switch the feature off by " + flag
	}
	s.collector.rights.note(s.right(verb), err, without, cure)
}

// caughtUp notes, under the collector's lock, that all events missed before the start have been
// taken.
func (s *store) caughtUp() {
	if s.behind {
		s.behind = false
		s.collector.behind.Add(-1)
	}
}

// awaitQuiet counts, under the collector's lock, a watch as caught up once it has been silent for liveAfter, because
// no event need arrive that shows it. It waits for the answer to askGapEnd, which may end the watch. A list closes the gap, and then only
// the list shows what was missed.
func (s *store) awaitQuiet() {
	if !s.behind {
		return
	}
	s.begin(func() {
		_ = wait.PollUntilContextCancel(s.ctx, time.Duration(liveAfter)*time.Microsecond, false, func(context.Context) (bool, error) {
			s.collector.mu.Lock()
			defer s.collector.mu.Unlock()
			if s.gap.isOpen() && s.gap.to != notKnownYet && fact.At(s.collector.now())-s.arrived >= liveAfter {
				s.caughtUp()
			}
			return !s.behind, nil
		})
	})
}

// seen returns the observation of an event that arrives now with the given version.
func (s *store) seen(now fact.Time, resourceVersion string) inventory.Observation {
	s.arrive(now, resourceVersion, true)
	if !s.gap.isOpen() {
		return inventory.Live(now)
	}
	return inventory.Observation{At: now, NotBefore: notBefore(s.gap.from, now)}
}

// arrive notes that the watch has reached a version, and closes the gap if the version is past it.
// Until then the store's position in time is unknown: a tracker that resumes from here still has
// the whole gap before it. An event carries the version at which it happened; a bookmark may carry
// an old version and still be on time.
func (s *store) arrive(now fact.Time, resourceVersion string, event bool) {
	version := fact.VersionNumber(resourceVersion)
	if s.gap.endsBefore(version, now-s.arrived) {
		s.gap.close()
		s.caughtUp()
	}
	if event && !s.gap.isOpen() {
		s.noteLag(now, version)
	}
	s.arrived = now
	if !s.gap.isOpen() {
		s.lastSeen = now
	}
}

func (s *store) Add(obj any) error    { return s.take(obj, (*inventory.Inventory).Set, false) }
func (s *store) Update(obj any) error { return s.take(obj, (*inventory.Inventory).Set, false) }
func (s *store) Delete(obj any) error { return s.take(obj, (*inventory.Inventory).Delete, true) }

func (s *store) take(obj any, do func(*inventory.Inventory, any, inventory.Observation) error, gone bool) error {
	s.up()
	s.collector.metrics.events[s.kind].Inc()
	came := s.collector.now()
	text, textVersion := s.collector.event(s.kind, obj, gone)
	s.trim(obj)
	waited := func() bool { return s.collector.now().Sub(came) > delayedAfter }
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
		s.collector.families.change(text, textVersion)
		return do(inv, obj, seen)
	}, s.kind)
	if waited() {
		s.noteDelay()
	}
	return err
}

// noteDelay notes that coming events have been waiting since the last one, because the recorder
// blocked.
func (s *store) noteDelay() {
	s.collector.mu.Lock()
	defer s.collector.mu.Unlock()
	s.openGap(s.lastSeen, s.collector.present())
	s.askGapEnd()
}

// move records, under the collector's lock, how far the watch is.
func (s *store) move(resourceVersion string) {
	s.collector.moveTo(fact.Position{Kind: s.kind, ResourceVersion: resourceVersion, EventVersion: s.event, Since: s.since, At: s.lastSeen})
}

// Replace takes a list whose objects were trimmed as they arrived: streamed (Transformer, which
// also packed them) or in pages (listWatch).
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
	err := s.collector.replace(s.ctx, firstList{objects, s.drawing.of(objects), position}, before)
	if s.collector.now().Sub(began) > delayedAfter { // it may have waited for the first lists of other kinds
		s.noteDelay()
	}
	return err
}

// listing notes that a list was requested. No event arrives before the list does.
func (s *store) listing() {
	s.drawing.begin(s.collector, s.kind)
	s.collector.mu.Lock()
	defer s.collector.mu.Unlock()
	s.listBegan = s.collector.present()
	s.openedAt = 0
	s.gap.close()
}

// listed notes that a list has arrived. It returns until when the kind was known before, and the
// watch's new position. A list shows the state at its end, unless the process paused meanwhile.
func (s *store) listed(resourceVersion string) (before fact.Time, p fact.Position) {
	s.collector.mu.Lock()
	defer s.collector.mu.Unlock()
	before = s.lastSeen
	s.lastSeen = s.collector.present()
	if s.gap.isOpen() {
		s.lastSeen = s.listBegan
		s.gap.from = s.listBegan
	}
	s.since = s.lastSeen
	s.collector.metrics.seen(s.kind, s.lastSeen)
	s.event = resourceVersion
	return before, fact.Position{Kind: s.kind, ResourceVersion: resourceVersion, EventVersion: s.event, Since: s.since, At: s.lastSeen}
}

func (s *store) Bookmark(resourceVersion string) error {
	s.up()
	now := fact.At(s.collector.heart.beat()) // read the clock before waiting for the lock
	s.collector.mu.Lock()
	defer s.collector.mu.Unlock()
	s.collector.noteInterruption()
	s.arrive(now, resourceVersion, false)
	s.collector.metrics.seen(s.kind, now)
	s.move(resourceVersion)
	return nil
}

func (s *store) Resync() error { return nil }

// Transformer returns a function that trims and packs the objects of a list as they stream in, so
// that the untrimmed list is never in memory.
func (s *store) Transformer() cache.TransformFunc {
	p := &packer{kind: s.kind}
	return func(obj any) (any, error) {
		s.drawing.draw(obj)
		return p.pack(s.trim(obj)), nil
	}
}

// trim reduces an object to the fields that the tracker keeps.
func (s *store) trim(obj any) any { return Trim(s.collector.policy, s.kind, obj) }

// refused reports whether the API server does not serve a kind, or does not allow the tracker to
// read it.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// hide reports a kind that the API server does not serve or allow. The reflector keeps retrying, in case that changes.
func (c *Collector) hide(s *store, err error) {
	c.mu.Lock()
	c.families.unlisted(s.kind)
	c.mu.Unlock()
	if s.refused {
		return
	}
	s.refused = true
	c.metrics.available[s.kind].Set(0)
	if !apierrors.IsForbidden(err) { // rights.note has logged that
		level.Warn(s.logger).Log("msg", "this kind is skipped, as the API server does not serve it", "err", err)
	}
}

// without counts a kind whose list is refused as listed, so that the first lists do not wait for it. They do wait for an essential kind.
func (c *Collector) without(s *store) {
	c.mu.Lock()
	s.caughtUp()
	if s.kind == fact.Nodes {
		c.inv.HideNodes()
	}
	c.mu.Unlock()
	if essential(s.kind) {
		return
	}
	select {
	case <-c.synced:
	default:
		if _, err := c.keepFirst(s.kind, firstList{}); err != nil {
			level.Error(s.logger).Log("msg", "the first lists could not be taken in", "err", err)
		}
	}
}

// up notes that the watch works, or that a list has arrived, which may be all that is allowed.
func (s *store) up() {
	s.shown.Store(true)
	if s.refused && !s.collector.rights.lacks(s.right("watch")) {
		s.refused, s.refusedSince = false, time.Time{}
		s.collector.metrics.available[s.kind].Set(1)
		level.Info(s.logger).Log("msg", "this kind is watched now")
	}
	now := s.collector.now()
	if !s.failedSince.IsZero() {
		level.Info(s.logger).Log("msg", "the API server answers again", "away", now.Sub(s.failedSince).Round(time.Millisecond))
		s.failedSince, s.failureLoggedAt = time.Time{}, time.Time{}
	}
}

// failed notes that a list or watch request failed; the reflector will retry it.
func (s *store) failed(err error) {
	if s.ctx.Err() != nil {
		return // the collector is stopping
	}
	now := s.collector.now()
	if refused(err) {
		if s.refusedSince.IsZero() {
			s.refusedSince = now
		}
		s.collector.hide(s, err)
		return
	}
	s.refusedSince = time.Time{}
	s.collector.metrics.failures[s.kind].Inc()
	if s.failedSince.IsZero() {
		s.failedSince = now
	}
	if now.Sub(s.failureLoggedAt) < quietFor {
		return
	}
	s.failureLoggedAt = now
	hint := "waiting for the API server"
	if isExpired(err) {
		hint = "too far behind to resume, listing again"
	}
	level.Warn(s.logger).Log("msg", "watch failed", "hint", hint, "err", err)
}

// stillBroken notes why the last watch broke, as failed does. It returns that error if the reflector must list: no other watch can go on at
// its version. A streamed list that was cut off has no version; the reflector lists in pages then.
func (s *store) stillBroken(listing bool) error {
	err := s.broken
	if err == nil {
		return nil
	}
	s.broken = nil
	s.failed(err)
	if !listing && apierrors.IsTooManyRequests(s.again(err)) {
		return nil
	}
	return err
}

// listFailed notes that a list failed, streamed or in pages. It has no position that could be lost.
func (s *store) listFailed(err error) {
	s.failed(err)
	if refused(err) && s.ctx.Err() == nil {
		s.collector.without(s)
	}
}

const (
	// listsAfter is how long a watch is retried at its version before the kind is listed: 10 min. An API server remembers its events for
	// about as long; and what answers watches with errors may answer lists.
	listsAfter = 10 * time.Minute
	// forbiddenListsAfter is the same for a watch that the API server forbids: 2 min. An API server that starts forbids most requests until
	// it has read the roles and their bindings: for seconds, or longer if there are tens of thousands (kubernetes/kubernetes#121635).
	forbiddenListsAfter = 2 * time.Minute
)

// again turns an error that may pass into TooManyRequests, after which the reflector retries at the same version: the API server or
// something before it did not answer, or did not know the tracker or its rights for a while. After most other errors the reflector lists
// anew, and what came and went meanwhile is lost.
func (s *store) again(err error) error {
	since, most := s.failedSince, listsAfter
	status := apierrors.APIStatus(nil)
	if errors.As(err, &status) {
		code := status.Status().Code
		mayPass := code >= http.StatusInternalServerError || code == http.StatusUnauthorized || code == http.StatusForbidden
		if !mayPass || apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
			return err
		}
		if code == http.StatusForbidden {
			since, most = s.refusedSince, forbiddenListsAfter
		}
	}
	if s.ctx.Err() != nil || s.collector.now().Sub(since) > most {
		return err
	}
	return apierrors.NewTooManyRequests(err.Error(), 0)
}
