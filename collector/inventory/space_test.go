package inventory

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// fullness is what a kubelet says at a second of the first volume of a pod.
func fullness(pod string, second int, used int64) Sample {
	return Sample{PodUID: pod, Volume: "vol-0", At: at(second), Space: fact.Space{CapacityBytes: 1000, UsedBytes: used, AvailableBytes: 990 - used, Inodes: 100, InodesUsed: 7}}
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

	told, states := measure(20, fullness("p2", 11, 301))
	expect(t, "rows", len(told), 1)
	expect(t, "row", told[0], fact.Usage{At: at(11), ClaimUID: "c1", VolumeUID: "v1", Space: fullness("p2", 11, 301).Space})
	expect(t, "states", len(states), 1)
	expect(t, "used", states[0].UsedBytes, 301)
	expect(t, "measured", states[0].Measured, true)

	told, states = measure(40, fullness("p1", 31, 301))
	expect(t, "rows of what is as before", len(told), 0)
	expect(t, "states of what is as before", len(states), 0)

	told, _ = measure(50, fullness("p1", 60, 302))
	expect(t, "rows", len(told), 1)
	expect(t, "a node whose clock is ahead", told[0].At, at(50))

	told, _ = measure(60,
		fullness("p9", 55, 1), // a pod that is not known, as of a namespace that came just now
		Sample{PodUID: "p1", Volume: "scratch", At: at(55), Space: fact.Space{UsedBytes: 1}})
	expect(t, "rows of what is nobody's", len(told), 0)

	// Nobody uses it any more: what was known stays, also over a restart.
	see(72, ended(db, corev1.PodSucceeded, 5, 70, 0, "Completed"), ended(other, corev1.PodSucceeded, 6, 71, 0, "Completed"))
	expect(t, "idle", u.Volumes[0].Status, fact.VolumeIdle)
	expect(t, "used while idle", u.Volumes[0].UsedBytes, 302)
	inv = keeper.restart(t)
	inv.Take(&u)
	expect(t, "used after a restart", u.Volumes[0].UsedBytes, 302)
	told, _ = measure(90, fullness("p1", 80, 302))
	expect(t, "rows of what is as before the restart", len(told), 0)
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
