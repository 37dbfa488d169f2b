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

// TestClockJumps holds that whatever the tracker's clock does, nothing ends before it
// begins, versions grow, and what the API dates is as it is.
func TestClockJumps(t *testing.T) {
	events := recording(t)
	want := replay(t, events)
	for seed := range uint64(10) {
		inv, h, versions := New(), newHistory(), map[string]uint64{}
		grows := func(key string, version uint64) {
			if version <= versions[key] {
				t.Errorf("seed %d: %s: version %d after %d", seed, key, version, versions[key])
			}
			versions[key] = version
		}
		order := func(what string, moments ...fact.Time) { // absent ones do not count
			last := fact.Time(0)
			for _, m := range moments {
				if m != 0 && m < last {
					t.Errorf("seed %d: %s: %v are not in order", seed, what, moments)
				}
				last = latest(last, m)
			}
		}
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
			for _, r := range u.Facts.Mounts {
				grows(fmt.Sprint("mount ", r.PodUID, r.Container, r.Volume, r.MountPath), r.Version)
				order("mount", r.StartedAt, r.EndedNotBefore, r.EndedAt)
			}
			for _, r := range u.Facts.Pods {
				grows("pod "+r.UID, r.Version)
				order("pod "+r.Name, r.CreatedAt, r.DeletedNotBefore, r.DeletedAt)
			}
			for _, r := range u.Facts.Claims {
				grows("claim "+r.UID, r.Version)
				order("claim "+r.Name, r.CreatedAt, r.DeletedNotBefore, r.DeletedAt)
			}
			for _, r := range u.Facts.Volumes {
				grows("volume "+r.UID, r.Version)
				order("volume "+r.Name, r.CreatedAt, r.DeletedNotBefore, r.DeletedAt)
			}
			for _, r := range u.Facts.Bindings {
				grows(fmt.Sprint("binding ", r.ClaimUID, r.VolumeUID, r.Ordinal), r.Version)
				order("binding", r.BoundAt, r.ReleasedNotBefore, r.ReleasedAt)
			}
			for _, r := range u.Facts.Attachments {
				order("attachment", r.AttachedAt, r.DetachedAt)
			}
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
