package inventory

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// situation is something that a real control plane does, and what has to be known of it in the
// end: in every order in which the watches of different kinds can arrive, over restarts from
// the journal at any event, and after a restart from the journal or the catalog at the end.
type situation struct {
	events []event
	check  func(t *testing.T, h *history)
	// live is checked only where all was watched in order.
	live func(t *testing.T, h *history)
}

func (s situation) run(t *testing.T) {
	t.Helper()
	stream := recordedOf(t, s.events)
	slices.SortStableFunc(stream, func(a, b recorded) int { return int(a.at - b.at) })
	never := func(int) bool { return false }
	t.Run("in order", func(t *testing.T) {
		h := interrupted(t, stream, never)
		s.check(t, h)
		h.checkUses(t)
		h.checkStates(t)
		if s.live != nil {
			s.live(t, h)
		}
	})
	t.Run("shuffled", func(t *testing.T) {
		for seed := range uint64(100) {
			random := rand.New(rand.NewPCG(seed, 11))
			for _, interrupt := range []func(int) bool{never, func(i int) bool { return i > 0 && random.IntN(4) == 0 }} {
				h := interrupted(t, shuffled(stream, random), interrupt)
				s.check(t, h)
				h.checkUses(t)
				h.checkStates(t)
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	})
	t.Run("restarted at the end", func(t *testing.T) {
		h, k := newHistory(), newKeeper()
		inv := New()
		for _, e := range stream {
			apply(t, inv, e)
			var u fact.Update
			inv.Take(&u)
			k.take(&u)
			k.now = e.at
			h.add(&u)
		}
		told := maps.Clone(h.rowsOf)
		for name, list := range map[string]fact.SavedList{"journal": k.list(t), "catalog": catalogOf(h, k)} {
			h.rowsOf = maps.Clone(told)
			again := New()
			if unread, err := again.Restore(list, k.version, k.now); unread != nil || err != nil {
				t.Fatal(err)
			}
			clear(h.states)
			before := h.rows
			h.take(again)
			if name == "journal" && h.rows > before {
				t.Errorf("%d rows are emitted again", h.rows-before)
			}
			t.Run(name, func(t *testing.T) {
				s.check(t, h)
				h.checkUses(t)
				h.checkStates(t)
			})
		}
	})
}

func apply(t testing.TB, inv *Inventory, e recorded) {
	t.Helper()
	take := inv.Set
	if e.delete {
		take = inv.Delete
	}
	if err := take(e.object, Live(e.at)); err != nil {
		t.Fatal(err)
	}
}

func recordedOf(t testing.TB, events []event) (list []recorded) {
	for _, e := range events {
		kind, uid, err := identify(e.object)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, recorded{at: at(e.at), kind: kind, uid: uid, object: e.object, delete: e.delete})
	}
	return list
}

// shuffled is a stream as watches of different kinds can give it: each in its own order, and none
// behind another for longer than what is gone is remembered (rule 6.1).
func shuffled(stream []recorded, random *rand.Rand) (list []recorded) {
	for from := 0; from < len(stream); {
		to := from + 1
		for to < len(stream) && stream[to].at-stream[to-1].at < retention/2 {
			to++
		}
		list = append(list, shuffledKinds(stream[from:to], random)...)
		from = to
	}
	return list
}

func shuffledKinds(stream []recorded, random *rand.Rand) (list []recorded) {
	queues := map[fact.Kind][]recorded{}
	var kinds []fact.Kind
	for _, e := range stream {
		if queues[e.kind] == nil {
			kinds = append(kinds, e.kind)
		}
		queues[e.kind] = append(queues[e.kind], e)
	}
	for len(list) < len(stream) {
		if kind := kinds[random.IntN(len(kinds))]; len(queues[kind]) > 0 {
			list = append(list, queues[kind][0])
			queues[kind] = queues[kind][1:]
		}
	}
	return list
}

// catalogOf is what ingest.RestoreCatalog reads from the rows: see the questions there.
func catalogOf(h *history, k *keeper) (list fact.SavedList) {
	needed := map[string]bool{}
	for _, m := range h.mounts {
		if p := h.pods[m.PodUID]; p.DeletedAt == 0 {
			needed[m.ClaimUID], needed[m.VolumeUID] = true, true
		}
	}
	for key, o := range k.ever {
		r := fact.SavedObject{Kind: key.kind, UID: key.uid, Object: o.Object}
		s := fact.ObjectSnapshot{Kind: key.kind, UID: key.uid}
		switch key.kind {
		case fact.Volumes:
			v := h.volumes[key.uid]
			if v.DeletedAt != 0 && !needed[key.uid] {
				continue
			}
			h.volumeOfCatalog(&s, v)
		case fact.Claims:
			c := h.claims[key.uid]
			if c.DeletedAt != 0 && !needed[key.uid] {
				continue
			}
			s.Deleted, s.NotBefore, s.BoundAt, s.VolumeUID = c.DeletedAt, c.DeletedNotBefore, c.BoundAt, c.VolumeUID
			s.WorkloadKind, s.WorkloadName = c.WorkloadKind, c.WorkloadName
		case fact.Pods:
			p := h.pods[key.uid]
			if p.DeletedAt != 0 {
				continue
			}
			s.WorkloadKind, s.WorkloadName, s.WorkloadUID = p.WorkloadKind, p.WorkloadName, p.WorkloadUID
			h.containersOfCatalog(&s)
		default:
			continue
		}
		r.Snapshot = s
		list = append(list, r)
	}
	return list
}

func (h *history) volumeOfCatalog(s *fact.ObjectSnapshot, v fact.Volume) {
	s.Deleted, s.NotBefore, s.PhaseChanged = v.DeletedAt, v.DeletedNotBefore, v.PhaseChangedAt
	for _, m := range h.mounts {
		if m.VolumeUID == s.UID {
			s.LastUse = max(s.LastUse, m.EndedAt)
		}
	}
	for _, b := range h.bindings {
		if b.VolumeUID == s.UID && b.BoundAt >= s.BoundAt {
			s.ClaimUID, s.ClaimNamespace, s.ClaimName, s.BindingOrdinal = b.ClaimUID, b.Namespace, b.ClaimName, b.Ordinal
			s.BoundAt, s.ReleasedAt, s.ReleasedNotBefore = b.BoundAt, b.ReleasedAt, b.ReleasedNotBefore
		}
	}
	if c, ok := h.claims[v.ClaimUID]; ok {
		s.Claimant = &fact.Claimant{Owner: c.Owner, Groups: c.Groups, Labels: c.Labels}
	}
}

func (h *history) containersOfCatalog(s *fact.ObjectSnapshot) {
	for _, c := range h.containers {
		if c.PodUID != s.UID || c.StartedAt == 0 {
			continue
		}
		had := fact.ContainerSnapshot{Name: c.Name, StartedAt: c.StartedAt, FinishedAt: c.FinishedAt}
		for _, m := range h.mounts {
			if m.PodUID == s.UID && m.Container == c.Name {
				had.NotBefore, had.Reason, had.StartUnknown = max(had.NotBefore, m.EndedNotBefore), m.EndReason, m.StartedNotBefore < m.StartedAt
			}
		}
		s.Containers = append(s.Containers, had)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// expectState compares what is known of volume v1.
func expectState(t *testing.T, h *history, status fact.VolumeStatus, lastUsed, idleSince int) {
	t.Helper()
	s := h.states["v1"]
	expect(t, "status", s.Status, status)
	expect(t, "last used", s.LastUsed, moment(lastUsed))
	expect(t, "idle since", s.IdleSince, moment(idleSince))
}

// moment is a second of the tests' clock, 0 for "absent".
func moment(second int) fact.Time {
	if second == 0 {
		return 0
	}
	return at(second)
}

// vouch notes in a pod when its kubelet wrote its status, by the API server's clock.
func vouch(o *corev1.Pod, when int) *corev1.Pod {
	o = o.DeepCopy()
	written := second(when)
	o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet", Subresource: "status", Time: &written}}
	return o
}

func scheduledTo(o *corev1.Pod, node string, when int) *corev1.Pod {
	o = o.DeepCopy()
	o.Spec.NodeName = node
	o.Status.Conditions = append(o.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: second(when)})
	return o
}

func nodeOf(name string, ready corev1.ConditionStatus, heartbeat int) *corev1.Node {
	return &corev1.Node{ObjectMeta: objectMeta("", name, "n-"+name, 0), Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse}, {Type: corev1.NodeReady, Status: ready, LastHeartbeatTime: second(heartbeat)},
	}}}
}

// TestRule2_3_PodThatNeverStarts: it changes neither last use nor state, however long ago the last
// user was forgotten.
func TestRule2_3_PodThatNeverStarts(t *testing.T) {
	pending, claim := pvc("data", "c1", 1, ""), pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	user := podOf("db-0", "p1", 4, []string{"db"}, "data")
	done := ended(user, corev1.PodSucceeded, 5, 9, 0, "Completed")
	used := []event{set(1, pending), set(3, claim), set(3, volume), set(4, user), set(5, running(user, 5)), set(9, done), gone(10, done)}
	later := podOf("db-1", "p2", 2000, []string{"db"}, "data")
	rejected := later.DeepCopy()
	rejected.Status.Phase, rejected.Status.Reason = corev1.PodFailed, "OutOfcpu"
	preempted := later.DeepCopy()
	preempted.Status.Phase = corev1.PodFailed
	preempted.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler", LastTransitionTime: second(2005)}}
	forgets := []event{set(1000, storageClass("a", "s1")), set(1500, storageClass("b", "s2"))}
	for name, then := range map[string][]event{
		"deleted while pending":         {set(2000, later), gone(2010, later)},
		"rejected by the kubelet":       {set(2000, later), set(2005, rejected), gone(2010, rejected)},
		"rejected, and kept":            {set(2000, later), set(2005, rejected)},
		"preempted":                     {set(2000, later), set(2005, preempted), gone(2006, preempted)},
		"never observed while it waits": {gone(2010, later)},
	} {
		t.Run(name, func(t *testing.T) {
			situation{
				events: slices.Concat(used, forgets, then),
				check:  func(t *testing.T, h *history) { expectState(t, h, fact.VolumeIdle, 9, 9) },
				live:   func(t *testing.T, h *history) { expect(t, "since", h.states["v1"].ChangedAt, at(9)) },
			}.run(t)
		})
		t.Run(name+", never used before", func(t *testing.T) {
			situation{
				events: slices.Concat(used[:3], forgets, then),
				check:  func(t *testing.T, h *history) { expectState(t, h, fact.VolumeNeverMounted, 0, 3) },
			}.run(t)
		})
	}
	t.Run("its claim is deleted under it", func(t *testing.T) {
		released := pv("vol", "v1", 2, claim, corev1.VolumeReleased, 2008)
		situation{
			events: slices.Concat(used, forgets, []event{set(2000, later), gone(2007, claim), set(2008, released), gone(2010, later)}),
			check:  func(t *testing.T, h *history) { expectState(t, h, fact.VolumeReleased, 9, 9) },
		}.run(t)
	})
}

// claimRefUse is a use of volume v1, whose claimRef is changed before the use ends.
type claimRefUse struct {
	claim, other *corev1.PersistentVolumeClaim

	volume, cleared, given *corev1.PersistentVolume // bound to the claim, then without a claim, then bound to the other one

	user, runs, done *corev1.Pod
}

func newClaimRefUse() *claimRefUse {
	claim, other := pvc("data", "c1", 1, "vol"), pvc("other", "c2", 15, "vol")
	user := podOf("db-0", "p1", 4, []string{"db"}, "data")
	return &claimRefUse{
		claim: claim, other: other,
		volume:  pv("vol", "v1", 2, claim, corev1.VolumeBound, 3),
		cleared: pv("vol", "v1", 2, nil, corev1.VolumeAvailable, 12),
		given:   pv("vol", "v1", 2, other, corev1.VolumeBound, 16),
		user:    user, runs: running(user, 5), done: ended(user, corev1.PodSucceeded, 5, 20, 0, "Completed"),
	}
}

// start returns the events until the pod runs.
func (u *claimRefUse) start() []event {
	return []event{set(1, pvc("data", "c1", 1, "")), set(3, u.claim), set(3, u.volume), set(4, u.user), set(5, u.runs)}
}

// TestRule4_3_UseBelongsToTheVolume: whatever becomes of the claimRef before the pod's end.
func TestRule4_3_UseBelongsToTheVolume(t *testing.T) {
	u := newClaimRefUse()
	for name, then := range map[string][]event{"cleared": {set(12, u.cleared)}, "given to another claim": {set(12, u.cleared), set(15, u.other), set(16, u.given)}} {
		t.Run(name+", while it runs", func(t *testing.T) {
			situation{
				events: slices.Concat(u.start(), then),
				check: func(t *testing.T, h *history) {
					expectState(t, h, fact.VolumeMounted, 0, 0)
					expect(t, "mounts", h.states["v1"].Mounts, 1)
					expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-")
				},
				live: func(t *testing.T, h *history) { expect(t, "since", h.states["v1"].ChangedAt, at(5)) },
			}.run(t)
		})
		t.Run(name+", and then it ends", func(t *testing.T) {
			status := fact.VolumeAvailable
			if name != "cleared" {
				status = fact.VolumeIdle
			}
			situation{
				events: slices.Concat(u.start(), then, []event{set(21, u.done), gone(22, u.done), gone(23, u.claim)}),
				check: func(t *testing.T, h *history) {
					expectState(t, h, status, 20, 20)
					expect(t, "mount", h.mount("p1", "db", "/data"), "c1@v1 5-20 Completed")
				},
			}.run(t)
		})
	}
	t.Run("first lists in any order", u.firstListsInAnyOrder)
	t.Run("pod, claim and claimRef go in a gap, and the journal is lost", u.journalLostInAGap)
}

// firstListsInAnyOrder lists the kinds in each order, after the volume was given to the other claim.
func (u *claimRefUse) firstListsInAnyOrder(t *testing.T) {
	lists := map[fact.Kind][]any{
		fact.Volumes: {u.given}, fact.Claims: {u.claim, u.other}, fact.Pods: {u.runs},
	}
	for _, order := range [][]fact.Kind{
		{fact.Volumes, fact.Claims, fact.Pods}, {fact.Volumes, fact.Pods, fact.Claims}, {fact.Claims, fact.Volumes, fact.Pods},
		{fact.Claims, fact.Pods, fact.Volumes}, {fact.Pods, fact.Volumes, fact.Claims}, {fact.Pods, fact.Claims, fact.Volumes},
	} {
		inv, h := New(), newHistory()
		for _, kind := range order {
			must(t, inv.Replace(kind, lists[kind], Observation{At: at(100), Found: true}))
		}
		h.take(inv)
		expect(t, fmt.Sprint(order, ": status"), h.states["v1"].Status, fact.VolumeMounted)
		must(t, inv.Replace(fact.Pods, []any{u.done}, Observation{At: at(110), NotBefore: at(100)}))
		h.take(inv)
		expect(t, fmt.Sprint(order, ": last used"), h.states["v1"].LastUsed, at(20))
		expect(t, fmt.Sprint(order, ": status in the end"), h.states["v1"].Status, fact.VolumeIdle)
	}
}

// journalLostInAGap starts a tracker without its journal, after the pod, its claim and the claimRef were deleted while no
// tracker ran. The tracker reads the catalog at the start, or after the first lists.
func (u *claimRefUse) journalLostInAGap(t *testing.T) {
	h, k := newHistory(), newKeeper()
	inv := New()
	for _, e := range recordedOf(t, u.start()) {
		apply(t, inv, e)
		var update fact.Update
		inv.Take(&update)
		k.take(&update)
		h.add(&update)
		k.now = e.at
	}
	for name, restore := range map[string]func(t *testing.T, inv *Inventory, list fact.SavedList, version uint64) int{
		"the catalog is there at the start": u.restoreThenList, "it is read back later": u.listThenReconcile,
	} {
		t.Run(name, func(t *testing.T) {
			inv := New()
			last := restore(t, inv, catalogOf(h, k), k.version)
			now := newHistory()
			now.take(inv)
			expectState(t, now, fact.VolumeAvailable, last, last)
			expect(t, "mount", now.mount("p1", "db", "/data"), fmt.Sprintf("c1@v1 5-%d(from 5) Deleted", last))
		})
	}
}

// restoreThenList reads the catalog, then lists what is left at 60. It returns when the use ended at the latest.
func (u *claimRefUse) restoreThenList(t *testing.T, inv *Inventory, list fact.SavedList, version uint64) (last int) {
	t.Helper()
	unread, err := inv.Restore(list, version, at(60))
	must(t, errors.Join(unread, err))
	u.listWhatIsLeft(t, inv, Observation{At: at(60), NotBefore: at(6)})
	return 60
}

// listThenReconcile lists what is left at 60, and reads the catalog at 61. It returns when the use ended at the latest.
func (u *claimRefUse) listThenReconcile(t *testing.T, inv *Inventory, list fact.SavedList, version uint64) (last int) {
	t.Helper()
	u.listWhatIsLeft(t, inv, Observation{At: at(60), Found: true})
	seen := map[fact.Kind]fact.Time{fact.Volumes: at(6), fact.Claims: at(6), fact.Pods: at(6)}
	unread, err := inv.Reconcile(list, version, at(61), seen, nil)
	must(t, errors.Join(unread, err))
	return 61
}

// listWhatIsLeft lists the volume without its claimRef, and neither claims nor pods.
func (u *claimRefUse) listWhatIsLeft(t *testing.T, inv *Inventory, seen Observation) {
	t.Helper()
	lists := map[fact.Kind][]any{fact.Volumes: {u.cleared}, fact.Claims: nil, fact.Pods: nil}
	for _, kind := range []fact.Kind{fact.Volumes, fact.Claims, fact.Pods} {
		must(t, inv.Replace(kind, lists[kind], seen))
	}
}

// TestRule2_9_BoundWithoutAnObservedTransition: what was found Bound, and does not say since when,
// is not bound at its next update.
func TestRule2_9_BoundWithoutAnObservedTransition(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	volume.Status.LastPhaseTransitionTime = nil
	relabelled, resized := claim.DeepCopy(), volume.DeepCopy()
	relabelled.Labels, resized.Labels = map[string]string{"a": "b"}, map[string]string{"a": "b"}
	for name, order := range map[string][]any{"claim first": {claim, volume}, "volume first": {volume, claim}} {
		t.Run(name, func(t *testing.T) {
			inv, h := New(), newHistory()
			for _, o := range order {
				if err := inv.Set(o, Observation{At: at(100), Found: true}); err != nil {
					t.Fatal(err)
				}
			}
			h.take(inv)
			for _, o := range []any{relabelled, resized} {
				if err := inv.Set(o, Live(at(200))); err != nil {
					t.Fatal(err)
				}
				h.take(inv)
			}
			expect(t, "bound at", h.claims["c1"].BoundAt, 0)
			expect(t, "binding", h.bindings[[2]string{"c1", "v1"}], fact.Binding{Namespace: "shop", ClaimName: "data", ClaimUID: "c1", VolumeUID: "v1"})
			for _, c := range h.changes {
				if c.Action == fact.Bound {
					t.Errorf("a change: %+v", c)
				}
			}
		})
	}
}
