package collector

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// requests is an API server that answers as a test wants, and keeps what it was asked.
type requests struct {
	list    func(metav1.ListOptions) (runtime.Object, error)
	open    func(metav1.ListOptions) (watch.Interface, error)
	lists   []metav1.ListOptions
	watches []metav1.ListOptions
}

func (r *requests) listWatch() *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
			r.lists = append(r.lists, options)
			return r.list(options)
		},
		WatchFuncWithContext: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
			r.watches = append(r.watches, options)
			return r.open(options)
		},
	}
}

// on returns the listWatch of a store that asks the API server r.
func (r *requests) on(s *testStore) listWatch {
	return listWatch{r.listWatch(), s.store, &corev1.PersistentVolumeClaim{}}
}

// streaming are the options by which a reflector asks for a list as a stream.
func streaming() metav1.ListOptions {
	yes := true
	return metav1.ListOptions{SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true}
}

func opens(w watch.Interface, err error) func(metav1.ListOptions) (watch.Interface, error) {
	return func(metav1.ListOptions) (watch.Interface, error) { return w, err }
}

// logTo has a store log into a buffer.
func (s *testStore) logTo() *bytes.Buffer {
	out := &bytes.Buffer{}
	s.logger = log.NewLogfmtLogger(out)
	return out
}

func TestResumedWatchStartsAtTheFormerVersionAfterABookmark(t *testing.T) {
	s := newTestStore(50)
	s.resumeAt = "42"
	events := watch.NewFake()
	api := &requests{open: opens(events, nil)}
	w, err := api.on(s).WatchWithContext(t.Context(), streaming())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if o := api.watches[0]; o.ResourceVersion != "42" || o.SendInitialEvents != nil || o.ResourceVersionMatch != "" || !o.AllowWatchBookmarks {
		t.Errorf("it asked for %+v", o)
	}
	first := <-w.ResultChan()
	end, ok := first.Object.(*corev1.PersistentVolumeClaim)
	if !ok || first.Type != watch.Bookmark || end.ResourceVersion != "42" || end.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		t.Errorf("the first event is %s %+v, want the bookmark that ends a list", first.Type, first.Object)
	}
	go events.Add(claimOf("a", "43"))
	if next := <-w.ResultChan(); next.Type != watch.Added || next.Object.(*corev1.PersistentVolumeClaim).ResourceVersion != "43" {
		t.Errorf("then comes %s %v", next.Type, next.Object)
	}
	if s.resumeAt != "" || !s.passOver {
		t.Errorf("it would resume again at %q, and takes the empty list: %t", s.resumeAt, !s.passOver)
	}
}

func TestListThatStandsForAResumeIsPassedOver(t *testing.T) {
	s := newTestStore(50)
	s.resumeAt = "42"
	api := &requests{}
	list, err := api.on(s).ListWithContext(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	close(s.collector.synced) // the lists of all other kinds are there
	if got := list.(*metav1.PartialObjectMetadataList); got.ResourceVersion != "42" || len(got.Items) > 0 || len(api.lists) > 0 {
		t.Errorf("the list is %+v, after %d requests", got, len(api.lists))
	}
	if err := s.Replace(nil, "42"); err != nil {
		t.Fatal(err)
	}
	if n := testutil.ToFloat64(s.collector.metrics.lists[fact.Claims]); n != 0 {
		t.Errorf("%v lists are counted", n)
	}
	if err := s.Replace(nil, "60"); err != nil {
		t.Fatal(err)
	}
	if n := testutil.ToFloat64(s.collector.metrics.lists[fact.Claims]); n != 1 {
		t.Errorf("after the next one, %v lists are counted", n)
	}
}

func TestExpiredVersionIsReplacedByAList(t *testing.T) {
	for name, gone := range map[string]error{
		"expired": apierrors.NewResourceExpired("too old resource version: 42 (100)"),
		"gone":    &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonGone}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestStore(100)
			said := s.logTo()
			s.resumeAt = "42"
			api := &requests{open: func(o metav1.ListOptions) (watch.Interface, error) {
				if o.ResourceVersion == "42" {
					return nil, gone
				}
				return watch.NewFake(), nil
			}}
			w, err := api.on(s).WatchWithContext(t.Context(), streaming())
			if err != nil {
				t.Fatal(err)
			}
			w.Stop()
			if len(api.watches) != 2 || api.watches[1].SendInitialEvents == nil {
				t.Errorf("it asked for %+v, want the list as a stream at last", api.watches)
			}
			if s.resumeAt != "" || s.passOver {
				t.Errorf("it would resume at %q, and pass over the list: %t", s.resumeAt, s.passOver)
			}
			if n := testutil.ToFloat64(s.collector.metrics.failures[fact.Claims]); n != 0 || !strings.Contains(said.String(), "listing") {
				t.Errorf("%v failures are counted, and the log says %s", n, said)
			}
		})
	}
}

// TestAWatchEndsAsExpiredOnceAnAnswerIsBeforeItsVersion: the API server accepts a version that it has not reached, and stays silent.
func TestAWatchEndsAsExpiredOnceAnAnswerIsBeforeItsVersion(t *testing.T) {
	for at, options := range map[string]metav1.ListOptions{"1000": streaming(), "": {ResourceVersion: "1000"}} {
		for answer, ends := range map[string]bool{"999": true, "1000": false, "1001": false, "": false} {
			t.Run("resumed at "+at+", answered "+answer, func(t *testing.T) {
				s := newTestStore(0)
				s.resumeAt, s.probes = at, []probe{{version: 1000}}
				source := watch.NewFake()
				api := &requests{open: opens(source, nil), list: func(metav1.ListOptions) (runtime.Object, error) {
					return &corev1.PersistentVolumeClaimList{ListMeta: metav1.ListMeta{ResourceVersion: answer}}, nil
				}}
				lw := api.on(s)
				s.currentVersion = lw.currentVersion
				w, err := lw.WatchWithContext(t.Context(), options)
				if err != nil {
					t.Fatal(err)
				}
				defer w.Stop()
				if at != "" {
					<-w.ResultChan() // the bookmark that ends the list
				}
				if !ends {
					s.awaitGapEnd(t)
					go source.Add(claimOf("a", "1001"))
				}
				event := <-w.ResultChan()
				if ended := event.Type == watch.Error && apierrors.IsResourceExpired(apierrors.FromObject(event.Object)); ended != ends {
					t.Errorf("it receives %s %v", event.Type, event.Object)
				}
				s.collector.mu.Lock()
				defer s.collector.mu.Unlock()
				if (len(s.probes) == 0) != ends {
					t.Errorf("%d probes are kept", len(s.probes))
				}
				if o := api.lists[0]; o.ResourceVersion != "" {
					t.Errorf("it asked for version %q, which a cache may answer", o.ResourceVersion)
				}
			})
		}
	}
}

// TestAnAnswerFromBeforeTheWatchDoesNotEndIt: events that came after the request may have moved the watch past the answer.
func TestAnAnswerFromBeforeTheWatchDoesNotEndIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStore(0)
		ctx, cancel := context.WithCancel(t.Context())
		defer s.end()
		defer cancel()
		s.ctx = ctx
		s.currentVersion = func(context.Context) (uint64, error) {
			version := s.latest.Load()
			if version == 600 {
				time.Sleep(time.Minute)
			}
			return version, nil
		}
		s.latest.Store(600)
		s.opened("590")
		synctest.Wait()
		s.latest.Store(1000)
		restored := s.opened("1000")
		time.Sleep(time.Hour)
		s.collector.mu.Lock()
		to := s.gap.to
		s.collector.mu.Unlock()
		if len(restored) > 0 || to != 1000 {
			t.Errorf("the gap goes to %d, and %d errors end the watch", to, len(restored))
		}
	})
}

func TestResumeThatFailsIsTriedAgainAtTheSameVersion(t *testing.T) {
	for name, test := range map[string]struct {
		err      error
		failures float64
	}{
		"connection refused": {errors.New("connection refused"), 2},
		"403":                {apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no")), 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestStore(100)
			s.resumeAt = "42"
			api := &requests{open: opens(nil, test.err)}
			for range 2 {
				if _, err := api.on(s).WatchWithContext(t.Context(), streaming()); !apierrors.IsTooManyRequests(err) || err.Error() != test.err.Error() {
					t.Errorf("got %v", err)
				}
			}
			if len(api.watches) != 2 || api.watches[1].ResourceVersion != "42" || s.resumeAt != "42" {
				t.Errorf("it asked for %+v, and would resume at %q", api.watches, s.resumeAt)
			}
			if n := testutil.ToFloat64(s.collector.metrics.failures[fact.Claims]); n != test.failures {
				t.Errorf("%v failures are counted, want %v", n, test.failures)
			}
		})
	}
}

// TestAFailureThatPassesCostsNoPosition has a reflector watch an API server whose watch ends and whose next answer is an error: it watches on
// at its version if the error may pass, and else lists again.
func TestAFailureThatPassesCostsNoPosition(t *testing.T) {
	unavailable := apierrors.NewGenericServerResponse(http.StatusServiceUnavailable, "watch", schema.GroupResource{}, "", "", 0, true)
	tooLarge := apierrors.NewTimeoutError("Too large resource version: 10, current: 5", 1)
	tooLarge.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	for name, test := range map[string]struct {
		err   error
		lists int
	}{
		"503":                         {unavailable, 1},
		"500":                         {apierrors.NewInternalError(errors.New("etcd")), 1},
		"401":                         {apierrors.NewUnauthorized("who?"), 1},
		"403":                         {apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no")), 1},
		"no route to host":            {&net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}, 1},
		"410, the events are gone":    {apierrors.NewResourceExpired("too old"), 2},
		"400":                         {apierrors.NewBadRequest("invalid version"), 2},
		"504, no such version exists": {tooLarge, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestStore(100)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			failed := false
			api := &requests{list: func(metav1.ListOptions) (runtime.Object, error) {
				return &corev1.PersistentVolumeClaimList{ListMeta: metav1.ListMeta{ResourceVersion: "10"}}, nil
			}}
			api.open = func(options metav1.ListOptions) (watch.Interface, error) {
				switch {
				case options.SendInitialEvents != nil:
					return nil, apierrors.NewInvalid(schema.GroupKind{}, "", nil)
				case !failed:
					failed = true
					return nil, test.err
				}
				if options.ResourceVersion != "10" {
					t.Errorf("it watches from %q", options.ResourceVersion)
				}
				cancel()
				return watch.NewFake(), nil
			}
			cache.NewReflectorWithOptions(api.on(s), &corev1.PersistentVolumeClaim{}, cache.NewStore(cache.MetaNamespaceKeyFunc), cache.ReflectorOptions{
				Backoff: &wait.Backoff{Duration: time.Millisecond, Steps: 100},
			}).RunWithContext(ctx)
			if len(api.lists) != test.lists {
				t.Errorf("it has listed %d times, want %d", len(api.lists), test.lists)
			}
		})
	}
}

// TestAWatchThatFailsForLongListsAgain: what answers watches with errors may answer lists. A right that is missing for long is missing.
func TestAWatchThatFailsForLongListsAgain(t *testing.T) {
	down, forbidden := errors.New("connection reset"), apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))
	type step struct {
		passed time.Duration
		err    error
		again  bool
	}
	for name, steps := range map[string][]step{
		"no answers":           {{0, down, true}, {listsAfter, down, true}, {time.Second, down, false}},
		"refusals":             {{0, forbidden, true}, {forbiddenListsAfter, forbidden, true}, {time.Second, forbidden, false}},
		"refusals after a day": {{0, down, true}, {24 * time.Hour, forbidden, true}, {forbiddenListsAfter, forbidden, true}, {time.Second, forbidden, false}},
		"two refusals with other failures between": {{0, forbidden, true}, {time.Second, down, true}, {forbiddenListsAfter, forbidden, true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestStore(100)
			for i, step := range steps {
				s.stop(step.passed)
				_, err := (&requests{open: opens(nil, step.err)}).on(s).WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "10"})
				if again := apierrors.IsTooManyRequests(err); again != step.again {
					t.Errorf("step %d: it watches again: %t", i, again)
				}
			}
		})
	}
}

// TestAWatchThatBreaksForLongListsAgain opens watches that the API server closes at once.
func TestAWatchThatBreaksForLongListsAgain(t *testing.T) {
	s := newTestStore(100)
	for i, step := range []struct {
		passed time.Duration
		opens  bool
	}{{0, true}, {0, true}, {listsAfter, true}, {time.Second, false}, {time.Second, true}} {
		s.stop(step.passed)
		source := watch.NewFake()
		source.Stop()
		w, err := (&requests{open: opens(source, nil)}).on(s).WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "10"})
		if step.opens != (err == nil) || apierrors.IsTooManyRequests(err) {
			t.Fatalf("step %d: %v", i, err)
		}
		if w == nil {
			continue
		}
		if end := <-w.ResultChan(); end.Type != watch.Error || !apierrors.IsTooManyRequests(apierrors.FromObject(end.Object)) {
			t.Errorf("step %d: the watch ends with %s %v, after which a reflector does not pause", i, end.Type, end.Object)
		}
		if _, open := <-w.ResultChan(); open {
			t.Errorf("step %d: the watch goes on", i)
		}
	}
}

// TestAnAPIServerThatStreamsNoListsIsNoFailure: it sends pages instead.
func TestAnAPIServerThatStreamsNoListsIsNoFailure(t *testing.T) {
	s := newTestStore(100)
	out := s.logTo()
	api := &requests{open: opens(nil, apierrors.NewInvalid(schema.GroupKind{}, "", nil))}
	if _, err := api.on(s).WatchWithContext(t.Context(), streaming()); !apierrors.IsInvalid(err) {
		t.Errorf("got %v", err)
	}
	if n := testutil.ToFloat64(s.collector.metrics.failures[fact.Claims]); n != 0 || strings.Contains(out.String(), "failed") {
		t.Errorf("%v failures are counted, and it logs %q", n, out)
	}
}

// TestAWatchWithoutAnAnswerIsAFailure: client-go returns an empty watch without an error then. It grants no right.
func TestAWatchWithoutAnAnswerIsAFailure(t *testing.T) {
	for name, test := range map[string]struct {
		resumeAt string
		options  metav1.ListOptions
		again    bool
	}{
		"a streamed list":      {"", streaming(), false},
		"a watch that goes on": {"", metav1.ListOptions{ResourceVersion: "10"}, true},
		"a watch that resumes": {"10", streaming(), true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestStore(100)
			s.resumeAt = test.resumeAt
			forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))
			s.noteRight("watch", forbidden)
			s.failed(forbidden)
			_, err := (&requests{open: opens(watch.NewEmptyWatch(), nil)}).on(s).WatchWithContext(t.Context(), test.options)
			if err == nil || apierrors.IsTooManyRequests(err) != test.again {
				t.Errorf("got %v, want an error after which the reflector watches again: %t", err, test.again)
			}
			m := s.collector.metrics
			if n := testutil.ToFloat64(m.failures[fact.Claims]); n != 1 {
				t.Errorf("%v failures are counted, want 1", n)
			}
			if !s.collector.rights.lacks(s.right("watch")) || testutil.ToFloat64(m.available[fact.Claims]) != 0 {
				t.Error("the kind counts as allowed")
			}
		})
	}
}

func TestReconnectedWatchOpensAGapAndAStreamedListDoesNot(t *testing.T) {
	for name, test := range map[string]struct {
		options metav1.ListOptions
		gap     bool
	}{
		"a watch that goes on": {metav1.ListOptions{ResourceVersion: "10"}, true},
		"a streamed list":      {streaming(), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestStore(100)
			s.comeAndGo(t, "10")
			s.pass(time.Minute)
			w, err := (&requests{open: opens(watch.NewFake(), nil)}).on(s).WatchWithContext(t.Context(), test.options)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			s.collector.mu.Lock()
			defer s.collector.mu.Unlock()
			if open := s.gap.from != 0; open != test.gap {
				t.Errorf("a gap is open: %t", open)
			}
		})
	}
}

func TestWatchAndListThatFailAreCounted(t *testing.T) {
	s := newTestStore(100)
	down := errors.New("connection refused")
	api := &requests{open: opens(nil, down), list: func(metav1.ListOptions) (runtime.Object, error) { return nil, down }}
	lw := api.on(s)
	if _, err := lw.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "10"}); err == nil || err.Error() != down.Error() {
		t.Errorf("the watch: %v", err)
	}
	if _, err := lw.ListWithContext(t.Context(), metav1.ListOptions{}); !errors.Is(err, down) {
		t.Errorf("the list: %v", err)
	}
	if n := testutil.ToFloat64(s.collector.metrics.failures[fact.Claims]); n != 2 {
		t.Errorf("%v failures are counted, want 2", n)
	}
}

func TestPagesOfAListAreTrimmedAsTheyArrive(t *testing.T) {
	s := newTestStore(100)
	claim := claimOf("a", "10")
	claim.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "a secret"}
	api := &requests{list: func(metav1.ListOptions) (runtime.Object, error) {
		return &corev1.PersistentVolumeClaimList{Items: []corev1.PersistentVolumeClaim{*claim}}, nil
	}}
	list, err := api.on(s).ListWithContext(t.Context(), metav1.ListOptions{Continue: "page 2"})
	if err != nil {
		t.Fatal(err)
	}
	if item := list.(*corev1.PersistentVolumeClaimList).Items[0]; item.Annotations[corev1.LastAppliedConfigAnnotation] != "" {
		t.Errorf("the claim still has %v", item.Annotations)
	}
}

func TestLatestVersionIsThatOfAListOfOneObject(t *testing.T) {
	s := newTestStore(100)
	at := func(version string, failure error) uint64 {
		api := &requests{list: func(metav1.ListOptions) (runtime.Object, error) {
			return &corev1.PersistentVolumeClaimList{ListMeta: metav1.ListMeta{ResourceVersion: version}}, failure
		}}
		defer func() {
			if len(api.lists) != 1 || api.lists[0].Limit != 1 {
				t.Errorf("it asked for %+v", api.lists)
			}
		}()
		got, err := api.on(s).currentVersion(t.Context())
		if !errors.Is(err, failure) {
			t.Errorf("the error is %v, want %v", err, failure)
		}
		return got
	}
	if got := at("120", nil); got != 120 {
		t.Errorf("got %d", got)
	}
	if got := at("", errors.New("connection refused")); got != 0 {
		t.Errorf("of an API server that does not answer: %d", got)
	}
	noList := &requests{list: func(metav1.ListOptions) (runtime.Object, error) { return claimOf("a", "10"), nil }}
	if got, err := noList.on(s).currentVersion(t.Context()); got != 0 || err != nil {
		t.Errorf("of an answer that is no list: %d, %v", got, err)
	}
}

func TestPrependedWatchEndsWithItsSourceAndStopsIt(t *testing.T) {
	first := watch.Event{Type: watch.Bookmark}
	ended := watch.NewFake()
	w := prepended(ended, first)
	<-w.ResultChan()
	ended.Stop()
	if _, open := <-w.ResultChan(); open {
		t.Error("it goes on after its source has ended")
	}
	for name, read := range map[string]bool{"before the first event is read": false, "afterwards": true} {
		t.Run(name, func(t *testing.T) {
			source := watch.NewFake()
			w := prepended(source, first)
			if read {
				<-w.ResultChan()
			}
			w.Stop()
			for start := time.Now(); !source.IsStopped(); time.Sleep(time.Millisecond) {
				if time.Since(start) > time.Minute {
					t.Fatal("its source is not stopped")
				}
			}
		})
	}
}

func TestKindThatIsRefusedIsReportedOnceUntilItIsShown(t *testing.T) {
	claims := schema.GroupResource{Resource: "persistentvolumeclaims"}
	for name, err := range map[string]error{
		"forbidden":  apierrors.NewForbidden(claims, "", errors.New("no rule")),
		"not served": apierrors.NewNotFound(claims, ""),
		"no watch":   apierrors.NewMethodNotSupported(claims, "watch"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestStore(100)
			said := s.logTo()
			s.collector.rights.logger, s.resource = s.logger, claims
			for range 2 {
				s.noteRight("watch", err)
				s.failed(err)
			}
			m := s.collector.metrics
			if shown, failures := testutil.ToFloat64(m.available[fact.Claims]), testutil.ToFloat64(m.failures[fact.Claims]); shown != 0 || failures != 0 {
				t.Errorf("available: %v, failures: %v", shown, failures)
			}
			if n := strings.Count(said.String(), "this kind is skipped"); n != 1 {
				t.Errorf("the log says it %d times: %s", n, said)
			}
			s.noteRight("watch", nil)
			if err := s.Bookmark("10"); err != nil {
				t.Fatal(err)
			}
			if missing := s.collector.MissingRights(); missing != "" {
				t.Error(missing)
			}
			if shown := testutil.ToFloat64(m.available[fact.Claims]); shown != 1 || !strings.Contains(said.String(), "this kind is watched now") {
				t.Errorf("available: %v, and the log says %s", shown, said)
			}
		})
	}
}

func TestWatchThatKeepsFailingIsLoggedOnceAMinute(t *testing.T) {
	s := newTestStore(100)
	said := s.logTo()
	for range 125 { // as many seconds
		s.failed(errors.New("connection refused"))
		s.pass(time.Second)
	}
	if n := strings.Count(said.String(), "watch failed"); n != 3 {
		t.Errorf("the log says it %d times in two minutes", n)
	}
	if n := testutil.ToFloat64(s.collector.metrics.failures[fact.Claims]); n != 125 {
		t.Errorf("%v failures are counted", n)
	}
	s.up()
	s.up()
	if n := strings.Count(said.String(), "the API server answers again"); n != 1 || !strings.Contains(said.String(), "away=2m5s") {
		t.Errorf("the end is logged %d times: %s", n, said)
	}
}

func TestFailureOfAnOldVersionHasAHintOfItsOwn(t *testing.T) {
	s := newTestStore(100)
	said := s.logTo()
	s.failed(apierrors.NewResourceExpired("too old resource version"))
	if !strings.Contains(said.String(), "too far behind to resume") {
		t.Errorf("the log says %s", said)
	}
}

func TestFailureWhileTheTrackerStopsIsNone(t *testing.T) {
	s := newTestStore(100)
	said := s.logTo()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.ctx = ctx
	s.failed(context.Canceled)
	if n := testutil.ToFloat64(s.collector.metrics.failures[fact.Claims]); n != 0 || said.Len() > 0 {
		t.Errorf("%v failures are counted, and the log says %s", n, said)
	}
}

func TestResumedWatchThatIsSilentHasCaughtUp(t *testing.T) {
	s := newTestStore(100)
	c := s.collector
	c.behind.Add(1)
	s.behind, s.lastSeen = true, fact.At(s.now)
	s.connect(t, 0) // the API server does not say at which version it is
	c.mu.Lock()
	if !s.behind {
		t.Error("it has caught up at once")
	}
	s.stop(time.Duration(liveAfter+1) * time.Microsecond)
	c.mu.Unlock()
	for start := time.Now(); c.behind.Load() != 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatal("it waits for an event that need not come")
		}
	}
}

func TestPausesBetweenAttemptsGrowToFiveSeconds(t *testing.T) {
	backoff := againAfter // a copy: a Backoff counts its steps
	var longest time.Duration
	for i := range 100 {
		pause := backoff.Step()
		if longest = max(longest, pause); pause < againAfter.Duration || pause > againAfter.Cap*3/2 {
			t.Fatalf("pause %d is %s", i, pause)
		}
	}
	if longest < againAfter.Cap {
		t.Errorf("the longest pause is %s", longest)
	}
}
