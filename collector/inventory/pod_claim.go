package inventory

import (
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// claimName is everything known under a claim's name: the claims that had the name, at most one of
// them living, and the pods that refer to it.
type claimName struct {
	claims []*claim
	pods   []*pod
}

// attribute resolves the claim and the volume of a pod's volume again. It removes the use from the
// claim and volume that counted it before.
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
		inv.markClaim(c) // rule 2.6: a running pod may show which volume the claim has
	}
	inv.uncount(p, u)
	u.claim, u.volume = c, v
}

// claimOf returns the claim of a pod's volume among those that have had its name (rules 2.1 to
// 2.4); nil if there is none, or it is not known yet.
func (s *claimName) claimOf(inv *Inventory, p *pod, u *podVolume) *claim {
	switch {
	case u.ephemeral:
		return s.ownedBy(p) // rule 2.2
	case p.started == 0 && p.over():
		return nil // rule 2.3: the pod never started, and used nothing
	case p.started == 0:
		return s.living() // rule 2.3: the claim that the pod awaits
	}
	if c := s.existingAt(inv, p.hadClaims(), p.startedIn); c != nil {
		return c // rule 2.4
	}
	if !p.over() {
		return s.living() // rule 2.4: the pod runs, so the finalizer protects the claim
	}
	if c := s.existingAt(inv, p.finished, 0); c != nil {
		return c
	}
	return s.existingAt(inv, p.started, p.startedIn) // the node's clock may be ahead by seconds
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

// existingAt returns the claim that existed at a moment. Within one whole second of the API's times
// a claim can be deleted and another created. If the objects' versions were observed, they
// distinguish the two; otherwise existingAt returns the younger claim.
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

// hadClaims returns a moment at which a started pod certainly had its claim, by the control plane's
// clock if that is known: the scheduler assigns no pod whose claim is missing, and from then on the
// finalizer protects the claim (rule 2.4). A node's clock may be off by any amount.
func (p *pod) hadClaims() fact.Time {
	if p.scheduled != 0 {
		return latest(p.scheduled, p.created)
	}
	return p.started
}
