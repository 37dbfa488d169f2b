package inventory

import (
	corev1 "k8s.io/api/core/v1"
)

// mount is a line of a container's volumeMounts or volumeDevices that is
// storage.
type mount struct {
	container, volume int // indices into the pod's
	path, subPath     string
	readOnly, block   bool
	told              told
}

// told is what has gone out of a mount and can change; all zero before it
// started.
type told struct {
	claimUID, volumeUID       string
	source                    sourceRef
	started, ended, notBefore Time
	reason                    string
}

// podMounts reads the mounts of a pod's spec; containers count in the order of
// containerSpecs.
func podMounts(o *corev1.Pod, volumes []podVolume) []mount {
	index := func(name string) int {
		for i := range volumes {
			if volumes[i].name == name {
				return i
			}
		}
		return -1
	}
	var list []mount
	n := 0
	add := func(mounts []corev1.VolumeMount, devices []corev1.VolumeDevice) {
		for i := range mounts {
			m := &mounts[i]
			if v := index(m.Name); v >= 0 {
				sub := m.SubPath
				if sub == "" {
					sub = m.SubPathExpr
				}
				list = append(list, mount{container: n, volume: v, path: m.MountPath, subPath: sub, readOnly: m.ReadOnly || readOnlyVolume(o, m.Name)})
			}
		}
		for i := range devices {
			if v := index(devices[i].Name); v >= 0 {
				list = append(list, mount{container: n, volume: v, path: devices[i].DevicePath, block: true, readOnly: readOnlyVolume(o, devices[i].Name)})
			}
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
	for i := range o.Spec.Volumes {
		if v := &o.Spec.Volumes[i]; v.Name == volume {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ReadOnly
		}
	}
	return false
}

// resolve finds the claim of a pod's volume among those that have had its name.
//
// A pod that has started holds the claim that existed then: the finalizer of
// StorageObjectInUseProtection keeps a claim until its pods have ended, so it is
// the youngest one created before the start and not gone by then. A node's clock
// that is behind can make that none: as long as the pod runs, the finalizer says
// that the living one is its claim. A pod that has not started awaits the living
// one. A generic ephemeral volume's claim is the
// one that the pod owns; another one of its name is a conflict, and the pod does
// not start (seeds/generic-ephemeral-volumes.md).
func (inv *Inventory) resolve(p *pod, i int) {
	u := &p.volumes[i]
	slot := inv.slot(name{p.row.Namespace, u.claimName})
	var found, living *claim
	for _, c := range slot.claims {
		row := &c.row
		if u.ephemeral && row.PodUID != p.row.UID {
			continue
		}
		if row.DeletedAt == 0 {
			living = c
		}
		existed := row.CreatedAt <= p.row.StartedAt && (row.DeletedAt == 0 || row.DeletedAt >= p.row.StartedAt)
		if existed && (found == nil || row.CreatedAt >= found.row.CreatedAt) {
			found = c
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
	if former != nil {
		former.lastUsed = inv.lastUseOf(former)
		inv.touchClaim(former)
	}
}

// lastUseOf computes a claim's last use anew, after a pod turned out to be
// another claim's.
func (inv *Inventory) lastUseOf(c *claim) (at Time) {
	for _, p := range inv.slot(c.key()).pods {
		for i := range p.mounts {
			if m := &p.mounts[i]; p.volumes[m.volume].claim == c {
				at = latest(at, m.told.ended)
			}
		}
	}
	return at
}

// tellMounts gives out the mounts of a pod that are not as they were last told.
// A mount begins with its container's first start: before that there is none.
func (inv *Inventory) tellMounts(p *pod, seen Seen) {
	for i := range p.mounts {
		m := &p.mounts[i]
		c, u := &p.containers[m.container], &p.volumes[m.volume]
		if c.row.StartedAt == 0 {
			continue
		}
		now := told{source: u.source, started: c.row.StartedAt, ended: c.row.FinishedAt, notBefore: c.notBefore, reason: c.reason}
		if u.claim != nil {
			now.claimUID, now.volumeUID, now.source = u.claim.row.UID, u.claim.row.VolumeUID, u.claim.source
		} else if u.ephemeral {
			continue // a conflict of names, or its claim is still on its way
		}
		if now == m.told {
			continue
		}
		before := m.told
		m.told = now
		row := Mount{
			Version: inv.nextVersion(seen.At), Namespace: p.row.Namespace, PodUID: p.row.UID, Container: c.row.Name,
			Volume: u.name, MountPath: m.path, SubPath: m.subPath, ReadOnly: m.readOnly, BlockDevice: m.block,
			SourceKind: now.source.kind, SourceID: now.source.id, ClaimUID: now.claimUID, ClaimName: u.claimName,
			VolumeUID: now.volumeUID, StartedAt: now.started, EndedAt: now.ended, EndedNotBefore: now.notBefore,
			EndReason: now.reason,
		}
		inv.update.Facts.Mounts = append(inv.update.Facts.Mounts, row)
		inv.mountChanges(p, &row, before, seen)
	}
}

func (inv *Inventory) mountChanges(p *pod, row *Mount, before told, seen Seen) {
	c := Change{
		Kind: string(Pods), UID: row.PodUID, Namespace: row.Namespace, Name: p.row.Name, SourceKind: row.SourceKind,
		Details: row.Volume + " in container " + row.Container + " at " + row.MountPath, Found: seen.Found && p.found,
	}
	if before.started == 0 {
		c.Action, c.At = Mounted, row.StartedAt
		inv.change(c)
	}
	if before.ended == 0 && row.EndedAt != 0 {
		c.Action, c.At, c.Details = Unmounted, row.EndedAt, c.Details+": "+row.EndReason
		inv.change(c)
	}
}

// countUse counts a pod's volumes into their claims: containers that use them,
// whether the pod awaits them, and when it last used them.
func (inv *Inventory) countUse(p *pod) {
	for i := range p.volumes {
		u := &p.volumes[i]
		if u.claim == nil {
			continue
		}
		active, lastUsed, waits := 0, Time(0), p.row.StartedAt == 0
		counted := -1 // the last container counted: one that mounts a volume twice uses it once
		for j := range p.mounts {
			switch m := &p.mounts[j]; {
			case m.volume != i:
			case p.containers[m.container].row.StartedAt == 0:
				waits = true
			case m.told.ended == 0:
				if m.container != counted {
					active, counted = active+1, m.container
				}
			default:
				lastUsed = latest(lastUsed, m.told.ended)
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
	inv.touchClaim(u.claim)
}
