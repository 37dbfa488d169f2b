package inventory

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// story lists what happened to objects of a kind, in the order of the events.
func story(t *testing.T, kind fact.Kind, events ...event) (list []string) {
	t.Helper()
	inv := New()
	var u fact.Update
	for _, e := range events {
		take := inv.Set
		if e.delete {
			take = inv.Delete
		}
		if err := take(e.object, Live(at(e.at))); err != nil {
			t.Fatal(err)
		}
		inv.Take(&u)
		for _, c := range u.Facts.Changes {
			if c.Kind == string(kind) {
				list = append(list, string(c.Action)+": "+c.Details)
			}
		}
	}
	return list
}

func expectStory(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

func TestLifeOfAClaimIsReadable(t *testing.T) {
	steps := []event{set(1, pvc("data", "c1", 1, ""))}
	next := func(change func(*corev1.PersistentVolumeClaim)) {
		o := steps[len(steps)-1].object.(*corev1.PersistentVolumeClaim).DeepCopy()
		change(o)
		steps = append(steps, set(len(steps)+1, o))
	}
	size := func(s string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(s)}
	}
	next(func(o *corev1.PersistentVolumeClaim) {
		o.Annotations = map[string]string{"volume.kubernetes.io/selected-node": "node-7"}
	})
	next(func(o *corev1.PersistentVolumeClaim) {
		o.Annotations = map[string]string{"volume.kubernetes.io/selected-node": "node-7", "volume.kubernetes.io/storage-provisioner": "csi.example"}
	})
	next(func(o *corev1.PersistentVolumeClaim) {
		o.Spec.VolumeName, o.Status.Phase, o.Status.Capacity = "vol", corev1.ClaimBound, size("10Gi")
	})
	bound := steps[3].object.(*corev1.PersistentVolumeClaim)
	steps = append(steps, set(3, pv("vol", "v1", 2, bound, corev1.VolumeBound, 3)), set(3, bound))
	next(func(o *corev1.PersistentVolumeClaim) { o.Spec.Resources.Requests = size("20Gi") })
	next(func(o *corev1.PersistentVolumeClaim) {
		o.Status.Conditions = []corev1.PersistentVolumeClaimCondition{
			{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue},
			{Type: corev1.PersistentVolumeClaimResizing, Status: corev1.ConditionFalse},
		}
		o.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{
			corev1.ResourceStorage: corev1.PersistentVolumeClaimNodeResizePending,
		}
	})
	_, h := play(t, steps...)
	expect(t, "conditions", intern.Join(h.claims["c1"].Conditions), "FileSystemResizePending,NodeResizePending")
	expect(t, "selected node", h.claims["c1"].SelectedNode, "node-7")
	next(func(o *corev1.PersistentVolumeClaim) {
		o.Status.Conditions, o.Status.AllocatedResourceStatuses, o.Status.Capacity = nil, nil, size("20Gi")
	})
	next(func(o *corev1.PersistentVolumeClaim) { o.Spec.VolumeAttributesClassName = new("gold") })
	next(func(o *corev1.PersistentVolumeClaim) { o.Status.CurrentVolumeAttributesClassName = new("gold") })
	_, h = play(t, steps...)
	expect(t, "attributes class", h.claims["c1"].AttributesClass+" "+h.claims["c1"].CurrentAttributesClass, "gold gold")
	next(func(o *corev1.PersistentVolumeClaim) { o.Status.Phase = corev1.ClaimLost })
	next(func(o *corev1.PersistentVolumeClaim) {
		o.DeletionTimestamp, o.DeletionGracePeriodSeconds = new(second(60)), new(int64(10))
		o.Finalizers = []string{"kubernetes.io/pvc-protection"}
	})
	_, h = play(t, steps...)
	for _, c := range changesOf(h) {
		if c.Action == fact.Deleting {
			expect(t, "asked for before the time to end that it is given", c.At, at(50))
		}
	}
	steps = append(steps, gone(70, steps[len(steps)-1].object))
	expectStory(t, story(t, fact.Claims, steps...),
		"created: 10Gi requested of fast", "node_selected: node-7", "provisioning: by csi.example", "bound: to volume vol", "resize_requested: 10Gi → 20Gi",
		"resized: 10Gi → 20Gi", "modify_requested: attributes class none → gold", "modified: attributes class none → gold",
		"phase: Bound → Lost", "deleting: held back by kubernetes.io/pvc-protection", "deleted: ")
}

func TestLifeOfAVolumeIsReadable(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	free := pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 1)
	bound := pv("vol", "v1", 1, claim, corev1.VolumeBound, 3)
	modified := bound.DeepCopy()
	modified.Spec.VolumeAttributesClassName = new("gold")
	released := pv("vol", "v1", 1, claim, corev1.VolumeReleased, 6)
	released.Spec.VolumeAttributesClassName = new("gold")
	deleting := released.DeepCopy()
	deleting.DeletionTimestamp = new(second(8))
	_, h := play(t, set(1, free), set(4, modified))
	expect(t, "attributes class", h.volumes["v1"].AttributesClass, "gold")
	expectStory(t, story(t, fact.Volumes, set(1, free), set(3, bound), set(4, modified), set(6, released), set(8, deleting), gone(9, deleting)),
		"created: 10Gi on nfs", "phase: Available → Bound", "modified: attributes class none → gold",
		"released: Bound → Released, reclaim policy Retain", "deleting: held back by none", "deleted: ")
}

func TestDeletionThatWasRequestedBeforeTheFirstList(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	claim.DeletionTimestamp, claim.Finalizers = new(second(8)), []string{"kubernetes.io/pvc-protection"}
	volume := pv("vol", "v1", 1, claim, corev1.VolumeBound, 3)
	volume.DeletionTimestamp = new(second(9))
	const asked = "deleting: held back by kubernetes.io/pvc-protection"
	if list := story(t, fact.Claims, set(20, claim), set(30, claim)); !slices.Contains(list, asked) {
		t.Errorf("a claim that nobody had seen before: %q", list)
	}
	if list := story(t, fact.Volumes, set(20, volume)); !slices.Contains(list, "deleting: held back by none") {
		t.Errorf("a volume that nobody had seen before: %q", list)
	}
	inv := New()
	relist(t, inv, fact.Claims, Observation{At: at(20), Found: true}, claim)
	h := newHistory()
	h.take(inv)
	for _, c := range changesOf(h) {
		if c.Action == fact.Deleting {
			expect(t, "as the claim dates it", c.At, at(8))
			expect(t, "found", c.Found, true)
			expect(t, "version, as it is the same in each", c.ResourceVersion, "")
		}
	}
}

func TestReleaseThatIsSeenFirstShowsTheBinding(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	released := pv("vol", "v1", 1, claim, corev1.VolumeReleased, 6)
	_, h := play(t, set(7, released))
	key := [2]string{"c1", "v1"}
	expect(t, "of a claim that nobody knows: it may have gone before it was bound", len(h.bindings), 0)
	_, h = play(t, set(1, pvc("data", "c1", 1, "")), set(5, claim), set(7, released))
	expect(t, "from when the claim was", h.bindings[key], fact.Binding{Namespace: "shop", ClaimName: "data", ClaimUID: "c1", VolumeUID: "v1", BoundAt: at(5), ReleasedAt: at(6), ReleasedNotBefore: at(6)})
}

// TestRule2_8_ClaimThatIsBoundLate: the controller writes that a claim is Bound when the volume has been
// given to another one, which was missed.
func TestRule2_8_ClaimThatIsBoundLate(t *testing.T) {
	claim, next := pvc("data", "c1", 31, "vol"), pvc("next", "c2", 33, "vol")
	inv, h := New(), newHistory()
	pending := claim.DeepCopy()
	pending.Status.Phase, pending.Status.Capacity = corev1.ClaimPending, nil
	for _, o := range []any{pending, pv("vol", "v1", 30, nil, corev1.VolumeAvailable, 30)} {
		if err := inv.Set(o, Live(at(31))); err != nil {
			t.Fatal(err)
		}
	}
	relist(t, inv, fact.Volumes, Observation{At: at(40), NotBefore: at(32)}, pv("vol", "v1", 30, next, corev1.VolumeBound, 36))
	if err := inv.Set(claim, Live(at(52))); err != nil { // the controller's cache was behind
		t.Fatal(err)
	}
	h.take(inv)
	expect(t, "binding", h.bindings[[2]string{"c1", "v1"}], fact.Binding{Namespace: "shop", ClaimName: "data", ClaimUID: "c1", VolumeUID: "v1", BoundAt: at(36), ReleasedAt: at(36), ReleasedNotBefore: at(31)})
}

// TestRule2_8_ClaimThatIsBoundAfterItsVolumeWasReserved: in a gap a volume is bound, and reserved for another
// claim that is not there yet. The controller writes that the first claim is Bound before the gap's end. When
// it lost the volume is not known.
func TestRule2_8_ClaimThatIsBoundAfterItsVolumeWasReserved(t *testing.T) {
	claim, next := pvc("data", "c1", 31, "vol"), pvc("next", "c2", 70, "vol")
	pending := claim.DeepCopy()
	pending.Status.Phase, pending.Status.Capacity = corev1.ClaimPending, nil
	inv, h := play(t, set(30, pv("vol", "v1", 30, nil, corev1.VolumeAvailable, 30)), set(31, pending), set(59, claim))
	reserved := pv("vol", "v1", 30, next, corev1.VolumeBound, 38)
	reserved.Spec.ClaimRef.UID = ""
	if err := inv.Set(reserved, Observation{At: at(60), NotBefore: at(37)}); err != nil {
		t.Fatal(err)
	}
	h.take(inv)
	b := h.bindings[[2]string{"c1", "v1"}]
	expect(t, "released", b.ReleasedAt, at(60))
	expect(t, "not before", b.ReleasedNotBefore, at(31))
}

// TestRule2_8_BindingThatWasMissed: a claim is found to have been bound in a gap, and its volume has been
// given away, or released, before the gap's end. When the claim was bound is not known, nor is when it
// lost the volume, whichever of them is listed first. A claim that is listed last waits for the watch of volumes.
func TestRule2_8_BindingThatWasMissed(t *testing.T) {
	claim, next := as("50", pvc("data", "c1", 31, "vol")), pvc("next", "c2", 33, "vol")
	gap := Observation{At: at(52), NotBefore: at(28), Version: "40"}
	reserved := pv("vol", "v1", 30, next, corev1.VolumeBound, 32)
	reserved.Spec.ClaimRef.UID = ""
	for name, after := range map[string]*corev1.PersistentVolume{
		"given away": pv("vol", "v1", 30, next, corev1.VolumeBound, 36),
		"released":   pv("vol", "v1", 30, claim, corev1.VolumeReleased, 36),
		"reserved":   reserved, // given away, and the next claim is not there yet
	} {
		lists := map[fact.Kind]any{fact.Claims: claim, fact.Volumes: after}
		for _, order := range [][]fact.Kind{{fact.Claims, fact.Volumes}, {fact.Volumes, fact.Claims}} {
			t.Run(fmt.Sprint(name, order), func(t *testing.T) {
				r := track(t)
				r.play(set(31, pvc("data", "c1", 31, "")), set(31, pv("vol", "v1", 30, nil, corev1.VolumeAvailable, 30)))
				for _, kind := range order {
					r.list(kind, gap, lists[kind])
				}
				r.restart()
				r.inv.Tick(gap.At + earlyFor)
				r.taken()
				b := r.bindings[[2]string{"c1", "v1"}]
				by := at(36)
				if name == "reserved" {
					by = gap.At
				}
				expect(t, "bound, at the latest", b.BoundAt, by)
				expect(t, "released", b.ReleasedAt, by)
				if name != "released" {
					expect(t, "not before", b.ReleasedNotBefore, at(31))
				}
				expect(t, "created to bound", fmt.Sprint(tookOf(r.history, fact.Bound)), "[?]")
			})
		}
	}
}

// unusedClaim is a bound claim of which the API says that it is, or is not, in use.
func unusedClaim(status corev1.ConditionStatus, since int) *corev1.PersistentVolumeClaim {
	o := pvc("data", "c1", 1, "vol")
	o.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: unusedCondition, Status: status, LastTransitionTime: second(since)}}
	return o
}

func TestLastingDifferencesWithTheAPIAreEmitted(t *testing.T) {
	user := running(podOf("db-0", "p1", 4, []string{"db"}, "data"), 5)
	done := ended(user, corev1.PodSucceeded, 5, 9, 0, "Completed")
	other := storageClass("fast", "s1")
	otherAgain := storageClass("fast", "s1")
	otherAgain.Provisioner = "csi.example"
	for name, test := range map[string]struct {
		events []event
		want   []string
	}{
		"the API is behind by less than a minute": {
			[]event{set(5, user), set(6, unusedClaim(corev1.ConditionTrue, 2)), set(40, unusedClaim(corev1.ConditionFalse, 39)), set(300, other)}, nil,
		},
		"unused, but a pod refers to it": {
			[]event{set(5, user), set(6, unusedClaim(corev1.ConditionTrue, 2)), set(60, other), set(70, otherAgain), set(200, other)},
			[]string{"disputed: the API calls it unused, but a pod refers to it"},
		},
		"used, but no pod refers to it": {
			[]event{set(5, user), set(6, unusedClaim(corev1.ConditionFalse, 2)), set(9, done), set(100, other)},
			[]string{"disputed: the API calls it used, but no pod refers to it"},
		},
		"both say unused": {[]event{set(9, done), set(10, unusedClaim(corev1.ConditionTrue, 9)), set(100, other)}, nil},
		"both say used":   {[]event{set(5, user), set(6, unusedClaim(corev1.ConditionFalse, 5)), set(100, other)}, nil},
		"a deleted claim": {
			[]event{set(5, user), set(6, unusedClaim(corev1.ConditionTrue, 2)), gone(7, unusedClaim(corev1.ConditionTrue, 2)), set(100, other)}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, line := range story(t, fact.Claims, test.events...) {
				if len(line) > 8 && line[:8] == string(fact.Disputed) {
					got = append(got, line)
				}
			}
			expectStory(t, got, test.want...)
		})
	}
}

func TestLifeOfAPodIsReadable(t *testing.T) {
	o := podOf("db-0", "p1", 4, []string{"db"}, "data")
	scheduled := o.DeepCopy()
	scheduled.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: second(5)}}
	done := ended(scheduled, corev1.PodSucceeded, 6, 9, 0, "Completed")
	expectStory(t, story(t, fact.Pods, set(4, o), set(5, scheduled), set(6, running(scheduled, 6)), set(7, running(scheduled, 6)), set(9, done), set(10, done), gone(12, done)),
		"created: ", "scheduled: to node node-1", "started: on node node-1", "mounted: vol-0 in container db at /data", "finished: Succeeded",
		"unmounted: vol-0 in container db at /data: Completed", "deleted: ")
}
