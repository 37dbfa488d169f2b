package inventory

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// binding is the last Binding of a volume.
type binding struct {
	claimUID                   string
	claim                      name
	bound, released, notBefore fact.Time
}

// pastBinding is a binding of a volume before its last one.
type pastBinding struct {
	binding
	ordinal uint16 // counts the bindings of this claim and volume
	hearsay bool   // inferred from the claim alone: the volume may give exact times later
}

// introduce links a volume and its claim, or records the volume for a claim that is not known yet.
func (inv *Inventory) introduce(v *volume) {
	c := inv.claimByUID(v.claimUID)
	switch had := inv.volumeOf[v.claimUID]; {
	case had != nil && had != v && had.isBound() && !v.isBound():
		return // this volume was provisioned in vain
	case c == nil:
		inv.hadVolume(v.claimUID, inv.volumeOf[v.claimUID], v)
		inv.volumeOf[v.claimUID] = v
		return
	case c.volume == v:
		v.user, c.byName = c, false
	case v.deleted != 0 && c.volume != nil && c.volume.deleted == 0: // the claim has another volume by now
		inv.hadVolume(c.uid, v, c.volume)
	default:
		inv.volumeOf[v.claimUID] = v
	}
	v.shareNames(c)
	inv.markClaim(c)
}

// isBound reports whether a volume is bound to the claim in its claimRef.
func (v *volume) isBound() bool {
	return v.claimUID != "" && v.deleted == 0 && v.phase.Value() == string(corev1.VolumeBound)
}

// shareNames replaces the volume's strings with its claim's: one copy in memory is enough.
func (v *volume) shareNames(c *claim) {
	v.claimUID, v.claim = c.uid, c.name
	if v.binding.claimUID == c.uid {
		v.binding.claimUID, v.binding.claim = c.uid, c.name
	}
}

// syncBinding opens and closes the interval in which a volume is bound to its claim (rule 2.8). The
// volume decides: the binder writes the claim's UID into claimRef first, and the phase shows
// whether the binding is in force.
func (inv *Inventory) syncBinding(v *volume, obs Observation) {
	inv.endBinding(v, obs)
	inv.beginBinding(v, obs)
}

func (inv *Inventory) endBinding(v *volume, obs Observation) {
	b, phase := &v.binding, v.phase.Value()
	if b.claimUID == "" || b.released != 0 {
		return
	}
	switch {
	case !v.isBound() || b.claimUID != v.claimUID:
		b.notBefore, b.released = obs.bounds(b.bound)
		switch {
		case v.deleted != 0 || v.phaseChanged < b.bound:
		case phase == string(corev1.VolumeReleased) && v.phaseChanged != 0:
			b.notBefore, b.released = latest(v.phaseNotBefore, b.bound), v.phaseChanged
		case v.phaseChanged > b.bound && !obs.live(): // by then it was bound to another claim, or to none
			b.released = min(b.released, v.phaseChanged)
			b.notBefore = min(b.notBefore, b.released) // it can be later only because the API's times are whole seconds
		}
		inv.emitBinding(v, *b, v.ordinal, obs)
	case b.bound != 0 && b.bound < v.phaseChanged:
		// The phase changed later than the binding began: it was released and bound again,
		// unobserved.
		b.notBefore, b.released = b.bound, v.phaseChanged
		inv.emitBinding(v, *b, v.ordinal, obs)
	}
}

func (inv *Inventory) beginBinding(v *volume, obs Observation) {
	b := &v.binding
	same := b.claimUID == v.claimUID
	released := v.claimUID != "" && v.phase.Value() == string(corev1.VolumeReleased)
	switch {
	case v.isBound() && (!same || b.released != 0):
		inv.rebind(v, binding{claimUID: v.claimUID, claim: v.claim, bound: v.phaseChanged})
		inv.emitBinding(v, *b, v.ordinal, obs)
	case released && !same && inv.wasBound(v):
		inv.rebind(v, inv.missedBinding(v, obs))
		inv.emitBinding(v, *b, v.ordinal, obs)
	}
}

// missedBinding returns the binding of a volume that was released before it was observed to be
// Bound. Its claimRef names the claim; only the claim can still say when the binding began.
func (inv *Inventory) missedBinding(v *volume, obs Observation) binding {
	missed := binding{claimUID: v.claimUID, claim: v.claim, notBefore: v.phaseNotBefore, released: v.phaseChanged}
	if missed.released == 0 { // an API server before 1.28
		missed.notBefore, missed.released = v.created, obs.At
	}
	if c := inv.claimByUID(v.claimUID); c != nil {
		missed.bound = min(c.boundTo(v, missed.released), missed.released)
	}
	return missed
}

// wasBound reports whether a volume that is Released, and was never observed to be Bound, has been
// Bound. Its claim shows that. A volume is Released without a binding if its claim was deleted
// before it was bound, or if the claim was bound to another volume and this one was provisioned in
// vain. A volume that was found Released and whose claim is gone counts as having been bound.
func (inv *Inventory) wasBound(v *volume) bool {
	c := inv.claimByUID(v.claimUID)
	if c == nil {
		return v.foundReleased && inv.listed[fact.Claims]
	}
	return releasedFromBound(v, c)
}

// keepPast is the number of bindings that a volume keeps even after their claims are evicted.
const keepPast = 8

// rebind begins a binding. A further binding of the same claim and volume gets the next ordinal.
func (inv *Inventory) rebind(v *volume, next binding) {
	if v.binding.claimUID != "" {
		inv.past[v] = append(inv.past[v], pastBinding{v.binding, v.ordinal, false})
	}
	if len(inv.past[v]) > keepPast { // an evicted claim is not bound again
		inv.past[v] = slices.DeleteFunc(inv.past[v], func(b pastBinding) bool {
			unknown := inv.claimByUID(b.claimUID) == nil
			if unknown {
				inv.forgetClaimOf(v, b.claimUID)
			}
			return unknown
		})
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

func (inv *Inventory) emitBinding(v *volume, b binding, ordinal uint16, obs Observation) {
	inv.markSnapshot(v)
	inv.update.Facts.Bindings = append(inv.update.Facts.Bindings, fact.Binding{
		Version: inv.nextVersion(obs.At), Namespace: b.claim.namespace, ClaimName: b.claim.name, ClaimUID: b.claimUID, VolumeUID: v.uid,
		Ordinal: ordinal, BoundAt: b.bound, ReleasedAt: b.released, ReleasedNotBefore: b.notBefore,
	})
}

// knownBinding returns the last known binding of a claim and a volume; one without a claim if none is known.
func (inv *Inventory) knownBinding(c *claim, v *volume) binding {
	if v.binding.claimUID == c.uid {
		return v.binding
	}
	for _, b := range slices.Backward(inv.past[v]) {
		if b.claimUID == c.uid {
			return b.binding
		}
	}
	return binding{}
}

// recordMissedBinding emits what a claim knows of its binding to a volume, if the binding was missed because the volume
// was bound to another claim or deleted meanwhile: from when the claim was observed to be bound until, at the latest, the
// volume's change. If that change is yet to be observed, it emits nothing, and notes that the claim waits for it.
func (inv *Inventory) recordMissedBinding(c *claim, v *volume, obs Observation) {
	if inv.knownBinding(c, v).claimUID != "" {
		return
	}
	if v.claimUID == c.uid && v.deleted == 0 && releasedFromBound(v, c) {
		inv.markVolume(v) // it was released before the claim's word was known
	}
	if !c.everBound() {
		return
	}
	changed := inv.boundUntil(c, v, obs)
	if changed == 0 { // the volume's change is yet to be observed
		if waiting := inv.unbound[v]; !slices.Contains(waiting, c) {
			inv.unbound[v] = append(waiting, c)
		}
		return
	}
	b := pastBinding{binding: binding{claimUID: c.uid, claim: c.name, bound: c.boundTo(v, changed)}, hearsay: true}
	b.released = latest(changed, b.bound)
	b.notBefore = min(latest(c.created, v.created), b.released) // the controller may write the claim after that
	inv.past[v] = append(inv.past[v], b)
	inv.emitBinding(v, b.binding, b.ordinal, obs)
}

// boundUntil returns the latest moment at which a volume was deleted or became another claim's; 0
// if neither has happened.
func (inv *Inventory) boundUntil(c *claim, v *volume, obs Observation) fact.Time {
	guessed := c.byName && c.volume == v
	reserved := v.claim != (name{}) && v.claim != c.name // it may be reserved for a claim that does not exist yet
	switch {
	case v.deleted != 0 && guessed && !inv.lostIts(c, v):
		return 0
	case v.deleted != 0:
		return v.deleted
	case v.claimUID != "" && v.claimUID != c.uid:
		return v.phaseChanged
	case v.claimUID == "" && reserved:
		return obs.At
	}
	return 0
}

// boundAfter reports whether a claim was observed to become Bound only after its volume had stopped
// being its own. The API gives the moment of the volume's change in whole seconds.
func (c *claim) boundAfter(changed fact.Time) bool { return c.boundAt > changed+almostASecond }

// boundTo returns when a claim was bound to a volume, as far as the claim knows; the binding began
// before the moment by. The claim's boundAt may be later than by if nobody watched then, or if the
// controller wrote the claim long after the volume. It returns 0 if the claim was bound to another
// volume at boundAt, so that the moment is unknown.
func (c *claim) boundTo(v *volume, by fact.Time) fact.Time {
	switch {
	case c.boundAt < v.created:
		return 0
	case c.boundLate || c.boundAfter(by):
		return min(c.boundAt, by)
	default:
		return c.boundAt
	}
}

// lostIts reports whether a claim indicates that its volume is gone: the claim is Lost, or it is
// deleted as well and no other volume of the name can have been its own. A claim that stays Bound
// has a successor of the volume, which is yet to arrive.
func (inv *Inventory) lostIts(c *claim, v *volume) bool {
	if c.deleted == 0 {
		return c.phase.Value() == string(corev1.ClaimLost)
	}
	other := inv.volumeNamed(v.name, func(o *volume) bool { return o != v && inv.mayHave(c, o) })
	return other == nil
}

func releasedFromBound(v *volume, c *claim) bool {
	named := c.phase.Value() == string(corev1.ClaimBound) && c.volumeName == v.name
	return named && v.phase.Value() == string(corev1.VolumeReleased)
}
