package inventory

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// other is an object of a kind of which nothing is inferred, kept for the record.
type other struct {
	name    string
	emitted uint64 // hash of its document
}

func (inv *Inventory) noteOther(kind fact.Kind, o metav1.Object, obs Observation) bool {
	uid, hash := string(o.GetUID()), hashOf(inv, document(o))
	had := inv.others[kind][uid]
	if had != nil && had.emitted == hash {
		return false
	}
	if had == nil {
		// An update can hide a deletion and a creation under the same name.
		for before, other := range inv.others[kind] {
			if other.name == o.GetName() && !inv.restoring {
				inv.dropOther(kind, before, obs)
			}
		}
		inv.change(fact.Change{
			At: apiTime(o.GetCreationTimestamp()), Kind: string(kind), UID: uid, Name: o.GetName(), Action: fact.Created,
			Actor: lastActor(o), Found: obs.Found,
		})
	}
	inv.others[kind][uid] = &other{o.GetName(), hash}
	return true
}

func (inv *Inventory) dropOther(kind fact.Kind, uid string, obs Observation) {
	if had := inv.others[kind][uid]; had != nil {
		delete(inv.others[kind], uid)
		inv.forgetSnapshot(kind, uid)
		inv.change(fact.Change{At: obs.At, Kind: string(kind), UID: uid, Name: had.name, Action: fact.Deleted})
	}
}

// emitObject emits a version of an object, which is held as it came until its document is
// written.
func (inv *Inventory) emitObject(kind fact.Kind, o metav1.Object, came any, obs Observation) {
	inv.update.Facts.Objects = append(inv.update.Facts.Objects, fact.Object{
		Kind: kind, UID: string(o.GetUID()), Namespace: o.GetNamespace(), Name: o.GetName(),
		ResourceVersion: o.GetResourceVersion(), ObservedAt: obs.At, From: written{came},
	})
}

// written is an object as it came, whose document is written when it is asked for.
type written struct{ came any }

func (w written) Document() string { return document(unpacked(w.came).(metav1.Object)) }

// document writes an object as JSON, in the fields that the API has for it, but
// without what changes with every write and says nothing. What may hold secrets
// has been taken out by the collector before.
func document(object metav1.Object) string {
	var doc any
	switch o := object.(type) {
	case *corev1.Pod:
		doc = documentOf{slimMeta(o.ObjectMeta), &o.Spec, &o.Status}
	case *corev1.PersistentVolumeClaim:
		doc = documentOf{slimMeta(o.ObjectMeta), &o.Spec, &o.Status}
	case *corev1.PersistentVolume:
		doc = documentOf{slimMeta(o.ObjectMeta), &o.Spec, &o.Status}
	case *appsv1.StatefulSet: // of no interest but for its claims
		doc = documentOf{slimMeta(o.ObjectMeta), claimTemplates{o.Spec.VolumeClaimTemplates}, nil}
	case *corev1.Node: // its heartbeats are no news
		meta := metav1.PartialObjectMetadata{ObjectMeta: o.ObjectMeta}
		meta.Kind = string(fact.Nodes)
		doc = slimmed(&meta)
	default:
		doc = slimmed(object)
	}
	text, _ := json.Marshal(doc) // nothing in the API's types can fail
	return string(text)
}

// readObject reads what document wrote. The error names the kind.
func readObject(kind fact.Kind, data []byte) (any, error) {
	var object any
	switch kind {
	case fact.Namespaces:
		object = &corev1.Namespace{}
	case fact.StorageClasses:
		object = &storagev1.StorageClass{}
	case fact.StorageCapacities:
		object = &storagev1.CSIStorageCapacity{}
	case fact.Drivers:
		object = &storagev1.CSIDriver{}
	case fact.Volumes:
		object = &corev1.PersistentVolume{}
	case fact.StatefulSets:
		object = &appsv1.StatefulSet{}
	case fact.Claims:
		object = &corev1.PersistentVolumeClaim{}
	case fact.VolumeAttachments:
		object = &storagev1.VolumeAttachment{}
	case fact.Pods:
		object = &corev1.Pod{}
	default:
		object = &metav1.PartialObjectMetadata{}
	}
	if err := json.Unmarshal(data, object); err != nil {
		return nil, fmt.Errorf("a %s that cannot be read: %w", kind, err)
	}
	if o, ok := object.(*metav1.PartialObjectMetadata); ok {
		o.Kind = string(kind)
	}
	return object, nil
}

type documentOf struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              any `json:"spec"`
	Status            any `json:"status,omitempty"`
}

type claimTemplates struct {
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`
}

func slimMeta(meta metav1.ObjectMeta) metav1.ObjectMeta {
	meta.ManagedFields, meta.ResourceVersion, meta.Generation = nil, "", 0
	return meta
}

// slimmed returns a copy of an object of any kind with slim metadata.
func slimmed(object metav1.Object) any {
	from := reflect.ValueOf(object).Elem()
	to := reflect.New(from.Type())
	to.Elem().Set(from)
	meta := to.Elem().FieldByName("ObjectMeta")
	meta.Set(reflect.ValueOf(slimMeta(meta.Interface().(metav1.ObjectMeta))))
	return to.Interface()
}

// deletionAsked is when the deletion of an object was asked for. The API adds the
// time that the object is given to end.
func deletionAsked(o metav1.Object) fact.Time {
	at := apiTimePtr(o.GetDeletionTimestamp())
	if grace := o.GetDeletionGracePeriodSeconds(); at != 0 && grace != nil {
		at -= fact.Time(*grace) * 1e6
	}
	return at
}

// deletingChange is the change that a deletion was asked for, and what holds it back.
func deletingChange(o metav1.Object, asked fact.Time) fact.Change {
	return fact.Change{At: asked, Action: fact.Deleting, Actor: lastActor(o), Details: "held back by " + orNone(strings.Join(o.GetFinalizers(), ", "))}
}
