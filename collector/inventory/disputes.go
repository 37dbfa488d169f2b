package inventory

import "github.com/kubevoltracker/kubevoltracker/collector/fact"

// A claim's condition Unused (KEP-5541) is the API's own inference of whether any pod that is not
// over refers to the claim. The inventory compares it with its own inference, and emits a
// difference that lasts longer than the lag between watches as a change.

// disputeAfter is how long a difference must last before it is emitted: 60 s.
const disputeAfter = fact.Time(60_000_000)

// doubt is a claim on which the API and the inventory disagree, and since when.
type doubt struct {
	at    fact.Time
	claim *claim
}

// doubt records whether the API and the inventory disagree about a claim.
func (inv *Inventory) doubt(c *claim) {
	differ := c.deleted == 0 && c.unused != silent && (c.unused == used) != inv.referred(c)
	if _, doubted := inv.doubted[c]; differ == doubted {
		return
	}
	if !differ {
		delete(inv.doubted, c)
		return
	}
	inv.doubted[c] = inv.now
	inv.doubts = append(inv.doubts, doubt{inv.now, c})
}

// referred reports whether a pod that is not over refers to a claim.
func (inv *Inventory) referred(c *claim) bool {
	for _, p := range inv.slot(c.name).pods {
		for i := range p.volumes {
			if p.volumes[i].claim == c && !p.over() {
				return true
			}
		}
	}
	return false
}

// dispute emits the differences that have lasted.
func (inv *Inventory) dispute(obs Observation) {
	inv.now = obs.At
	for len(inv.doubts) > 0 && (obs.At-inv.doubts[0].at > disputeAfter || inv.doubts[0].at > obs.At) {
		d := inv.doubts[0]
		inv.doubts = inv.doubts[1:]
		if inv.doubted[d.claim] != d.at {
			continue // the disagreement has ended meanwhile
		}
		if d.at > obs.At { // the clock was set back
			inv.doubted[d.claim] = obs.At
			inv.doubts = append(inv.doubts, doubt{obs.At, d.claim})
			continue
		}
		says := "the API calls it unused, but a pod refers to it"
		if d.claim.unused == used {
			says = "the API calls it used, but no pod refers to it"
		}
		inv.change(d.claim.change(fact.Change{At: d.at, Action: fact.Disputed, Details: says}))
	}
}
