package inventory

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// TestRule2_4_NodeClocks: whatever a node's clock says, its pods use the claim that existed.
func TestRule2_4_NodeClocks(t *testing.T) {
	first, second := pvc("data", "c1", 90_000, "vol"), pvc("data", "c2", 90_300, "vol-2")
	volume := pv("vol", "v1", 90_001, first, corev1.VolumeBound, 90_001)
	next := pv("vol-2", "v2", 90_301, second, corev1.VolumeBound, 90_301)
	const year = 365 * 86_400
	for name, skew := range map[string]int{
		"seconds behind": -3, "seconds ahead": 3, "an hour behind": -3600, "an hour ahead": 3600, "a year behind": -year, "a year ahead": year,
	} {
		t.Run(name, func(t *testing.T) {
			pending := scheduledTo(podOf("db-0", "p1", 90_010, []string{"db"}, "data"), "node-1", 90_011)
			runs := vouch(running(pending, 90_012+skew), 90_012)
			done := vouch(ended(pending, corev1.PodSucceeded, 90_012+skew, 90_100+skew, 0, "Completed"), 90_101)
			situation{
				events: []event{
					set(90_000, pvc("data", "c1", 90_000, "")), set(90_001, first), set(90_001, volume), set(90_010, pending),
					set(90_012, runs), set(90_101, done), gone(90_102, done), gone(90_103, first), gone(90_104, volume),
					set(90_300, second), set(90_301, next),
				},
				check: func(t *testing.T, h *history) {
					for _, m := range h.mounts {
						expect(t, "claim and volume", m.ClaimUID+"@"+m.VolumeUID, "c1@v1")
						if m.StartedAt < at(90_010) || m.StartedAt > at(90_018) {
							t.Errorf("started at %d", int(m.StartedAt-at(0))/1e6)
						}
						if m.EndedAt < at(90_097) || m.EndedAt > at(90_105) || m.EndedNotBefore > at(90_104) || m.EndedNotBefore < m.StartedAt {
							t.Errorf("ended at %d, not before %d", int(m.EndedAt-at(0))/1e6, int(m.EndedNotBefore-at(0))/1e6)
						}
						if far := skew < -5 || skew > 5; far == (m.EndedAt == m.EndedNotBefore) {
							t.Errorf("exact: %v", !far)
						}
					}
					expect(t, "mounts", len(h.mounts), 1)
					expect(t, "the next claim", h.states["v2"].Status, fact.VolumeNeverMounted)
				},
			}.run(t)
		})
		t.Run(name+", generic ephemeral volume", func(t *testing.T) {
			o := podOf("build", "p1", 90_000, []string{"main"})
			o.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
				Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}},
			}}}
			o.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}
			own := pvc("build-scratch", "c1", 90_001, "vol")
			own.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: "build", UID: "p1", Controller: new(true)}}
			held := pv("vol", "v1", 90_002, own, corev1.VolumeBound, 90_002)
			runs := vouch(running(o, 90_005+skew), 90_005)
			done := vouch(ended(o, corev1.PodSucceeded, 90_005+skew, 90_050+skew, 0, "Completed"), 90_051)
			situation{
				events: []event{set(90_000, o), set(90_001, own), set(90_002, held), set(90_005, runs), set(90_051, done), gone(90_060, own), gone(90_061, done)},
				check: func(t *testing.T, h *history) {
					expect(t, "mounts", len(h.mounts), 1)
					for _, m := range h.mounts {
						expect(t, "claim and volume", m.ClaimUID+"@"+m.VolumeUID, "c1@v1")
						if m.EndedAt < at(90_047) || m.EndedAt > at(90_055) {
							t.Errorf("ended at %d", int(m.EndedAt-at(0))/1e6)
						}
					}
				},
			}.run(t)
		})
	}
}

// TestRule3_6_EndsThatNobodyObserved: their lower bound is the last evidence of life.
func TestRule3_6_EndsThatNobodyObserved(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	node, lost := nodeOf("node-1", corev1.ConditionTrue, 30), nodeOf("node-1", corev1.ConditionUnknown, 50)
	start := []event{set(0, node), set(1, pvc("data", "c1", 1, "")), set(3, claim), set(3, volume)}
	user := vouch(running(scheduledTo(podOf("db-0", "p1", 4, []string{"db"}, "data"), "node-1", 4), 5), 6)
	unready := user.DeepCopy()
	unready.Status.Conditions = append(unready.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: second(90)})
	collected := user.DeepCopy()
	collected.Status.Phase = corev1.PodFailed
	collected.Status.Conditions = append(collected.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByPodGC", LastTransitionTime: second(120)})
	unknown := vouch(user, 100)
	unknown.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}}
	unknown.Status.Phase = corev1.PodFailed
	for name, test := range map[string]struct {
		events []event
		want   string
		any    bool // in any order of kinds
	}{
		"force-deleted on a lost node":           {[]event{set(4, user), set(90, lost), set(91, unready), gone(120, unready)}, "c1@v1 5-120(from 50) Deleted", false},
		"force-deleted on a node that lives":     {[]event{set(4, user), gone(120, user)}, "c1@v1 5-120(from 60) Deleted", true},
		"force-deleted, the node is gone":        {[]event{set(4, user), gone(90, lost), gone(120, user)}, "c1@v1 5-120(from 50) Deleted", false},
		"failed by pod GC":                       {[]event{set(4, user), gone(90, lost), set(120, collected), gone(121, collected)}, "c1@v1 5-120(from 50) DeletionByPodGC", false},
		"ContainerStatusUnknown without a time":  {[]event{set(4, user), set(101, unknown)}, "c1@v1 5-100(from 6) ContainerStatusUnknown", true},
		"failed, and its containers say nothing": {[]event{set(4, user), set(120, collected)}, "c1@v1 5-120(from 6) DeletionByPodGC", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := situation{
				events: append(append([]event{}, start...), test.events...),
				check: func(t *testing.T, h *history) {
					got := h.mount("p1", "db", "/data")
					if test.any || got == "" {
						expect(t, "mount", got, test.want)
						return
					}
					// Nodes that come late widen the bounds or narrow them, and never make them wrong.
					for _, m := range h.mounts {
						if m.EndedAt != at(120) || m.EndedNotBefore < at(5) || m.EndedNotBefore == m.EndedAt {
							t.Errorf("mount: %s", got)
						}
					}
				},
				live: func(t *testing.T, h *history) { expect(t, "mount", h.mount("p1", "db", "/data"), test.want) },
			}
			s.run(t)
		})
	}
	t.Run("the node was lost before a restart", func(t *testing.T) {
		stream := recordedOf(t, append(append([]event{}, start...), set(4, user), set(90, lost), gone(120, user)))
		h := interrupted(t, stream, func(i int) bool { return i == len(stream)-1 })
		expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-120(from 50) Deleted")
	})
	t.Run("a node that is not known, and an unready pod", func(t *testing.T) {
		_, h := play(t, set(3, claim), set(3, volume), set(4, user), set(91, unready), gone(120, unready))
		expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-120(from 6) Deleted")
	})
}

// TestRule1_4_SuccessorBoundsAnEnd: what had the name before was gone when the next one was made.
func TestRule1_4_SuccessorBoundsAnEnd(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	user := podOf("db-0", "p1", 4, []string{"db"}, "data")
	inv, h := play(t, set(1, claim), set(3, volume), set(5, running(user, 5)))
	gap := Observation{At: at(100), NotBefore: at(10)}
	lists := map[fact.Kind]any{
		fact.Volumes: pv("vol", "v2", 30, nil, corev1.VolumeAvailable, 30), fact.Claims: pvc("data", "c2", 40, ""),
		fact.Pods: podOf("db-0", "p2", 20, []string{"db"}, "data"),
	}
	for _, kind := range []fact.Kind{fact.Volumes, fact.Claims, fact.Pods} {
		if err := inv.Replace(kind, []any{lists[kind]}, gap); err != nil {
			t.Fatal(err)
		}
	}
	h.take(inv)
	bounds := func(notBefore, at fact.Time) string {
		return fmt.Sprintf("%.6f to %.6f", (notBefore - epochTime).Seconds(), (at - epochTime).Seconds())
	}
	expect(t, "pod", bounds(h.pods["p1"].DeletedNotBefore, h.pods["p1"].DeletedAt), "10.000000 to 20.999999")
	expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-20(from 5) Deleted")
	expect(t, "claim", bounds(h.claims["c1"].DeletedNotBefore, h.claims["c1"].DeletedAt), "10.000000 to 40.999999")
	expect(t, "volume", bounds(h.volumes["v1"].DeletedNotBefore, h.volumes["v1"].DeletedAt), "10.000000 to 30.999999")
}

// TestRule2_8_ReleaseInAGapHasBounds: an API server before 1.28 does not say when.
func TestRule2_8_ReleaseInAGapHasBounds(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	bound, released := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3), pv("vol", "v1", 2, claim, corev1.VolumeReleased, 50)
	bound.Status.LastPhaseTransitionTime, released.Status.LastPhaseTransitionTime = nil, nil
	inv, h := play(t, set(1, pvc("data", "c1", 1, "")), set(3, bound), set(3, claim))
	gap := Observation{At: at(100), NotBefore: at(10)}
	for kind, list := range map[fact.Kind][]any{fact.Volumes: {released}, fact.Claims: nil} {
		if err := inv.Replace(kind, list, gap); err != nil {
			t.Fatal(err)
		}
	}
	h.take(inv)
	b := h.bindings[[2]string{"c1", "v1"}]
	expect(t, "binding", b, fact.Binding{Namespace: "shop", ClaimName: "data", ClaimUID: "c1", VolumeUID: "v1", BoundAt: at(3), ReleasedAt: at(100), ReleasedNotBefore: at(10)})
}

// TestRule2_8_GivenBackInTheSecondOfTheLastObservation: the API dates the volume's phase by the whole
// second, and the last observation before the gap lies within that.
func TestRule2_8_GivenBackInTheSecondOfTheLastObservation(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	inv, h := play(t, set(1, pvc("data", "c1", 1, "")), set(3, pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)), set(3, claim))
	gap := Observation{At: at(100), NotBefore: at(50) + 300_000}
	relist(t, inv, fact.Claims, gap)
	relist(t, inv, fact.Volumes, gap, pv("vol", "v1", 2, nil, corev1.VolumeAvailable, 50))
	h.take(inv)
	expect(t, "binding", h.bindings[[2]string{"c1", "v1"}], fact.Binding{Namespace: "shop", ClaimName: "data", ClaimUID: "c1", VolumeUID: "v1", BoundAt: at(3), ReleasedAt: at(50), ReleasedNotBefore: at(50)})
}

// TestRule3_4_InitContainerThatRunsAgain: as the pod's sandbox was made anew. What began as often
// ended as often.
func TestRule3_4_InitContainerThatRunsAgain(t *testing.T) {
	o := podOf("web", "p1", 1, []string{"main"}, "data")
	o.Spec.InitContainers = []corev1.Container{{Name: "init", VolumeMounts: o.Spec.Containers[0].VolumeMounts}}
	init := func(state corev1.ContainerState) *corev1.Pod {
		p := o.DeepCopy()
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", State: state}}
		return p
	}
	runs := func(since int) corev1.ContainerState {
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: second(since)}}
	}
	stream := recordedOf(t, []event{
		set(0, pvc("data", "c1", 0, "")), set(1, o), set(5, init(runs(5))), set(7, init(terminated(5, 6, 0, "Completed"))),
		set(20, init(runs(20))), set(23, init(terminated(20, 22, 0, "Completed"))),
	})
	for restart := range len(stream) {
		h := interrupted(t, stream, func(i int) bool { return i == restart && i > 0 })
		var began, ended []fact.Time
		for _, c := range h.changes {
			switch c.Action {
			case fact.Mounted:
				began = append(began, c.At)
			case fact.Unmounted:
				ended = append(ended, c.At)
			}
		}
		expect(t, "began", len(began), 2)
		expect(t, "ended", len(ended), 2)
		expect(t, "began in all", began[0]+began[1], at(5)+at(20))
		expect(t, "ended in all", ended[0]+ended[1], at(6)+at(22))
		expect(t, "mount", h.mount("p1", "init", "/data"), "c1@ 5-22 Completed")
	}
}

// TestRule3_2_StartBeforeTheFirstLook: a container that has run more often than its status tells of.
func TestRule3_2_StartBeforeTheFirstLook(t *testing.T) {
	o := scheduledTo(podOf("db-0", "p1", 4, []string{"db"}, "data"), "node-1", 6)
	looping := running(o, 100)
	looping.Status.ContainerStatuses[0].RestartCount = 7
	looping.Status.ContainerStatuses[0].LastTerminationState = terminated(80, 90, 1, "Error")
	once := looping.DeepCopy()
	once.Status.ContainerStatuses[0].RestartCount = 1
	first := func(h *history) fact.Mount { return h.mounts[[4]string{"p1", "db", "vol-0", "/data"}] }
	situation{
		events: []event{set(1, pvc("data", "c1", 1, "")), set(110, looping)},
		check: func(t *testing.T, h *history) {
			expect(t, "not before", first(h).StartedNotBefore, at(6))
			expect(t, "at", first(h).StartedAt, at(80))
		},
	}.run(t)
	situation{
		events: []event{set(1, pvc("data", "c1", 1, "")), set(110, once), set(200, looping)},
		check:  func(t *testing.T, h *history) { expect(t, "not before", first(h).StartedNotBefore, at(80)) },
	}.run(t)
}

// TestRule3_2_StaticPod: a kubelet creates the mirror pod of a static pod when the API server answers, long after it has started the
// containers. That does not make the dates of its ends wrong.
func TestRule3_2_StaticPod(t *testing.T) {
	o := podOf("etcd-node-1", "p1", 60, []string{"etcd"})
	o.OwnerReferences = controlledBy("Node", "node-1")
	o.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/etcd"}}}}
	o.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	situation{
		events: []event{set(61, running(o, 20)), set(100, ended(o, corev1.PodSucceeded, 20, 99, 0, "Completed"))},
		check: func(t *testing.T, h *history) {
			expect(t, "mount", h.mount("p1", "etcd", "/data"), "@ 60-99 Completed")
		},
	}.run(t)
	_, h := play(t, set(61, running(scheduledTo(o, "node-1", 60), 20)))
	expect(t, "it waited for no scheduler", fmt.Sprint(tookOf(h, fact.Started)), "[?]")
}

var epochTime = at(0)

// TestRule3_6_NodesThatAreNotShownAnyMore: a node that was Ready when it was last shown need not live, and one that nobody
// was shown is not gone. Its pod's Ready condition decides.
func TestRule3_6_NodesThatAreNotShownAnyMore(t *testing.T) {
	base, pod := boundVolume()
	for name, test := range map[string]struct {
		node  string // of the pod; node-1 was shown before
		ready bool
		shown bool // again, before the end
		want  string
	}{
		"a pod that is not ready":                {"node-1", false, false, "c1@v1 5-5000(from 9) Deleted"},
		"a pod that is ready":                    {"node-1", true, false, "c1@v1 5-5000(from 4940) Deleted"},
		"a ready pod of a node that came later":  {"node-2", true, false, "c1@v1 5-5000(from 4940) Deleted"},
		"a pod whose node is shown again, Ready": {"node-1", false, true, "c1@v1 5-5000(from 4985) Deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			user := vouch(running(scheduledTo(pod, test.node, 4), 5), 9)
			inv, h := play(t, append(append([]event{}, base...), set(3, nodeOf("node-1", corev1.ConditionTrue, 3)), set(9, user))...)
			inv.HideNodes()
			last := user.DeepCopy()
			if !test.ready {
				last.Status.Conditions = append(last.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse})
			}
			events := []event{set(70, last), gone(5000, last)}
			if test.shown {
				events = append([]event{set(4990, nodeOf("node-1", corev1.ConditionTrue, 4985))}, events...)
			}
			for _, e := range events {
				do := inv.Set
				if e.delete {
					do = inv.Delete
				}
				if err := do(e.object, Live(at(e.at))); err != nil {
					t.Fatal(err)
				}
				h.take(inv)
			}
			expect(t, "mount", h.mount("p1", "db", "/data"), test.want)
		})
	}
}
