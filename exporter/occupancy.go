package exporter

import "github.com/kubevoltracker/kubevoltracker/collector/fact"

// countCapacity replaces the former capacity of a claim by the present one, and sets since when that counts.
// A claim has its capacity from when it was bound until it was deleted or lost its volume, and a new one from when that was
// observed. A claim that awaits its volume does not count yet: the volume shows when it was bound (rule 2.9), and the watch of
// claims can be ahead of that of volumes, most of all after a restart. One that is deleted before that counts for no time.
func (n *namespaces) countCapacity(old, now *claim, c *fact.ClaimState, at fact.Time) {
	now.counts = now.group != nil && now.phase == phaseBound && !c.AwaitsVolume
	if old.counts && now.counts && old.group.groupKey == now.group.groupKey {
		now.since = old.since
		n.tally.changeBytes(capacityByteSeconds, now.group.groupKey, now.capacityBytes-old.capacityBytes, at)
		return
	}
	if old.counts {
		n.tally.changeBytes(capacityByteSeconds, old.group.groupKey, -old.capacityBytes, max(momentOr(c.DeletedNotBefore, at), old.since))
	}
	now.endedBinding = old.endedBinding
	if first := old.group == nil; !now.counts && (old.counts || first && c.BoundBefore) {
		now.endedBinding = c.BoundAt
	}
	if !now.counts {
		return
	}
	now.since = n.tally.capacitySince(now.group.groupKey, c.BoundAt, at)
	if old.counts || old.group != nil && c.BoundAt == now.endedBinding {
		now.since = at
	}
	n.tally.changeBytes(capacityByteSeconds, now.group.groupKey, now.capacityBytes, now.since)
}

// countIdle does the same for the size of an idle volume. It is idle since its status says so, and until its next
// status began.
func (n *namespaces) countIdle(old, now *share, v *fact.VolumeState, mounts []fact.Mount, at fact.Time) {
	if !old.idle && !now.idle {
		return
	}
	end, begin := max(endOfIdle(v, at), old.since), momentOr(v.IdleSince, at)
	switch {
	case old.idle && now.idle && old.group.groupKey != now.group.groupKey:
		end, begin = at, at
	case old.idle && now.idle:
		if end = useWithin(mounts, v, old.since); end == 0 {
			// The status can begin later than it did without a use that is known (rule 5.5): what has been counted stays.
			if grown := now.idleBytes - old.idleBytes; grown != 0 || now.since != old.since {
				n.tally.bytes(now.group.groupKey, at).change(idleByteSeconds, grown, at)
			}
			return
		}
	}
	if !old.idle && begin < old.since {
		begin = at // it was idle before, then awaited by a pod that did not start, and is idle again
	}
	if old.idle {
		n.tally.changeBytes(idleByteSeconds, old.group.groupKey, -old.idleBytes, end)
	}
	if now.idle {
		n.tally.changeBytes(idleByteSeconds, now.group.groupKey, now.idleBytes, begin)
	}
}

// endOfIdle returns until when a volume was idle that is not idle any more.
func endOfIdle(v *fact.VolumeState, at fact.Time) fact.Time {
	if v.Gone {
		return momentOr(v.DeletedNotBefore, at)
	}
	return momentOr(v.ChangedAt, at)
}

// useWithin returns when the first use of a volume began that has ended after a moment, if the same update has all of it:
// the volume is idle again, and was not in between. It returns 0 if there is none.
func useWithin(mounts []fact.Mount, v *fact.VolumeState, since fact.Time) (start fact.Time) {
	if v.IdleSince <= since {
		return 0
	}
	for i := range mounts {
		if m := &mounts[i]; m.VolumeUID == v.UID && m.EndedAt > since && m.StartedAt != 0 && (start == 0 || m.StartedAt < start) {
			start = max(m.StartedAt, since)
		}
	}
	return start
}

// momentOr returns when an event happened, as the API says, and else when it was observed. It cannot have happened after
// that, but the API server's clock can be ahead of the tracker's.
func momentOr(t, observed fact.Time) fact.Time {
	if t == 0 || t > observed {
		return observed
	}
	return t
}
