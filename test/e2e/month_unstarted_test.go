package e2e

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// late: a claim waits for a pod that fits a node.
func late(s *story) {
	claim := s.Claim("late", "late")
	misfit := s.Pod("misfit", harness.ClaimVolume(claim.Name))
	misfit.Spec.NodeSelector = map[string]string{"no": "where"}
	s.create(claim, misfit)
	s.unschedulable(misfit)
	s.remove(misfit)
	user := s.Task("latecomer", "1", harness.ClaimVolume(claim.Name))
	s.create(user)
	s.completed(user)
	volume := s.bound(claim)
	s.remove(user, claim)
	s.gone(volume)
}

// neverUsed: claims that nobody uses, or that are never bound.
func neverUsed(s *story) {
	idle, waiting, hopeless := s.Claim("idle", "standard"), s.Claim("waiting", "late"), s.Claim("hopeless", "month-no-such-class")
	hopeful := s.Pod("hopeful", harness.ClaimVolume(hopeless.Name))
	s.create(idle, waiting, hopeless, hopeful)
	s.unschedulable(hopeful)
	s.bound(idle)
	s.remove(hopeful, hopeless, waiting)
}

// neverStarted: pods wait for their volumes, without a node and with one, and are deleted before they have started.
// The volumes are then what they were before: never mounted, or idle since their last use. Two more pods still wait
// in the end.
func neverStarted(s *story) {
	fresh := s.Claim("never-started-fresh", "standard")
	s.create(fresh)
	before := s.used("never-started-used", "nfs")
	s.bound(fresh)
	for _, claim := range []*corev1.PersistentVolumeClaim{fresh, before} {
		waiting, starting := s.Unplaced("waits-for-"+claim.Name, harness.ClaimVolume(claim.Name)), s.Slow("starts-on-"+claim.Name, harness.ClaimVolume(claim.Name))
		s.create(waiting, starting)
		s.unschedulable(waiting)
		s.taken(starting)
		s.remove(waiting, starting)
	}
	// The init container of this pod has run. It does not mount the volume.
	init := s.Slow("initialised", harness.ClaimVolume(before.Name))
	init.Spec.InitContainers = []corev1.Container{harness.Container("init")}
	s.create(init)
	s.until("is initialised", init, func() bool {
		return len(init.Status.InitContainerStatuses) > 0 && init.Status.InitContainerStatuses[0].State.Terminated != nil
	})
	s.remove(init)

	awaited, awaitedAgain := s.Claim("awaited", "standard"), s.used("awaited-again", "standard")
	last := []*corev1.Pod{s.Unplaced("waits", harness.ClaimVolume(awaited.Name)), s.Slow("waits-again", harness.ClaimVolume(awaitedAgain.Name))}
	s.create(awaited, last[0], last[1])
	s.unschedulable(last[0])
	s.taken(last[1])
}

// rejected: kubelets reject pods, which have failed then without having started. One is deleted, the others stay.
func rejected(s *story) {
	fresh, before := s.Claim("rejected-fresh", "standard"), s.used("rejected-used", "nfs")
	s.create(fresh)
	for name, claim := range map[string]string{"OutOfcpu": fresh.Name, "NodeAffinity": before.Name, "UnexpectedAdmissionError": before.Name} {
		pod := s.Slow("rejected-"+string(name[0]|0x20), harness.ClaimVolume(claim))
		s.create(pod)
		s.taken(pod)
		s.reject(pod, name)
		if name == "NodeAffinity" {
			s.remove(pod)
		}
	}
}

// waitInVain has pods wait for volumes that others used long ago, or that nobody has used. They are deleted or
// rejected.
func waitInVain(s *story, when string) {
	var waiting []*corev1.Pod
	for _, claim := range []string{"never-started-fresh", "never-started-used", "rejected-used", "installed", "data-db-1"} {
		waiting = append(waiting, s.Unplaced(when+"-"+claim, harness.ClaimVolume(claim)))
	}
	refused := s.Slow(when+"-refused", harness.ClaimVolume("reports"))
	for _, pod := range append(waiting, refused) {
		s.create(pod)
	}
	for _, pod := range waiting {
		s.unschedulable(pod)
	}
	s.taken(refused)
	s.reject(refused, "OutOfmemory")
	for _, pod := range waiting {
		s.ask(pod)
	}
	s.gone(waiting[0], waiting[1], waiting[2], waiting[3], waiting[4])
}
