package collector

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/redact"
)

func TestTrimDropsWhatMayHoldSecrets(t *testing.T) {
	container := corev1.Container{
		Name: "main", Image: "app:1", Command: []string{"app", "secret"}, Args: []string{"secret"},
		Env:          []corev1.EnvVar{{Name: "PASSWORD", Value: "secret"}},
		VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
	}
	o := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:          "web",
			Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: "secret", "vault": "secret", "owner": "dana"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: &metav1.FieldsV1{Raw: []byte("secret")}}},
		},
		Spec: corev1.PodSpec{
			Volumes:             []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			InitContainers:      []corev1.Container{container},
			Containers:          []corev1.Container{container},
			EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon(container)}},
			RestartPolicy:       corev1.RestartPolicyAlways,
			NodeName:            "node-1",
		},
		Status: corev1.PodStatus{
			Message:    "secret",
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Message: "secret"}, {Type: corev1.PodScheduled, Message: "secret"}, {Type: corev1.PodInitialized}},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "main", RestartCount: 2,
				State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "secret"}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: "secret"}},
			}},
		},
	}
	if Trim(redact.Policy{}, fact.Pods, o); strings.Contains(o.String(), "secret") {
		t.Errorf("a secret is left: %s", o)
	}
	if o.Annotations["owner"] != "dana" || o.ManagedFields[0].Manager != "kubectl" || len(o.Status.Conditions) != 2 ||
		o.Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode != 1 || o.Spec.NodeName != "node-1" ||
		o.Spec.Containers[0].VolumeMounts[0].MountPath != "/data" || o.Spec.EphemeralContainers[0].Command[0] != "app" {
		t.Errorf("what is needed is gone: %s", o)
	}
}

// The names stay what they are, and share one string.
func TestTrimKeepsNames(t *testing.T) {
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-1", UID: "v1"},
		Spec: corev1.PersistentVolumeSpec{
			ClaimRef:               &corev1.ObjectReference{Namespace: "shop", Name: "data", UID: "c1"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{VolumeHandle: "disk-1"}},
		},
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data", UID: "c1"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pvc-1"},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "p1"},
		Spec: corev1.PodSpec{Volumes: []corev1.Volume{
			{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
		}},
	}
	wantVolume, wantClaim, wantPod := volume.DeepCopy(), claim.DeepCopy(), pod.DeepCopy()
	Trim(redact.Policy{}, fact.Volumes, volume)
	Trim(redact.Policy{}, fact.Claims, claim)
	Trim(redact.Policy{}, fact.Pods, pod)
	if !reflect.DeepEqual(volume, wantVolume) || !reflect.DeepEqual(claim, wantClaim) || !reflect.DeepEqual(pod, wantPod) {
		t.Errorf("%v\n%v\n%v", volume, claim, pod)
	}
	if end, next := unsafe.StringData(string(pod.UID)), unsafe.StringData(pod.Name); unsafe.Add(unsafe.Pointer(end), len(pod.UID)) != unsafe.Pointer(next) {
		t.Error("a pod's names are in several strings")
	}
}

func TestTrimmedNodeShowsWhetherItsKubeletLives(t *testing.T) {
	heartbeat := metav1.NewTime(time.Unix(100, 0))
	o := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1", Labels: map[string]string{"zone": "a"}, Annotations: map[string]string{"key": "secret"}},
		Spec:       corev1.NodeSpec{ProviderID: "secret"},
		Status: corev1.NodeStatus{
			Images: []corev1.ContainerImage{{Names: []string{"secret"}}},
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeMemoryPressure, Message: "secret"}, {Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: heartbeat, Message: "secret"},
			},
		},
	}
	if Trim(redact.Policy{}, fact.Nodes, o); strings.Contains(o.String(), "secret") {
		t.Errorf("what is not needed is left: %s", o)
	}
	if len(o.Status.Conditions) != 1 || !o.Status.Conditions[0].LastHeartbeatTime.Equal(&heartbeat) || o.Labels["zone"] != "a" {
		t.Errorf("what is needed is gone: %s", o)
	}
}
