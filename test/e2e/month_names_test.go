package e2e

import (
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// sameNames: a pod and its claim are deleted and created again under their names.
func sameNames(s *story) {
	for range 2 {
		claim := s.Claim("phoenix", "standard")
		s.create(claim)
		for range 2 {
			pod := s.Pod("phoenix", harness.ClaimVolume(claim.Name))
			s.create(pod)
			s.running(pod)
			s.remove(pod)
		}
		s.remove(claim)
	}
	// A pod that has ended still protects its claim while it exists.
	claim := s.Claim("ash", "standard")
	pod := s.Task("ash", "1", harness.ClaimVolume(claim.Name))
	s.create(claim, pod)
	s.completed(pod)
	s.ask(claim)
	s.remove(pod)
	s.gone(claim)
	next := s.Claim("ash", "standard")
	s.create(next)
	s.bound(next)
}

// haste: a pod and its claim are deleted as soon as the pod has started, and the next claim of the name is created
// within the same second, as the API's times are whole seconds. That may take a few attempts.
func haste(s *story) {
	for range 8 {
		claim := s.Claim("hasty", "standard")
		pod := s.Pod("hasty", harness.ClaimVolume(claim.Name))
		s.create(claim, pod)
		s.running(pod)
		s.force(pod)
		s.remove(claim)
		next := s.Claim("hasty", "standard")
		s.create(next)
		if next.CreationTimestamp.Equal(&pod.Status.ContainerStatuses[0].State.Running.StartedAt) {
			return
		}
		s.remove(next)
	}
}

// sameNameHeld: the next pod of a name is created while the claim of its predecessor is being deleted. It has to
// wait for the next claim of that name.
func sameNameHeld(s *story) {
	claim := s.Claim("heir", "standard-retain")
	claim.Finalizers = []string{hold}
	pod := s.Pod("heir", harness.ClaimVolume(claim.Name))
	s.create(claim, pod)
	s.running(pod)
	s.ask(claim)
	s.remove(pod)
	next := s.Pod("heir", harness.ClaimVolume(claim.Name))
	s.create(next)
	s.unschedulable(next)
	s.patch(claim, harness.DropFinalizers)
	s.gone(claim)
	s.create(s.Claim("heir", "standard"))
	s.running(next)
}
