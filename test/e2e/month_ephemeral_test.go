package e2e

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// ephemeral: a pod waits while another claim has the name of its generic ephemeral volume, and then gets a claim of
// its own.
func ephemeral(s *story) {
	taken := s.Claim("runner-scratch", "standard")
	other := s.Pod("tenant", harness.ClaimVolume(taken.Name))
	s.create(taken, other)
	s.running(other)
	runner := s.Pod("runner", s.Ephemeral("scratch", "standard"))
	s.create(runner)
	s.unschedulable(runner)
	s.ask(taken) // it stays as long as a pod uses it
	s.remove(other)
	s.gone(taken)
	s.running(runner)
	s.remove(runner)
	s.gone(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: taken.Name, Namespace: string(s.Namespace)}})
}

// ephemeralLate: the claim of an ephemeral volume is bound when the pod is scheduled. The pod completes, and its
// claim stays until the pod is deleted.
func ephemeralLate(s *story) {
	build := s.Task("build", "1", s.Ephemeral("work", "late"), s.Ephemeral("cache", "late-retain"))
	s.create(build)
	s.completed(build)
	work := s.Claim("build-work", "")
	volume := s.bound(work)
	s.remove(build)
	s.gone(work, volume)
}
