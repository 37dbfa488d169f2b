package inventory

import (
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// How long what is gone is remembered, so that an event that was overtaken by
// those of other kinds still finds it. Watches lag behind each other by seconds,
// or by as long as one of them takes to be set up again.
const (
	// retention is that of a claim (after its last pod), a volume, and a pod
	// whose claim or volume is not known yet.
	retention = fact.Time(5 * time.Minute / time.Microsecond)
	// podRetention is that of a pod all of whose volumes are known; it is short,
	// as pods that come and go are most of what happens in a cluster.
	podRetention = fact.Time(30 * time.Second / time.Microsecond)
)

// grave remembers what is to be forgotten, and when.
type tombstone struct {
	at     fact.Time
	claim  *claim
	volume *volume
	pod    *pod

	attachment *attachment
	controller string // its UID
}

// forget drops what has been gone for long enough and has no pod left.
func (inv *Inventory) evict(now fact.Time) {
	inv.podTombstones = inv.evictExpired(inv.podTombstones, now, podRetention)
	inv.tombstones = inv.evictExpired(inv.tombstones, now, retention)
}

func (inv *Inventory) evictExpired(graves []tombstone, now, retention fact.Time) []tombstone {
	n := 0
	for ; n < len(graves) && now-graves[n].at > retention; n++ {
		switch g := graves[n]; {
		case g.volume != nil && g.volume.user != nil && g.volume.user.deleted == 0: // a Lost claim still speaks of it
			graves = append(graves, tombstone{at: now, volume: g.volume})
		case g.volume != nil:
			inv.evictVolume(g.volume)
		case g.pod != nil:
			inv.evictPod(g.pod)
		case g.attachment != nil:
			inv.evictAttachment(g.attachment)
		case g.claim == nil:
			inv.evictController(g.controller)
		case len(inv.claimNames.get(g.claim.name).pods) > 0:
			graves = append(graves, tombstone{at: now, claim: g.claim})
		default:
			inv.evictClaim(g.claim)
		}
	}
	clear(graves[:n]) // lets go of them; append drops the room when it next grows
	return graves[n:]
}
