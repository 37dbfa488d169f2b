package e2e

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// growth: claims grow while they are used, one of them twice.
func growth(s *story) {
	claim, shared := s.Claim("growing", "standard"), s.Claim("archive", "standard-retain")
	user := s.Pod("grower", harness.ClaimVolume(claim.Name), harness.ClaimVolume(shared.Name))
	s.create(claim, shared, user)
	s.running(user)
	for _, size := range []string{"3Gi", "7Gi"} {
		s.patch(claim, harness.RequestSize(size))
		s.until("has grown", claim, func() bool { return claim.Status.Capacity.Storage().String() == size })
	}
	s.patch(shared, harness.RequestSize("2Gi"))
	s.until("has grown", shared, func() bool { return shared.Status.Capacity.Storage().String() == "2Gi" })
}

// retained: a volume outlives its claim, and is given to a second and to a third one.
func retained(s *story) {
	class := s.ownClass("month-archive")
	defer s.remove(class)
	first := s.Claim("ledger", class.Name)
	user := s.Task("accountant", "1", harness.ClaimVolume(first.Name))
	s.create(first, user)
	s.completed(user)
	volume := s.bound(first)
	s.remove(user, first)
	s.inPhase(volume, corev1.VolumeReleased)
	s.patch(volume, `{"spec":{"claimRef":null}}`)
	s.inPhase(volume, corev1.VolumeAvailable)

	second := s.ClaimFor("ledger", volume) // of the same name as the first
	auditor := s.Pod("auditor", harness.ClaimVolume(second.Name))
	s.create(second, auditor)
	s.running(auditor)
	s.remove(auditor, second)
	s.inPhase(volume, corev1.VolumeReleased)

	// An administrator reserves it for a claim.
	s.patch(volume, fmt.Sprintf(`{"spec":{"claimRef":{"namespace":%q,"name":"heirloom","uid":null,"resourceVersion":null}}}`, monthOtherName))
	s.inPhase(volume, corev1.VolumeAvailable)
	third := s.ClaimFor("heirloom", volume)
	third.Namespace = monthOtherName
	heir := s.Pod("heir", harness.ClaimVolume(third.Name))
	heir.Namespace = monthOtherName
	s.create(third, heir)
	s.running(heir)
}

// reclaimed: a volume is released, and its reclaim policy is changed to Delete.
func reclaimed(s *story) {
	claim := s.Claim("draft", "late-retain")
	user := s.Task("writer", "1", harness.ClaimVolume(claim.Name))
	s.create(claim, user)
	s.completed(user)
	volume := s.bound(claim)
	s.remove(user, claim)
	s.inPhase(volume, corev1.VolumeReleased)
	s.patch(volume, `{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}`)
	s.gone(volume)
}

// held: finalizers delay the deletion of a claim, of a volume and of a pod.
func held(s *story) {
	claim := s.Claim("precious", "standard")
	user := s.Pod("holder", harness.ClaimVolume(claim.Name))
	user.Finalizers = []string{hold}
	s.create(claim, user)
	s.running(user)
	volume := s.bound(claim)
	s.ask(claim)
	s.until("is to be deleted", claim, func() bool { return claim.DeletionTimestamp != nil })
	s.ask(volume)
	s.until("is to be deleted", volume, func() bool { return volume.DeletionTimestamp != nil })
	s.ask(user)
	s.completed(user)
	s.patch(user, harness.DropFinalizers)
	s.gone(user, claim, volume)
}

// lost: a bound claim loses its volume, and gets another one of its name.
func lost(s *story) {
	volume := s.volume("lost", "/lost")
	claim := s.ClaimFor("lost", volume)
	before := s.Task("before-the-loss", "1", harness.ClaimVolume(claim.Name))
	during := s.Pod("during-the-loss", harness.ClaimVolume(claim.Name))
	s.create(volume, claim, before, during)
	s.completed(before)
	s.running(during)
	s.ask(volume)
	s.patch(volume, harness.DropFinalizers)
	s.gone(volume)
	s.until("is lost", claim, func() bool { return claim.Status.Phase == corev1.ClaimLost })
	s.remove(during)
	found := s.volume("lost", "/found")
	s.create(found)
	s.bound(claim)
	after := s.Task("after-the-loss", "1", harness.ClaimVolume(claim.Name))
	s.create(after)
	s.completed(after)
}

// byHand: one volume made by hand is bound to the claim that it is reserved for, and fails as nobody can delete it.
// Another is never bound.
func byHand(s *story) {
	reserved := s.volume("reserved", "/reserved")
	reserved.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: string(s.Namespace), Name: "reserved"}
	reserved.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
	reserved.Spec.NFS.ReadOnly = true
	spare := s.volume("spare", "/spare")
	spare.Spec.StorageClassName = "month-nobody" // no claim asks for this class
	s.create(reserved, spare)
	s.inPhase(reserved, corev1.VolumeAvailable)
	s.inPhase(spare, corev1.VolumeAvailable)

	claim := s.ClaimFor("reserved", reserved)
	user := s.Pod("guest", harness.ClaimVolume(claim.Name))
	s.create(claim, user)
	s.running(user)
	s.remove(user, claim)
	s.inPhase(reserved, corev1.VolumeFailed)
	s.remove(reserved, spare)
}

// oneExport: two volumes are one directory of an NFS server.
func oneExport(s *story) {
	var users []*corev1.Pod
	for _, name := range []string{"left", "right"} {
		volume := s.volume(name, "/export")
		claim := s.ClaimFor(name, volume)
		user := s.Pod(name, harness.ClaimVolume(name))
		s.create(volume, claim, user)
		users = append(users, user)
	}
	s.running(users...)
	s.remove(users[0])
}
