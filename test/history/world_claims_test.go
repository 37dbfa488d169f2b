package history

import (
	"fmt"
	"strings"
)

// makeClaim adds a claim that has no volume yet.
func (w *world) makeClaim() bool {
	namespace, name := pick(w, w.names.namespaces), pick(w, w.names.claims)
	return w.addClaim(namespace, name, nil)
}

func (w *world) addClaim(namespace, name string, of *pod) bool {
	for _, c := range w.claims {
		if c.existing && c.namespace == namespace && c.name == name {
			return false
		}
	}
	c := &claim{
		uid: w.uid("claim"), namespace: namespace, name: name, class: pick(w, w.names.classes), owner: pick(w, w.names.owners), groups: w.groups(),
		requested: w.size(), phase: "Pending", pod: of, created: w.tick(), existing: true, modes: w.accessModes(),
	}
	for _, set := range w.names.workloads {
		if name == "data-"+set+"-0" || name == "data-"+set+"-1" {
			c.kind, c.workload = "StatefulSet", set
		}
	}
	if w.saysUnused && of == nil {
		c.unused = c.created
	}
	w.claims = append(w.claims, c)
	w.showClaim(c)
	return true
}

// provision makes a volume for a claim.
func (w *world) provision() bool {
	c := any1(w, w.claims, func(c *claim) bool { return c.existing && c.phase == "Pending" && w.free(c.touched) })
	if c == nil {
		return false
	}
	v := w.addVolume("pvc-"+c.uid, c.class, c.requested)
	v.claim, v.phase, v.modes = c, "Pending", c.modes
	w.showVolume(v)
	w.marry(v, c)
	return true
}

// makeVolume adds a volume by hand.
func (w *world) makeVolume() bool {
	name := pick(w, w.names.volumes)
	for _, v := range w.volumes {
		if v.existing && v.name == name {
			return false
		}
	}
	v := w.addVolume(name, pick(w, w.names.classes), w.size())
	v.phase = "Available"
	w.showVolume(v)
	return true
}

func (w *world) addVolume(name, class string, size int64) *volume {
	v := &volume{uid: w.uid("volume"), name: name, class: class, policy: "Delete", source: w.newSource(), size: size, used: -1, existing: true}
	v.affinity, v.modes = w.makeAffinity(v.source.kind), w.accessModes()
	if w.chance(50) {
		v.policy = "Retain"
	}
	v.created = w.tick()
	v.phaseAt = v.created
	w.volumes = append(w.volumes, v)
	return v
}

// bind binds a claim to a volume that is there already.
func (w *world) bind() bool {
	c := any1(w, w.claims, func(c *claim) bool { return c.existing && c.phase == "Pending" && w.free(c.touched) })
	if c == nil {
		return false
	}
	v := any1(w, w.volumes, func(v *volume) bool {
		return v.existing && v.phase == "Available" && w.free(v.touched) && v.class == c.class
	})
	if v == nil {
		return false
	}
	w.tick()
	v.claim = c
	w.showVolume(v)
	w.marry(v, c)
	return true
}

// marry completes a binding: of the volume first, as the controller does.
func (w *world) marry(v *volume, c *claim) {
	v.phase, v.phaseAt = "Bound", w.tick()
	w.bindings = append(w.bindings, &binding{claim: c, volume: v, bound: v.phaseAt, known: w.watched})
	c.bound = v.phaseAt
	w.showVolume(v)
	w.tick()
	c.phase, c.volume, c.capacity = "Bound", v, v.size
	w.showClaim(c)
}

// release ends the binding of a volume, for a reason that says what is known of it where nobody watches.
func (w *world) release(v *volume, reason trace) {
	for _, b := range w.bindings {
		if b.volume == v && b.released.at == 0 && b.trace == nothing {
			if b.trace = reason; w.watched {
				b.released = end{w.clock, w.clock}
			}
		}
	}
}

// trace is what the end of a binding leaves.
type trace int

const (
	nothing       trace = iota
	phaseReleased       // the volume says when it was released
	volumeGone
	boundAgain // the volume says when it was bound again
)

// expand makes a bound claim and its volume larger.
func (w *world) expand() bool {
	c := any1(w, w.claims, func(c *claim) bool {
		return c.existing && c.phase == "Bound" && w.free(c.touched) && w.free(c.volume.touched) && c.volume.existing
	})
	if c == nil {
		return false
	}
	w.tick()
	c.requested = max(c.requested, c.capacity) + w.size()
	w.showClaim(c)
	w.tick()
	c.volume.size = c.requested
	w.showVolume(c.volume)
	w.tick()
	c.capacity = c.requested
	w.showClaim(c)
	return true
}

// giveAway gives a claim and a pod to other owners: they have had them from then on, and in the reports always.
func (w *world) giveAway() bool {
	c := any1(w, w.claims, func(c *claim) bool { return c.existing })
	p := any1(w, w.pods, func(p *pod) bool { return p.existing })
	if c == nil || p == nil || !w.watched {
		return false
	}
	w.tick()
	c.owner, c.groups = pick(w, w.names.owners), w.groups()
	w.showClaim(c)
	w.tick()
	p.owner, p.groups = pick(w, w.names.owners), w.groups()
	w.showPod(p)
	return true
}

// inUse reports whether a pod that is not over refers to a claim.
func (w *world) inUse(c *claim) bool {
	for _, p := range w.pods {
		for _, s := range p.stores {
			if s.claim == c && p.existing && p.phase != "Succeeded" && p.phase != "Failed" {
				return true
			}
		}
	}
	return false
}

// deletable reports whether a claim can be deleted so that it is known what happened.
func (w *world) deletable(c *claim) bool {
	return c.existing && w.free(c.touched) && (c.volume == nil || !c.volume.existing || w.free(c.volume.touched))
}

func (w *world) deleteClaim() bool {
	c := any1(w, w.claims, func(c *claim) bool { return c.pod == nil && w.deletable(c) && !w.inUse(c) })
	if c == nil {
		return false
	}
	w.dropClaim(c)
	return true
}

// dropClaim deletes a claim. Its volume is released, and deleted unless its policy is Retain.
func (w *world) dropClaim(c *claim) {
	w.tick()
	c.existing = false
	if w.watched {
		c.gone = end{w.clock, w.clock}
		w.tracker.delete(w.claimObject(c), w.clock)
	}
	v := c.volume
	if v == nil || !v.existing || v.claim != c {
		return
	}
	v.phase, v.phaseAt = "Released", w.tick()
	w.release(v, phaseReleased)
	w.showVolume(v)
	if v.policy == "Delete" {
		w.dropVolume(v)
	}
}

// freeVolume makes a released volume available for another claim.
func (w *world) freeVolume() bool {
	v := any1(w, w.volumes, func(v *volume) bool { return v.existing && v.phase == "Released" && w.free(v.touched) })
	if v == nil {
		return false
	}
	w.tick()
	v.claim = nil
	w.showVolume(v)
	v.phase, v.phaseAt = "Available", w.tick()
	w.showVolume(v)
	return true
}

func (w *world) deleteVolume() bool {
	v := any1(w, w.volumes, func(v *volume) bool {
		return v.existing && (v.phase == "Released" || v.phase == "Available") && w.free(v.touched)
	})
	if v == nil {
		return false
	}
	w.dropVolume(v)
	return true
}

func (w *world) dropVolume(v *volume) {
	w.detachAll(func(a *attachment) bool { return a.volume == v })
	w.tick()
	v.existing = false
	w.release(v, volumeGone)
	for _, b := range w.bindings {
		if b.volume == v && b.trace == phaseReleased && b.released.at == 0 {
			b.trace = volumeGone
		}
	}
	if w.watched {
		v.gone = end{w.clock, w.clock}
		w.tracker.delete(w.volumeObject(v), w.clock)
	}
}

// bindAgain clears the claimRef of a bound volume, and the controller binds the two again.
func (w *world) bindAgain() bool {
	v := any1(w, w.volumes, func(v *volume) bool {
		return v.existing && v.phase == "Bound" && w.free(v.touched) && w.free(v.claim.touched) && v.claim.existing
	})
	if v == nil {
		return false
	}
	c := v.claim
	v.claim, v.phase, v.phaseAt = nil, "Available", w.tick()
	w.release(v, boundAgain)
	w.showVolume(v)
	w.tick()
	v.claim = c
	w.showVolume(v)
	w.marry(v, c)
	return true
}

// loseVolume deletes a volume that is bound. Its claim is Lost.
func (w *world) loseVolume() bool {
	v := any1(w, w.volumes, func(v *volume) bool { return v.existing && v.phase == "Bound" && v.claim.existing && !w.inUse(v.claim) })
	if v == nil || !w.watched {
		return false
	}
	w.dropVolume(v)
	w.tick()
	v.claim.phase, v.claim.capacity, v.claim.lostAt = "Lost", 0, w.clock
	w.showClaim(v.claim)
	return true
}

// showClaim lets the tracker see a claim as it is now.
func (w *world) showClaim(c *claim) {
	if c.touched = !w.watched; w.watched {
		w.seeClaim(c)
		w.tracker.set(w.claimObject(c), w.clock)
	}
}

func (w *world) showVolume(v *volume) {
	if v.touched = !w.watched; w.watched {
		w.seeVolume(v)
		w.tracker.set(w.volumeObject(v), w.clock)
	}
}

// refer updates the condition Unused of the claims of a pod, after the pod came or ended.
func (w *world) refer(p *pod) {
	for _, s := range p.stores {
		c := s.claim
		if c == nil || !c.existing || !w.saysUnused || w.inUse(c) == (c.unused == 0) {
			continue
		}
		if c.unused = 0; !w.inUse(c) {
			c.unused = w.tick()
		}
		w.tick()
		if w.watched {
			w.seeClaim(c)
			w.tracker.set(w.claimObject(c), w.clock)
		}
	}
}

// seeUnused notes a condition Unused, and first what the former one showed: a use that nobody watched.
func (w *world) seeUnused(c *claim) {
	if v := c.volume; v != nil && v.claim == c && c.seenUnused != c.unused {
		w.saveUnseen(v, c)
	}
	c.seenUnused = c.unused
}

func (w *world) saveUnseen(v *volume, c *claim) {
	if since, _ := w.idleSince(v, w.lastOf(v)); c.seenUnused > since+slack && !w.wasWatched(since, c.seenUnused) {
		v.unseen = c.seenUnused
	}
}

func gibText(n int64) string { return fmt.Sprint(n/gib, "Gi") }

// seeClaim notes what a tracker learns from a claim.
func (w *world) seeClaim(c *claim) {
	if c.known && c.seenRequested != c.requested {
		w.resizes = append(w.resizes, resize{w.clock, nil, c, "resize_requested", gibText(c.seenRequested), gibText(c.requested)})
	}
	if c.known && c.seenCapacity != c.capacity && c.seenCapacity != 0 && c.phase == "Bound" {
		w.resizes = append(w.resizes, resize{w.clock, nil, c, "resized", gibText(c.seenCapacity), gibText(c.capacity)})
	}
	if c.known && c.phase == "Lost" && c.seenPhase != c.phase {
		w.changes = append(w.changes, change{w.clock, c, "phase", c.seenPhase + " → Lost"})
	}
	if c.asked != 0 && !c.seenAsked {
		c.seenAsked = true
		w.changes = append(w.changes, change{c.asked, c, "deleting", "held back by kubernetes.io/pvc-protection"})
	}
	w.seeUnused(c)
	c.known, c.seenRequested, c.seenCapacity, c.seenPhase = true, c.requested, c.capacity, c.phase
	seen := claimVersion{w.clock, c.unused, c.requested, c.capacity, c.phase, c.owner, strings.Join(c.groups, ","), c.volume}
	if n := len(c.versions); n == 0 || seen.news(c.versions[n-1]) {
		c.versions = append(c.versions, seen)
	}
}

// seeVolume notes what a tracker learns from a volume.
func (w *world) seeVolume(v *volume) {
	n := len(v.versions)
	if n > 0 && v.versions[n-1].claim != nil && v.versions[n-1].claim != v.claim {
		w.saveUnseen(v, v.versions[n-1].claim)
	}
	if n > 0 && v.versions[n-1].size != v.size {
		w.resizes = append(w.resizes, resize{w.clock, v, nil, "resized", gibText(v.versions[n-1].size), gibText(v.size)})
	}
	if n > 0 && (v.versions[n-1].phase != v.phase || v.versions[n-1].phaseAt != v.phaseAt) {
		c := change{v.phaseAt, v, "phase", v.versions[n-1].phase + " → " + v.phase}
		if v.phase == "Released" {
			c.action, c.details = "released", c.details+", reclaim policy "+v.policy
		}
		w.changes = append(w.changes, c)
	}
	v.known = true
	if seen := (version{w.clock, v.phaseAt, v.size, v.phase, v.claim}); n == 0 || seen.news(v.versions[n-1]) {
		v.versions = append(v.versions, seen)
	}
}

// news reports whether a version differs from the one before.
func (s claimVersion) news(before claimVersion) bool {
	before.at = s.at
	return s != before
}

// news reports whether a version differs from the one before.
func (s version) news(before version) bool {
	before.at = s.at
	return s != before
}
