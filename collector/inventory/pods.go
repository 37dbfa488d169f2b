package inventory

import (
	"cmp"
	"slices"
	"time"
	"unique"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// pod is a pod that mounts storage; others are not held.
type pod struct {
	uid string
	name
	podSpec
	labels             intern.Labels
	deleted, notBefore fact.Time
	scheduled          fact.Time
	containers         []container
	volumes            []podVolume
	mounts             []mount

	announced  bool   // the change "started" has gone out
	found      bool   // was there when we came
	startedIn  uint32 // the version that first showed a start, its last 32 bits; 0 if that is not known
	fresh      bool   // row has not gone out
	dirty      bool
	gone       bool
	tombstoned bool // is to be forgotten
	memorable
}

// podSpec is what the API says of a pod and can change, and what follows from
// its containers.
type podSpec struct {
	traits                     unique.Handle[podTraits]
	node                       intern.Word // beside the traits: each node has its pods of a workload
	created, started, finished fact.Time
	asked                      fact.Time // see podEnd
	going                      bool
}

// podTraits is what the pods of a workload have in common.
type podTraits struct {
	serviceAccount, owner, groups string
	phase, reason                 string
	workload                      workload
}

// podVolume is a volume in a pod's spec: a claim's, or a backing store that the
// pod names itself.
type podVolume struct {
	name      intern.Word
	claimName string
	source    *source // without a claim
	claim     *claim  // as far as it is known
	active    int32   // what is counted in claim
	pending   bool
	ephemeral bool // the claim is the pod's own
}

func (p *pod) over() bool {
	phase := p.traits.Value().phase
	return p.gone || phase == string(corev1.PodSucceeded) || phase == string(corev1.PodFailed)
}

func (p *pod) row(version uint64) fact.Pod {
	traits := p.traits.Value()
	return fact.Pod{
		Version: version, UID: p.uid, Namespace: p.namespace, Name: p.name.name, Node: p.node.Value(),
		ServiceAccount: traits.serviceAccount, Owner: traits.owner, Groups: intern.Split(traits.groups),
		WorkloadKind: traits.workload.kind, WorkloadName: traits.workload.name, WorkloadUID: traits.workload.uid,
		Phase: traits.phase, Reason: traits.reason, Labels: p.labels.Unpack(), CreatedAt: p.created,
		StartedAt: p.started, FinishedAt: p.finished, DeletedAt: p.deleted, DeletedNotBefore: p.notBefore,
	}
}

func mountsStorage(o *corev1.Pod) bool {
	for i := range o.Spec.Volumes {
		if storageVolume(&o.Spec.Volumes[i]) {
			return true
		}
	}
	return false
}

func (inv *Inventory) notePod(o *corev1.Pod, seen Observation) bool {
	p := inv.pods[string(o.UID)]
	if p == nil {
		if !mountsStorage(o) {
			return false
		}
		p = inv.addPod(o, seen)
	} else if len(o.Spec.EphemeralContainers) > 0 {
		inv.addContainers(p, o)
	}
	if at := scheduledAt(o); at != 0 && at != p.scheduled {
		p.scheduled = at
		inv.change(p.change(fact.Change{At: at, Action: fact.Scheduled, Details: "to node " + o.Spec.NodeName, Found: seen.Found}))
	}
	end := podEndOf(o)
	spec := podSpec{
		traits: unique.Make(podTraits{
			serviceAccount: o.Spec.ServiceAccountName, owner: ownerOf(o.Labels, o.Annotations),
			groups: intern.Join(groupsOf(o.Labels, o.Annotations)), workload: inv.podWorkload(p, o),
			phase: string(o.Status.Phase), reason: end.reason,
		}),
		node:    unique.Make(o.Spec.NodeName),
		created: apiTime(o.CreationTimestamp),
		asked:   end.asked, going: end.going,
	}
	changed := p.noteContainers(o, end, seen)
	spec.started, spec.finished = p.times(end.over)
	if p.started == 0 && spec.started != 0 && !seen.Found {
		p.startedIn = uint32(versionOf(o))
	}
	if spec.finished != 0 && p.finished == 0 {
		inv.change(p.change(fact.Change{At: spec.finished, Action: fact.Finished, Details: cmp.Or(end.reason, string(o.Status.Phase)), Found: seen.Found}))
	}
	if !changed && spec == p.podSpec && p.labels.Equal(o.Labels) {
		return false
	}
	p.podSpec = spec
	p.labels = inv.retainLabels(p.labels, o.Labels)
	p.fresh = true
	inv.markPod(p)
	return true
}

func scheduledAt(o *corev1.Pod) fact.Time {
	if c := condition(o, corev1.PodScheduled); c != nil {
		return apiTime(c.LastTransitionTime)
	}
	return 0
}

// condition returns a condition of a pod if it is true, else nil.
func condition(o *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range o.Status.Conditions {
		if c := &o.Status.Conditions[i]; c.Type == kind && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// podEndOf reads how a pod's end is going, as far as it is. Why it ends is its
// status' reason (Evicted), else that of the condition DisruptionTarget
// (PreemptionByScheduler, EvictionByEvictionAPI, DeletionByTaintManager, ...), else
// that somebody deleted it.
func podEndOf(o *corev1.Pod) podEnd {
	end := podEnd{
		over:   o.Status.Phase == corev1.PodSucceeded || o.Status.Phase == corev1.PodFailed,
		going:  o.DeletionTimestamp != nil,
		reason: o.Status.Reason,
		asked:  deletionAsked(o),
	}
	if c := condition(o, corev1.DisruptionTarget); c != nil {
		end.reason = cmp.Or(end.reason, c.Reason)
		end.asked = earliest(end.asked, apiTime(c.LastTransitionTime))
	}
	return end
}

func (inv *Inventory) addPod(o *corev1.Pod, seen Observation) *pod {
	key := name{inv.sharedNamespace(o.Namespace), inv.retainString(o.Name)}
	// An update can hide a deletion and a creation under the same name.
	former := inv.podNames.get(key)
	if !inv.restoring {
		inv.dropPod(former, seen)
		former = nil
	}
	p := &pod{uid: inv.retainString(string(o.UID)), name: key, found: seen.Found}
	inv.pods[p.uid] = p
	if former == nil {
		inv.podNames.put(key, p)
	}
	inv.addContainers(p, o)
	inv.change(p.change(fact.Change{At: apiTime(o.CreationTimestamp), Action: fact.Created, Actor: lastActor(o), Found: seen.Found}))
	for i := range o.Spec.Volumes {
		if v := &o.Spec.Volumes[i]; storageVolume(v) {
			p.volumes = append(p.volumes, inv.podVolume(o, v, seen))
		}
	}
	p.volumes = retainList(inv, &inv.podVolumes, p.volumes)
	for i := range p.volumes {
		if u := &p.volumes[i]; u.claimName != "" {
			slot := inv.slot(name{p.namespace, u.claimName})
			if !slices.Contains(slot.pods, p) {
				slot.pods = append(slot.pods, p)
			}
		}
	}
	p.mounts = retainList(inv, &inv.mounts, podMounts(o, p.volumes))
	return p
}

func (inv *Inventory) podVolume(o *corev1.Pod, v *corev1.Volume, seen Observation) podVolume {
	u := podVolume{name: unique.Make(v.Name)}
	switch {
	case v.PersistentVolumeClaim != nil:
		u.claimName = v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		u.claimName, u.ephemeral = o.Name+"-"+v.Name, true
	default:
		if src, ok := volumeSource(&v.VolumeSource); ok {
			u.source = inv.acquireSource(src, seen)
		}
	}
	return u
}

func (p *pod) change(c fact.Change) fact.Change {
	c.Kind, c.UID, c.Namespace, c.Name = string(fact.Pods), p.uid, p.namespace, p.name.name
	return c
}

// addContainers takes over the containers of a spec that are not known yet: all
// of them at first, later the ephemeral ones, which a running pod can be given.
func (inv *Inventory) addContainers(p *pod, o *corev1.Pod) {
	n := len(o.Spec.InitContainers) + len(o.Spec.Containers) + len(o.Spec.EphemeralContainers)
	if n == len(p.containers) {
		return
	}
	known := len(p.containers)
	p.containers = retainList(inv, &inv.containers, append(p.containers, containerSpecs(o)[known:]...))
	if known > 0 {
		mounts := podMounts(o, p.volumes)
		p.mounts = append(p.mounts, mounts[len(p.mounts):]...)
	}
}

// noteContainers takes the statuses of all containers. It returns true if
// anything changed.
func (p *pod) noteContainers(o *corev1.Pod, end podEnd, seen Observation) bool {
	changed := false
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
		for j := range list {
			if list[j].Name == traits.name {
				c.note(&list[j])
				p.noteRecursive(i, list[j].VolumeMounts)
			}
		}
		c.settle(end, seen)
		c.fresh = c.fresh || c.containerUse != before
		changed = changed || c.fresh
	}
	return changed
}

// noteRecursive takes down which mounts of a container turned out to be read-only
// with all that is below them, where the spec asked for that if possible.
func (p *pod) noteRecursive(container int, statuses []corev1.VolumeMountStatus) {
	for i := range statuses {
		if s := &statuses[i]; s.RecursiveReadOnly == nil || *s.RecursiveReadOnly != corev1.RecursiveReadOnlyEnabled {
			continue
		}
		for j := range p.mounts {
			m := &p.mounts[j]
			if traits := m.traits.Value(); int(m.container) == container && traits.path == statuses[i].MountPath {
				traits.recursive = true
				m.traits = unique.Make(traits)
			}
		}
	}
}

// times returns the first start of a pod's containers, and their last end if all
// that started have ended and the pod has.
func (p *pod) times(over bool) (started, finished fact.Time) {
	running := false
	for i := range p.containers {
		c := &p.containers[i]
		started = earliest(started, c.started)
		finished = latest(finished, c.finished)
		switch {
		case c.started != 0:
			running = running || c.finished == 0
		case !over && c.traits.Value().kind == fact.MainContainer:
			running = true // it is yet to start, after the init containers
		}
	}
	if running {
		finished = 0
	}
	return started, finished
}

// dropPod notes that a pod is gone: what still ran has ended.
func (inv *Inventory) dropPod(p *pod, seen Observation) {
	if p == nil {
		return
	}
	end := podEnd{over: true, going: true, reason: p.traits.Value().reason, asked: p.asked}
	if end.asked == 0 && !p.over() {
		end.asked = seen.At
	}
	p.gone = true
	inv.unlist(p)
	for i := range p.containers {
		c := &p.containers[i]
		before := c.containerUse
		c.settle(end, seen)
		c.fresh = c.fresh || c.containerUse != before
	}
	p.started, p.finished = p.times(true)
	p.notBefore, p.deleted = seen.bounds(p.created, p.lived())
	p.fresh = true
	inv.change(p.change(fact.Change{At: p.deleted, Action: fact.Deleted}))
	inv.markPod(p)
}

// lived is the last moment at which a pod is known to have been there: when its
// containers started and, at the earliest, ended, and when its deletion was asked for.
func (p *pod) lived() (at fact.Time) {
	if p.going {
		at = p.asked
	}
	for i := range p.containers {
		at = latest(at, latest(p.containers[i].started, p.containers[i].notBefore))
	}
	return at
}

// unlist takes a pod that is gone off those that are.
func (inv *Inventory) unlist(p *pod) {
	delete(inv.pods, p.uid)
	if inv.podNames.get(p.name) == p {
		inv.podNames.drop(p.name)
	}
}

func (inv *Inventory) markPod(p *pod) {
	if !p.dirty {
		p.dirty = true
		inv.dirtyPods = append(inv.dirtyPods, p)
	}
}

// settlePod finds the pod's claims, and tells its mounts and what has changed of
// it.
func (inv *Inventory) syncPod(p *pod, seen Observation) {
	p.dirty = false
	for i := range p.volumes {
		if p.volumes[i].claimName != "" {
			inv.resolve(p, i)
		}
	}
	if p.fresh {
		p.fresh = false
		inv.markSnapshot(p)
		inv.update.Facts.Pods = append(inv.update.Facts.Pods, p.row(inv.nextVersion(seen.At)))
		inv.emitContainers(p, seen)
	}
	inv.emitMounts(p, seen)
	inv.countUse(p)
	if p.gone && !p.tombstoned {
		inv.entombPod(p, seen)
	}
}

// buryPod sees to it that a pod that is gone is forgotten in the end: one with
// claims may yet be corrected by what is still on its way.
func (inv *Inventory) entombPod(p *pod, seen Observation) {
	p.tombstoned = true
	claims, known := false, true
	for i := range p.volumes {
		if u := &p.volumes[i]; u.claimName != "" {
			claims = true
			known = known && u.claim != nil && u.claim.volume != nil
		}
	}
	switch g := (tombstone{at: seen.At, pod: p}); {
	case !claims:
		inv.evictPod(p)
	case known:
		inv.podTombstones = append(inv.podTombstones, g)
	default:
		inv.tombstones = append(inv.tombstones, g)
	}
}

func (inv *Inventory) emitContainers(p *pod, seen Observation) {
	for i := range p.containers {
		if c := &p.containers[i]; c.fresh {
			c.fresh = false
			inv.update.Facts.Containers = append(inv.update.Facts.Containers, c.row(p, inv.nextVersion(seen.At)))
		}
	}
	if !p.announced && p.started != 0 {
		p.announced = true
		c := p.change(fact.Change{At: p.started, Action: fact.Started, Details: "on node " + p.node.Value(), Found: p.found && seen.Found})
		if p.scheduled != 0 && p.started >= p.scheduled {
			c.Took = time.Duration(p.started-p.scheduled) * time.Microsecond
		}
		inv.change(c)
	}
}

// forgetPod takes a pod that is gone out of all that is held.
func (inv *Inventory) evictPod(p *pod) {
	inv.forgetSnapshot(fact.Pods, p.uid)
	inv.awaitNoMore(p)
	for i := range p.volumes {
		u := &p.volumes[i]
		if u.claimName == "" {
			inv.releaseSource(u.source)
			continue
		}
		key := name{p.namespace, u.claimName}
		if slot := inv.claimNames.get(key); slot != nil {
			slot.pods = slices.DeleteFunc(slot.pods, func(other *pod) bool { return other == p })
			inv.tidy(key, slot)
		}
	}
	clear(p.volumes) // others may lie next to them, and are not to hold the claims
}
