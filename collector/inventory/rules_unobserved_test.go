package inventory

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

func crashLooping(o *corev1.Pod, restarts int32, since, until int) *corev1.Pod {
	o = o.DeepCopy()
	o.Status.Phase = corev1.PodRunning
	o.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: o.Spec.Containers[0].Name, RestartCount: restarts,
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: terminated(since, until, 1, "Error"),
	}}
	return o
}

func boundVolume() (events []event, user *corev1.Pod) {
	claim := pvc("data", "c1", 1, "vol")
	return []event{set(1, pvc("data", "c1", 1, "")), set(3, pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)), set(3, claim)},
		podOf("db-0", "p1", 4, []string{"db"}, "data")
}

// TestRule3_1_BackOffBeforeAGap: the container is in CrashLoopBackOff when the tracker
// goes down. In the gap it recovers, runs for most of an hour, and its pod is deleted.
func TestRule3_1_BackOffBeforeAGap(t *testing.T) {
	base, user := boundVolume()
	inv, h := play(t, append(base, set(4, user), set(5, running(user, 5)), set(9, crashLooping(user, 1, 5, 8)))...)
	expect(t, "between two runs", h.states["v1"].Status, fact.VolumeMounted)
	if err := inv.Replace(fact.Pods, nil, Observation{At: at(3600), NotBefore: at(10)}); err != nil {
		t.Fatal(err)
	}
	h.take(inv)
	expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-3600(from 8) Deleted")
	expect(t, "idle since (longest it can be known)", h.states["v1"].IdleSince, at(3600))
}

// TestRule3_1_BackOffOnALostNode: a container crash-loops on a node that is then lost. Taint
// eviction asks for the deletion of the pod, and an administrator removes it.
func TestRule3_1_BackOffOnALostNode(t *testing.T) {
	base, user := boundVolume()
	o := scheduledTo(user, "node-1", 4)
	looping := vouch(crashLooping(o, 1, 5, 8), 9)
	asked := looping.DeepCopy()
	asked.DeletionTimestamp = new(second(400))
	_, h := play(t, append(base, set(3, nodeOf("node-1", corev1.ConditionTrue, 3)), set(4, o), set(5, vouch(running(o, 5), 5)), set(9, looping),
		set(60, nodeOf("node-1", corev1.ConditionUnknown, 12)), set(370, asked))...)
	expect(t, "node lost, deletion asked: nobody can say that it no longer writes", h.states["v1"].Status, fact.VolumeMounted)
	inv, h := play(t, append(base, set(3, nodeOf("node-1", corev1.ConditionTrue, 3)), set(4, o), set(5, vouch(running(o, 5), 5)), set(9, looping),
		set(60, nodeOf("node-1", corev1.ConditionUnknown, 12)), set(370, asked), gone(1000, asked))...)
	_ = inv
	for _, m := range h.mounts {
		if m.EndedAt == m.EndedNotBefore {
			t.Errorf("an end that no kubelet reported is called exact: %s", h.mount("p1", "db", "/data"))
		}
	}
	expect(t, "idle since", h.states["v1"].IdleSince, at(1000))
}

// TestRule3_6_BackOffAndPodGC: the same, and pod GC fails the pod as its node is gone.
func TestRule3_6_BackOffAndPodGC(t *testing.T) {
	base, user := boundVolume()
	o := scheduledTo(user, "node-1", 4)
	looping := vouch(crashLooping(o, 1, 5, 8), 9)
	collected := looping.DeepCopy()
	collected.Status.Phase = corev1.PodFailed
	collected.Status.Conditions = append(collected.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByPodGC", LastTransitionTime: second(420)})
	lost := nodeOf("node-1", corev1.ConditionUnknown, 12)
	_, h := play(t, append(base, set(3, nodeOf("node-1", corev1.ConditionTrue, 3)), set(4, o), set(5, vouch(running(o, 5), 5)), set(9, looping),
		set(60, lost), gone(300, lost), set(420, collected), gone(421, collected))...)
	expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-420(from 12) DeletionByPodGC")
}

// TestRule5_5_PendingPodAfterAnUnobservedUse: the condition Unused shows a use in a gap. A pod
// that never starts changes the condition, and the use stays known.
func TestRule5_5_PendingPodAfterAnUnobservedUse(t *testing.T) {
	base, user := boundVolume()
	claim := pvc("data", "c1", 1, "vol")
	done := ended(user, corev1.PodSucceeded, 5, 9, 0, "Completed")
	waiting := podOf("db-1", "p2", 1000, []string{"db"}, "data")
	inv, h := New(), newHistory()
	inv.SetWatched([]fact.Span{{From: at(0), To: at(300)}, {From: at(600), To: at(5000)}})
	events := append(base, set(4, user), set(5, running(user, 5)), set(9, done), gone(10, done), set(600, unusedFrom(claim, 450)))
	for _, e := range recordedOf(t, events) {
		apply(t, inv, e)
	}
	h.take(inv)
	expect(t, "before", h.states["v1"].IdleSince, at(450))
	for _, e := range recordedOf(t, []event{set(1000, waiting), set(1001, unusedFrom(claim, 0)), gone(1100, waiting), set(1101, unusedFrom(claim, 1101))}) {
		apply(t, inv, e)
	}
	h.take(inv)
	expect(t, "after a pod that never started", h.states["v1"].IdleSince, at(450))
}

// TestRule5_5_PendingPodAfterTheOnlyUse: the same, of a volume that was never used while it was
// watched: it stays idle, and is not never_mounted again.
func TestRule5_5_PendingPodAfterTheOnlyUse(t *testing.T) {
	base, _ := boundVolume()
	claim := pvc("data", "c1", 1, "vol")
	waiting := podOf("db-1", "p2", 1000, []string{"db"}, "data")
	inv, h := New(), newHistory()
	inv.SetWatched([]fact.Span{{From: at(0), To: at(300)}, {From: at(600), To: at(5000)}})
	for _, e := range recordedOf(t, append(base, set(600, unusedFrom(claim, 450)))) {
		apply(t, inv, e)
	}
	h.take(inv)
	expect(t, "before", h.states["v1"].Status, fact.VolumeIdle)
	for _, e := range recordedOf(t, []event{set(1000, waiting), set(1001, unusedFrom(claim, 0)), gone(1100, waiting), set(1101, unusedFrom(claim, 1101))}) {
		apply(t, inv, e)
	}
	h.take(inv)
	expect(t, "after", h.states["v1"].Status, fact.VolumeIdle)
	expect(t, "after", h.states["v1"].IdleSince, at(450))
}

// TestRule5_5_ClaimIsForgottenAfterAnUnobservedUse: the claim is deleted, and evicted after
// five minutes.
func TestRule5_5_ClaimIsForgottenAfterAnUnobservedUse(t *testing.T) {
	base, user := boundVolume()
	claim := pvc("data", "c1", 1, "vol")
	done := ended(user, corev1.PodSucceeded, 5, 9, 0, "Completed")
	released := pv("vol", "v1", 2, claim, corev1.VolumeReleased, 701)
	relabelled := released.DeepCopy()
	relabelled.Labels = map[string]string{"checked": "yes"}
	inv, h := New(), newHistory()
	inv.SetWatched([]fact.Span{{From: at(0), To: at(300)}, {From: at(600), To: at(5000)}})
	events := append(base, set(4, user), set(5, running(user, 5)), set(9, done), gone(10, done), set(600, unusedFrom(claim, 450)),
		gone(700, unusedFrom(claim, 450)), set(701, released))
	for _, e := range recordedOf(t, events) {
		apply(t, inv, e)
	}
	h.take(inv)
	expect(t, "released", h.states["v1"].IdleSince, at(450))
	for _, e := range recordedOf(t, []event{set(1500, storageClass("a", "s1")), set(1600, relabelled)}) {
		apply(t, inv, e)
	}
	h.take(inv)
	expect(t, "fifteen minutes later", h.states["v1"].IdleSince, at(450))
}

// TestRule3_2_StartBeforeItWasScheduled: a pod cannot be scheduled for two hours, and then runs on
// a node whose clock is an hour behind.
func TestRule3_2_StartBeforeItWasScheduled(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	base := []event{set(1, pvc("data", "c1", 1, "")), set(3, pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)), set(3, claim)}
	user := podOf("db-0", "p1", 10, []string{"db"}, "data")
	const hour = 3600
	sched := scheduledTo(user, "node-1", 2*hour)
	runs := vouch(running(sched, 2*hour+2-hour), 2*hour+3)
	done := vouch(ended(sched, corev1.PodSucceeded, 2*hour+2-hour, 4*hour-hour, 0, "Completed"), 4*hour+1)
	_, h := play(t, append(base, set(10, user), set(2*hour, sched), set(2*hour+3, runs), set(4*hour+1, done), gone(4*hour+2, done))...)
	for _, m := range h.mounts {
		if m.StartedAt < at(2*hour) {
			t.Errorf("started %d s before its pod was scheduled", int(at(2*hour)-m.StartedAt)/1e6)
		}
		if m.EndedAt < at(4*hour) {
			t.Errorf("ended %d s too early, exact: %v", int(at(4*hour)-m.EndedAt)/1e6, m.EndedAt == m.EndedNotBefore)
		}
	}
	if s := h.states["v1"]; s.IdleSince < at(4*hour) {
		t.Errorf("idle for %d s longer than it can be", int(at(4*hour)-s.IdleSince)/1e6)
	}
}

// TestRule2_6_SuccessorAfterARestart: the first list finds a claim, its volume and its completed pod.
// Claim and volume go, and the static provisioner makes the volume again. The successor has no use, also
// after a restart.
func TestRule2_6_SuccessorAfterARestart(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	done := ended(podOf("job", "p1", 4, []string{"db"}, "data"), corev1.PodSucceeded, 5, 9, 0, "Completed")
	r := track(t)
	for kind, list := range map[fact.Kind][]any{fact.Volumes: {volume}, fact.Claims: {claim}, fact.Pods: {done}} {
		r.list(kind, Observation{At: at(20), Found: true}, list...)
	}
	released := pv("vol", "v1", 2, claim, corev1.VolumeReleased, 31)
	made := pv("vol", "v2", 50, nil, corev1.VolumeAvailable, 50)
	r.play(gone(30, claim), set(31, released), gone(32, released), set(50, made), set(1000, storageClass("a", "s1")), set(1001, storageClass("b", "s2")))
	expect(t, "before", r.mount("p1", "db", "/data"), "c1@v1 5-9 Completed")
	expect(t, "successor before", r.states["v2"].LastUsed, 0)
	r.restart()
	expect(t, "claim's volume", r.claims["c1"].VolumeUID, "v1")
	expect(t, "successor, made at 50, last used", r.states["v2"].LastUsed, 0)
	expect(t, "successor idle since", r.states["v2"].IdleSince, at(50))
	relabelled := done.DeepCopy()
	relabelled.Labels = map[string]string{"x": "y"}
	r.play(set(1100, relabelled), gone(1101, relabelled))
	expect(t, "mount", r.mount("p1", "db", "/data"), "c1@v1 5-9 Completed")
}

// TestRule3_6_HeartbeatAfterAReboot: a node reboots, and its kubelet has lost the container. A
// heartbeat after the reboot is no evidence of the container's life.
func TestRule3_6_HeartbeatAfterAReboot(t *testing.T) {
	base, user := boundVolume()
	o := vouch(running(scheduledTo(user, "node-1", 4), 5), 6)
	unknown := vouch(o, 210)
	unknown.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}}
	unknown.Status.Phase = corev1.PodFailed
	_, h := play(t, append(slices.Clone(base), set(4, nodeOf("node-1", corev1.ConditionTrue, 4)), set(6, o), set(50, nodeOf("node-1", corev1.ConditionTrue, 50)),
		set(110, nodeOf("node-1", corev1.ConditionUnknown, 50)), set(200, nodeOf("node-1", corev1.ConditionTrue, 200)), set(210, unknown))...)
	expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-210(from 6) ContainerStatusUnknown")
}

// TestRule3_1_BackOffBeforeARestart: as TestRule3_1_BackOffBeforeAGap, with a restart from the
// journal in between.
func TestRule3_1_BackOffBeforeARestart(t *testing.T) {
	base, user := boundVolume()
	r := track(t)
	r.play(append(base, set(4, user), set(5, running(user, 5)), set(9, crashLooping(user, 1, 5, 8)))...)
	r.restart()
	r.list(fact.Pods, Observation{At: at(3600), NotBefore: at(10)})
	expect(t, "mount", r.mount("p1", "db", "/data"), "c1@v1 5-3600(from 8) Deleted")
	expect(t, "idle since", r.states["v1"].IdleSince, at(3600))
}

// TestRule2_6_BoundSuccessorAfterARestart: as TestRule2_6_SuccessorAfterARestart, with a
// successor that is bound to another claim.
func TestRule2_6_BoundSuccessorAfterARestart(t *testing.T) {
	claim, next := pvc("data", "c1", 1, "vol"), pvc("next", "c2", 60, "vol")
	volume := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	done := ended(podOf("job", "p1", 4, []string{"db"}, "data"), corev1.PodSucceeded, 5, 9, 0, "Completed")
	r := track(t)
	for kind, list := range map[fact.Kind][]any{fact.Volumes: {volume}, fact.Claims: {claim}, fact.Pods: {done}} {
		r.list(kind, Observation{At: at(20), Found: true}, list...)
	}
	released := pv("vol", "v1", 2, claim, corev1.VolumeReleased, 31)
	r.play(gone(30, claim), set(31, released), gone(32, released), set(50, pv("vol", "v2", 50, nil, corev1.VolumeAvailable, 50)),
		set(61, pv("vol", "v2", 50, next, corev1.VolumeBound, 61)), set(61, next),
		set(1000, storageClass("a", "s1")), set(1001, storageClass("b", "s2")))
	expect(t, "before", r.states["v2"].Status, fact.VolumeNeverMounted)
	r.restart()
	expect(t, "status", r.states["v2"].Status, fact.VolumeNeverMounted)
	expect(t, "idle since", r.states["v2"].IdleSince, at(61))
}

// TestRule3_2_StartBeforeTheKubeletSaidItWaits: the kubelet said at 1800 that the
// container waits. Its clock is 20 minutes behind, and says that the container started at 610.
func TestRule3_2_StartBeforeTheKubeletSaidItWaits(t *testing.T) {
	base, user := boundVolume()
	creating := func(when int) *corev1.Pod {
		o := vouch(scheduledTo(user, "node-1", 10), when)
		o.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "db", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}
		return o
	}
	ready := creating(1800)
	ready.Status.Conditions = append(ready.Status.Conditions, corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue, LastTransitionTime: second(600)})
	runs := vouch(running(ready, 610), 1811)
	done := vouch(ended(ready, corev1.PodSucceeded, 610, 3800, 0, "Completed"), 5001)
	_, h := play(t, append(base, set(4, user), set(11, creating(11)), set(1800, ready), set(1811, runs), set(5001, done))...)
	expect(t, "exact", h.mount("p1", "db", "/data"), "c1@v1 1800-5001(from 1811) Completed")
	if s := h.states["v1"]; s.IdleSince < at(4990) {
		t.Errorf("idle for %d s longer than it can be", int(at(5000)-s.IdleSince)/1e6)
	}
}

// TestRule3_3_VouchedOverARestart: what the kubelet vouched for is known after a restart from the
// journal.
func TestRule3_3_VouchedOverARestart(t *testing.T) {
	base, user := boundVolume()
	o := scheduledTo(user, "node-1", 4)
	runs := vouch(running(o, 5), 6)
	later := vouch(runs, 7200) // only ContainersReady, which the inventory does not look at, has changed
	later.Status.Conditions = append(later.Status.Conditions, corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: second(7200)})
	// its clock was set back by an hour (a VM that was resumed)
	done := vouch(ended(later, corev1.PodSucceeded, 5, 7300-3600, 0, "Completed"), 7301)
	stream := recordedOf(t, append(slices.Clone(base), set(4, o), set(6, runs), set(7200, later), set(7301, done)))
	live := interrupted(t, stream, func(int) bool { return false })
	expect(t, "without a restart", live.mount("p1", "db", "/data"), "c1@v1 5-7301(from 7200) Completed")
	h := interrupted(t, stream, func(i int) bool { return i == len(stream)-1 })
	expect(t, "with a restart", h.mount("p1", "db", "/data"), "c1@v1 5-7301(from 7200) Completed")
}

// TestRule6_4_BindingOfAVolumeThatIsBack: a volume that is there again under its UID has one
// binding, as it was never gone.
func TestRule6_4_BindingOfAVolumeThatIsBack(t *testing.T) {
	base, _ := boundVolume()
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	inv := New()
	var rows []fact.Binding
	for _, e := range recordedOf(t, append(base, gone(20, volume), set(21, volume))) {
		apply(t, inv, e)
		var u fact.Update
		inv.Take(&u)
		rows = append(rows, u.Facts.Bindings...)
	}
	for _, r := range rows {
		t.Logf("%+v", r)
	}
	last := map[uint16]fact.Binding{}
	for _, r := range rows {
		last[r.Ordinal] = r
	}
	if len(last) != 1 {
		t.Errorf("%d bindings of one", len(last))
	}
}

// TestRule3_6_NodeThatIsBackAfterAGap: a node was lost before a gap, and rebooted in it.
func TestRule3_6_NodeThatIsBackAfterAGap(t *testing.T) {
	base, user := boundVolume()
	o := vouch(running(scheduledTo(user, "node-1", 4), 5), 6)
	inv, h := play(t, append(slices.Clone(base), set(4, nodeOf("node-1", corev1.ConditionTrue, 4)), set(6, o), set(50, nodeOf("node-1", corev1.ConditionTrue, 50)),
		set(110, nodeOf("node-1", corev1.ConditionUnknown, 50)))...)
	gap := Observation{At: at(2000), NotBefore: at(1000)}
	if err := inv.Replace(fact.Nodes, []any{nodeOf("node-1", corev1.ConditionTrue, 1990)}, gap); err != nil {
		t.Fatal(err)
	}
	if err := inv.Replace(fact.Pods, nil, gap); err != nil {
		t.Fatal(err)
	}
	h.take(inv)
	expect(t, "nodes first", h.mount("p1", "db", "/data"), "c1@v1 5-2000(from 6) Deleted")
	inv, h = play(t, append(slices.Clone(base), set(4, nodeOf("node-1", corev1.ConditionTrue, 4)), set(6, o), set(50, nodeOf("node-1", corev1.ConditionTrue, 50)),
		set(110, nodeOf("node-1", corev1.ConditionUnknown, 50)))...)
	if err := inv.Replace(fact.Pods, nil, gap); err != nil {
		t.Fatal(err)
	}
	h.take(inv)
	expect(t, "pods first", h.mount("p1", "db", "/data"), "c1@v1 5-2000(from 50) Deleted")
}

// TestRule2_4_ClaimThatGoesWithItsPod: a pod that names its node was made before its claim. The
// clock of its node is 4 s ahead. The claim goes in the second in which the pod completes.
func TestRule2_4_ClaimThatGoesWithItsPod(t *testing.T) {
	user := podOf("db-0", "p1", 4, []string{"db"}, "data")
	o := scheduledTo(user, "node-1", 5)
	claim := pvc("data", "c1", 10, "vol")
	volume := pv("vol", "v1", 11, claim, corev1.VolumeBound, 12)
	runs := vouch(running(o, 24), 20)
	done := vouch(ended(o, corev1.PodSucceeded, 24, 54, 0, "Completed"), 51)
	_, h := play(t, set(4, user), set(5, o), set(10, pvc("data", "c1", 10, "")), set(12, volume), set(12, claim), set(20, runs), set(51, done), gone(52, claim),
		set(53, pv("vol", "v1", 11, claim, corev1.VolumeReleased, 53)), gone(55, done))
	t.Log(h.mount("p1", "db", "/data"), h.states["v1"].LastUsed-at(0), h.states["v1"].Status)
	if h.states["v1"].LastUsed == 0 {
		t.Error("the use is forgotten")
	}
}

// TestRule3_1_BackOffThatTheKubeletEnded: in a gap the deletion of a pod in CrashLoopBackOff is asked for, and
// its kubelet writes the status once more: nothing runs again after that.
func TestRule3_1_BackOffThatTheKubeletEnded(t *testing.T) {
	base, user := boundVolume()
	inv, h := play(t, append(base, set(4, user), set(5, running(user, 5)), set(9, crashLooping(user, 1, 5, 8)))...)
	asked := vouch(crashLooping(user, 1, 5, 8), 401)
	asked.DeletionTimestamp = new(second(400))
	relist(t, inv, fact.Pods, Observation{At: at(1000), NotBefore: at(10)}, asked)
	h.take(inv)
	expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-8 Error")
	expect(t, "idle since", h.states["v1"].IdleSince, at(8))
}
