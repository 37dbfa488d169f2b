package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The chapters of the month that decide a volume's state and its last use. Each leaves its
// volumes in the state that is to be compared at the end.

const startSeconds = "localcluster.kubevoltracker.io/start-seconds"

// used makes a claim whose volume a pod used, which is gone.
func (s *story) used(name, class string) *corev1.PersistentVolumeClaim {
	s.t.Helper()
	claim, pod := s.claim(name, class), s.task("first-user-of-"+name, "1", of(name))
	s.create(claim, pod)
	s.completed(pod)
	s.remove(pod)
	return claim
}

// unplaced describes a pod that no node can take.
func (s *story) unplaced(name string, volumes ...corev1.Volume) *corev1.Pod {
	pod := s.pod(name, volumes...)
	pod.Spec.NodeSelector = map[string]string{"no": "where"}
	return pod
}

// slow describes a pod that gets a node, and whose containers do not start in this month.
func (s *story) slow(name string, volumes ...corev1.Volume) *corev1.Pod {
	pod := s.pod(name, volumes...)
	pod.Annotations[startSeconds] = "600"
	return pod
}

// taken waits until a pod's kubelet has taken it.
func (s *story) taken(pods ...*corev1.Pod) {
	s.t.Helper()
	for _, pod := range pods {
		s.until("is taken", pod, func() bool { return pod.Status.StartTime != nil })
	}
}

// neverStarted: pods wait for their volumes and are deleted before they have started, without
// a node and with one. The volumes are then what they were before: never mounted, or idle since
// their last use. Two more pods still wait in the end.
func neverStarted(s *story) {
	fresh := s.claim("never-started-fresh", "standard")
	s.create(fresh)
	before := s.used("never-started-used", "nfs")
	s.bound(fresh)
	for _, claim := range []*corev1.PersistentVolumeClaim{fresh, before} {
		waiting, starting := s.unplaced("waits-for-"+claim.Name, of(claim.Name)), s.slow("starts-on-"+claim.Name, of(claim.Name))
		s.create(waiting, starting)
		s.unschedulable(waiting)
		s.taken(starting)
		s.remove(waiting, starting)
	}
	// One that began with its init container, which does not mount the volume.
	init := s.slow("initialised", of(before.Name))
	init.Spec.InitContainers = []corev1.Container{mounting("init")}
	s.create(init)
	s.until("is initialised", init, func() bool {
		return len(init.Status.InitContainerStatuses) > 0 && init.Status.InitContainerStatuses[0].State.Terminated != nil
	})
	s.remove(init)

	awaited, awaitedAgain := s.claim("awaited", "standard"), s.used("awaited-again", "standard")
	last := []*corev1.Pod{s.unplaced("waits", of(awaited.Name)), s.slow("waits-again", of(awaitedAgain.Name))}
	s.create(awaited, last[0], last[1])
	s.unschedulable(last[0])
	s.taken(last[1])
}

// reject writes what a kubelet does that does not admit a pod.
func (s *story) reject(pod *corev1.Pod, reason string) {
	s.t.Helper()
	s.patch(pod, rejection(reason), "status")
}

func rejection(reason string) string {
	return fmt.Sprintf(`{"status":{"phase":"Failed","reason":%q,"message":"Pod was rejected","containerStatuses":null,"conditions":null}}`, reason)
}

// rejected: a kubelet does not admit pods that were given to it. They have failed without
// having started; one is deleted then, the others stay.
func rejected(s *story) {
	fresh, before := s.claim("rejected-fresh", "standard"), s.used("rejected-used", "nfs")
	s.create(fresh)
	for name, claim := range map[string]string{"OutOfcpu": fresh.Name, "NodeAffinity": before.Name, "UnexpectedAdmissionError": before.Name} {
		pod := s.slow("rejected-"+string(name[0]|0x20), of(claim))
		s.create(pod)
		s.taken(pod)
		s.reject(pod, name)
		if name == "NodeAffinity" {
			s.remove(pod)
		}
	}
}

// waitInVain has pods wait for volumes that others used long ago, or nobody yet, and be
// deleted or rejected.
func waitInVain(s *story, when string) {
	var waiting []*corev1.Pod
	for _, claim := range []string{"never-started-fresh", "never-started-used", "rejected-used", "installed", "data-db-1"} {
		waiting = append(waiting, s.unplaced(when+"-"+claim, of(claim)))
	}
	refused := s.slow(when+"-refused", of("reports"))
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

// lostNode: a node is gone, and its pod is deleted by force. Its kubelet may have been cut off
// and run the container for longer than anybody knows, or less long.
func lostNode(s *story) {
	node := s.node("month-cut-off")
	claim := s.claim("cut-off", "nfs")
	pod := s.pod("cut-off", of(claim.Name))
	settleOn(node, pod)
	s.create(claim, pod)
	s.running(pod)
	s.remove(node)
	s.force(pod)
	s.gone(pod)
}

// reassign gives a volume to a claim that is not there yet, whoever has it.
func (s *story) reassign(volume *corev1.PersistentVolume, claim string) {
	s.t.Helper()
	s.patch(volume, fmt.Sprintf(`{"spec":{"claimRef":{"namespace":%q,"name":%q,"uid":null,"resourceVersion":null}}}`, s.namespace, claim))
}

// givenTo has a pod run on a claim, and the claim's volume given to another one meanwhile.
func (s *story) givenTo(first, second string) (*corev1.Pod, *corev1.PersistentVolume) {
	s.t.Helper()
	class := s.ownClass("month-" + first)
	s.t.Cleanup(func() { s.remove(class) })
	claim := s.claim(first, class.Name)
	pod := s.pod(first, of(claim.Name))
	s.create(claim, pod)
	s.running(pod)
	volume := s.bound(claim)
	s.reassign(volume, second)
	s.until("is lost", claim, func() bool { return claim.Status.Phase == corev1.ClaimLost })
	next := s.claimFor(second, volume)
	s.create(next)
	s.bound(next)
	return pod, volume
}

// givenAway: an administrator gives a volume away that a pod still uses. It is mounted.
func givenAway(s *story) { s.givenTo("disowned", "adopted") }

// givenAwayAndEnded: then the pod ends. It was the last that used the volume, whoever has it
// now, though a pod of the new claim waits and is deleted.
func givenAwayAndEnded(s *story) {
	pod, _ := s.givenTo("expelled", "installed")
	s.remove(pod)
	next := s.unplaced("installed", of("installed"))
	s.create(next)
	s.unschedulable(next)
	s.remove(next)
}

// pulledAway: a claim is deleted under its pod, by taking off the finalizer that protects it.
// The volume is Released, and then Available, and mounted all the time.
func pulledAway(s *story) {
	for _, clear := range []bool{false, true} {
		name := fmt.Sprintf("pulled-%t", clear)
		class := s.ownClass("month-" + name)
		s.t.Cleanup(func() { s.remove(class) })
		claim := s.claim(name, class.Name)
		pod := s.pod(name, of(claim.Name))
		s.create(claim, pod)
		s.running(pod)
		volume := s.bound(claim)
		s.ask(claim)
		s.patch(claim, letGo)
		s.gone(claim)
		s.inPhase(volume, corev1.VolumeReleased)
		if clear {
			s.patch(volume, `{"metadata":{"labels":{"month":"pulled"}},"spec":{"claimRef":null}}`)
			s.inPhase(volume, corev1.VolumeAvailable)
		}
	}
}

// cleared: a volume that was used and released is Available again. Its last use stays.
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

// onDisk describes a volume made by hand that has to be attached to the nodes of its pods.
func (s *story) onDisk(name string) *corev1.PersistentVolume {
	volume := s.volume(name, "")
	volume.Spec.NFS = nil
	volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "csi.localcluster.kubevoltracker.io", VolumeHandle: "disk-" + name}
	volume.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	return volume
}

// madeAgain: a volume is used, deleted, and made again under its name, as the static local
// provisioner does. Nobody has used the second one.
func madeAgain(s *story) {
	var former types.UID
	for _, name := range []string{"first-tenant", "second-tenant"} {
		volume := s.onDisk("again")
		claim := s.claimFor(name, volume)
		s.create(volume, claim)
		s.bound(claim)
		if former == volume.UID {
			s.t.Fatal("it is the same volume")
		}
		former = volume.UID
		if name == "second-tenant" {
			return
		}
		pod := s.pod(name, of(claim.Name))
		s.create(pod)
		s.running(pod)
		s.remove(pod, claim)
		s.inPhase(volume, corev1.VolumeReleased)
		s.remove(volume)
	}
}

// swapped: a volume is deleted under its claim and its pod, and another one of its name is
// there at once. The claim gets that one; the pod goes on with the first one, and when it is
// gone, the second one has not been used.
func swapped(s *story) {
	for _, ends := range []bool{false, true} {
		name := fmt.Sprintf("swapped-%t", ends)
		volume := s.volume(name, "/before")
		claim := s.claimFor(name, volume)
		pod := s.pod(name, of(claim.Name))
		s.create(volume, claim, pod)
		s.running(pod)
		s.ask(volume)
		s.patch(volume, letGo)
		s.gone(volume)
		s.until("is lost", claim, func() bool { return claim.Status.Phase == corev1.ClaimLost })
		time.Sleep(time.Second) // the API's times of both bindings and of the pod are whole seconds
		s.create(s.volume(name, "/after"))
		s.bound(claim)
		if ends {
			s.remove(pod)
		}
	}
}

// keptBack is a claim that endMonth lets go.
const keptBack = "data-shrinking-2"

// scaledDown: a StatefulSet gives up replicas, and their claims with them. One of them is
// kept back by a finalizer, and is still there, owned by a pod that is gone.
func scaledDown(s *story) {
	set := s.statefulSet("shrinking", "standard-retain", 3, podSpec(inLine("data", corev1.VolumeSource{})))
	set.Spec.Template.Spec.Volumes = nil
	set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType, WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
	}
	set.Spec.VolumeClaimTemplates[0].Labels = map[string]string{"owner": "carla"}
	s.create(set)
	s.settled("shrinking", 3)
	kept := s.claim(keptBack, "")
	s.patch(kept, fmt.Sprintf(`{"metadata":{"finalizers":["kubernetes.io/pvc-protection",%q]}}`, hold))
	volume := s.bound(s.claimNamed("data-shrinking-1"))
	s.patch(set, replicas(1))
	s.settled("shrinking", 1)
	s.gone(s.claim("data-shrinking-1", ""))
	s.inPhase(volume, corev1.VolumeReleased)
	s.until("is to be deleted", kept, func() bool { return kept.DeletionTimestamp != nil })
}

// claimNamed reads a claim.
func (s *story) claimNamed(name string) *corev1.PersistentVolumeClaim {
	s.t.Helper()
	claim := s.claim(name, "")
	s.until("is there", claim, func() bool { return true })
	return claim
}
