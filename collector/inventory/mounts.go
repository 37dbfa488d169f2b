package inventory

import (
	"cmp"
	"math"
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// mount is an entry of a container's volumeMounts or volumeDevices that refers to storage.
type mount struct {
	traits                   unique.Handle[mountTraits]
	emitted                  uint64    // hash of the row that was emitted last; 0 for none
	emittedStart, emittedEnd fact.Time // as they were emitted
	container, volume        uint16    // indices into the pod's lists
}

// mountTraits are values that the mounts of one template share.
type mountTraits struct {
	path, subPath              string
	readOnly, recursive, block bool
}

// podMounts reads the mounts of a pod's spec, of its containers from index from on.
func podMounts(o *corev1.Pod, p *pod, from int) []mount {
	var list []mount
	volumes := mountableVolumes(o, p)
	n := 0
	add := func(name string, mounts []corev1.VolumeMount, devices []corev1.VolumeDevice) {
		at := n
		if n++; at >= len(p.containers) || p.containers[at].traits.Value().name != name {
			at = slices.IndexFunc(p.containers, func(c container) bool { return c.traits.Value().name == name })
		}
		if at < from || at > math.MaxUint16 {
			return
		}
		put := func(volume string, traits mountTraits) {
			v, ok := volumes[volume]
			if !ok {
				return
			}
			traits.readOnly = traits.readOnly || v.readOnly
			list = append(list, mount{container: uint16(at), volume: v.index, traits: unique.Make(traits)})
		}
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
	}
	for i := range o.Spec.InitContainers {
		c := &o.Spec.InitContainers[i]
		add(c.Name, c.VolumeMounts, c.VolumeDevices)
	}
	for i := range o.Spec.Containers {
		c := &o.Spec.Containers[i]
		add(c.Name, c.VolumeMounts, c.VolumeDevices)
	}
	for i := range o.Spec.EphemeralContainers {
		c := &o.Spec.EphemeralContainers[i]
		add(c.Name, c.VolumeMounts, c.VolumeDevices)
	}
	return list
}

// mountableVolume is what a mount needs to know of a volume that it names.
type mountableVolume struct {
	index    uint16 // in the pod's list
	readOnly bool   // the volume is a claim that the whole pod uses read-only
}

// mountableVolumes returns the pod's storage volumes by name. It leaves out volumes that an index of 16
// bits does not reach: their mounts get no row, which is better than the row of another volume.
func mountableVolumes(o *corev1.Pod, p *pod) map[string]mountableVolume {
	named := make(map[string]mountableVolume, len(p.volumes))
	for i := range p.volumes[:min(len(p.volumes), math.MaxUint16+1)] {
		name := p.volumes[i].name.Value()
		if _, ok := named[name]; !ok {
			named[name] = mountableVolume{index: uint16(i)}
		}
	}
	for i := range o.Spec.Volumes {
		if v := &o.Spec.Volumes[i]; v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ReadOnly {
			if m, ok := named[v.Name]; ok {
				m.readOnly = true
				named[v.Name] = m
			}
		}
	}
	return named
}

// emitMounts emits the pod's mounts that differ from the last ones emitted. A mount begins with its
// container's first start; before that there is no row (rule 3.1).
func (inv *Inventory) emitMounts(p *pod, obs Observation) {
	claims, inline := p.countVolumes()
	ended := false
	for i := range p.mounts {
		m := &p.mounts[i]
		if p.containers[m.container].started == 0 || p.awaitsOwnClaim(&p.volumes[m.volume]) {
			continue
		}
		row := inv.mountRow(p, m)
		row.ClaimVolumes, row.InlineVolumes = claims, inline
		hash := hashOf(inv, row)
		if hash == m.emitted {
			continue
		}
		inv.emitMountChanges(p, m, &row, obs)
		m.emitted, m.emittedStart, m.emittedEnd = hash, row.StartedAt, row.EndedAt
		row.Version = inv.nextVersion(obs.At)
		inv.update.Facts.Mounts = append(inv.update.Facts.Mounts, row)
		ended = ended || row.EndedAt != 0
	}
	if ended {
		inv.markUse(p)
	}
}

// countVolumes returns how many of the pod's volumes are claims, and how many are not. The rows have 16
// bits for each: a larger count is given as 65,535.
func (p *pod) countVolumes() (claims, inline uint16) {
	n := 0
	for i := range p.volumes {
		if p.volumes[i].claimName != "" {
			n++
		}
	}
	return uint16(min(n, math.MaxUint16)), uint16(min(len(p.volumes)-n, math.MaxUint16))
}

// awaitsOwnClaim reports whether the claim of a generic ephemeral volume is yet to arrive, or
// another claim has its name.
func (p *pod) awaitsOwnClaim(u *podVolume) bool { return u.ephemeral && u.claim == nil && !p.over() }

// emitMountChanges emits that a use began or ended. A use that continues after its end, as that of
// an init container that runs again, began once more (rule 3.4).
func (inv *Inventory) emitMountChanges(p *pod, m *mount, row *fact.Mount, obs Observation) {
	change := p.change(fact.Change{
		Details:    row.Volume + " in container " + row.Container + " at " + row.MountPath,
		SourceKind: row.SourceKind, Found: obs.Found && p.found,
	})
	started, again := m.emittedStart == 0, m.emittedEnd != 0 && row.EndedAt == 0
	if started || again {
		change.Action, change.At = fact.Mounted, row.StartedAt
		if again {
			change.At = latest(m.emittedEnd, p.containers[m.container].run.at)
		}
		inv.change(change)
	}
	if row.EndedAt != 0 && (started || m.emittedEnd == 0) {
		change.Action, change.At, change.Details = fact.Unmounted, row.EndedAt, change.Details+": "+row.EndReason
		inv.change(change)
	}
}

// mountRow returns the mount's row, without its version and the counts of countVolumes.
func (inv *Inventory) mountRow(p *pod, m *mount) fact.Mount {
	c, u, traits, user := &p.containers[m.container], &p.volumes[m.volume], m.traits.Value(), p.traits.Value()
	row := fact.Mount{
		Namespace: p.namespace, PodCreatedAt: p.created, PodUID: p.uid, Node: p.node.Value(), Container: c.traits.Value().name, Volume: u.name.Value(), MountPath: traits.path,
		SubPath: traits.subPath, ReadOnly: traits.readOnly || u.source.isReadOnly(), RecursiveReadOnly: traits.recursive,
		BlockDevice: traits.block, SourceKind: u.source.kindOr(""), SourceID: u.source.idText(), ClaimName: u.claimName,
		Owner: user.owner, Groups: user.groups, WorkloadKind: user.workload.kind, WorkloadName: user.workload.name,
		StartedAt: c.started, StartedNotBefore: c.startedNotBefore(p), EndedAt: c.finished, EndedNotBefore: c.notBefore,
	}
	if row.WorkloadName == "" {
		row.WorkloadKind, row.WorkloadName = string(fact.Pods), p.name.name
	}
	if c.finished != 0 {
		row.EndReason = c.reason.Value()
	}
	if u.claim != nil {
		row.ClaimUID = u.claim.uid
	}
	if v := u.volume; v != nil {
		row.VolumeUID, row.SourceKind, row.SourceID = v.uid, v.source.kindOr(""), v.source.idText()
		row.ReadOnly = row.ReadOnly || v.source.isReadOnly()
	}
	return row
}
