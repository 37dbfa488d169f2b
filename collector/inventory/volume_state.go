package inventory

import (
	"encoding/binary"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// markVolumeState and markClaimState make the next Take compare a state with the last one emitted.
func (inv *Inventory) markVolumeState(v *volume) {
	if !v.stale {
		v.stale = true
		inv.staleVolumes = append(inv.staleVolumes, v)
	}
}

func (inv *Inventory) markClaimState(c *claim) {
	if !c.stale {
		c.stale = true
		inv.staleClaims = append(inv.staleClaims, c)
	}
	if c.volume != nil {
		inv.markVolumeState(c.volume)
	}
	if v := inv.volumeOf[c.uid]; v != nil {
		inv.markVolumeState(v)
	}
}

func (inv *Inventory) claimState(c *claim) fact.ClaimState {
	given := c.capacity
	if c.volume != nil { // the claim's status has the new size only once the file system has grown, which can wait for a pod
		given = c.volume.capacity
	}
	s := fact.ClaimState{
		UID: c.uid, Namespace: c.name.namespace, StorageClass: inv.shownClass(c.traits.Value().class),
		Phase: c.phase.Value(), RequestedBytes: c.requested, CapacityBytes: given,
		BoundAt: c.boundAt, AwaitsVolume: c.awaitsVolume, BoundBefore: c.boundBefore, PendingSince: inv.pendingSince(c), Gone: c.deleted != 0, DeletedNotBefore: c.noBefore,
	}
	if c.vanished {
		s.DeletedNotBefore = 0
	}
	return s
}

// pendingSince returns since when a claim has waited for its volume. Waiting is expected, and does
// not count, for a claim of a class with WaitForFirstConsumer until there is a pod.
func (inv *Inventory) pendingSince(c *claim) fact.Time {
	if phase := c.phase.Value(); c.deleted != 0 || phase != "" && phase != string(corev1.ClaimPending) {
		return 0
	}
	class := inv.classOf(c.traits.Value().class)
	if class == nil || class.row.BindingMode != string(storagev1.VolumeBindingWaitForFirstConsumer) {
		return c.created
	}
	if c.pending == 0 {
		return 0
	}
	return latest(c.created, inv.firstWait(c))
}

// unusedSlack is how much later than the binding the API must have called a claim unused for that
// to show an unobserved use: 10 s. The two controllers that write the times work within seconds.
const unusedSlack = fact.Time(10_000_000)

// claimant is what a volume still shows of the claim in its claimRef after that claim is evicted
// (rule 5.4).
type claimant struct {
	owner  string
	groups string
	labels intern.Labels
}

// keepClaimant saves what a volume's metrics show of a claim that is being evicted.
func (inv *Inventory) keepClaimant(v *volume, c *claim) {
	if v.deleted == 0 && v.claimUID == c.uid {
		inv.claimants[v] = c.asClaimant()
		inv.markSnapshot(v)
	}
}

// claimantOf returns the owner and the labels of the claim in a volume's claimRef, whether that
// claim is bound, not bound yet, or gone; zero if it is not known.
func (inv *Inventory) claimantOf(v *volume) claimant {
	c := v.user
	if c == nil && v.claimUID != "" {
		c = inv.claimByUID(v.claimUID)
	}
	if c == nil {
		return inv.claimants[v]
	}
	return c.asClaimant()
}

func (c *claim) asClaimant() claimant {
	traits := c.traits.Value()
	return claimant{traits.owner, traits.groups, c.labels}
}

// volumeState infers a volume's state from its phase and from the pods that use or await it (rules
// 5.1 to 5.5).
func (inv *Inventory) volumeState(v *volume) fact.VolumeState {
	traits := v.traits.Value()
	s := fact.VolumeState{
		UID: v.uid, Name: v.name, StorageClass: traits.class, SourceKind: v.source.kindOr(""), Driver: traits.driver,
		ReclaimPolicy: traits.reclaimPolicy, CapacityBytes: v.capacity, Namespace: v.claim.namespace, Claim: v.claim.name,
		Mounts: int(v.active), LastUsed: v.lastUse, Gone: v.deleted != 0, DeletedNotBefore: v.notBefore,
		Block: v.block(), ClaimClass: traits.class,
	}
	if v.vanished {
		s.DeletedNotBefore = 0
	}
	if space, ok := inv.spaces[v]; ok {
		s.UsedBytes, s.AvailableBytes, s.Measured = space.UsedBytes, space.AvailableBytes, true
		s.Inodes, s.InodesUsed = space.Inodes, space.InodesUsed
	}
	if n := inv.namespaceNames[v.claim.namespace]; n != nil {
		s.NamespaceLabels = n.labels
	}
	var unusedSince fact.Time
	if c := v.user; c != nil {
		s.ClaimClass = inv.shownClass(c.traits.Value().class) // also of one that is deleted: until it is Released, the volume counts as before
		switch unusedSince = c.unusedSince; {
		case c.deleted == 0:
			s.UnusedSince = unusedSince
		case unusedSince <= v.idleSince()+unusedSlack: // saveUnseenUse does not keep it either when the claim is evicted
			unusedSince = 0
		}
	}
	whose := inv.claimantOf(v)
	s.Owner, s.ClaimLabels = whose.owner, whose.labels
	unseenUse := inv.setIdleSince(v, &s, unusedSince)
	usedBefore := s.LastUsed != 0 || v.shownUnseenUse() != 0 || unseenUse
	s.Status, s.Used = v.present(usedBefore), usedBefore || v.active > 0
	switch s.Status {
	case fact.VolumeMounted:
		s.LastUsed, s.IdleSince = 0, 0
	case fact.VolumePending:
		s.IdleSince = 0
	}
	s.ChangedAt = inv.statusSince(v, &s)
	kept := inv.keepOf(v)
	s.KeepUntil, s.KeepUnreadable = kept.until, kept.unreadable
	return s
}

// setIdleSince sets the longest time since which nobody can have used a volume. It reports whether
// the condition Unused shows a use that nobody observed (rule 5.5).
func (inv *Inventory) setIdleSince(v *volume, s *fact.VolumeState, unusedSince fact.Time) (unseenUse bool) {
	s.IdleSince = v.idleSince()
	if unusedSince <= s.IdleSince || inv.wasWatched(s.IdleSince, unusedSince) {
		return false
	}
	unseenUse = unusedSince > s.IdleSince+unusedSlack
	s.IdleSince = unusedSince
	return unseenUse
}

// saveUnseenUse saves in the volume a use that only the condition Unused of its claim shows. It
// does so before the condition changes or the claim is evicted: a pod that never starts resets the
// condition (rule 5.5).
func (inv *Inventory) saveUnseenUse(v *volume) {
	if v.user == nil {
		return
	}
	var s fact.VolumeState
	if inv.setIdleSince(v, &s, v.user.unusedSince) {
		v.unseenUse, v.fresh = s.IdleSince, true
		inv.markVolume(v)
	}
}

// shownUnseenUse returns the end of the last use that nobody observed; 0 if a later use was
// observed, or if the pod of that use has arrived since, because the watch of claims may be ahead
// of the watch of pods.
func (v *volume) shownUnseenUse() fact.Time {
	if v.unseenUse <= v.lastUse+unusedSlack {
		return 0
	}
	return v.unseenUse
}

// reviewUnused judges the conditions Unused again, after more is known of when pods were watched.
func (inv *Inventory) reviewUnused() {
	for _, v := range inv.volumes {
		if v.unseenUse != 0 && inv.wasWatched(latest(v.lastUse, v.boundOrCreated()), v.unseenUse) {
			v.unseenUse, v.fresh = 0, true
			inv.markVolume(v)
		}
		if v.user != nil && v.user.unusedSince != 0 {
			inv.markVolumeState(v)
		}
	}
}

// idleSince returns the longest time since which nobody can have used a volume, without regard to
// the present condition Unused.
func (v *volume) idleSince() fact.Time {
	if used := latest(v.lastUse, v.shownUnseenUse()); used != 0 {
		return used
	}
	return v.boundOrCreated()
}

// boundOrCreated returns the earliest that a volume can have been bound, or else when it was
// created.
func (v *volume) boundOrCreated() fact.Time {
	bound := v.binding.bound
	if bound == v.phaseChanged {
		bound = v.phaseNotBefore
	}
	return latest(v.created, bound)
}

// wasWatched reports whether a use that ended at unusedSince was observed (rule 5.5): pods were
// watched then, and for some time before, or since the volume became idle.
func (inv *Inventory) wasWatched(idleSince, unusedSince fact.Time) bool {
	for i, span := range inv.watched {
		goesOn := i == len(inv.watched)-1 && inv.podsObserved
		within := span.From <= unusedSince && (unusedSince <= span.To || goesOn)
		if within && (span.From <= idleSince+almostASecond || unusedSince > span.From+unusedSlack) {
			return true
		}
	}
	return false
}

// present returns a volume's present status (rule 5.1); used reports whether it has been used
// before.
func (v *volume) present(used bool) fact.VolumeStatus {
	switch phase := v.phase.Value(); {
	case v.active > 0:
		return fact.VolumeMounted
	case v.user != nil && v.user.pending > 0:
		return fact.VolumePending
	case phase == string(corev1.VolumeReleased):
		return fact.VolumeReleased
	case phase == string(corev1.VolumeFailed):
		return fact.VolumeFailed
	case phase != string(corev1.VolumeBound):
		return fact.VolumeAvailable
	case used:
		return fact.VolumeIdle
	default:
		return fact.VolumeNeverMounted
	}
}

// statusSince returns when a volume came into its status (rule 5.2). While the volume is awaited the
// moment stays: a second pod that comes or goes is no change.
func (inv *Inventory) statusSince(v *volume, s *fact.VolumeState) fact.Time {
	switch s.Status {
	case fact.VolumeMounted:
		return inv.mountedSince(v)
	case fact.VolumePending:
		if v.status == s.Status && v.lastUse <= v.statusSince { // otherwise a use came between, unobserved
			return v.statusSince
		}
		return max(inv.firstWait(v.user), v.boundOrCreated(), v.lastUse, v.shownUnseenUse())
	case fact.VolumeIdle, fact.VolumeNeverMounted:
		return s.IdleSince
	default:
		// It is absent if an API server before 1.28 does not give it, and it was not observed.
		return v.phaseChanged
	}
}

// mountedSince returns when a mounted volume came into use. The moment stays while one use overlaps
// the next. After a gap, one event can show both the end of a use and a later one.
func (inv *Inventory) mountedSince(v *volume) fact.Time {
	if v.status == fact.VolumeMounted && v.lastUse <= v.statusSince {
		return v.statusSince
	}
	first := inv.firstStart(v)
	if v.status == fact.VolumeMounted && first <= v.lastUse {
		return v.statusSince
	}
	return first
}

// stateRow returns the row of volume_states that says what a state does.
func (inv *Inventory) stateRow(v *volume, s *fact.VolumeState) fact.VolumeStateRow {
	row := fact.VolumeStateRow{
		VolumeUID: v.uid, Name: v.name, Phase: v.phase.Value(), Status: s.Status, StatusSince: s.ChangedAt, IdleSince: s.IdleSince, UnusedSince: s.UnusedSince,
		ClaimUID: v.claimUID, ClaimNamespace: v.claim.namespace, ClaimName: v.claim.name, Owner: s.Owner, Groups: intern.Split(inv.claimantOf(v).groups),
		StorageClass: s.StorageClass, ReclaimPolicy: s.ReclaimPolicy, CapacityBytes: s.CapacityBytes,
		KeepUntil: s.KeepUntil, KeepReason: inv.keepOf(v).reason, KeepUnreadable: s.KeepUnreadable,
	}
	if s.Gone {
		row.KeepUntil, row.KeepReason, row.KeepUnreadable = 0, "", ""
		row.Status, row.StatusSince, row.IdleSince, row.UnusedSince = fact.VolumeDeleted, v.deleted, 0, 0
	}
	return row
}

// fingerprint returns a hash of all of a row but its version. It is the same in each process, as it is part of the
// volume's snapshot, and never 0. If two successive rows had the same hash, the second one would be missing. A deleted
// volume keeps the owner and the groups that it had: its claim may be evicted before it.
func fingerprint(r *fact.VolumeStateRow) uint64 {
	h := fnv.New64a()
	texts := []string{r.VolumeUID, r.Name, r.Phase, string(r.Status), r.ClaimUID, r.ClaimNamespace, r.ClaimName, r.StorageClass, r.ReclaimPolicy, r.KeepReason, r.KeepUnreadable}
	if r.Status != fact.VolumeDeleted {
		texts = append(append(texts, r.Owner), r.Groups...)
	}
	for _, text := range texts {
		_, _ = h.Write(append([]byte(text), 0xff)) // which is in no UTF-8
	}
	for _, n := range []int64{int64(r.StatusSince), int64(r.IdleSince), int64(r.UnusedSince), r.CapacityBytes, int64(r.KeepUntil)} {
		_ = binary.Write(h, binary.LittleEndian, n)
	}
	return max(h.Sum64(), 1)
}

// emitState emits a volume's row of volume_states if it is not the one that was emitted last.
func (inv *Inventory) emitState(v *volume) {
	state := inv.volumeState(v)
	row := inv.stateRow(v, &state)
	if hash := fingerprint(&row); hash != v.emittedRow {
		v.emittedRow = hash
		row.Version = inv.nextVersion(inv.now)
		inv.update.Facts.VolumeStates = append(inv.update.Facts.VolumeStates, row)
	}
}
