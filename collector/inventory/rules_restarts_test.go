package inventory

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// TestRule3_2_CorrectedStartOverARestart: the node's clock is behind, and the tracker is restarted
// while the container waits, or while it runs.
func TestRule3_2_CorrectedStartOverARestart(t *testing.T) {
	base, user := boundVolume()
	creating := func(when int) *corev1.Pod {
		o := vouch(scheduledTo(user, "node-1", 10), when)
		o.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "db", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}
		return o
	}
	runs := vouch(running(creating(1800), 610), 1811)
	done := vouch(ended(creating(1800), corev1.PodSucceeded, 610, 3800, 0, "Completed"), 5001)
	stream := recordedOf(t, append(slices.Clone(base), set(4, user), set(11, creating(11)), set(1800, creating(1800)), set(1811, runs), set(5001, done)))
	n := len(stream)
	for _, restart := range []int{-1, n - 1, n - 2} {
		h := interrupted(t, stream, func(i int) bool { return i == restart })
		expect(t, map[int]string{-1: "no restart", n - 1: "restart while it runs", n - 2: "restart while it waits"}[restart], h.mount("p1", "db", "/data"), "c1@v1 1800-5001(from 1811) Completed")
		expect(t, "idle since", (h.states["v1"].IdleSince-at(0))/1e6, 5001)
	}
}

// TestRule3_1_BackOffOnANodeOutOfService: pod GC fails a pod on a node with the taint out-of-service, and
// gives no reason of its own (gc_controller.go, gcTerminating).
func TestRule3_1_BackOffOnANodeOutOfService(t *testing.T) {
	base, user := boundVolume()
	o := scheduledTo(user, "node-1", 4)
	looping := vouch(crashLooping(o, 1, 5, 8), 9)
	asked := looping.DeepCopy()
	asked.DeletionTimestamp = new(second(400))
	asked.Status.Conditions = append(asked.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager", LastTransitionTime: second(370)})
	failed := asked.DeepCopy()
	failed.Status.Phase = corev1.PodFailed
	_, h := play(t, append(base, set(3, nodeOf("node-1", corev1.ConditionTrue, 3)), set(4, o), set(5, vouch(running(o, 5), 5)), set(9, looping),
		set(60, nodeOf("node-1", corev1.ConditionUnknown, 12)), set(370, asked), set(1000, failed), gone(1001, failed))...)
	expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-1000(from 12) DeletionByTaintManager")
	expect(t, "idle since", h.states["v1"].IdleSince, at(1000))
}

// TestRule3_6_PodGCOverARestart: a restart changes neither the end nor its reason.
func TestRule3_6_PodGCOverARestart(t *testing.T) {
	base, user := boundVolume()
	o := scheduledTo(user, "node-1", 4)
	looping := vouch(crashLooping(o, 1, 5, 8), 9)
	collected := looping.DeepCopy()
	collected.Status.Phase = corev1.PodFailed
	collected.Status.Conditions = append(collected.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByPodGC", LastTransitionTime: second(420)})
	lost := nodeOf("node-1", corev1.ConditionUnknown, 12)
	stream := recordedOf(t, append(base, set(2, nodeOf("node-2", corev1.ConditionTrue, 2)), set(3, nodeOf("node-1", corev1.ConditionTrue, 3)), set(4, o), set(5, vouch(running(o, 5), 5)), set(9, looping),
		set(60, lost), gone(300, lost), set(420, collected), gone(421, collected)))
	for i := range stream {
		h := interrupted(t, stream, func(n int) bool { return n == i })
		m := h.mounts[[4]string{"p1", "db", "vol-0", "/data"}]
		expect(t, fmt.Sprint("restart before event ", i, ": ended"), m.EndedAt, at(420))
		if m.EndedNotBefore < at(8) || m.EndedNotBefore > at(12) { // the node is gone, and not restored
			t.Errorf("restart before event %d: %s", i, h.mount("p1", "db", "/data"))
		}
		expect(t, fmt.Sprint("restart before event ", i, ": reason"), m.EndReason, "DeletionByPodGC")
	}
}

// TestRule3_1_BackOffAndForcedDeletion: a pod in back-off is deleted by force, before or after its node is
// known to be lost: no kubelet has reported the end.
func TestRule3_1_BackOffAndForcedDeletion(t *testing.T) {
	base, user := boundVolume()
	o := scheduledTo(user, "node-1", 4)
	looping := vouch(crashLooping(o, 1, 5, 8), 9)
	head := append(base, set(3, nodeOf("node-1", corev1.ConditionTrue, 3)), set(4, o), set(5, vouch(running(o, 5), 5)), set(9, looping))
	lost, forced := set(60, nodeOf("node-1", corev1.ConditionUnknown, 12)), gone(61, looping)
	_, a := play(t, append(slices.Clone(head), lost, forced)...)
	_, b := play(t, append(slices.Clone(head), forced, event{at: 61, object: lost.object})...)
	expect(t, "node's event first", a.mount("p1", "db", "/data"), "c1@v1 5-61(from 12) Deleted")
	expect(t, "node's event second", b.mount("p1", "db", "/data"), "c1@v1 5-61(from 8) Deleted")
	expect(t, "idle since, node's event second", b.states["v1"].IdleSince, a.states["v1"].IdleSince)
}

// TestRule3_6_RebootThatIsNotReadyFirst: a kubelet that starts after a reboot says so before its node is Ready.
func TestRule3_6_RebootThatIsNotReadyFirst(t *testing.T) {
	base, user := boundVolume()
	o := vouch(running(scheduledTo(user, "node-1", 4), 5), 6)
	unknown := vouch(o, 210)
	unknown.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}}
	unknown.Status.Phase = corev1.PodFailed
	_, h := play(t, append(slices.Clone(base), set(4, nodeOf("node-1", corev1.ConditionTrue, 4)), set(6, o), set(50, nodeOf("node-1", corev1.ConditionTrue, 50)),
		set(110, nodeOf("node-1", corev1.ConditionUnknown, 50)), set(195, nodeOf("node-1", corev1.ConditionFalse, 195)), set(205, nodeOf("node-1", corev1.ConditionTrue, 205)), set(210, unknown))...)
	expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-210(from 6) ContainerStatusUnknown")
}

// TestRule3_6_NodeMadeAgain: the heartbeats of a node that was made again under its name are no evidence of
// the containers on its predecessor.
func TestRule3_6_NodeMadeAgain(t *testing.T) {
	base, user := boundVolume()
	o := vouch(running(scheduledTo(user, "node-1", 4), 5), 6)
	unknown := vouch(o, 210)
	unknown.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}}
	unknown.Status.Phase = corev1.PodFailed
	lost, again := nodeOf("node-1", corev1.ConditionUnknown, 50), nodeOf("node-1", corev1.ConditionTrue, 200)
	again.UID = "n2"
	_, h := play(t, append(slices.Clone(base), set(4, nodeOf("node-1", corev1.ConditionTrue, 4)), set(6, o), set(50, nodeOf("node-1", corev1.ConditionTrue, 50)),
		set(110, lost), gone(120, lost), set(200, again), set(210, unknown))...)
	expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-210(from 6) ContainerStatusUnknown")
}

// TestRule3_6_BackOffOnANodeWhoseClockIsAhead: its word of the last run is no evidence.
func TestRule3_6_BackOffOnANodeWhoseClockIsAhead(t *testing.T) {
	base, user := boundVolume()
	o := scheduledTo(user, "node-1", 4)
	const ahead = 7200
	inv, h := play(t, append(base, set(4, o), set(6, vouch(running(o, 5+ahead), 6)), set(9, vouch(crashLooping(o, 1, 5+ahead, 8+ahead), 9)))...)
	relist(t, inv, fact.Pods, Observation{At: at(1000), NotBefore: at(10)})
	h.take(inv)
	expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 6-1000(from 6) Deleted")
	expect(t, "idle since", h.states["v1"].IdleSince, at(1000))
}

// TestRule5_5_PodOfAnotherVolume: a pod counts for a volume at first, and turns out to have used another one. What
// Unused showed of the first one stays known.
func TestRule5_5_PodOfAnotherVolume(t *testing.T) {
	run := func(late bool) *history {
		base, user := boundVolume()
		claim := pvc("data", "c1", 1, "vol")
		next := pvc("data", "c2", 1210, "vol2")
		done := ended(user, corev1.PodSucceeded, 5, 9, 0, "Completed")
		waiting := podOf("db-1", "p2", 1000, []string{"db"}, "data")
		job := scheduledTo(podOf("db-2", "p3", 1211, []string{"db"}, "data"), "node-1", 1214)
		jobDone := ended(job, corev1.PodSucceeded, 1216, 1220, 0, "Completed")
		inv, h := New(), newHistory()
		inv.SetWatched([]fact.Span{{From: at(0), To: at(300)}, {From: at(600), To: at(5000)}})
		events := append(base, set(4, user), set(5, running(user, 5)), set(9, done), gone(10, done), set(600, unusedFrom(claim, 450)),
			set(1000, waiting), set(1001, unusedFrom(claim, 0)), gone(1100, waiting), set(1101, unusedFrom(claim, 1101)))
		claims := []event{gone(1200, unusedFrom(claim, 1101)), set(1210, pvc("data", "c2", 1210, "")), set(1213, next)}
		pods := []event{set(1211, podOf("db-2", "p3", 1211, []string{"db"}, "data")), set(1214, job), set(1217, running(job, 1216)), set(1221, jobDone)}
		vols := []event{set(1201, pv("vol", "v1", 2, claim, corev1.VolumeReleased, 1201)), set(1212, pv("vol2", "v2", 1211, next, corev1.VolumeBound, 1212))}
		if late { // the watch of claims is set up again
			events = slices.Concat(events, vols, pods, claims)
		} else {
			events = slices.Concat(events, vols[:1], claims, vols[1:], pods)
		}
		for _, e := range recordedOf(t, events) {
			apply(t, inv, e)
			h.take(inv)
		}
		return h
	}
	a, b := run(false), run(true)
	for what, h := range map[string]*history{"in order": a, "claims late": b} {
		expect(t, what+": job", h.mount("p3", "db", "/data"), "c2@v2 1216-1220 Completed")
		expect(t, what+": idle since", h.states["v1"].IdleSince, at(450))
		expect(t, what+": unseen use", h.volumes["v1"].UnseenUseAt, at(450))
	}
}

// TestRule3_2_StatusThatIsWrittenLate: a kubelet that is busy writes that a container waits when it has started.
func TestRule3_2_StatusThatIsWrittenLate(t *testing.T) {
	base, user := boundVolume()
	o := scheduledTo(user, "node-1", 10)
	creating := vouch(o, 25)
	creating.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "db", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}
	runs := vouch(running(o, 12), 60)
	done := vouch(ended(o, corev1.PodSucceeded, 12, 300, 0, "Completed"), 301)
	_, h := play(t, append(base, set(4, user), set(10, o), set(25, creating), set(60, runs), set(301, done))...)
	m := h.mounts[[4]string{"p1", "db", "vol-0", "/data"}]
	if m.StartedNotBefore > at(12) {
		t.Errorf("started at %d, not before %d, ends %s", (m.StartedAt-at(0))/1e6, (m.StartedNotBefore-at(0))/1e6, h.mount("p1", "db", "/data"))
	}
}

// TestRule5_5_ClaimsReplayedBeforeThePods: after a downtime the watches of claims and of pods go on, and the
// claims' is first. That of pods shows that nobody used the volume: a pod only waited for it.
func TestRule5_5_ClaimsReplayedBeforeThePods(t *testing.T) {
	base, user := boundVolume()
	claim := pvc("data", "c1", 1, "vol")
	done := ended(user, corev1.PodSucceeded, 5, 9, 0, "Completed")
	r := track(t)
	r.play(append(slices.Clone(base), set(4, user), set(5, running(user, 5)), set(9, done), gone(10, done), set(12, unusedFrom(claim, 10)))...)
	r.k.now = at(600)
	r.inv = New()
	r.inv.SetWatched([]fact.Span{{From: at(0), To: at(300)}})
	if unread, err := r.inv.Restore(r.k.list(t), r.k.version, r.k.now); unread != nil || err != nil {
		t.Fatal(err)
	}
	r.taken()
	gap := Observation{At: at(601), NotBefore: at(300)}
	for _, since := range []int{0, 450, 0} { // a pod of 310 to 450 never started
		r.set(unusedFrom(claim, since), gap)
	}
	expect(t, "while pods are not observed", r.volumes["v1"].UnseenUseAt, at(450))
	r.set(podOf("db-1", "p3", 590, []string{"db"}, "data"), gap)
	expect(t, "once they are", r.volumes["v1"].UnseenUseAt, 0)
}

// TestRule5_5_ClaimsReplayedBeforeThePodsAreListed: after a downtime the watch of claims goes on, and pods are
// listed anew, later. The span of before the downtime does not go on.
func TestRule5_5_ClaimsReplayedBeforeThePodsAreListed(t *testing.T) {
	for _, podsFirst := range []bool{true, false} {
		base, user := boundVolume()
		claim := pvc("data", "c1", 1, "vol")
		done := ended(user, corev1.PodSucceeded, 5, 9, 0, "Completed")
		r := track(t)
		r.inv.SetWatched([]fact.Span{{From: at(0), To: at(0)}})
		r.play(append(slices.Clone(base), set(4, user), set(5, running(user, 5)), set(9, done), gone(10, done), set(12, unusedFrom(claim, 10)))...)
		// down from 300 to 600. As Collector.restore does:
		r.k.now = at(600)
		r.inv = New()
		r.inv.SetWatched([]fact.Span{{From: at(0), To: at(300)}})
		if unread, err := r.inv.Restore(r.k.list(t), r.k.version, r.k.now); unread != nil || err != nil {
			t.Fatal(err)
		}
		r.taken()
		waiting := podOf("db-1", "p3", 590, []string{"db"}, "data") // pending
		gap := Observation{At: at(601), NotBefore: at(300)}
		pods := func() { // Collector.moveTo, then Replace
			r.inv.SetWatched([]fact.Span{{From: at(0), To: at(300)}, {From: at(601), To: at(601)}})
			r.list(fact.Pods, gap, waiting)
		}
		claims := func() { // a pod of 310 to 450 has come and gone
			for _, since := range []int{0, 450, 0} {
				r.set(unusedFrom(claim, since), gap)
			}
		}
		if podsFirst {
			pods()
			claims()
		} else {
			claims()
			pods()
		}
		r.play(gone(700, waiting), set(701, unusedFrom(claim, 701)))
		what := map[bool]string{true: "pods first", false: "claims first"}[podsFirst]
		expect(t, what+": unseen use", r.volumes["v1"].UnseenUseAt, at(450))
		expect(t, what+": idle since", (r.states["v1"].IdleSince-at(0))/1e6, 450)
	}
}

// TestRule3_6_SecondReboot: a node that was rebooted is lost, and back, once more.
func TestRule3_6_SecondReboot(t *testing.T) {
	base, user := boundVolume()
	o := vouch(running(scheduledTo(user, "node-1", 4), 5), 6)
	unknown := vouch(o, 710)
	unknown.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}}
	unknown.Status.Phase = corev1.PodFailed
	n := func(at int, c corev1.ConditionStatus, beat int) event { return set(at, nodeOf("node-1", c, beat)) }
	_, h := play(t, append(slices.Clone(base), n(4, "True", 4), set(6, o), n(50, "True", 50), n(110, "Unknown", 50), n(200, "True", 200), n(260, "Unknown", 200), n(700, "True", 700), set(710, unknown))...)
	expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-710(from 6) ContainerStatusUnknown")
}

// TestRule3_6_VouchedInTheSecondOfTheReturn: the kubelet vouches, in whole seconds, in the second in which its
// node is observed to be back.
func TestRule3_6_VouchedInTheSecondOfTheReturn(t *testing.T) {
	base, user := boundVolume()
	o := vouch(running(scheduledTo(user, "node-1", 4), 5), 6)
	back := vouch(o, 200)
	inv, h := play(t, append(slices.Clone(base), set(4, nodeOf("node-1", corev1.ConditionTrue, 4)), set(6, o), set(110, nodeOf("node-1", corev1.ConditionUnknown, 50)))...)
	for _, e := range []struct {
		at  fact.Time
		obj any
	}{{at(200) + 400_000, nodeOf("node-1", corev1.ConditionTrue, 200)}, {at(200) + 800_000, back}, {at(86400), nodeOf("node-1", corev1.ConditionTrue, 86400)}} {
		if err := inv.Set(e.obj, Live(e.at)); err != nil {
			t.Fatal(err)
		}
	}
	relist(t, inv, fact.Pods, Observation{At: at(90000), NotBefore: at(86410)})
	h.take(inv)
	expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-90000(from 86400) Deleted")
}

// TestRule3_6_RebootWithinTheGrace: the node's controller never calls the node Unknown.
func TestRule3_6_RebootWithinTheGrace(t *testing.T) {
	base, user := boundVolume()
	o := vouch(running(scheduledTo(user, "node-1", 4), 5), 6)
	n := func(at int, c corev1.ConditionStatus) event { return set(at, nodeOf("node-1", c, at)) }
	_, h := play(t, append(slices.Clone(base), n(4, "True"), set(6, o), n(50, "True"), n(70, "False"), gone(71, o))...)
	expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-71(from 50) Deleted")
}
