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

// pod is a pod that mounts storage; the inventory keeps no others.
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

	startedIn  uint32 // the version that first showed a start, its lowest 32 bits; 0 if unknown
	unready    bool   // its Ready condition is False
	clockOff   bool   // its node's clock is off (rule 3.5)
	announced  bool   // the change "started" has been emitted
	found      bool   // existed in the first list
	mirror     bool   // it shows a static pod, whose kubelet needs no API server to start its containers
	fresh      bool   // its row has not been emitted
	dirty      bool
	gone       bool
	tombstoned bool
	queued
}

// podSpec is the part of a pod that the API reports and that can change, and values that follow
// from its containers.
type podSpec struct {
	traits                     unique.Handle[podTraits]
	node                       intern.Word // not in the traits: each node has its own pods of a workload
	created, started, finished fact.Time
	asked                      fact.Time // see podEnd
	going                      bool
}

// podTraits are values that the pods of a workload share.
type podTraits struct {
	serviceAccount, owner, groups string
	phase, reason                 string
	workload                      workload
}

// podVolume is a volume in a pod's spec: a claim's, or a backing store that the pod names itself.
type podVolume struct {
	name      intern.Word
	claimName string
	source    *source // only without a claim
	claim     *claim  // rules 2.1 to 2.4; nil while it is not known
	volume    *volume // rules 2.5 to 2.7 and 4.3: the volume that the pod uses through the claim
	use               // the use that is counted in claim and volume
	ephemeral bool    // the claim is the pod's own
}

// isNew reports whether a pod is being noted for the first time in this process.
func (p *pod) isNew() bool { return p.traits == (unique.Handle[podTraits]{}) }

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

func (inv *Inventory) notePod(o *corev1.Pod, obs Observation) bool {
	p := inv.pods[string(o.UID)]
	if p == nil {
		if !mountsStorage(o) {
			return false
		}
		p = inv.addPod(o, obs)
	} else {
		inv.updateContainers(p, o)
	}
	if at := scheduledAt(o); at != p.scheduled && inv.isControlPlanes(at, p, o, obs) {
		p.scheduled = at
		inv.change(p.change(fact.Change{At: at, Action: fact.Scheduled, Details: "to node " + o.Spec.NodeName, Found: obs.Found}))
	}
	end := podEndOf(o, inv.kubeletSaid(o, obs))
	spec := podSpec{
		traits: intern.Rehandle(p.traits, podTraits{
			serviceAccount: o.Spec.ServiceAccountName, owner: ownerOf(o.Labels, o.Annotations),
			groups: intern.Join(groupsOf(o.Labels, o.Annotations)), workload: inv.podWorkload(p, o),
			phase: string(o.Status.Phase), reason: end.reason,
		}),
		node:    intern.Rehandle(p.node, o.Spec.NodeName),
		created: apiTime(o.CreationTimestamp),
		asked:   end.asked, going: end.going,
	}
	changed := inv.noteContainers(p, o, end, obs)
	spec.started, spec.finished = p.times(end.over)
	if p.started == 0 && spec.started != 0 && !obs.Found {
		p.startedIn = uint32(versionOf(o))
	}
	if spec.finished != 0 && p.finished == 0 {
		inv.change(p.change(fact.Change{At: spec.finished, Action: fact.Finished, Details: cmp.Or(end.reason, string(o.Status.Phase)), Found: obs.Found}))
	}
	labels := inv.retainLabels(p.labels, o.Labels)
	if !changed && spec == p.podSpec && labels == p.labels {
		return false
	}
	if !p.isNew() && spec.traits.Value().workload != p.traits.Value().workload {
		inv.markUse(p)
	}
	p.podSpec, p.labels = spec, labels
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

// isControlPlanes reports whether the control plane's clock dates a pod's scheduling. For a pod
// with a nodeName of its own the kubelet writes the condition, by its node's clock, which may be
// off: the moment then lies before the pod was created, or after the condition was reported.
func (inv *Inventory) isControlPlanes(at fact.Time, p *pod, o *corev1.Pod, obs Observation) bool {
	said := inv.said(inv.kubeletSaid(o, obs), obs)
	return at+clockSlack >= p.created && at != 0 && (said == 0 || at <= said+clockSlack)
}

// condition returns a pod's condition of a kind if it is true, else nil.
func condition(o *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range o.Status.Conditions {
		if c := &o.Status.Conditions[i]; c.Type == kind && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// podEndOf reads the progress of a pod's end. The reason of the end is the status' reason
// (Evicted), else that of the condition DisruptionTarget (PreemptionByScheduler,
// EvictionByEvictionAPI, DeletionByTaintManager, ...), else that somebody deleted the pod.
// said is the time of kubeletSaid.
func podEndOf(o *corev1.Pod, said fact.Time) podEnd {
	end := podEnd{
		over:   o.Status.Phase == corev1.PodSucceeded || o.Status.Phase == corev1.PodFailed,
		going:  o.DeletionTimestamp != nil,
		reason: o.Status.Reason,
		asked:  deletionAsked(o),
		said:   said,
	}
	if c := condition(o, corev1.DisruptionTarget); c != nil {
		end.reason = cmp.Or(end.reason, c.Reason)
		end.asked = earliest(end.asked, apiTime(c.LastTransitionTime))
	}
	return end
}

func (inv *Inventory) addPod(o *corev1.Pod, obs Observation) *pod {
	if p, ok := inv.revive(fact.Pods, string(o.UID)).(*pod); ok {
		p.deleted, p.notBefore, p.gone, p.tombstoned = 0, 0, false, false
		inv.listPod(p, obs)
		inv.updateContainers(p, o)
		return p
	}
	p := &pod{uid: inv.retainString(string(o.UID)), name: name{inv.sharedNamespace(o.Namespace), inv.retainString(o.Name)}, found: obs.Found}
	p.created, p.mirror = apiTime(o.CreationTimestamp), isMirror(o)
	inv.listPod(p, obs)
	inv.updateContainers(p, o)
	inv.change(p.change(fact.Change{At: p.created, Action: fact.Created, Actor: lastActor(o), Found: obs.Found}))
	for i := range o.Spec.Volumes {
		if v := &o.Spec.Volumes[i]; storageVolume(v) {
			p.volumes = append(p.volumes, inv.podVolume(o, v, obs))
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
	p.mounts = retainList(inv, &inv.mounts, podMounts(o, p, 0))
	return p
}

// isMirror reports whether a pod shows a static pod: such a pod is its node's (pkg/kubelet/pod/mirror_client.go).
func isMirror(o *corev1.Pod) bool { return controllerOf(o).kind == string(fact.Nodes) }

// listPod indexes a pod under its UID and name. An update can hide a deletion and a creation under
// the same name (rule 1.4). During a restore, several pods can share a name.
func (inv *Inventory) listPod(p *pod, obs Observation) {
	inv.pods[p.uid] = p
	former := inv.podNames.get(p.name)
	if inv.restoring && former != nil {
		return
	}
	if former != p {
		inv.dropPod(former, obs.before(p.created))
	}
	inv.podNames.put(p.name, p)
}

func (inv *Inventory) podVolume(o *corev1.Pod, v *corev1.Volume, obs Observation) podVolume {
	u := podVolume{name: unique.Make(v.Name)}
	switch {
	case v.PersistentVolumeClaim != nil:
		u.claimName = v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		u.claimName, u.ephemeral = o.Name+"-"+v.Name, true
	default:
		if src, ok := volumeSource(&v.VolumeSource); ok {
			u.source = inv.acquireSource(src, obs)
		}
	}
	return u
}

func (p *pod) change(c fact.Change) fact.Change {
	c.Kind, c.UID, c.Namespace, c.Name = string(fact.Pods), p.uid, p.namespace, p.name.name
	return c
}

// times returns the first start of a pod's containers, and their last end if the pod and all
// containers that started have ended.
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
			running = true // it starts later, after the init containers
		}
	}
	if running {
		finished = 0
	}
	return started, finished
}

// dropPod records that a pod is gone: its running containers have ended.
func (inv *Inventory) dropPod(p *pod, obs Observation) {
	if p == nil {
		return
	}
	end := podEnd{over: true, going: true, deleted: true, reason: p.traits.Value().reason, asked: p.asked}
	if end.asked == 0 && !p.over() {
		end.asked = obs.At
	}
	p.gone = true
	inv.unlist(p)
	for i := range p.containers {
		c := &p.containers[i]
		before := c.containerUse
		inv.infer(p, c, end, inv.said(0, obs), obs)
		c.fresh = c.fresh || c.containerUse != before
	}
	p.started, p.finished = p.times(true)
	p.notBefore, p.deleted = obs.bounds(p.created, p.lived())
	p.fresh = true
	inv.change(p.change(fact.Change{At: p.deleted, Action: fact.Deleted}))
	inv.markPod(p)
}

// lived returns the last moment at which a pod is known to have existed: its containers' starts and
// earliest possible ends, and the request to delete it.
func (p *pod) lived() (at fact.Time) {
	if p.going {
		at = p.asked
	}
	for i := range p.containers {
		at = latest(at, latest(p.containers[i].started, p.containers[i].notBefore))
	}
	return at
}

// unlist removes a deleted pod from the indexes of living pods.
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

// syncPod resolves the pod's claims and volumes, emits the changes of its mounts and its row, and
// counts its use into its volumes.
func (inv *Inventory) syncPod(p *pod, obs Observation) {
	p.dirty = false
	for i := range p.volumes {
		if p.volumes[i].claimName != "" {
			inv.attribute(p, &p.volumes[i])
		}
	}
	if p.fresh {
		p.fresh = false
		inv.markSnapshot(p)
		inv.update.Facts.Pods = append(inv.update.Facts.Pods, p.row(inv.nextVersion(obs.At)))
		inv.emitContainers(p, obs)
	}
	inv.emitMounts(p, obs)
	inv.countUse(p)
	if p.gone && !p.tombstoned {
		inv.entombPod(p, obs.At)
	}
}

func (inv *Inventory) emitContainers(p *pod, obs Observation) {
	for i := range p.containers {
		if c := &p.containers[i]; c.fresh {
			c.fresh = false
			inv.update.Facts.Containers = append(inv.update.Facts.Containers, c.row(p, inv.nextVersion(obs.At)))
		}
	}
	if !p.announced && p.started != 0 {
		p.announced = true
		took, measured := p.startDuration()
		inv.change(p.change(fact.Change{
			At: p.started, Action: fact.Started, Details: "on node " + p.node.Value(), Found: p.found && obs.Found, Took: took, Measured: measured,
		}))
	}
}

// startDuration returns the time from the scheduling of a pod until its first container started. It
// is not known if the first start is not known exactly (rule 3.2), nor of a mirror pod, whose node
// needs no scheduler. A start before the scheduling, within clockSlack, counts as zero.
func (p *pod) startDuration() (took time.Duration, known bool) {
	unknown := slices.ContainsFunc(p.containers, func(c container) bool { return c.startUnknown })
	if p.scheduled == 0 || p.clockOff || p.mirror || unknown {
		return 0, false
	}
	return time.Duration(max(p.started-p.scheduled, 0)) * time.Microsecond, true
}

// evictPod removes a deleted pod from the inventory. Its use stays the last use of its volumes
// (rule 4.2).
func (inv *Inventory) evictPod(p *pod) {
	inv.forgetSnapshot(fact.Pods, p.uid)
	inv.awaitNoMore(p)
	for i := range p.volumes {
		u := &p.volumes[i]
		if u.claimName == "" {
			inv.releaseSource(u.source)
			continue
		}
		inv.fold(p, u)
		key := name{p.namespace, u.claimName}
		if slot := inv.claimNames.get(key); slot != nil {
			slot.pods = slices.DeleteFunc(slot.pods, func(other *pod) bool { return other == p })
			inv.tidy(key, slot)
		}
	}
	clear(p.volumes) // the slab keeps this memory; it must not keep the claims, too
}
