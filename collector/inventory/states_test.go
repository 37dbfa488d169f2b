package inventory

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

func classNamed(name, uid string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: objectMeta("", name, uid, 1), Provisioner: "csi.example", VolumeBindingMode: &mode}
}

func ofClass(o *corev1.PersistentVolumeClaim, class string) *corev1.PersistentVolumeClaim {
	o.Spec.StorageClassName, o.Status.Phase = &class, corev1.ClaimPending
	return o
}

// A claim waits from its creation; where the class binds at first use, from the pod's.
func TestSinceWhenAClaimIsPending(t *testing.T) {
	claim := func() *corev1.PersistentVolumeClaim { return ofClass(pvc("data", "c1", 1, ""), "fast") }
	late, immediate := classNamed("fast", "s1", storagev1.VolumeBindingWaitForFirstConsumer), classNamed("fast", "s1", storagev1.VolumeBindingImmediate)
	pod := podOf("db-0", "p1", 4, []string{"db"}, "data")
	lost := claim()
	lost.Status.Phase = corev1.ClaimLost
	bound := claim()
	bound.Status.Phase, bound.Spec.VolumeName = corev1.ClaimBound, "vol"
	other := classNamed("slow", "s2", storagev1.VolumeBindingWaitForFirstConsumer)
	for name, test := range map[string]struct {
		events []event
		want   fact.Time
	}{
		"no such class":                  {[]event{set(2, claim()), set(2, other)}, at(1)},
		"immediate":                      {[]event{set(2, immediate), set(2, claim())}, at(1)},
		"immediate, known later":         {[]event{set(2, late), set(2, claim()), set(3, immediate)}, at(1)},
		"at first use":                   {[]event{set(2, late), set(2, claim())}, 0},
		"at first use, known later":      {[]event{set(2, claim()), set(3, late)}, 0},
		"at first use, with a pod":       {[]event{set(2, late), set(2, claim()), set(4, pod)}, at(4)},
		"at first use, the pod first":    {[]event{set(2, late), set(4, pod), set(5, claim())}, at(4)},
		"at first use, the pod has gone": {[]event{set(2, late), set(2, claim()), set(4, pod), gone(5, pod)}, 0},
		"the class has gone":             {[]event{set(2, late), set(2, claim()), gone(3, late)}, at(1)},
		"bound":                          {[]event{set(2, immediate), set(2, claim()), set(3, bound)}, 0},
		"lost":                           {[]event{set(2, immediate), set(2, lost)}, 0},
		"deleted":                        {[]event{set(2, immediate), set(2, claim()), gone(3, claim())}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, h := play(t, test.events...)
			expect(t, "pending since", h.claimState["c1"].PendingSince, test.want)
		})
	}
}

func capacityOf(uid, class string, bytes *resource.Quantity) *storagev1.CSIStorageCapacity {
	return &storagev1.CSIStorageCapacity{
		ObjectMeta: objectMeta("csi", "cap-"+uid, uid, 1), StorageClassName: class, Capacity: bytes,
		NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{"zone": "a"}},
	}
}

func TestClassesAndCapacitiesAreEmittedAsTheyAre(t *testing.T) {
	inv, u := New(), &fact.Update{}
	late := classNamed("fast", "s1", storagev1.VolumeBindingWaitForFirstConsumer)
	for i, step := range []struct {
		event event
		want  string
	}{
		{set(1, capacityOf("k1", "fast", resource.NewQuantity(5, resource.BinarySI))), "[] [{k1 fast  zone=a 5 false}]"},
		{set(2, late), "[{fast csi.example Delete WaitForFirstConsumer false}] [{k1 fast csi.example zone=a 5 false}]"},
		{set(3, late), "[] []"},
		{set(3, capacityOf("k1", "fast", resource.NewQuantity(5, resource.BinarySI))), "[] [{k1 fast csi.example zone=a 5 false}]"}, // a new row: it has a driver now
		{set(3, capacityOf("k1", "fast", resource.NewQuantity(5, resource.BinarySI))), "[] []"},
		{set(4, capacityOf("k1", "fast", resource.NewQuantity(0, resource.BinarySI))), "[] [{k1 fast csi.example zone=a 0 false}]"},
		{set(5, capacityOf("k1", "fast", nil)), "[] [{k1 fast csi.example zone=a 0 true}]"},
		{set(6, capacityOf("k1", "fast", resource.NewQuantity(7, resource.BinarySI))), "[] [{k1 fast csi.example zone=a 7 false}]"},
		{set(7, capacityOf("k2", "slow", resource.NewQuantity(1, resource.BinarySI))), "[] [{k2 slow  zone=a 1 false}]"},
		{gone(8, capacityOf("k1", "fast", resource.NewQuantity(7, resource.BinarySI))), "[] [{k1 fast csi.example zone=a 0 true}]"},
		{gone(9, late), "[{fast csi.example Delete WaitForFirstConsumer true}] []"},
	} {
		do := inv.Set
		if step.event.delete {
			do = inv.Delete
		}
		if err := do(step.event.object, Live(at(step.event.at))); err != nil {
			t.Fatal(err)
		}
		inv.Take(u)
		expect(t, fmt.Sprint("step ", i), fmt.Sprint(u.Classes, " ", u.Capacities), step.want)
	}
	if !(&fact.Update{}).Empty() || (&fact.Update{Classes: make([]fact.ClassState, 1)}).Empty() || (&fact.Update{Capacities: make([]fact.CapacityState, 1)}).Empty() ||
		(&fact.Update{Attachments: make([]fact.AttachmentState, 1)}).Empty() {
		t.Error("what is empty?")
	}
}

// Before 1.28 the API does not say when a volume was released. One that was seen to be
// has the moment, one that was found so has none.
func TestSinceWhenAVolumeIsReleased(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := func(phase corev1.PersistentVolumePhase) *corev1.PersistentVolume {
		o := pv("vol", "v1", 2, claim, phase, 3)
		o.Status.LastPhaseTransitionTime = nil
		return o
	}
	for phase, want := range map[corev1.PersistentVolumePhase]fact.VolumeStatus{corev1.VolumeReleased: fact.VolumeReleased, corev1.VolumeFailed: fact.VolumeFailed, corev1.VolumeAvailable: fact.VolumeAvailable} {
		inv, h := New(), newHistory()
		if err := inv.Replace(fact.Volumes, []any{volume(phase)}, Observation{At: at(20), Found: true}); err != nil {
			t.Fatal(err)
		}
		h.take(inv)
		expect(t, "status", h.states["v1"].Status, want)
		expect(t, "found "+string(phase), h.states["v1"].ChangedAt, 0)
		_, h = play(t, set(3, claim), set(4, volume(corev1.VolumeBound)), set(9, volume(phase)))
		expect(t, "seen "+string(phase), h.states["v1"].ChangedAt, at(9))
	}
}
