package inventory

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// recorded is an event that a watch of a real cluster sent (see TestMonthIsRecordedAsInTheAuditLog of
// test/e2e, which records it).
type recorded struct {
	at     fact.Time
	kind   fact.Kind
	uid    string
	object any
	delete bool

	notBefore fact.Time // zero on a live watch
}

func recording(t testing.TB) (events []recorded) {
	t.Helper()
	file, err := os.Open("testdata/month.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			At     time.Time
			Kind   fact.Kind
			Type   string
			Object json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		object, err := Decode(line.Kind, string(line.Object), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, uid, err := identify(object)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, recorded{fact.At(line.At), line.Kind, uid, object, line.Type == "DELETED", 0})
	}
	if err := lines.Err(); err != nil || len(events) < 100 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	return events
}

func replay(t testing.TB, events []recorded) *history {
	t.Helper()
	inv, h := New(), newHistory()
	for _, e := range events {
		take := inv.Set
		if e.delete {
			take = inv.Delete
		}
		if err := take(e.object, e.seen()); err != nil {
			t.Fatal(err)
		}
		h.take(inv)
	}
	return h
}

func (e *recorded) seen() Observation {
	if e.notBefore == 0 {
		return Live(e.at)
	}
	return Observation{At: e.at, NotBefore: e.notBefore}
}

// interleaved mixes the events of the kinds anew. Those of one kind stay in their
// order: a watch keeps it.
func interleaved(events []recorded, random *rand.Rand) []recorded {
	queues := map[fact.Kind][]recorded{}
	for _, e := range events {
		queues[e.kind] = append(queues[e.kind], e)
	}
	kinds := slices.Sorted(maps.Keys(queues))
	mixed := make([]recorded, 0, len(events))
	for len(mixed) < len(events) {
		kind := kinds[random.IntN(len(kinds))]
		n := min(len(queues[kind]), 1+random.IntN(40)) // one watch is ahead of the others for a while
		mixed = append(mixed, queues[kind][:n]...)
		queues[kind] = queues[kind][n:]
	}
	return mixed
}

// thinned drops some of the updates that are followed by another one of the same object, as a watch that was away for a
// while misses them. It drops none of an object that is repeated.
func thinned(events []recorded, random *rand.Rand, all *history) (left []recorded) {
	twice := repeated(all)
	last := map[string]int{}
	for i, e := range events {
		last[e.uid] = i
	}
	missedSince := map[string]fact.Time{}
	for i, e := range events {
		if !e.delete && last[e.uid] != i && !twice[e.uid] && random.IntN(3) == 0 {
			if missedSince[e.uid] == 0 {
				missedSince[e.uid] = e.at - 1
			}
			continue
		}
		e.notBefore = missedSince[e.uid]
		delete(missedSince, e.uid)
		left = append(left, e)
	}
	return left
}

// repeated returns the UIDs of the objects whose updates must not be missed, because their end looks as if nothing had
// been: a volume that a claim had twice within a second, a container that was restarted, claims that took turns under
// one name, and their pods.
func repeated(all *history) map[string]bool {
	twice := map[string]bool{}
	for _, b := range all.bindings {
		twice[b.VolumeUID] = twice[b.VolumeUID] || b.Ordinal > 0
	}
	bearers := map[name]string{}
	for _, c := range all.claims {
		key := name{c.Namespace, c.Name}
		if other := bearers[key]; other != "" {
			twice[other], twice[c.UID] = true, true
		}
		bearers[key] = c.UID
	}
	for _, m := range all.mounts {
		twice[m.PodUID] = twice[m.PodUID] || twice[m.ClaimUID]
	}
	for _, c := range all.containers {
		twice[c.PodUID] = twice[c.PodUID] || c.Restarts > 0
	}
	return twice
}

func TestRecordedMonthInAnyOrder(t *testing.T) {
	events := recording(t)
	want := replay(t, events)
	t.Logf("%d events, %d mounts, %d bindings, %d changes", len(events), len(want.mounts), len(want.bindings), len(want.changes))
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 1))
		compare(t, fmt.Sprintf("order %d", seed), replay(t, interleaved(events, random)), want)
		if t.Failed() {
			return
		}
	}
}

func TestRecordedMonthWithMissedUpdates(t *testing.T) {
	events := recording(t)
	want := replay(t, events)
	want.forgetPassingTimes()
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 2))
		got := replay(t, interleaved(thinned(events, random, want), random))
		got.narrowTo(want)
		got.forgetPassingTimes()
		compare(t, fmt.Sprintf("selection %d", seed), got, want)
		if t.Failed() {
			return
		}
	}
}

// compare compares all that a history holds but the changes, whose words tell of
// each step on the way.
func compare(t *testing.T, what string, got, want *history) {
	t.Helper()
	same(t, what+": volumes", got.volumes, want.volumes)
	same(t, what+": claims", got.claims, want.claims)
	same(t, what+": pods", got.pods, want.pods)
	same(t, what+": containers", got.containers, want.containers)
	same(t, what+": mounts", got.mounts, want.mounts)
	same(t, what+": bindings", got.bindings, want.bindings)
	same(t, what+": attachments", got.attachments, want.attachments)
	same(t, what+": sources", got.sources, want.sources)
	same(t, what+": states of volumes", present(got.states, goneVolume), present(want.states, goneVolume))
	same(t, what+": states of claims", present(got.claimState, goneClaim), present(want.claimState, goneClaim))
}

func same[K comparable, V any](t *testing.T, what string, got, want map[K]V) {
	t.Helper()
	for key, row := range want {
		other, ok := got[key]
		if !ok {
			t.Errorf("%s: missing %+v", what, row)
		} else if a, b := fmt.Sprintf("%+v", other), fmt.Sprintf("%+v", row); a != b {
			t.Errorf("%s:\n got %s\nwant %s", what, a, b)
		}
	}
	for key, row := range got {
		if _, ok := want[key]; !ok {
			t.Errorf("%s: invented %+v", what, row)
		}
	}
}

// narrowTo takes over the ends that are within the bounds that h says.
func (h *history) narrowTo(truth *history) {
	narrow(h.volumes, truth.volumes, func(v *fact.Volume) (*fact.Time, fact.Time) { return &v.DeletedNotBefore, v.DeletedAt })
	narrow(h.claims, truth.claims, func(c *fact.Claim) (*fact.Time, fact.Time) { return &c.DeletedNotBefore, c.DeletedAt })
	narrow(h.pods, truth.pods, func(p *fact.Pod) (*fact.Time, fact.Time) { return &p.DeletedNotBefore, p.DeletedAt })
	for key, row := range h.mounts {
		told, ok := truth.mounts[key]
		if !ok || row.EndedNotBefore == told.EndedNotBefore && row.EndedAt == told.EndedAt || told.EndedAt < row.EndedNotBefore || told.EndedAt > row.EndedAt {
			continue
		}
		row.EndedAt, row.EndedNotBefore = told.EndedAt, told.EndedNotBefore
		h.mounts[key] = row
		container := [2]string{row.PodUID, row.Container}
		h.containers[container], h.pods[row.PodUID] = truth.containers[container], truth.pods[row.PodUID]
	}
}

func narrow[R any](rows, truth map[string]R, bounds func(*R) (*fact.Time, fact.Time)) {
	for key, row := range rows {
		told, ok := truth[key]
		notBefore, at := bounds(&row)
		if _, exact := bounds(&told); ok && *notBefore <= exact && exact == at {
			*notBefore = exact
			rows[key] = row
		}
	}
}

// forgetPassingTimes blanks the times that only an update tells which may be missed:
// when a volume was bound and released, seen from a later phase, and when one was
// attached.
func (h *history) forgetPassingTimes() {
	for key, row := range h.bindings {
		row.BoundAt, row.ReleasedNotBefore, row.ReleasedAt = 0, 0, min(row.ReleasedAt, 1)
		h.bindings[key] = row
	}
	for key, row := range h.claims {
		row.BoundAt = 0
		h.claims[key] = row
	}
	for key, row := range h.attachments {
		row.AttachedAt = 0
		h.attachments[key] = row
	}
	for key, s := range h.states {
		s.LastUsed, s.IdleSince = 0, 0
		h.states[key] = s
	}
}

// present leaves out what is gone: nobody reads its last state.
func present[S any](states map[string]S, gone func(*S) bool) map[string]S {
	left := map[string]S{}
	for uid, s := range states {
		if !gone(&s) {
			left[uid] = s
		}
	}
	return left
}

// goneVolume also blanks since when a status is: one that was passed through depends on the
// order.
func goneVolume(s *fact.VolumeState) bool {
	s.ChangedAt = 0
	return s.Gone
}

func goneClaim(s *fact.ClaimState) bool { return s.Gone }
