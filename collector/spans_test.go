package collector

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

func pods(since, at fact.Time) fact.Position {
	return fact.Position{Kind: fact.Pods, ResourceVersion: "7", Since: since, At: at}
}

func expectSpans(t *testing.T, what string, got []fact.Span, want ...fact.Span) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestSpansFollowThePositionOfPods(t *testing.T) {
	var s spans
	expectSpans(t, "before the first list", s.take())
	if !s.move(pods(10, 10)) || s.move(pods(10, 20)) {
		t.Error("the list changes with the first position, and not as it goes on")
	}
	expectSpans(t, "it goes on", s.take(), fact.Span{From: 10, To: 20})
	s.move(pods(10, 30))
	s.move(pods(10, 25)) // a late word
	expectSpans(t, "nothing but the end has changed", s.take())
	expectSpans(t, "now", s.now(), fact.Span{From: 10, To: 30})
	given := s.list
	if !s.move(pods(50, 50)) {
		t.Error("a list of pods begins a new span")
	}
	s.move(pods(50, 60))
	expectSpans(t, "after a gap", s.take(), fact.Span{From: 10, To: 30}, fact.Span{From: 50, To: 60})
	expectSpans(t, "what was given out before", given, fact.Span{From: 10, To: 20})
	s.move(pods(40, 40)) // the clock was set back
	expectSpans(t, "after a gap of unknown length", s.take(), fact.Span{From: 10, To: 30}, fact.Span{From: 50, To: 60}, fact.Span{From: 61, To: 61})
	s.move(pods(40, 80))
	expectSpans(t, "on the new clock", s.now()[2:], fact.Span{From: 61, To: 80})
}

func TestSpansGoOnAfterARestart(t *testing.T) {
	before := []fact.Span{{From: 1, To: 5}, {From: 10, To: 20}}
	for name, test := range map[string]struct {
		position, next fact.Position
		changed        bool
		want           []fact.Span
	}{
		"from the resource version":                {pods(10, 22), pods(10, 40), false, []fact.Span{{From: 1, To: 5}, {From: 10, To: 40}}},
		"history was lost":                         {pods(10, 22), pods(40, 40), true, []fact.Span{{From: 1, To: 5}, {From: 10, To: 22}, {From: 40, To: 40}}},
		"the journal was lost":                     {fact.Position{Kind: fact.Pods, At: 22}, pods(40, 40), true, []fact.Span{{From: 1, To: 5}, {From: 10, To: 20}, {From: 40, To: 40}}},
		"the journal does not say since when":      {pods(0, 22), pods(0, 40), false, []fact.Span{{From: 1, To: 5}, {From: 10, To: 40}}},
		"others have watched it beyond that":       {fact.Position{}, pods(15, 25), true, []fact.Span{{From: 1, To: 5}, {From: 10, To: 20}, {From: 21, To: 25}}},
		"before an event that tells how far it is": {pods(10, 22), pods(10, 22), false, []fact.Span{{From: 1, To: 5}, {From: 10, To: 22}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := restoreSpans(before, test.position)
			if changed := s.move(test.next); changed != test.changed {
				t.Errorf("changed: %v", changed)
			}
			expectSpans(t, "given out", s.take(), test.want...)
			expectSpans(t, "given out again", s.take())
		})
	}
	s := restoreSpans(nil, pods(0, 22)) // of a journal that knows no more than that
	s.move(pods(0, 40))
	s.move(pods(0, 50))
	expectSpans(t, "from nobody knows when", s.now(), fact.Span{From: 40, To: 50})
}

func TestSpansOfOthersAreMerged(t *testing.T) {
	s := restoreSpans(nil, fact.Position{})
	s.move(pods(50, 60))
	s.take()
	if s.merge(nil) || s.merge([]fact.Span{{From: 55, To: 58}, {From: 70, To: 80}}) {
		t.Error("what they have watched is not new")
	}
	if !s.merge([]fact.Span{{From: 45, To: 90}, {From: 10, To: 20}, {From: 1, To: 12}}) {
		t.Error("what they have watched is new")
	}
	expectSpans(t, "merged", s.take(), fact.Span{From: 1, To: 20}, fact.Span{From: 45, To: 60})
	s.move(pods(50, 100))
	expectSpans(t, "its own still goes on", s.now(), fact.Span{From: 1, To: 20}, fact.Span{From: 45, To: 100})
}

func TestSpansAreBounded(t *testing.T) {
	var s spans
	for i := range fact.Time(2 * maxSpans) {
		s.move(pods(1+10*i, 5+10*i))
	}
	list := s.take()
	if len(list) != maxSpans || list[maxSpans-1].From != 1+10*(2*maxSpans-1) {
		t.Errorf("%d spans, the last %v", len(list), list[len(list)-1])
	}
	s.merge([]fact.Span{{From: 1, To: 2}}) // shorter than all
	if list := s.now(); len(list) != maxSpans || list[0].To == 2 {
		t.Errorf("%d spans, the first %v", len(list), list[0])
	}
}

// TestListsDoNotDisplaceWhatWasWatched: a tracker that may list pods and not watch them lists them every few seconds.
func TestListsDoNotDisplaceWhatWasWatched(t *testing.T) {
	const quarter = fact.Time(90 * 24 * 3600 * 1_000_000)
	var s spans
	s.move(pods(1, quarter))
	for i := range fact.Time(3 * maxSpans) {
		listed := quarter + 5_000_000*(i+1)
		s.move(pods(listed, listed))
	}
	if list := s.take(); len(list) != maxSpans || list[0] != (fact.Span{From: 1, To: quarter}) {
		t.Errorf("%d spans, the first %v", len(list), list[0])
	}
}

// TestCollectorGivesOutWhenPodsWereWatched restarts a tracker within the watch window, lets
// it list again, and reads back what another one had watched.
func TestCollectorGivesOutWhenPodsWereWatched(t *testing.T) {
	s := newTestStore(0)
	c := s.collector
	s.store.kind = fact.Pods
	began := fact.At(s.now)
	see := func() fact.Time {
		t.Helper()
		s.pass(10 * time.Second)
		pod := &corev1.Pod{}
		pod.Name, pod.Namespace, pod.UID, pod.ResourceVersion = "web", "shop", types.UID("p1"), "1"
		pod.Spec.NodeName = s.now.String()
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		if err := s.Add(pod); err != nil {
			t.Fatal(err)
		}
		return fact.At(s.now)
	}
	c.snapshot = &fact.Snapshot{
		Positions: map[fact.Kind]fact.Position{fact.Pods: {Kind: fact.Pods, ResourceVersion: "10", Since: began - 500, At: began - 100}},
		Watched:   []fact.Span{{From: began - 500, To: began - 200}},
	}
	if err := c.restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.store.since, s.store.lastSeen = began-500, began-100
	expectSpans(t, "after a restart", s.sink.watched, fact.Span{From: began - 500, To: began - 100})
	before := s.sink.watched
	last := see()
	if &before[0] != &s.sink.watched[0] || s.sink.positions[fact.Pods].At != last {
		t.Errorf("the list is given out again, or the position is not: %v", s.sink.positions[fact.Pods])
	}

	s.pass(time.Hour)
	if err := s.Replace(nil, "100"); err != nil {
		t.Fatal(err)
	}
	again := fact.At(s.now)
	expectSpans(t, "after a list", s.sink.watched, fact.Span{From: began - 500, To: last}, fact.Span{From: again, To: again})

	err := c.Reconcile(func() (*fact.Snapshot, error) {
		return &fact.Snapshot{Watched: []fact.Span{{From: 1, To: began - 900}, {From: last - 5, To: again - 5}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	expectSpans(t, "read back", s.sink.watched, fact.Span{From: 1, To: began - 900}, fact.Span{From: began - 500, To: again - 5}, fact.Span{From: again, To: again})
}
