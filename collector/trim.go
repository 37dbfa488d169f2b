package collector

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// trim strips an object, in place, of what no storage question needs: above all
// the environment and arguments of containers, which may hold secrets, and the
// field sets of managedFields, which are often the larger part of an object. Who
// manages is kept: it tells who did a thing.
//
// An object of which only the metadata was asked for says that it is that; it is
// given its kind.
func trim(kind inventory.Kind, obj any) any {
	if o, ok := obj.(metav1.Object); ok {
		fields := o.GetManagedFields()
		for i := range fields {
			fields[i].FieldsV1 = nil
		}
		if a := o.GetAnnotations(); a[corev1.LastAppliedConfigAnnotation] != "" {
			delete(a, corev1.LastAppliedConfigAnnotation)
		}
	}
	switch o := obj.(type) {
	case *corev1.Pod:
		trimPod(o)
	case *metav1.PartialObjectMetadata:
		o.Kind = string(kind)
		o.Labels, o.Annotations, o.ManagedFields = nil, nil, nil
	case *appsv1.StatefulSet:
		templates := make([]corev1.PersistentVolumeClaim, len(o.Spec.VolumeClaimTemplates))
		for i := range templates {
			templates[i].Name = o.Spec.VolumeClaimTemplates[i].Name
		}
		o.Spec = appsv1.StatefulSetSpec{VolumeClaimTemplates: templates}
		o.Status = appsv1.StatefulSetStatus{}
	case *corev1.PersistentVolume:
		o.Spec.NodeAffinity = nil
	case *corev1.PersistentVolumeClaim:
		o.Spec.Selector = nil
	case *storagev1.StorageClass:
		o.AllowedTopologies = nil
	}
	return obj
}

func trimPod(o *corev1.Pod) {
	for _, list := range [][]corev1.Container{o.Spec.InitContainers, o.Spec.Containers} {
		for i := range list {
			trimContainer(&list[i])
		}
	}
	for i := range o.Spec.EphemeralContainers {
		c := corev1.Container(o.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		trimContainer(&c)
		o.Spec.EphemeralContainers[i].EphemeralContainerCommon = corev1.EphemeralContainerCommon(c)
	}
	o.Spec = corev1.PodSpec{
		Volumes:             o.Spec.Volumes,
		InitContainers:      o.Spec.InitContainers,
		Containers:          o.Spec.Containers,
		EphemeralContainers: o.Spec.EphemeralContainers,
		RestartPolicy:       o.Spec.RestartPolicy,
		ServiceAccountName:  o.Spec.ServiceAccountName,
		NodeName:            o.Spec.NodeName,
	}
}

func trimContainer(c *corev1.Container) {
	if len(c.Command) > 1 {
		c.Command = c.Command[:1:1]
	}
	*c = corev1.Container{
		Name:               c.Name,
		Image:              c.Image,
		Command:            c.Command,
		RestartPolicy:      c.RestartPolicy,
		RestartPolicyRules: c.RestartPolicyRules,
		VolumeMounts:       c.VolumeMounts,
		VolumeDevices:      c.VolumeDevices,
	}
}
