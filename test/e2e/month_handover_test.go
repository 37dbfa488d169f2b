package e2e

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// unboundByMistake: an administrator clears a volume's claimRef, though the claim exists. The claim gets the volume
// back.
func unboundByMistake(s *story) {
	class := s.ownClass("month-mistake")
	defer s.remove(class)
	claim := s.Claim("robbed", class.Name)
	pod := s.Pod("robbed", harness.ClaimVolume(claim.Name))
	s.create(claim, pod)
	s.running(pod)
	volume := s.bound(claim)
	s.patch(volume, `{"spec":{"claimRef":null}}`)
	s.until("is bound again", volume, func() bool {
		return volume.Spec.ClaimRef != nil && volume.Spec.ClaimRef.UID == claim.UID && volume.Status.Phase == corev1.VolumeBound
	})
}

// reassign gives a volume to a claim that does not exist yet.
func (s *story) reassign(volume *corev1.PersistentVolume, claim string) {
	s.t.Helper()
	s.patch(volume, fmt.Sprintf(`{"spec":{"claimRef":{"namespace":%q,"name":%q,"uid":null,"resourceVersion":null}}}`, string(s.Namespace), claim))
}

// givenTo runs a pod on a claim, and gives the claim's volume to another claim while it runs.
func (s *story) givenTo(first, second string) (*corev1.Pod, *corev1.PersistentVolume) {
	s.t.Helper()
	class := s.ownClass("month-" + first)
	s.t.Cleanup(func() { s.remove(class) })
	claim := s.Claim(first, class.Name)
	pod := s.Pod(first, harness.ClaimVolume(claim.Name))
	s.create(claim, pod)
	s.running(pod)
	volume := s.bound(claim)
	s.reassign(volume, second)
	s.until("is lost", claim, func() bool { return claim.Status.Phase == corev1.ClaimLost })
	next := s.ClaimFor(second, volume)
	s.create(next)
	s.bound(next)
	return pod, volume
}

// givenAway: an administrator gives a volume away that a pod still uses. It is mounted.
func givenAway(s *story) { s.givenTo("disowned", "adopted") }

// givenAwayAndEnded: then the pod ends. It was the last user of the volume, whoever has the volume now, though a pod
// of the new claim waits and is deleted.
func givenAwayAndEnded(s *story) {
	pod, _ := s.givenTo("expelled", "installed")
	s.remove(pod)
	next := s.Unplaced("installed", harness.ClaimVolume("installed"))
	s.create(next)
	s.unschedulable(next)
	s.remove(next)
}

// pulledAway: somebody takes the protecting finalizer off a claim that is being deleted, while its pod runs. The
// volume is Released, then Available, and mounted all the time.
func pulledAway(s *story) {
	for _, clear := range []bool{false, true} {
		name := fmt.Sprintf("pulled-%t", clear)
		class := s.ownClass("month-" + name)
		s.t.Cleanup(func() { s.remove(class) })
		claim := s.Claim(name, class.Name)
		pod := s.Pod(name, harness.ClaimVolume(claim.Name))
		s.create(claim, pod)
		s.running(pod)
		volume := s.bound(claim)
		s.ask(claim)
		s.patch(claim, harness.DropFinalizers)
		s.gone(claim)
		s.inPhase(volume, corev1.VolumeReleased)
		if clear {
			s.patch(volume, `{"metadata":{"labels":{"month":"pulled"}},"spec":{"claimRef":null}}`)
			s.inPhase(volume, corev1.VolumeAvailable)
		}
	}
}

// cleared: a volume that was used and released becomes Available again. Its last use stays.
func cleared(s *story) {
	class := s.ownClass("month-cleared")
	s.t.Cleanup(func() { s.remove(class) })
	claim := s.used("cleared", class.Name)
	volume := s.bound(claim)
	s.remove(claim)
	s.inPhase(volume, corev1.VolumeReleased)
	s.patch(volume, `{"metadata":{"labels":{"month":"cleared"}},"spec":{"claimRef":null}}`)
	s.inPhase(volume, corev1.VolumeAvailable)
}

// onDisk describes a volume made by hand that is attached to the nodes of its pods.
func (s *story) onDisk(name string) *corev1.PersistentVolume {
	volume := s.volume(name, "")
	volume.Spec.NFS = nil
	volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "csi.localcluster.kubevoltracker.io", VolumeHandle: "disk-" + name}
	volume.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	return volume
}

// madeAgain: a volume is used, deleted, and created again under its name, as the static local provisioner does.
// Nobody has used the second one.
func madeAgain(s *story) {
	var former types.UID
	for _, name := range []string{"first-tenant", "second-tenant"} {
		volume := s.onDisk("again")
		claim := s.ClaimFor(name, volume)
		s.create(volume, claim)
		s.bound(claim)
		if former == volume.UID {
			s.t.Fatal("it is the same volume")
		}
		former = volume.UID
		if name == "second-tenant" {
			return
		}
		pod := s.Pod(name, harness.ClaimVolume(claim.Name))
		s.create(pod)
		s.running(pod)
		s.remove(pod, claim)
		s.inPhase(volume, corev1.VolumeReleased)
		s.remove(volume)
	}
}

// swapped: a volume is deleted under its claim and its pod, and another one of its name is there at once. The claim
// gets that one. The pod goes on with the first one, and when the pod is gone, the second one has not been used.
func swapped(s *story) {
	for _, ends := range []bool{false, true} {
		name := fmt.Sprintf("swapped-%t", ends)
		volume := s.volume(name, "/before")
		claim := s.ClaimFor(name, volume)
		pod := s.Pod(name, harness.ClaimVolume(claim.Name))
		s.create(volume, claim, pod)
		s.running(pod)
		s.ask(volume)
		s.patch(volume, harness.DropFinalizers)
		s.gone(volume)
		s.until("is lost", claim, func() bool { return claim.Status.Phase == corev1.ClaimLost })
		time.Sleep(time.Second) // the API's times are whole seconds, and those of the bindings have to differ
		s.create(s.volume(name, "/after"))
		s.bound(claim)
		if ends {
			s.remove(pod)
		}
	}
}
