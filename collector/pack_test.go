package collector

import (
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
	"github.com/kubevoltracker/kubevoltracker/collector/redact"
)

// documentOf is what an inventory keeps of an object that is listed.
func documentOf(t *testing.T, kind fact.Kind, object any) fact.Object {
	t.Helper()
	inv, u := inventory.New(), &fact.Update{}
	if err := inv.Replace(kind, []any{object}, inventory.Observation{At: 1}); err != nil {
		t.Fatal(err)
	}
	inv.Take(u)
	if len(u.Facts.Objects) != 1 {
		t.Fatalf("%d versions of a %s are kept", len(u.Facts.Objects), kind)
	}
	u.Facts.Objects[0].Encode()
	return u.Facts.Objects[0]
}

// TestPackedIsTheSame checks that an object says the same after it was packed, whatever
// its kind.
func TestPackedIsTheSame(t *testing.T) {
	meta := metav1.ObjectMeta{
		UID: "u1", Namespace: "shop", Name: "db-0", ResourceVersion: "7", CreationTimestamp: metav1.NewTime(time.Unix(1_600_000_000, 0)),
		Labels: map[string]string{"app": "db"}, Annotations: map[string]string{"note": "x"}, Finalizers: []string{"keep"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "db", UID: "s1"}},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: &metav1.FieldsV1{Raw: []byte("{}")}}},
	}
	size := corev1.ResourceList{corev1.ResourceStorage: quantity.MustParse("10Gi")}
	always := corev1.ContainerRestartPolicyAlways
	objects := map[fact.Kind]any{
		fact.Namespaces:        &corev1.Namespace{ObjectMeta: meta},
		fact.StorageClasses:    &storagev1.StorageClass{ObjectMeta: meta, Provisioner: "csi.example", Parameters: map[string]string{"type": "ssd"}},
		fact.StorageCapacities: &storagev1.CSIStorageCapacity{ObjectMeta: meta, StorageClassName: "fast", Capacity: quantity.NewQuantity(1<<30, quantity.BinarySI)},
		fact.Drivers:           &storagev1.CSIDriver{ObjectMeta: meta},
		fact.Nodes:             &corev1.Node{ObjectMeta: meta},
		fact.Jobs:              &metav1.PartialObjectMetadata{ObjectMeta: meta},
		fact.VolumeAttachments: &storagev1.VolumeAttachment{ObjectMeta: meta, Status: storagev1.VolumeAttachmentStatus{AttachError: &storagev1.VolumeError{Message: "busy"}}},
		fact.Volumes: &corev1.PersistentVolume{
			ObjectMeta: meta, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
			Spec: corev1.PersistentVolumeSpec{
				Capacity: size, ClaimRef: &corev1.ObjectReference{Namespace: "shop", Name: "data", UID: "c1"},
				PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example", VolumeHandle: "vol-1"}},
			},
		},
		fact.StatefulSets: &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
			ServiceName: "db", VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
		}},
		fact.Claims: &corev1.PersistentVolumeClaim{
			ObjectMeta: meta, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "v1", Resources: corev1.VolumeResourceRequirements{Requests: size}},
			Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: size},
		},
		fact.Pods: &corev1.Pod{
			ObjectMeta: meta,
			Spec: corev1.PodSpec{
				NodeName: "n1", RestartPolicy: corev1.RestartPolicyAlways,
				Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-db-0"},
				}}},
				InitContainers: []corev1.Container{{Name: "side", RestartPolicy: &always}},
				Containers: []corev1.Container{{
					Name: "db", Image: "db:1", Command: []string{"/bin/db", "--password=x"}, Env: []corev1.EnvVar{{Name: "SECRET", Value: "x"}},
					VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/db"}},
				}},
			},
			Status: corev1.PodStatus{
				Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady}},
				ContainerStatuses: []corev1.ContainerStatus{{Name: "db", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Unix(1_600_000_001, 0))}}}},
			},
		},
	}
	for kind, object := range objects {
		Trim(redact.Policy{}, kind, object)
		small := Pack(kind, object)
		if _, ok := small.(inventory.Packed); ok != (kind != fact.Nodes) {
			t.Errorf("a %s is packed: %v", kind, ok)
		}
		plain, packed := documentOf(t, kind, object), documentOf(t, kind, small)
		if !reflect.DeepEqual(plain, packed) {
			t.Errorf("a %s says\n%+v\nand after it was packed\n%+v", kind, plain, packed)
		}
	}
	if odd := "no object"; Pack(fact.Pods, odd) != odd {
		t.Error("what cannot be packed is left as it is")
	}
}
