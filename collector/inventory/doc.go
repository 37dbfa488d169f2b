// Package inventory infers who uses which storage, and since when, from the objects of the
// Kubernetes API.
//
// It owns the state machine of the project and nothing else: no I/O, no clock, no goroutine, no
// lock. Objects flow in through Set, Delete and Replace, each with its Observation. Changes flow
// out through Take, in the types of package fact: rows for the catalog, the present states of
// volumes and claims for the exporter, and snapshots, from which Restore continues after a
// restart.
//
// # How it works
//
// The API links its storage objects only in part: a pod names its claim, a claim names its volume,
// and only the volume's claimRef contains a UID. The API server does not order the watches of
// different kinds. So the inventory takes each event in two steps:
//
//  1. Note what the object itself says, under its UID, and mark it dirty (pods.go, claims.go,
//     volumes.go, attachments.go, nodes.go, ...).
//  2. Sync what is dirty, from the backing store up: a volume marks its claim, a claim its pods,
//     and a pod adds its use to its claims and volumes. Every inference is a function of the noted
//     objects, and is repeated; a row is emitted only if it differs from the last one of its key.
//
// Thus the final state does not depend on the order of arrival. The tests check that: they play
// each situation in shuffled orders, and with restarts between any two events.
//
// # The rules
//
// Code and tests name the rule that they implement: "rule 2.4" in a comment, TestRule2_4_ in a
// test. A rule that rests on the behaviour of Kubernetes names its source in Kubernetes.
//
// 1. How certain a moment is (observation.go).
//
// 1.1 An event of a live watch happened when it was observed, unless the object itself says when.
//
// 1.2 An event that is observed after a gap, a pause or a lag happened between the last moment
// watched (NotBefore) and the observation (At), narrowed by what the object itself says. The row
// of an end has both bounds; they are equal if the end is exact.
//
// 1.3 A state that the first list shows was found: it did not begin now. Counters do not count it,
// and a moment that its object does not give stays absent.
//
// 1.4 A successor under the same name bounds the end of its predecessor: the API server gives a
// name to a new object only when the previous object is gone.
//
// 2. Which claim a pod's volume refers to (pod_claim.go), and which volume a claim has
// (claim_volume.go, bindings.go).
//
// 2.1 A pod names a claim of its own namespace, or has a generic ephemeral volume, whose claim is
// called POD-VOLUME. Names are used again; the pod's claim is the one that had the name at the
// right time.
//
// 2.2 The claim of a generic ephemeral volume is the one whose controller is the pod, whatever the
// clocks say. Another claim of that name is a conflict, and the pod does not start (KEP-1698). A
// StatefulSet's claim that a pod owns is not ephemeral: with whenScaled: Delete the controller
// makes a pod that is to be deleted the owner of its claims (KEP-1847). Those claims are called
// TEMPLATE-POD.
//
// 2.3 A pod that has not started awaits the living claim of the name. If it ends without a start
// (deleted while pending, rejected by the kubelet, preempted), it used nothing, and changes
// neither the last use nor the state of a volume.
//
// 2.4 A pod that has started uses the claim that existed when the pod was scheduled: the scheduler
// assigns no pod whose claim is missing (volumebinding), and from then on the finalizer
// kubernetes.io/pvc-protection keeps the claim until its pods have ended
// (pvc_protection_controller.go). So the control plane dates the decisive moment, and a node's
// clock may be off by any amount. A pod with a nodeName of its own is not scheduled: the kubelet
// dates its condition PodScheduled, which counts only if it lies between the pod's creation and
// the moment at which it was reported; otherwise the start counts. The API's times are whole
// seconds: if a claim was deleted and created again within one second, the resource versions of
// the two claims and of the pod's start decide. If no claim existed then, a pod that runs uses the
// living claim, and a pod that is over used the claim that existed at its end, or else at its
// start.
//
// 2.5 A volume whose claimRef has the claim's UID is the claim's, if the claim names the volume or
// the volume has been Bound: the binder writes claimRef first (pv_controller.go,
// bindVolumeToClaim). The link is kept when the claimRef is cleared or given to another claim, or
// when the volume is deleted.
//
// 2.6 Otherwise a claim that is Bound or Lost has the volume whose name it gives. That volume must
// have existed when the claim was bound; if the claim was found Bound, when it was found. And it
// must not have been another claim's since before this claim was created. For a claim that was
// found Lost, only a pod that runs with it can show that. A successor of the same name, as the
// static local provisioner creates it, is another volume. VolumeAttachments name their volume,
// too: it is the one that existed when they were created.
//
// 2.7 A claim has one volume in its life, except for a Lost claim that is given another one: then
// a pod used the volume that existed when the pod started.
//
// 2.8 A binding lasts while a volume is Bound with the claim's UID in its claimRef. It began and
// ended when the volume says that its phase changed (lastPhaseTransitionTime, since Kubernetes
// 1.28). Before 1.28 it began and ended when that was observed, with bounds, also if the volume is
// found bound to another claim. A volume that was found Released, and whose claim is gone, had its
// binding. A volume that its claim does not name was provisioned in vain, and never bound
// (pv_controller.go, syncVolume).
//
// 2.9 The volume says when a claim was bound; otherwise the claim was bound when it was observed
// to become Bound. Without an observed transition there is no moment, no change, and nothing to
// count. After a gap the watch of claims may be ahead of the watch of volumes: then the inventory
// waits for the volumes. A claim that awaits its volume says so in its state.
//
// 2.10 A claim that becomes Lost loses its size and its class in the API. That is neither a resize
// nor a modification.
//
// 3. When a use starts and ends, and how certain that is (container_use.go, mounts.go).
//
// 3.1 A container uses its volumes from its first start to its last end. A container that will be
// restarted, by its pod's restart policy or its own rules, is between two runs of one use;
// crash-looping counts as use. The end of a pod (Succeeded, Failed, deleted) ends its containers.
// For a container between two runs, the last known run was its last one in three cases: it ended
// after the end of the pod was requested; the kubelet has written the pod's status since that
// request; or the kubelet says that the pod is over. The word of pod GC, which fails pods whose
// node is lost, does not count. Otherwise the container may have run again, and nobody reported
// its end.
//
// 3.2 A start lies after the pod was scheduled, after the kubelet last reported that the container
// waits (a busy kubelet may write that up to waitSlack late), and before the kubelet reported the
// start. A node's clock that says otherwise is off, and the start is corrected to the nearer of
// these bounds. If the container has run more often than its status shows, its first start lies
// before the known runs: the row's started_not_before says since when it can have run. A kubelet
// starts a static pod before the API server has its mirror pod: then the use by that pod begins with
// its creation, and the clock is not off.
//
// 3.3 The kubelet reported a status when it last wrote it, by the API server's clock
// (managedFields), or else at the observation. Whoever may patch a pod may write managedFields, too,
// so a time that is more than trackerSlack after the observation counts as that. At that moment the
// kubelet vouches for each container that the status shows running, or yet to start.
//
// 3.4 If a container runs again after its end was observed, as an init container does in a new
// sandbox, that is one more start, and later one more end. Its row stays one interval.
//
// 3.5 The kubelet dates an end by its node's clock. The date is believed if it lies between the
// last moment at which the kubelet vouched for the container and the moment at which it reported
// the end, within clockSlack. Otherwise, or if a start of the pod has shown that the clock is off,
// those two moments bound the end.
//
// 3.6 An end that no kubelet reported is never exact. Its NotBefore is the last evidence of life:
// the start, the last time that the kubelet vouched, and the last heartbeat of the node, as long
// as the pod is known to have existed. Its At is the observation, or the moment when the kubelet
// wrote that the container is over without saying when it ended (ContainerStatusUnknown). A living
// kubelet reports an end before it releases the pod. So a pod that is deleted before such a
// report, by force, lived as long as its node is known to have lived; the node's controller
// notices a dead node within nodeGrace. A node is lost if its Ready condition is not True, or if
// it is not among the known nodes. If no nodes are known, or the API server does not show them any
// more, the pod's Ready condition decides, which the node lifecycle controller sets to False. A node's heartbeats are evidence only for
// containers that its kubelet has vouched for since the node was created, or returned after it was
// lost: it may have been rebooted. A VolumeAttachment is no evidence: it outlives its pods. A
// container that the kubelet had lost before its pod was first observed may have run.
//
// 4. What a volume's last use is (last_use.go).
//
// 4.1 It is the latest moment at which the last finished use can have ended.
//
// 4.2 It is a fact of the volume. When a pod is evicted, its use is saved in the volume
// (savedUse), which only grows. The use of a pod in memory can still be corrected, as when the
// pod turns out to have used another volume. So eviction never changes the last use.
//
// 4.3 It belongs to the volume that the pod really used, whatever happened to the claim and the
// claimRef before the pod's end. The same applies to the uses of running containers.
//
// 4.4 A container that mounts a volume more than once uses it once.
//
// 5. States and idle time (volume_state.go).
//
// 5.1 A volume is mounted while a container uses it; else pending while a pod awaits it; else
// released, failed or available by its phase; else, as it is Bound, idle if it has been used and
// never_mounted if not.
//
// 5.2 It is idle since its last use, else since it was bound or created: the longest idle time
// possible. It is mounted since the longest of its present uses began; if an earlier use overlapped
// that one while somebody watched, since the earlier one began. It is pending since the
// longest waiting of its pods has waited, but not before it was bound or its last use ended.
//
// 5.3 A pod awaits its volumes until one of its main containers has started. A container that can
// never start beside a running one awaits nothing.
//
// 5.4 A volume shows the namespace, name, owner and labels of the claim in its claimRef for as long as
// it has that claimRef: also before the two are bound, after the claim is gone, and over restarts.
//
// 5.5 The condition Unused (KEP-5541) says since when no pod has referred to a claim. It shortens
// the idle time if it shows a use that nobody watched, and never overrules what was watched: its
// date can be the moment at which its feature gate was switched on, and a pending pod resets it.
// So the use that it shows is saved in the volume (unseenUse) before the condition changes, and
// stays unless it turns out that pods were watched then. The exporter says how much of the idle
// time was watched, or vouched for by the condition (volume_idle_observed_seconds).
//
// 6. Which deleted objects stay in memory, and for how long (tombstones.go, snapshot.go,
// restore.go).
//
// 6.1 A deleted object stays in memory for as long as watches lag behind each other: retention,
// and podRetention for pods whose volumes are all known.
//
// 6.2 A claim stays for as long as a pod refers to that very claim, and a volume for as long as a
// Lost claim or a running pod does; nothing else keeps an object in memory. Of a volume's earlier
// bindings, those of claims in memory are kept, and keepPast others.
//
// 6.3 An inference that cannot be repeated from the objects is in their snapshots. When the
// journal is lost, the rows of the catalog replace the snapshots: see ingest.RestoreCatalog.
//
// 6.4 An object that exists again under its UID, as after etcd was restored from a backup, was
// never gone; containers that are missing from its pod are kept.
//
// 6.5 The controller of a pod or a claim stays its workload after the controller is gone or has
// released it. A value that can change in place, as a container's image, is updated.
package inventory
