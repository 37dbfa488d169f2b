package inventory

import (
	"encoding/json"
	"unique"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// volume is a PersistentVolume. Its life is its phase: Available, Bound to a claim, Released from
// it, and bound again if an administrator clears its claimRef. Each interval with one claim is a
// Binding.
type volume struct {
	uid, name string
	volumeSpec
	labels             intern.Labels
	source             *source // nil if the union is empty
	deleted, notBefore fact.Time
	binding            binding
	user               *claim    // the claim that it is bound to or was released from; nil until that is known
	lastUse            fact.Time // end of the last use that is over (rule 4.2)
	lastUser           *pod      // whose that was; nil once it is evicted
	savedUse           fact.Time // the same, of pods that are evicted
	unseenUse          fact.Time // end of the last use that only an earlier condition Unused shows (rule 5.5)
	status             fact.VolumeStatus
	statusSince        fact.Time
	emitted            uint64 // hash of the VolumeState that was emitted last; 0 for none
	emittedRow         uint64 // hash of the row of volume_states that was emitted last; 0 for none. It outlives the process

	active              int32  // containers that use it now, whichever claim has it
	ordinal             uint16 // counts the bindings of this claim and volume
	foundReleased       bool   // was Released in the first list
	fresh, dirty, stale bool   // its row, its inference, its state are to be emitted, synced, compared
	freshUse            bool   // its row of volume_uses is to be emitted
	vanished            bool   // it is gone, and nobody knows until when it was watched
	queued
}

// volumeSpec is the part of a volume that the API reports and that can change.
type volumeSpec struct {
	traits         unique.Handle[volumeTraits]
	annotations    unique.Handle[intern.Labels]
	phase          intern.Word
	handle         string
	capacity       int64
	claimUID       string
	claim          name // of its claimRef, which the API keeps when the claim is gone
	created        fact.Time
	deleting       fact.Time // when its deletion was requested
	phaseChanged   fact.Time // the latest that it can have come into its phase
	phaseNotBefore fact.Time // the earliest; equal to phaseChanged since Kubernetes 1.28
}

// volumeTraits are values that many volumes share.
type volumeTraits struct{ class, attributesClass, driver, mode, reclaimPolicy, accessModes, nodeAffinity string }

func (v *volume) row(version uint64, annotations fact.Labels) fact.Volume {
	traits := v.traits.Value()
	return fact.Volume{
		Version: version, UID: v.uid, Name: v.name, StorageClass: traits.class, AttributesClass: traits.attributesClass,
		SourceKind: v.source.kindOr(""), SourceID: v.source.idText(), Driver: traits.driver, VolumeHandle: v.handle, CapacityBytes: v.capacity,
		AccessModes: intern.Split(traits.accessModes), VolumeMode: traits.mode, ReclaimPolicy: traits.reclaimPolicy, NodeAffinity: traits.nodeAffinity,
		Phase: v.phase.Value(), PhaseChangedAt: v.phaseChanged, ClaimUID: v.claimUID,
		ClaimNamespace: v.claim.namespace, ClaimName: v.claim.name, Labels: v.labels.Unpack(),
		Annotations: annotations, CreatedAt: v.created, DeletedAt: v.deleted, DeletedNotBefore: v.notBefore, UnseenUseAt: v.shownUnseenUse(),
	}
}

// read returns the API's present values.
func (v *volume) read(o *corev1.PersistentVolume, obs Observation) volumeSpec {
	spec := volumeSpec{
		traits: unique.Make(volumeTraits{
			class: namedClass(o, o.Spec.StorageClassName), attributesClass: ptr.Deref(o.Spec.VolumeAttributesClassName, ""), driver: driverOf(&o.Spec.PersistentVolumeSource), mode: volumeMode(o.Spec.VolumeMode),
			reclaimPolicy: string(o.Spec.PersistentVolumeReclaimPolicy), accessModes: intern.Join(o.Spec.AccessModes), nodeAffinity: nodeAffinity(o.Spec.NodeAffinity),
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
	spec.phaseNotBefore = spec.phaseChanged
	if spec.phaseChanged == 0 { // an API server before 1.28
		same := v.claimUID == spec.claimUID || spec.phase.Value() != string(corev1.VolumeBound)
		switch {
		case v.phase == spec.phase && same:
			spec.phaseNotBefore, spec.phaseChanged = v.phaseNotBefore, v.phaseChanged
		case !obs.Found:
			spec.phaseNotBefore, spec.phaseChanged = obs.bounds(spec.created)
		}
	}
	return spec
}

// nodeAffinity returns the required terms as JSON; empty if there are none.
func nodeAffinity(a *corev1.VolumeNodeAffinity) string {
	if a == nil || a.Required == nil || len(a.Required.NodeSelectorTerms) == 0 {
		return ""
	}
	terms, err := json.Marshal(a.Required.NodeSelectorTerms)
	if err != nil { // they consist of text
		panic(err)
	}
	return string(terms)
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

func (inv *Inventory) noteVolume(o *corev1.PersistentVolume, obs Observation) bool {
	inv.knowClass(namedClass(o, o.Spec.StorageClassName))
	v := inv.volumes[string(o.UID)]
	revived := v == nil && inv.reviveVolume(o, obs)
	if revived {
		v = inv.volumes[string(o.UID)]
	}
	if v == nil {
		v = inv.addVolume(o, obs)
	} else if spec := v.read(o, obs); !revived && spec == v.volumeSpec && v.labels.Equal(o.Labels) {
		return false
	} else {
		inv.versioned(o, func() { inv.volumeChanges(v, &spec, o, obs) })
		former := v.claimUID
		v.volumeSpec = spec
		if former != v.claimUID {
			inv.leaveClaim(v, former)
		}
	}
	v.labels = inv.retainLabels(v.labels, o.Labels)
	v.fresh = true
	inv.markVolume(v)
	return true
}

// leaveClaim ends a volume's relation to its former claim, which its claimRef no longer names.
func (inv *Inventory) leaveClaim(v *volume, former string) {
	inv.saveUnseenUse(v)
	v.user = nil
	delete(inv.claimants, v)
	if inv.volumeOf[former] == v && !inv.hadBinding(v, former) { // otherwise the claim is yet to arrive
		delete(inv.volumeOf, former)
	}
	inv.forgetFormer(former, v)
}

// reviveVolume restores a deleted volume that exists again under its UID (rule 6.4).
func (inv *Inventory) reviveVolume(o *corev1.PersistentVolume, obs Observation) bool {
	v, ok := inv.revive(fact.Volumes, string(o.UID)).(*volume)
	if ok {
		if b := &v.binding; b.released != 0 && b.claimUID == v.claimUID && v.phase.Value() == string(corev1.VolumeBound) { // its deletion had ended the binding
			b.released, b.notBefore = 0, 0
			inv.emitBinding(v, *b, v.ordinal, obs)
		}
		v.deleted, v.notBefore = 0, 0
		remove(inv.goneVolumes, v.name, v)
		inv.listVolume(v, obs)
	}
	return ok
}

func (inv *Inventory) addVolume(o *corev1.PersistentVolume, obs Observation) *volume {
	v := &volume{uid: inv.retainString(string(o.UID)), name: inv.retainString(o.Name)}
	v.volumeSpec = v.read(o, obs)
	v.foundReleased = obs.Found && !inv.restoring && v.phase.Value() == string(corev1.VolumeReleased)
	v.handle = inv.retainString(v.handle)
	// The API does not allow changes of a volume's source, so reading it once is enough.
	if src, ok := volumeSource(&o.Spec.PersistentVolumeSource); ok {
		v.source = inv.acquireSource(src, obs)
	}
	inv.listVolume(v, obs)
	inv.change(v.change(fact.Change{
		At: v.created, Action: fact.Created, Details: bytesText(v.capacity) + " on " + v.source.kindOr("none"),
		Actor: lastActor(o), Found: obs.Found,
	}))
	if v.deleting != 0 {
		inv.change(v.change(deletingChange(o, v.deleting, obs)))
	}
	return v
}

func (v *volume) change(c fact.Change) fact.Change {
	c.Kind, c.UID, c.Name = string(fact.Volumes), v.uid, v.name
	c.StorageClass, c.SourceKind = v.traits.Value().class, v.source.kindOr("")
	return c
}

// listVolume indexes a volume under its UID and name. An update can hide a deletion and a creation
// under the same name (rule 1.4). During a restore, several volumes can share a name.
func (inv *Inventory) listVolume(v *volume, obs Observation) {
	inv.volumes[v.uid] = v
	switch other := inv.volumeNames[v.name]; {
	case other == nil:
		inv.volumeNames[v.name] = v
	case !inv.restoring:
		inv.dropVolume(other, obs.before(v.created))
		inv.volumeNames[v.name] = v
	}
	if len(inv.goneVolumes[v.name]) > 0 {
		inv.reattach(v, obs)
	}
	inv.attachmentsOf(v.name, obs)
}

func (inv *Inventory) volumeChanges(v *volume, now *volumeSpec, o *corev1.PersistentVolume, obs Observation) {
	actor, had, has := lastActor(o), v.traits.Value(), now.traits.Value()
	// A volume whose phase is the same but began later has left it in between, unobserved.
	again := v.phaseChanged != 0 && now.phaseChanged > v.phaseChanged
	if v.phase != now.phase || again {
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
			At: obs.At, Action: fact.Modified, Actor: actor,
			Details: "attributes class " + orNone(had.attributesClass) + " → " + orNone(has.attributesClass),
		}))
	}
	if v.deleting == 0 && now.deleting != 0 {
		inv.change(v.change(deletingChange(o, now.deleting, obs)))
	}
	if v.capacity != now.capacity {
		inv.change(v.change(fact.Change{
			At: obs.At, Action: fact.Resized, Actor: actor, Details: bytesText(v.capacity) + " → " + bytesText(now.capacity),
		}))
	}
}

// block reports whether a volume is a block device, on which nobody but its user knows a file system.
func (v *volume) block() bool {
	return v.traits.Value().mode == string(corev1.PersistentVolumeBlock)
}

// existed reports whether a volume can have existed at some time between two moments; until is zero
// for now. The API gives creations in whole seconds.
func (v *volume) existed(from, until fact.Time) bool {
	created, gone := until == 0 || v.created <= until+almostASecond, v.deleted != 0 && v.deleted < from
	return created && !gone
}

// dropVolume records that a volume is gone, and keeps it until its tombstone is evicted.
func (inv *Inventory) dropVolume(v *volume, obs Observation) {
	if v == nil {
		return
	}
	v.notBefore, v.deleted = obs.bounds(v.created, v.deleting)
	v.vanished = obs.NotBefore == 0
	v.fresh = true
	inv.change(v.change(fact.Change{At: v.deleted, Action: fact.Deleted}))
	inv.entombVolume(v, obs.At)
	inv.markVolume(v)
}

// entombVolume moves a deleted volume from the living to the gone volumes.
func (inv *Inventory) entombVolume(v *volume, at fact.Time) {
	delete(inv.volumes, v.uid)
	if inv.volumeNames[v.name] == v {
		delete(inv.volumeNames, v.name)
	}
	inv.goneVolumes[v.name] = append(inv.goneVolumes[v.name], v)
	inv.entomb(fact.Volumes, v.uid, at, v)
}

func (inv *Inventory) evictVolume(v *volume) {
	remove(inv.goneVolumes, v.name, v)
	inv.forgetClaimOf(v, v.claimUID)
	inv.forgetClaimOf(v, v.binding.claimUID)
	for _, b := range inv.past[v] {
		inv.forgetClaimOf(v, b.claimUID)
	}
	inv.forgetFormer(v.claimUID, v)
	delete(inv.past, v)
	delete(inv.spaces, v)
	delete(inv.unbound, v)
	delete(inv.claimants, v)
	inv.releaseSource(v.source)
	inv.forgetSnapshot(fact.Volumes, v.uid)
}

// forgetClaimOf removes the link from a claim's UID to a volume.
func (inv *Inventory) forgetClaimOf(v *volume, claim string) {
	if inv.volumeOf[claim] == v {
		delete(inv.volumeOf, claim)
	}
}

// forgetFormer removes a former volume of a claim that is not known.
func (inv *Inventory) forgetFormer(claim string, v *volume) {
	if inv.claimByUID(claim) == nil {
		remove(inv.formers, claim, v)
	}
}

func (inv *Inventory) markVolume(v *volume) {
	if !v.dirty {
		v.dirty = true
		inv.dirtyVolumes = append(inv.dirtyVolumes, v)
	}
}

func (inv *Inventory) syncVolume(v *volume, obs Observation) {
	v.dirty = false
	inv.syncBinding(v, obs)
	for _, c := range inv.unbound[v] {
		inv.markClaim(c)
	}
	delete(inv.unbound, v)
	for _, c := range inv.awaited[v.name] {
		inv.markClaim(c)
	}
	if v.fresh {
		v.fresh = false
		inv.markSnapshot(v)
		inv.update.Facts.Volumes = append(inv.update.Facts.Volumes, v.row(inv.nextVersion(obs.At), inv.volumeAnnotations.Unpack(v.annotations)))
	}
	if v.freshUse {
		v.freshUse = false
		inv.update.Facts.VolumeUses = append(inv.update.Facts.VolumeUses, inv.volumeUse(v, inv.nextVersion(obs.At)))
	}
	if v.claimUID != "" {
		inv.introduce(v)
	}
	inv.markVolumeState(v)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// bytesText formats a size as the API's quantities: 10Gi, 1536Mi.
func bytesText(n int64) string { return resource.NewQuantity(n, resource.BinarySI).String() }
