package e2e

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// forced: a pod is deleted before its kubelet has said how it ended, and another one has its name at once.
func forced(s *story) {
	claim := s.Claim("torn", "nfs")
	pod := s.Pod("stuck", harness.ClaimVolume(claim.Name))
	pod.Annotations[harness.StopSeconds] = "60"
	s.create(claim, pod)
	s.running(pod)
	s.ask(pod)
	s.force(pod)
	next := s.Pod("stuck", harness.ClaimVolume(claim.Name))
	s.gone(pod)
	s.create(next)
	s.running(next)
	s.force(next)
	s.gone(next)
}

// crashLoop: a container crashes and is restarted, which is one use. Its pod is deleted while the container waits.
// Another pod is deleted before it has started.
func crashLoop(s *story) {
	claim := s.Claim("fragile", "standard")
	pod := s.Pod("fragile", harness.ClaimVolume(claim.Name))
	pod.Annotations[harness.RunSeconds], pod.Annotations[harness.ExitCode] = "1", "1"
	slow := s.Pod("slow-start", harness.ClaimVolume(claim.Name))
	slow.Annotations[harness.InitSeconds] = "60"
	slow.Spec.InitContainers = []corev1.Container{harness.Container("slow", harness.ClaimVolume(claim.Name))}
	s.create(claim, pod, slow)
	s.until("has crashed twice", pod, func() bool {
		return len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].RestartCount == 1 && pod.Status.ContainerStatuses[0].State.Waiting != nil
	})
	// In a later second than the crash, so that the date of the crash does not tell that it was the last one.
	time.Sleep(time.Until(pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.FinishedAt.Add(time.Second)))
	s.remove(pod, slow) // slow has never started
}

// evicted: a kubelet that lacks space ends a pod, which stays as failed.
func evicted(s *story) {
	claim := s.Claim("greedy", "standard")
	pod := s.Pod("greedy", harness.ClaimVolume(claim.Name))
	s.create(claim, pod)
	s.running(pod)
	status := pod.Status.DeepCopy()
	now := metav1.Now()
	status.Phase, status.Reason = corev1.PodFailed, "Evicted"
	state := &status.ContainerStatuses[0].State
	state.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error", StartedAt: state.Running.StartedAt, FinishedAt: now}
	state.Running = nil
	s.setStatus(pod, status)
	s.remove(pod)
}

// leftByTheNode: the pod garbage collector fails a pod whose node is gone. Nobody says when the container ended.
func leftByTheNode(s *story) {
	node := s.node("month-vanishing")
	claim := s.Claim("orphaned", "standard")
	pod := s.Pod("orphan", harness.ClaimVolume(claim.Name))
	runOn(node, pod)
	s.create(claim, pod)
	s.running(pod)
	s.remove(node)
	status := pod.Status.DeepCopy()
	status.Phase = corev1.PodFailed
	status.Conditions = append(status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByPodGC", LastTransitionTime: metav1.Now(),
	})
	s.setStatus(pod, status)
	s.force(pod)
	s.gone(pod)
}

// setStatus writes a pod's status.
func (s *story) setStatus(pod *corev1.Pod, status *corev1.PodStatus) {
	s.t.Helper()
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		s.t.Fatal(err)
	}
	s.patch(pod, string(patch), "status")
}

// preempted: a pod of a higher priority takes the place of another one.
func preempted(s *story) {
	urgent := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "month-urgent"}, Value: 1000}
	s.create(urgent)
	defer s.remove(urgent)
	claim := s.Claim("cheap", "nfs")
	large := func(name string) *corev1.Pod {
		pod := s.Pod(name, harness.ClaimVolume(claim.Name))
		pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "node-1"}
		// More than half of a node's CPUs, so that only one fits.
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200")}
		return pod
	}
	victim, winner := large("victim"), large("winner")
	winner.Spec.PriorityClassName = urgent.Name
	s.create(claim, victim)
	s.running(victim)
	s.create(winner)
	s.gone(victim)
	s.running(winner)
	s.remove(winner)
}

// node creates a node for the pods of runOn, and for no other.
func (s *story) node(name string) *corev1.Node {
	s.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname: name, corev1.LabelInstanceTypeStable: "kwok", // so that kwok plays its kubelet
	}}}
	node.Spec.Taints = []corev1.Taint{{Key: monthLabel, Effect: corev1.TaintEffectNoSchedule}}
	node.Status.Capacity = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("100")}
	s.create(node)
	return node
}

// runOn has a pod run on a node of the story.
func runOn(node *corev1.Node, pod *corev1.Pod) {
	pod.Spec.NodeSelector = node.Labels
	pod.Spec.Tolerations = []corev1.Toleration{{Key: monthLabel, Effect: corev1.TaintEffectNoSchedule}}
}

// tainted: a node evicts its pods.
func tainted(s *story) {
	node := s.node("month-node")
	defer s.remove(node)
	claim := s.Claim("nomad", "nfs")
	pod := s.Pod("nomad", harness.ClaimVolume(claim.Name))
	runOn(node, pod)
	s.create(claim, pod)
	s.running(pod)
	s.patch(node, fmt.Sprintf(`{"spec":{"taints":[{"key":%q,"effect":"NoExecute"}]}}`, monthLabel))
	s.gone(pod)
}

// lostNode: a node is gone, and its pod is deleted by force. Its kubelet may have been cut off, and have run the
// container for longer than anybody knows.
func lostNode(s *story) {
	node := s.node("month-cut-off")
	claim := s.Claim("cut-off", "nfs")
	pod := s.Pod("cut-off", harness.ClaimVolume(claim.Name))
	runOn(node, pod)
	s.create(claim, pod)
	s.running(pod)
	s.remove(node)
	s.force(pod)
	s.gone(pod)
}
