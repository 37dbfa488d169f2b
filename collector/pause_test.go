package collector

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// inFlight is how long an event may be on its way to a live store.
const inFlight = fact.Time(delayedAfter / time.Microsecond)

// wantBounds compares the bounds of a deleted claim.
func wantBounds(t *testing.T, when string, row fact.Claim, from, to fact.Time) {
	t.Helper()
	if row.DeletedNotBefore != from || row.DeletedAt != to {
		t.Errorf("%s: gone between %s and %s, want %s and %s", when, row.DeletedNotBefore.Time(), row.DeletedAt.Time(), from.Time(), to.Time())
	}
}

// add has the store see a claim, which exists from then on.
func (s *testStore) add(t *testing.T, version string) {
	t.Helper()
	if err := s.Add(claimOf("a", version)); err != nil {
		t.Fatal(err)
	}
}

// remove has the store see that the claim is gone, and returns its row.
func (s *testStore) remove(t *testing.T, version string) fact.Claim {
	t.Helper()
	if err := s.Delete(claimOf("a", version)); err != nil {
		t.Fatal(err)
	}
	return s.sink.facts.Claims[len(s.sink.facts.Claims)-1]
}

// TestReadAfterAPause holds how an event is dated that came while the process was stopped or
// its machine was suspended; whether the heartbeat notices the pause first, or the event does.
func TestReadAfterAPause(t *testing.T) {
	const length = 15 * time.Second
	for name, suspended := range map[string]bool{"stopped": false, "suspended": true} {
		for order, beatFirst := range map[string]bool{"heartbeat first": true, "event first": false} {
			t.Run(name+", "+order, func(t *testing.T) {
				s := newTestStore(30)
				c := s.collector
				s.add(t, "10")
				s.pass(time.Minute)
				now := fact.At(s.now)
				wantBounds(t, "before the pause", s.remove(t, "11"), now, now)
				s.add(t, "12")
				s.pass(10 * time.Second)

				last, lastSeen := fact.At(s.now), s.lastSeen
				s.stop(length)
				if suspended {
					s.steady -= length
				}
				if beatFirst {
					c.heart.beat()
					c.mu.Lock()
					c.noteInterruption()
					c.mu.Unlock()
					s.awaitGapEnd(t)
				}
				wantBounds(t, "in the pause", s.remove(t, "20"), last-inFlight, fact.At(s.now))
				if p := s.sink.positions[fact.Claims]; p.At != lastSeen || p.ResourceVersion != "20" {
					t.Errorf("the position is %s at %s, though the watch was last up at %s", p.ResourceVersion, p.At.Time(), lastSeen.Time())
				}
				s.awaitGapEnd(t)
				s.pass(5 * time.Second)
				s.add(t, "29")
				wantBounds(t, "the rest of the pause", s.remove(t, "30"), last-inFlight, fact.At(s.now))
				s.pass(time.Second)
				now = fact.At(s.now)
				s.add(t, "31")
				wantBounds(t, "after the pause", s.remove(t, "32"), now, now)
				if p := s.sink.positions[fact.Claims]; p.At != now {
					t.Errorf("after the pause the position is at %s", p.At.Time())
				}
				if n := testutil.ToFloat64(c.metrics.pauses); n != 1 {
					t.Errorf("%v pauses", n)
				}
			})
		}
	}
}

// TestAPauseBeforeABookmark checks that a bookmark that was sent before a pause, and read after
// it, does not vouch for the pause.
func TestAPauseBeforeABookmark(t *testing.T) {
	s := newTestStore(100)
	s.comeAndGo(t, "10")
	before := s.lastSeen
	s.pass(time.Second)
	s.stop(time.Minute)
	watchedUntil := func(version string, want fact.Time) {
		if err := s.Bookmark(version); err != nil {
			t.Fatal(err)
		}
		if at := s.collector.moved[fact.Claims].At; at != want {
			t.Errorf("bookmark at %s: watched until %s, want %s", version, at.Time(), want.Time())
		}
	}
	watchedUntil("99", before)
	s.awaitGapEnd(t)
	watchedUntil("101", fact.At(s.now))
}

// TestAPauseInAGap checks that a pause does not narrow the bounds of a gap that is open, and
// that the gap goes on to where the API server is after the pause.
func TestAPauseInAGap(t *testing.T) {
	s := newTestStore(0)
	s.add(t, "10")
	before := fact.At(s.now)
	s.pass(time.Minute)
	s.connect(t, 100)
	s.latest.Store(200)
	s.stop(time.Minute)
	wantBounds(t, "before anybody has noticed", s.remove(t, "101"), before, fact.At(s.now))
	s.awaitGapEnd(t)
	wantBounds(t, "in the pause", s.comeAndGo(t, "200"), before, fact.At(s.now))
	wantBounds(t, "after it", s.comeAndGo(t, "201"), fact.At(s.now), fact.At(s.now))
}

// versionAnswer is how an API server answers the request for its version.
type versionAnswer struct {
	version uint64
	err     error
}

var errUnavailable = apierrors.NewServiceUnavailable("the API server restarts")

// answered has the test answer each request for the version.
func (s *testStore) answered() (questions chan chan versionAnswer) {
	questions = make(chan chan versionAnswer)
	s.currentVersion = func(context.Context) (uint64, error) {
		own := make(chan versionAnswer)
		questions <- own
		a := <-own
		return a.version, a.err
	}
	return questions
}

// TestARequestForTheVersionThatFailsIsRepeated: of a kind that always has events, no silence would end the gap.
func TestARequestForTheVersionThatFailsIsRepeated(t *testing.T) {
	s := newTestStore(0)
	s.add(t, "10")
	before := fact.At(s.now)
	questions := s.answered()
	s.behind = true
	s.collector.behind.Add(1)
	s.pass(time.Minute)
	s.connected()
	answerNext := func(a versionAnswer) {
		t.Helper()
		select {
		case question := <-questions:
			question <- a
		case <-time.After(time.Minute):
			t.Fatal("it does not ask for the version")
		}
	}
	for range 2 {
		answerNext(versionAnswer{err: errUnavailable})
		s.pass(time.Second) // the watch is never silent
		wantBounds(t, "in the gap, whose end is not known", s.comeAndGo(t, "20"), before, fact.At(s.now))
	}
	answerNext(versionAnswer{version: 50})
	s.awaitGapTo(t, func(version uint64) bool { return version == 50 })
	s.pass(time.Second)
	wantBounds(t, "in the gap", s.comeAndGo(t, "50"), before, fact.At(s.now))
	s.pass(time.Second)
	wantBounds(t, "after it", s.comeAndGo(t, "51"), fact.At(s.now), fact.At(s.now))
	if s.collector.behind.Load() != 0 {
		t.Error("it is still behind")
	}
}

// TestAnAnswerThatComesTooLate checks that a version that was asked for before a pause does not
// end the gap of the pause, nor does a failure to get it.
func TestAnAnswerThatComesTooLate(t *testing.T) {
	for _, late := range []versionAnswer{{version: 40}, {err: errUnavailable}} {
		s := newTestStore(0)
		s.add(t, "10")
		before := fact.At(s.now)
		questions := s.answered()
		s.pass(time.Second)
		s.connected()
		first := <-questions
		s.stop(time.Minute)
		s.collector.mu.Lock()
		s.collector.present()
		s.collector.mu.Unlock()
		second := <-questions
		second <- versionAnswer{version: 50}
		s.awaitGapEnd(t)
		first <- late
		wantBounds(t, "after the former question, before the pause", s.remove(t, "45"), before, fact.At(s.now))
		if s.gap.to != 50 {
			t.Errorf("the gap ends at %d", s.gap.to)
		}
	}
}

// TestAListInAPause checks that a list that was asked for before a pause vouches for nothing
// after it.
func TestAListInAPause(t *testing.T) {
	s := newTestStore(50)
	close(s.collector.synced)
	s.collector.mu.Lock()
	s.collector.first = nil
	s.collector.mu.Unlock()
	list := func(version string) fact.Position {
		if err := s.Replace([]any{claimOf("a", "5")}, version); err != nil {
			t.Fatal(err)
		}
		s.add(t, version+"0")
		return s.sink.positions[fact.Claims]
	}
	s.listing()
	s.pass(time.Second)
	if p := list("1"); p.At != fact.At(s.now) || p.Since != fact.At(s.now) {
		t.Errorf("without a pause: watched from %s to %s", p.Since.Time(), p.At.Time())
	}
	s.listing()
	began := fact.At(s.now)
	s.stop(time.Minute)
	if p := list("2"); p.At != began || p.Since != began {
		t.Errorf("in a pause: watched from %s to %s, want %s", p.Since.Time(), p.At.Time(), began.Time())
	}
	s.awaitGapEnd(t)
	wantBounds(t, "after the list, in the pause", s.comeAndGo(t, "49"), began, fact.At(s.now))
	wantBounds(t, "after the pause", s.comeAndGo(t, "51"), fact.At(s.now), fact.At(s.now))
}

// TestTheFirstListsWait checks that a watch that waits until all kinds are listed is not live
// meanwhile.
func TestTheFirstListsWait(t *testing.T) {
	s := newTestStore(50)
	s.listing()
	listed := fact.At(s.now)
	done := make(chan error)
	ctx, cancel := context.WithCancel(context.Background())
	s.ctx = ctx
	go func() { done <- s.Replace(nil, "1") }()
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		s.collector.firstMu.Lock()
		_, there := s.collector.first[fact.Claims]
		s.collector.firstMu.Unlock()
		if there {
			break
		}
		if time.Since(start) > time.Minute {
			t.Fatal("the list did not come")
		}
	}
	s.pass(time.Minute)
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if s.awaitGapEnd(t); s.gap.from != listed {
		t.Errorf("what comes next happened after %s, want %s", s.gap.from.Time(), listed.Time())
	}
}

// TestTheClockIsSetBack checks that bounds stay in order, and wide, when the clock is set back
// in a gap, and that no gap comes of it on a live watch.
func TestTheClockIsSetBack(t *testing.T) {
	s := newTestStore(50)
	s.add(t, "10")
	s.pass(time.Second)
	s.now = s.now.Add(-time.Hour)
	now := fact.At(s.now)
	wantBounds(t, "on a live watch", s.remove(t, "11"), now, now)
	s.add(t, "12")
	s.pass(time.Minute)
	s.stop(10 * time.Second)
	s.add(t, "13")
	from := s.gap.from
	s.now = s.now.Add(-time.Hour)
	wantBounds(t, "in a gap", s.remove(t, "14"), from-fact.Time(time.Hour/time.Microsecond), fact.At(s.now))
	if n := testutil.ToFloat64(s.collector.metrics.pauses); n != 1 {
		t.Errorf("%v pauses", n)
	}
}

// TestTheClockWasSetBackBetweenTwoRuns: an earlier run ended at a moment that is yet to come, by a clock that was ahead. A claim
// that has gone since went at any time after its creation, also where the tracker learns that from a list or from the catalog; its
// state has no such time. A clock may be ahead by a second that no heartbeat notices: the claim went within that second.
func TestTheClockWasSetBackBetweenTwoRuns(t *testing.T) {
	for name, gone := range map[string]func(*testStore, map[fact.Kind]fact.Position) error{
		"a watch that resumes": func(s *testStore, positions map[fact.Kind]fact.Position) error {
			s.lastSeen = positions[fact.Claims].At
			s.connect(t, 50)
			return s.Delete(claimOf("a", "10"))
		},
		"a list": func(s *testStore, positions map[fact.Kind]fact.Position) error {
			close(s.collector.synced)
			s.collector.first, s.lastSeen = nil, positions[fact.Claims].At
			return s.Replace(nil, "30")
		},
		"the first lists": func(s *testStore, positions map[fact.Kind]fact.Position) error {
			s.collector.snapshot = &fact.Snapshot{Positions: positions}
			firstLists(t, s.collector, 0)
			return nil
		},
		"the catalog, after the first lists": func(s *testStore, positions map[fact.Kind]fact.Position) error {
			former := claimOf("b", "12")
			s.shown.Store(true)
			return s.collector.Reconcile(func() (*fact.Snapshot, error) {
				return &fact.Snapshot{Positions: positions, Objects: fact.SavedList{{Kind: fact.Claims, UID: string(former.UID), Wire: inventory.Wire(former)}}}, nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, step := range []time.Duration{300 * time.Millisecond, pausedAfter, pausedAfter + time.Microsecond, 5 * time.Minute} {
				s := newTestStore(50)
				s.add(t, "10")
				s.pass(time.Minute)
				ahead := s.now.Add(step)
				from := fact.At(ahead.Add(-pausedAfter))
				state := from
				if step > pausedAfter {
					from, state = fact.At(claimOf("a", "10").CreationTimestamp.Time), 0
				}
				if err := gone(s, map[fact.Kind]fact.Position{fact.Claims: {Kind: fact.Claims, At: fact.At(ahead)}}); err != nil {
					t.Fatal(err)
				}
				wantBounds(t, "set back by "+step.String(), s.sink.facts.Claims[len(s.sink.facts.Claims)-1], from, fact.At(s.now))
				if last := s.sink.claims[len(s.sink.claims)-1]; !last.Gone || last.DeletedNotBefore != state {
					t.Errorf("set back by %s: the state is %+v, want one that is gone, not before %s", step, last, state.Time())
				}
			}
		})
	}
}

// TestTheHeartBeats runs the heartbeat itself: a store knows of a pause though no event comes.
func TestTheHeartBeats(t *testing.T) {
	s := newTestStore(50)
	s.add(t, "10")
	c := s.collector
	read := readings(time.Now)
	started := time.Now()
	c.heart = newHeartbeat(func() reading {
		r := read()
		if time.Since(started) > 2*beatEvery {
			r.wall = r.wall.Add(time.Hour) // it was suspended
		}
		return r
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { wait.UntilWithContext(ctx, c.beat, beatEvery); close(done) }()
	defer func() { cancel(); <-done }()
	for ; testutil.ToFloat64(c.metrics.pauses) == 0; time.Sleep(time.Millisecond) {
		if time.Since(started) > time.Minute {
			t.Fatal("nobody noticed")
		}
	}
	s.awaitGapEnd(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.gap.from == 0 || s.gap.to != 50 {
		t.Errorf("the gap goes from %s to version %d", s.gap.from.Time(), s.gap.to)
	}
}
