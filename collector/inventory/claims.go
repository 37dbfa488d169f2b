package inventory

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// claim is a PersistentVolumeClaim. It is found by its pods under its name, and
// finds its volume under its UID, in the volume's claimRef.
type claim struct {
	row    Claim
	volume *volume   // sticky: once known it is kept, also when the volume is gone
	source sourceRef // of the volume, likewise

	// What its pods make of it, counted in and out by settlePod.
	active   int  // containers that use it
	pending  int  // pods that have not started yet
	lastUsed Time // end of the last mount

	bound bool // the change "bound" has gone out
	fresh bool
	dirty bool
	stale bool
	shown bool
	state ClaimState
}

// unusedCondition is the claim's condition of KEP-5541: True while no pod, not
// even a pending one, refers to the claim.
const unusedCondition corev1.PersistentVolumeClaimConditionType = "Unused"

func (c *claim) key() name { return name{c.row.Namespace, c.row.Name} }

func claimRow(o *corev1.PersistentVolumeClaim) Claim {
	row := Claim{
		UID:            string(o.UID),
		Namespace:      o.Namespace,
		Name:           o.Name,
		StorageClass:   claimClass(o),
		VolumeName:     o.Spec.VolumeName,
		RequestedBytes: o.Spec.Resources.Requests.Storage().Value(),
		CapacityBytes:  o.Status.Capacity.Storage().Value(),
		AccessModes:    accessModes(o.Spec.AccessModes),
		VolumeMode:     volumeMode(o.Spec.VolumeMode),
		Phase:          string(o.Status.Phase),
		Owner:          ownerOf(o.Labels, o.Annotations),
		Groups:         groupsOf(o.Labels, o.Annotations),
		Labels:         o.Labels,
		Annotations:    o.Annotations,
		CreatedAt:      apiTime(o.CreationTimestamp),
	}
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil && ref.Kind == string(Pods) {
		row.Ephemeral, row.PodUID = true, string(ref.UID)
	} else {
		w := claimWorkload(o)
		row.WorkloadKind, row.WorkloadName = w.kind, w.name
	}
	switch {
	case o.Spec.DataSourceRef != nil:
		row.DataSourceKind, row.DataSourceName = o.Spec.DataSourceRef.Kind, o.Spec.DataSourceRef.Name
	case o.Spec.DataSource != nil:
		row.DataSourceKind, row.DataSourceName = o.Spec.DataSource.Kind, o.Spec.DataSource.Name
	}
	for i := range o.Status.Conditions {
		if c := &o.Status.Conditions[i]; c.Type == unusedCondition && c.Status == corev1.ConditionTrue {
			row.UnusedSince = apiTime(c.LastTransitionTime)
		}
	}
	return row
}

// claimClass returns the claim's storage class; the annotation is how claims
// named it before the field was there, and is still honoured by the API.
func claimClass(o *corev1.PersistentVolumeClaim) string {
	if class, ok := o.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return class
	}
	if o.Spec.StorageClassName != nil {
		return *o.Spec.StorageClassName
	}
	return ""
}

// same compares what the API says; what was inferred is not its matter.
func (a *Claim) same(b *Claim) bool {
	return a.UID == b.UID && a.Namespace == b.Namespace && a.Name == b.Name && a.StorageClass == b.StorageClass &&
		a.VolumeName == b.VolumeName && a.RequestedBytes == b.RequestedBytes && a.CapacityBytes == b.CapacityBytes &&
		slices.Equal(a.AccessModes, b.AccessModes) && a.VolumeMode == b.VolumeMode && a.Phase == b.Phase &&
		a.Owner == b.Owner && slices.Equal(a.Groups, b.Groups) && a.Ephemeral == b.Ephemeral && a.PodUID == b.PodUID &&
		a.WorkloadKind == b.WorkloadKind && a.WorkloadName == b.WorkloadName &&
		a.DataSourceKind == b.DataSourceKind && a.DataSourceName == b.DataSourceName &&
		a.UnusedSince == b.UnusedSince && maps.Equal(a.Labels, b.Labels) &&
		maps.Equal(a.Annotations, b.Annotations) && a.CreatedAt == b.CreatedAt
}

func (inv *Inventory) noteClaim(o *corev1.PersistentVolumeClaim, seen Seen) {
	row := claimRow(o)
	c := inv.claims[row.UID]
	if c == nil {
		slot := inv.slot(name{row.Namespace, row.Name})
		// An update can hide a deletion and a creation under the same name.
		for _, other := range slot.claims {
			if other.row.DeletedAt == 0 {
				inv.dropClaim(other, seen)
			}
		}
		c = &claim{}
		slot.claims = append(slot.claims, c)
		inv.claims[row.UID] = c
		inv.change(inv.claimChange(&row, Change{
			At: row.CreatedAt, Action: Created, Details: bytesText(row.RequestedBytes) + " requested of " + orNone(row.StorageClass),
			Actor: lastActor(o), Found: seen.Found,
		}))
		inv.soilPods(slot)
	} else {
		old := &c.row
		row.VolumeUID, row.BoundAt = old.VolumeUID, old.BoundAt
		if old.same(&row) {
			return
		}
		inv.claimChanges(old, &row, lastActor(o), seen)
	}
	if row.Phase == string(corev1.ClaimBound) && row.BoundAt == 0 && !seen.Found {
		row.BoundAt = seen.At // until the volume tells it exactly
	}
	c.row = row
	c.fresh = true
	inv.soilClaim(c)
}

func (inv *Inventory) claimChange(row *Claim, c Change) Change {
	c.Kind, c.UID, c.Namespace, c.Name, c.StorageClass = string(Claims), row.UID, row.Namespace, row.Name, row.StorageClass
	return c
}

func (inv *Inventory) claimChanges(old, row *Claim, actor string, seen Seen) {
	if old.Phase != row.Phase && row.Phase != string(corev1.ClaimBound) { // Bound is told when its volume is known
		inv.change(inv.claimChange(row, Change{
			At: seen.At, Action: Phase, Actor: actor, Details: orNone(old.Phase) + " → " + orNone(row.Phase),
		}))
	}
	if old.CapacityBytes != row.CapacityBytes && old.CapacityBytes != 0 {
		inv.change(inv.claimChange(row, Change{
			At: seen.At, Action: Resized, Actor: actor,
			Details: bytesText(old.CapacityBytes) + " → " + bytesText(row.CapacityBytes),
		}))
	}
}

// dropClaim notes that a claim is gone. It stays under its name until its pods
// are gone, too.
func (inv *Inventory) dropClaim(c *claim, seen Seen) {
	if c == nil {
		return
	}
	c.row.DeletedAt, c.row.DeletedNotBefore = seen.At, seen.NotBefore
	c.fresh = true
	inv.change(inv.claimChange(&c.row, Change{At: seen.At, Action: Deleted}))
	delete(inv.claims, c.row.UID)
	inv.soilPods(inv.slot(c.key()))
	inv.soilClaim(c)
	inv.graves = append(inv.graves, grave{at: seen.At, claim: c})
}

func (inv *Inventory) forgetClaim(c *claim) {
	if c.volume != nil && c.volume.user == c {
		c.volume.forgetUser()
	}
	slot := inv.slot(c.key())
	slot.claims = slices.DeleteFunc(slot.claims, func(other *claim) bool { return other == c })
	inv.tidy(c.key())
}

// slot returns what is known under a claim's name; tidy drops it once it is
// empty.
func (inv *Inventory) slot(key name) *claimName {
	s := inv.claimNames[key]
	if s == nil {
		s = &claimName{}
		inv.claimNames[key] = s
	}
	return s
}

func (inv *Inventory) tidy(key name) {
	if s := inv.claimNames[key]; s != nil && len(s.claims) == 0 && len(s.pods) == 0 {
		delete(inv.claimNames, key)
	}
}

func (inv *Inventory) soilClaim(c *claim) {
	if !c.dirty {
		c.dirty = true
		inv.dirtyClaims = append(inv.dirtyClaims, c)
	}
}

func (inv *Inventory) soilPods(slot *claimName) {
	for _, p := range slot.pods {
		inv.soilPod(p)
	}
}

func (inv *Inventory) settleClaim(c *claim, seen Seen) {
	c.dirty = false
	row := &c.row
	if v := inv.volumeOf[row.UID]; v != nil && (v.row.Name == row.VolumeName || v.row.Phase == string(corev1.VolumeBound)) {
		if c.volume != v || c.source != v.source() {
			c.volume, c.source = v, v.source()
			v.user = c
			inv.soilPods(inv.slot(c.key()))
		}
		if row.VolumeUID != v.row.UID {
			row.VolumeUID, c.fresh = v.row.UID, true
		}
		if at := v.binding.BoundAt; v.binding.ClaimUID == row.UID && at != 0 && at != row.BoundAt {
			row.BoundAt, c.fresh = at, true
		}
	}
	if !c.bound && row.Phase == string(corev1.ClaimBound) && row.VolumeUID != "" && row.BoundAt != 0 {
		c.bound = true
		inv.change(inv.claimChange(row, Change{
			At: row.BoundAt, Action: Bound, Details: "to volume " + row.VolumeName, Found: seen.Found,
			Took: time.Duration(max(row.BoundAt-row.CreatedAt, 0)) * time.Microsecond, SourceKind: c.source.kind,
		}))
	}
	if c.fresh {
		c.fresh = false
		row.Version = inv.nextVersion(seen.At)
		inv.update.Facts.Claims = append(inv.update.Facts.Claims, *row)
	}
	inv.touchClaim(c)
}

func (v *volume) source() sourceRef { return sourceRef{v.row.SourceKind, v.row.SourceID} }
