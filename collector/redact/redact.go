// Package redact removes secrets from the API's objects before anything keeps them.
//
// It is an allow-list: for each kind that the tracker watches, a function says which fields the
// tracker keeps, and drops all others. A field that a later version of the API adds is dropped until
// this package names it. Of the kept fields, references to Secrets are dropped with their names, and
// a value is replaced by Mask where its key or its form says that it is secret (mask.go). Long texts are
// cut, and long maps and lists, too (bound.go): users could fill the journal and the catalog with them.
//
// The collector calls Object for each object that arrives, so neither the memory, nor the journal,
// nor the catalog, nor the metrics ever have more than this package keeps. Objects and rows that an
// older tracker has saved pass through Object and Rows as they are read back.
package redact

import (
	"errors"
	"maps"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// annotations are kept of objects of every kind, with those that name an owner or a group
// (inventory.NamesOwner): until when a volume is kept, and what Kubernetes' own controllers write about provisioning and binding.
var annotations = map[string]bool{
	inventory.KeepAnnotation:                           true,
	"pv.kubernetes.io/bind-completed":                  true,
	"pv.kubernetes.io/bound-by-controller":             true,
	"pv.kubernetes.io/migrated-to":                     true,
	"pv.kubernetes.io/provisioned-by":                  true,
	"storageclass.beta.kubernetes.io/is-default-class": true,
	"storageclass.kubernetes.io/is-default-class":      true,
	"volume.beta.kubernetes.io/mount-options":          true,
	"volume.beta.kubernetes.io/storage-class":          true,
	"volume.beta.kubernetes.io/storage-provisioner":    true,
	"volume.kubernetes.io/selected-node":               true,
	"volume.kubernetes.io/storage-provisioner":         true,
	"volume.kubernetes.io/storage-resizer":             true,
}

// Policy is the allow-list. The zero Policy keeps no annotations but the built-in ones.
type Policy struct {
	annotations map[string]bool // kept besides the built-in ones
}

// New returns a Policy that keeps the named annotations, too. It returns an error for an annotation
// that has whole objects in it.
func New(keep ...string) (Policy, error) {
	p := Policy{annotations: map[string]bool{}}
	for _, name := range keep {
		if name == corev1.LastAppliedConfigAnnotation {
			return Policy{}, errors.New(name + " has a whole object in it, with its secrets, and is never kept")
		}
		p.annotations[name] = true
	}
	return p, nil
}

// Object drops from an object, in place, all that is not on the allow-list. It empties an object of
// a type that is not on the list.
func (p Policy) Object(kind fact.Kind, object any) {
	switch o := object.(type) {
	case *corev1.Pod:
		spec, kept := podSpec(&o.Spec)
		*o = corev1.Pod{ObjectMeta: p.metadata(&o.ObjectMeta), Spec: spec, Status: podStatus(&o.Status, kept)}
	case *corev1.PersistentVolumeClaim:
		*o = corev1.PersistentVolumeClaim{ObjectMeta: p.metadata(&o.ObjectMeta), Spec: claimSpec(&o.Spec), Status: claimStatus(&o.Status)}
	case *corev1.PersistentVolume:
		*o = corev1.PersistentVolume{ObjectMeta: p.metadata(&o.ObjectMeta), Spec: volumeSpec(&o.Spec), Status: volumeStatus(&o.Status)}
	case *corev1.Namespace:
		*o = corev1.Namespace{ObjectMeta: p.metadata(&o.ObjectMeta), Status: corev1.NamespaceStatus{Phase: o.Status.Phase}}
	case *corev1.Node:
		*o = corev1.Node{ObjectMeta: p.metadata(&o.ObjectMeta), Status: nodeStatus(&o.Status)}
	case *storagev1.StorageClass:
		*o = storageClass(p.metadata(&o.ObjectMeta), o)
	case *storagev1.CSIDriver:
		*o = storagev1.CSIDriver{ObjectMeta: p.metadata(&o.ObjectMeta), Spec: driverSpec(&o.Spec)}
	case *storagev1.CSIStorageCapacity:
		*o = storagev1.CSIStorageCapacity{
			ObjectMeta: p.metadata(&o.ObjectMeta), NodeTopology: selector(o.NodeTopology), StorageClassName: o.StorageClassName,
			Capacity: o.Capacity, MaximumVolumeSize: o.MaximumVolumeSize,
		}
	case *storagev1.VolumeAttachment:
		*o = storagev1.VolumeAttachment{ObjectMeta: p.metadata(&o.ObjectMeta), Spec: attachmentSpec(&o.Spec), Status: attachmentStatus(&o.Status)}
	case *appsv1.StatefulSet:
		*o = appsv1.StatefulSet{ObjectMeta: p.metadata(&o.ObjectMeta), Spec: appsv1.StatefulSetSpec{VolumeClaimTemplates: claimTemplates(o.Spec.VolumeClaimTemplates)}}
	case *metav1.PartialObjectMetadata: // of a Node that is restored, or of a controller
		if kind != fact.Nodes {
			o.Labels = nil
		}
		*o = metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: string(kind)}, ObjectMeta: p.metadata(&o.ObjectMeta)}
	default:
		if v := reflect.ValueOf(object); v.Kind() == reflect.Pointer && !v.IsNil() {
			v.Elem().SetZero()
		}
	}
}

// metadata keeps who an object is, who owns it and who wrote it last: of managedFields the managers
// and times, without the sets of fields, which are often the larger part of an object.
func (p Policy) metadata(m *metav1.ObjectMeta) metav1.ObjectMeta {
	for i := range m.ManagedFields {
		f := &m.ManagedFields[i]
		*f = metav1.ManagedFieldsEntry{Manager: Text(f.Manager), Operation: f.Operation, Time: f.Time, Subresource: f.Subresource}
	}
	return metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp, DeletionGracePeriodSeconds: m.DeletionGracePeriodSeconds,
		Labels: masked(m.Labels), Annotations: p.keptAnnotations(m.Annotations),
		OwnerReferences: references(m.OwnerReferences), Finalizers: first(m.Finalizers, textBytes), ManagedFields: m.ManagedFields,
	}
}

func (p Policy) keptAnnotations(m map[string]string) map[string]string {
	if len(m) == 0 {
		return m
	}
	maps.DeleteFunc(m, func(name, _ string) bool {
		return !annotations[name] && !p.annotations[name] && !inventory.NamesOwner(name)
	})
	return masked(m)
}
