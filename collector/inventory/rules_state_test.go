package inventory

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// unusedFrom returns a claim with the condition Unused since a second; 0 sets it to False.
func unusedFrom(c *corev1.PersistentVolumeClaim, since int) *corev1.PersistentVolumeClaim {
	c = c.DeepCopy()
	status := corev1.ConditionTrue
	if since == 0 {
		status = corev1.ConditionFalse
	}
	c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: unusedCondition, Status: status, LastTransitionTime: second(since)}}
	return c
}

// TestRule5_5_ConditionUnused: it may shorten what is claimed where nobody watched, and never
// overrules what was watched.
func TestRule5_5_ConditionUnused(t *testing.T) {
	pending, claim := pvc("data", "c1", 1, ""), pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	user := podOf("db-0", "p1", 4, []string{"db"}, "data")
	done := ended(user, corev1.PodSucceeded, 5, 9, 0, "Completed")
	used := []event{set(1, pending), set(3, claim), set(3, volume), set(4, user), set(5, running(user, 5)), set(9, done), gone(10, done)}
	waiting := podOf("db-1", "p2", 400, []string{"db"}, "data")
	always := []fact.Span{{From: at(0), To: at(5000)}}
	twice := []fact.Span{{From: at(0), To: at(300)}, {From: at(600), To: at(5000)}}
	for name, test := range map[string]struct {
		events  []event
		watched []fact.Span
		status  fact.VolumeStatus
		since   int
	}{
		"the gate is switched on later":                  {append(slices.Clone(used), set(1000, unusedFrom(claim, 1000))), always, fact.VolumeIdle, 9},
		"the gate is switched on later, never used":      {append(slices.Clone(used[:3]), set(1000, unusedFrom(claim, 1000))), always, fact.VolumeNeverMounted, 3},
		"a pending pod that was given up":                {append(slices.Clone(used), set(400, waiting), set(401, unusedFrom(claim, 0)), gone(500, waiting), set(501, unusedFrom(claim, 501))), always, fact.VolumeIdle, 9},
		"a use in a gap":                                 {append(slices.Clone(used), set(600, unusedFrom(claim, 450))), twice, fact.VolumeIdle, 450},
		"a use in a gap of a volume never used":          {append(slices.Clone(used[:3]), set(600, unusedFrom(claim, 450))), twice, fact.VolumeIdle, 450},
		"after a gap in which nothing happened":          {append(slices.Clone(used), set(600, unusedFrom(claim, 11))), twice, fact.VolumeIdle, 9},
		"a use that ended as the gap did":                {append(slices.Clone(used), set(602, unusedFrom(claim, 602))), twice, fact.VolumeIdle, 602},
		"before anybody watched":                         {append(slices.Clone(used[:3]), set(1001, unusedFrom(claim, 700))), []fact.Span{{From: at(1000), To: at(1001)}}, fact.VolumeIdle, 700},
		"since it was bound, and nobody watched":         {append(slices.Clone(used[:3]), set(1001, unusedFrom(claim, 5))), nil, fact.VolumeNeverMounted, 5},
		"the span goes on behind what is known of it":    {append(slices.Clone(used), set(6000, unusedFrom(claim, 6000))), always, fact.VolumeIdle, 9},
		"bound in the second in which the watch began":   {append(slices.Clone(used[:3]), set(7, unusedFrom(claim, 7))), []fact.Span{{From: at(3) + 50_000, To: at(5000)}}, fact.VolumeNeverMounted, 3},
		"used again, the API calls it used, and watched": {append(slices.Clone(used), set(600, unusedFrom(claim, 0))), always, fact.VolumeIdle, 9},
	} {
		t.Run(name, func(t *testing.T) {
			for _, early := range []bool{true, false} {
				inv, h := New(), newHistory()
				if early {
					inv.SetWatched(test.watched)
				}
				for _, e := range recordedOf(t, test.events) {
					apply(t, inv, e)
				}
				h.take(inv)
				if !early {
					inv.SetWatched(test.watched)
					h.take(inv)
				}
				expect(t, "status", h.states["v1"].Status, test.status)
				expect(t, "idle since", h.states["v1"].IdleSince, at(test.since))
			}
		})
	}
	inv, h := New(), newHistory()
	for _, e := range recordedOf(t, append(slices.Clone(used), set(1000, unusedFrom(claim, 1000)))) {
		apply(t, inv, e)
	}
	h.take(inv)
	expect(t, "vouched for since", h.states["v1"].UnusedSince, at(1000))
	apply(t, inv, recordedOf(t, []event{gone(1100, unusedFrom(claim, 1000))})[0])
	h.take(inv)
	expect(t, "nobody vouches for a claim that is gone", h.states["v1"].UnusedSince, 0)
}

// TestRule5_4_ReleasedVolumeKeepsItsClaimant: as long as it exists, over updates and restarts.
func TestRule5_4_ReleasedVolumeKeepsItsClaimant(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	claim.Labels = map[string]string{"owner": "dana", "team": "red"}
	volume := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	released := pv("vol", "v1", 2, claim, corev1.VolumeReleased, 21)
	relabelled := released.DeepCopy()
	relabelled.Labels = map[string]string{"checked": "yes"}
	again := relabelled.DeepCopy()
	again.Labels["checked"] = "twice"
	kept := func(t *testing.T, h *history) {
		s := h.states["v1"]
		expect(t, "claimant", fmt.Sprintln(s.Status, s.Namespace, s.Claim, s.Owner, s.ClaimLabels.Get("team")), "released shop data dana red\n")
	}
	situation{
		events: []event{
			set(1, claim), set(3, volume), gone(20, claim), set(21, released), set(500, storageClass("a", "s1")), set(1000, relabelled),
			set(2000, storageClass("b", "s2")), set(3000, again),
		},
		check: kept,
	}.run(t)
	situation{
		events: []event{set(1, claim), set(3, volume), gone(20, claim), set(21, pv("vol", "v1", 2, nil, corev1.VolumeAvailable, 30)), set(900, storageClass("a", "s1"))},
		check: func(t *testing.T, h *history) {
			s := h.states["v1"]
			expect(t, "of a volume that is free again", fmt.Sprintln(s.Status, s.Namespace, s.Claim, s.Owner, s.ClaimLabels.Get("team")), "available    \n")
		},
	}.run(t)
}

// TestRule5_4_OwnerOfAClaimThatWasEvictedInARestart: the claim of a released volume is evicted while the tracker is away. After the
// second restart the volume's owner is known, too.
func TestRule5_4_OwnerOfAClaimThatWasEvictedInARestart(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	claim.Labels = map[string]string{"owner": "anna", "team": "db,web,db"}
	inv, h, k := New(), newHistory(), newKeeper()
	take := func(now int) {
		var u fact.Update
		inv.Take(&u)
		k.take(&u)
		k.version, k.now = max(k.version, u.Version), at(now)
		h.add(&u)
	}
	released := pv("vol", "v1", 1, claim, corev1.VolumeReleased, 20)
	for _, e := range recordedOf(t, []event{set(1, claim), set(2, pv("vol", "v1", 1, claim, corev1.VolumeBound, 2)), gone(20, claim), set(20, released)}) {
		apply(t, inv, e)
		take(20)
	}
	for _, restart := range []int{400, 401} {
		k.now = at(restart)
		inv = k.restart(t)
		take(restart)
		expect(t, "owner in the metric", h.states["v1"].Owner, "anna")
		expect(t, "groups in volume_states", fmt.Sprint(h.rowsOf["v1"].Groups), "[db web]")
		h.checkStates(t)
	}
}

// TestRule5_4_VolumeThatIsNotBoundYet: it shows the claim that it is meant for, also when that is gone.
func TestRule5_4_VolumeThatIsNotBoundYet(t *testing.T) {
	claim := pvc("data", "c1", 1, "")
	claim.Labels = map[string]string{"owner": "dana"}
	volume := pv("vol", "v1", 2, claim, corev1.VolumePending, 2)
	given := claim.DeepCopy()
	given.Labels["owner"] = "emil"
	owned := func(want string) func(*testing.T, *history) {
		return func(t *testing.T, h *history) { expect(t, "owner", h.states["v1"].Owner, want) }
	}
	situation{events: []event{set(1, claim), set(2, volume)}, check: owned("dana")}.run(t)
	situation{events: []event{set(1, claim), set(2, volume), set(3, given)}, check: owned("emil")}.run(t)
	situation{events: []event{set(1, claim), set(2, volume), gone(3, claim)}, check: owned("dana")}.run(t)
	situation{
		events: []event{set(1, claim), set(2, volume), gone(3, claim), set(1000, storageClass("a", "s1")), set(1001, pv("vol", "v1", 2, claim, corev1.VolumeReleased, 1001))},
		check:  owned("dana"),
	}.run(t)
}

// TestRule2_6_SuccessorOfTheSameName: the static local provisioner makes a volume again under its
// name. What was the former one's stays its own.
func TestRule2_6_SuccessorOfTheSameName(t *testing.T) {
	first, second := pvc("data", "c1", 1, "vol"), pvc("next", "c2", 62, "vol")
	old, made := pv("vol", "v1", 1, first, corev1.VolumeBound, 3), pv("vol", "v2", 50, nil, corev1.VolumeAvailable, 50)
	next := pv("vol", "v2", 50, second, corev1.VolumeBound, 63)
	attached := volumeAttachment("a1", "vol", 4)
	attached.CreationTimestamp = instant(4)
	later := volumeAttachment("a2", "vol", 70)
	later.CreationTimestamp = instant(70)
	user := ended(podOf("db-0", "p1", 4, []string{"db"}, "data"), corev1.PodSucceeded, 5, 9, 0, "Completed")
	situation{
		events: []event{
			set(1, pvc("data", "c1", 1, "")), set(3, old), set(3, first), set(4, attached), set(9, user), gone(10, user), gone(20, attached),
			gone(30, first), set(31, pv("vol", "v1", 1, first, corev1.VolumeReleased, 31)), gone(32, pv("vol", "v1", 1, first, corev1.VolumeReleased, 31)),
			set(50, made), set(62, pvc("next", "c2", 62, "")), set(63, next), set(63, second), set(70, later),
		},
		check: func(t *testing.T, h *history) {
			expect(t, "claim", h.claims["c1"].VolumeUID, "v1")
			expect(t, "next claim", h.claims["c2"].VolumeUID, "v2")
			expect(t, "attachment", h.attachments["a1"].VolumeUID, "v1")
			expect(t, "later attachment", h.attachments["a2"].VolumeUID, "v2")
			expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-9 Completed")
			expect(t, "successor", h.states["v2"].Status, fact.VolumeNeverMounted)
			expect(t, "bindings", len(h.bindings), 2)
		},
	}.run(t)
	t.Run("a Lost claim that is found is not the successor's", func(t *testing.T) {
		lost := first.DeepCopy()
		lost.Status.Phase = corev1.ClaimLost
		inv, h := New(), newHistory()
		for kind, list := range map[fact.Kind][]any{fact.Claims: {lost}, fact.Volumes: nil} {
			if err := inv.Replace(kind, list, Observation{At: at(40), Found: true}); err != nil {
				t.Fatal(err)
			}
		}
		apply(t, inv, recordedOf(t, []event{set(50, made)})[0])
		h.take(inv)
		expect(t, "its volume", h.claims["c1"].VolumeUID, "")
	})
}

// TestRule2_6_SuccessorInTheSameSecond: a volume is bound, released, deleted, made again and bound to
// the next claim within a second. The next claim never had the first volume.
func TestRule2_6_SuccessorInTheSameSecond(t *testing.T) {
	first, second := pvc("data", "c1", 6, "vol"), pvc("next", "c2", 8, "vol")
	waiting := func(o *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
		o = o.DeepCopy()
		o.Status.Phase = corev1.ClaimPending
		return o
	}
	released := pv("vol", "v1", 6, first, corev1.VolumeReleased, 8)
	events := []event{
		set(6, pv("vol", "v1", 6, nil, corev1.VolumeAvailable, 6)), set(6, waiting(first)), set(6, pv("vol", "v1", 6, first, corev1.VolumeAvailable, 6)),
		set(8, pv("vol", "v1", 6, first, corev1.VolumeBound, 8)), set(8, first), gone(8, first), set(8, released), gone(8, released),
		set(8, pv("vol", "v2", 8, nil, corev1.VolumeAvailable, 8)), set(8, waiting(second)), set(8, pv("vol", "v2", 8, second, corev1.VolumeBound, 8)), set(8, second),
	}
	two := func(t *testing.T, h *history) {
		expect(t, "bindings", len(h.bindings), 2)
		expect(t, "the second claim's", h.bindings[[2]string{"c2", "v2"}].BoundAt, at(8))
	}
	situation{events: events, check: two}.run(t)
	again := pv("vol", "v2", 8, second, corev1.VolumeReleased, 10)
	situation{events: append(events, gone(10, second), set(10, again), gone(11, again)), check: two}.run(t)
}

// setKept has an inventory observe an object, and adds what follows to a history and to what a restart restores.
func setKept(t *testing.T, inv *Inventory, h *history, k *keeper, obs Observation, o any) {
	t.Helper()
	if err := inv.Set(o, obs); err != nil {
		t.Fatal(err)
	}
	var u fact.Update
	inv.Take(&u)
	k.take(&u)
	h.add(&u)
}

// TestRule2_9_ClaimIsAheadAfterAGap: an administrator clears the claimRef before the claim is Bound, and
// the controller binds the two again. After a gap the claims are read before the volumes. The claim was
// bound the second time.
func TestRule2_9_ClaimIsAheadAfterAGap(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	pending := claim.DeepCopy()
	pending.Status.Phase = corev1.ClaimPending
	numbered := func(version int, o metav1.Object) any {
		o.SetResourceVersion(fmt.Sprint(version))
		return o
	}
	for name, test := range map[string]struct {
		volumes []any
		want    int
	}{
		"bound again": {[]any{
			numbered(120, pv("vol", "v1", 1, nil, corev1.VolumeBound, 3)), numbered(130, pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 48)),
			numbered(140, pv("vol", "v1", 1, claim, corev1.VolumeBound, 50)), numbered(160, pv("other", "v2", 1, nil, corev1.VolumeAvailable, 1)),
		}, 50},
		"no other volume comes": {[]any{
			numbered(120, pv("vol", "v1", 1, nil, corev1.VolumeBound, 3)), numbered(140, pv("vol", "v1", 1, claim, corev1.VolumeBound, 50)),
		}, 50},
		"no other binding comes": {[]any{numbered(120, pv("vol", "v1", 1, nil, corev1.VolumeBound, 3))}, 3},
	} {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprint(name, restarts), func(t *testing.T) {
				inv, h, k := New(), newHistory(), newKeeper()
				step := func(obs Observation, o any) { setKept(t, inv, h, k, obs, o) }
				gap := Observation{At: at(60), NotBefore: at(10)}
				step(Live(at(2)), numbered(100, pending))
				step(Live(at(3)), numbered(110, pv("vol", "v1", 1, claim, corev1.VolumeBound, 3)))
				step(gap, numbered(150, claim))
				if restarts {
					k.now = at(60)
					inv = k.restart(t)
				}
				for _, v := range test.volumes {
					step(gap, v)
				}
				inv.Tick(at(121))
				h.take(inv)
				var told []fact.Time
				for _, c := range h.changes {
					if c.Action == fact.Bound {
						told = append(told, c.At)
					}
				}
				expect(t, "told", fmt.Sprint(told), fmt.Sprint([]fact.Time{at(test.want)}))
			})
		}
	}
}

// TestRule2_9_ClaimAwaitsItsVolume: until its volume says when it was bound, a claim's state says that it awaits it, also in
// the next run. What was found bound awaits nothing. If the volume is known, the state does not wait for others.
func TestRule2_9_ClaimAwaitsItsVolume(t *testing.T) {
	claim, other := pvc("data", "c1", 1, "vol"), pvc("other", "c2", 1, "vol2")
	claim.ResourceVersion = "150"
	gap := Observation{At: at(60), NotBefore: at(10)}
	for name, test := range map[string]struct {
		obs    Observation
		before []any
		want   bool
		volume *corev1.PersistentVolume // comes then
	}{
		"the volume came first":          {Live(at(4)), []any{pv("vol", "v1", 1, claim, corev1.VolumeBound, 3)}, false, nil},
		"it is not known":                {Live(at(4)), nil, true, pv("vol", "v1", 1, claim, corev1.VolumeBound, 3)},
		"it is not bound":                {Live(at(4)), []any{pv("vol", "v1", 1, claim, corev1.VolumePending, 2)}, true, pv("vol", "v1", 1, claim, corev1.VolumeBound, 3)},
		"it came first, after a gap":     {gap, []any{pv("vol", "v1", 1, claim, corev1.VolumeBound, 3)}, false, nil},
		"it is not known, after a gap":   {gap, nil, true, pv("vol", "v1", 1, claim, corev1.VolumeBound, 3)},
		"another volume is known":        {gap, []any{pv("vol2", "v2", 1, other, corev1.VolumeBound, 2)}, true, pv("vol", "v1", 1, claim, corev1.VolumeBound, 3)},
		"found":                          {Observation{At: at(4), Found: true}, nil, false, nil},
		"found, before the volume comes": {Observation{At: at(4), Found: true}, nil, false, pv("vol", "v1", 1, claim, corev1.VolumeBound, 3)},
	} {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprint(name, restarts), func(t *testing.T) {
				inv, h, k := New(), newHistory(), newKeeper()
				step := func(obs Observation, o any) { setKept(t, inv, h, k, obs, o) }
				for _, v := range test.before {
					step(Live(at(3)), v)
				}
				step(test.obs, claim)
				expect(t, "awaits its volume", h.claimState["c1"].AwaitsVolume, test.want)
				if restarts {
					k.now, h = test.obs.At, newHistory()
					inv = k.restart(t)
					h.take(inv)
					expect(t, "awaits its volume after a restart", h.claimState["c1"].AwaitsVolume, test.want)
				}
				if test.volume != nil {
					step(gap, test.volume)
					expect(t, "still awaits it", h.claimState["c1"].AwaitsVolume, false)
					expect(t, "bound at", h.claimState["c1"].BoundAt, at(3))
				}
			})
		}
	}
}

// TestRule2_9_ClaimAwaitsItsNextVolume: a claim that was Lost is Bound again. The moment at which it was bound first is not
// that of the second binding.
func TestRule2_9_ClaimAwaitsItsNextVolume(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	lost, first, second := claim.DeepCopy(), pv("vol", "v1", 1, claim, corev1.VolumeBound, 3), pv("vol", "v2", 48, claim, corev1.VolumeBound, 50)
	lost.Status.Phase = corev1.ClaimLost
	before := []event{set(3, first), set(3, claim), gone(20, first), set(21, lost)}
	for name, test := range map[string]struct {
		events []event
		awaits bool
	}{
		"the claim first":  {append(slices.Clip(before), set(51, claim)), true},
		"the volume first": {append(slices.Clip(before), set(51, second)), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, h := play(t, test.events...)
			expect(t, "awaits its volume", h.claimState["c1"].AwaitsVolume, test.awaits)
		})
	}
	_, h := play(t, append(before, set(51, claim), set(52, second))...)
	expect(t, "awaits its volume", h.claimState["c1"].AwaitsVolume, false)
	expect(t, "bound at", h.claimState["c1"].BoundAt, at(50))
	var bound []fact.Time
	for _, c := range h.changes {
		if c.Action == fact.Bound {
			bound = append(bound, c.At)
		}
	}
	slices.Sort(bound)
	expect(t, "bound", fmt.Sprint(bound), fmt.Sprint([]fact.Time{at(3), at(50)}))
}

// TestRule2_8_VolumeThatCameBackToItsPhase: a volume left its phase and came back while nobody watched.
func TestRule2_8_VolumeThatCameBackToItsPhase(t *testing.T) {
	first, second := pvc("data", "c1", 1, "vol"), pvc("next", "c2", 20, "vol")
	expectStory(t, story(t, fact.Volumes, set(3, pv("vol", "v1", 1, first, corev1.VolumeBound, 3)), set(40, pv("vol", "v1", 1, second, corev1.VolumeBound, 30))),
		"created: 10Gi on nfs", "phase: Bound → Bound")
}

// TestRule2_8_NoBindingIsInvented: a claim whose watch is ahead names a volume that is about to be
// replaced by another one of its name.
func TestRule2_8_NoBindingIsInvented(t *testing.T) {
	claim := pvc("next", "c1", 62, "vol")
	events := []event{
		set(1, pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 1)), gone(60, pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 1)),
		set(61, pv("vol", "v2", 61, nil, corev1.VolumeAvailable, 61)), set(62, pvc("next", "c1", 62, "")),
		set(63, pv("vol", "v2", 61, claim, corev1.VolumeBound, 63)), set(63, claim),
	}
	end := []event{gone(70, claim), set(71, pv("vol", "v2", 61, claim, corev1.VolumeReleased, 71)), gone(72, pv("vol", "v2", 61, claim, corev1.VolumeReleased, 71))}
	for name, list := range map[string][]event{"it is there": events, "all is gone": slices.Concat(events, end)} {
		t.Run(name, func(t *testing.T) {
			situation{
				events: list,
				check: func(t *testing.T, h *history) {
					expect(t, "volume", h.claims["c1"].VolumeUID, "v2")
					expect(t, "bindings", len(h.bindings), 1)
					expect(t, "bound at", h.bindings[[2]string{"c1", "v2"}].BoundAt, at(63))
				},
			}.run(t)
		})
	}
	// What became of the claimRef was missed: the claim alone says what it had.
	lost := claim.DeepCopy()
	lost.Status.Phase = corev1.ClaimLost
	for name, list := range map[string][]event{
		"the volume goes, and the claim is Lost":        {set(80, lost)},
		"the volume goes, and the claim":                {gone(80, claim)},
		"the volume goes, and the claim after a second": {gone(81, claim)},
	} {
		t.Run(name, func(t *testing.T) {
			made := pv("vol", "v2", 61, nil, corev1.VolumeAvailable, 61)
			situation{
				events: slices.Concat([]event{set(61, made), set(62, pvc("next", "c1", 62, "")), set(63, claim), gone(80, made)}, list),
				check: func(t *testing.T, h *history) {
					expect(t, "bindings", len(h.bindings), 1)
					expect(t, "released", h.bindings[[2]string{"c1", "v2"}].ReleasedAt, at(80))
				},
			}.run(t)
		})
	}
}

// TestRule2_9_LostBeforeItsVolumeIsKnown: a claim whose watch is ahead is Lost before its volume's
// watch has shown that they were bound.
func TestRule2_9_LostBeforeItsVolumeIsKnown(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	lost := claim.DeepCopy()
	lost.Status.Phase = corev1.ClaimLost
	user := running(podOf("db-0", "p1", 4, []string{"db"}, "data"), 5)
	situation{
		events: []event{
			set(1, pvc("data", "c1", 1, "")), set(2, pv("vol", "v1", 2, claim, corev1.VolumePending, 2)), set(3, pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)),
			set(3, claim), set(5, user), gone(20, pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)), set(21, lost),
		},
		check: func(t *testing.T, h *history) {
			var bound []string
			for _, c := range h.changes {
				if c.Action == fact.Bound {
					bound = append(bound, fmt.Sprint(c.At == at(3), c.Found))
				}
			}
			expect(t, "bound", fmt.Sprint(bound), "[true false]")
			expect(t, "volume", h.claims["c1"].VolumeUID, "v1")
			expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-")
		},
	}.run(t)
}

// instant is second, for where that name is taken.
func instant(n int) metav1.Time { return second(n) }

// TestRule2_10_LostClaim: it was neither resized nor modified, nor when it is Bound again.
func TestRule2_10_LostClaim(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	claim.Status.CurrentVolumeAttributesClassName = new("gold")
	lost := claim.DeepCopy()
	lost.Status.Phase, lost.Status.Capacity, lost.Status.CurrentVolumeAttributesClassName = corev1.ClaimLost, nil, nil
	bigger := claim.DeepCopy()
	bigger.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("20Gi")}
	_, h := play(t, set(1, claim), set(9, lost), set(20, bigger))
	for _, c := range h.changes {
		if c.Action == fact.Resized || c.Action == fact.Modified && c.At < at(20) {
			t.Errorf("%s %s", c.Action, c.Details)
		}
	}
}

// TestRule2_2_StatefulSetsClaimOwnedByAPod: it is not ephemeral, and keeps its workload.
func TestRule2_2_StatefulSetsClaimOwnedByAPod(t *testing.T) {
	for name, controller := range map[string]*bool{"as its controller": new(true), "as its owner": nil} {
		for what, known := range map[string]bool{"its StatefulSet is known": true, "and is not": false} {
			t.Run(name+", "+what, func(t *testing.T) {
				claim := pvc("data-db-1", "c1", 1, "vol")
				owned := claim.DeepCopy()
				owned.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: "db-1", UID: "p1", Controller: controller}}
				events := []event{set(1, claim), set(2, pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)), set(30, owned)}
				if known {
					events = append(events, set(0, &appsv1.StatefulSet{ObjectMeta: objectMeta("shop", "db", "sts", 0), Spec: appsv1.StatefulSetSpec{
						VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
					}}))
				}
				user := podOf("db-1", "p1", 4, []string{"db"}, "data-db-1")
				events = append(events, set(4, user), set(6, running(user, 5)))
				situation{
					events: events,
					check: func(t *testing.T, h *history) {
						c := h.claims["c1"]
						expect(t, "claim", fmt.Sprintln(c.Ephemeral, c.PodUID == "", c.WorkloadKind, c.WorkloadName), "false true StatefulSet db\n")
						expect(t, "mount", h.mount("p1", "db", "/data-db-1"), "c1@v1 5-")
					},
				}.run(t)
			})
		}
	}
}

// TestRule6_2_MemoryIsBounded: where a claim is made again under one name for ever, and a completed
// pod that names it is kept.
func TestRule6_2_MemoryIsBounded(t *testing.T) {
	inv, k := New(), newKeeper()
	var u fact.Update
	do := func(list ...event) {
		for _, e := range recordedOf(t, list) {
			apply(t, inv, e)
			inv.Take(&u)
			k.take(&u)
		}
	}
	kept := ended(podOf("job", "p1", 2, []string{"main"}, "data"), corev1.PodSucceeded, 3, 4, 0, "Completed")
	first := pvc("data", "c0", 1, "")
	do(set(1, first), set(4, kept), gone(5, first))
	for i := range 200 {
		from := 1000 * (i + 1)
		claim := pvc("data", fmt.Sprint("c", i+1), from, "")
		do(set(from, claim), gone(from+1, claim), set(from+999, storageClass("a", "s1")))
	}
	if n := len(inv.slot(name{"shop", "data"}).claims); n > 3 {
		t.Errorf("%d claims of the name are remembered", n)
	}
	if n := len(k.objects); n > 6 {
		t.Errorf("%d objects are in the journal", n)
	}
	do(set(300_000, kept)) // the pod still has its claim
	if c := inv.pods["p1"].volumes[0].claim; c == nil || c.uid != "c0" {
		t.Errorf("the pod's claim is %v", c)
	}
}

// TestRule4_4_ContainerCountsOnce: one claim through two volumes of a pod.
func TestRule4_4_ContainerCountsOnce(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	user := podOf("db-0", "p1", 4, []string{"db", "side"}, "data")
	user.Spec.Volumes = append(user.Spec.Volumes, *user.Spec.Volumes[0].DeepCopy())
	user.Spec.Volumes[1].Name = "again"
	user.Spec.Containers[0].VolumeMounts = append(slices.Clone(user.Spec.Containers[0].VolumeMounts), corev1.VolumeMount{Name: "again", MountPath: "/again"})
	situation{
		events: []event{set(1, claim), set(3, pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)), set(5, running(user, 5))},
		check: func(t *testing.T, h *history) {
			expect(t, "containers", h.states["v1"].Mounts, 2)
			expect(t, "rows", len(h.mounts), 3)
		},
	}.run(t)
}

// TestRule5_3_Awaited: by a pod none of whose main containers has started; since when it waits.
func TestRule5_3_Awaited(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	o := podOf("web", "p1", 4, []string{"app", "broken"}, "data")
	o.Spec.Containers[0].VolumeMounts = nil
	runs := running(o, 6)
	runs.Status.ContainerStatuses[1].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError"}}
	situation{
		events: []event{set(1, claim), set(3, volume), set(4, o), set(6, runs)},
		check:  func(t *testing.T, h *history) { expectState(t, h, fact.VolumeNeverMounted, 0, 3) },
	}.run(t)

	starting := podOf("db", "p2", 10, []string{"main"}, "data")
	starting.Spec.InitContainers = []corev1.Container{{Name: "init", VolumeMounts: starting.Spec.Containers[0].VolumeMounts}}
	between := starting.DeepCopy()
	between.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", State: terminated(12, 15, 0, "Completed")}}
	situation{
		events: []event{set(1, claim), set(3, volume), set(10, starting), set(16, between)},
		check:  func(t *testing.T, h *history) { expectState(t, h, fact.VolumePending, 15, 0) },
	}.run(t)
	_, h := play(t, set(1, claim), set(3, volume), set(16, between))
	expect(t, "pending since the init container's end", h.states["v1"].ChangedAt, at(15))

	other := podOf("old", "p3", 4, []string{"main"}, "data")
	_, h = play(t, set(1, claim), set(3, volume), set(5, running(other, 5)), set(10, podOf("new", "p4", 10, []string{"main"}, "data")),
		set(30, ended(other, corev1.PodSucceeded, 5, 29, 0, "Completed")))
	expect(t, "status", h.states["v1"].Status, fact.VolumePending)
	expect(t, "pending since it is not mounted any more", h.states["v1"].ChangedAt, at(29))
}

// TestRule6_4_BackFromTheDead: after etcd was restored from a backup, an object is there again
// under its UID, or has fewer containers than before.
func TestRule6_4_BackFromTheDead(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	user := running(podOf("db-0", "p1", 4, []string{"db"}, "data"), 5)
	debugged := user.DeepCopy()
	debugged.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: "debug", VolumeMounts: user.Spec.Containers[0].VolumeMounts,
	}}}
	debugged.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{Name: "debug", State: terminated(10, 11, 0, "Completed")}}
	another := debugged.DeepCopy()
	another.Spec.EphemeralContainers[0].Name, another.Status.EphemeralContainerStatuses[0].Name = "again", "again"
	class, set1, workload := storageClass("fast", "s1"), statefulSet("db", "sts"), metadataOf(fact.Jobs, "j", "j1", "", "", "")
	attachment := volumeAttachment("a1", "other", 4)
	stream := recordedOf(t, []event{
		set(0, class), set(0, set1), set(0, workload), set(1, claim), set(3, volume), set(4, attachment), set(5, user), set(12, debugged),
		set(20, user), set(22, another), // fewer ephemeral containers, then another one
		gone(30, another), gone(30, claim), gone(30, volume), gone(30, class), gone(30, set1), gone(30, workload), gone(30, attachment),
		set(40, volume), set(40, claim), set(40, user), set(40, class), set(40, set1), set(40, workload), set(40, attachment),
		set(2000, storageClass("a", "s2")), set(4000, storageClass("b", "s3")),
	})
	for restart := range len(stream) {
		h := interrupted(t, stream, func(i int) bool { return i == restart && i > 0 || i == len(stream)-1 })
		expectState(t, h, fact.VolumeMounted, 0, 0)
		expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-")
		expect(t, "the first debugger", h.mount("p1", "debug", "/data"), "c1@v1 10-11 Completed")
		expect(t, "the second one", h.mount("p1", "again", "/data"), "c1@v1 10-11 Completed")
		expect(t, "deleted", fmt.Sprint(h.pods["p1"].DeletedAt, h.claims["c1"].DeletedAt, h.volumes["v1"].DeletedAt, h.classes["s1"].DeletedAt), "0 0 0 0")
		expect(t, "claim", h.claims["c1"].VolumeUID, "v1")
		if t.Failed() {
			t.Fatalf("a restart before event %d", restart)
		}
	}
	inv, k := New(), newKeeper()
	var u fact.Update
	for _, e := range stream {
		apply(t, inv, e)
		inv.Take(&u)
		k.take(&u)
	}
	for _, kind := range []fact.Kind{fact.Volumes, fact.Claims, fact.Pods, fact.StatefulSets, fact.Jobs, fact.VolumeAttachments} {
		expect(t, "held of "+string(kind), inv.Count(kind), 1)
		expect(t, "kept of "+string(kind), len(slices.DeleteFunc(k.list(t), func(r fact.SavedObject) bool { return r.Kind != kind })), 1)
	}
}

// TestRule6_5_WhatIsTakenOver: an image changed in place, a workload of a pod that lost its
// controller, a binding of a volume found Released.
func TestRule6_5_WhatIsTakenOver(t *testing.T) {
	o := running(ownedPod("Job", "nightly", "j1"), 5)
	patched, orphaned := o.DeepCopy(), o.DeepCopy()
	patched.Spec.Containers[0].Image = "img:2"
	orphaned.Spec.Containers[0].Image = "img:2"
	orphaned.OwnerReferences = nil
	situation{
		events: []event{set(1, pvc("data", "c1", 1, "")), set(5, o), set(9, patched), set(12, orphaned)},
		check: func(t *testing.T, h *history) {
			for _, p := range h.pods {
				expect(t, "workload", p.WorkloadKind+" "+p.WorkloadName, "Job nightly")
			}
			for _, c := range h.containers {
				expect(t, "image", c.Image, "img:2")
			}
		},
	}.run(t)

	claim := pvc("data", "c1", 1, "vol")
	for name, phased := range map[string]bool{"that says since when": true, "of Kubernetes 1.27": false} {
		t.Run("a volume found Released, "+name, func(t *testing.T) {
			released := pv("vol", "v1", 2, claim, corev1.VolumeReleased, 50)
			want := fact.Binding{Namespace: "shop", ClaimName: "data", ClaimUID: "c1", VolumeUID: "v1", ReleasedAt: at(50), ReleasedNotBefore: at(50)}
			if !phased {
				released.Status.LastPhaseTransitionTime = nil
				want.ReleasedAt, want.ReleasedNotBefore = at(100), at(2)
			}
			inv, h := New(), newHistory()
			for kind, list := range map[fact.Kind][]any{fact.Volumes: {released}, fact.Claims: nil} { // in any order
				if err := inv.Replace(kind, list, Observation{At: at(100), Found: true}); err != nil {
					t.Fatal(err)
				}
			}
			if err := inv.Replace(fact.Volumes, []any{released}, Observation{At: at(200), NotBefore: at(150)}); err != nil {
				t.Fatal(err)
			}
			h.take(inv)
			expect(t, "binding", h.bindings[[2]string{"c1", "v1"}], want)
			expect(t, "bindings", len(h.bindings), 1)
		})
	}
}
