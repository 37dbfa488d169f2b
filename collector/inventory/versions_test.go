package inventory

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// as returns an object in another version.
func as[T metav1.Object](version string, o T) T {
	o.SetResourceVersion(version)
	return o
}

// TestWhatIsDatedByUsHasAVersion checks that two trackers can tell that they speak of the
// same change, though each dates it by its own clock.
func TestWhatIsDatedByUsHasAVersion(t *testing.T) {
	for name, test := range map[string]struct {
		events []event
		list   fact.Kind // that is listed in the end, at version 99, and holds nothing
		want   map[fact.Action]string
	}{
		"a claim that is deleted": {[]event{set(1, pvc("data", "c1", 1, "")), gone(5, as("7", pvc("data", "c1", 1, "")))}, "", map[fact.Action]string{fact.Created: "", fact.Deleted: "7"}},
		"a claim that a list lacks": {[]event{set(1, pvc("data", "c1", 1, ""))}, fact.Claims,
			map[fact.Action]string{fact.Created: "", fact.Deleted: "99"}},
		"a class": {[]event{set(1, storageClass("fast", "s1")), gone(5, as("8", storageClass("fast", "s1")))}, "", map[fact.Action]string{fact.Created: "", fact.Deleted: "8"}},
		"an attachment": {[]event{set(1, pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 1)), set(8, volumeAttachment("a1", "vol", 7)), gone(9, as("9", volumeAttachment("a1", "vol", 7)))}, "",
			map[fact.Action]string{fact.Created: "", fact.Attached: "", fact.Detached: "9"}},
	} {
		inv := New()
		got := map[fact.Action]string{}
		tell := func(err error) {
			var u fact.Update
			if inv.Take(&u); err != nil {
				t.Fatal(err)
			}
			for _, c := range u.Facts.Changes {
				got[c.Action] = c.ResourceVersion
			}
		}
		for _, e := range test.events {
			if e.delete {
				tell(inv.Delete(e.object, Live(at(e.at))))
			} else {
				tell(inv.Set(e.object, Live(at(e.at))))
			}
		}
		if test.list != "" {
			tell(inv.Replace(test.list, nil, Observation{At: at(20), NotBefore: at(10), Version: "99"}))
		}
		for action, version := range test.want {
			expect(t, name+": "+string(action), got[action], version)
		}
		expect(t, name+": changes", len(got), len(test.want))
	}
}

func TestASampleOfCapacityHasItsVersion(t *testing.T) {
	o := &storagev1.CSIStorageCapacity{ObjectMeta: objectMeta("kube-system", "cap", "k1", 1), StorageClassName: "fast"}
	inv := New()
	for _, version := range []string{"3", "4"} { // the second says nothing new
		if err := inv.Set(as(version, o.DeepCopy()), Live(at(2))); err != nil {
			t.Fatal(err)
		}
	}
	var u fact.Update
	inv.Take(&u)
	expect(t, "samples", len(u.Facts.StorageCapacity), 1)
	expect(t, "version", u.Facts.StorageCapacity[0].ResourceVersion, "3")
}

func TestVersionsGoOnFromThoseOfAnother(t *testing.T) {
	inv, _ := play(t, set(1, pvc("data", "c1", 1, "")))
	last := inv.version
	inv.Raise(last - 1)
	expect(t, "nothing to go on from", inv.version, last)
	inv.Raise(last + 1000)
	expect(t, "the next one", inv.nextVersion(at(1)), last+1001)
	expect(t, "by a clock before 1970", inv.nextVersion(-1), last+1002)
}

// TestBoundIsDatedByTheVolume has the claims' watch be ahead of the volumes', which come to
// be Bound first: the moment is theirs, whatever arrives when.
func TestBoundIsDatedByTheVolume(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	claim.Status.Phase = corev1.ClaimBound
	made := pv("vol", "v1", 2, claim, corev1.VolumeAvailable, 2)
	bound := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	for name, events := range map[string][]event{
		"the claim first": {set(1, pvc("data", "c1", 1, "")), set(10, claim), set(11, made), set(12, bound)},
		"the claim last":  {set(1, pvc("data", "c1", 1, "")), set(11, made), set(12, bound), set(13, claim)},
		"between":         {set(1, pvc("data", "c1", 1, "")), set(11, made), set(12, claim), set(13, bound)},
	} {
		inv := New()
		for _, e := range events {
			if err := inv.Set(e.object, Live(at(e.at))); err != nil {
				t.Fatal(err)
			}
		}
		var u fact.Update
		inv.Take(&u)
		n := 0
		for _, c := range u.Facts.Changes {
			if c.Action == fact.Bound {
				n++
				expect(t, name, c.At, at(3))
				expect(t, name+": version", c.ResourceVersion, "")
			}
		}
		expect(t, name+": bound", n, 1)
	}
}

// TestAVolumeIsBoundToAClaimThatIsGone is a claim that is deleted while the binder is at it:
// the volume comes to be Bound, and the claim stays Pending to its end. Whichever watch is
// ahead, the claim has had the volume.
func TestAVolumeIsBoundToAClaimThatIsGone(t *testing.T) {
	claim := pvc("data", "c1", 1, "")
	volume := func(phase corev1.PersistentVolumePhase, changed int) *corev1.PersistentVolume {
		return pv("vol", "v1", 2, claim, phase, changed)
	}
	claims := []event{set(1, claim), gone(5, claim)}
	volumes := []event{set(2, volume(corev1.VolumePending, 2)), set(3, volume(corev1.VolumeBound, 3)), set(6, volume(corev1.VolumeReleased, 6)), gone(7, volume(corev1.VolumeReleased, 6))}
	for name, events := range map[string][]event{
		"the claim first":  append(slices.Clone(claims), volumes...),
		"the volume first": append(slices.Clone(volumes), claims...),
		"as it was":        {claims[0], volumes[0], volumes[1], claims[1], volumes[2], volumes[3]},
	} {
		_, h := play(t, events...)
		row := h.claims["c1"]
		expect(t, name+": volume", row.VolumeUID, "v1")
		expect(t, name+": bound", row.BoundAt, at(3))
	}
}
