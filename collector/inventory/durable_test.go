package inventory

import (
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// Restarts, evictions and deletions of pods with durable local data, for each way that data is kept: the history that
// must result, and why. A mount belongs to a pod by its UID: when a container restarts on the same emptyDir, one mount
// goes on; when the kubelet removes the emptyDir, the mount ends. Data in a PersistentVolume outlives the mount, and
// the volume is idle from the mount's end.

// stores are the backing stores: what is made before the pod, and the volume
// that the pod mounts.
func stores() map[string]func() ([]event, corev1.VolumeSource) {
	claimed := func(source corev1.PersistentVolumeSource) func() ([]event, corev1.VolumeSource) {
		return func() ([]event, corev1.VolumeSource) {
			claim := pvc("data", "c1", 1, "vol")
			volume := pv("vol", "v1", 1, claim, corev1.VolumeBound, 2)
			volume.Spec.PersistentVolumeSource = source
			return []event{set(1, claim), set(2, volume)}, corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}
		}
	}
	inline := func(source corev1.VolumeSource) func() ([]event, corev1.VolumeSource) {
		return func() ([]event, corev1.VolumeSource) { return nil, source }
	}
	return map[string]func() ([]event, corev1.VolumeSource){
		"emptyDir": inline(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}),
		"hostPath": inline(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}}),
		"local":    claimed(corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/mnt/ssd0"}}),
		"csi":      claimed(corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example", VolumeHandle: "h"}}),
	}
}

// exitedWith is a pod whose container ran from 5 to 9 and ended with an exit code.
func exitedWith(o *corev1.Pod, code int32, reason string) *corev1.Pod {
	return ended(o, corev1.PodRunning, 5, 9, code, reason)
}

// waitingForRestart is a pod whose container is between two runs.
func waitingForRestart(o *corev1.Pod) *corev1.Pod {
	o = running(o, 5)
	o.Status.ContainerStatuses[0] = corev1.ContainerStatus{
		Name: "main", RestartCount: 1, LastTerminationState: terminated(5, 9, 1, "Error"),
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
	}
	return o
}

// restartedAfter is a pod whose container runs again since 12, after its first run ended for a reason.
func restartedAfter(o *corev1.Pod, reason string) *corev1.Pod {
	o = running(o, 12)
	o.Status.ContainerStatuses[0].RestartCount = 1
	o.Status.ContainerStatuses[0].LastTerminationState = terminated(5, 9, 255, reason)
	return o
}

// beingDeleted is a pod whose deletion was requested at 8.
func beingDeleted(o *corev1.Pod) *corev1.Pod {
	o = o.DeepCopy()
	o.DeletionTimestamp = new(second(8))
	return o
}

// onLostNode is a pod as the node controller writes it when the pod's node is lost.
func onLostNode(o *corev1.Pod) *corev1.Pod {
	o = running(o, 5)
	o.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "NodeLost"}}
	return o
}

// durableCase is what happens to a pod that runs since 5, and the history that must result.
type durableCase struct {
	policy corev1.RestartPolicy
	events func(*corev1.Pod) []event
	mount  string            // from-to and reason, of the pod's mount
	status fact.VolumeStatus // of the PersistentVolume, if there is one
	why    string
}

// durableCases returns the cases by name.
func durableCases() map[string]durableCase {
	cases := map[string]durableCase{}
	for _, some := range []map[string]durableCase{containerCases(), podCases(), nodeCases()} {
		maps.Copy(cases, some)
	}
	return cases
}

// containerCases are those in which a container ends by itself.
func containerCases() map[string]durableCase {
	return map[string]durableCase{
		"container failure, Always": {corev1.RestartPolicyAlways, func(o *corev1.Pod) []event {
			return []event{set(9, exitedWith(o, 1, "Error")), set(10, waitingForRestart(o)), set(12, restartedAfter(o, "Error"))}
		}, "5-", fact.VolumeMounted, "the kubelet restarts it in the same pod, with the same volumes"},
		"container failure, OnFailure": {corev1.RestartPolicyOnFailure, func(o *corev1.Pod) []event {
			return []event{set(9, exitedWith(o, 137, "OOMKilled")), set(12, restartedAfter(o, "OOMKilled"))}
		}, "5-", fact.VolumeMounted, "it exited abnormally, so it is restarted"},
		"container success, OnFailure": {corev1.RestartPolicyOnFailure, func(o *corev1.Pod) []event {
			return []event{set(9, exitedWith(o, 0, "Completed"))}
		}, "5-9 Completed", fact.VolumeIdle, "it will not run again under this UID"},
		"container failure, Never": {corev1.RestartPolicyNever, func(o *corev1.Pod) []event {
			return []event{set(9, exitedWith(o, 1, "Error")), set(10, ended(o, corev1.PodFailed, 5, 9, 1, "Error"))}
		}, "5-9 Error", fact.VolumeIdle, "policy does not allow a restart, though the pod may be there for long"},
		"storage device fails": {corev1.RestartPolicyAlways, func(o *corev1.Pod) []event {
			return []event{set(9, exitedWith(o, 5, "Error")), set(10, waitingForRestart(o)), set(30, waitingForRestart(o))}
		}, "5-", fact.VolumeMounted, "reads fail, the container crash-loops: that is use until somebody deletes the pod"},
	}
}

// podCases are those in which somebody changes or deletes the pod.
func podCases() map[string]durableCase {
	return map[string]durableCase{
		"pod update": {corev1.RestartPolicyAlways, func(o *corev1.Pod) []event {
			next := restartedAfter(o, "Completed")
			next.Spec.Containers[0].Image = "img:2"
			return []event{set(12, next)}
		}, "5-", fact.VolumeMounted, "name and UID are unchanged: the kubelet kills the container and starts the new image on the same volumes"},
		"replica count reduced": {corev1.RestartPolicyAlways, func(o *corev1.Pod) []event {
			return []event{set(8, beingDeleted(running(o, 5))), set(9, beingDeleted(exitedWith(o, 143, "Error"))), gone(10, beingDeleted(exitedWith(o, 143, "Error")))}
		}, "5-9 Deleted", fact.VolumeIdle, "the pod is deleted; when its container ended is when the mount did"},
	}
}

// nodeCases are those in which the node, its kubelet or its network fails.
func nodeCases() map[string]durableCase {
	return map[string]durableCase{
		"node partition, node comes back": {corev1.RestartPolicyAlways, func(o *corev1.Pod) []event {
			return []event{set(20, onLostNode(o)), set(60, running(o, 5))}
		}, "5-", fact.VolumeMounted, "the pod ran all the while"},
		"node partition, pod evicted, not confirmed": {corev1.RestartPolicyAlways, func(o *corev1.Pod) []event {
			return []event{set(20, onLostNode(o)), set(30, beingDeleted(onLostNode(o)))}
		}, "5-", fact.VolumeMounted, "deletion was asked for, but nobody can say that it no longer runs: it may still write"},
		"node partition, pod evicted, node comes back": {corev1.RestartPolicyAlways, func(o *corev1.Pod) []event {
			return []event{set(30, beingDeleted(onLostNode(o))), set(70, beingDeleted(ended(o, corev1.PodRunning, 5, 68, 137, "Error"))), gone(71, beingDeleted(ended(o, corev1.PodRunning, 5, 68, 137, "Error")))}
		}, "5-68 Deleted", fact.VolumeIdle, "the kubelet terminates what is not wanted any more, and says when"},
		"node gone, pod deleted by force": {corev1.RestartPolicyAlways, func(o *corev1.Pod) []event {
			return []event{set(30, beingDeleted(onLostNode(o))), gone(40, beingDeleted(onLostNode(o)))}
		}, "5-40(from 5) Deleted", fact.VolumeIdle, "no kubelet will say when it ended: at the latest when the API let it go"},
		"node reboot": {corev1.RestartPolicyAlways, func(o *corev1.Pod) []event {
			return []event{set(12, restartedAfter(o, "ContainerStatusUnknown"))}
		}, "5-", fact.VolumeMounted, "the kubelet sees no container, but the pod: it starts it again, the UID is the same"},
		"kubelet restart": {corev1.RestartPolicyAlways, func(o *corev1.Pod) []event {
			return []event{set(12, running(o, 5))}
		}, "5-", fact.VolumeMounted, "the containers run on"},
	}
}

func TestDurableLocalVolumesEvents(t *testing.T) {
	for name, test := range durableCases() {
		for store, make := range stores() {
			t.Run(name+"/"+store, func(t *testing.T) {
				before, source := make()
				o := podOf("db-0", "p1", 3, []string{"main"})
				o.Spec.RestartPolicy = test.policy
				o.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: source}}
				o.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
				events := append(before, set(3, o), set(5, running(o, 5)))
				_, h := play(t, append(events, test.events(o)...)...)

				want := "@ " + test.mount
				if source.PersistentVolumeClaim != nil {
					want = "c1@v1 " + test.mount
					expect(t, "volume: "+test.why, h.states["v1"].Status, test.status)
				}
				expect(t, "mount: "+test.why, h.mount("p1", "main", "/data"), want)
				for _, m := range h.mounts {
					expect(t, "kind of backing store", m.SourceKind, store)
				}
				expect(t, "mounts", fmt.Sprint(len(h.mounts)), "1")
			})
		}
	}
}
