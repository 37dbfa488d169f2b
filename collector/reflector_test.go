package collector

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// The tests of this file run client-go's reflector against an API server that sends what they want.

// server serves claims. Each watch that is opened gets the next script.
type server struct {
	mu      sync.Mutex
	opened  []metav1.ListOptions
	scripts []script
}

// script does what the API server does with a watch that was opened with options.
type script func(options metav1.ListOptions, w *watch.RaceFreeFakeWatcher)

// inTurn does one script after the other with the same watch.
func inTurn(scripts ...script) script {
	return func(o metav1.ListOptions, w *watch.RaceFreeFakeWatcher) {
		for _, do := range scripts {
			do(o, w)
		}
	}
}

// adds sends that a claim was created.
func adds(name, version string) script {
	return func(_ metav1.ListOptions, w *watch.RaceFreeFakeWatcher) { w.Add(claimOf(name, version)) }
}

// stops closes the watch, as the API server does every few minutes.
func stops(_ metav1.ListOptions, w *watch.RaceFreeFakeWatcher) { w.Stop() }

func (s *server) open(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := watch.NewRaceFreeFake()
	if n := len(s.opened); n < len(s.scripts) {
		s.scripts[n](options, w)
	}
	s.opened = append(s.opened, options)
	return w, nil
}

// initialEvents sends a list as a stream, with the bookmark that ends it.
func initialEvents(version string, claims ...*corev1.PersistentVolumeClaim) script {
	return func(_ metav1.ListOptions, w *watch.RaceFreeFakeWatcher) {
		for _, claim := range claims {
			w.Add(claim)
		}
		end := &corev1.PersistentVolumeClaim{}
		end.ResourceVersion, end.Annotations = version, map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		w.Action(watch.Bookmark, end)
	}
}

// expired is what the API server sends in a watch whose version it has dropped.
func expired(w *watch.RaceFreeFakeWatcher) {
	status := apierrors.NewResourceExpired("too old resource version").ErrStatus
	w.Action(watch.Error, &status)
}

// run runs the watch of claims on the server until the test ends.
func (s *testStore) run(t *testing.T, api *server, resumeAt string) {
	t.Helper()
	c := s.collector
	c.stores = nil  // watch adds its own
	close(c.synced) // the lists of all other kinds are there
	if resumeAt != "" {
		c.snapshot = &fact.Snapshot{Positions: map[fact.Kind]fact.Position{fact.Claims: {Kind: fact.Claims, ResourceVersion: resumeAt}}}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.watch(ctx, resource{fact.Claims, &corev1.PersistentVolumeClaim{}, &cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return &corev1.PersistentVolumeClaimList{ListMeta: metav1.ListMeta{ResourceVersion: "100"}}, nil
			},
			WatchFuncWithContext: api.open,
		}, corev1.Resource("persistentvolumeclaims")})
	}()
	t.Cleanup(func() { cancel(); <-ended })
}

// await waits until the server has been asked for n watches, and the collector counts that many lists and events.
func (s *testStore) await(t *testing.T, api *server, watches, lists, events int) {
	t.Helper()
	m := s.collector.metrics
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		api.mu.Lock()
		opened := len(api.opened)
		api.mu.Unlock()
		listed, came := int(testutil.ToFloat64(m.lists[fact.Claims])), int(testutil.ToFloat64(m.events[fact.Claims]))
		if opened == watches && listed == lists && came == events {
			return
		}
		if time.Since(start) > time.Minute {
			t.Fatalf("%d watches, %d lists and %d events, want %d, %d and %d", opened, listed, came, watches, lists, events)
		}
	}
}

func TestStreamedListIsOneListAndNoEvents(t *testing.T) {
	s := newTestStore(100)
	api := &server{scripts: []script{
		func(o metav1.ListOptions, w *watch.RaceFreeFakeWatcher) {
			initialEvents("20", claimOf("a", "10"), claimOf("b", "11"))(o, w)
			w.Add(claimOf("c", "21"))
		},
	}}
	s.run(t, api, "")
	s.await(t, api, 1, 1, 1)
	if o := api.opened[0]; o.SendInitialEvents == nil || !*o.SendInitialEvents || !o.AllowWatchBookmarks {
		t.Errorf("it asked for %+v", o)
	}
}

func TestWatchThatEndsGoesOnWithoutAList(t *testing.T) {
	s := newTestStore(100)
	api := &server{scripts: []script{
		func(o metav1.ListOptions, w *watch.RaceFreeFakeWatcher) {
			initialEvents("20")(o, w)
			w.Add(claimOf("a", "21"))
			w.Stop() // as the API server does every few minutes
		},
		func(_ metav1.ListOptions, w *watch.RaceFreeFakeWatcher) { w.Modify(claimOf("a", "22")) },
	}}
	s.run(t, api, "")
	s.await(t, api, 2, 1, 2)
	if o := api.opened[1]; o.ResourceVersion != "21" || o.SendInitialEvents != nil {
		t.Errorf("the second watch asked for %+v", o)
	}
}

// TestWatchThatBreaksGoesOnWithoutAList breaks a watch in ways after which a reflector lists anew.
func TestWatchThatBreaksGoesOnWithoutAList(t *testing.T) {
	lost := apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding").AsObject(errors.New("http2: client connection lost"))
	breaks := func(_ metav1.ListOptions, w *watch.RaceFreeFakeWatcher) { w.Action(watch.Error, lost) }
	list, added := initialEvents("20"), adds("a", "21")
	for name, test := range map[string]struct {
		resumeAt string
		scripts  []script
		lists    int
		failures float64
	}{
		"an error after an event":       {"", []script{inTurn(list, added, breaks)}, 1, 1},
		"errors before the first event": {"", []script{inTurn(list, breaks), inTurn(added, breaks)}, 1, 2},
		"closed at once":                {"", []script{inTurn(list, added, stops), stops}, 1, 1},
		"closed after its list":         {"", []script{inTurn(list, stops), inTurn(added, stops)}, 1, 1},
		"resumed, and closed at once":   {"10", []script{stops, inTurn(added, stops)}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestStore(100)
			watches := len(test.scripts) + 1
			api := &server{scripts: test.scripts}
			s.run(t, api, test.resumeAt)
			s.await(t, api, watches, test.lists, 1)
			api.mu.Lock()
			defer api.mu.Unlock()
			if o := api.opened[watches-1]; o.ResourceVersion != "21" || o.SendInitialEvents != nil {
				t.Errorf("the last watch asked for %+v", o)
			}
			if n := testutil.ToFloat64(s.collector.metrics.failures[fact.Claims]); n != test.failures {
				t.Errorf("%v failures are counted, want %v", n, test.failures)
			}
		})
	}
}

// TestStreamedListThatIsCutOffIsListedInPages: a proxy may cut each stream. The pages of the API server are at version 100.
func TestStreamedListThatIsCutOffIsListedInPages(t *testing.T) {
	for name, claims := range map[string][]*corev1.PersistentVolumeClaim{"after an object": {claimOf("a", "10")}, "at once": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestStore(100)
			var cut, again time.Time
			api := &server{scripts: []script{
				func(_ metav1.ListOptions, w *watch.RaceFreeFakeWatcher) {
					for _, claim := range claims {
						w.Add(claim)
					}
					w.Stop()
					cut = time.Now()
				},
				func(o metav1.ListOptions, w *watch.RaceFreeFakeWatcher) {
					again = time.Now()
					initialEvents("120")(o, w)
				},
			}}
			s.run(t, api, "")
			s.await(t, api, 2, 1, 0)
			api.mu.Lock()
			defer api.mu.Unlock()
			if o := api.opened[1]; o.ResourceVersion != "100" || o.SendInitialEvents != nil {
				t.Errorf("the second watch asked for %+v", o)
			}
			if pause := again.Sub(cut); pause < againAfter.Duration {
				t.Errorf("it asked again after %s", pause)
			}
			if n := testutil.ToFloat64(s.collector.metrics.failures[fact.Claims]); n != 1 {
				t.Errorf("%v failures are counted, want 1", n)
			}
		})
	}
}

// TestWatchIsListedOnceARestoreHasLostItsVersion: the API server is at version 100, as its list says.
func TestWatchIsListedOnceARestoreHasLostItsVersion(t *testing.T) {
	silent := func(metav1.ListOptions, *watch.RaceFreeFakeWatcher) {}
	for name, test := range map[string]struct {
		resumeAt      string
		scripts       []script
		lists, events int
	}{
		"resumed": {"1000", []script{silent, initialEvents("101")}, 1, 0},
		"running": {"", []script{inTurn(initialEvents("999"), adds("a", "1000"), stops), silent, initialEvents("101")}, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestStore(0)
			api := &server{scripts: test.scripts}
			s.run(t, api, test.resumeAt)
			watches := len(test.scripts)
			s.await(t, api, watches, test.lists, test.events)
			api.mu.Lock()
			defer api.mu.Unlock()
			if o := api.opened[watches-2]; o.ResourceVersion != "1000" || api.opened[watches-1].SendInitialEvents == nil {
				t.Errorf("it asked for %+v", api.opened)
			}
		})
	}
}

func TestExpiredWatchIsListedAgain(t *testing.T) {
	s := newTestStore(100)
	api := &server{scripts: []script{
		func(o metav1.ListOptions, w *watch.RaceFreeFakeWatcher) {
			initialEvents("20")(o, w)
			w.Add(claimOf("a", "21"))
			expired(w)
		},
		initialEvents("90", claimOf("a", "21")),
	}}
	s.run(t, api, "")
	s.await(t, api, 2, 2, 1)
	if o := api.opened[1]; o.SendInitialEvents == nil {
		t.Errorf("the second watch asked for %+v, want a list", o)
	}
}

func TestResumedWatchThatExpiresAtItsFirstEventIsListed(t *testing.T) {
	s := newTestStore(100)
	api := &server{scripts: []script{
		func(_ metav1.ListOptions, w *watch.RaceFreeFakeWatcher) { expired(w) }, // the API server has accepted the version
		initialEvents("90", claimOf("a", "21")),
	}}
	s.run(t, api, "10")
	s.await(t, api, 2, 1, 0)
	if api.opened[0].ResourceVersion != "10" || api.opened[1].SendInitialEvents == nil {
		t.Errorf("it asked for %+v", api.opened)
	}
}
