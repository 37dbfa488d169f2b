// Package inventory infers who uses which storage, and since when, from the objects of the
// Kubernetes API.
//
// It owns the state machine of the project and nothing else: no I/O, no clock, no goroutine, no
// lock. Objects flow in by Set, Delete and Replace, each with how it was observed; what changed
// flows out by Take, as package fact has it: rows for the catalog, the present states of volumes
// and claims for the exporter, and snapshots, from which Restore goes on after a restart.
//
// # How it works
//
// The API links its storage objects only in part: a pod names its claim, a claim names its
// volume, and only the volume's claimRef holds a UID. Watches of different kinds are not ordered
// between each other. So each event is taken in two steps:
//
//  1. Note what the object itself says, under its UID, and mark it dirty (pods.go, claims.go,
//     volumes.go, attachments.go, nodes.go, ...).
//  2. Sync what is dirty, from the backing store up: a volume marks its claim, a claim its pods,
//     and a pod counts its use into its claims and volumes. Everything inferred is a function of
//     what has been noted, and is inferred anew; a row goes out only if it differs from the last
//     one of its key.
//
// Thus the order of arrival leaves no trace in the end. The tests hold that: they play each
// situation in shuffled orders, and with restarts between any two events.
//
// # The rules
//
// Code and tests name the rule that they implement: "rule 2.4" in a comment, TestRule2_4_ in a
// test. A rule that rests on what Kubernetes does says where Kubernetes says so.
//
// 1. How certain a moment is (observation.go).
//
// 1.1 What a live watch shows happened when it was observed, unless the object itself says when.
//
// 1.2 What was caught up with after a gap, a pause or a lag happened between the last moment
// watched (NotBefore) and the observation (At), narrowed by what the object itself says. An end
// has both bounds in its row; they are equal if it is exact.
//
// 1.3 What the first list shows was found: it did not happen now. Counters do not count it, and
// a moment that its object does not give stays absent.
//
// 1.4 A successor under the same name bounds the end of its predecessor: the API server lets a
// name be taken again only when its bearer is gone.
//
// 2. Which claim a pod's volume is (pod_claim.go), and which volume a claim has (claim_volume.go,
// bindings.go).
//
// 2.1 A pod names a claim of its own namespace, or has a generic ephemeral volume, whose claim is
// called POD-VOLUME. Names come and go; the claim is the one that had the name at the right time.
//
// 2.2 The claim of a generic ephemeral volume is the one whose controller the pod is, whatever
// the clocks say. Another claim of that name is a conflict, and the pod does not start (KEP-1698).
// A StatefulSet's claim that a pod owns is not ephemeral: with whenScaled: Delete the controller
// has a pod that is to go own its claims (KEP-1847). Those are called TEMPLATE-POD.
//
// 2.3 A pod that has not started awaits the living claim of the name. If it ends without a start
// (deleted while pending, rejected by the kubelet, preempted), it used nothing, and leaves no
// trace in the last use or the state of a volume.
//
// 2.4 A pod that has started holds the claim that existed when it was scheduled: the scheduler
// assigns no pod whose claim is missing (volumebinding), and from then on the finalizer
// kubernetes.io/pvc-protection keeps the claim until its pods have ended
// (pvc_protection_controller.go). So the moment to ask for is the control plane's own, and a
// node's clock may be off by any time. A pod with a nodeName of its own is not scheduled: the
// kubelet dates its condition PodScheduled, which counts only between the pod's creation and the
// moment at which it was reported; else the start counts. The API's times are whole seconds:
// where a claim was made again within one, the resource versions of the two and of the pod's
// start decide. If none existed then, a pod that runs holds the living one, and one that is over
// the one that existed at its end, or else at its start.
//
// 2.5 A volume whose claimRef has the claim's UID, and that the claim names or that has been
// Bound, is the claim's: the binder writes claimRef first (pv_controller.go, bindVolumeToClaim).
// That is kept when the claimRef is cleared, given to another claim, or the volume goes.
//
// 2.6 Otherwise a claim that is Bound or Lost has the volume whose name it gives. That volume
// must have existed when the claim was bound; if the claim was found Bound, when it was found. And
// it must not have been another claim's since before this claim was made. Of a claim that was found Lost only a pod
// that runs with it can show that. A successor of the same name, as the
// static local provisioner makes it, is another volume. VolumeAttachments name their volume, too:
// it is the one that existed when they were made.
//
// 2.7 A claim has one volume in its life, but for a Lost claim that is given another one: a pod
// used the one that existed when it started.
//
// 2.8 A binding lasts while a volume is Bound with the claim's UID in its claimRef. It began and
// ended when the volume says that its phase changed (lastPhaseTransitionTime, since Kubernetes
// 1.28); before, when that was observed, with bounds, also if the volume is found bound to
// another claim. A volume found Released, whose claim is gone,
// had its binding. One that its claim does not name was provisioned in vain, and never bound
// (pv_controller.go, syncVolume).
//
// 2.9 A claim was bound when its volume says, or when it was observed to become Bound. Without an
// observed transition there is no moment, no change, and nothing to count. After a gap the watch of
// claims may be ahead of that of volumes: then the volumes are waited for.
//
// 2.10 A claim that becomes Lost loses its size and its class in the API: it was neither resized
// nor modified.
//
// 3. When a use starts and ends, and how certain that is (container_use.go, mounts.go).
//
// 3.1 A container uses its volumes from its first start to its last end. One that will be
// restarted, by its pod's restart policy or its own rules, is between two runs of one use;
// crash-looping counts as use. What ends a pod (Succeeded, Failed, deleted) ends its containers. Of a
// container between two runs the last run that is known was its last one if it ended since the end of
// the pod was asked for, if the kubelet has written the pod's status since then, or if the kubelet says
// that the pod is over: not pod GC, which fails pods whose node is lost. Otherwise the container may have
// run again, and nobody reported its end.
//
// 3.2 A start lies after the pod was scheduled, after the kubelet last reported that the container
// waits (a busy kubelet may write that up to waitSlack late), and before the kubelet reported the
// start; a node's clock that says otherwise is off, and is corrected to the nearer of the two. If the container has run
// more often than its status shows, its first start lies before what is known: the row's
// started_not_before says since when it can have run.
//
// 3.3 The kubelet reported what a status shows when it last wrote it, by the API server's clock
// (managedFields), else at the observation. It vouches then for each container that it shows
// running, or yet to start.
//
// 3.4 If a container runs again after its end was observed, as an init container does in a new
// sandbox, that is one more start, and later one more end. Its row stays one interval.
//
// 3.5 The kubelet's word of an end, by its node's clock, is believed if it lies between the last
// moment at which the kubelet vouched for the container and the moment at which it reported the
// end, give or take clockSlack. Otherwise, or if a start of the pod has shown that the clock is
// off, those two bound the end.
//
// 3.6 An end that no kubelet reported is never exact. Not before: the last evidence of life, which
// is the start, the last time that the kubelet vouched, and the last heartbeat of its node, as long as
// the pod is known to have been there. At:
// the observation, or when the kubelet wrote that the container is over, and not when
// (ContainerStatusUnknown). A kubelet that lives reports an end before it lets the pod go: a pod
// that is deleted in between, by force, lived as long as its node is known to, which its
// controller notices within nodeGrace. A node is lost if its Ready condition is not True, or if
// it is not among those that are known; where none are, the pod's Ready condition decides, which
// the node lifecycle controller sets to False. A node's heartbeats are evidence of the containers that its
// kubelet has vouched for since the node was made, or was back after it was lost: it may have been
// rebooted. A VolumeAttachment is no evidence: it outlives its
// pods. A container that the kubelet has lost before its pod was first observed may have run.
//
// 4. What a volume's last use is (last_use.go).
//
// 4.1 It is the end of the last use that is over: the latest that it can have been.
//
// 4.2 It is a fact of the volume. What an evicted pod counted for is settled in the volume, and
// only grows; what a pod that is remembered counts for can still be corrected, as when it turns
// out to have used another volume. So eviction never changes it.
//
// 4.3 It belongs to the volume that the pod really used, whatever became of the claim and the
// claimRef before the pod's end; likewise for what the containers that run count for.
//
// 4.4 A container that mounts a volume more than once uses it once.
//
// 5. States and idle time (volume_state.go).
//
// 5.1 A volume is mounted while a container uses it; else pending while a pod awaits it; else
// released, failed or available as its phase says; else, as it is Bound, idle if it has been used
// and never_mounted if not.
//
// 5.2 It is idle since its last use, else since it was bound or made: the longest that it can be.
// It is mounted since the longest of its present uses began, pending since the longest waiting of
// its pods has waited, but not before it was bound or its last use ended.
//
// 5.3 A pod awaits its volumes until one of its main containers has started. A container that can
// never start beside one that runs awaits nothing.
//
// 5.4 A volume shows the namespace, name, owner and labels of the claim in its claimRef for as long as
// it has that claimRef: also before the two are bound, after the claim is gone, and over restarts.
//
// 5.5 The condition Unused (KEP-5541) says since when no pod refers to a claim. It shortens the
// idle time where it shows a use that nobody watched, and never overrules what was watched: it
// is dated by when its feature gate was switched on, and a pending pod resets it. So the use that
// it shows is settled in the volume before the condition changes, and stays unless it turns out that
// pods were watched then. How much of the
// idle time was watched or vouched for by the condition is the exporter's to say
// (volume_idle_observed_seconds).
//
// 6. What is remembered of the dead, and for how long (tombstones.go, snapshot.go, restore.go).
//
// 6.1 What is gone is remembered for as long as watches lag behind each other: retention, and
// podRetention for pods all of whose volumes are known.
//
// 6.2 A claim is remembered for as long as a pod refers to that very claim, and a volume for as
// long as a Lost claim or a pod that runs does; nobody else keeps anything alive. Of a volume's
// earlier bindings those of remembered claims are kept, and keepPast others.
//
// 6.3 What is inferred and cannot be inferred again from the objects is in their snapshots. What
// the catalog knows does in their place when the journal is lost: see ingest.RestoreCatalog.
//
// 6.4 An object that is there again under its UID, as after etcd was restored from a backup, was
// never gone; containers that are missing from its pod are kept.
//
// 6.5 What made a pod or a claim stays its workload when that is gone or has let it go. What can
// change in place, as a container's image, is taken over.
package inventory
