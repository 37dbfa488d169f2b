package inventory

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// touchVolume and touchClaim mark what the exporter may have to be told.
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
}

func (inv *Inventory) claimState(c *claim) fact.ClaimState {
	return fact.ClaimState{
		UID: c.uid, Namespace: c.name.namespace, Name: c.name.name, StorageClass: c.traits.Value().class,
		Phase: c.phase.Value(), VolumeUID: c.volumeUID(), RequestedBytes: c.requested, CapacityBytes: c.capacity,
		PendingSince: inv.pendingSince(c), Gone: c.deleted != 0,
	}
}

// pendingSince is since when a claim waits for a volume that it should have: that of a
// class that binds at first use waits by right until there is a pod.
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

// unusedSlack is how much later than the binding the API must have called a
// claim unused before we take it that somebody used it meanwhile. The two
// controllers that write the times work within seconds.
const unusedSlack = fact.Time(10_000_000)

// volumeState infers what a volume is doing from its phase and its claim's pods.
func (inv *Inventory) volumeState(v *volume) fact.VolumeState {
	traits, phase := v.traits.Value(), v.phase.Value()
	s := fact.VolumeState{
		UID: v.uid, Name: v.name, StorageClass: traits.class, SourceKind: v.source.kindOr(""), Driver: traits.driver,
		ReclaimPolicy: traits.reclaimPolicy, CapacityBytes: v.capacity, Namespace: v.claim.namespace, Claim: v.claim.name,
		LastUsed: v.lastUsed, Gone: v.deleted != 0,
	}
	if space, ok := inv.spaces[v]; ok {
		s.UsedBytes, s.Measured = space.UsedBytes, true
	}
	if n := inv.namespaceNames[v.claim.namespace]; n != nil {
		s.NamespaceLabels = n.labels
	}
	var unusedSince fact.Time
	if c := v.user; c != nil {
		s.Owner, s.Mounts = c.traits.Value().owner, int(c.active)
		s.ClaimLabels = c.labels
		s.LastUsed = latest(s.LastUsed, c.lastUsed)
		unusedSince = c.unusedSince
	}
	boundOrCreated := latest(v.created, v.binding.bound)
	s.IdleSince = boundOrCreated
	if s.LastUsed != 0 {
		s.IdleSince = s.LastUsed
	} else if unusedSince > s.IdleSince {
		s.IdleSince = unusedSince
	}
	switch {
	case s.Mounts > 0:
		s.Status, s.LastUsed, s.IdleSince = fact.VolumeMounted, 0, 0
	case v.user != nil && v.user.pending > 0:
		s.Status, s.IdleSince = fact.VolumePending, 0
	case phase == string(corev1.VolumeReleased):
		s.Status = fact.VolumeReleased
	case phase == string(corev1.VolumeFailed):
		s.Status = fact.VolumeFailed
	case phase != string(corev1.VolumeBound):
		s.Status = fact.VolumeAvailable
	case s.LastUsed != 0 || unusedSince > boundOrCreated+unusedSlack:
		s.Status = fact.VolumeIdle
	default:
		s.Status = fact.VolumeNeverMounted
	}
	s.ChangedAt = inv.statusSince(v, &s)
	return s
}

// statusSince is when a volume came into its status. While it is mounted or
// awaited that is kept: a second pod that comes or goes is no change.
func (inv *Inventory) statusSince(v *volume, s *fact.VolumeState) fact.Time {
	switch s.Status {
	case fact.VolumeMounted, fact.VolumePending:
		if v.status == s.Status {
			return v.statusSince
		}
		if s.Status == fact.VolumeMounted {
			return inv.firstStart(v.user)
		}
		return inv.firstWait(v.user)
	case fact.VolumeIdle, fact.VolumeNeverMounted:
		return s.IdleSince
	default:
		// Absent where an API server before 1.28 does not tell, and it was not seen.
		return v.phaseChanged
	}
}

// firstStart is when the longest of a claim's present mounts began.
func (inv *Inventory) firstStart(c *claim) (at fact.Time) {
	for _, p := range inv.slot(c.name).pods {
		for i := range p.mounts {
			if m := &p.mounts[i]; m.emittedStart != 0 && m.emittedEnd == 0 && p.volumes[m.volume].claim == c {
				at = earliest(at, m.emittedStart)
			}
		}
	}
	return at
}

// firstWait is since when the longest waiting of a claim's pods has been there.
func (inv *Inventory) firstWait(c *claim) (at fact.Time) {
	for _, p := range inv.slot(c.name).pods {
		for i := range p.volumes {
			if u := &p.volumes[i]; u.claim == c && u.pending {
				at = earliest(at, p.created)
			}
		}
	}
	return at
}
