package inventory

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// event is a step of a sequence: an object as it was set or deleted at a second.
type event struct {
	at     int
	object any
	delete bool
}

func play(t testing.TB, events ...event) (*Inventory, *history) {
	t.Helper()
	inv, h := New(), newHistory()
	for _, e := range events {
		var err error
		if e.delete {
			err = inv.Delete(e.object, Live(at(e.at)))
		} else {
			err = inv.Set(e.object, Live(at(e.at)))
		}
		if err != nil {
			t.Fatal(err)
		}
		h.take(inv)
	}
	return inv, h
}

func set(at int, object any) event  { return event{at: at, object: object} }
func gone(at int, object any) event { return event{at: at, object: object, delete: true} }

func expect[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func TestMountLastsFromFirstStartToLastEnd(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	pending := podOf("db-0", "p1", 4, []string{"db"}, "data")
	_, h := play(t, set(1, claim), set(3, volume), set(4, pending))
	expect(t, "while pending", h.mount("p1", "db", "/data"), "")
	expect(t, "state", h.states["v1"].Status, fact.VolumePending)

	job := podOf("job", "p1", 4, []string{"db"}, "data")
	job.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	crashed := running(pending, 5)
	crashed.Status.ContainerStatuses[0] = corev1.ContainerStatus{
		Name: "db", RestartCount: 1, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: terminated(5, 7, 1, "Error"),
	}
	again := running(pending, 9)
	again.Status.ContainerStatuses[0].LastTerminationState = terminated(5, 7, 1, "Error")
	again.Status.ContainerStatuses[0].RestartCount = 1
	forced := running(pending, 5)
	deleting := forced.DeepCopy()
	deleting.DeletionTimestamp = new(second(20))
	deleted := ended(deleting, corev1.PodRunning, 5, 22, 143, "Error")
	evicted := ended(pending, corev1.PodFailed, 5, 12, 137, "Error")
	evicted.Status.Reason = "Evicted"
	silent := running(pending, 5)
	silent.Status.Phase, silent.Status.Reason = corev1.PodFailed, "NodeLost"

	for name, test := range map[string]struct {
		events []event
		want   string
		status fact.VolumeStatus
	}{
		"runs":                   {[]event{set(5, running(pending, 5))}, "c1@v1 5-", fact.VolumeMounted},
		"between two runs":       {[]event{set(5, running(pending, 5)), set(8, crashed)}, "c1@v1 5-", fact.VolumeMounted},
		"only second run seen":   {[]event{set(10, again)}, "c1@v1 5-", fact.VolumeMounted},
		"failed, restarts":       {[]event{set(8, ended(job, corev1.PodRunning, 5, 7, 1, "Error"))}, "c1@v1 5-", fact.VolumeMounted},
		"completed, no restart":  {[]event{set(8, ended(job, corev1.PodRunning, 5, 7, 0, "Completed"))}, "c1@v1 5-7 Completed", fact.VolumeIdle},
		"pod succeeded":          {[]event{set(8, ended(job, corev1.PodSucceeded, 5, 7, 0, "Completed"))}, "c1@v1 5-7 Completed", fact.VolumeIdle},
		"forced, end seen":       {[]event{set(5, forced), gone(30, forced)}, "c1@v1 5-30(from 5) Deleted", fact.VolumeIdle},
		"deleted, end told":      {[]event{set(5, forced), set(21, deleting), set(22, deleted), gone(23, deleted)}, "c1@v1 5-22 Deleted", fact.VolumeIdle},
		"deleted in one step":    {[]event{gone(23, deleted)}, "c1@v1 5-22 Deleted", fact.VolumeIdle},
		"evicted":                {[]event{set(13, evicted)}, "c1@v1 5-12 Evicted", fact.VolumeIdle},
		"end not told":           {[]event{set(5, forced), set(40, silent), set(50, silent)}, "c1@v1 5-40(from 5) NodeLost", fact.VolumeIdle},
		"never started, deleted": {[]event{set(4, pending), gone(9, pending)}, "", fact.VolumeNeverMounted},
	} {
		t.Run(name, func(t *testing.T) {
			_, h := play(t, append([]event{set(1, claim), set(3, volume)}, test.events...)...)
			expect(t, "mount", h.mount("p1", "db", "/data"), test.want)
			expect(t, "status", h.states["v1"].Status, test.status)
		})
	}
}

func TestKindsOfContainers(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	o := podOf("web", "p1", 1, []string{"main"}, "data")
	mounts := o.Spec.Containers[0].VolumeMounts
	o.Spec.InitContainers = []corev1.Container{
		{Name: "init", VolumeMounts: mounts, Command: []string{"sh", "-c", "echo $PASSWORD"}},
		{Name: "side", VolumeMounts: mounts, RestartPolicy: &always},
	}
	o = running(o, 12)
	o.Status.InitContainerStatuses = []corev1.ContainerStatus{
		{Name: "init", State: terminated(10, 11, 0, "Completed")},
		{Name: "side", State: terminated(11, 20, 1, "Error")},
	}
	debugged := o.DeepCopy()
	debugged.Spec.EphemeralContainers = []corev1.EphemeralContainer{{
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", VolumeMounts: mounts},
	}}
	debugged.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{Name: "debug", State: terminated(30, 31, 1, "Error")}}
	_, h := play(t, set(1, pvc("data", "c1", 0, "")), set(13, o), set(32, debugged))
	for container, want := range map[string]string{
		"init":  "c1@ 10-11 Completed",
		"side":  "c1@ 11-", // it is restarted
		"main":  "c1@ 12-",
		"debug": "c1@ 30-31 Error", // it is not, whatever the pod's policy
	} {
		expect(t, container, h.mount("p1", container, "/data"), want)
	}
	expect(t, "kind", h.containers[[2]string{"p1", "side"}].Kind, fact.SidecarContainer)
	expect(t, "command", h.containers[[2]string{"p1", "init"}].Command, "sh")
}

func TestContainerRestartRules(t *testing.T) {
	o := podOf("job", "p1", 1, []string{"main"}, "data")
	o.Spec.RestartPolicy = corev1.RestartPolicyNever
	o.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{
		Action:    corev1.ContainerRestartRuleActionRestart,
		ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
	}}
	_, h := play(t, set(1, pvc("data", "c1", 0, "")), set(9, ended(o, corev1.PodRunning, 5, 8, 42, "Error")))
	expect(t, "listed code", h.mount("p1", "main", "/data"), "c1@ 5-")
	_, h = play(t, set(1, pvc("data", "c1", 0, "")), set(9, ended(o, corev1.PodRunning, 5, 8, 1, "Error")))
	expect(t, "other code", h.mount("p1", "main", "/data"), "c1@ 5-8 Error")
}

// Whatever comes late, the mount gets the right claim and volume in the end.
func TestOrderOfArrivalDoesNotMatter(t *testing.T) {
	old := pvc("data", "c-old", 1, "vol-old")
	oldVolume := pv("vol-old", "v-old", 1, old, corev1.VolumeBound, 2)
	claim := pvc("data", "c1", 10, "vol")
	volume := pv("vol", "v1", 11, claim, corev1.VolumeBound, 12)
	other := pvc("logs", "c2", 10, "vol-logs")
	otherVolume := pv("vol-logs", "v2", 11, other, corev1.VolumeBound, 12)
	before := podOf("db-0", "p-old", 2, []string{"db"}, "data")
	after := podOf("db-0", "p1", 10, []string{"db", "backup"}, "data", "logs")

	streams := [][]event{
		{set(1, pvc("data", "c-old", 1, "")), set(2, old), gone(8, old), set(10, pvc("data", "c1", 10, "")), set(12, claim)},
		{set(10, pvc("logs", "c2", 10, "")), set(12, other)},
		{set(1, pv("vol-old", "v-old", 1, nil, corev1.VolumeAvailable, 1)), set(2, oldVolume),
			set(8, pv("vol-old", "v-old", 1, old, corev1.VolumeReleased, 8)), set(11, volume)},
		{set(11, otherVolume)},
		{set(2, before), set(3, running(before, 3)), gone(7, ended(before, corev1.PodSucceeded, 3, 6, 0, "Completed")),
			set(10, after), set(14, running(after, 13)), set(20, running(after, 13))},
	}
	want := play1(t, streams[0], streams[1], streams[2], streams[3], streams[4])
	expect(t, "former pod", want.mount("p-old", "db", "/data"), "c-old@v-old 3-6 Completed")
	expect(t, "pod, data", want.mount("p1", "db", "/data"), "c1@v1 13-")
	expect(t, "pod, logs", want.mount("p1", "backup", "/logs"), "c2@v2 13-")
	expect(t, "binding", want.bindings[[2]string{"c1", "v1"}], fact.Binding{Namespace: "shop", ClaimName: "data", ClaimUID: "c1", VolumeUID: "v1", BoundAt: at(12)})
	expect(t, "released", want.bindings[[2]string{"c-old", "v-old"}],
		fact.Binding{Namespace: "shop", ClaimName: "data", ClaimUID: "c-old", VolumeUID: "v-old", BoundAt: at(2), ReleasedAt: at(8), ReleasedNotBefore: at(8)})
	expect(t, "released volume", want.states["v-old"].Status, fact.VolumeReleased)
	expect(t, "idle since", want.states["v-old"].IdleSince, at(6))
	expect(t, "space of old", want.claims["c-old"].DeletedAt, at(8))

	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		got := orderless(play1(t, shuffle(r, streams)...))
		want := orderless(want)
		for i := range got {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("seed %d:\n got %+v\nwant %+v", seed, got[i], want[i])
			}
		}
	}
}

// shuffle merges streams at random, each in its own order, as watches of
// different kinds arrive.
func shuffle(r *rand.Rand, streams [][]event) [][]event {
	left := slices.Clone(streams)
	var merged []event
	for len(left) > 0 {
		i := r.IntN(len(left))
		merged = append(merged, left[i][0])
		if left[i] = left[i][1:]; len(left[i]) == 0 {
			left = slices.Delete(left, i, i+1)
		}
	}
	return [][]event{merged}
}

func play1(t testing.TB, streams ...[]event) *history {
	_, h := play(t, slices.Concat(streams...)...)
	return h
}

// orderless is what must not depend on the order: all but the changes, which
// tell what was seen when, and a status that was passed through.
func orderless(h *history) []any {
	states := map[string]fact.VolumeState{}
	for uid, s := range h.states {
		s.ChangedAt = 0
		states[uid] = s
	}
	return []any{h.volumes, h.claims, h.pods, h.containers, h.mounts, h.bindings, states, h.claimState}
}

func TestClaimIsPickedAmongFiveOfTheSameName(t *testing.T) {
	var events []event
	for i, uid := range []string{"a", "b", "c", "d", "e"} {
		c := pvc("data", uid, 10*i, "")
		events = append(events, set(10*i, c))
		if uid != "e" {
			events = append(events, gone(10*i+9, c))
		}
	}
	o := podOf("job", "p1", 22, []string{"main"}, "data")
	events = append(events, set(50, ended(o, corev1.PodSucceeded, 24, 28, 0, "Completed")))
	_, h := play(t, events...)
	expect(t, "mount", h.mount("p1", "main", "/data"), "c@ 24-28 Completed")
}

func TestNodeClockBehindStillFindsTheLivingClaim(t *testing.T) {
	o := running(podOf("db-0", "p1", 10, []string{"db"}, "data"), 8)
	_, h := play(t, set(10, pvc("data", "c1", 10, "")), set(11, o))
	expect(t, "mount", h.mount("p1", "db", "/data"), "c1@ 10-")
}

func TestGenericEphemeralVolume(t *testing.T) {
	o := podOf("build", "p1", 1, []string{"main"})
	o.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
		Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}},
	}}}
	o.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}
	foreign := pvc("build-scratch", "c1", 0, "")
	_, h := play(t, set(1, foreign), set(3, running(o, 2)))
	expect(t, "a claim of that name that the pod does not own", h.mount("p1", "main", "/scratch"), "")

	own := foreign.DeepCopy()
	own.UID = "c2"
	own.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: "build", UID: "p1", Controller: new(true)}}
	_, h = play(t, set(3, running(o, 2)), set(4, own))
	expect(t, "its own", h.mount("p1", "main", "/scratch"), "c2@ 2-")
	expect(t, "ephemeral", h.claims["c2"].Ephemeral, true)
	expect(t, "pod", h.claims["c2"].PodUID, "p1")
}

func TestRetainedVolumeIsBoundAgain(t *testing.T) {
	first, next := pvc("data", "c1", 1, "vol"), pvc("restored", "c2", 20, "vol")
	user := podOf("db-0", "p1", 4, []string{"db"}, "data")
	inv, h := play(t,
		set(1, first), set(2, pv("vol", "v1", 2, first, corev1.VolumeBound, 2)),
		set(5, running(user, 5)), gone(8, ended(user, corev1.PodSucceeded, 5, 7, 0, "Completed")),
		gone(10, first), set(10, pv("vol", "v1", 2, first, corev1.VolumeReleased, 10)),
		set(15, pv("vol", "v1", 2, nil, corev1.VolumeAvailable, 15)),
	)
	expect(t, "status when freed", h.states["v1"].Status, fact.VolumeAvailable)
	for _, e := range []any{next, pv("vol", "v1", 2, next, corev1.VolumeBound, 21)} {
		if err := inv.Set(e, Live(at(21))); err != nil {
			t.Fatal(err)
		}
	}
	h.take(inv)
	expect(t, "first binding", h.bindings[[2]string{"c1", "v1"}], fact.Binding{Namespace: "shop", ClaimName: "data", ClaimUID: "c1", VolumeUID: "v1", BoundAt: at(2), ReleasedAt: at(10), ReleasedNotBefore: at(10)})
	expect(t, "second binding", h.bindings[[2]string{"c2", "v1"}], fact.Binding{Namespace: "shop", ClaimName: "restored", ClaimUID: "c2", VolumeUID: "v1", BoundAt: at(21)})
	expect(t, "status", h.states["v1"].Status, fact.VolumeIdle)
	expect(t, "last use outlives the claim", h.states["v1"].LastUsed, at(7))
	expect(t, "claim", h.states["v1"].Claim, "restored")
}

func TestResizeBeyond32Bits(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	bigger := claim.DeepCopy()
	bigger.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("20Ti")
	bigger.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("20Ti")}
	_, h := play(t, set(1, claim), set(9, bigger))
	expect(t, "capacity", h.claims["c1"].CapacityBytes, 20<<40)
	var told []string
	for _, c := range h.changes {
		if c.Action == fact.Resized {
			told = append(told, c.Details)
		}
	}
	if !slices.Equal(told, []string{"10Gi → 20Ti"}) {
		t.Errorf("resized: %q", told)
	}
}

// TestAClaimHasBeenGivenTheSizeOfItsVolume expands a volume that no pod uses: its claim's status keeps the former size until a pod does.
func TestAClaimHasBeenGivenTheSizeOfItsVolume(t *testing.T) {
	claim, sized := pvc("data", "c1", 1, "vol"), func(size string) *corev1.PersistentVolume {
		v := pv("vol", "v1", 1, pvc("data", "c1", 1, "vol"), corev1.VolumeBound, 2)
		v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
		return v
	}
	inv, h := play(t, set(2, claim))
	expect(t, "its volume is unknown", h.claimState["c1"].CapacityBytes, 10<<30)
	for i, size := range []int64{10, 100} {
		must(t, inv.Set(sized(fmt.Sprint(size, "Gi")), Live(at(3+i))))
		h.take(inv)
		expect(t, "the claim's row", h.claims["c1"].CapacityBytes, 10<<30)
		expect(t, "the volume", h.states["v1"].CapacityBytes, size<<30)
		expect(t, "the claim has been given", h.claimState["c1"].CapacityBytes, size<<30)
	}
}

func TestUpdateThatChangesNothingGivesNothing(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	user := running(podOf("db-0", "p1", 4, []string{"db"}, "data"), 5)
	class := storageClass("fast", "s1")
	inv, h := play(t, set(0, class), set(1, claim), set(3, volume), set(5, user))
	rows := h.rows
	noisy := user.DeepCopy()
	noisy.ResourceVersion = "99"
	noisy.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	noisy.Annotations = map[string]string{"noise": "yes"}
	for _, o := range []any{class, claim, volume, user, noisy} {
		if err := inv.Set(o, Live(at(60))); err != nil {
			t.Fatal(err)
		}
	}
	var u fact.Update
	if inv.Take(&u); !u.Empty() {
		t.Errorf("got %+v", u)
	}
	expect(t, "rows", h.rows, rows)
}

func TestListShowsWhatWentMissing(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	user := running(podOf("db-0", "p1", 4, []string{"db"}, "data"), 5)
	next := running(podOf("db-0", "p2", 55, []string{"db"}, "data"), 56)
	inv, h := play(t, set(1, claim), set(3, volume), set(5, user))
	gap := Observation{At: at(60), NotBefore: at(40)}
	if err := inv.Replace(fact.Pods, []any{next}, gap); err != nil {
		t.Fatal(err)
	}
	h.take(inv)
	expect(t, "gone in the gap, before its successor came", h.mount("p1", "db", "/data"), "c1@v1 5-55(from 5) Deleted")
	expect(t, "its successor", h.mount("p2", "db", "/data"), "c1@v1 56-")
	expect(t, "pod's bounds", h.pods["p1"].DeletedNotBefore, at(40))
	for _, kind := range []fact.Kind{fact.Pods, fact.Claims, fact.Volumes, fact.StorageClasses} {
		if err := inv.Replace(kind, nil, Observation{At: at(90), NotBefore: at(80)}); err != nil {
			t.Fatal(err)
		}
		expect(t, string(kind), inv.Count(kind), 0)
	}
	h.take(inv)
	expect(t, "claim", h.claims["c1"].DeletedAt, at(90))
	expect(t, "volume", h.states["v1"].Gone, true)
	expect(t, "binding", h.bindings[[2]string{"c1", "v1"}], fact.Binding{Namespace: "shop", ClaimName: "data", ClaimUID: "c1", VolumeUID: "v1", BoundAt: at(3), ReleasedAt: at(90), ReleasedNotBefore: at(80)})
}

func TestReplacedUnderTheSameName(t *testing.T) {
	inv, h := play(t,
		set(1, pvc("data", "c1", 1, "")), set(1, pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 1)), set(1, storageClass("fast", "s1")),
		set(3, running(podOf("db-0", "p1", 1, []string{"db"}, "data"), 2)),
		// The deletions were missed.
		set(9, pvc("data", "c2", 9, "")), set(9, pv("vol", "v2", 9, nil, corev1.VolumeAvailable, 9)), set(9, storageClass("fast", "s2")),
		set(9, running(podOf("db-0", "p2", 9, []string{"db"}, "data"), 9)),
	)
	expect(t, "class", h.classes["s1"].DeletedAt, at(9))
	expect(t, "claim", h.claims["c1"].DeletedAt, at(9))
	expect(t, "volume", h.volumes["v1"].DeletedAt, at(9))
	expect(t, "pod", h.pods["p1"].DeletedAt, at(9))
	expect(t, "former mount", h.mount("p1", "db", "/data"), "c1@ 2-9(from 2) Deleted")
	expect(t, "mount", h.mount("p2", "db", "/data"), "c2@ 9-")
	for _, kind := range []fact.Kind{fact.StorageClasses, fact.Volumes, fact.Claims, fact.Pods} {
		expect(t, string(kind), inv.Count(kind), 1)
	}
}

func TestFoundObjectsAreHistory(t *testing.T) {
	inv, h := New(), newHistory()
	claim := pvc("data", "c1", 1, "vol")
	for _, step := range []struct {
		kind fact.Kind
		list []any
	}{
		{fact.Volumes, []any{pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)}},
		{fact.Claims, []any{claim}},
		{fact.Pods, []any{running(podOf("db-0", "p1", 4, []string{"db"}, "data"), 5)}},
	} {
		if err := inv.Replace(step.kind, step.list, Observation{At: at(100), Found: true}); err != nil {
			t.Fatal(err)
		}
	}
	h.take(inv)
	if len(h.changes) == 0 {
		t.Fatal("no changes")
	}
	for _, c := range h.changes {
		if !c.Found || c.At > at(5) {
			t.Errorf("%s %s at %s, found %v", c.Kind, c.Action, c.At.Time(), c.Found)
		}
	}
}

func TestUnusedConditionDatesIdleness(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{
		Type: "Unused", Status: corev1.ConditionTrue, Reason: "NoPodsUsingPVC", LastTransitionTime: second(500),
	}}
	_, h := play(t, set(600, claim), set(600, volume))
	expect(t, "status", h.states["v1"].Status, fact.VolumeIdle)
	expect(t, "since", h.states["v1"].IdleSince, at(500))
	expect(t, "column", h.claims["c1"].UnusedSince, at(500))

	claim.Status.Conditions[0].LastTransitionTime = second(2)
	_, h = play(t, set(600, claim), set(600, volume))
	expect(t, "status", h.states["v1"].Status, fact.VolumeNeverMounted)
	expect(t, "since", h.states["v1"].IdleSince, at(3))
}

func TestWhatIsGoneIsForgottenInTheEnd(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	user := podOf("db-0", "p1", 4, []string{"db"}, "data")
	node := nodeOf("node-1", corev1.ConditionTrue, 1)
	inv, _ := play(t, set(1, node), set(1, claim), set(3, volume), set(5, running(user, 5)),
		gone(6, claim), gone(6, volume), gone(6, node), gone(400, running(user, 5)), set(1000, storageClass("a", "s1")), set(2000, storageClass("b", "s2")))
	if n := len(inv.claimNames) + len(inv.volumeNames) + len(inv.volumeOf) + len(inv.sources) + len(inv.tombstones) + len(inv.podNames) + len(inv.nodes); n != 0 {
		t.Errorf("%d entries are left", n)
	}
}

func TestOtherObjectsAreRefused(t *testing.T) {
	inv := New()
	for _, err := range []error{
		inv.Set(&corev1.Secret{}, Live(1)), inv.Delete(&corev1.Secret{}, Live(1)),
		inv.Replace(fact.Pods, []any{&corev1.Secret{}}, Live(1)), inv.Replace("Rollout", nil, Live(1)),
	} {
		if err == nil {
			t.Error("no error")
		}
	}
}

func TestVersionsGrowThoughTheClockIsSetBack(t *testing.T) {
	inv := New()
	if a, b := inv.nextVersion(at(100)), inv.nextVersion(at(50)); b <= a {
		t.Errorf("%d after %d", b, a)
	}
}
