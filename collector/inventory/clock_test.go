package inventory

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// jumping sets the clock of whoever observes an hour back or forth, again and again.
func jumping(events []recorded, random *rand.Rand) []recorded {
	const hour = fact.Time(3600e6)
	jumped := make([]recorded, len(events))
	offset := fact.Time(0)
	for i, e := range events {
		if random.IntN(30) == 0 {
			offset = fact.Time(random.IntN(3)-1) * hour
		}
		e.at += offset
		jumped[i] = e
	}
	return jumped
}

// orderedRows checks rows as they are emitted.
type orderedRows struct {
	t        *testing.T
	seed     uint64
	versions map[string]uint64 // the last of each row
}

func (o *orderedRows) check(f *fact.Facts) {
	for _, r := range f.Mounts {
		o.row(fmt.Sprint("mount ", r.PodUID, r.Container, r.Volume, r.MountPath), r.Version, r.StartedAt, r.EndedNotBefore, r.EndedAt)
	}
	for _, r := range f.Pods {
		o.row("pod "+r.UID, r.Version, r.CreatedAt, r.DeletedNotBefore, r.DeletedAt)
	}
	for _, r := range f.Claims {
		o.row("claim "+r.UID, r.Version, r.CreatedAt, r.DeletedNotBefore, r.DeletedAt)
	}
	for _, r := range f.Volumes {
		o.row("volume "+r.UID, r.Version, r.CreatedAt, r.DeletedNotBefore, r.DeletedAt)
	}
	for _, r := range f.Bindings {
		o.row(fmt.Sprint("binding ", r.ClaimUID, r.VolumeUID, r.Ordinal), r.Version, r.BoundAt, r.ReleasedNotBefore, r.ReleasedAt)
	}
	for _, r := range f.Attachments {
		o.row("attachment "+r.UID, r.Version, r.AttachedAt, r.DetachedAt)
	}
}

// row checks that a row's versions grow, and that its moments are in order; absent ones do not count.
func (o *orderedRows) row(key string, version uint64, moments ...fact.Time) {
	o.t.Helper()
	if version <= o.versions[key] {
		o.t.Errorf("seed %d: %s: version %d after %d", o.seed, key, version, o.versions[key])
	}
	o.versions[key] = version
	last := fact.Time(0)
	for _, m := range moments {
		if m != 0 && m < last {
			o.t.Errorf("seed %d: %s: %v are not in order", o.seed, key, moments)
		}
		last = latest(last, m)
	}
}

// TestClockJumps checks that whatever the tracker's clock does, nothing ends before it
// begins, versions grow, and what the API dates is as it is.
func TestClockJumps(t *testing.T) {
	events := recording(t)
	want := replay(t, events)
	for seed := range uint64(10) {
		inv, h := New(), newHistory()
		rows := orderedRows{t: t, seed: seed, versions: map[string]uint64{}}
		var u fact.Update
		for _, e := range jumping(events, rand.New(rand.NewPCG(seed, 4))) {
			take := inv.Set
			if e.delete {
				take = inv.Delete
			}
			if err := take(e.object, e.seen()); err != nil {
				t.Fatal(err)
			}
			inv.Take(&u)
			h.add(&u)
			rows.check(&u.Facts)
		}
		if len(h.mounts) != len(want.mounts) || len(h.bindings) != len(want.bindings) {
			t.Errorf("seed %d: %d mounts and %d bindings, want %d and %d", seed, len(h.mounts), len(h.bindings), len(want.mounts), len(want.bindings))
		}
		for key, m := range want.mounts { // the API dates the start, and most ends
			got := h.mounts[key]
			if got.StartedAt != m.StartedAt || got.ClaimUID != m.ClaimUID || got.VolumeUID != m.VolumeUID || (m.EndedAt%1e6 == 0 && got.EndedAt != m.EndedAt) {
				t.Errorf("seed %d: mount\n got %+v\nwant %+v", seed, got, m)
			}
		}
		if t.Failed() {
			return
		}
	}
}
