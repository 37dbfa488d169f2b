package inventory

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// listsOf are volumes with their claims, and a pod for each.
func listsOf(n int) map[fact.Kind][]any {
	lists := map[fact.Kind][]any{}
	for i := range n {
		claim := pvc(fmt.Sprint("data-", i), fmt.Sprint("c", i), 1, fmt.Sprint("vol-", i))
		lists[fact.Claims] = append(lists[fact.Claims], claim)
		lists[fact.Volumes] = append(lists[fact.Volumes], pv(fmt.Sprint("vol-", i), fmt.Sprint("v", i), 1, claim, corev1.VolumeBound, 3))
		lists[fact.Pods] = append(lists[fact.Pods], running(podOf(fmt.Sprint("db-", i), fmt.Sprint("p", i), 4, []string{"db"}, fmt.Sprint("data-", i)), 13))
	}
	return lists
}

// rowsOf counts the rows of updates by their tables, and the snapshots.
func rowsOf(updates ...fact.Update) string {
	var f fact.Facts
	snapshots := map[string]int{}
	for i := range updates {
		u := &updates[i].Facts
		f.Objects, f.Volumes, f.Claims, f.Pods = append(f.Objects, u.Objects...), append(f.Volumes, u.Volumes...), append(f.Claims, u.Claims...), append(f.Pods, u.Pods...)
		f.Mounts, f.Bindings, f.Changes = append(f.Mounts, u.Mounts...), append(f.Bindings, u.Bindings...), append(f.Changes, u.Changes...)
		for _, s := range updates[i].Snapshots {
			snapshots[string(s.Kind)+s.UID]++
		}
	}
	return fmt.Sprintln("objects", len(f.Objects), "volumes", len(f.Volumes), "claims", len(f.Claims), "pods", len(f.Pods), "mounts", len(f.Mounts),
		"bindings", len(f.Bindings), "changes", len(f.Changes), "snapshots", len(snapshots))
}

func TestPartsOfAListHaveTheRowsOfTheWhole(t *testing.T) {
	const n = max(partRows/8, partSnapshots/3) + 100
	take := func(setPart func(*Inventory, *[]fact.Update)) (parts []fact.Update) {
		inv, lists := New(), listsOf(n)
		setPart(inv, &parts)
		for _, kind := range fact.Kinds() {
			if err := inv.Replace(kind, lists[kind], Observation{At: at(100), Found: true}); err != nil {
				t.Fatal(err)
			}
		}
		for more := true; more; {
			var u fact.Update
			more = inv.Take(&u)
			if inv.part != nil && len(u.Snapshots) > partSnapshots {
				t.Errorf("%d snapshots at once", len(u.Snapshots))
			}
			parts = append(parts, u)
		}
		return parts
	}
	whole := take(func(*Inventory, *[]fact.Update) {})
	var early int
	parts := take(func(inv *Inventory, parts *[]fact.Update) {
		inv.SetPart(func() {
			var u fact.Update
			inv.TakePart(&u)
			if n := u.Facts.Len(); n < partRows || n > partRows+1000 || len(u.Volumes)+len(u.Snapshots) > 0 || u.Version == 0 {
				t.Errorf("a part has %d rows, %d states and %d snapshots, version %d", n, len(u.Volumes), len(u.Snapshots), u.Version)
			}
			early++
			*parts = append(*parts, u)
		})
	})
	if early == 0 {
		t.Fatal("no part was emitted before the end")
	}
	expect(t, "rows", rowsOf(parts...), rowsOf(whole...))
	expect(t, "rows of the whole", rowsOf(whole...), fmt.Sprintln("objects", 3*n, "volumes", n, "claims", n, "pods", n, "mounts", n, "bindings", n, "changes", len(whole[0].Facts.Changes), "snapshots", 3*n))
	expect(t, "states come at once", len(parts[early].Volumes), n)
}

// An object whose time was over while no tracker ran is forgotten by a restore, and its records are deleted.
func TestARestoreForgetsWhatIsOver(t *testing.T) {
	const day = fact.Time(24 * 3600 * 1e6)
	now := 10_000 * day
	inv := New()
	over := restored(pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 1), fact.ObjectSnapshot{Kind: fact.Volumes, UID: "v1", Deleted: now - 365*day})
	if unread, err := inv.Restore(fact.SavedList{over}, 5, now); unread != nil || err != nil {
		t.Fatal(unread, err)
	}
	var u fact.Update
	inv.Take(&u)
	if len(u.Snapshots) != 1 || !u.Snapshots[0].Forgotten || u.Snapshots[0].UID != "v1" || u.Facts.Len() > 0 {
		t.Errorf("%+v", u)
	}
}

// Another tracker may have raised the row versions before this one has restored anything.
func TestARestoreAfterRaiseEmitsNoRows(t *testing.T) {
	inv := New()
	inv.Raise(1 << 60)
	if unread, err := inv.Restore(fact.SavedList{restored(podOf("web", "p1", 4, []string{"main"}, "data"), fact.ObjectSnapshot{})}, 5, at(100)); unread != nil || err != nil {
		t.Fatal(unread, err)
	}
	var u fact.Update
	inv.Take(&u)
	expect(t, "rows", u.Facts.Len(), 0)
}

func TestARestoreCollectsNoRows(t *testing.T) {
	const n = partRows / 8
	lists := listsOf(n)
	var saved fact.SavedList
	for _, kind := range fact.Kinds() {
		for _, object := range lists[kind] {
			saved = append(saved, restored(object, fact.ObjectSnapshot{}))
		}
	}
	inv := New()
	if unread, err := inv.Restore(saved, 7, at(100)); unread != nil || err != nil {
		t.Fatal(unread, err)
	}
	var u fact.Update
	inv.Take(&u)
	// These snapshots do not say that the rows of volume_states have been emitted.
	expect(t, "rows of volume_states", len(u.Facts.VolumeStates), n)
	expect(t, "other rows", u.Facts.Len()-n, 0)
	expect(t, "states", len(u.Volumes), n)
	expect(t, "a part is asked for no more", inv.part == nil, true)
}

func TestRestoreDiscardsItsRowsAndNoLaterOnes(t *testing.T) {
	const n = 3 * discardRows
	k, first, lists := newKeeper(), New(), listsOf(n)
	var u fact.Update
	for _, kind := range fact.Kinds() {
		if err := first.Replace(kind, lists[kind], Observation{At: at(100), Found: true}); err != nil {
			t.Fatal(err)
		}
	}
	for more := true; more; {
		more = first.Take(&u)
		k.take(&u)
	}
	k.now = at(150)
	again := k.restart(t)
	for more := true; more; {
		more = again.Take(&u)
		if u.Facts.Len() > 0 {
			t.Errorf("the restore emits %s", rowsOf(u))
		}
	}
	pods := make([]any, n)
	for i := range n {
		pods[i] = running(podOf(fmt.Sprint("web-", i), fmt.Sprint("w", i), 20, []string{"web"}, fmt.Sprint("data-", i)), 21)
	}
	if err := again.Replace(fact.Pods, append(pods, listsOf(n)[fact.Pods]...), Observation{At: at(200), Found: true}); err != nil {
		t.Fatal(err)
	}
	again.Take(&u)
	if len(u.Facts.Pods) != n {
		t.Errorf("rows of %d pods after the restore, want %d: %s", len(u.Facts.Pods), n, rowsOf(u))
	}
}
