package inventory

import (
	"cmp"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
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
	var few [fewMounts]use // on the stack, for nearly all pods
	now := few[:]
	if len(p.volumes) > len(few) {
		now = make([]use, len(p.volumes))
	}
	p.addUses(now)
	for i := range p.volumes {
		u := &p.volumes[i]
		if u.claim == nil {
			continue
		}
		now[i].pending = waits && now[i].active == 0
		if now[i] != u.use {
			inv.recount(p, u, now[i])
		}
	}
}

// addUses adds the pod's mounts to the uses of its volumes, which are in the order of p.volumes.
func (p *pod) addUses(uses []use) {
	var counted map[countedUse]struct{}
	if len(p.mounts) > fewMounts {
		counted = make(map[countedUse]struct{}, len(p.mounts))
	}
	for j := range p.mounts {
		m := &p.mounts[j]
		now := &uses[m.volume]
		switch {
		case p.containers[m.container].started == 0:
		case m.emittedEnd != 0:
			now.lastUse = latest(now.lastUse, m.emittedEnd)
		case !p.countedBefore(j, counted):
			now.active++
		}
	}
}

// fewMounts is the number of mounts up to which a scan of them is as fast as a map. Nearly all pods have
// fewer. A scan for each of ten thousand mounts would take 0.1 s at each sync.
const fewMounts = 16

// countedUse is a use that counts once: that of a volume by a container.
type countedUse struct {
	container uint16
	volume    *volume // nil while it is not known: then index distinguishes the pod's volumes
	index     uint16
}

// countedBefore reports whether an earlier mount has already counted the use of mount j: a
// container that mounts a volume twice, through one volume of its pod or through two, uses it once
// (rule 4.4). With a map, the use of mount j is added to it.
func (p *pod) countedBefore(j int, counted map[countedUse]struct{}) bool {
	this := &p.mounts[j]
	if counted != nil {
		key := countedUse{container: this.container, volume: p.volumes[this.volume].volume}
		if key.volume == nil {
			key.index = this.volume
		}
		_, before := counted[key]
		counted[key] = struct{}{}
		return before
	}
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
func (inv *Inventory) recount(p *pod, u *podVolume, now use) {
	was := u.use
	u.use = now
	u.claim.pending += b2i(now.pending) - b2i(was.pending)
	if v := u.volume; v != nil {
		shown, before := v.shownUnseenUse(), v.usage()
		v.active += now.active - was.active
		if now.lastUse < was.lastUse && was.lastUse == v.lastUse {
			inv.findLastUse(v)
		}
		v.setLastUse(now.lastUse, p)
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
	inUse    bool
	lastUse  fact.Time
	lastUser *pod
}

func (v *volume) usage() usage {
	if v.active > 0 {
		return usage{inUse: true}
	}
	return usage{lastUse: v.lastUse, lastUser: v.lastUser}
}

// volumeUse returns the row of volume_uses. Pods are evicted long after their use has ended, and so after the row that
// names them was emitted.
func (inv *Inventory) volumeUse(v *volume, version uint64) fact.VolumeUse {
	row := fact.VolumeUse{Version: version, VolumeUID: v.uid, InUse: v.active > 0}
	if row.InUse || v.lastUse == 0 {
		return row
	}
	row.LastEndedAt, row.LastEndedNotBefore = v.lastUse, v.lastUse
	p, m := v.lastUser, v.lastMount()
	if m == nil { // it was restored, and its pod is evicted: an earlier row names it
		return row
	}
	traits := p.traits.Value()
	row.LastEndedNotBefore = p.containers[m.container].notBefore
	row.LastNamespace, row.LastPodUID, row.LastPod = p.namespace, p.uid, p.name.name
	row.LastWorkloadKind, row.LastWorkloadName = traits.workload.kind, traits.workload.name
	return row
}

// markUse makes a sync emit the rows of volume_uses that name a pod: it has more to say of its use.
func (inv *Inventory) markUse(p *pod) {
	for i := range p.volumes {
		if v := p.volumes[i].volume; v != nil && v.lastUser == p && v.active == 0 {
			v.freshUse = true
			inv.markVolume(v)
		}
	}
}

// lastMount returns the mount by which a volume's last user used it last.
func (v *volume) lastMount() (last *mount) {
	if v.lastUser == nil {
		return nil
	}
	for i := range v.lastUser.mounts {
		m := &v.lastUser.mounts[i]
		if v.lastUser.volumes[m.volume].volume == v && m.emittedEnd == v.lastUse && (last == nil || m.emittedStart > last.emittedStart) {
			last = m
		}
	}
	return last
}

// setLastUse takes the end of a pod's use of a volume. Of several that ended at the same time, the one that began last
// counts, and then the one with the highest UID.
func (v *volume) setLastUse(at fact.Time, p *pod) {
	if at == 0 || at < v.lastUse {
		return
	}
	before, former := v.lastMount(), v.lastUser
	same := at == v.lastUse && former != p
	v.lastUse, v.lastUser = at, p
	if now := v.lastMount(); same && before != nil && now != nil &&
		cmp.Or(cmp.Compare(before.emittedStart, now.emittedStart), cmp.Compare(former.uid, p.uid)) > 0 {
		v.lastUser = former
	}
}

// uncount removes the contribution of a pod's volume.
func (inv *Inventory) uncount(p *pod, u *podVolume) {
	if u.claim != nil && u.use != (use{}) {
		inv.recount(p, u, use{})
	}
}

func b2i(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// findLastUse sets a volume's last use from savedUse and from the pods in memory. It scans
// all pods, and is needed only if a pod turns out to have used another volume than it seemed, or if
// a use that had ended continues.
func (inv *Inventory) findLastUse(v *volume) {
	v.lastUse, v.lastUser = v.savedUse, nil
	inv.eachPod(func(p *pod) {
		for i := range p.volumes {
			if u := &p.volumes[i]; u.volume == v {
				v.setLastUse(u.lastUse, p)
			}
		}
	})
}

// fold saves the use of a pod that is evicted in its volume, so that the last use does not depend
// on the pods in memory (rule 4.2).
func (inv *Inventory) fold(p *pod, u *podVolume) {
	if v := u.volume; v != nil && u.lastUse > v.savedUse && inv.volumeByUID(v.uid) == v {
		v.savedUse = u.lastUse
		v.lastUse = latest(v.lastUse, v.savedUse)
		inv.markSnapshot(v)
	}
	if v := u.volume; v != nil && v.lastUser == p {
		v.lastUser = nil
	}
	u.lastUse = 0
	inv.uncount(p, u)
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
