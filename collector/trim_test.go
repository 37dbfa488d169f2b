package collector

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
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
			Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: "secret", "kept": "yes"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: &metav1.FieldsV1{Raw: []byte("secret")}}},
		},
		Spec: corev1.PodSpec{
			InitContainers:      []corev1.Container{container},
			Containers:          []corev1.Container{container},
			EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon(container)}},
			RestartPolicy:       corev1.RestartPolicyAlways,
			NodeName:            "node-1",
		},
	}
	if trim(inventory.Pods, o); strings.Contains(o.String(), "secret") {
		t.Errorf("a secret is left: %s", o)
	}
	if o.Annotations["kept"] != "yes" || o.ManagedFields[0].Manager != "kubectl" || o.Spec.NodeName != "node-1" ||
		o.Spec.Containers[0].VolumeMounts[0].MountPath != "/data" || o.Spec.EphemeralContainers[0].Command[0] != "app" {
		t.Errorf("what is needed is gone: %s", o)
	}
}
