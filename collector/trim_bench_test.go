package collector

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/redact"
)

// typicalPod is a pod of a StatefulSet, as an API server sends it: 9 KB of fields.
func typicalPod() *corev1.Pod {
	labels := map[string]string{
		"app.kubernetes.io/name": "db", "app.kubernetes.io/instance": "db-shop", "app.kubernetes.io/managed-by": "Helm", "apps.kubernetes.io/pod-index": "0",
		"controller-revision-hash": "db-7c9f8d6b5c", "statefulset.kubernetes.io/pod-name": "db-0",
	}
	token := corev1.VolumeMount{Name: "kube-api-access-x7k2p", ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}
	container := func(name string) corev1.Container {
		c := corev1.Container{
			Name: name, Image: "registry.example/db@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", Command: []string{"/usr/local/bin/db", "--verbose"},
			Resources:    corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": quantity.MustParse("1"), "memory": quantity.MustParse("1Gi")}},
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/db", SubPath: "data"}, {Name: "config", MountPath: "/etc/db"}, token},
		}
		for range 12 {
			c.Env = append(c.Env, corev1.EnvVar{Name: "DATABASE_SETTING", Value: "a value of some length"})
		}
		return c
	}
	status := func(name string) corev1.ContainerStatus {
		return corev1.ContainerStatus{
			Name: name, Ready: true, Image: "registry.example/db:1", ImageID: "registry.example/db@sha256:01234567", ContainerID: "containerd://0123456789abcdef",
			State:                corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Unix(1_700_000_000, 0))}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "the last lines"}},
			VolumeMounts:         []corev1.VolumeMountStatus{{Name: "data", MountPath: "/var/lib/db"}, {Name: "config", MountPath: "/etc/db"}, {Name: token.Name, MountPath: token.MountPath}},
		}
	}
	var conditions []corev1.PodCondition
	for _, kind := range []corev1.PodConditionType{"PodReadyToStartContainers", corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		conditions = append(conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Unix(1_700_000_000, 0))})
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "db-0", UID: "01234567-89ab-cdef-0123-456789abcdef", ResourceVersion: "123456", Labels: labels,
			Annotations:     map[string]string{"prometheus.io/scrape": "true", "checksum/config": "0123456789abcdef"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "01234567-89ab-cdef-0123-456789abcdee"}},
			ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "kube-controller-manager", Operation: "Update", FieldsV1: &metav1.FieldsV1{Raw: make([]byte, 2000)}},
				{Manager: "kubelet", Operation: "Update", Subresource: "status", FieldsV1: &metav1.FieldsV1{Raw: make([]byte, 1000)}},
			},
		},
		Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{
				{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-db-0"}}},
				{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "db"}}}},
				{Name: token.Name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}}}}},
			},
			Containers: []corev1.Container{container("db"), container("backup")}, NodeName: "node-1", ServiceAccountName: "db", RestartPolicy: corev1.RestartPolicyAlways,
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: conditions, ContainerStatuses: []corev1.ContainerStatus{status("db"), status("backup")}},
	}
}

func typicalVolume() *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name: "pvc-01234567-89ab-cdef-0123-456789abcdef", UID: "01234567-89ab-cdef-0123-456789abcdef", ResourceVersion: "123456",
			Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": "csi.example", "volume.kubernetes.io/provisioner-deletion-secret-name": "login"},
			Finalizers:  []string{"kubernetes.io/pv-protection"},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: quantity.MustParse("10Gi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: "fast", MountOptions: []string{"noatime"}, ClaimRef: &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "shop", Name: "data-db-0", UID: "c1"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: "csi.example", VolumeHandle: "vol-0123456789abcdef", FSType: "ext4", NodeStageSecretRef: &corev1.SecretReference{Name: "login"},
				VolumeAttributes: map[string]string{"storage.kubernetes.io/csiProvisionerIdentity": "1700000000-1234-csi.example", "pool": "ssd"},
			}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}
}

// BenchmarkTrim is an object from its bytes to what the inventory gets; decode alone is for
// comparison.
func BenchmarkTrim(b *testing.B) {
	for name, object := range map[string]protobuf{"pod": typicalPod(), "volume": typicalVolume()} {
		wire, err := object.(interface{ Marshal() ([]byte, error) }).Marshal()
		if err != nil {
			b.Fatal(err)
		}
		decoded := func() protobuf {
			var o protobuf = &corev1.Pod{}
			if name == "volume" {
				o = &corev1.PersistentVolume{}
			}
			if err := o.Unmarshal(wire); err != nil {
				b.Fatal(err)
			}
			return o
		}
		b.Run(name+"/decode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				decoded()
			}
		})
		b.Run(name+"/decode+trim", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Trim(redact.Policy{}, fact.Pods, decoded())
			}
		})
		b.Run(name+"/pack+unpack", func(b *testing.B) {
			b.ReportAllocs()
			p := &packer{kind: fact.Pods}
			bytes := 0
			for b.Loop() {
				small := p.pack(Trim(redact.Policy{}, fact.Pods, decoded())).(*packed)
				bytes = len(small.data)
				small.Unpack()
			}
			b.ReportMetric(float64(bytes), "B/packed")
		})
	}
}
