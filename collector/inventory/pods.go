package inventory

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// pod is a pod that mounts storage; others are not held.
type pod struct {
	row        Pod
	scheduled  Time
	containers []container
	volumes    []podVolume
	mounts     []mount

	started bool // the change "started" has gone out
	found   bool // was there when we came
	fresh   bool // row has not gone out
	dirty   bool
	gone    bool
	buried  bool // is to be forgotten
}

// podVolume is a volume in a pod's spec: a claim's, or a backing store that the
// pod names itself.
type podVolume struct {
	name      string
	claimName string
	ephemeral bool      // the claim is the pod's own
	source    sourceRef // without a claim

	claim   *claim // as far as it is known
	active  int    // what is counted in claim
	pending bool
}

func (p *pod) over() bool {
	return p.gone || p.row.Phase == string(corev1.PodSucceeded) || p.row.Phase == string(corev1.PodFailed)
}

func mountsStorage(o *corev1.Pod) bool {
	return slices.ContainsFunc(o.Spec.Volumes, func(v corev1.Volume) bool { return storageVolume(&v) })
}

func (inv *Inventory) notePod(o *corev1.Pod, seen Seen) {
	p := inv.pods[string(o.UID)]
	if p == nil {
		if !mountsStorage(o) {
			return
		}
		p = inv.addPod(o, seen)
	} else if len(o.Spec.EphemeralContainers) > 0 {
		inv.addContainers(p, o)
	}
	if at := scheduledAt(o); at != 0 {
		p.scheduled = at
	}
	row := podRow(o)
	end := podEnd{
		over:   o.Status.Phase == corev1.PodSucceeded || o.Status.Phase == corev1.PodFailed,
		going:  o.DeletionTimestamp != nil,
		reason: o.Status.Reason,
	}
	changed := p.noteContainers(o, end, seen)
	row.StartedAt, row.FinishedAt = p.times()
	if !changed && p.row.same(&row) {
		return
	}
	p.row = row
	p.fresh = true
	inv.soilPod(p)
}

func podRow(o *corev1.Pod) Pod {
	w := podWorkload(o)
	return Pod{
		UID: string(o.UID), Namespace: o.Namespace, Name: o.Name, Node: o.Spec.NodeName,
		ServiceAccount: o.Spec.ServiceAccountName, Owner: ownerOf(o.Labels, o.Annotations),
		Groups: groupsOf(o.Labels, o.Annotations), WorkloadKind: w.kind, WorkloadName: w.name, WorkloadUID: w.uid,
		Phase: string(o.Status.Phase), Reason: o.Status.Reason, Labels: o.Labels,
		CreatedAt: apiTime(o.CreationTimestamp),
	}
}

func (a *Pod) same(b *Pod) bool {
	return a.UID == b.UID && a.Namespace == b.Namespace && a.Name == b.Name && a.Node == b.Node &&
		a.ServiceAccount == b.ServiceAccount && a.Owner == b.Owner && slices.Equal(a.Groups, b.Groups) &&
		a.WorkloadKind == b.WorkloadKind && a.WorkloadName == b.WorkloadName && a.WorkloadUID == b.WorkloadUID &&
		a.Phase == b.Phase && a.Reason == b.Reason && maps.Equal(a.Labels, b.Labels) && a.CreatedAt == b.CreatedAt &&
		a.StartedAt == b.StartedAt && a.FinishedAt == b.FinishedAt
}

func scheduledAt(o *corev1.Pod) Time {
	for i := range o.Status.Conditions {
		if c := &o.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return apiTime(c.LastTransitionTime)
		}
	}
	return 0
}

func (inv *Inventory) addPod(o *corev1.Pod, seen Seen) *pod {
	key := name{o.Namespace, o.Name}
	// An update can hide a deletion and a creation under the same name.
	inv.dropPod(inv.podNames[key], seen)
	p := &pod{found: seen.Found}
	inv.pods[string(o.UID)] = p
	inv.podNames[key] = p
	inv.addContainers(p, o)
	inv.change(Change{
		At: apiTime(o.CreationTimestamp), Kind: string(Pods), UID: string(o.UID), Namespace: o.Namespace, Name: o.Name,
		Action: Created, Actor: lastActor(o), Found: seen.Found,
	})
	for i := range o.Spec.Volumes {
		v := &o.Spec.Volumes[i]
		if !storageVolume(v) {
			continue
		}
		u := podVolume{name: v.Name}
		switch {
		case v.PersistentVolumeClaim != nil:
			u.claimName = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			u.claimName, u.ephemeral = o.Name+"-"+v.Name, true
		default:
			if src, ok := volumeSource(&v.VolumeSource); ok {
				u.source = inv.holdSource(src, seen)
			}
		}
		p.volumes = append(p.volumes, u)
	}
	for i := range p.volumes {
		if u := &p.volumes[i]; u.claimName != "" {
			slot := inv.slot(name{o.Namespace, u.claimName})
			if !slices.Contains(slot.pods, p) {
				slot.pods = append(slot.pods, p)
			}
		}
	}
	p.mounts = podMounts(o, p.volumes)
	return p
}

// addContainers takes over the containers of a spec that are not known yet: all
// of them at first, later the ephemeral ones, which a running pod can be given.
func (inv *Inventory) addContainers(p *pod, o *corev1.Pod) {
	n := len(o.Spec.InitContainers) + len(o.Spec.Containers) + len(o.Spec.EphemeralContainers)
	if n == len(p.containers) {
		return
	}
	known := len(p.containers)
	p.containers = append(p.containers, containerSpecs(o)[known:]...)
	if known > 0 {
		mounts := podMounts(o, p.volumes)
		p.mounts = append(p.mounts, mounts[len(p.mounts):]...)
	}
}

// noteContainers takes the statuses of all containers. It returns true if
// anything changed.
func (p *pod) noteContainers(o *corev1.Pod, end podEnd, seen Seen) bool {
	changed := false
	for i := range p.containers {
		c := &p.containers[i]
		old := *c
		list := o.Status.ContainerStatuses
		switch c.row.Kind {
		case InitContainer, SidecarContainer:
			list = o.Status.InitContainerStatuses
		case EphemeralContainer:
			list = o.Status.EphemeralContainerStatuses
		}
		for j := range list {
			if list[j].Name == c.row.Name {
				c.note(&list[j])
			}
		}
		c.settle(end, seen)
		changed = c.changed(&old) || changed
	}
	return changed
}

// times returns the first start of a pod's containers, and their last end if all
// that started have ended and the pod has.
func (p *pod) times() (started, finished Time) {
	running := false
	for i := range p.containers {
		row := &p.containers[i].row
		started = earliest(started, row.StartedAt)
		finished = latest(finished, row.FinishedAt)
		if row.StartedAt != 0 && row.FinishedAt == 0 {
			running = true
		}
		// A main container that is yet to start follows an init container that has ended.
		if row.Kind == MainContainer && row.StartedAt == 0 && !p.over() {
			running = true
		}
	}
	if running {
		finished = 0
	}
	return started, finished
}

// dropPod notes that a pod is gone: what still ran has ended.
func (inv *Inventory) dropPod(p *pod, seen Seen) {
	if p == nil {
		return
	}
	p.gone = true
	delete(inv.pods, p.row.UID)
	if key := (name{p.row.Namespace, p.row.Name}); inv.podNames[key] == p {
		delete(inv.podNames, key)
	}
	for i := range p.containers {
		c := &p.containers[i]
		old := *c
		c.settle(podEnd{over: true, going: true, reason: p.row.Reason}, seen)
		c.changed(&old)
	}
	p.row.StartedAt, p.row.FinishedAt = p.times()
	p.row.DeletedAt, p.row.DeletedNotBefore = seen.At, seen.NotBefore
	p.fresh = true
	inv.change(Change{
		At: seen.At, Kind: string(Pods), UID: p.row.UID, Namespace: p.row.Namespace, Name: p.row.Name, Action: Deleted,
	})
	inv.soilPod(p)
}

func (inv *Inventory) soilPod(p *pod) {
	if !p.dirty {
		p.dirty = true
		inv.dirtyPods = append(inv.dirtyPods, p)
	}
}

// settlePod finds the pod's claims, and tells its mounts and what has changed of
// it.
func (inv *Inventory) settlePod(p *pod, seen Seen) {
	p.dirty = false
	for i := range p.volumes {
		if p.volumes[i].claimName != "" {
			inv.resolve(p, i)
		}
	}
	if p.fresh {
		p.fresh = false
		p.row.Version = inv.nextVersion(seen.At)
		inv.update.Facts.Pods = append(inv.update.Facts.Pods, p.row)
		inv.tellContainers(p, seen)
	}
	inv.tellMounts(p, seen)
	inv.countUse(p)
	if p.gone && !p.buried {
		inv.buryPod(p, seen)
	}
}

// buryPod sees to it that a pod that is gone is forgotten in the end: one with
// claims may yet be corrected by what is still on its way.
func (inv *Inventory) buryPod(p *pod, seen Seen) {
	p.buried = true
	claims, known := false, true
	for i := range p.volumes {
		if u := &p.volumes[i]; u.claimName != "" {
			claims = true
			known = known && u.claim != nil && u.claim.row.VolumeUID != ""
		}
	}
	switch g := (grave{at: seen.At, pod: p}); {
	case !claims:
		inv.forgetPod(p)
	case known:
		inv.podGraves = append(inv.podGraves, g)
	default:
		inv.graves = append(inv.graves, g)
	}
}

func (inv *Inventory) tellContainers(p *pod, seen Seen) {
	for i := range p.containers {
		if c := &p.containers[i]; c.row.Version == 0 {
			c.row.Version = inv.nextVersion(seen.At)
			inv.update.Facts.Containers = append(inv.update.Facts.Containers, c.row)
		}
	}
	if !p.started && p.row.StartedAt != 0 {
		p.started = true
		c := Change{
			At: p.row.StartedAt, Kind: string(Pods), UID: p.row.UID, Namespace: p.row.Namespace, Name: p.row.Name,
			Action: Started, Details: "on node " + p.row.Node, Found: p.found && seen.Found,
		}
		if p.scheduled != 0 && p.row.StartedAt >= p.scheduled {
			c.Took = time.Duration(p.row.StartedAt-p.scheduled) * time.Microsecond
		}
		inv.change(c)
	}
}

// forgetPod takes a pod that is gone out of all that is held.
func (inv *Inventory) forgetPod(p *pod) {
	for i := range p.volumes {
		u := &p.volumes[i]
		if u.claimName == "" {
			inv.releaseSource(u.source.id)
			continue
		}
		key := name{p.row.Namespace, u.claimName}
		if slot := inv.claimNames[key]; slot != nil {
			slot.pods = slices.DeleteFunc(slot.pods, func(other *pod) bool { return other == p })
			inv.tidy(key)
		}
	}
}
