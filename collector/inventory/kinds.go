package inventory

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// Packed is an object of a list, for Replace, in a form that takes less memory than the API's
// types.
type Packed interface {
	Identity() (fact.Kind, string) // kind and UID
	Unpack() metav1.Object         // an object that identify knows, a new one each time
	Wire() []byte                  // what the function Wire makes of that object
	Size() int                     // how many bytes the packed form has
}

// unpacked returns the object itself, unpacked if it is Packed.
func unpacked(object any) any {
	if p, ok := object.(Packed); ok {
		return p.Unpack()
	}
	return object
}

// identify returns the kind and UID of an object, or an error if the inventory
// does not take it.
func identify(object any) (fact.Kind, string, error) {
	switch o := object.(type) {
	case *corev1.Namespace:
		return fact.Namespaces, string(o.UID), nil
	case *storagev1.StorageClass:
		return fact.StorageClasses, string(o.UID), nil
	case *storagev1.CSIStorageCapacity:
		return fact.StorageCapacities, string(o.UID), nil
	case *storagev1.CSIDriver:
		return fact.Drivers, string(o.UID), nil
	case *corev1.PersistentVolume:
		return fact.Volumes, string(o.UID), nil
	case *appsv1.StatefulSet:
		return fact.StatefulSets, string(o.UID), nil
	case *metav1.PartialObjectMetadata:
		if kind := fact.Kind(o.Kind); kind == fact.Nodes || controllerKind(kind) {
			return kind, string(o.UID), nil
		}
		return "", "", fmt.Errorf("the inventory takes no metadata of a %q", o.Kind)
	case *corev1.PersistentVolumeClaim:
		return fact.Claims, string(o.UID), nil
	case *storagev1.VolumeAttachment:
		return fact.VolumeAttachments, string(o.UID), nil
	case *corev1.Pod:
		return fact.Pods, string(o.UID), nil
	case *corev1.Node:
		return fact.Nodes, string(o.UID), nil
	}
	return "", "", fmt.Errorf("the inventory takes no %T", object)
}

// identifyListed is identify for an object of a list, which may be Packed.
func identifyListed(object any) (fact.Kind, string, error) {
	if p, ok := object.(Packed); ok {
		kind, uid := p.Identity()
		return kind, uid, nil
	}
	return identify(object)
}

// note records what an object says of itself; the object is one that identify knows. If the version
// says anything new, note emits it, packed if it arrived packed.
func (inv *Inventory) note(kind fact.Kind, object any, obs Observation) {
	news, came := false, object
	object = unpacked(object)
	inv.serverTime = latest(inv.serverTime, apiTime(object.(metav1.Object).GetCreationTimestamp()))
	switch o := object.(type) {
	case *corev1.Namespace:
		news = inv.noteNamespace(o, obs)
	case *storagev1.StorageClass:
		news = inv.noteClass(o, obs)
	case *storagev1.CSIStorageCapacity:
		news = inv.noteCapacity(o, obs)
	case *corev1.PersistentVolume:
		news = inv.noteVolume(o, obs)
	case *appsv1.StatefulSet:
		news = inv.noteStatefulSet(o)
	case *corev1.PersistentVolumeClaim:
		news = inv.noteClaim(o, obs)
	case *storagev1.VolumeAttachment:
		news = inv.noteAttachment(o, obs)
	case *corev1.Pod:
		news = inv.notePod(o, obs)
	case *storagev1.CSIDriver:
		news = inv.noteOther(kind, o, obs)
	case *corev1.Node:
		news = inv.noteNode(o, obs)
	case *metav1.PartialObjectMetadata:
		if kind == fact.Nodes {
			news = inv.noteNode(o, obs)
		} else {
			_, news = inv.noteController(kind, o)
		}
	}
	if news {
		inv.emitObject(kind, object.(metav1.Object), came, obs)
	}
}

// drop records that an object is gone.
func (inv *Inventory) drop(kind fact.Kind, uid string, obs Observation) {
	switch kind {
	case fact.Namespaces:
		inv.dropNamespace(uid, obs)
	case fact.StorageClasses:
		inv.dropClass(uid, obs)
	case fact.StorageCapacities:
		inv.dropCapacity(uid, obs)
	case fact.Volumes:
		inv.dropVolume(inv.volumes[uid], obs)
	case fact.Claims:
		inv.dropClaim(inv.claims[uid], obs)
	case fact.VolumeAttachments:
		inv.dropAttachment(uid, obs)
	case fact.Pods:
		inv.dropPod(inv.pods[uid], obs)
	case fact.Nodes:
		inv.dropNode(uid, obs)
	case fact.Drivers:
		inv.dropOther(kind, uid, obs)
	default:
		inv.dropController(uid, obs)
	}
}

// kindIndex is the index of one kind's objects.
type kindIndex interface {
	has(uid string) bool
	uids() []string
	count() int
}

// byUID are the living objects of a kind.
type byUID[V any] map[string]V

func (m byUID[V]) has(uid string) bool {
	_, ok := m[uid]
	return ok
}

func (m byUID[V]) uids() []string { return slices.Collect(maps.Keys(m)) }
func (m byUID[V]) count() int     { return len(m) }

// index returns the index of a kind.
func (inv *Inventory) index(kind fact.Kind) kindIndex {
	switch kind {
	case fact.Namespaces:
		return inv.namespaces
	case fact.StorageClasses:
		return inv.classes
	case fact.StorageCapacities:
		return inv.capacities
	case fact.Volumes:
		return inv.volumes
	case fact.Claims:
		return inv.claims
	case fact.VolumeAttachments:
		return inv.attachments
	case fact.Pods:
		return inv.pods
	case fact.Drivers, fact.Nodes:
		return inv.others[kind]
	default:
		return controllersOf{inv, kind}
	}
}

// Count returns the number of living objects of a kind in the inventory, which keeps no pods
// without storage.
func (inv *Inventory) Count(kind fact.Kind) int { return inv.index(kind).count() }
