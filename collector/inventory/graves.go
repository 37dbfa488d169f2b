package inventory

import "time"

// How long what is gone is remembered, so that an event that was overtaken by
// those of other kinds still finds it. Watches lag behind each other by seconds,
// or by as long as one of them takes to be set up again.
const (
	// retention is that of a claim (after its last pod), a volume, and a pod
	// whose claim or volume is not known yet.
	retention = Time(5 * time.Minute / time.Microsecond)
	// podRetention is that of a pod all of whose volumes are known; it is short,
	// as pods that come and go are most of what happens in a cluster.
	podRetention = Time(30 * time.Second / time.Microsecond)
)

// grave remembers what is to be forgotten, and when.
type grave struct {
	at     Time
	claim  *claim
	volume *volume
	pod    *pod

	attachment *attachment
	controller string // its UID
}

// forget drops what has been gone for long enough and has no pod left.
func (inv *Inventory) forget(now Time) {
	inv.podGraves = inv.empty(inv.podGraves, now, podRetention)
	inv.graves = inv.empty(inv.graves, now, retention)
}

func (inv *Inventory) empty(graves []grave, now, retention Time) []grave {
	n := 0
	for ; n < len(graves) && now-graves[n].at > retention; n++ {
		switch g := graves[n]; {
		case g.volume != nil && g.volume.user != nil && g.volume.user.deleted == 0: // a Lost claim still speaks of it
			graves = append(graves, grave{at: now, volume: g.volume})
		case g.volume != nil:
			inv.forgetVolume(g.volume)
		case g.pod != nil:
			inv.forgetPod(g.pod)
		case g.attachment != nil:
			inv.forgetAttachment(g.attachment)
		case g.claim == nil:
			inv.forgetController(g.controller)
		case len(inv.claimNames.get(g.claim.name).pods) > 0:
			graves = append(graves, grave{at: now, claim: g.claim})
		default:
			inv.forgetClaim(g.claim)
		}
	}
	clear(graves[:n]) // lets go of them; append drops the room when it next grows
	return graves[n:]
}
