package inventory

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// keeper keeps what an inventory gives out to be remembered, as a journal does.
type keeper struct {
	objects  map[memoryKey]fact.Object
	ever     map[memoryKey]fact.Object // also those that are forgotten
	memories map[memoryKey]fact.ObjectSnapshot
	version  uint64
	now      fact.Time
}

type memoryKey struct {
	kind fact.Kind
	uid  string
}

func newKeeper() *keeper {
	return &keeper{objects: map[memoryKey]fact.Object{}, ever: map[memoryKey]fact.Object{}, memories: map[memoryKey]fact.ObjectSnapshot{}}
}

func (k *keeper) take(u *fact.Update) {
	for _, o := range u.Facts.Objects {
		o.Encode()
		var err error
		if o.Object, err = Document(o.Kind, o.Wire); err != nil {
			panic(err)
		}
		k.objects[memoryKey{o.Kind, o.UID}] = o
		k.ever[memoryKey{o.Kind, o.UID}] = o
	}
	for _, m := range u.Snapshots {
		key := memoryKey{m.Kind, m.UID}
		if k.memories[key] = m; m.Forgotten {
			delete(k.objects, key)
			delete(k.memories, key)
		}
	}
	for _, m := range u.Facts.Mounts {
		k.version = max(k.version, m.Version)
	}
}

// restart returns an inventory that goes on from what was kept, written and read.
func (k *keeper) restart(t testing.TB) *Inventory {
	t.Helper()
	inv := New()
	if unread, err := inv.Restore(k.list(t), k.version, k.now); unread != nil || err != nil {
		t.Fatal(err)
	}
	return inv
}

// list is what was kept, written and read.
func (k *keeper) list(t testing.TB) (list fact.SavedList) {
	t.Helper()
	for key, o := range k.objects {
		text, err := json.Marshal(k.memories[key])
		if err != nil {
			t.Fatal(err)
		}
		r := fact.SavedObject{Kind: key.kind, UID: key.uid, Wire: o.Wire}
		if err := json.Unmarshal(text, &r.Snapshot); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

// restored is an object as an earlier inventory held it.
func restored(object any, snapshot fact.ObjectSnapshot) fact.SavedObject {
	kind, uid, err := identify(object)
	if err != nil {
		panic(err)
	}
	return fact.SavedObject{Kind: kind, UID: uid, Object: JSON(object.(metav1.Object)), Snapshot: snapshot}
}

// interrupted plays events, going over to a new inventory before some of them.
func interrupted(t testing.TB, events []recorded, restart func(i int) bool) *history {
	t.Helper()
	inv, h, k := New(), newHistory(), newKeeper()
	var u fact.Update
	for i, e := range events {
		if restart(i) {
			inv = k.restart(t)
			inv.Take(&u)
			if n := u.Facts.Len(); n != 0 {
				t.Fatalf("after a restart before event %d, %d rows are told again: %+v", i, n, u.Facts)
			}
			k.take(&u)
			h.add(&u) // the present states
		}
		take := inv.Set
		if e.delete {
			take = inv.Delete
		}
		if err := take(e.object, Live(e.at)); err != nil {
			t.Fatal(err)
		}
		inv.Take(&u)
		k.take(&u)
		k.now = e.at
		h.add(&u)
	}
	return h
}

func TestRestartsChangeNothing(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	user := podOf("db-0", "p1", 4, []string{"db", "side"}, "data")
	crashed := running(user, 5)
	crashed.Status.ContainerStatuses[0].LastTerminationState = terminated(5, 7, 1, "Error")
	crashed.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: second(9)}}
	again := crashed.DeepCopy()
	again.Status.ContainerStatuses[0].LastTerminationState = terminated(9, 11, 1, "Error") // the first start is not told any more
	again.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: second(13)}}
	replaced := podOf("db-0", "p2", 22, []string{"db", "side"}, "data")
	released := pv("vol", "v1", 1, claim, corev1.VolumeReleased, 40)
	unphased := pv("vol-2", "v2", 1, nil, corev1.VolumeAvailable, 1)
	unphased.Status.LastPhaseTransitionTime = nil
	attachment := volumeAttachment("a1", "vol", 0)
	attached := attachment.DeepCopy()
	attached.Status.Attached = true
	owned := ownedPod("ReplicaSet", "web-1", "r1")
	owned.Name, owned.UID = "web-1-x", "p3"
	replicaSet := metadataOf(fact.ReplicaSets, "web-1", "r1", fact.Deployments, "web", "d1")
	events := []event{
		set(1, storageClass("fast", "s1")), set(1, statefulSet("db", "sts", "data")), set(1, pvc("data", "c1", 1, "")),
		set(2, pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 1)), set(3, pv("vol", "v1", 1, claim, corev1.VolumeBound, 3)), set(3, claim),
		set(3, unphased), set(4, user), set(4, attachment), set(5, attached), set(6, running(user, 5)), set(9, crashed), set(13, again),
		set(14, metadataOf(fact.Deployments, "web", "d1", "", "", "")), set(14, replicaSet), set(15, owned), gone(16, replicaSet),
		set(17, running(owned, 17)), gone(20, again), set(22, replaced), set(23, running(replaced, 23)), gone(30, running(replaced, 23)),
		gone(31, attached), set(35, running(owned, 17)), gone(36, running(owned, 17)), gone(39, claim), set(40, released), gone(50, released),
		set(60, pvc("data", "c2", 60, "")), gone(400, unphased), set(800, pvc("data", "c2", 60, "")),
	}
	stream := make([]recorded, len(events))
	for i, e := range events {
		kind, uid, err := identify(e.object)
		if err != nil {
			t.Fatal(err)
		}
		stream[i] = recorded{at: at(e.at), kind: kind, uid: uid, object: e.object, delete: e.delete}
	}
	want := replay(t, stream)
	expect(t, "the first start is known", want.mount("p1", "db", "/data"), "c1@v1 5-20(from 5) Deleted")
	for cut := 1; cut < len(stream); cut++ {
		compare(t, fmt.Sprintf("restart before event %d", cut), interrupted(t, stream, func(i int) bool { return i == cut }), want)
	}
	compare(t, "a restart before each", interrupted(t, stream, func(i int) bool { return i > 0 }), want)
}

func TestRestartsInARecordedMonthChangeNothing(t *testing.T) {
	events := recording(t)
	want := replay(t, events)
	for phase := range 5 {
		compare(t, fmt.Sprintf("phase %d", phase), interrupted(t, events, func(i int) bool { return i%23 == phase*4+1 }), want)
	}
}

// TestRestartsInAnyOrderChangeNothing restarts while some watches are ahead of others:
// who refers to what is still on its way may be gone by then.
func TestRestartsInAnyOrderChangeNothing(t *testing.T) {
	events := recording(t)
	want := replay(t, events)
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 3))
		got := interrupted(t, interleaved(events, random), func(int) bool { return random.IntN(40) == 0 })
		// Not of a Lost claim, for whose volume another one of its name was made: which of
		// the two a pod had that has ended is not remembered.
		for _, h := range []*history{got, want} {
			maps.DeleteFunc(h.mounts, func(_ [4]string, m fact.Mount) bool { return m.ClaimName == "lost" })
		}
		compare(t, fmt.Sprintf("order %d", seed), got, want)
	}
}

func TestLostClaimsVolumeIsRememberedAsLongAsTheClaim(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 1, claim, corev1.VolumeBound, 3)
	lost := claim.DeepCopy()
	lost.Status.Phase = corev1.ClaimLost
	set1 := statefulSet("data", "sts")
	stream := []recorded{
		{at: at(1), kind: fact.StatefulSets, uid: "sts", object: set1, delete: false}, {at: at(3), kind: fact.Claims, uid: "c1", object: claim, delete: false}, {at: at(3), kind: fact.Volumes, uid: "v1", object: volume, delete: false},
		{at: at(9), kind: fact.Volumes, uid: "v1", object: volume, delete: true}, {at: at(10), kind: fact.Claims, uid: "c1", object: lost, delete: false},
		{at: at(1000), kind: fact.StorageClasses, uid: "s1", object: storageClass("fast", "s1"), delete: false}, {at: at(2000), kind: fact.Claims, uid: "c1", object: lost, delete: true},
	}
	h := interrupted(t, stream, func(i int) bool { return i == 6 })
	expect(t, "the volume that it had", h.claims["c1"].VolumeUID, "v1")
}

func TestClaimsWorkloadIsRememberedWhenThatIsGone(t *testing.T) {
	claim, set1 := pvc("data-db-0", "c1", 1, ""), statefulSet("db", "sts", "data")
	stream := []recorded{
		{at: at(1), kind: fact.StatefulSets, uid: "sts", object: set1, delete: false}, {at: at(1), kind: fact.Claims, uid: "c1", object: claim, delete: false}, {at: at(2), kind: fact.StatefulSets, uid: "sts", object: set1, delete: true},
		{at: at(1000), kind: fact.StorageClasses, uid: "s1", object: storageClass("fast", "s1"), delete: false}, {at: at(2000), kind: fact.Claims, uid: "c1", object: claim, delete: true},
	}
	h := interrupted(t, stream, func(i int) bool { return i == 4 })
	expect(t, "workload", h.claims["c1"].WorkloadName, "db")
}

// TestRestoreIntoALiveInventory is what happens when the catalog can be asked only
// after the first lists were taken.
func TestRestoreIntoALiveInventory(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 1, claim, corev1.VolumeBound, 3)
	user := running(podOf("db-0", "p1", 4, []string{"db"}, "data"), 13)
	former := running(podOf("db-0", "p0", 2, []string{"db"}, "data"), 3)
	idle := pvc("logs", "c2", 1, "vol-2")
	idleVolume := pv("vol-2", "v2", 1, idle, corev1.VolumeBound, 3)
	capacity := func() any { return oneOfEach()[fact.StorageCapacities] }
	inv := New()
	h := newHistory()
	for _, o := range []any{claim, volume, user, idle, idleVolume, capacity(), oneOfEach()[fact.Drivers], oneOfEach()[fact.Namespaces], storageClass("fast", "s1"), volumeAttachment("a1", "vol", 2), statefulSet("db", "sts")} {
		if err := inv.Set(o, Observation{At: at(100), Found: true}); err != nil {
			t.Fatal(err)
		}
	}
	h.take(inv)
	expect(t, "before", h.mount("p1", "db", "/data"), "c1@v1 13-")
	goneVolume := pv("vol", "v0", 1, nil, corev1.VolumeAvailable, 1) // of the same name
	unread, err := inv.Reconcile(fact.SavedList{
		restored(user, fact.ObjectSnapshot{Kind: fact.Pods, UID: "p1", Containers: []fact.ContainerSnapshot{{Name: "db", StartedAt: at(5)}}}),
		restored(former, fact.ObjectSnapshot{Kind: fact.Pods, UID: "p0", Containers: []fact.ContainerSnapshot{{Name: "db", StartedAt: at(3)}}}),
		restored(idle, fact.ObjectSnapshot{Kind: fact.Claims, UID: "c2", WorkloadKind: "StatefulSet", WorkloadName: "db"}),
		restored(idleVolume, fact.ObjectSnapshot{Kind: fact.Volumes, UID: "v2", LastUse: at(9)}),
		restored(goneVolume, fact.ObjectSnapshot{Kind: fact.Volumes, UID: "v0"}),
		restored(claim, fact.ObjectSnapshot{}), restored(capacity(), fact.ObjectSnapshot{}), restored(oneOfEach()[fact.Drivers], fact.ObjectSnapshot{}), restored(oneOfEach()[fact.Namespaces], fact.ObjectSnapshot{}),
		restored(storageClass("fast", "s1"), fact.ObjectSnapshot{}), restored(statefulSet("db", "sts"), fact.ObjectSnapshot{}),
		restored(volumeAttachment("a1", "vol", 2), fact.ObjectSnapshot{Kind: fact.VolumeAttachments, UID: "a1", Attached: true, AttachedAt: at(1)}),
		{Kind: "Rollout", UID: "r1", Object: "{}"}, {Kind: fact.Pods, UID: "p9", Object: "{"},
	}, 0, at(101), map[fact.Kind]fact.Time{fact.Pods: at(50), fact.Volumes: at(50)}, nil)
	if unread == nil || err != nil {
		t.Errorf("a kind that it does not take: %v, %v", unread, err)
	}
	h.take(inv)
	expect(t, "the first start", h.mount("p1", "db", "/data"), "c1@v1 5-")
	expect(t, "what is gone has bounds", h.mount("p0", "db", "/data"), "c1@v1 3-101(from 3) Deleted")
	expect(t, "idle since its last use", h.states["v2"].IdleSince, at(9))
	expect(t, "workload", h.claims["c2"].WorkloadName, "db")
	expect(t, "attached", h.attachments["a1"].AttachedAt, at(1))
	expect(t, "pods", inv.Count(fact.Pods), 1)
	expect(t, "the name is its living bearer's", inv.podNames.get(name{"shop", "db-0"}).uid, "p1")
	expect(t, "likewise of the volume", inv.volumeNames["vol"].uid, "v1")
	expect(t, "the volume that is gone", h.volumes["v0"].DeletedNotBefore, at(50))
	for _, c := range h.changes {
		if c.Action == fact.Created && (c.UID == "p0" || c.UID == "v0") {
			t.Errorf("it was known that it is there, and is told again: %+v", c)
		}
	}
}

// TestReconcileKeepsWhatTheInventoryHasObserved: of an object that lives in the inventory, a catalog that answers late knows less.
func TestReconcileKeepsWhatTheInventoryHasObserved(t *testing.T) {
	pending, claim := pvc("data", "c1", 1, ""), pvc("data", "c1", 1, "vol")
	available, bound := pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 1), pv("vol", "v1", 1, claim, corev1.VolumeBound, 108)
	awaiting := podOf("db-0", "p1", 4, []string{"db"}, "data")
	node := nodeOf("node-1", corev1.ConditionUnknown, 90)
	saved := func(kind fact.Kind, uid string) fact.ObjectSnapshot { return fact.ObjectSnapshot{Kind: kind, UID: uid} }
	gone := saved(fact.Claims, "c1")
	gone.Deleted = at(50)
	for name, test := range map[string]struct {
		found, before []any
		catalog       fact.SavedObject
		after         []any
		got           func(inv *Inventory, h *history) string
		want          string
	}{
		"a claim that awaits the event of its volume": {
			[]any{pending, available}, []any{claim}, restored(pending, saved(fact.Claims, "c1")), []any{bound},
			func(_ *Inventory, h *history) (list string) {
				for _, c := range h.changes {
					if c.Action == fact.Bound {
						list += fmt.Sprint(c.At-at(0), " in ", c.Took)
					}
				}
				return list
			}, "108000000 in 1m47s",
		},
		"a claim that was found Bound": {
			[]any{claim}, nil, restored(claim, saved(fact.Claims, "c1")), []any{pv("vol", "v2", 105, nil, corev1.VolumeAvailable, 105)},
			func(_ *Inventory, h *history) string { return h.claims["c1"].VolumeUID }, "",
		},
		"a claim that is there again": {
			[]any{claim}, nil, restored(claim, gone), nil,
			func(inv *Inventory, h *history) string {
				return fmt.Sprint(inv.Count(fact.Claims), h.claims["c1"].DeletedAt)
			}, "1 0",
		},
		"the version of a pod's start": {
			[]any{awaiting}, []any{as("7", running(awaiting, 105))}, restored(awaiting, saved(fact.Pods, "p1")), nil,
			func(inv *Inventory, _ *history) string { return fmt.Sprint(inv.pods["p1"].startedIn) }, "7",
		},
		"a node that is lost": {
			[]any{node}, nil, restored(node, saved(fact.Nodes, "n-node-1")), nil,
			func(inv *Inventory, _ *history) string { return fmt.Sprint(inv.nodes["node-1"].lost) }, "true",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inv, h := New(), newHistory()
			set := func(objects []any, obs Observation) {
				for _, o := range objects {
					must(t, inv.Set(o, obs))
				}
				h.take(inv)
			}
			set(test.found, Observation{At: at(100), Found: true})
			set(test.before, Live(at(109)))
			unread, err := inv.Reconcile(fact.SavedList{test.catalog}, 0, at(110), nil, nil)
			must(t, errors.Join(unread, err))
			set(test.after, Live(at(111)))
			expect(t, "got", test.got(inv, h), test.want)
		})
	}
}

// TestReconcileLeavesOutWhatIsNewer: another tracker has written a claim whose event this inventory has not taken yet. Versions that
// are no numbers do not compare, and then an object that no list has is gone.
func TestReconcileLeavesOutWhatIsNewer(t *testing.T) {
	claim := pvc("data", "c1", 1, "")
	for name, test := range map[string]struct {
		version    string
		incomplete bool
		taken      map[fact.Kind]uint64
		want       fact.Action
	}{
		"a newer version":                  {"12", false, map[fact.Kind]uint64{fact.Claims: 10}, fact.Created},
		"a newer version, not all written": {"12", true, map[fact.Kind]uint64{fact.Claims: 10}, fact.Created},
		"a version that was taken":         {"10", false, map[fact.Kind]uint64{fact.Claims: 10}, fact.Deleted},
		"a version that is no number":      {"a12", false, map[fact.Kind]uint64{fact.Claims: 10}, fact.Deleted},
		"a position that is no number":     {"12", false, map[fact.Kind]uint64{fact.Claims: 0}, fact.Deleted},
		"newer than another kind":          {"12", false, map[fact.Kind]uint64{fact.Pods: 10, fact.Claims: 20}, fact.Deleted},
	} {
		t.Run(name, func(t *testing.T) {
			inv := New()
			must(t, inv.Set(pvc("logs", "c2", 1, ""), Observation{At: at(100), Found: true}))
			var u fact.Update
			inv.Take(&u)
			saved := restored(claim, fact.ObjectSnapshot{Kind: fact.Claims, UID: "c1"})
			saved.ResourceVersion, saved.Incomplete = test.version, test.incomplete
			unread, err := inv.Reconcile(fact.SavedList{saved}, 0, at(101), map[fact.Kind]fact.Time{fact.Claims: at(50)}, test.taken)
			must(t, errors.Join(unread, err))
			inv.Take(&u)
			expect(t, "is there a row", u.Facts.Len() > 0, test.want == fact.Deleted)
			if test.want == fact.Created {
				must(t, inv.Set(claim, Live(at(102))))
				inv.Take(&u)
			}
			var got []fact.Action
			for _, c := range u.Facts.Changes {
				got = append(got, c.Action)
			}
			expect(t, "changes", fmt.Sprint(got), fmt.Sprint([]fact.Action{test.want}))
		})
	}
}

// TestRestoreAfterAnInterruptedBatch restores the rows of a tracker that was killed in the middle of a batch: a pod
// without its containers; the end of a binding, while the volume's own row is still Bound; and a binding of a volume
// whose own row is not Bound yet.
func TestRestoreAfterAnInterruptedBatch(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 1, claim, corev1.VolumeBound, 3)
	user := running(podOf("db-0", "p1", 4, []string{"db"}, "data"), 13)
	second := pvc("logs", "c2", 1, "vol-2")
	incomplete := restored(user, fact.ObjectSnapshot{})
	incomplete.Incomplete = true
	inv, h := New(), newHistory()
	unread, err := inv.Restore(fact.SavedList{
		restored(second, fact.ObjectSnapshot{Kind: fact.Claims, UID: "c2"}),
		restored(pv("vol-2", "v2", 1, second, corev1.VolumePending, 1), fact.ObjectSnapshot{Kind: fact.Volumes, UID: "v2", ClaimUID: "c2", BoundAt: at(3)}),
		restored(claim, fact.ObjectSnapshot{Kind: fact.Claims, UID: "c1", BoundAt: at(3)}),
		restored(volume, fact.ObjectSnapshot{Kind: fact.Volumes, UID: "v1", ClaimUID: "c1", BoundAt: at(3), ReleasedAt: at(20), ReleasedNotBefore: at(20)}),
		incomplete,
	}, 7, at(100))
	if unread != nil || err != nil {
		t.Fatal(unread, err)
	}
	h.take(inv)
	expect(t, "rows of what was told", len(h.claims)+len(h.volumes)+len(h.bindings), 0)
	expect(t, "the mount", h.mount("p1", "db", "/data"), "c1@v1 13-")
	expect(t, "objects", len(h.objects), 1)
	if err := inv.Replace(fact.Pods, nil, Observation{At: at(101), NotBefore: at(50)}); err != nil {
		t.Fatal(err)
	}
	if err := inv.Set(pv("vol", "v1", 1, claim, corev1.VolumeReleased, 20), Observation{At: at(101), NotBefore: at(50)}); err != nil {
		t.Fatal(err)
	}
	h.take(inv)
	expect(t, "the mount, once its pod is gone", h.mount("p1", "db", "/data"), "c1@v1 13-101(from 13) Deleted")
	if err := inv.Set(pv("vol-2", "v2", 1, second, corev1.VolumeBound, 3), Observation{At: at(101), NotBefore: at(50)}); err != nil {
		t.Fatal(err)
	}
	h.take(inv)
	expect(t, "bindings", len(h.bindings), 2)
	expect(t, "the binding that was told before its volume", h.bindings[[2]string{"c2", "v2"}], fact.Binding{Namespace: "shop", ClaimName: "logs", ClaimUID: "c2", VolumeUID: "v2", BoundAt: at(3)})
	b := h.bindings[[2]string{"c1", "v1"}]
	expect(t, "the binding", b, fact.Binding{Namespace: "shop", ClaimName: "data", ClaimUID: "c1", VolumeUID: "v1", BoundAt: at(3), ReleasedAt: at(20), ReleasedNotBefore: at(20)})
}

// TestRestoreOfAnIncompleteObject: its row is emitted again with the resource version that the catalog has.
// Without one, a later restore would take the object for complete.
func TestRestoreOfAnIncompleteObject(t *testing.T) {
	inv, h := New(), newHistory()
	saved := restored(pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 1), fact.ObjectSnapshot{})
	saved.Incomplete, saved.ResourceVersion = true, "77"
	if unread, err := inv.Restore(fact.SavedList{saved}, 7, at(100)); unread != nil || err != nil {
		t.Fatal(err)
	}
	var u fact.Update
	inv.Take(&u)
	h.add(&u)
	expect(t, "rows", len(h.volumes), 1)
	if len(u.Facts.Objects) != 1 || u.Facts.Objects[0].ResourceVersion != "77" {
		t.Errorf("objects are %+v", u.Facts.Objects)
	}
}

// unreadable are objects of a catalog that does not answer.
type unreadable struct{}

func (unreadable) Each(func(*fact.SavedObject) error) error { return errors.New("no answer") }

func TestReconcileDropsNothingIfTheObjectsCannotBeRead(t *testing.T) {
	inv := New()
	if err := inv.Set(pvc("data", "c1", 1, ""), Live(at(1))); err != nil {
		t.Fatal(err)
	}
	if unread, err := inv.Reconcile(unreadable{}, 7, at(100), nil, nil); unread != nil || err == nil {
		t.Error(unread, err)
	}
	expect(t, "claims", inv.Count(fact.Claims), 1)
}

// TestRestoreOfWhatAnOlderTrackerKept: all objects are emitted again, as they are kept now, and changes are not.
func TestRestoreOfWhatAnOlderTrackerKept(t *testing.T) {
	volume := pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 1)
	volume.Spec.NFS.Path = "/secret"
	for _, empty := range []bool{true, false} {
		inv, h := New(), newHistory()
		inv.SetTrim(func(kind fact.Kind, o metav1.Object) {
			expect(t, "kind", kind, fact.Volumes)
			o.(*corev1.PersistentVolume).Spec.NFS.Path = "***"
		})
		if !empty {
			if err := inv.Set(pvc("data", "c1", 1, ""), Live(at(99))); err != nil {
				t.Fatal(err)
			}
			h.take(inv)
		}
		saved := restored(volume.DeepCopy(), fact.ObjectSnapshot{})
		saved.Unredacted = true
		if unread, err := inv.Restore(fact.SavedList{saved}, 7, at(100)); unread != nil || err != nil {
			t.Fatal(unread, err)
		}
		var u fact.Update
		inv.Take(&u)
		u.Facts.Objects[0].Encode()
		expect(t, "volumes", len(u.Facts.Volumes), 1)
		expect(t, "changes", len(u.Facts.Changes), 0)
		expect(t, "path", u.Facts.VolumeSources[0].Path, "***")
		expect(t, "source", u.Facts.Volumes[0].SourceID, u.Facts.VolumeSources[0].ID)
		expect(t, "in the object", strings.Contains(string(u.Facts.Objects[0].Wire), "/secret"), false)
	}
}

// TestRestoreOfABindingWithAnOlderVolume has a catalog in which a volume's last binding is newer than
// the volume itself, in each phase that the volume can have had before. The list shows it Bound, and
// that is the binding that was told.
func TestRestoreOfABindingWithAnOlderVolume(t *testing.T) {
	former, claim := pvc("logs", "c1", 1, "vol"), pvc("next", "c2", 60, "vol")
	bound := pv("vol", "v1", 1, claim, corev1.VolumeBound, 60)
	for name, older := range map[string]*corev1.PersistentVolume{
		"Bound to another":         pv("vol", "v1", 1, former, corev1.VolumeBound, 3),
		"Released from another":    pv("vol", "v1", 1, former, corev1.VolumeReleased, 50),
		"Available":                pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 55),
		"Available, in the second": pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 60),
		"Available, and named":     pv("vol", "v1", 1, claim, corev1.VolumeAvailable, 55),
	} {
		t.Run(name, func(t *testing.T) {
			inv, h := New(), newHistory()
			unread, err := inv.Restore(fact.SavedList{
				restored(claim, fact.ObjectSnapshot{Kind: fact.Claims, UID: "c2", BoundAt: at(60), VolumeUID: "v1"}),
				restored(older, fact.ObjectSnapshot{Kind: fact.Volumes, UID: "v1", ClaimUID: "c2", BoundAt: at(60)}),
			}, 7, at(100))
			if unread != nil || err != nil {
				t.Fatal(unread, err)
			}
			h.take(inv)
			if err := inv.Replace(fact.Volumes, []any{bound}, Observation{At: at(101), NotBefore: at(50)}); err != nil {
				t.Fatal(err)
			}
			h.take(inv)
			delete(h.bindings, [2]string{"c1", "v1"}) // may be told again
			expect(t, "bindings", fmt.Sprint(h.bindings), fmt.Sprint(map[[2]string]fact.Binding{{"c2", "v1"}: {Namespace: "shop", ClaimName: "next", ClaimUID: "c2", VolumeUID: "v1", BoundAt: at(60)}}))
		})
	}
	t.Run("for the second time", func(t *testing.T) {
		inv, h := New(), newHistory()
		older := pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 55)
		if unread, err := inv.Restore(fact.SavedList{
			restored(older, fact.ObjectSnapshot{Kind: fact.Volumes, UID: "v1", ClaimUID: "c2", BoundAt: at(60), BindingOrdinal: 1}),
		}, 7, at(100)); unread != nil || err != nil {
			t.Fatal(err)
		}
		if err := inv.Set(bound, Observation{At: at(101), NotBefore: at(50)}); err != nil {
			t.Fatal(err)
		}
		h.take(inv)
		expect(t, "its ordinal", fmt.Sprint(slices.Collect(maps.Keys(h.bindings))), "[[c2 v1/1]]")
	})
	t.Run("without times, before 1.28", func(t *testing.T) {
		inv, h := New(), newHistory()
		older := pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 55)
		older.Status.LastPhaseTransitionTime = nil
		if unread, err := inv.Restore(fact.SavedList{
			restored(older, fact.ObjectSnapshot{Kind: fact.Volumes, UID: "v1", ClaimUID: "c2", BoundAt: at(60)}),
		}, 7, at(100)); unread != nil || err != nil {
			t.Fatal(err)
		}
		now := bound.DeepCopy()
		now.Status.LastPhaseTransitionTime = nil
		if err := inv.Set(now, Observation{At: at(101), NotBefore: at(50)}); err != nil {
			t.Fatal(err)
		}
		h.take(inv)
		expect(t, "its ordinal", fmt.Sprint(slices.Collect(maps.Keys(h.bindings))), "[[c2 v1]]")
	})
	inv, h := New(), newHistory()
	if unread, err := inv.Restore(fact.SavedList{
		restored(pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 70), fact.ObjectSnapshot{Kind: fact.Volumes, UID: "v1", ClaimUID: "c2", BoundAt: at(60)}),
	}, 7, at(100)); unread != nil || err != nil {
		t.Fatal(err)
	}
	inv.Tick(at(101))
	if err := inv.Replace(fact.Volumes, []any{pv("vol", "v1", 1, claim, corev1.VolumeBound, 80)}, Observation{At: at(102), NotBefore: at(50)}); err != nil {
		t.Fatal(err)
	}
	h.take(inv)
	expect(t, "bound again after a version that came later", h.bindings[[2]string{"c2", "v1/1"}].BoundAt, at(80))
}

// tracked is an inventory with what a catalog and a journal keep of it.
type tracked struct {
	*history
	t   *testing.T
	inv *Inventory
	k   *keeper
}

func track(t *testing.T) *tracked {
	return &tracked{history: newHistory(), t: t, inv: New(), k: newKeeper()}
}

// taken moves what changed to catalog and journal.
func (r *tracked) taken() {
	var u fact.Update
	r.inv.Take(&u)
	r.k.take(&u)
	r.add(&u)
}

// play has the inventory watch events.
func (r *tracked) play(events ...event) {
	r.t.Helper()
	for _, e := range recordedOf(r.t, events) {
		apply(r.t, r.inv, e)
		r.k.now = e.at
		r.taken()
	}
}

// list has a list of a kind replace what is known.
func (r *tracked) list(kind fact.Kind, obs Observation, objects ...any) {
	r.t.Helper()
	relist(r.t, r.inv, kind, obs, objects...)
	r.k.now = obs.At
	r.taken()
}

// set takes one object.
func (r *tracked) set(o any, obs Observation) {
	r.t.Helper()
	if err := r.inv.Set(o, obs); err != nil {
		r.t.Fatal(err)
	}
	r.taken()
}

// restart begins a new inventory from the journal.
func (r *tracked) restart() {
	r.t.Helper()
	r.inv = r.k.restart(r.t)
	r.taken()
}

// brokenObjects are saved objects that cannot be read.
type brokenObjects struct{}

var errBroken = errors.New("broken")

func (brokenObjects) Each(func(*fact.SavedObject) error) error { return errBroken }

func TestReconcileReturnsTheErrorOfTheSavedObjects(t *testing.T) {
	if unread, err := New().Reconcile(brokenObjects{}, 1, at(1), nil, nil); unread != nil || !errors.Is(err, errBroken) {
		t.Errorf("got %v, %v", unread, err)
	}
}
