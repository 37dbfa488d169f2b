package inventory

import (
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// claimName is what is known under a name that a claim can have: the claims
// that had it, at most one of them living, and the pods that refer to it.
type claimName struct {
	claims []*claim
	pods   []*pod
}

// attribute finds the claim and the volume of a pod's volume anew. What was counted in others
// is taken back.
func (inv *Inventory) attribute(p *pod, u *podVolume) {
	slot := inv.slot(name{p.namespace, u.claimName})
	c := slot.claimOf(inv, p, u)
	var v *volume
	if c != nil {
		v = inv.volumeUsed(c, p)
		p.namespace, u.claimName = c.name.namespace, c.name.name // one copy of the strings is enough
	}
	if c == u.claim && v == u.volume {
		return
	}
	if c != nil && v == nil && c.everBound() {
		inv.markClaim(c) // rule 2.6: that the pod runs may say which volume it has
	}
	inv.uncount(u)
	u.claim, u.volume = c, v
}

// claimOf finds the claim of a pod's volume among those that have had its name: rules 2.1 to
// 2.4. Nil if it has none, or that is not known yet.
func (s *claimName) claimOf(inv *Inventory, p *pod, u *podVolume) *claim {
	switch {
	case u.ephemeral:
		return s.ownedBy(p) // rule 2.2
	case p.started == 0 && p.over():
		return nil // rule 2.3: it never started, and used nothing
	case p.started == 0:
		return s.living() // rule 2.3: the one that it awaits
	}
	if c := s.existingAt(inv, p.held(), p.startedIn); c != nil {
		return c // rule 2.4
	}
	if !p.over() {
		return s.living() // rule 2.4: it runs, so the finalizer keeps the claim
	}
	if c := s.existingAt(inv, p.finished, 0); c != nil {
		return c
	}
	return s.existingAt(inv, p.started, p.startedIn) // its node's clock may be ahead by seconds
}

// living returns the claim that has the name now.
func (s *claimName) living() *claim {
	for _, c := range s.claims {
		if c.deleted == 0 {
			return c
		}
	}
	return nil
}

// ownedBy returns the claim that a pod owns.
func (s *claimName) ownedBy(p *pod) *claim {
	for _, c := range s.claims {
		if intern.Text(c.podUID) == p.uid {
			return c
		}
	}
	return nil
}

// existingAt returns the claim that existed at a moment. The API's times are in whole seconds, in
// which a claim can go and another come; where the versions of the objects were observed, those
// tell the two apart, else it is the younger one.
func (s *claimName) existingAt(inv *Inventory, at fact.Time, version uint32) (found *claim) {
	sure := false
	for _, c := range s.claims {
		if c.created > at || c.deleted != 0 && c.deleted < at {
			continue
		}
		surely := inv.lives[c].holds(version)
		switch {
		case found == nil, surely && !sure, surely == sure && c.created >= found.created:
			found, sure = c, surely
		}
	}
	return found
}

// held is a moment at which a pod that has started held its claim, by the clock of the control
// plane where that is known: the scheduler assigns no pod whose claim is missing, and from then
// on the finalizer keeps the claim (rule 2.4). A node's clock may be off by any time.
func (p *pod) held() fact.Time {
	if p.scheduled != 0 {
		return latest(p.scheduled, p.created)
	}
	return p.started
}
