package collector

import (
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// Trim removes from an object, in place, the fields that no storage question needs: above all the
// environment and arguments of containers, which may contain secrets, and the field sets of
// managedFields, which are often the larger part of an object. It keeps the names of the managers,
// which say who made a change.
//
// An object that was requested as metadata alone has the kind PartialObjectMetadata; Trim sets its
// real kind.
func Trim(kind fact.Kind, obj any) any {
	if o, ok := obj.(metav1.Object); ok {
		o.SetGeneration(0)
		fields := o.GetManagedFields()
		for i := range fields {
			fields[i].FieldsV1 = nil
		}
		if a := o.GetAnnotations(); a[corev1.LastAppliedConfigAnnotation] != "" {
			delete(a, corev1.LastAppliedConfigAnnotation)
		}
	}
	own(obj)
	switch o := obj.(type) {
	case *corev1.Pod:
		trimPod(o)
	case *corev1.Node:
		trimNode(o)
	case *metav1.PartialObjectMetadata:
		o.Kind = string(kind)
		o.Annotations, o.Labels, o.ManagedFields = nil, nil, nil
	case *appsv1.StatefulSet:
		templates := make([]corev1.PersistentVolumeClaim, len(o.Spec.VolumeClaimTemplates))
		for i := range templates {
			templates[i].Name = o.Spec.VolumeClaimTemplates[i].Name
			templates[i].Spec = o.Spec.VolumeClaimTemplates[i].Spec
		}
		o.Spec = appsv1.StatefulSetSpec{VolumeClaimTemplates: templates}
		o.Status = appsv1.StatefulSetStatus{}
	}
	return obj
}

// own copies the strings of an object that the inventory keeps: its own names. The decoder
// allocates each of them among the object's other small allocations; once those are garbage, a kept
// name alone would keep its page of memory. The namespace and the names of other objects are not
// copied, because the inventory shares the strings of those objects themselves.
func own(obj any) {
	var names []*string
	if o, ok := obj.(metav1.ObjectMetaAccessor); ok {
		if m, ok := o.GetObjectMeta().(*metav1.ObjectMeta); ok {
			names = append(names, (*string)(&m.UID), &m.Name)
		}
	}
	if o, ok := obj.(*corev1.PersistentVolume); ok && o.Spec.CSI != nil {
		names = append(names, &o.Spec.CSI.VolumeHandle)
	}
	var all strings.Builder
	n := 0
	for _, name := range names {
		n += len(*name)
	}
	all.Grow(n)
	for _, name := range names {
		all.WriteString(*name)
	}
	rest := all.String()
	for _, name := range names {
		*name, rest = rest[:len(*name)], rest[len(*name):]
	}
}

// trimNode keeps a node's labels, which show which volumes are reachable from it, and its Ready
// condition, which shows whether its kubelet is alive.
func trimNode(o *corev1.Node) {
	o.Annotations, o.Spec = nil, corev1.NodeSpec{}
	conditions := slices.DeleteFunc(o.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type != corev1.NodeReady })
	for i := range conditions {
		conditions[i].Message = ""
	}
	o.Status = corev1.NodeStatus{Conditions: conditions}
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
	maps.DeleteFunc(o.Annotations, func(key, _ string) bool { return !inventory.NamesOwner(key) })
	o.Status = corev1.PodStatus{
		Phase:                      o.Status.Phase,
		Reason:                     o.Status.Reason,
		StartTime:                  o.Status.StartTime,
		Conditions:                 trimConditions(o.Status.Conditions),
		InitContainerStatuses:      trimStatuses(o.Status.InitContainerStatuses),
		ContainerStatuses:          trimStatuses(o.Status.ContainerStatuses),
		EphemeralContainerStatuses: trimStatuses(o.Status.EphemeralContainerStatuses),
	}
}

// trimConditions keeps the conditions that show a pod's beginning and end, without their messages,
// which name other pods.
func trimConditions(list []corev1.PodCondition) []corev1.PodCondition {
	list = slices.DeleteFunc(list, func(c corev1.PodCondition) bool {
		return c.Type != corev1.PodScheduled && c.Type != corev1.DisruptionTarget && c.Type != corev1.PodReady
	})
	for i := range list {
		list[i].Message, list[i].LastProbeTime = "", metav1.Time{}
	}
	return list
}

// trimStatuses keeps the times at which containers ran, without a container's termination message.
func trimStatuses(list []corev1.ContainerStatus) []corev1.ContainerStatus {
	for i := range list {
		s := &list[i]
		*s = corev1.ContainerStatus{
			Name: s.Name, State: s.State, LastTerminationState: s.LastTerminationState, RestartCount: s.RestartCount,
			VolumeMounts: s.VolumeMounts,
		}
		trimState(&s.State)
		trimState(&s.LastTerminationState)
	}
	return list
}

func trimState(s *corev1.ContainerState) {
	if s.Waiting != nil {
		s.Waiting.Message = ""
	}
	if s.Terminated != nil {
		s.Terminated.Message, s.Terminated.ContainerID = "", ""
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
