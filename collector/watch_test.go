package collector

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// sink keeps the positions that it is given, and may take its time.
type sink struct {
	positions map[fact.Kind]fact.Position
	watched   []fact.Span
	facts     fact.Facts
	claims    []fact.ClaimState
	takes     func()
}

func (s *sink) Apply(u *fact.Update) {
	for _, p := range u.Positions {
		s.positions[p.Kind] = p
	}
	if u.Watched != nil {
		s.watched = u.Watched
	}
	s.facts.Namespaces = append(s.facts.Namespaces, u.Facts.Namespaces...)
	s.facts.Claims = append(s.facts.Claims, u.Facts.Claims...)
	s.facts.Changes = append(s.facts.Changes, u.Facts.Changes...)
	s.claims = append(s.claims, u.Claims...)
	if s.takes != nil {
		s.takes()
	}
}

// testStore is the store of a kind's watch, with clocks of its own. The API server is at
// version latest.
type testStore struct {
	*store
	sink   *sink
	now    time.Time
	steady time.Duration
	latest atomic.Uint64
}

var allFeatures = Features{Owners: true, Attachments: true, StorageCapacity: true}

func newTestStore(latest uint64) *testStore {
	s := &testStore{sink: &sink{positions: map[fact.Kind]fact.Position{}}, now: time.Unix(1_700_000_000, 0)}
	c := New(Options{
		Features: allFeatures, Exporter: s.sink, Logger: log.NewNopLogger(), Registerer: prometheus.NewRegistry(), Now: func() time.Time { return s.now },
	})
	s.latest.Store(latest)
	c.heart = newHeartbeat(func() reading { return reading{s.now, s.steady} })
	s.store = &store{
		collector: c, kind: fact.Claims, ctx: context.Background(), logger: log.NewNopLogger(),
		currentVersion: func(context.Context) (uint64, error) { return s.latest.Load(), nil },
	}
	c.addStore(s.store)
	return s
}

// pass lets time pass in which the heart beats.
func (s *testStore) pass(d time.Duration) {
	for ; d > 0; d -= beatEvery {
		s.stop(min(d, beatEvery))
		s.collector.heart.beat()
	}
}

// stop lets time pass in which the process does not run.
func (s *testStore) stop(d time.Duration) { s.now, s.steady = s.now.Add(d), s.steady+d }

// connected has a watch set up whose version is before all others.
func (s *testStore) connected() { s.opened("") }

// connect sets the watch up again, at a version that the API server is at, and waits until the
// store knows.
func (s *testStore) connect(t *testing.T, latest uint64) {
	t.Helper()
	s.latest.Store(latest)
	s.connected()
	s.awaitGapEnd(t)
}

// awaitGapEnd waits until the store knows up to which version the gap goes.
func (s *testStore) awaitGapEnd(t *testing.T) {
	t.Helper()
	s.awaitGapTo(t, func(version uint64) bool { return version != notKnownYet })
}

// awaitGapTo waits until the version up to which the gap goes is as wanted.
func (s *testStore) awaitGapTo(t *testing.T, wanted func(version uint64) bool) {
	t.Helper()
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		s.collector.mu.Lock()
		known := wanted(s.gap.to)
		s.collector.mu.Unlock()
		if known {
			return
		}
		if time.Since(start) > time.Minute {
			t.Fatal("it does not know how far the gap goes")
		}
	}
}

func claimOf(uid, version string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{}
	claim.Name, claim.Namespace, claim.ResourceVersion = "claim-"+uid, "shop", version
	claim.UID = types.UID("uid-" + version)
	claim.CreationTimestamp = metav1.Unix(1_600_000_000, 0)
	return claim
}

// comeAndGo adds a claim and deletes it, and returns its last row.
func (s *testStore) comeAndGo(t *testing.T, version string) fact.Claim {
	t.Helper()
	claim := claimOf("a", version)
	for _, take := range []func(any) error{s.Add, s.Delete} {
		if err := take(claim); err != nil {
			t.Fatal(err)
		}
	}
	return s.sink.facts.Claims[len(s.sink.facts.Claims)-1]
}

// TestCatchingUp continues a watch after a gap: all events of the gap have the same lower bound, the saved
// position has it, too, and the gap ends on a busy cluster as well.
func TestCatchingUp(t *testing.T) {
	s := newTestStore(0)
	s.comeAndGo(t, "10")
	before := fact.At(s.now)
	s.pass(time.Minute)
	s.connect(t, 100)
	for _, version := range []string{"20", "100"} {
		s.pass(time.Second) // the watch is never silent
		now := fact.At(s.now)
		if row := s.comeAndGo(t, version); row.DeletedNotBefore != before || row.DeletedAt != now {
			t.Errorf("in the gap: gone between %s and %s", row.DeletedNotBefore.Time(), row.DeletedAt.Time())
		}
		if p := s.sink.positions[fact.Claims]; p.At != before || p.ResourceVersion != version {
			t.Errorf("the position is %s at %s, though nobody has caught up", p.ResourceVersion, p.At.Time())
		}
	}
	s.connect(t, 110) // once more, before all was told
	s.pass(time.Second)
	if row := s.comeAndGo(t, "105"); row.DeletedNotBefore != before {
		t.Errorf("after a cut in the gap: gone after %s", row.DeletedNotBefore.Time())
	}
	s.pass(time.Second)
	now := fact.At(s.now)
	if row := s.comeAndGo(t, "111"); row.DeletedNotBefore != now || row.DeletedAt != now {
		t.Errorf("past the gap: gone between %s and %s", row.DeletedNotBefore.Time(), row.DeletedAt.Time())
	}
	if p := s.sink.positions[fact.Claims]; p.At != now {
		t.Errorf("past the gap the position is at %s", p.At.Time())
	}
}

// TestDelayedEvents checks that events which waited for a slow sink are not dated by the moment at which it took them.
func TestDelayedEvents(t *testing.T) {
	s := newTestStore(50)
	s.sink.takes = func() { s.pass(time.Hour); s.sink.takes = nil }
	s.comeAndGo(t, "10")
	s.awaitGapEnd(t)
	began := fact.At(s.now.Add(-time.Hour))
	if row := s.comeAndGo(t, "40"); row.DeletedNotBefore != began || row.DeletedAt != fact.At(s.now) {
		t.Errorf("gone between %s and %s", row.DeletedNotBefore.Time(), row.DeletedAt.Time())
	}
	if row := s.comeAndGo(t, "51"); row.DeletedNotBefore != row.DeletedAt {
		t.Errorf("past what waited: gone between %s and %s", row.DeletedNotBefore.Time(), row.DeletedAt.Time())
	}
}

// TestCaughtUpWithoutAKind goes on from an earlier tracker that may not see a kind any more:
// nobody waits for what that kind would tell.
func TestCaughtUpWithoutAKind(t *testing.T) {
	s := newTestStore(0)
	c := s.collector
	c.snapshot = &fact.Snapshot{Positions: map[fact.Kind]fact.Position{
		fact.Claims: {Kind: fact.Claims, ResourceVersion: "10"}, "Gadget": {Kind: "Gadget", ResourceVersion: "10"},
	}}
	if err := c.restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.store.resumeAt, s.behind = "10", true
	if c.Synced() != nil || c.CaughtUp() {
		t.Error("it has caught up before the watch was there")
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumeclaims"}, "", errors.New("not any more"))
	s.failed(forbidden)
	if c.CaughtUp() {
		t.Error("it does not wait for an API server that forbids all watches while it starts")
	}
	s.listFailed(forbidden)
	for start := time.Now(); !c.CaughtUp(); time.Sleep(time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatal("it waits for a kind that it is not shown")
		}
	}
}

// TestBookmarkEndsTheGap is what a quiet watch has.
func TestBookmarkEndsTheGap(t *testing.T) {
	for version, passed := range map[string]bool{"100": false, "101": true} {
		s := newTestStore(0)
		s.comeAndGo(t, "10")
		want := fact.At(s.now)
		s.pass(time.Minute)
		s.connect(t, 100)
		if passed {
			want = fact.At(s.now)
		}
		if err := s.Bookmark(version); err != nil {
			t.Fatal(err)
		}
		if got := s.collector.moved[fact.Claims].At; got != want {
			t.Errorf("bookmark at %s: watched until %s, want %s", version, got.Time(), want.Time())
		}
	}
	if fact.VersionNumber("not a number") != 0 {
		t.Error("a version that is no number")
	}
}

// TestAWatchHasCaughtUpOnceItIsKnownToBeSilent: a watch is silent, too, before a list that replaces it arrives.
func TestAWatchHasCaughtUpOnceItIsKnownToBeSilent(t *testing.T) {
	later := func(context.Context) (uint64, error) { return 2000, nil }
	for name, test := range map[string]struct {
		answers  func(context.Context) (uint64, error)
		lists    bool
		caughtUp time.Duration // zero if only a list shows that
	}{
		"a version that goes on":          {later, false, 2 * time.Second},
		"no answer":                       {func(ctx context.Context) (uint64, error) { <-ctx.Done(); return 0, ctx.Err() }, false, connectTimeout},
		"a list, as of an expired watch":  {later, true, 0},
		"a version from before a restore": {func(context.Context) (uint64, error) { return 600, nil }, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTestStore(0)
				ctx, cancel := context.WithCancel(t.Context())
				defer s.end()
				defer cancel()
				s.store.ctx, s.behind, s.currentVersion = ctx, true, test.answers
				close(s.collector.synced)
				s.opened("1000")
				if test.lists {
					s.listing()
				}
				var passed time.Duration
				for ; passed < time.Minute; passed += time.Second {
					synctest.Wait()
					s.collector.mu.Lock()
					behind := s.behind
					s.stop(time.Second)
					s.collector.mu.Unlock()
					if !behind {
						break
					}
					time.Sleep(time.Second)
				}
				if want := test.caughtUp; want != 0 && (passed < want || passed > want+2*time.Second) || want == 0 && passed < time.Minute {
					t.Errorf("it has caught up after %s, want %s", passed, want)
				}
				if err := s.Replace(nil, "601"); err != nil || s.behind {
					t.Errorf("with the list it has caught up: %t, %v", !s.behind, err)
				}
			})
		})
	}
}

// TestABookmarkIsNoEvent: a bookmark moves the position, and not the last event. Two trackers get
// theirs at different moments, and have seen the same events.
func TestABookmarkIsNoEvent(t *testing.T) {
	s := newTestStore(0)
	expect := func(version, event string) {
		t.Helper()
		p, moved := s.collector.moved[fact.Claims]
		if !moved {
			p = s.sink.positions[fact.Claims]
		}
		if p.ResourceVersion != version || p.EventVersion != event {
			t.Errorf("at %s, the last event at %s; want %s and %s", p.ResourceVersion, p.EventVersion, version, event)
		}
	}
	close(s.collector.synced)
	if err := s.Replace(nil, "7"); err != nil {
		t.Fatal(err)
	}
	expect("7", "7")
	s.comeAndGo(t, "10")
	expect("10", "10")
	if err := s.Bookmark("90"); err != nil {
		t.Fatal(err)
	}
	expect("90", "10")

	s = newTestStore(50)
	s.resumeAt = "42"
	s.resumed()
	if err := s.Replace(nil, "42"); err != nil {
		t.Fatal(err)
	}
	if err := s.Bookmark("60"); err != nil {
		t.Fatal(err)
	}
	expect("60", "42")
}

// TestWhatComesOfNoEventIsUnprompted: a tick and what another tracker left are no events.
func TestWhatComesOfNoEventIsUnprompted(t *testing.T) {
	s := newTestStore(0)
	c := s.collector
	close(c.synced)
	expect := func(want bool) {
		t.Helper()
		if c.update.Unprompted != want {
			t.Errorf("unprompted is %t", c.update.Unprompted)
		}
	}
	s.comeAndGo(t, "10")
	expect(false)
	c.tick(t.Context())
	expect(true)
	if err := s.Replace(nil, "12"); err != nil {
		t.Fatal(err)
	}
	expect(false)
	if err := c.Reconcile(func() (*fact.Snapshot, error) { return &fact.Snapshot{}, nil }); err != nil {
		t.Fatal(err)
	}
	expect(true)
}

// TestALateRestoreLeavesOutWhatIsNewer: while the collector reads the catalog it takes no event, and another tracker writes a claim
// that was created meanwhile. The claim is not gone: it is to come, and is created then.
func TestALateRestoreLeavesOutWhatIsNewer(t *testing.T) {
	for name, reach := range map[string]func(*testStore) error{
		"after an event":   func(s *testStore) error { return s.Add(claimOf("a", "10")) },
		"after a list":     func(s *testStore) error { return s.Replace(nil, "10") },
		"after a bookmark": func(s *testStore) error { return errors.Join(s.Replace(nil, "9"), s.Bookmark("10")) },
		"after a watch resumed": func(s *testStore) error {
			s.collector.synced = make(chan struct{})
			s.collector.snapshot = &fact.Snapshot{Positions: map[fact.Kind]fact.Position{fact.Claims: {Kind: fact.Claims, ResourceVersion: "10"}}}
			return s.collector.restore(t.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestStore(0)
			c := s.collector
			c.first = nil
			close(c.synced)
			if err := reach(s); err != nil {
				t.Fatal(err)
			}
			s.shown.Store(true)
			s.sink.facts = fact.Facts{}
			former, newer := claimOf("b", "8"), claimOf("c", "12")
			saved := func(o *corev1.PersistentVolumeClaim) fact.SavedObject {
				return fact.SavedObject{Kind: fact.Claims, UID: string(o.UID), Wire: inventory.Wire(o), ResourceVersion: o.ResourceVersion}
			}
			err := c.Reconcile(func() (*fact.Snapshot, error) {
				return &fact.Snapshot{Objects: fact.SavedList{saved(former), saved(newer)}}, nil
			})
			if err = errors.Join(err, s.Add(newer)); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, change := range s.sink.facts.Changes {
				got = append(got, change.UID+" "+string(change.Action))
			}
			if want := []string{"uid-8 deleted", "uid-12 created"}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestALateRestoreWaitsForAListThatIsToBeTaken: the API server begins to show a kind while the collector reads the catalog.
func TestALateRestoreWaitsForAListThatIsToBeTaken(t *testing.T) {
	s := newTestStore(0)
	c := s.collector
	c.first = nil
	close(c.synced)
	claim := claimOf("a", "8")
	err := c.Reconcile(func() (*fact.Snapshot, error) {
		s.up() // Replace calls this before it waits for the lock
		return &fact.Snapshot{Objects: fact.SavedList{{Kind: fact.Claims, UID: string(claim.UID), Wire: inventory.Wire(claim), ResourceVersion: "8"}}}, nil
	})
	if err = errors.Join(err, s.Replace([]any{claim}, "10")); err != nil {
		t.Fatal(err)
	}
	if len(s.sink.facts.Changes) > 0 || c.inv.Count(fact.Claims) != 1 {
		t.Errorf("%d claims, after the changes %+v", c.inv.Count(fact.Claims), s.sink.facts.Changes)
	}
}

// TestNothingOfAWatchOutlivesIt: a tracker that stops closes its journal and its log behind the watches.
func TestNothingOfAWatchOutlivesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStore(0)
		ctx, cancel := context.WithCancel(t.Context())
		s.ctx, s.behind = ctx, true
		s.currentVersion = func(ctx context.Context) (uint64, error) {
			<-ctx.Done()
			time.Sleep(time.Minute) // an answer that comes late
			return 7, nil
		}
		s.connected()
		cancel()
		s.end()
		if s.gap.to != 7 {
			t.Error("the request for the end of the gap is still under way")
		}
		s.paused(0, fact.At(s.now))
		s.awaitQuiet()
		s.pass(time.Minute)
		time.Sleep(time.Hour)
		if s.gap.to != notKnownYet || !s.behind {
			t.Error("something has begun after the end")
		}
	})
}
