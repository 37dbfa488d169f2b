package collector

import (
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// probeAt has the store ask an API server that is at a version.
func (s *testStore) probeAt(version uint64) fact.Time {
	s.latest.Store(version)
	s.probe()
	return fact.At(s.now)
}

// TestAWatchThatLags holds how events are dated that come long after the API server was past
// their version, and that the watch counts as live once it has caught up.
func TestAWatchThatLags(t *testing.T) {
	s := newTestStore(0)
	s.add(t, "10")
	s.pass(time.Second)
	first := s.probeAt(20)
	s.pass(probeEvery)
	second := s.probeAt(30)
	s.pass(delayedAfter)
	now := fact.At(s.now)
	wantBounds(t, "a little late", s.remove(t, "29"), now, now)
	lastLive := now
	s.add(t, "30")
	s.pass(time.Second)

	wantBounds(t, "late", s.comeAndGo(t, "30"), first, fact.At(s.now))
	if p := s.sink.positions[fact.Claims]; p.At != lastLive {
		t.Errorf("the position is at %s, though the watch was last up at %s", p.At.Time(), lastLive.Time())
	}
	s.pass(probeEvery)
	s.probeAt(50)
	s.pass(2 * time.Second)
	wantBounds(t, "past the first gap, and still late", s.comeAndGo(t, "40"), second, fact.At(s.now))
	if err := s.Bookmark("50"); err != nil {
		t.Fatal(err)
	}
	wantBounds(t, "the rest", s.comeAndGo(t, "50"), second, fact.At(s.now))
	now = fact.At(s.now)
	wantBounds(t, "caught up", s.comeAndGo(t, "51"), now, now)
}

// TestALateEventBeforeAllProbes checks that the bounds of an event that is later than all
// probes go back to the last one that was not, and that few probes are kept.
func TestALateEventBeforeAllProbes(t *testing.T) {
	s := newTestStore(0)
	s.add(t, "10")
	before := fact.At(s.now)
	for i := range 3 * probesKept {
		s.pass(probeEvery)
		s.probeAt(uint64(100 + i))
	}
	if len(s.probes) != probesKept {
		t.Errorf("%d probes are kept", len(s.probes))
	}
	s.pass(probeEvery)
	wantBounds(t, "very late", s.remove(t, "11"), before, fact.At(s.now))
}

// TestOldBookmarks checks that a bookmark of an old version says nothing of a lag: there was no
// event. Nor does a version that is no number, or an API server that does not say its own.
func TestOldBookmarks(t *testing.T) {
	s := newTestStore(0)
	s.add(t, "10")
	s.probeAt(0)
	s.probeAt(20)
	s.pass(time.Minute)
	if err := s.Bookmark("11"); err != nil {
		t.Fatal(err)
	}
	now := fact.At(s.now)
	if at := s.collector.moved[fact.Claims].At; at != now || len(s.probes) != 1 {
		t.Errorf("watched until %s, %d probes", at.Time(), len(s.probes))
	}
	s.noteLag(now, fact.VersionNumber("no number"))
	wantBounds(t, "live", s.remove(t, "21"), now, now)
}
