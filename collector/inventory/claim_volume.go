package inventory

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// syncClaim finds the claim's volume and since when it has it, and emits what has changed.
func (inv *Inventory) syncClaim(c *claim, obs Observation) {
	c.dirty = false
	inv.findVolume(c)
	for _, former := range inv.formers[c.uid] {
		inv.bindingOf(c, former, obs)
	}
	waits := false // until its volume is observed to be Bound: it is before the claim, and says when
	if v := c.volume; v != nil {
		if c.volumeName == v.name {
			c.volumeName = v.name // one copy of the string is enough
		}
		b := inv.bindingOf(c, v, obs)
		if b.bound != 0 {
			c.fresh = c.fresh || b.bound != c.boundAt
			c.boundAt, c.boundLate = b.bound, false
		}
		unclaimed := c.byName && v.claimUID == "" // its claimRef is still on its way
		waits = b.claimUID == "" && v.deleted == 0 && (unclaimed || v.claimUID == c.uid)
	}
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

// earlyFor is how long the volumes are waited for at most: theirs may be the last event of all. After
// a gap watches are seconds apart.
const earlyFor = fact.Time(5 * time.Second / time.Microsecond)

// early is a claim that was found Bound after a gap. The watch of volumes may lag: the binding that is
// known may be an earlier one, which has ended since. So the claim waits until the volumes have been
// observed up to its own version.
type early struct {
	claim *claim
	at    fact.Time // when it was found Bound
}

// awaitVolumes has a claim's binding be announced when the volumes have been observed up to the
// version that shows it Bound.
func (inv *Inventory) awaitVolumes(c *claim, version uint32, at fact.Time) {
	if c.boundIn = version; version != 0 {
		inv.early = append(inv.early, early{c, at})
	}
}

// syncEarly announces the bindings for which the volumes have been observed far enough.
func (inv *Inventory) syncEarly(now fact.Time) {
	inv.early = slices.DeleteFunc(inv.early, func(e early) bool {
		behind := int32(e.claim.boundIn-inv.volumesAt) > 0 && now-e.at < earlyFor
		if !behind {
			e.claim.boundIn = 0
			inv.markClaim(e.claim)
		}
		return !behind
	})
}

// announceBinding emits once that a claim was bound, if that was observed (rule 2.9). By the time
// that its volume is known it may be Lost, or deleted.
func (inv *Inventory) announceBinding(c *claim, obs Observation) {
	if !c.unannounced || c.volume == nil || c.boundAt == 0 {
		return
	}
	c.unannounced = false
	inv.markSnapshot(c)
	inv.change(c.change(fact.Change{
		At: c.boundAt, Action: fact.Bound, Details: "to volume " + c.volumeName, Found: obs.Found || c.foundBound,
		Took: c.bindDuration(), SourceKind: c.volume.source.kindOr(""),
	}))
	c.boundBefore = true
}

// bindDuration is how long it took to bind a claim; zero if nobody observed when that was, or if
// it was bound before and Lost its volume.
func (c *claim) bindDuration() time.Duration {
	v := c.volume
	exact := c.boundAt != v.phaseChanged || v.phaseChanged == v.phaseNotBefore
	if c.boundBefore || !exact {
		return 0
	}
	return time.Duration(max(c.boundAt-c.created, 0)) * time.Microsecond
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
		if v.claimUID == c.uid { // else it has been given away since
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

// confirmed reports whether a volume that names, or named, a claim in its claimRef is the claim's:
// the claim names it too, or it has been Bound.
func (inv *Inventory) confirmed(c *claim, v *volume) bool {
	return v.name == c.volumeName || v.isBound() || inv.hadBinding(v, c.uid)
}

// hadBinding reports whether a volume has been bound to a claim, by its own word.
func (inv *Inventory) hadBinding(v *volume, claim string) bool {
	return v.binding.claimUID == claim || slices.ContainsFunc(inv.past[v], func(b pastBinding) bool { return b.claimUID == claim && !b.hearsay })
}

// everBound reports whether the claim says that it has, or had, the volume that it names.
func (c *claim) everBound() bool {
	phase := c.phase.Value()
	return c.volumeName != "" && (phase == string(corev1.ClaimBound) || phase == string(corev1.ClaimLost))
}

// setVolume gives a claim a volume. The one that it had before was another one of its life, unless
// it was only inferred from its name: then it was a predecessor of the same name.
func (inv *Inventory) setVolume(c *claim, v *volume) {
	if !c.byName {
		inv.hadVolume(c.uid, c.volume, v)
	}
	c.volume, c.fresh = v, true
	inv.markPods(inv.slot(c.name))
}

// findVolumeByName finds the volume of a claim that has been bound by its name: the volume may
// be somebody else's by now, and what it said of this claim have been missed.
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
		until = earliest(until, inv.began) // what came later is not what it was found bound to
	case c.boundAt != 0:
		from, until = c.boundAt, c.boundAt
	}
	if !v.existed(from, until) || othersSince(v, c) {
		return false
	}
	// Of a Lost claim that was found nothing says when it had a volume, but for a pod that runs.
	lost := c.found && c.phase.Value() == string(corev1.ClaimLost)
	return !lost || inv.runsSince(c, v.created)
}

// runsSince reports whether a pod that started after a moment runs with a claim.
func (inv *Inventory) runsSince(c *claim, at fact.Time) bool {
	return slices.ContainsFunc(inv.slot(c.name).pods, func(p *pod) bool {
		uses := slices.ContainsFunc(p.volumes, func(u podVolume) bool { return u.claim == c })
		return uses && p.started >= at && !p.over()
	})
}

// othersSince reports whether a volume has been another claim's since before a claim was made.
func othersSince(v *volume, c *claim) bool {
	if v.claimUID == "" || v.claimUID == c.uid {
		return false
	}
	since := v.phaseChanged // it has not been Bound to this one since then
	if b := &v.binding; b.claimUID == v.claimUID && b.bound != 0 {
		since = b.bound
	}
	return since != 0 && since <= c.created
}

// volumeNamed returns the volume of a name that holds the condition, the one that is there
// before one that is gone.
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

// awaitNoVolume takes a claim off the list of those that wait for a volume by its name.
func (inv *Inventory) awaitNoVolume(c *claim) { remove(inv.awaited, c.volumeName, c) }

// hadVolume notes that a claim has another volume than before.
func (inv *Inventory) hadVolume(claim string, former, v *volume) {
	if former != nil && former != v && !slices.Contains(inv.formers[claim], former) {
		inv.formers[claim] = append(inv.formers[claim], former)
	}
}

// volumeUsed is the volume that a pod uses through a claim: the one that the claim had when the
// pod started (rule 2.7). A claim has one in its life, but for a Lost claim that was given
// another one.
func (inv *Inventory) volumeUsed(c *claim, p *pod) *volume {
	formers := inv.formers[c.uid]
	if len(formers) == 0 || c.volume == nil || p.started == 0 {
		return c.volume
	}
	at := latest(p.held(), p.started)
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

// remove takes an element out of a list of lists, and the list with its last one.
func remove[K, E comparable](lists map[K][]E, key K, element E) {
	left := slices.DeleteFunc(lists[key], func(other E) bool { return other == element })
	if lists[key] = left; len(left) == 0 {
		delete(lists, key)
	}
}
