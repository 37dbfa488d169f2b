package inventory

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// syncClaim finds the claim's volume and the beginning of its binding, and emits what has changed.
func (inv *Inventory) syncClaim(c *claim, obs Observation) {
	c.dirty = false
	inv.findVolume(c)
	for _, former := range inv.formers[c.uid] {
		inv.recordMissedBinding(c, former, obs)
	}
	waits := false // until its volume is observed to be Bound, which happens before the claim and gives the exact time
	if v := c.volume; v != nil {
		if c.volumeName == v.name {
			c.volumeName = v.name // one copy of the string is enough
		}
		b := inv.knownBinding(c, v) // not what the claim itself knows of it, which recordMissedBinding adds
		inv.recordMissedBinding(c, v, obs)
		if b.bound != 0 {
			c.fresh = c.fresh || b.bound != c.boundAt
			late := c.boundLate && b.bound == c.boundTo(v, b.released) // the volume has the moment from the claim
			c.boundAt, c.boundLate = b.bound, late
		}
		waits = c.waitsFor(v, &b)
	}
	c.awaitsVolume = c.unannounced && c.boundAt != 0 && (waits || c.volume == nil)
	if !waits && c.boundIn == 0 {
		inv.announceBinding(c, obs)
	}
	if c.fresh {
		c.fresh = false
		inv.markSnapshot(c)
		inv.update.Facts.Claims = append(inv.update.Facts.Claims, c.row(inv.nextVersion(obs.At), inv.claimAnnotations.Unpack(c.annotations)))
	}
	inv.markClaimState(c)
}

// waitsFor reports whether the event that shows when a claim was bound is yet to arrive. It is an event of the volume v, or, if the
// claim was bound before and is again, of v or its successor. b is the last known binding of the claim and v.
func (c *claim) waitsFor(v *volume, b *binding) bool {
	if b.claimUID != "" {
		boundAgain := c.boundBefore && c.unannounced && c.deleted == 0 && c.phase.Value() == string(corev1.ClaimBound)
		return boundAgain && (b.released != 0 || c.boundIn != 0)
	}
	unclaimed := c.byName && v.claimUID == "" // its claimRef is yet to arrive
	return v.deleted == 0 && (unclaimed || v.claimUID == c.uid)
}

// earlyFor bounds the wait for the watch of volumes, because no further event of a volume need
// come. After a gap, watches are seconds apart.
const earlyFor = fact.Time(5 * time.Second / time.Microsecond)

// early is a claim that was found Bound after a gap. The watch of volumes may lag, and the known
// binding may be an earlier one that has ended since. So the claim waits until volumes have been
// observed up to its own version.
type early struct {
	claim *claim
	at    fact.Time // when it was found Bound
}

// awaitVolumes postpones the announcement of a claim's binding until volumes have been observed up
// to the version that shows the claim Bound.
func (inv *Inventory) awaitVolumes(c *claim, version uint32, at fact.Time) {
	if c.boundIn = version; version != 0 {
		inv.early = append(inv.early, early{c, at})
	}
}

// syncEarly announces the bindings for which volumes have been observed far enough.
func (inv *Inventory) syncEarly(now fact.Time) {
	inv.early = slices.DeleteFunc(inv.early, func(e early) bool {
		behind := int32(e.claim.boundIn-inv.volumesAt) > 0 && now-e.at < earlyFor //nolint:gosec // versions wrap around
		if !behind {
			e.claim.boundIn = 0
			inv.markClaim(e.claim)
		}
		return !behind
	})
}

// announceBinding emits once that a claim was bound, if that was observed (rule 2.9). The claim may
// be Lost or deleted by the time its volume is known.
func (inv *Inventory) announceBinding(c *claim, obs Observation) {
	if !c.unannounced || c.volume == nil || c.boundAt == 0 {
		return
	}
	c.unannounced = false
	inv.markSnapshot(c)
	took, measured := c.bindDuration()
	inv.change(c.change(fact.Change{
		At: c.boundAt, Action: fact.Bound, Details: "to volume " + c.volumeName, Found: obs.Found || c.foundBound,
		Took: took, Measured: measured, SourceKind: c.volume.source.kindOr(""),
	}))
	c.boundBefore = true
}

// bindDuration returns how long it took to bind a claim. It is not known if nobody observed the
// moment, or if the claim was bound before and Lost its volume.
func (c *claim) bindDuration() (took time.Duration, known bool) {
	v := c.volume
	exact := !c.boundLate && (c.boundAt != v.phaseChanged || v.phaseChanged == v.phaseNotBefore)
	if c.boundBefore || !exact {
		return 0, false
	}
	return time.Duration(max(c.boundAt-c.created, 0)) * time.Microsecond, true
}

// findVolume finds a claim's volume: by the volume's claimRef (rule 2.5), or by the name that
// the claim gives (rule 2.6).
func (inv *Inventory) findVolume(c *claim) {
	// The volume may have been bound and released again by now, and a claim that was deleted
	// meanwhile never became Bound.
	if v := inv.volumeOf[c.uid]; v != nil && inv.confirmed(c, v) {
		delete(inv.volumeOf, c.uid)
		inv.setVolume(c, v)
		c.byName = false
		if v.claimUID == c.uid { // otherwise it was given to another claim since
			v.user = c
			v.shareNames(c)
		}
	}
	if c.byName && !inv.mayHave(c, c.volume) {
		inv.setVolume(c, nil)
		c.byName = false
	}
	if c.volume == nil && c.everBound() {
		inv.findVolumeByName(c)
	}
}

// confirmed reports whether a volume whose claimRef names, or named, a claim is the claim's: the
// claim names it too, or the volume has been Bound.
func (inv *Inventory) confirmed(c *claim, v *volume) bool {
	return v.name == c.volumeName || v.isBound() || inv.hadBinding(v, c.uid)
}

// hadBinding reports whether the volume itself showed that it was bound to a claim.
func (inv *Inventory) hadBinding(v *volume, claim string) bool {
	return v.binding.claimUID == claim || slices.ContainsFunc(inv.past[v], func(b pastBinding) bool { return b.claimUID == claim && !b.hearsay })
}

// everBound reports whether the claim shows that it has, or had, the volume that it names.
func (c *claim) everBound() bool {
	phase := c.phase.Value()
	return c.volumeName != "" && (phase == string(corev1.ClaimBound) || phase == string(corev1.ClaimLost))
}

// setVolume sets a claim's volume. The previous volume stays the claim's former volume, unless it
// was only inferred from its name: then it was a predecessor of the same name.
func (inv *Inventory) setVolume(c *claim, v *volume) {
	if !c.byName {
		inv.hadVolume(c.uid, c.volume, v)
	}
	c.volume, c.fresh = v, true
	inv.markPods(inv.slot(c.name))
}

// findVolumeByName finds the volume of a bound claim by its name: the volume may belong to another
// claim by now, and the events that linked it to this claim may have been missed.
func (inv *Inventory) findVolumeByName(c *claim) {
	v := inv.volumeNamed(c.volumeName, func(v *volume) bool { return inv.mayHave(c, v) })
	if v == nil {
		if waiting := inv.awaited[c.volumeName]; !slices.Contains(waiting, c) {
			inv.awaited[c.volumeName] = append(waiting, c)
		}
		return
	}
	inv.awaitNoVolume(c)
	inv.setVolume(c, v)
	c.byName = true
}

// mayHave reports whether a volume of the name that a claim gives can be the one that it was
// bound to, and not a successor or a predecessor of the same name (rule 2.6).
func (inv *Inventory) mayHave(c *claim, v *volume) bool {
	from, until := c.created, c.deleted
	switch {
	case c.found:
		until = earliest(until, inv.began) // a later volume is not the one that the claim was found bound to
	case c.boundAt != 0:
		from, until = c.boundAt, c.boundAt
	}
	if !v.existed(from, until) || othersSince(v, c) {
		return false
	}
	// A Lost claim that was found gives no time at which it had a volume; only a running pod can
	// show it.
	lost := c.found && c.phase.Value() == string(corev1.ClaimLost)
	return !lost || inv.runsSince(c, v.created)
}

// runsSince reports whether a pod that started after a moment is running with a claim.
func (inv *Inventory) runsSince(c *claim, at fact.Time) bool {
	return slices.ContainsFunc(inv.slot(c.name).pods, func(p *pod) bool {
		uses := slices.ContainsFunc(p.volumes, func(u podVolume) bool { return u.claim == c })
		return uses && p.started >= at && !p.over()
	})
}

// othersSince reports whether a volume has been another claim's since before the claim c was
// created.
func othersSince(v *volume, c *claim) bool {
	if v.claimUID == "" || v.claimUID == c.uid {
		return false
	}
	since := v.phaseChanged // it has not been Bound to this claim since then
	if b := &v.binding; b.claimUID == v.claimUID && b.bound != 0 {
		since = b.bound
	}
	return since != 0 && since <= c.created
}

// volumeNamed returns the volume of a name that satisfies the condition; a living one comes before
// deleted ones.
func (inv *Inventory) volumeNamed(name string, condition func(*volume) bool) *volume {
	if v := inv.volumeNames[name]; v != nil && condition(v) {
		return v
	}
	for _, v := range slices.Backward(inv.goneVolumes[name]) {
		if condition(v) {
			return v
		}
	}
	return nil
}

// awaitNoVolume removes a claim from those that wait for a volume by its name.
func (inv *Inventory) awaitNoVolume(c *claim) { remove(inv.awaited, c.volumeName, c) }

// hadVolume records that a claim has another volume than before.
func (inv *Inventory) hadVolume(claim string, former, v *volume) {
	if former != nil && former != v && !slices.Contains(inv.formers[claim], former) {
		inv.formers[claim] = append(inv.formers[claim], former)
	}
}

// volumeUsed returns the volume that a pod uses through a claim: the one that the claim had when
// the pod started (rule 2.7). Only a Lost claim that was given another volume has had more than
// one.
func (inv *Inventory) volumeUsed(c *claim, p *pod) *volume {
	formers := inv.formers[c.uid]
	if len(formers) == 0 || c.volume == nil || p.started == 0 {
		return c.volume
	}
	at := latest(p.hadClaims(), p.started)
	if c.volume.created <= at {
		return c.volume
	}
	for _, v := range slices.Backward(formers) {
		if v.created <= at {
			return v
		}
	}
	return formers[0]
}

// remove removes an element from a list in lists, and the list itself once it is empty.
func remove[K, E comparable](lists map[K][]E, key K, element E) {
	left := slices.DeleteFunc(lists[key], func(other E) bool { return other == element })
	if lists[key] = left; len(left) == 0 {
		delete(lists, key)
	}
}
