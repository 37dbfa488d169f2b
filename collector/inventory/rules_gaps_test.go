package inventory

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

func allOrders() (list [][]fact.Kind) {
	v, c, p := fact.Volumes, fact.Claims, fact.Pods
	return [][]fact.Kind{{v, c, p}, {v, p, c}, {c, v, p}, {c, p, v}, {p, v, c}, {p, c, v}}
}

// gapRun plays events live, then lists in each order, with a restart before each list or none.
func gapRun(t *testing.T, events []event, lists map[fact.Kind][]any, old bool, check func(t *testing.T, what string, h *history)) {
	t.Helper()
	strip := func(o any) any {
		if v, ok := o.(*corev1.PersistentVolume); ok && old {
			v = v.DeepCopy()
			v.Status.LastPhaseTransitionTime = nil
			return v
		}
		return o
	}
	for _, order := range allOrders() {
		for restart := range 5 { // 4: never
			r := track(t)
			for _, e := range recordedOf(t, events) {
				e.object = strip(e.object)
				apply(t, r.inv, e)
				r.k.now = e.at
				r.taken()
			}
			for i, kind := range order {
				if restart == i {
					r.restart()
				}
				var list []any
				for _, o := range lists[kind] {
					list = append(list, strip(o))
				}
				r.list(kind, Observation{At: at(1000 + i), NotBefore: at(20)}, list...)
			}
			if restart == 3 {
				r.restart()
			}
			r.inv.Tick(at(1010))
			r.taken()
			check(t, fmt.Sprint(order, " restart ", restart, " old ", old, ": "), r.history)
			if t.Failed() {
				return
			}
		}
	}
}

// TestRule2_8_GivenAwayInAGap: a volume is bound to one claim before a gap, and to another one after it.
// API servers before 1.28 do not say when that came to be.
func TestRule2_8_GivenAwayInAGap(t *testing.T) {
	base, user := boundVolume()
	claim := pvc("data", "c1", 1, "vol")
	_ = claim
	for _, name := range []string{"other", "data"} {
		for _, old := range []bool{false, true} {
			t.Run(fmt.Sprint(name, old), func(t *testing.T) {
				other := pvc(name, "c2", 500, "vol")
				given := pv("vol", "v1", 2, other, corev1.VolumeBound, 501)
				gapRun(t, append(slices.Clone(base), set(4, user), set(5, running(user, 5))),
					map[fact.Kind][]any{fact.Volumes: {given}, fact.Claims: {other}}, old, func(t *testing.T, what string, h *history) {
						s := h.states["v1"]
						m := h.mounts[[4]string{"p1", "db", "vol-0", "/data"}]
						expect(t, what+"mount", m.ClaimUID+"@"+m.VolumeUID, "c1@v1")
						if m.EndedAt < at(1000) || m.EndedNotBefore > at(20) {
							t.Errorf("%s %v", what, h.mount("p1", "db", "/data"))
						}
						expect(t, what+"status", s.Status, fact.VolumeIdle)
						expect(t, what+"idle", s.IdleSince, m.EndedAt)
						b, b2 := h.bindings[[2]string{"c1", "v1"}], h.bindings[[2]string{"c2", "v1"}]
						if b.ReleasedAt == 0 || b.BoundAt != at(3) || b2.ClaimUID == "" || (b2.BoundAt != 0 && b.ReleasedNotBefore > b2.BoundAt) {
							t.Errorf("%s bindings %+v %+v", what, b, b2)
						}
						if b2.BoundAt != 0 && b.ReleasedAt > b2.BoundAt {
							t.Errorf("%s bindings overlap %+v %+v", what, b, b2)
						}
					})
			})
		}
	}
}

// TestRule2_6_SuccessorsInAGap: in a gap a claim, its volume and its pod are made again under their names.
func TestRule2_6_SuccessorsInAGap(t *testing.T) {
	base, user := boundVolume()
	for _, old := range []bool{false, true} {
		t.Run(fmt.Sprint(old), func(t *testing.T) {
			other := pvc("data", "c2", 500, "vol")
			given := pv("vol", "v2", 400, other, corev1.VolumeBound, 501)
			next := running(scheduledTo(podOf("db-0", "p2", 510, []string{"db"}, "data"), "node-1", 511), 512)
			gapRun(t, append(slices.Clone(base), set(4, user), set(5, running(user, 5))),
				map[fact.Kind][]any{fact.Volumes: {given}, fact.Claims: {other}, fact.Pods: {next}}, old, func(t *testing.T, what string, h *history) {
					m, n := h.mounts[[4]string{"p1", "db", "vol-0", "/data"}], h.mounts[[4]string{"p2", "db", "vol-0", "/data"}]
					expect(t, what+"mount", m.ClaimUID+"@"+m.VolumeUID, "c1@v1")
					expect(t, what+"next", n.ClaimUID+"@"+n.VolumeUID, "c2@v2")
					expect(t, what+"status", h.states["v2"].Status, fact.VolumeMounted)
					expect(t, what+"claim", h.claims["c1"].VolumeUID+h.claims["c2"].VolumeUID, "v1v2")
					b, b2 := h.bindings[[2]string{"c1", "v1"}], h.bindings[[2]string{"c2", "v2"}]
					if b.ReleasedAt == 0 || b.BoundAt != at(3) || b2.ClaimUID == "" || len(h.bindings) != 2 {
						t.Errorf("%s bindings %+v %+v %d", what, b, b2, len(h.bindings))
					}
				})
		})
	}
}

// TestRule2_4_CompletedInAGap: a pod came and completed in a gap, with a claim that then went. The volume
// was given to another claim of the same name.
func TestRule2_4_CompletedInAGap(t *testing.T) {
	base, user := boundVolume()
	for _, old := range []bool{false, true} {
		for _, name := range []string{"data", "other"} {
			t.Run(fmt.Sprint(old, name), func(t *testing.T) {
				other := pvc(name, "c2", 500, "vol")
				given := pv("vol", "v1", 2, other, corev1.VolumeBound, 501)
				job := ended(scheduledTo(podOf("job", "p2", 100, []string{"db"}, "data"), "node-1", 101), corev1.PodSucceeded, 102, 300, 0, "Completed")
				done := ended(user, corev1.PodSucceeded, 5, 9, 0, "Completed")
				gapRun(t, append(slices.Clone(base), set(4, user), set(5, running(user, 5)), set(9, done)),
					map[fact.Kind][]any{fact.Volumes: {given}, fact.Claims: {other}, fact.Pods: {job}}, old, func(t *testing.T, what string, h *history) {
						n := h.mounts[[4]string{"p2", "db", "vol-0", "/data"}]
						expect(t, what+"job", n.ClaimUID+"@"+n.VolumeUID, "c1@v1")
						expect(t, what+"last used", h.states["v1"].LastUsed, at(300))
					})
			})
		}
	}
}

// TestRule5_2_UseInAGap: what a volume's status says when it is the same before and after a gap, in which uses ended or began.
func TestRule5_2_UseInAGap(t *testing.T) {
	base, user := boundVolume()
	used := append(slices.Clone(base), set(4, user), set(5, running(user, 5)))
	waiting := podOf("job-1", "p-1", 10, []string{"db"}, "data")
	successor := podOf("db-0", "p2", 510, []string{"db"}, "data")
	beside := podOf("db-1", "p2", 510, []string{"db"}, "data")
	for name, test := range map[string]struct {
		events []event
		pods   []any
		status fact.VolumeStatus
		since  int
	}{
		"the pod is replaced":            {used, []any{running(successor, 512)}, fact.VolumeMounted, 512},
		"a later pod":                    {used, []any{ended(user, corev1.PodSucceeded, 5, 300, 0, "Completed"), running(beside, 512)}, fact.VolumeMounted, 512},
		"an earlier pod":                 {used, []any{ended(user, corev1.PodSucceeded, 5, 600, 0, "Completed"), running(beside, 512)}, fact.VolumeMounted, 5},
		"the pod may have run until now": {used, []any{running(beside, 512)}, fact.VolumeMounted, 5},
		"a pod that awaited it used it, and is awaited again": {append(slices.Clone(base), set(10, waiting)), []any{
			ended(waiting, corev1.PodSucceeded, 100, 300, 0, "Completed"), successor}, fact.VolumePending, 510},
	} {
		t.Run(name, func(t *testing.T) {
			claim := pvc("data", "c1", 1, "vol")
			lists := map[fact.Kind][]any{
				fact.Volumes: {pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)}, fact.Claims: {claim}, fact.Pods: test.pods,
			}
			gapRun(t, test.events, lists, false, func(t *testing.T, what string, h *history) {
				expect(t, what+"status", h.states["v1"].Status, test.status)
				expect(t, what+"since", h.states["v1"].ChangedAt, at(test.since))
			})
		})
	}
}

// TestRule2_4_SuccessorsInOneSecond: in a gap, a claim and its pod are deleted and created again within a second. The new claim has
// changed since, so the list shows it in a later version than the pod.
func TestRule2_4_SuccessorsInOneSecond(t *testing.T) {
	base, user := boundVolume()
	claim := pvc("data", "c2", 505, "vol-2")
	claim.ResourceVersion = "1200"
	next := running(scheduledTo(podOf("db-0", "p2", 505, []string{"db"}, "data"), "node-1", 505), 506)
	next.ResourceVersion = "1100"
	gapRun(t, append(slices.Clone(base), set(4, user), set(5, running(user, 5))), map[fact.Kind][]any{
		fact.Volumes: {pv("vol-2", "v2", 505, claim, corev1.VolumeBound, 505)}, fact.Claims: {claim}, fact.Pods: {next},
	}, false, func(t *testing.T, what string, h *history) {
		m := h.mounts[[4]string{"p2", "db", "vol-0", "/data"}]
		expect(t, what+"mount", m.ClaimUID+"@"+m.VolumeUID, "c2@v2")
		expect(t, what+"status", h.states["v2"].Status, fact.VolumeMounted)
	})
}
