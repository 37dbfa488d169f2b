package inventory

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// volume is a PersistentVolume. Its life is its phase: Available, Bound to a
// claim, Released from it, and bound again if an administrator clears its
// claimRef; each stretch with one claim is a Binding.
type volume struct {
	row     Volume
	claim   name // of its claimRef: kept by the API when the claim is gone
	binding Binding
	user    *claim // the claim that has it, or that it was released from; nil until that is known
	// lastUsed is the end of the last use by claims that have been forgotten, or
	// that it was bound to before.
	lastUsed Time

	fresh bool // row has not gone out
	dirty bool
	stale bool
	shown bool // state has gone out
	state VolumeState
}

func volumeRow(o *corev1.PersistentVolume) (row Volume, src VolumeSource) {
	row = Volume{
		UID:           string(o.UID),
		Name:          o.Name,
		StorageClass:  o.Spec.StorageClassName,
		CapacityBytes: o.Spec.Capacity.Storage().Value(),
		AccessModes:   accessModes(o.Spec.AccessModes),
		VolumeMode:    volumeMode(o.Spec.VolumeMode),
		ReclaimPolicy: string(o.Spec.PersistentVolumeReclaimPolicy),
		Phase:         string(o.Status.Phase),
		Labels:        o.Labels,
		Annotations:   o.Annotations,
		CreatedAt:     apiTime(o.CreationTimestamp),
	}
	if o.Spec.ClaimRef != nil {
		row.ClaimUID = string(o.Spec.ClaimRef.UID)
	}
	if o.Spec.CSI != nil {
		row.VolumeHandle = o.Spec.CSI.VolumeHandle
	}
	row.PhaseChangedAt = apiTimePtr(o.Status.LastPhaseTransitionTime)
	src, _ = volumeSource(&o.Spec.PersistentVolumeSource)
	row.SourceKind, row.SourceID, row.Driver = src.Kind, src.ID, src.Driver
	return row, src
}

func accessModes(modes []corev1.PersistentVolumeAccessMode) []string {
	if len(modes) == 0 {
		return nil
	}
	s := make([]string, len(modes))
	for i, m := range modes {
		s[i] = string(m)
	}
	return s
}

func volumeMode(mode *corev1.PersistentVolumeMode) string {
	if mode == nil {
		return string(corev1.PersistentVolumeFilesystem) // the API's default
	}
	return string(*mode)
}

func (a *Volume) same(b *Volume) bool {
	return a.UID == b.UID && a.Name == b.Name && a.StorageClass == b.StorageClass && a.SourceKind == b.SourceKind &&
		a.SourceID == b.SourceID && a.Driver == b.Driver && a.VolumeHandle == b.VolumeHandle &&
		a.CapacityBytes == b.CapacityBytes && slices.Equal(a.AccessModes, b.AccessModes) &&
		a.VolumeMode == b.VolumeMode && a.ReclaimPolicy == b.ReclaimPolicy && a.Phase == b.Phase &&
		a.PhaseChangedAt == b.PhaseChangedAt && a.ClaimUID == b.ClaimUID && maps.Equal(a.Labels, b.Labels) &&
		maps.Equal(a.Annotations, b.Annotations) && a.CreatedAt == b.CreatedAt
}

func (inv *Inventory) noteVolume(o *corev1.PersistentVolume, seen Seen) {
	row, src := volumeRow(o)
	v := inv.volumes[row.UID]
	isNew := v == nil
	if isNew {
		// An update can hide a deletion and a creation under the same name.
		if other := inv.volumeNames[row.Name]; other != nil && other.row.DeletedAt == 0 {
			inv.dropVolume(other, seen)
		}
		v = &volume{}
		inv.volumes[row.UID] = v
		inv.volumeNames[row.Name] = v
		inv.change(Change{
			At: row.CreatedAt, Kind: string(Volumes), UID: row.UID, Name: row.Name, Action: Created,
			Details: bytesText(row.CapacityBytes) + " on " + orNone(row.SourceKind), Actor: lastActor(o),
			Found: seen.Found, StorageClass: row.StorageClass, SourceKind: row.SourceKind,
		})
	}
	old := v.row
	if row.PhaseChangedAt == 0 {
		switch {
		case !isNew && old.Phase == row.Phase:
			row.PhaseChangedAt = old.PhaseChangedAt
		case !seen.Found:
			row.PhaseChangedAt = seen.At
		}
	}
	if o.Spec.ClaimRef != nil {
		v.claim = name{o.Spec.ClaimRef.Namespace, o.Spec.ClaimRef.Name}
	} else {
		v.claim = name{}
	}
	if !isNew && old.same(&row) {
		return
	}
	if isNew || old.SourceID != row.SourceID {
		inv.releaseSource(old.SourceID)
		if row.SourceID != "" {
			inv.holdSource(src, seen)
		}
	}
	if !isNew {
		inv.volumeChanges(&old, &row, lastActor(o), seen)
	}
	v.row = row
	v.fresh = true
	if old.ClaimUID != row.ClaimUID {
		inv.claimedBy(v, old.ClaimUID)
	}
	inv.soilVolume(v)
}

// claimedBy files a volume under its claim's UID. A volume that was its former
// claim's keeps that claim's last use.
func (inv *Inventory) claimedBy(v *volume, former string) {
	v.forgetUser()
	if former != "" && inv.volumeOf[former] == v {
		delete(inv.volumeOf, former)
	}
	if v.row.ClaimUID != "" {
		inv.volumeOf[v.row.ClaimUID] = v
	}
}

// forgetUser keeps of a volume's claim when it was last used.
func (v *volume) forgetUser() {
	if v.user != nil {
		v.lastUsed = latest(v.lastUsed, v.user.lastUsed)
		v.user = nil
	}
}

func (inv *Inventory) volumeChanges(old, row *Volume, actor string, seen Seen) {
	c := Change{
		At: row.PhaseChangedAt, Kind: string(Volumes), UID: row.UID, Name: row.Name, Actor: actor,
		StorageClass: row.StorageClass, SourceKind: row.SourceKind,
	}
	if old.Phase != row.Phase {
		c.Action, c.Details = Phase, orNone(old.Phase)+" → "+orNone(row.Phase)
		if row.Phase == string(corev1.VolumeReleased) {
			c.Action = Released
		}
		inv.change(c)
	}
	if old.CapacityBytes != row.CapacityBytes {
		c.At, c.Action = seen.At, Resized
		c.Details = bytesText(old.CapacityBytes) + " → " + bytesText(row.CapacityBytes)
		inv.change(c)
	}
}

// dropVolume notes that a volume is gone, and remembers it for a while.
func (inv *Inventory) dropVolume(v *volume, seen Seen) {
	if v == nil {
		return
	}
	v.row.DeletedAt, v.row.DeletedNotBefore = seen.At, seen.NotBefore
	v.fresh = true
	inv.change(Change{
		At: seen.At, Kind: string(Volumes), UID: v.row.UID, Name: v.row.Name, Action: Deleted,
		StorageClass: v.row.StorageClass, SourceKind: v.row.SourceKind,
	})
	delete(inv.volumes, v.row.UID)
	inv.releaseSource(v.row.SourceID)
	inv.soilVolume(v)
	inv.graves = append(inv.graves, grave{at: seen.At, volume: v})
}

func (inv *Inventory) forgetVolume(v *volume) {
	if inv.volumeNames[v.row.Name] == v {
		delete(inv.volumeNames, v.row.Name)
	}
	if inv.volumeOf[v.row.ClaimUID] == v {
		delete(inv.volumeOf, v.row.ClaimUID)
	}
}

func (inv *Inventory) soilVolume(v *volume) {
	if !v.dirty {
		v.dirty = true
		inv.dirtyVolumes = append(inv.dirtyVolumes, v)
	}
}

func (inv *Inventory) settleVolume(v *volume, seen Seen) {
	v.dirty = false
	inv.settleBinding(v, seen)
	if v.fresh {
		v.fresh = false
		v.row.Version = inv.nextVersion(seen.At)
		inv.update.Facts.Volumes = append(inv.update.Facts.Volumes, v.row)
	}
	if slot := inv.claimNames[v.claim]; slot != nil {
		for _, c := range slot.claims { // also one that is gone already
			if c.row.UID == v.row.ClaimUID {
				inv.soilClaim(c)
			}
		}
	}
	inv.touchVolume(v)
}

// settleBinding opens and closes the interval in which a volume is its claim's.
// The volume's side tells it: the binder writes the claim's UID into claimRef
// first, and the phase says whether the binding holds.
func (inv *Inventory) settleBinding(v *volume, seen Seen) {
	b, row := &v.binding, &v.row
	bound := row.ClaimUID != "" && row.DeletedAt == 0 && row.Phase == string(corev1.VolumeBound)
	if b.ClaimUID != "" && b.ReleasedAt == 0 && (!bound || b.ClaimUID != row.ClaimUID) {
		b.ReleasedAt, b.ReleasedNotBefore = seen.At, seen.NotBefore
		if row.Phase == string(corev1.VolumeReleased) && row.PhaseChangedAt >= b.BoundAt && row.PhaseChangedAt != 0 {
			b.ReleasedAt, b.ReleasedNotBefore = row.PhaseChangedAt, row.PhaseChangedAt
		}
		inv.emitBinding(b, seen)
	}
	if bound && (b.ClaimUID != row.ClaimUID || b.ReleasedAt != 0) {
		*b = Binding{ClaimUID: row.ClaimUID, VolumeUID: row.UID, BoundAt: row.PhaseChangedAt}
		inv.emitBinding(b, seen)
	}
}

func (inv *Inventory) emitBinding(b *Binding, seen Seen) {
	b.Version = inv.nextVersion(seen.At)
	inv.update.Facts.Bindings = append(inv.update.Facts.Bindings, *b)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// bytesText writes a size as the API's quantities do: 10Gi, 1536Mi.
func bytesText(n int64) string {
	units := []string{"", "Ki", "Mi", "Gi", "Ti", "Pi"}
	i := 0
	for n != 0 && n%1024 == 0 && i < len(units)-1 {
		n /= 1024
		i++
	}
	return fmt.Sprintf("%d%s", n, units[i])
}
