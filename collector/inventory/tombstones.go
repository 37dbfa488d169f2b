package inventory

import (
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// How long a deleted object stays in memory (rule 6.1), so that an event of another kind that
// arrives late still finds it. Watches lag behind each other by seconds, or for as long as one of
// them takes to reconnect.
const (
	// retention applies to a claim (after its last pod), a volume, and a pod whose claim or volume
	// is not known yet.
	retention = fact.Time(5 * time.Minute / time.Microsecond)
	// podRetention applies to a pod whose volumes are all known. It is short, because most events
	// in a cluster create or delete pods.
	podRetention = fact.Time(30 * time.Second / time.Microsecond)
)

// subjectID is a kind and a UID: the API promises unique UIDs only within a kind.
type subjectID struct {
	kind fact.Kind
	uid  string
}

// tombstone keeps an object that is gone, and since when.
type tombstone struct {
	subjectID
	at   fact.Time
	dead any // *claim, *volume, *pod, *attachment, *controller or nodeName
}

// entomb schedules the eviction of a deleted object after the retention.
func (inv *Inventory) entomb(kind fact.Kind, uid string, at fact.Time, dead any) {
	t := &tombstone{subjectID{kind, uid}, at, dead}
	inv.dead[t.subjectID] = t
	inv.tombstones = append(inv.tombstones, t)
}

// entombPod does the same for a pod. A late event may still correct a pod with claims; a pod
// without claims is evicted at once.
func (inv *Inventory) entombPod(p *pod, at fact.Time) {
	p.tombstoned = true
	t := &tombstone{subjectID{fact.Pods, p.uid}, at, p}
	claims, known := false, true
	for i := range p.volumes {
		if u := &p.volumes[i]; u.claimName != "" {
			claims = true
			known = known && u.claim != nil && u.volume != nil
		}
	}
	switch inv.dead[t.subjectID] = t; {
	case !claims:
		inv.evictDead(t)
	case known:
		inv.podTombstones = append(inv.podTombstones, t)
	default:
		inv.tombstones = append(inv.tombstones, t)
	}
}

// revive returns a deleted object that is still in memory and exists again under its UID, as after
// etcd was restored from a backup (rule 6.4); nil if there is none. The object is then no longer
// evicted.
func (inv *Inventory) revive(kind fact.Kind, uid string) any {
	t := inv.dead[subjectID{kind, uid}]
	if t == nil || inv.restoring {
		return nil
	}
	delete(inv.dead, t.subjectID)
	return t.dead
}

// evict removes objects that have been gone for long enough.
func (inv *Inventory) evict(now fact.Time) {
	inv.podTombstones = inv.evictExpired(inv.podTombstones, now, podRetention)
	inv.tombstones = inv.evictExpired(inv.tombstones, now, retention)
}

func (inv *Inventory) evictExpired(list []*tombstone, now, retention fact.Time) []*tombstone {
	n := 0
	for ; n < len(list) && (now-list[n].at > retention || list[n].at > now); n++ {
		t := list[n]
		if inv.dead[t.subjectID] != t { // it was revived, and may have been deleted again
			continue
		}
		if inv.needed(t) || t.at > now { // the clock was set back: until then all tombstones behind this one would stay
			t.at = now
			list = append(list, t)
			continue
		}
		inv.evictDead(t)
	}
	clear(list[:n]) // drops the references; the next append that grows the list drops the memory
	return list[n:]
}

// needed reports whether a living object still refers to a deleted one: a pod to its claim, a Lost
// claim to its volume (rule 6.2).
func (inv *Inventory) needed(t *tombstone) bool {
	switch dead := t.dead.(type) {
	case *claim:
		return inv.usedBy(dead) != nil
	case *volume:
		return dead.user != nil && dead.user.deleted == 0 || dead.active > 0
	}
	return false
}

// usedBy returns a pod in memory that has a volume of the claim; nil if there is none.
func (inv *Inventory) usedBy(c *claim) *pod {
	for _, p := range inv.slot(c.name).pods {
		for i := range p.volumes {
			if p.volumes[i].claim == c {
				return p
			}
		}
	}
	return nil
}

func (inv *Inventory) evictDead(t *tombstone) {
	delete(inv.dead, t.subjectID)
	switch dead := t.dead.(type) {
	case *claim:
		inv.evictClaim(dead)
	case *volume:
		inv.evictVolume(dead)
	case *pod:
		inv.evictPod(dead)
	case *attachment:
		inv.evictAttachment(dead)
	case *controller:
		inv.evictController(t.uid, dead)
	case nodeName:
		inv.evictNode(t.uid, dead)
	}
}

// claimByUID returns a claim that is living or not evicted yet; nil if there is none.
func (inv *Inventory) claimByUID(uid string) *claim {
	if c := inv.claims[uid]; c != nil {
		return c
	}
	if t := inv.dead[subjectID{fact.Claims, uid}]; t != nil {
		return t.dead.(*claim)
	}
	return nil
}

// volumeByUID returns a volume that is living or not evicted yet; nil if there is none.
func (inv *Inventory) volumeByUID(uid string) *volume {
	if v := inv.volumes[uid]; v != nil {
		return v
	}
	if t := inv.dead[subjectID{fact.Volumes, uid}]; t != nil {
		return t.dead.(*volume)
	}
	return nil
}

// eachPod calls do for each pod that is living or not evicted yet.
func (inv *Inventory) eachPod(do func(*pod)) {
	for _, p := range inv.pods {
		do(p)
	}
	for _, t := range inv.dead {
		if p, ok := t.dead.(*pod); ok {
			do(p)
		}
	}
	for _, p := range inv.dirtyPods { // pods that are deleted in this very event
		if p.gone && !p.tombstoned {
			do(p)
		}
	}
}
