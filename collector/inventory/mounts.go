package inventory

import (
	"cmp"
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// mount is a line of a container's volumeMounts or volumeDevices that is
// storage.
type mount struct {
	traits                   unique.Handle[mountTraits]
	emitted                  uint64    // hash of the row that went out last; 0 for none
	emittedStart, emittedEnd fact.Time // as they have been told
	container, volume        uint16    // indices into the pod's
}

// mountTraits is what the mounts of a template have in common.
type mountTraits struct {
	path, subPath              string
	readOnly, recursive, block bool
}

// podMounts reads the mounts of a pod's spec; containers count in the order of
// containerSpecs.
func podMounts(o *corev1.Pod, volumes []podVolume) []mount {
	index := func(name string) int {
		for i := range volumes {
			if volumes[i].name.Value() == name {
				return i
			}
		}
		return -1
	}
	var list []mount
	n := 0
	put := func(volume string, traits mountTraits) {
		if v := index(volume); v >= 0 {
			traits.readOnly = traits.readOnly || readOnlyVolume(o, volume)
			list = append(list, mount{container: uint16(n), volume: uint16(v), traits: unique.Make(traits)})
		}
	}
	add := func(mounts []corev1.VolumeMount, devices []corev1.VolumeDevice) {
		for i := range mounts {
			m := &mounts[i]
			put(m.Name, mountTraits{
				path: m.MountPath, subPath: cmp.Or(m.SubPath, m.SubPathExpr), readOnly: m.ReadOnly,
				recursive: m.RecursiveReadOnly != nil && *m.RecursiveReadOnly == corev1.RecursiveReadOnlyEnabled,
			})
		}
		for i := range devices {
			put(devices[i].Name, mountTraits{path: devices[i].DevicePath, block: true})
		}
		n++
	}
	for i := range o.Spec.InitContainers {
		add(o.Spec.InitContainers[i].VolumeMounts, o.Spec.InitContainers[i].VolumeDevices)
	}
	for i := range o.Spec.Containers {
		add(o.Spec.Containers[i].VolumeMounts, o.Spec.Containers[i].VolumeDevices)
	}
	for i := range o.Spec.EphemeralContainers {
		add(o.Spec.EphemeralContainers[i].VolumeMounts, o.Spec.EphemeralContainers[i].VolumeDevices)
	}
	return list
}

// readOnlyVolume reports whether a pod takes a claim read-only as a whole.
func readOnlyVolume(o *corev1.Pod, volume string) bool {
	return slices.ContainsFunc(o.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Name == volume && v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ReadOnly
	})
}

// resolve finds the claim of a pod's volume among those that have had its name.
//
// A pod that has started holds the claim that existed then: the finalizer of
// StorageObjectInUseProtection keeps a claim until its pods have ended, so it is
// the youngest one created before the start and not gone by then. The API's times
// are in whole seconds; where the versions of the objects were seen, those tell more. A
// node's clock
// that is behind can make that none: as long as the pod runs, the finalizer says
// that the living one is its claim. A pod that has not started awaits the living
// one. A generic ephemeral volume's claim is the
// one that the pod owns; another one of its name is a conflict, and the pod does
// not start (seeds/generic-ephemeral-volumes.md).
func (inv *Inventory) resolve(p *pod, i int) {
	u := &p.volumes[i]
	slot := inv.slot(name{p.namespace, u.claimName})
	var found, living *claim
	sure := false // of found
	for _, c := range slot.claims {
		if u.ephemeral && intern.Text(c.podUID) != p.uid {
			continue
		}
		if c.deleted == 0 {
			living = c
		}
		existed := c.created <= p.started && (c.deleted == 0 || c.deleted >= p.started)
		held := existed && inv.lives[c].holds(p.startedIn)
		if existed && (found == nil || held && !sure || held == sure && c.created >= found.created) {
			found, sure = c, held
		}
	}
	if found == nil && !p.over() {
		found = living
	}
	if u.claim == found {
		return
	}
	former := u.claim
	u.uncount(inv)
	u.claim = found
	if found != nil { // one copy of the strings is enough
		p.namespace, u.claimName = found.name.namespace, found.name.name
	}
	if former != nil {
		former.lastUsed = inv.lastUseOf(former)
		inv.markSnapshot(former)
		inv.markClaimState(former)
	}
}

// volumeAt is the volume that a claim had at a moment. It has one in its life, but for
// a Lost claim that was given another one.
func (inv *Inventory) volumeAt(c *claim, at fact.Time) *volume {
	formers := inv.formers[c.uid]
	if len(formers) == 0 || c.volume == nil || c.volume.created <= at {
		return c.volume
	}
	for _, v := range slices.Backward(formers) {
		if v.created <= at {
			return v
		}
	}
	return formers[0]
}

// lastUseOf computes a claim's last use anew, after a pod turned out to be
// another claim's.
func (inv *Inventory) lastUseOf(c *claim) (at fact.Time) {
	for _, p := range inv.slot(c.name).pods {
		for i := range p.mounts {
			if m := &p.mounts[i]; p.volumes[m.volume].claim == c {
				at = latest(at, m.emittedEnd)
			}
		}
	}
	return at
}

// tellMounts gives out the mounts of a pod that are not as they were last told.
// A mount begins with its container's first start: before that there is none.
func (inv *Inventory) emitMounts(p *pod, seen Observation) {
	for i := range p.mounts {
		m := &p.mounts[i]
		c, u := &p.containers[m.container], &p.volumes[m.volume]
		if c.started == 0 || (u.ephemeral && u.claim == nil) { // a conflict of names, or its claim is still on its way
			continue
		}
		row := inv.mountRow(p, m)
		hash := inv.hash(row)
		if hash == m.emitted {
			continue
		}
		started, ended := m.emittedStart, m.emittedEnd
		m.emitted, m.emittedStart, m.emittedEnd = hash, row.StartedAt, row.EndedAt
		row.Version = inv.nextVersion(seen.At)
		inv.update.Facts.Mounts = append(inv.update.Facts.Mounts, row)
		change := p.change(fact.Change{
			Details:    row.Volume + " in container " + row.Container + " at " + row.MountPath,
			SourceKind: row.SourceKind, Found: seen.Found && p.found,
		})
		if started == 0 {
			change.Action, change.At = fact.Mounted, row.StartedAt
			inv.change(change)
		}
		if ended == 0 && row.EndedAt != 0 {
			change.Action, change.At, change.Details = fact.Unmounted, row.EndedAt, change.Details+": "+row.EndReason
			inv.change(change)
		}
	}
}

func (inv *Inventory) mountRow(p *pod, m *mount) fact.Mount {
	c, u, traits := &p.containers[m.container], &p.volumes[m.volume], m.traits.Value()
	row := fact.Mount{
		Namespace: p.namespace, PodUID: p.uid, Container: c.traits.Value().name, Volume: u.name.Value(), MountPath: traits.path,
		SubPath: traits.subPath, ReadOnly: traits.readOnly || u.source.isReadOnly(), RecursiveReadOnly: traits.recursive, BlockDevice: traits.block, SourceKind: u.source.kindOr(""),
		SourceID: u.source.idText(), ClaimName: u.claimName, StartedAt: c.started, StartedNotBefore: c.started, EndedAt: c.finished, EndedNotBefore: c.notBefore,
	}
	if c.finished != 0 {
		row.EndReason = c.reason.Value()
	}
	if u.claim != nil {
		row.ClaimUID = u.claim.uid
		if v := inv.volumeAt(u.claim, c.started); v != nil {
			row.VolumeUID, row.SourceKind, row.SourceID = v.uid, v.source.kindOr(""), v.source.idText()
			row.ReadOnly = row.ReadOnly || v.source.isReadOnly()
		}
	}
	return row
}

// countUse counts a pod's volumes into their claims: containers that use them,
// whether the pod awaits them, and when it last used them.
func (inv *Inventory) countUse(p *pod) {
	for i := range p.volumes {
		u := &p.volumes[i]
		if u.claim == nil {
			continue
		}
		active, lastUsed, waits := int32(0), fact.Time(0), p.started == 0
		counted := -1 // the last container counted: one that mounts a volume twice uses it once
		for j := range p.mounts {
			switch m := &p.mounts[j]; {
			case int(m.volume) != i:
			case p.containers[m.container].started == 0:
				waits = true
			case m.emittedEnd == 0:
				if int(m.container) != counted {
					active, counted = active+1, int(m.container)
				}
			default:
				lastUsed = latest(lastUsed, m.emittedEnd)
			}
		}
		pending := waits && active == 0 && !p.over()
		if active == u.active && pending == u.pending && lastUsed <= u.claim.lastUsed {
			continue
		}
		u.uncount(inv)
		u.active, u.pending = active, pending
		u.claim.active += active
		if pending {
			u.claim.pending++
		}
		u.claim.lastUsed = latest(u.claim.lastUsed, lastUsed)
		inv.markSnapshot(u.claim)
	}
}

// uncount takes back what was counted.
func (u *podVolume) uncount(inv *Inventory) {
	if u.claim == nil {
		return
	}
	u.claim.active -= u.active
	if u.pending {
		u.claim.pending--
	}
	u.active, u.pending = 0, false
	inv.markClaimState(u.claim)
}
