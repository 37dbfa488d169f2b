package inventory

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// TestIdleTimes is what a volume's idle time says in the cases where others say too much
// or too little; each as it is seen live, and by a tracker that starts at the end, from
// the journal.
func TestIdleTimes(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 1, claim, corev1.VolumeBound, 2)
	start := []event{set(1, claim), set(2, volume)}
	pod := func(name, uid string, created int) *corev1.Pod {
		return podOf(name, uid, created, []string{"main"}, "data")
	}
	once := func(name, uid string, created int) *corev1.Pod { // of a Job
		o := pod(name, uid, created)
		o.Spec.RestartPolicy = corev1.RestartPolicyNever
		o.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "nightly-1", UID: "j1", Controller: new(true)}}
		return o
	}
	run := func(o *corev1.Pod, since, until int) []event {
		return []event{set(int(o.CreationTimestamp.Sub(epoch).Seconds()), o), set(since, running(o, since)), set(until, ended(o, corev1.PodSucceeded, since, until, 0, "Completed"))}
	}
	first, second1 := once("nightly-1", "p1", 3), once("nightly-2", "p2", 100)
	done := ended(first, corev1.PodSucceeded, 5, 9, 0, "Completed")
	db := pod("db-0", "p1", 3)
	unreachable := running(db, 5)
	unreachable.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "NodeLost"}}
	evicting := unreachable.DeepCopy()
	evicting.DeletionTimestamp = new(second(30))
	set0 := &appsv1.StatefulSet{ObjectMeta: objectMeta("shop", "db", "s1", 1)}
	released := pv("vol", "v1", 1, claim, corev1.VolumeReleased, 20)
	again := pvc("data", "c2", 40, "vol")
	rebound := pv("vol", "v1", 1, again, corev1.VolumeBound, 50)

	for name, test := range map[string]struct {
		events []event
		status fact.VolumeStatus
		since  fact.Time // idle since, 0 while used or awaited
		last   fact.Time // last used
		why    string
	}{
		"never used": {nil, fact.VolumeNeverMounted, at(2), 0, "idle since it was bound"},
		"CronJob between two runs, the pod is kept": {run(first, 5, 9), fact.VolumeIdle, at(9), at(9),
			"a completed pod does not use it, though it is there"},
		"CronJob between two runs, the pod is deleted": {append(run(first, 5, 9), gone(60, done)), fact.VolumeIdle, at(9), at(9),
			"the end of the container counts, not when the pod was tidied away"},
		"CronJob, second run": {append(run(first, 5, 9), append(run(second1, 105, 109)[:2], gone(106, done))...), fact.VolumeMounted, 0, 0, "it is used again"},
		"CronJob after the second run": {append(run(first, 5, 9), run(second1, 105, 109)...), fact.VolumeIdle, at(109), at(109),
			"the last run counts"},
		"scaled-down StatefulSet": {[]event{set(1, set0), set(3, db), set(5, running(db, 5)), set(9, ended(db, corev1.PodSucceeded, 5, 9, 0, "Completed")), gone(10, ended(db, corev1.PodSucceeded, 5, 9, 0, "Completed"))},
			fact.VolumeIdle, at(9), at(9), "the claim is kept, and nobody uses it"},
		"completed pod":  {run(first, 5, 9), fact.VolumeIdle, at(9), at(9), ""},
		"failed pod":     {[]event{set(3, first), set(10, ended(first, corev1.PodFailed, 5, 9, 1, "Error"))}, fact.VolumeIdle, at(9), at(9), ""},
		"pending pod":    {[]event{set(3, db)}, fact.VolumePending, 0, 0, "somebody wants it: neither used nor idle"},
		"pending, after": {append(run(first, 5, 9), set(20, pod("db-1", "p3", 20))), fact.VolumePending, 0, at(9), "and what was before is known"},
		"pending pod, given up": {[]event{set(3, db), gone(30, db)}, fact.VolumeNeverMounted, at(2), 0,
			"it was awaited and never used"},
		"pod on a lost node": {[]event{set(3, db), set(5, running(db, 5)), set(20, unreachable), set(30, evicting)}, fact.VolumeMounted, 0, 0,
			"nobody can say that it no longer writes"},
		"pod on a lost node, deleted by force": {[]event{set(3, db), set(5, running(db, 5)), set(20, unreachable), set(30, evicting), gone(40, evicting)}, fact.VolumeIdle, at(40), at(40),
			"used until the API let it go, at the latest"},
		"Released":             {append(run(first, 5, 9), gone(19, claim), set(20, released)), fact.VolumeReleased, at(9), at(9), "idle since its last use, not since its release"},
		"Released, never used": {[]event{gone(19, claim), set(20, released)}, fact.VolumeReleased, at(2), 0, ""},
		"rebound claim":        {append(run(first, 5, 9), gone(19, claim), set(20, released), set(40, again), set(50, rebound)), fact.VolumeIdle, at(9), at(9), "the data was last used by the former claim's pod"},
		"rebound, never used":  {[]event{gone(19, claim), set(20, released), set(40, again), set(50, rebound)}, fact.VolumeNeverMounted, at(50), 0, "idle since it was bound anew"},
	} {
		t.Run(name, func(t *testing.T) {
			events := append(append([]event{}, start...), test.events...)
			inv, keeper, states := New(), newKeeper(), map[string]fact.VolumeState{}
			take := func() {
				var u fact.Update
				inv.Take(&u)
				keeper.take(&u)
				for _, s := range u.Volumes {
					states[s.UID] = s
				}
			}
			for _, e := range events {
				do := inv.Set
				if e.delete {
					do = inv.Delete
				}
				if err := do(e.object, Live(at(e.at))); err != nil {
					t.Fatal(err)
				}
				keeper.now = at(e.at)
				take()
			}
			seen := func(what string) {
				t.Helper()
				s := states["v1"]
				expect(t, fmt.Sprintf("%s: status; %s", what, test.why), s.Status, test.status)
				expect(t, fmt.Sprintf("%s: idle since; %s", what, test.why), s.IdleSince, test.since)
				expect(t, fmt.Sprintf("%s: last used; %s", what, test.why), s.LastUsed, test.last)
			}
			seen("live")
			changed := states["v1"].ChangedAt
			clear(states)
			inv = keeper.restart(t)
			take()
			seen("after a restart")
			expect(t, "after a restart: changed", states["v1"].ChangedAt, changed)
		})
	}
}
