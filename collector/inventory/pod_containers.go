package inventory

import (
	"unique"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// updateContainers applies the changes that a pod's containers allow: a running pod can get
// ephemeral containers, and another image (rule 6.5). A container that the spec lacks, as after
// etcd was restored from a backup, is kept (rule 6.4).
func (inv *Inventory) updateContainers(p *pod, o *corev1.Pod) {
	known, missing, i := len(p.containers), false, 0
	take := func(name, image string) {
		c := p.containerNear(i, name)
		i++
		if missing = missing || c == nil; c == nil {
			return
		}
		if traits := c.traits.Value(); traits.image != image {
			traits.image = image
			c.traits, c.fresh = unique.Make(traits), true
		}
	}
	for j := range o.Spec.InitContainers {
		take(o.Spec.InitContainers[j].Name, o.Spec.InitContainers[j].Image)
	}
	for j := range o.Spec.Containers {
		take(o.Spec.Containers[j].Name, o.Spec.Containers[j].Image)
	}
	for j := range o.Spec.EphemeralContainers {
		take(o.Spec.EphemeralContainers[j].Name, o.Spec.EphemeralContainers[j].Image)
	}
	if !missing {
		return
	}
	for j, c := range containerSpecs(o) {
		if known == 0 || p.containerNear(j, c.traits.Value().name) == nil {
			p.containers = append(p.containers, c)
		}
	}
	p.containers = retainList(inv, &inv.containers, p.containers)
	if known > 0 {
		p.mounts = append(p.mounts, podMounts(o, p, known)...)
	}
}

// containerNear is container, optimised for a container that is most likely at index i.
func (p *pod) containerNear(i int, name string) *container {
	if i < len(p.containers) && p.containers[i].traits.Value().name == name {
		return &p.containers[i]
	}
	return p.container(name)
}

// container returns the pod's container with a name; nil if there is none. Names are unique in a
// pod.
func (p *pod) container(name string) *container {
	for i := range p.containers {
		if p.containers[i].traits.Value().name == name {
			return &p.containers[i]
		}
	}
	return nil
}

// noteContainers takes the statuses of all containers, and reports whether anything changed.
func (inv *Inventory) noteContainers(p *pod, o *corev1.Pod, end podEnd, obs Observation) bool {
	changed := false
	said := inv.said(end.said, obs)
	first := p.isNew() && !inv.restoring
	for i := range p.containers {
		c := &p.containers[i]
		before := c.containerUse
		traits := c.traits.Value()
		list := o.Status.ContainerStatuses
		switch traits.kind {
		case fact.InitContainer, fact.SidecarContainer:
			list = o.Status.InitContainerStatuses
		case fact.EphemeralContainer:
			list = o.Status.EphemeralContainerStatuses
		}
		if s := statusOf(list, i, traits.name); s != nil {
			c.note(s, p, said, first)
			p.noteRecursive(i, s.VolumeMounts)
		}
		inv.infer(p, c, end, said, obs)
		if !c.run.over && !end.over { // rule 3.3
			inv.vouch(p, c, end.said)
		}
		c.fresh = c.fresh || c.containerUse != before
		changed = changed || c.fresh
	}
	if unready := isUnready(o); unready != p.unready {
		p.unready = unready
		if inv.asksForReady(p) {
			inv.markSnapshot(p)
		}
	}
	return changed
}

// vouchEvery is how much of a kubelet's vouching may be lost in a restart: 60 s. Not each status
// that a kubelet writes is worth a record in the journal.
const vouchEvery = fact.Time(60_000_000)

// vouch records that the kubelet has reported a container as running, or as yet to start.
func (inv *Inventory) vouch(p *pod, c *container, said fact.Time) {
	if said <= c.vouched {
		return
	}
	if said/vouchEvery != c.vouched/vouchEvery {
		inv.markSnapshot(p)
	}
	c.vouched = said
}

// statusOf returns the status of a container, most likely at or near index i; nil if there is none.
func statusOf(list []corev1.ContainerStatus, i int, name string) *corev1.ContainerStatus {
	for n := range list {
		if s := &list[(i+n)%len(list)]; s.Name == name {
			return s
		}
	}
	return nil
}

func isUnready(o *corev1.Pod) bool {
	for i := range o.Status.Conditions {
		if c := &o.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status != corev1.ConditionTrue
		}
	}
	return false
}

// noteRecursive records which mounts of a container became recursively read-only, where the spec
// requested that if possible.
func (p *pod) noteRecursive(container int, statuses []corev1.VolumeMountStatus) {
	var paths map[string]bool // nil for nearly all pods
	for i := range statuses {
		if s := &statuses[i]; s.RecursiveReadOnly != nil && *s.RecursiveReadOnly == corev1.RecursiveReadOnlyEnabled {
			if paths == nil {
				paths = make(map[string]bool, len(statuses)-i)
			}
			paths[s.MountPath] = true
		}
	}
	if paths == nil {
		return
	}
	for i := range p.mounts {
		m := &p.mounts[i]
		if traits := m.traits.Value(); int(m.container) == container && paths[traits.path] && !traits.recursive {
			traits.recursive = true
			m.traits = unique.Make(traits)
		}
	}
}
