package inventory

import (
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// How long what is gone is remembered (rule 6.1), so that an event that was overtaken by
// those of other kinds still finds it. Watches lag behind each other by seconds, or by as long
// as one of them takes to be set up again.
const (
	// retention is that of a claim (after its last pod), a volume, and a pod whose claim or
	// volume is not known yet.
	retention = fact.Time(5 * time.Minute / time.Microsecond)
	// podRetention is that of a pod all of whose volumes are known; it is short, as pods that
	// come and go are most of what happens in a cluster.
	podRetention = fact.Time(30 * time.Second / time.Microsecond)
)

// subjectID is a kind and a UID: the API promises that a UID is unique, not that it is so
// across kinds.
type subjectID struct {
	kind fact.Kind
	uid  string
}

// tombstone remembers an object that is gone, and since when.
type tombstone struct {
	subjectID
	at   fact.Time
	dead any // *claim, *volume, *pod, *attachment, *controller or nodeName
}

// entomb has an object that is gone be evicted after the retention.
func (inv *Inventory) entomb(kind fact.Kind, uid string, at fact.Time, dead any) {
	t := &tombstone{subjectID{kind, uid}, at, dead}
	inv.dead[t.subjectID] = t
	inv.tombstones = append(inv.tombstones, t)
}

// entombPod does so for a pod. One with claims may yet be corrected by what is still on its
// way; one without is evicted at once.
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

// revive returns what is remembered of an object of the same UID that was deleted, and is there
// again, as after etcd was restored from a backup (rule 6.4); nil if there is nothing. It is
// not evicted any more.
func (inv *Inventory) revive(kind fact.Kind, uid string) any {
	t := inv.dead[subjectID{kind, uid}]
	if t == nil || inv.restoring {
		return nil
	}
	delete(inv.dead, t.subjectID)
	return t.dead
}

// evict drops what has been gone for long enough.
func (inv *Inventory) evict(now fact.Time) {
	inv.podTombstones = inv.evictExpired(inv.podTombstones, now, podRetention)
	inv.tombstones = inv.evictExpired(inv.tombstones, now, retention)
}

func (inv *Inventory) evictExpired(list []*tombstone, now, retention fact.Time) []*tombstone {
	n := 0
	for ; n < len(list) && now-list[n].at > retention; n++ {
		t := list[n]
		if inv.dead[t.subjectID] != t { // it was revived, and may have died again
			continue
		}
		if inv.needed(t) {
			t.at = now
			list = append(list, t)
			continue
		}
		inv.evictDead(t)
	}
	clear(list[:n]) // drops the references; append drops the room when it next grows
	return list[n:]
}

// needed reports whether something that is not gone still refers to an object that is: a pod to
// its claim, a Lost claim to its volume (rule 6.2).
func (inv *Inventory) needed(t *tombstone) bool {
	switch dead := t.dead.(type) {
	case *claim:
		return inv.usedBy(dead) != nil
	case *volume:
		return dead.user != nil && dead.user.deleted == 0 || dead.active > 0
	}
	return false
}

// usedBy returns a remembered pod whose volume a claim is; nil if there is none.
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

// claimByUID returns a claim that is there or remembered; nil if there is none.
func (inv *Inventory) claimByUID(uid string) *claim {
	if c := inv.claims[uid]; c != nil {
		return c
	}
	if t := inv.dead[subjectID{fact.Claims, uid}]; t != nil {
		return t.dead.(*claim)
	}
	return nil
}

// volumeByUID returns a volume that is there or remembered; nil if there is none.
func (inv *Inventory) volumeByUID(uid string) *volume {
	if v := inv.volumes[uid]; v != nil {
		return v
	}
	if t := inv.dead[subjectID{fact.Volumes, uid}]; t != nil {
		return t.dead.(*volume)
	}
	return nil
}

// eachPod does something with each pod that is there or remembered.
func (inv *Inventory) eachPod(do func(*pod)) {
	for _, p := range inv.pods {
		do(p)
	}
	for _, t := range inv.dead {
		if p, ok := t.dead.(*pod); ok {
			do(p)
		}
	}
	for _, p := range inv.dirtyPods { // those that go in this very event
		if p.gone && !p.tombstoned {
			do(p)
		}
	}
}
