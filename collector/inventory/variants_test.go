package inventory

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// relist has an inventory take a list of a kind.
func relist(t *testing.T, inv *Inventory, kind fact.Kind, obs Observation, list ...any) {
	t.Helper()
	if err := inv.Replace(kind, list, obs); err != nil {
		t.Fatal(err)
	}
}

// userOnNode is a claim, and a pod that runs with it on node-1, as its kubelet said.
func userOnNode() (*corev1.PersistentVolumeClaim, *corev1.Pod) {
	pending := podOf("db-0", "p1", 4, []string{"db"}, "data")
	return pvc("data", "c1", 1, "vol"), vouch(running(scheduledTo(pending, "node-1", 4), 5), 6)
}

// expectBounds expects that no mount's end claims to be exact.
func expectBounds(t *testing.T, h *history) {
	t.Helper()
	for key, m := range h.mounts {
		if m.EndedAt == m.EndedNotBefore {
			t.Errorf("exact: %s", h.mount(key[0], key[1], key[3]))
		}
	}
}

// a pod with a nodeName of its own: its PodScheduled condition is the kubelet's (by the node's clock).
func TestRule2_4_ScheduledByTheNodesClock(t *testing.T) {
	first, next := pvc("data", "c1", 90_000, "vol"), pvc("data", "c2", 90_300, "vol-2")
	volume := pv("vol", "v1", 90_001, first, corev1.VolumeBound, 90_001)
	nextVolume := pv("vol-2", "v2", 90_301, next, corev1.VolumeBound, 90_301)
	pending := podOf("job", "p1", 90_010, []string{"main"}, "data") // spec.nodeName is given
	sched := func(o *corev1.Pod) *corev1.Pod { return scheduledTo(o, "node-1", 90_012+3600) }
	runs := vouch(sched(running(pending, 90_012+3600)), 90_012)
	done := vouch(sched(ended(pending, corev1.PodSucceeded, 90_012+3600, 90_100+3600, 0, "Completed")), 90_101)
	_, h := play(t, set(90_000, pvc("data", "c1", 90_000, "")), set(90_001, first), set(90_001, volume), set(90_010, pending), set(90_012, runs),
		set(90_101, done), gone(90_103, first), gone(90_104, volume), set(90_300, next), set(90_301, nextVolume))
	for _, m := range h.mounts {
		expect(t, "claim and volume", m.ClaimUID+"@"+m.VolumeUID, "c1@v1")
	}
	expect(t, "the next volume", h.states["v2"].Status, fact.VolumeNeverMounted)
}

// the same clock, 30 s behind: the claim that had the name before.
func TestRule2_4_ScheduledByTheNodesClockBehind(t *testing.T) {
	former, mine := pvc("data", "c1", 90_000, "vol"), pvc("data", "c2", 90_060, "vol-2")
	pending := podOf("job", "p1", 90_070, []string{"main"}, "data")
	runs := vouch(scheduledTo(running(pending, 90_072-30), "node-1", 90_072-30), 90_072)
	_, h := play(t, set(90_000, pvc("data", "c1", 90_000, "")), set(90_001, former), set(90_001, pv("vol", "v1", 90_001, former, corev1.VolumeBound, 90_001)),
		gone(90_050, former), set(90_060, pvc("data", "c2", 90_060, "")), set(90_061, mine), set(90_061, pv("vol-2", "v2", 90_061, mine, corev1.VolumeBound, 90_061)),
		set(90_070, pending), set(90_072, runs))
	expect(t, "mount", h.mount("p1", "main", "/data")[:5], "c2@v2")
	expect(t, "the volume that is in use", h.states["v2"].Status, fact.VolumeMounted)
}

// a node an hour behind, and a pod that ran for longer than that.
func TestRule3_5_LongUseOnANodeThatIsBehind(t *testing.T) {
	claim := pvc("data", "c1", 90_000, "vol")
	volume := pv("vol", "v1", 90_001, claim, corev1.VolumeBound, 90_001)
	pending := scheduledTo(podOf("db-0", "p1", 90_010, []string{"db"}, "data"), "node-1", 90_011)
	runs := vouch(running(pending, 90_012-3600), 90_012)
	done := vouch(ended(pending, corev1.PodSucceeded, 90_012-3600, 100_000-3600, 0, "Completed"), 100_001)
	situation{
		events: []event{set(90_000, claim), set(90_001, volume), set(90_010, pending), set(90_012, runs), set(100_001, done)},
		check: func(t *testing.T, h *history) {
			for _, m := range h.mounts {
				if m.EndedAt < at(99_990) {
					t.Errorf("it ended at 100000, and is said to have ended at %d, not before %d", int(m.EndedAt-at(0))/1e6, int(m.EndedNotBefore-at(0))/1e6)
				}
			}
		},
	}.run(t)
}

// the node is deleted, the tracker restarts from its journal, the pod is force-deleted.
func TestRule3_6_NodeGoneBeforeARestart(t *testing.T) {
	claim, user := userOnNode()
	stream := recordedOf(t, []event{
		set(0, nodeOf("node-1", corev1.ConditionTrue, 30)), set(1, pvc("data", "c1", 1, "")), set(3, claim), set(3, pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)),
		set(4, user), gone(90, nodeOf("node-1", corev1.ConditionUnknown, 50)), gone(120, user),
	})
	h := interrupted(t, stream, func(i int) bool { return i == len(stream)-1 })
	expectBounds(t, h)
}

// the list of nodes lacks the pod's node.
func TestRule3_6_NodeThatDoesNotExist(t *testing.T) {
	claim, user := userOnNode()
	inv, h := New(), newHistory()
	found := Observation{At: at(100), Found: true}
	relist(t, inv, fact.Nodes, found, nodeOf("node-2", corev1.ConditionTrue, 90))
	relist(t, inv, fact.Volumes, found, pv("vol", "v1", 2, claim, corev1.VolumeBound, 3))
	relist(t, inv, fact.Claims, found, claim)
	relist(t, inv, fact.Pods, found, user)
	h.take(inv)
	apply(t, inv, recordedOf(t, []event{gone(120, user)})[0])
	h.take(inv)
	expectBounds(t, h)
}

// the pod's deletion overtakes the node's.
func TestRule3_6_PodsBeforeNodes(t *testing.T) {
	claim, user := userOnNode()
	start := []event{set(0, nodeOf("node-1", corev1.ConditionTrue, 30)), set(1, claim), set(3, pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)), set(4, user)}
	for name, then := range map[string][]event{
		"the watch of nodes lags":                                      {gone(120, user), set(121, nodeOf("node-1", corev1.ConditionUnknown, 50))},
		"force-deleted before the node's controller notices (40-50 s)": {gone(75, user), set(95, nodeOf("node-1", corev1.ConditionUnknown, 50))},
	} {
		t.Run(name, func(t *testing.T) {
			_, h := play(t, slices.Concat(start, then)...)
			expectBounds(t, h)
		})
	}
}

// after a gap the nodes are read before the pods: a heartbeat that came after the pod was deleted by
// force is no evidence of the pod's life.
func TestRule3_6_HeartbeatAfterTheDeletion(t *testing.T) {
	claim, user := userOnNode()
	inv, h := New(), newHistory()
	for _, e := range recordedOf(t, []event{set(0, nodeOf("node-1", corev1.ConditionTrue, 0)), set(1, claim), set(3, pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)), set(6, user)}) {
		apply(t, inv, e)
	}
	gap := Observation{At: at(60), NotBefore: at(10)} // the pod is deleted at 20
	if err := inv.Set(nodeOf("node-1", corev1.ConditionTrue, 40), gap); err != nil {
		t.Fatal(err)
	}
	if err := inv.Delete(user, gap); err != nil {
		t.Fatal(err)
	}
	h.take(inv)
	expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-60(from 10) Deleted")
}

// the clock of a node that is lost is ahead. Its last heartbeat is no evidence of life at each later update of the node.
func TestRule3_6_HeartbeatOfANodeThatIsAhead(t *testing.T) {
	claim, user := userOnNode()
	lost := nodeOf("node-1", corev1.ConditionUnknown, 50+3600)
	lost.Status.Conditions[1].LastTransitionTime = second(90)
	drained := lost.DeepCopy()
	drained.Labels = map[string]string{"maintenance": "yes"}
	_, h := play(t, set(0, nodeOf("node-1", corev1.ConditionTrue, 30+3600)), set(1, claim), set(3, pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)), set(4, user),
		set(50, nodeOf("node-1", corev1.ConditionTrue, 50+3600)), set(90, lost), set(600, drained), gone(620, user))
	for _, m := range h.mounts {
		if m.EndedNotBefore > at(50) {
			t.Errorf("the last evidence of life is the heartbeat observed at 50: %s", h.mount("p1", "db", "/data"))
		}
	}
}

// what has another claim since 70 was released by then.
func TestRule1_2_ReleaseInAGapIsNarrowed(t *testing.T) {
	claim, other := pvc("data", "c1", 1, "vol"), pvc("other", "c2", 60, "vol")
	for name, after := range map[string]*corev1.PersistentVolume{
		"given to another": pv("vol", "v1", 2, other, corev1.VolumeBound, 70), "cleared": pv("vol", "v1", 2, nil, corev1.VolumeAvailable, 70),
	} {
		t.Run(name, func(t *testing.T) {
			inv, h := play(t, set(1, pvc("data", "c1", 1, "")), set(3, claim), set(3, pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)))
			relist(t, inv, fact.Volumes, Observation{At: at(100), NotBefore: at(10)}, after)
			h.take(inv)
			b := h.bindings[[2]string{"c1", "v1"}]
			if b.ReleasedAt > at(70) {
				t.Errorf("released at %d", int(b.ReleasedAt-at(0))/1e6)
			}
		})
	}
}

// a Lost claim whose volume was made again, and is another's (ClaimMisbound).
func TestRule2_6_SuccessorOfALostClaimsVolume(t *testing.T) {
	lost, other := pvc("data", "c1", 1, "vol"), pvc("next", "c2", 32, "vol")
	lost.Status.Phase, lost.Status.Capacity = corev1.ClaimLost, nil
	successor := pv("vol", "v1", 30, other, corev1.VolumeBound, 35)
	user := ended(podOf("job", "p1", 4, []string{"main"}, "data"), corev1.PodSucceeded, 5, 9, 0, "Completed")
	t.Run("found", func(t *testing.T) {
		inv, h := New(), newHistory()
		found := Observation{At: at(40), Found: true}
		relist(t, inv, fact.Volumes, found, successor)
		relist(t, inv, fact.Claims, found, lost, other)
		relist(t, inv, fact.Pods, found, user)
		h.take(inv)
		expect(t, "the Lost claim's volume", h.claims["c1"].VolumeUID, "")
		expectState(t, h, fact.VolumeNeverMounted, 0, 35)
	})
	t.Run("it is made after a restart", func(t *testing.T) {
		inv, h, k := New(), newHistory(), newKeeper()
		found := Observation{At: at(20), Found: true}
		relist(t, inv, fact.Claims, found, lost)
		relist(t, inv, fact.Pods, found, user)
		var u fact.Update
		inv.Take(&u)
		k.take(&u)
		k.now = at(20)
		inv = k.restart(t)
		for _, e := range recordedOf(t, []event{set(30, pv("vol", "v1", 30, nil, corev1.VolumeAvailable, 30)), set(32, pvc("next", "c2", 32, "")), set(35, successor), set(35, other)}) {
			apply(t, inv, e)
			h.take(inv)
		}
		expectState(t, h, fact.VolumeNeverMounted, 0, 35)
		expect(t, "the Lost claim's volume", h.claims["c1"].VolumeUID, "")
	})
}

// kubectl delete pod --cascade=orphan: the garbage collector takes the owner off the claim of a generic ephemeral volume.
func TestRule2_2_OrphanedEphemeralClaim(t *testing.T) {
	o := podOf("build", "p1", 10, []string{"main"})
	o.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
		Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}},
	}}}
	o.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}
	own := pvc("build-scratch", "c1", 11, "vol")
	own.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: "build", UID: "p1", Controller: new(true)}}
	orphaned := own.DeepCopy()
	orphaned.OwnerReferences = nil
	runs := running(o, 15)
	done := ended(o, corev1.PodRunning, 15, 50, 143, "Error")
	deleting := done.DeepCopy()
	deleting.DeletionTimestamp, deleting.Finalizers = new(second(40)), []string{"orphan"}
	situation{
		events: []event{set(10, o), set(11, own), set(12, pv("vol", "v1", 12, own, corev1.VolumeBound, 12)), set(15, runs), set(41, orphaned), set(51, deleting), gone(52, deleting)},
		check: func(t *testing.T, h *history) {
			expect(t, "mount", h.mount("p1", "main", "/scratch"), "c1@v1 15-50 Deleted")
			expectState(t, h, fact.VolumeIdle, 50, 50)
		},
	}.run(t)
}

// a volume that was provisioned for a claim which was bound elsewhere meanwhile: the controller makes it Released.
func TestRule2_8_ProvisionedInVain(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	vain := pv("pvc-c1", "v2", 4, claim, corev1.VolumePending, 4)
	released := pv("pvc-c1", "v2", 4, claim, corev1.VolumeReleased, 5)
	user := podOf("db-0", "p1", 6, []string{"db"}, "data")
	check := func(t *testing.T, h *history) {
		t.Helper()
		expect(t, "claim", h.claims["c1"].VolumeUID, "v1")
		expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 7-")
		expect(t, "status", h.states["v1"].Status, fact.VolumeMounted)
		expect(t, "bindings", len(h.bindings), 1)
	}
	t.Run("watched", func(t *testing.T) {
		situation{
			events: []event{set(1, pvc("data", "c1", 1, "")), set(3, volume), set(3, claim), set(4, vain), set(5, released), set(6, user), set(7, running(user, 7))},
			check:  check,
		}.run(t)
	})
	t.Run("found", func(t *testing.T) {
		for _, list := range [][]any{{volume, released}, {released, volume}} {
			inv, h := New(), newHistory()
			found := Observation{At: at(10), Found: true}
			relist(t, inv, fact.Volumes, found, list...)
			relist(t, inv, fact.Claims, found, claim)
			relist(t, inv, fact.Pods, found, running(user, 7))
			h.take(inv)
			check(t, h)
		}
	})
}

// volumes that are made again with the claimRef of a claim that is long gone.
func TestRule6_2_FormersOfClaimsThatAreUnknown(t *testing.T) {
	inv := New()
	var u fact.Update
	claim := pvc("data", "c1", 1, "vol")
	for i := range 100 {
		v := pv("vol", fmt.Sprint("v", i), 100*i, claim, corev1.VolumeReleased, 100*i) // kubectl replace --force, from the same file
		for _, e := range recordedOf(t, []event{set(100*i, v), gone(100*i+99, v)}) {
			apply(t, inv, e)
			inv.Take(&u)
		}
	}
	for i := range 10 {
		inv.Tick(at(100_000 + i*1000))
	}
	n := 0
	for _, list := range inv.formers {
		n += len(list)
	}
	if n > 0 {
		t.Errorf("%d former volumes of claims that nobody knows", n)
	}
}

// a volume that is given from claim to claim for ever (Recycle, or a controller that clears claimRefs).
func TestRule6_2_PastBindings(t *testing.T) {
	inv, k := New(), newKeeper()
	var u fact.Update
	for i := range 300 {
		from := 1000 * (i + 1)
		claim := pvc("data", fmt.Sprint("c", i), from, "vol")
		for _, e := range recordedOf(t, []event{
			set(from, pvc("data", fmt.Sprint("c", i), from, "")), set(from+1, pv("vol", "v1", 1, claim, corev1.VolumeBound, from+1)), set(from+1, claim),
			gone(from+10, claim), set(from+11, pv("vol", "v1", 1, claim, corev1.VolumeReleased, from+11)), set(from+12, pv("vol", "v1", 1, nil, corev1.VolumeAvailable, from+12)),
		}) {
			apply(t, inv, e)
			inv.Take(&u)
			k.take(&u)
		}
	}
	if n := len(inv.past[inv.volumes["v1"]]); n > 10 {
		t.Errorf("%d past bindings of one volume are remembered", n)
	}
	if n := len(k.memories[memoryKey{fact.Volumes, "v1"}].Bindings); n > 10 {
		t.Errorf("%d are in each snapshot of it", n)
	}
}

// a claim that had its volume twice, before another claim got it: the last time counts.
func TestRule6_2_TheLastOfTwoBindings(t *testing.T) {
	inv := New()
	var u fact.Update
	claim, other := pvc("data", "c1", 1, "vol"), pvc("other", "c2", 1, "vol")
	bound := fact.Time(0)
	lost := pvc("data", "c1", 1, "vol")
	lost.Status.Phase = corev1.ClaimLost
	for _, e := range recordedOf(t, []event{
		set(2, pv("vol", "v1", 1, claim, corev1.VolumeBound, 2)), set(3, claim),
		set(10, pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 10)), set(20, pv("vol", "v1", 1, claim, corev1.VolumeBound, 20)),
		set(30, pv("vol", "v1", 1, other, corev1.VolumeBound, 30)), set(31, lost),
	}) {
		apply(t, inv, e)
		inv.Take(&u)
		for _, c := range u.Claims {
			if c.UID == "c1" {
				bound = c.BoundAt
			}
		}
	}
	if want := at(20); bound != want {
		t.Errorf("bound at %v, want %v", bound, want)
	}
}

// an evicted pod, found, whose container's status is ContainerStatusUnknown: the kubelet says so only of one that ran.
func TestRule3_6_StatusUnknownFound(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	o := vouch(running(scheduledTo(podOf("db-0", "p1", 4, []string{"db"}, "data"), "node-1", 4), 5), 5000)
	o.Status.Phase, o.Status.Reason = corev1.PodFailed, "Evicted"
	o.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}}
	inv, h := New(), newHistory()
	found := Observation{At: at(6000), Found: true}
	relist(t, inv, fact.Volumes, found, pv("vol", "v1", 2, claim, corev1.VolumeBound, 3))
	relist(t, inv, fact.Claims, found, claim)
	relist(t, inv, fact.Pods, found, o)
	h.take(inv)
	s := h.states["v1"]
	expect(t, "status", s.Status, fact.VolumeIdle)
	if s.LastUsed < at(5000) {
		t.Errorf("last used at %d, idle since %d", int(s.LastUsed-at(0))/1e6, int(s.IdleSince-at(0))/1e6)
	}
}

// the same run, of one that was started again: it says not when it began.
func TestRule3_2_StatusUnknownBeforeTheFirstLook(t *testing.T) {
	o := scheduledTo(podOf("db-0", "p1", 4, []string{"db"}, "data"), "node-1", 6)
	again := running(o, 100)
	again.Status.ContainerStatuses[0].RestartCount = 1
	again.Status.ContainerStatuses[0].LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}}
	_, h := play(t, set(1, pvc("data", "c1", 1, "")), set(110, again))
	expect(t, "not before", h.mounts[[4]string{"p1", "db", "vol-0", "/data"}].StartedNotBefore, at(6))
}

// the catalog is read back late, and tells of a claim and a volume that were seen to go meanwhile: a completed pod used them.
func TestRule6_3_ReconcileWhatIsRemembered(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	user := ended(podOf("job", "p1", 4, []string{"main"}, "data"), corev1.PodSucceeded, 5, 9, 0, "Completed")
	inv, h, k := New(), newHistory(), newKeeper()
	var u fact.Update
	take := func() {
		inv.Take(&u)
		k.take(&u)
		h.add(&u)
	}
	found := Observation{At: at(60), Found: true}
	relist(t, inv, fact.Volumes, found, volume)
	relist(t, inv, fact.Claims, found, claim)
	relist(t, inv, fact.Pods, found, user)
	take()
	for _, e := range recordedOf(t, []event{gone(71, claim), gone(72, volume)}) {
		apply(t, inv, e)
		take()
	}
	last := map[fact.Kind]fact.Time{fact.Volumes: at(6), fact.Claims: at(6), fact.Pods: at(6)}
	if unread, err := inv.Reconcile(catalogOf(h, k), k.version, at(80), last, nil); unread != nil || err != nil { // once all rows are written: what h has
		t.Fatal(err)
	}
	take()
	expect(t, "claims of the name", len(inv.slot(name{"shop", "data"}).claims), 1)
	apply(t, inv, recordedOf(t, []event{gone(100, user)})[0])
	for i := range 10 {
		inv.Tick(at(3000 + i*1000))
	}
	take()
	expect(t, "left of names, volumes, tombstones", fmt.Sprint(len(inv.claimNames), len(inv.goneVolumes), len(inv.dead)), "0 0 0")
}

// before Kubernetes 1.28 a binding that began in a gap has no exact beginning: idle is the longest that it can be.
func TestRule5_2_BoundInAGap(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	volume.Status.LastPhaseTransitionTime = nil
	inv, h := play(t, set(1, pvc("data", "c1", 1, "")))
	gap := Observation{At: at(10_000), NotBefore: at(2)}
	relist(t, inv, fact.Volumes, gap, volume)
	relist(t, inv, fact.Claims, gap, claim)
	h.take(inv)
	if since := h.states["v1"].IdleSince; since > at(2) {
		t.Errorf("it was made at 2, and may have been idle since then, not since %d", int(since-at(0))/1e6)
	}
	expect(t, "created to bound, which nobody observed", fmt.Sprint(tookOf(h, fact.Bound)), "[?]")
}

// the volume of a claim that was bound in a gap is another claim's by the end of it: only the claim tells, and no moment.
func TestRule2_9_BoundInAGapAndGivenAway(t *testing.T) {
	other := pvc("other", "c2", 500, "vol")
	inv, h := play(t, set(1, pvc("data", "c1", 1, "")))
	gap := Observation{At: at(10_000), NotBefore: at(2)}
	relist(t, inv, fact.Volumes, gap, pv("vol", "v1", 2, other, corev1.VolumeBound, 501))
	relist(t, inv, fact.Claims, gap, pvc("data", "c1", 1, "vol"), other)
	h.take(inv)
	var took []string
	for _, c := range h.changes {
		if c.Action == fact.Bound && c.UID == "c1" {
			took = append(took, fmt.Sprint(c.Measured))
		}
	}
	expect(t, "bound, and the duration is known", fmt.Sprint(took), "[false]")
}

// the kubelet vouches for what runs (rule 3.3), and not for a container that waits beside it.
func TestRule3_3_VouchedForWhatDoesNotRun(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	o := podOf("web", "p1", 4, []string{"app", "side"}, "data")
	looping := func(when int) *corev1.Pod {
		p := running(o, 5)
		p.Status.ContainerStatuses[0] = corev1.ContainerStatus{
			Name: "app", RestartCount: 1, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: terminated(5, 20, 1, "Error"),
		}
		return vouch(p, when)
	}
	deleting := looping(300)
	deleting.DeletionTimestamp = new(second(310))
	_, h := play(t, set(1, claim), set(3, pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)), set(6, vouch(running(o, 5), 6)), set(21, looping(21)), set(300, looping(300)), set(310, deleting), set(311, vouch(deleting, 311)))
	expect(t, "mount", h.mount("p1", "app", "/data"), "c1@v1 5-20 Error")
}

// fuzzers promise that nothing panics.
func TestRule6_4_AnotherContainerName(t *testing.T) {
	o := podOf("db-0", "p1", 4, []string{"db"}, "data")
	other := podOf("db-0", "p1", 4, []string{"other"}, "data")
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("panic: %v", r)
		}
	}()
	play(t, set(4, o), set(5, other))
}

// the catalog holds nodes, and not that they are lost.
func TestRule3_6_NodeLostAndTheJournalToo(t *testing.T) {
	claim, user := userOnNode()
	user.Status.Conditions = append(user.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: second(90)})
	inv, h := New(), newHistory()
	if unread, err := inv.Restore(fact.SavedList{
		restored(nodeOf("node-1", corev1.ConditionUnknown, 50), fact.ObjectSnapshot{}),
		restored(pv("vol", "v1", 2, claim, corev1.VolumeBound, 3), fact.ObjectSnapshot{Kind: fact.Volumes, UID: "v1", ClaimUID: "c1", BoundAt: at(3)}),
		restored(claim, fact.ObjectSnapshot{Kind: fact.Claims, UID: "c1", BoundAt: at(3), VolumeUID: "v1"}),
		restored(user, fact.ObjectSnapshot{Kind: fact.Pods, UID: "p1", Containers: []fact.ContainerSnapshot{{Name: "db", StartedAt: at(5)}}}),
	}, 1, at(200)); unread != nil || err != nil {
		t.Fatal(err)
	}
	h.take(inv)
	relist(t, inv, fact.Pods, Observation{At: at(200), NotBefore: at(100)}) // before the list of nodes
	relist(t, inv, fact.Nodes, Observation{At: at(200), NotBefore: at(100)}, nodeOf("node-1", corev1.ConditionUnknown, 50))
	h.take(inv)
	for _, m := range h.mounts {
		if m.EndedNotBefore > at(50) {
			t.Errorf("the node's last heartbeat was at 50: %s", h.mount("p1", "db", "/data"))
		}
	}
}

// an attachment of a volume that is forgotten keeps its volume when the name is taken once more.
func TestRule2_6_AttachmentOfAForgottenVolume(t *testing.T) {
	old, second, third := pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 1), pv("vol", "v2", 1000, nil, corev1.VolumeAvailable, 1000), pv("vol", "v3", 1100, nil, corev1.VolumeAvailable, 1100)
	stuck := volumeAttachment("a1", "vol", 4)
	stuck.CreationTimestamp = instant(4)
	_, h := play(t, set(1, old), set(4, stuck), gone(10, old), set(900, storageClass("a", "s1")), set(1000, second), gone(1050, second), set(1100, third))
	expect(t, "its volume", h.attachments["a1"].VolumeUID, "v1")
}

// that a pod is not ready is forgotten over a restart: nothing else of it changed.
func TestRule3_6_UnreadyBeforeARestart(t *testing.T) {
	claim, user := userOnNode()
	unready := user.DeepCopy()
	unready.Status.Conditions = append(unready.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: second(90)})
	for name, restart := range map[string]bool{"goes on": false, "restarts from its journal": true} {
		t.Run(name, func(t *testing.T) {
			inv, h, k := New(), newHistory(), newKeeper()
			var u fact.Update
			for _, e := range recordedOf(t, []event{set(3, claim), set(3, pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)), set(4, user), set(91, unready)}) {
				apply(t, inv, e)
				inv.Take(&u)
				k.take(&u)
				k.now = e.at
			}
			if restart {
				inv = k.restart(t)
			}
			relist(t, inv, fact.Pods, Observation{At: at(200), NotBefore: at(110)})
			h.take(inv)
			expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-200(from 6) Deleted")
		})
	}
}

// found by FuzzSequences: while several pods go in one event, one of them is found to have used something else. The others
// are neither among the living nor among the dead at that moment, and their last use is lost.
func TestRule4_2_SeveralPodsGoAtOnce(t *testing.T) {
	other := podOf("other", "p2", 12, []string{"main"}, "build-scratch")
	o := podOf("build", "p1", 10, []string{"main"})
	o.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
		Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}},
	}}}
	o.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}
	own := pvc("build-scratch", "c1", 11, "vol")
	own.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: "build", UID: "p1", Controller: new(true)}}
	orphaned := own.DeepCopy()
	orphaned.OwnerReferences = nil
	for range 20 { // the order in which pods are dropped is that of a map
		inv, h := play(t, set(10, o), set(11, own), set(12, pv("vol", "v1", 12, own, corev1.VolumeBound, 12)),
			set(50, ended(o, corev1.PodSucceeded, 15, 50, 0, "Completed")), set(50, ended(other, corev1.PodSucceeded, 15, 30, 0, "Completed")), set(55, orphaned))
		relist(t, inv, fact.Pods, Observation{At: at(100), NotBefore: at(60)})
		h.take(inv)
		checkCounts(t, inv)
		if s := h.states["v1"]; s.LastUsed < at(30) {
			t.Fatalf("the other pod used it until 30 at least, whatever the first one did: %s since %d", s.Status, int(s.IdleSince-at(0))/1e6)
		}
	}
}

// A tracker that comes when a node is lost already: the heartbeat was before its controller noticed.
func TestRule3_6_NodeThatIsLostWhenWeCome(t *testing.T) {
	claim, user := userOnNode()
	lost := nodeOf("node-1", corev1.ConditionUnknown, 50+3600)
	lost.Status.Conditions[1].LastTransitionTime = second(90)
	_, h := play(t, set(500, lost), set(500, claim), set(500, pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)), set(500, user), gone(620, user))
	expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-620(from 90) Deleted")
}

// A container that was observed to wait, and that the kubelet has then lost, did not run; nor after
// a restart.
func TestRule3_6_StatusUnknownAfterWaiting(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	waiting := podOf("db-0", "p1", 4, []string{"db"}, "data")
	waiting.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "db", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
	unknown := waiting.DeepCopy()
	unknown.Status.Phase, unknown.Status.Reason = corev1.PodFailed, "Evicted"
	unknown.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}}
	situation{
		events: []event{set(1, claim), set(3, pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)), set(5, waiting), set(100, unknown)},
		check:  func(t *testing.T, h *history) { expectState(t, h, fact.VolumeNeverMounted, 0, 3) },
	}.run(t)
}

// A volume that is given from claim to claim and then goes, before the claims' watch has shown the
// first of them: that one was bound, and its pod used the volume.
func TestRule2_5_GivenAwayBeforeTheClaimIsKnown(t *testing.T) {
	giver, taker := pvc("giver", "c1", 10, "vol"), pvc("taker", "c2", 30, "vol")
	lost := giver.DeepCopy()
	lost.Status.Phase, lost.Status.Capacity = corev1.ClaimLost, nil
	user := podOf("job", "p1", 12, []string{"main"}, "giver")
	done := ended(user, corev1.PodSucceeded, 14, 20, 0, "Completed")
	last := pv("vol", "v1", 5, taker, corev1.VolumeReleased, 50)
	situation{
		events: []event{
			set(5, pv("vol", "v1", 5, nil, corev1.VolumeAvailable, 5)), set(10, pvc("giver", "c1", 10, "")), set(11, pv("vol", "v1", 5, giver, corev1.VolumeBound, 11)),
			set(11, giver), set(12, user), set(14, running(user, 14)), set(20, done), gone(21, done),
			set(31, pv("vol", "v1", 5, taker, corev1.VolumeBound, 31)), set(30, pvc("taker", "c2", 30, "")), set(31, taker), set(32, lost), gone(40, lost),
			gone(49, taker), set(50, last), gone(51, last),
		},
		check: func(t *testing.T, h *history) {
			expect(t, "giver", h.claims["c1"].VolumeUID, "v1")
			expect(t, "taker", h.claims["c2"].VolumeUID, "v1")
			expect(t, "mount", h.mount("p1", "main", "/giver"), "c1@v1 14-20 Completed")
			expect(t, "bindings", len(h.bindings), 2)
			bound := 0
			for _, c := range h.changes {
				if c.Action == fact.Bound {
					bound++
				}
			}
			expect(t, "bound", bound, 2)
		},
	}.run(t)
}

// A claim that names the volume that it wants from the start, before that is made again under its
// name: while its watch is ahead, the former volume is on its way to its own claim.
func TestRule2_8_ClaimForAVolumeThatIsMadeAgain(t *testing.T) {
	former, next := pvc("old", "c1", 10, "vol"), pvc("new", "c2", 40, "vol")
	wanted := next.DeepCopy()
	wanted.Status.Phase, wanted.Status.Capacity = corev1.ClaimPending, nil
	reserved := pv("vol", "v1", 5, former, corev1.VolumeAvailable, 5)
	released := pv("vol", "v1", 5, former, corev1.VolumeReleased, 20)
	situation{
		events: []event{
			set(5, pv("vol", "v1", 5, nil, corev1.VolumeAvailable, 5)), set(10, pvc("old", "c1", 10, "")), set(11, reserved), set(12, pv("vol", "v1", 5, former, corev1.VolumeBound, 12)),
			set(12, former), gone(19, former), set(20, released), gone(21, released),
			set(39, pv("vol", "v2", 39, nil, corev1.VolumeAvailable, 39)), set(40, wanted), set(41, pv("vol", "v2", 39, next, corev1.VolumeBound, 41)), set(41, next),
		},
		check: func(t *testing.T, h *history) {
			expect(t, "former", h.claims["c1"].VolumeUID, "v1")
			expect(t, "next", h.claims["c2"].VolumeUID, "v2")
			expect(t, "bindings", len(h.bindings), 2)
		},
	}.run(t)
}

// A claim waits for the volume that it names, while that is another's first.
func TestRule2_8_ClaimThatWaitsForAVolumeInUse(t *testing.T) {
	other, claim := pvc("other", "c1", 2, "vol"), pvc("data", "c2", 1, "vol")
	wanted := claim.DeepCopy()
	wanted.Status.Phase, wanted.Status.Capacity = corev1.ClaimPending, nil
	situation{
		events: []event{
			set(1, pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 1)), set(1, wanted), set(2, pvc("other", "c1", 2, "")),
			set(6, pv("vol", "v1", 1, other, corev1.VolumeBound, 6)), set(6, other), gone(8, other), set(8, pv("vol", "v1", 1, other, corev1.VolumeReleased, 8)),
			set(10, pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 10)), set(12, pv("vol", "v1", 1, claim, corev1.VolumeBound, 12)), set(12, claim),
		},
		check: func(t *testing.T, h *history) {
			expect(t, "bindings", len(h.bindings), 2)
			expect(t, "the other's", h.bindings[[2]string{"c1", "v1"}], fact.Binding{Namespace: "shop", ClaimName: "other", ClaimUID: "c1", VolumeUID: "v1", BoundAt: at(6), ReleasedAt: at(8), ReleasedNotBefore: at(8)})
			expect(t, "its own", h.bindings[[2]string{"c2", "v1"}], fact.Binding{Namespace: "shop", ClaimName: "data", ClaimUID: "c2", VolumeUID: "v1", BoundAt: at(12)})
		},
	}.run(t)
}

// A pod that goes in the very event in which another one's use is corrected still counts.
func TestRule4_2_PodThatGoesInTheSameEvent(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	done := ended(podOf("job", "p1", 4, []string{"main"}, "data"), corev1.PodSucceeded, 5, 9, 0, "Completed")
	inv, _ := play(t, set(1, claim), set(3, pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)), set(9, done))
	inv.dropPod(inv.pods["p1"], Live(at(20)))
	v := inv.volumes["v1"]
	v.lastUse = 0
	inv.findLastUse(v)
	expect(t, "last use", v.lastUse, at(9))
}
