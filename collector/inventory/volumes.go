package inventory

import (
	"fmt"
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// volume is a PersistentVolume. Its life is its phase: Available, Bound to a
// claim, Released from it, and bound again if an administrator clears its
// claimRef; each stretch with one claim is a Binding.
type volume struct {
	uid, name string
	volumeSpec
	labels              intern.Labels
	source              *source // nil where the union is empty
	deleted, notBefore  fact.Time
	binding             binding
	user                *claim    // the claim that has it, or that it was released from; nil until that is known
	lastUsed            fact.Time // end of the last use by claims that it was bound to before
	status              fact.VolumeStatus
	statusSince         fact.Time
	emitted             uint64 // hash of the VolumeState that went out last; 0 for none
	ordinal             uint16 // of the binding, of those of this claim and volume
	fresh, dirty, stale bool   // row has not gone out; is to be settled; state may not have gone out
	memorable
}

// binding is the last Binding of a volume.
type binding struct {
	claimUID                   string
	bound, released, notBefore fact.Time
}

// pastBinding is a binding of a volume before its last one.
type pastBinding struct {
	binding
	ordinal uint16 // of those of this claim and volume
	hearsay bool   // by the claim: the volume may tell it better
}

// volumeSpec is what the API says of a volume and can change.
type volumeSpec struct {
	traits       unique.Handle[volumeTraits]
	annotations  unique.Handle[intern.Labels]
	phase        intern.Word
	handle       string
	capacity     int64
	claimUID     string
	claim        name // of its claimRef: kept by the API when the claim is gone
	created      fact.Time
	deleting     fact.Time // when its deletion was asked for
	phaseChanged fact.Time
}

// volumeTraits is what many volumes have in common.
type volumeTraits struct{ class, attributesClass, driver, mode, reclaimPolicy, accessModes string }

func (v *volume) row(version uint64, annotations fact.Labels) fact.Volume {
	traits := v.traits.Value()
	return fact.Volume{
		Version: version, UID: v.uid, Name: v.name, StorageClass: traits.class, AttributesClass: traits.attributesClass,
		SourceKind: v.source.kindOr(""), SourceID: v.source.idText(), Driver: traits.driver, VolumeHandle: v.handle, CapacityBytes: v.capacity,
		AccessModes: intern.Split(traits.accessModes), VolumeMode: traits.mode, ReclaimPolicy: traits.reclaimPolicy,
		Phase: v.phase.Value(), PhaseChangedAt: v.phaseChanged, ClaimUID: v.claimUID, Labels: v.labels.Unpack(),
		Annotations: annotations, CreatedAt: v.created, DeletedAt: v.deleted, DeletedNotBefore: v.notBefore,
	}
}

// read returns what the API says now.
func (v *volume) read(o *corev1.PersistentVolume, seen Observation) volumeSpec {
	spec := volumeSpec{
		traits: unique.Make(volumeTraits{
			class: o.Spec.StorageClassName, attributesClass: deref(o.Spec.VolumeAttributesClassName), driver: driverOf(&o.Spec.PersistentVolumeSource), mode: volumeMode(o.Spec.VolumeMode),
			reclaimPolicy: string(o.Spec.PersistentVolumeReclaimPolicy), accessModes: intern.Join(o.Spec.AccessModes),
		}),
		annotations:  intern.RepackShared(v.annotations, o.Annotations),
		phase:        unique.Make(string(o.Status.Phase)),
		capacity:     o.Spec.Capacity.Storage().Value(),
		created:      apiTime(o.CreationTimestamp),
		deleting:     deletionAsked(o),
		phaseChanged: apiTimePtr(o.Status.LastPhaseTransitionTime),
	}
	if o.Spec.CSI != nil {
		spec.handle = o.Spec.CSI.VolumeHandle
	}
	if ref := o.Spec.ClaimRef; ref != nil {
		spec.claimUID, spec.claim = string(ref.UID), name{ref.Namespace, ref.Name}
	}
	if spec.phaseChanged == 0 { // an API server before 1.28
		switch {
		case v.phase == spec.phase:
			spec.phaseChanged = v.phaseChanged
		case !seen.Found:
			spec.phaseChanged = seen.At
		}
	}
	return spec
}

func driverOf(s *corev1.PersistentVolumeSource) string {
	switch {
	case s.CSI != nil:
		return s.CSI.Driver
	case s.FlexVolume != nil:
		return s.FlexVolume.Driver
	}
	return ""
}

func volumeMode(mode *corev1.PersistentVolumeMode) string {
	if mode == nil {
		return string(corev1.PersistentVolumeFilesystem) // the API's default
	}
	return string(*mode)
}

func (inv *Inventory) noteVolume(o *corev1.PersistentVolume, seen Observation) bool {
	v := inv.volumes[string(o.UID)]
	if v == nil {
		v = inv.addVolume(o, seen)
	} else if spec := v.read(o, seen); spec == v.volumeSpec && v.labels.Equal(o.Labels) {
		return false
	} else {
		inv.versioned(o, func() { inv.volumeChanges(v, &spec, o, seen) })
		former := v.claimUID
		v.volumeSpec = spec
		if former != v.claimUID {
			v.forgetUser()
			if inv.volumeOf[former] == v {
				delete(inv.volumeOf, former)
			}
		}
	}
	v.labels = inv.retainLabels(v.labels, o.Labels)
	v.fresh = true
	inv.markVolume(v)
	return true
}

func (inv *Inventory) addVolume(o *corev1.PersistentVolume, seen Observation) *volume {
	// An update can hide a deletion and a creation under the same name.
	other := inv.volumeNames[o.Name]
	if other != nil && other.deleted == 0 && !inv.restoring {
		inv.dropVolume(other, seen)
	}
	v := &volume{uid: inv.retainString(string(o.UID)), name: inv.retainString(o.Name)}
	v.volumeSpec = v.read(o, seen)
	v.handle = inv.retainString(v.handle)
	// The API lets nobody change a volume's source, so once is enough.
	if src, ok := volumeSource(&o.Spec.PersistentVolumeSource); ok {
		v.source = inv.acquireSource(src, seen)
	}
	inv.volumes[v.uid] = v
	if other == nil || other.deleted != 0 {
		inv.volumeNames[v.name] = v
	}
	for _, c := range inv.awaited[v.name] {
		inv.markClaim(c)
	}
	inv.attachmentsOf(v, seen)
	inv.change(v.change(fact.Change{
		At: v.created, Action: fact.Created, Details: bytesText(v.capacity) + " on " + v.source.kindOr("none"),
		Actor: lastActor(o), Found: seen.Found,
	}))
	return v
}

func (v *volume) change(c fact.Change) fact.Change {
	c.Kind, c.UID, c.Name = string(fact.Volumes), v.uid, v.name
	c.StorageClass, c.SourceKind = v.traits.Value().class, v.source.kindOr("")
	return c
}

// forgetUser keeps of a volume's claim when it was last used.
func (v *volume) forgetUser() {
	if v.user != nil {
		v.lastUsed = latest(v.lastUsed, v.user.lastUsed)
		v.user = nil
	}
}

func (inv *Inventory) volumeChanges(v *volume, now *volumeSpec, o *corev1.PersistentVolume, seen Observation) {
	actor, had, has := lastActor(o), v.traits.Value(), now.traits.Value()
	if v.phase != now.phase {
		c := fact.Change{
			At: now.phaseChanged, Action: fact.Phase, Actor: actor, Details: orNone(v.phase.Value()) + " → " + orNone(now.phase.Value()),
		}
		if now.phase.Value() == string(corev1.VolumeReleased) {
			c.Action, c.Details = fact.Released, c.Details+", reclaim policy "+has.reclaimPolicy
		}
		inv.change(v.change(c))
	}
	if had.attributesClass != has.attributesClass {
		inv.change(v.change(fact.Change{
			At: seen.At, Action: fact.Modified, Actor: actor,
			Details: "attributes class " + orNone(had.attributesClass) + " → " + orNone(has.attributesClass),
		}))
	}
	if v.deleting == 0 && now.deleting != 0 {
		inv.change(v.change(deletingChange(o, now.deleting)))
	}
	if v.capacity != now.capacity {
		inv.change(v.change(fact.Change{
			At: seen.At, Action: fact.Resized, Actor: actor, Details: bytesText(v.capacity) + " → " + bytesText(now.capacity),
		}))
	}
}

// dropVolume notes that a volume is gone, and remembers it for a while.
func (inv *Inventory) dropVolume(v *volume, seen Observation) {
	if v == nil {
		return
	}
	v.notBefore, v.deleted = seen.bounds(v.created, v.deleting)
	v.fresh = true
	inv.change(v.change(fact.Change{At: v.deleted, Action: fact.Deleted}))
	delete(inv.volumes, v.uid)
	inv.markVolume(v)
	inv.tombstones = append(inv.tombstones, tombstone{at: seen.At, volume: v})
}

func (inv *Inventory) evictVolume(v *volume) {
	if inv.volumeNames[v.name] == v {
		delete(inv.volumeNames, v.name)
	}
	if inv.volumeOf[v.claimUID] == v {
		delete(inv.volumeOf, v.claimUID)
	}
	delete(inv.past, v)
	delete(inv.spaces, v)
	delete(inv.unbound, v)
	inv.releaseSource(v.source)
	inv.forgetSnapshot(fact.Volumes, v.uid)
}

func (inv *Inventory) markVolume(v *volume) {
	if !v.dirty {
		v.dirty = true
		inv.dirtyVolumes = append(inv.dirtyVolumes, v)
	}
}

func (inv *Inventory) syncVolume(v *volume, seen Observation) {
	v.dirty = false
	inv.syncBinding(v, seen)
	for _, c := range inv.unbound[v] {
		inv.markClaim(c)
	}
	delete(inv.unbound, v)
	if v.fresh {
		v.fresh = false
		inv.markSnapshot(v)
		inv.update.Facts.Volumes = append(inv.update.Facts.Volumes, v.row(inv.nextVersion(seen.At), inv.volumeAnnotations.Unpack(v.annotations)))
	}
	if v.claimUID != "" {
		inv.introduce(v)
	}
	inv.markVolumeState(v)
}

// introduce makes a volume known to its claim, or leaves word for it.
func (inv *Inventory) introduce(v *volume) {
	if slot := inv.claimNames.get(v.claim); slot != nil {
		for _, c := range slot.claims { // also one that is gone already
			if c.uid == v.claimUID {
				v.shareNames(c)
				if c.volume == v {
					v.user = c
				} else {
					inv.volumeOf[v.claimUID] = v
				}
				inv.markClaim(c)
				return
			}
		}
	}
	inv.had(v.claimUID, inv.volumeOf[v.claimUID], v)
	inv.volumeOf[v.claimUID] = v
}

// shareNames makes the volume hold its claim's strings: one copy is enough.
func (v *volume) shareNames(c *claim) {
	v.claimUID, v.claim = c.uid, c.name
	if v.binding.claimUID == c.uid {
		v.binding.claimUID = c.uid
	}
}

// settleBinding opens and closes the interval in which a volume is its claim's.
// The volume's side tells it: the binder writes the claim's UID into claimRef
// first, and the phase says whether the binding holds.
func (inv *Inventory) syncBinding(v *volume, seen Observation) {
	b, phase := &v.binding, v.phase.Value()
	bound := v.claimUID != "" && v.deleted == 0 && phase == string(corev1.VolumeBound)
	if b.claimUID != "" && b.released == 0 && (!bound || b.claimUID != v.claimUID) {
		b.notBefore, b.released = seen.bounds(b.bound)
		if phase == string(corev1.VolumeReleased) && v.phaseChanged >= b.bound && v.phaseChanged != 0 {
			b.released, b.notBefore = v.phaseChanged, v.phaseChanged
		}
		inv.emitBinding(v, *b, v.ordinal, seen)
	}
	if bound && b.claimUID == v.claimUID && b.released == 0 && b.bound < v.phaseChanged && b.bound != 0 {
		// Bound since later than before: it was given back and bound again, unseen.
		b.released, b.notBefore = v.phaseChanged, b.bound
		inv.emitBinding(v, *b, v.ordinal, seen)
	}
	if bound && (b.claimUID != v.claimUID || b.released != 0) {
		inv.rebind(v, binding{claimUID: v.claimUID, bound: v.phaseChanged})
		inv.emitBinding(v, *b, v.ordinal, seen)
	}
	// A volume that was given back before we saw it bound: its claimRef says to
	// whom it was. When that began, only the claim could still tell.
	if phase == string(corev1.VolumeReleased) && v.claimUID != "" && b.claimUID != v.claimUID && inv.wasBound(v) {
		missed := binding{claimUID: v.claimUID, released: v.phaseChanged, notBefore: v.phaseChanged}
		if c := inv.claims[v.claimUID]; c != nil {
			missed.bound = c.boundAt
		}
		inv.rebind(v, missed)
		inv.emitBinding(v, *b, v.ordinal, seen)
	}
}

// wasBound reports whether a volume that is Released, and was not seen Bound, has been:
// its claim says so. A claim that was deleted before it was bound leaves its volume
// Released as well.
func (inv *Inventory) wasBound(v *volume) bool {
	if slot := inv.claimNames.get(v.claim); slot != nil {
		for _, c := range slot.claims {
			if c.uid == v.claimUID {
				return c.phase.Value() == string(corev1.ClaimBound)
			}
		}
	}
	return false
}

// rebind begins a binding. One of the same claim as another one before it has the next
// ordinal.
func (inv *Inventory) rebind(v *volume, next binding) {
	if v.binding.claimUID != "" {
		inv.past[v] = append(inv.past[v], pastBinding{v.binding, v.ordinal, false})
	}
	v.ordinal = 0
	for i, b := range inv.past[v] {
		switch {
		case b.claimUID != next.claimUID:
		case b.hearsay:
			v.binding, v.ordinal = next, b.ordinal
			inv.past[v] = slices.Delete(inv.past[v], i, i+1)
			return
		default:
			v.ordinal = b.ordinal + 1
		}
	}
	v.binding = next
}

func (inv *Inventory) emitBinding(v *volume, b binding, ordinal uint16, seen Observation) {
	inv.markSnapshot(v)
	inv.update.Facts.Bindings = append(inv.update.Facts.Bindings, fact.Binding{
		Version: inv.nextVersion(seen.At), ClaimUID: b.claimUID, VolumeUID: v.uid, Ordinal: ordinal, BoundAt: b.bound,
		ReleasedAt: b.released, ReleasedNotBefore: b.notBefore,
	})
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
