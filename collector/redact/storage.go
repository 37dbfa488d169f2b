package redact

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func claimSpec(s *corev1.PersistentVolumeClaimSpec) corev1.PersistentVolumeClaimSpec {
	cutNames(&s.VolumeName)
	if d := s.DataSource; d != nil {
		cutNames(d.APIGroup, &d.Kind, &d.Name)
		*d = corev1.TypedLocalObjectReference{APIGroup: d.APIGroup, Kind: d.Kind, Name: d.Name}
	}
	if d := s.DataSourceRef; d != nil {
		cutNames(d.APIGroup, &d.Kind, &d.Name, d.Namespace)
		*d = corev1.TypedObjectReference{APIGroup: d.APIGroup, Kind: d.Kind, Name: d.Name, Namespace: d.Namespace}
	}
	return corev1.PersistentVolumeClaimSpec{
		AccessModes: first(s.AccessModes, textBytes), Selector: selector(s.Selector),
		Resources:  corev1.VolumeResourceRequirements{Limits: sizes(s.Resources.Limits), Requests: sizes(s.Resources.Requests)},
		VolumeName: s.VolumeName, StorageClassName: s.StorageClassName, VolumeMode: s.VolumeMode,
		DataSource: s.DataSource, DataSourceRef: s.DataSourceRef, VolumeAttributesClassName: s.VolumeAttributesClassName,
	}
}

// claimStatus keeps a claim's conditions without their messages.
func claimStatus(s *corev1.PersistentVolumeClaimStatus) corev1.PersistentVolumeClaimStatus {
	for i := range s.Conditions {
		c := &s.Conditions[i]
		*c = corev1.PersistentVolumeClaimCondition{
			Type: c.Type, Status: c.Status, LastProbeTime: c.LastProbeTime, LastTransitionTime: c.LastTransitionTime, Reason: Text(c.Reason),
		}
	}
	if m := s.ModifyVolumeStatus; m != nil {
		*m = corev1.ModifyVolumeStatus{TargetVolumeAttributesClassName: m.TargetVolumeAttributesClassName, Status: m.Status}
	}
	return corev1.PersistentVolumeClaimStatus{
		Phase: s.Phase, AccessModes: s.AccessModes, Capacity: sizes(s.Capacity), Conditions: s.Conditions,
		AllocatedResources: sizes(s.AllocatedResources), AllocatedResourceStatuses: storageAlone(s.AllocatedResourceStatuses),
		CurrentVolumeAttributesClassName: s.CurrentVolumeAttributesClassName, ModifyVolumeStatus: s.ModifyVolumeStatus,
	}
}

func claimTemplates(list []corev1.PersistentVolumeClaim) []corev1.PersistentVolumeClaim {
	for i := range list {
		t := &list[i]
		cutNames(&t.Name)
		*t = corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: t.Name}, Spec: claimSpec(&t.Spec)}
	}
	return list
}

func volumeSpec(s *corev1.PersistentVolumeSpec) corev1.PersistentVolumeSpec {
	source(&s.PersistentVolumeSource)
	if r := s.ClaimRef; r != nil {
		*r = corev1.ObjectReference{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, UID: r.UID}
	}
	if a := s.NodeAffinity; a != nil {
		*a = corev1.VolumeNodeAffinity{Required: nodeSelector(a.Required)}
	}
	return corev1.PersistentVolumeSpec{
		Capacity: sizes(s.Capacity), PersistentVolumeSource: s.PersistentVolumeSource, AccessModes: s.AccessModes, ClaimRef: s.ClaimRef,
		PersistentVolumeReclaimPolicy: s.PersistentVolumeReclaimPolicy, StorageClassName: s.StorageClassName, MountOptions: texts(s.MountOptions),
		VolumeMode: s.VolumeMode, NodeAffinity: s.NodeAffinity, VolumeAttributesClassName: s.VolumeAttributesClassName,
	}
}

func volumeStatus(s *corev1.PersistentVolumeStatus) corev1.PersistentVolumeStatus {
	return corev1.PersistentVolumeStatus{Phase: s.Phase, Reason: Text(s.Reason), LastPhaseTransitionTime: s.LastPhaseTransitionTime}
}

func storageClass(meta metav1.ObjectMeta, o *storagev1.StorageClass) storagev1.StorageClass {
	for i := range o.AllowedTopologies {
		term := &o.AllowedTopologies[i]
		for j := range term.MatchLabelExpressions {
			r := &term.MatchLabelExpressions[j]
			*r = corev1.TopologySelectorLabelRequirement{Key: r.Key, Values: values(r.Key, r.Values)}
		}
		*term = corev1.TopologySelectorTerm{MatchLabelExpressions: term.MatchLabelExpressions}
	}
	return storagev1.StorageClass{
		ObjectMeta: meta, Provisioner: o.Provisioner, Parameters: parameters(o.Parameters), ReclaimPolicy: o.ReclaimPolicy,
		MountOptions: texts(o.MountOptions), AllowVolumeExpansion: o.AllowVolumeExpansion, VolumeBindingMode: o.VolumeBindingMode,
		AllowedTopologies: o.AllowedTopologies,
	}
}

func driverSpec(s *storagev1.CSIDriverSpec) storagev1.CSIDriverSpec {
	return storagev1.CSIDriverSpec{
		AttachRequired: s.AttachRequired, PodInfoOnMount: s.PodInfoOnMount, VolumeLifecycleModes: s.VolumeLifecycleModes,
		StorageCapacity: s.StorageCapacity, FSGroupPolicy: s.FSGroupPolicy, RequiresRepublish: s.RequiresRepublish, SELinuxMount: s.SELinuxMount,
	}
}

// attachmentSpec drops the volume in line, which only volumes in line in pods have.
func attachmentSpec(s *storagev1.VolumeAttachmentSpec) storagev1.VolumeAttachmentSpec {
	return storagev1.VolumeAttachmentSpec{
		Attacher: s.Attacher, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: s.Source.PersistentVolumeName}, NodeName: s.NodeName,
	}
}

// attachmentStatus keeps the errors, which the catalog shows, with their messages masked. It drops
// the metadata that the driver passes from one call to the next.
func attachmentStatus(s *storagev1.VolumeAttachmentStatus) storagev1.VolumeAttachmentStatus {
	for _, e := range []*storagev1.VolumeError{s.AttachError, s.DetachError} {
		if e != nil {
			*e = storagev1.VolumeError{Time: e.Time, Message: Text(e.Message), ErrorCode: e.ErrorCode}
		}
	}
	return storagev1.VolumeAttachmentStatus{Attached: s.Attached, AttachError: s.AttachError, DetachError: s.DetachError}
}

// nodeStatus keeps a node's Ready condition, which shows whether its kubelet is alive.
func nodeStatus(s *corev1.NodeStatus) corev1.NodeStatus {
	conditions := slices.DeleteFunc(s.Conditions, func(c corev1.NodeCondition) bool { return c.Type != corev1.NodeReady })
	for i := range conditions {
		c := &conditions[i]
		*c = corev1.NodeCondition{
			Type: c.Type, Status: c.Status, LastHeartbeatTime: c.LastHeartbeatTime, LastTransitionTime: c.LastTransitionTime, Reason: Text(c.Reason),
		}
	}
	return corev1.NodeStatus{Conditions: conditions}
}

// sizes keeps the amount of storage.
func sizes(list corev1.ResourceList) corev1.ResourceList { return storageAlone(list) }

// storageAlone drops all resources but storage.
func storageAlone[V any](m map[corev1.ResourceName]V) map[corev1.ResourceName]V {
	for name := range m {
		if name != corev1.ResourceStorage {
			delete(m, name)
		}
	}
	return m
}

// selector keeps a selector of labels. Its values are masked and bounded as the labels are.
func selector(s *metav1.LabelSelector) *metav1.LabelSelector {
	if s == nil {
		return nil
	}
	for i := range s.MatchExpressions {
		r := &s.MatchExpressions[i]
		*r = metav1.LabelSelectorRequirement{Key: r.Key, Operator: r.Operator, Values: values(r.Key, r.Values)}
	}
	*s = metav1.LabelSelector{MatchLabels: masked(s.MatchLabels), MatchExpressions: first(s.MatchExpressions, (*metav1.LabelSelectorRequirement).Size)}
	return s
}

func nodeSelector(s *corev1.NodeSelector) *corev1.NodeSelector {
	if s == nil {
		return nil
	}
	for i := range s.NodeSelectorTerms {
		term := &s.NodeSelectorTerms[i]
		for _, list := range [][]corev1.NodeSelectorRequirement{term.MatchExpressions, term.MatchFields} {
			for j := range list {
				r := &list[j]
				*r = corev1.NodeSelectorRequirement{Key: r.Key, Operator: r.Operator, Values: values(r.Key, r.Values)}
			}
		}
		*term = corev1.NodeSelectorTerm{MatchExpressions: term.MatchExpressions, MatchFields: term.MatchFields}
	}
	*s = corev1.NodeSelector{NodeSelectorTerms: s.NodeSelectorTerms}
	return s
}

// values masks, in place, the values of a label by its key and their forms.
func values(key string, list []string) []string {
	for i := range list {
		list[i] = maskedValue(key, list[i])
	}
	return list
}
