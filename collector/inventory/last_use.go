package inventory

import (
	"cmp"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// use is what a pod's volume contributes to its claim and volume (rules 4.1 to 4.4).
type use struct {
	lastUse fact.Time // end of the last use that is over; 0 if there is none
	active  int32     // containers that use the volume now
	pending bool      // the pod awaits it
}

// countUse adds the use of a pod's volumes to their claims and volumes.
func (inv *Inventory) countUse(p *pod) {
	waits := p.waits()
	for i := range p.volumes {
		u := &p.volumes[i]
		if u.claim == nil {
			continue
		}
		var now use
		for j := range p.mounts {
			switch m := &p.mounts[j]; {
			case int(m.volume) != i || p.containers[m.container].started == 0:
			case m.emittedEnd != 0:
				now.lastUse = latest(now.lastUse, m.emittedEnd)
			case !p.countedBefore(j):
				now.active++
			}
		}
		now.pending = waits && now.active == 0
		if now != u.use {
			inv.recount(u, now)
		}
	}
}

// countedBefore reports whether an earlier mount has already counted the use of mount j: a
// container that mounts a volume twice, through one volume of its pod or through two, uses it once
// (rule 4.4).
func (p *pod) countedBefore(j int) bool {
	this := &p.mounts[j]
	for i := range p.mounts[:j] {
		m := &p.mounts[i]
		if m.container == this.container && m.emittedEnd == 0 && p.sameVolume(m, this) {
			return true
		}
	}
	return false
}

func (p *pod) sameVolume(a, b *mount) bool {
	u, v := &p.volumes[a.volume], &p.volumes[b.volume]
	return a.volume == b.volume || u.volume != nil && u.volume == v.volume
}

// waits reports whether a pod awaits its volumes: none of its main containers has started yet. A
// container that can never start beside a running one awaits nothing (rule 5.3).
func (p *pod) waits() bool {
	if p.over() {
		return false
	}
	for i := range p.containers {
		c := &p.containers[i]
		if c.started != 0 && c.traits.Value().kind == fact.MainContainer {
			return false
		}
	}
	return true
}

// recount replaces the earlier contribution of a pod's volume with the present one. If that
// corrects the volume's last use, recount recomputes the last use from the pods in memory and from
// the use that fold saved of evicted pods (rule 4.2).
func (inv *Inventory) recount(u *podVolume, now use) {
	was := u.use
	u.use = now
	u.claim.pending += b2i(now.pending) - b2i(was.pending)
	if v := u.volume; v != nil {
		shown, before := v.shownUnseenUse(), v.usage()
		v.active += now.active - was.active
		if now.lastUse < was.lastUse && was.lastUse == v.lastUse {
			v.lastUse = inv.findLastUse(v)
		}
		v.lastUse = latest(v.lastUse, now.lastUse)
		if v.shownUnseenUse() != shown {
			v.fresh = true
			inv.markVolume(v)
		}
		if v.usage() != before {
			v.freshUse = true
			inv.markVolume(v)
		}
		inv.markVolumeState(v)
	}
	inv.markClaimState(u.claim)
}

// usage is what the catalog keeps of a volume's use: whether it is in use, or else when it was used last.
type usage struct {
	inUse   bool
	lastUse fact.Time
}

func (v *volume) usage() usage {
	if v.active > 0 {
		return usage{inUse: true}
	}
	return usage{lastUse: v.lastUse}
}

// volumeUse returns the row of volume_uses. The pod of the last use is looked for in memory: pods are evicted long after
// their use has ended, and so after that row was emitted.
func (inv *Inventory) volumeUse(v *volume, version uint64) fact.VolumeUse {
	row := fact.VolumeUse{Version: version, VolumeUID: v.uid, InUse: v.active > 0}
	if row.InUse || v.lastUse == 0 {
		return row
	}
	row.EndedAt, row.EndedNotBefore = v.lastUse, v.lastUse
	p, m := inv.lastUser(v)
	if p == nil {
		return row
	}
	traits := p.traits.Value()
	row.EndedNotBefore = p.containers[m.container].notBefore
	row.Namespace, row.PodUID, row.Pod = p.namespace, p.uid, p.name.name
	row.WorkloadKind, row.WorkloadName = traits.workload.kind, traits.workload.name
	row.Owner, row.Groups = traits.owner, intern.Split(traits.groups)
	return row
}

// lastUser returns the pod, and its mount, whose use of a volume was the last to end; nil if it is evicted. Of several
// that ended at the same time it returns the one that began last, then the one with the highest UID.
func (inv *Inventory) lastUser(v *volume) (last *pod, by *mount) {
	for _, p := range inv.podsOf(v) {
		for i := range p.mounts {
			m := &p.mounts[i]
			if p.volumes[m.volume].volume != v || m.emittedEnd != v.lastUse {
				continue
			}
			if last == nil || cmp.Or(cmp.Compare(m.emittedStart, by.emittedStart), cmp.Compare(p.uid, last.uid)) > 0 {
				last, by = p, m
			}
		}
	}
	return last, by
}

// uncount removes the contribution of a pod's volume.
func (inv *Inventory) uncount(u *podVolume) {
	if u.claim != nil && u.use != (use{}) {
		inv.recount(u, use{})
	}
}

func b2i(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// findLastUse computes a volume's last use from settledUse and from the pods in memory. It scans
// all pods, and is needed only if a pod turns out to have used another volume than it seemed, or if
// a use that had ended continues.
func (inv *Inventory) findLastUse(v *volume) fact.Time {
	at := v.settledUse
	inv.eachPod(func(p *pod) {
		for i := range p.volumes {
			if u := &p.volumes[i]; u.volume == v {
				at = latest(at, u.lastUse)
			}
		}
	})
	return at
}

// fold saves the use of a pod that is evicted in its volume, so that the last use does not depend
// on the pods in memory (rule 4.2).
func (inv *Inventory) fold(u *podVolume) {
	if v := u.volume; v != nil && u.lastUse > v.settledUse && inv.volumeByUID(v.uid) == v {
		v.settledUse = u.lastUse
		v.lastUse = latest(v.lastUse, v.settledUse)
		inv.markSnapshot(v)
	}
	u.lastUse = 0
	inv.uncount(u)
}

// firstStart returns when the longest of a volume's present uses began.
func (inv *Inventory) firstStart(v *volume) (at fact.Time) {
	for _, p := range inv.podsOf(v) {
		for i := range p.mounts {
			m := &p.mounts[i]
			if p.volumes[m.volume].volume == v && m.emittedStart != 0 && m.emittedEnd == 0 {
				at = earliest(at, m.emittedStart)
			}
		}
	}
	return at
}

// podsOf returns the pods that may use a volume: those of its claim, or all pods if the claim is
// not known or none of its pods uses the volume.
func (inv *Inventory) podsOf(v *volume) []*pod {
	var counted int32
	if v.user != nil {
		list := inv.slot(v.user.name).pods
		for _, p := range list {
			for i := range p.volumes {
				if p.volumes[i].volume == v {
					counted += p.volumes[i].active
				}
			}
		}
		if counted == v.active {
			return list
		}
	}
	var all []*pod
	inv.eachPod(func(p *pod) { all = append(all, p) })
	return all
}

// firstWait returns since when the longest waiting of a claim's pods has waited: since the pod was
// created, or since it last used the volume in an init container (rule 5.3).
func (inv *Inventory) firstWait(c *claim) (at fact.Time) {
	for _, p := range inv.slot(c.name).pods {
		for i := range p.volumes {
			if u := &p.volumes[i]; u.claim == c && u.pending {
				at = earliest(at, latest(p.created, u.lastUse))
			}
		}
	}
	return at
}
