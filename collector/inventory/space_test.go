package inventory

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// fullness is what a kubelet says at a second of the first volume of a pod, which is of the claim "data".
func fullness(pod, uid string, second int, used int64) Sample {
	return Sample{Node: "node-1", PodUID: uid, Namespace: "shop", Pod: pod, Volume: "vol-0", ClaimNamespace: "shop", Claim: "data", At: at(second), Space: fact.Space{CapacityBytes: 1000, UsedBytes: used, AvailableBytes: 990 - used, Inodes: 100, InodesUsed: 7}}
}

func TestHowFullVolumesAre(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 1, claim, corev1.VolumeBound, 2)
	db, other := podOf("db-0", "p1", 3, []string{"main"}, "data"), podOf("db-1", "p2", 3, []string{"main"}, "data")
	inv, keeper := New(), newKeeper()
	var u fact.Update
	see := func(second int, objects ...any) {
		t.Helper()
		for _, o := range objects {
			if err := inv.Set(o, Live(at(second))); err != nil {
				t.Fatal(err)
			}
		}
		inv.Take(&u)
		keeper.take(&u)
	}
	see(6, claim, volume, running(db, 5), running(other, 6))
	measure := func(now int, samples ...Sample) (told []fact.Usage, states []fact.VolumeState) {
		t.Helper()
		inv.Measure(samples, at(now))
		inv.Take(&u)
		keeper.take(&u)
		keeper.now = at(now)
		return slices.Clone(u.Facts.Usage), slices.Clone(u.Volumes)
	}

	told, states := measure(20, fullness("db-1", "p2", 11, 301))
	expect(t, "rows", len(told), 1)
	expect(t, "row", told[0], fact.Usage{At: at(11), Namespace: "shop", ClaimUID: "c1", VolumeUID: "v1", Space: fullness("db-1", "p2", 11, 301).Space})
	expect(t, "states", len(states), 1)
	expect(t, "used", states[0].UsedBytes, 301)
	expect(t, "available", states[0].AvailableBytes, 689)
	expect(t, "inodes", states[0].Inodes, 100)
	expect(t, "inodes used", states[0].InodesUsed, 7)
	expect(t, "measured", states[0].Measured, true)
	expect(t, "a use is known", states[0].Used, true)
	expect(t, "a block device", states[0].Block, false)

	told, states = measure(40, fullness("db-0", "p1", 31, 301))
	expect(t, "rows of what is as before", len(told), 0)
	expect(t, "states of what is as before", len(states), 0)

	told, _ = measure(50, fullness("db-0", "p1", 60, 302))
	expect(t, "rows", len(told), 1)
	expect(t, "a node whose clock is ahead", told[0].At, at(50))

	told, _ = measure(55, fullness("db-0", "p1", 49, 303))
	expect(t, "rows of a report that is older than the last", len(told), 0)

	told, _ = measure(60,
		fullness("db-9", "p9", 55, 1), // a pod that is not known, as of a namespace that came just now
		Sample{PodUID: "p1", Volume: "scratch", At: at(55), Space: fact.Space{UsedBytes: 1}})
	expect(t, "rows of what is nobody's", len(told), 0)

	// Nobody uses it any more: what was known stays, also over a restart.
	see(72, ended(db, corev1.PodSucceeded, 5, 70, 0, "Completed"), ended(other, corev1.PodSucceeded, 6, 71, 0, "Completed"))
	expect(t, "idle", u.Volumes[0].Status, fact.VolumeIdle)
	expect(t, "used while idle", u.Volumes[0].UsedBytes, 302)
	inv = keeper.restart(t)
	inv.Take(&u)
	expect(t, "used after a restart", u.Volumes[0].UsedBytes, 302)
	expect(t, "available after a restart", u.Volumes[0].AvailableBytes, 688)
	expect(t, "inodes after a restart", u.Volumes[0].Inodes, 100)
	expect(t, "a use is known after a restart", u.Volumes[0].Used, true)
	told, _ = measure(90, fullness("db-0", "p1", 80, 302))
	expect(t, "rows of what is as before the restart", len(told), 0)
}

// TestRefusedSamples has kubelets lie, one detail at a time. A node cannot change to which node a pod is bound, nor
// which claims the pod uses, so that it can report no volume but those of its own pods.
func TestRefusedSamples(t *testing.T) {
	started := func(o *corev1.Pod, node string) *corev1.Pod {
		o = running(o, 105)
		o.Spec.NodeName = node
		return o
	}
	db := started(podOf("db-0", "p1", 100, []string{"main"}, "data", "unknown"), "node-1")
	db.Spec.Volumes = append(db.Spec.Volumes, corev1.Volume{Name: "share", VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nas", Path: "/"}}})
	other := started(podOf("other", "p2", 100, []string{"main"}, "other"), "node-2")
	over := ended(podOf("over", "p3", 100, []string{"main"}, "data"), corev1.PodSucceeded, 105, 106, 0, "Completed")
	deleted := started(podOf("gone", "p4", 100, []string{"main"}, "data"), "node-1")
	const now = 200
	for name, test := range map[string]struct {
		lie  func(*Sample)
		want Refusal
		rows int
	}{
		"the truth":                              {func(*Sample) {}, Accepted, 1},
		"a node's clock that is ahead a little":  {func(s *Sample) { s.At = at(now + 60) }, Accepted, 1},
		"a node's clock that is behind a little": {func(s *Sample) { s.At = at(40) }, Accepted, 1},
		"a claim that is not known yet":          {func(s *Sample) { s.Volume, s.Claim = "vol-1", "unknown" }, Accepted, 0},
		"a pod that nobody knows":                {func(s *Sample) { s.PodUID = "p9" }, RefusedPod, 0},
		"a pod that has ended": {func(s *Sample) {
			s.PodUID, s.Pod = "p3", "over"
		}, RefusedPod, 0},
		"a pod that is deleted": {func(s *Sample) {
			s.PodUID, s.Pod = "p4", "gone"
		}, RefusedPod, 0},
		"another node's pod": {func(s *Sample) {
			s.PodUID, s.Pod, s.Claim = "p2", "other", "other"
		}, RefusedNode, 0},
		"a node that says this one's":         {func(s *Sample) { s.Node = "node-2" }, RefusedNode, 0},
		"another pod's name":                  {func(s *Sample) { s.Pod = "other" }, RefusedClaim, 0},
		"another pod's namespace":             {func(s *Sample) { s.Namespace = "bank" }, RefusedClaim, 0},
		"another claim":                       {func(s *Sample) { s.Claim = "other" }, RefusedClaim, 0},
		"another namespace's claim":           {func(s *Sample) { s.ClaimNamespace = "bank" }, RefusedClaim, 0},
		"another volume of the pod":           {func(s *Sample) { s.Volume = "vol-1" }, RefusedClaim, 0},
		"a volume that the pod does not have": {func(s *Sample) { s.Volume = "vol-9" }, RefusedClaim, 0},
		"a volume that is of no claim":        {func(s *Sample) { s.Volume = "share" }, RefusedClaim, 0},
		"the future":                          {func(s *Sample) { s.At = at(now + 61) }, RefusedTime, 0},
		"before the pod was":                  {func(s *Sample) { s.At = at(39) }, RefusedTime, 0},
		"the beginning of time":               {func(s *Sample) { s.At = fact.At(time.Time{}) }, RefusedTime, 0},
		"the end of time":                     {func(s *Sample) { s.At = fact.At(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)) }, RefusedTime, 0},
	} {
		t.Run(name, func(t *testing.T) {
			claim, otherClaim := pvc("data", "c1", 1, "vol"), pvc("other", "c2", 1, "vol-2")
			inv, _ := play(t, set(106, claim), set(106, otherClaim),
				set(106, pv("vol", "v1", 1, claim, corev1.VolumeBound, 2)), set(106, pv("vol-2", "v2", 1, otherClaim, corev1.VolumeBound, 2)),
				set(106, db), set(106, other), set(107, over), set(107, deleted), gone(108, deleted))
			var u fact.Update
			inv.Take(&u)
			s := fullness("db-0", "p1", 150, 7)
			test.lie(&s)
			expect(t, "refused", inv.Refusal(&s, at(now)), test.want)
			inv.Measure([]Sample{s}, at(now))
			inv.Take(&u)
			expect(t, "rows", len(u.Facts.Usage), test.rows)
		})
	}
	expect(t, "reasons", len(Refusals()), 4)
}

// TestATrackersClockThatWasAhead goes on with reports from before the last known one, if that is in the future.
func TestATrackersClockThatWasAhead(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	inv, _ := play(t, set(3, claim), set(3, pv("vol", "v1", 1, claim, corev1.VolumeBound, 2)),
		set(3, running(podOf("db-0", "p1", 3, []string{"main"}, "data"), 3)))
	var u fact.Update
	inv.Measure([]Sample{fullness("db-0", "p1", 3600, 7)}, at(3600))
	inv.Measure([]Sample{fullness("db-0", "p1", 30, 8)}, at(31))
	inv.Take(&u)
	expect(t, "rows", len(u.Facts.Usage), 2)
	expect(t, "used", u.Facts.Usage[1].UsedBytes, 8)
}

// TestFiguresThatNoLongerCount restores what an older tracker took from a kubelet: 0 bytes used of a block device, and 0 bytes for a driver
// that reports none.
func TestFiguresThatNoLongerCount(t *testing.T) {
	block := corev1.PersistentVolumeBlock
	for _, c := range []struct {
		mode *corev1.PersistentVolumeMode
		size int64
		want bool
	}{{nil, 1000, true}, {&block, 1000, false}, {nil, 0, false}} {
		volume := pv("vol", "v1", 1, pvc("data", "c1", 1, "vol"), corev1.VolumeBound, 2)
		volume.Spec.VolumeMode = c.mode
		inv := New()
		unread, err := inv.Restore(fact.SavedList{restored(volume, fact.ObjectSnapshot{UID: "v1", Space: &fact.Space{CapacityBytes: c.size}})}, 0, at(9))
		must(t, unread)
		must(t, err)
		var u fact.Update
		inv.Take(&u)
		expect(t, "measured", u.Volumes[0].Measured, c.want)
		expect(t, "its snapshot has the space", u.Snapshots[0].Space != nil, c.want)
	}
}

func TestNodesThatAreInUse(t *testing.T) {
	on := func(o *corev1.Pod, node string) *corev1.Pod {
		o = o.DeepCopy()
		o.Spec.NodeName = node
		return o
	}
	claim := pvc("data", "c1", 1, "vol")
	pod := func(name string, claims ...string) *corev1.Pod {
		return podOf(name, "uid-"+name, 2, []string{"main"}, claims...)
	}
	scratch := pod("scratch")
	scratch.Spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	inv, _ := play(t, set(1, claim),
		set(3, on(running(pod("a", "data"), 3), "n1")),
		set(3, on(running(pod("b", "data"), 3), "n1")),
		set(3, on(running(scratch, 3), "n2")), // no claim
		set(3, on(pod("c", "data"), "n3")),    // has not started
		set(3, on(ended(pod("d", "data"), corev1.PodSucceeded, 3, 4, 0, "Completed"), "n4")))
	nodes := inv.NodesInUse()
	_, used := nodes["n1"]
	expect(t, "n1 is in use", used, true)
	expect(t, "nodes in use", len(nodes), 1)
}

// The exporter computes the sums per namespace, and the byte-seconds, from these states.
func TestStatesSayWhatIsKnownOfUseAndTime(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 1, claim, corev1.VolumeBound, 2)
	block := corev1.PersistentVolumeBlock
	volume.Spec.VolumeMode = &block
	inv := New()
	var u fact.Update
	for _, o := range []any{claim, volume} {
		if err := inv.Set(o, Live(at(6))); err != nil {
			t.Fatal(err)
		}
	}
	inv.Take(&u)
	expect(t, "the moment of the update", u.At, at(6))
	expect(t, "never mounted", u.Volumes[0].Status, fact.VolumeNeverMounted)
	expect(t, "no use is known", u.Volumes[0].Used, false)
	expect(t, "a block device", u.Volumes[0].Block, true)
	expect(t, "bound", u.Claims[0].BoundAt, at(2))
	if err := inv.Set(running(podOf("db-0", "p1", 3, []string{"main"}, "data"), 7), Live(at(8))); err != nil {
		t.Fatal(err)
	}
	inv.Take(&u)
	expect(t, "mounted", u.Volumes[0].ChangedAt, at(7))
	expect(t, "a use is known", u.Volumes[0].Used, true)
	report := fullness("db-0", "p1", 9, 0) // as a kubelet reports a block device
	report.Space = fact.Space{CapacityBytes: 1000}
	expect(t, "refused", inv.Refusal(&report, at(9)), Accepted)
	inv.Measure([]Sample{report}, at(9))
	inv.Take(&u)
	expect(t, "rows of a block device", len(u.Facts.Usage), 0)
	expect(t, "states of a block device", len(u.Volumes), 0)
	for _, o := range []any{claim, volume} {
		if err := inv.Delete(o, Observation{At: at(20), NotBefore: at(10)}); err != nil {
			t.Fatal(err)
		}
	}
	inv.Take(&u)
	expect(t, "the claim is gone", u.Claims[0].Gone, true)
	expect(t, "the claim existed until", u.Claims[0].DeletedNotBefore, at(10))
	expect(t, "the volume is gone", u.Volumes[0].Gone, true)
	expect(t, "the volume existed until", u.Volumes[0].DeletedNotBefore, at(10))
}
