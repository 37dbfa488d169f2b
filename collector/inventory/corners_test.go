package inventory

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

func TestTimes(t *testing.T) {
	if !fact.At(time.Time{}).IsZero() || !fact.Time(0).Time().IsZero() {
		t.Error("an absent time is not absent")
	}
	moment := epoch.Add(1500 * time.Millisecond)
	if got := fact.At(moment); !got.Time().Equal(moment) || got.Seconds() != float64(moment.UnixMilli())/1e3 {
		t.Errorf("%s is %s, %f", moment, got.Time(), got.Seconds())
	}
}

func TestDeletingWhatWasNeverSeen(t *testing.T) {
	// The object comes with its deletion, so that its life is told at once.
	user := ended(podOf("db-0", "p1", 4, []string{"db"}, "data"), corev1.PodSucceeded, 5, 8, 0, "Completed")
	_, h := play(t, gone(9, pvc("data", "c1", 1, "vol")), gone(9, user), gone(9, podOf("web", "p2", 1, []string{"web"})),
		gone(9, storageClass("fast", "s1")), gone(9, &corev1.Namespace{ObjectMeta: objectMeta("", "shop", "n1", 1)}),
		gone(9, volumeAttachment("a1", "vol", 7)), gone(9, statefulSet("db", "s2", "data")))
	expect(t, "mount", h.mount("p1", "db", "/data"), "c1@ 5-8 Completed")

	inv := New()
	for _, kind := range fact.Kinds() {
		inv.drop(kind, "unknown", Live(at(1)))
	}
	var u fact.Update
	if inv.Take(&u); !u.Empty() {
		t.Errorf("got %+v", u)
	}
}

// oneOfEach is an object of each kind.
func oneOfEach() map[fact.Kind]any {
	return map[fact.Kind]any{
		fact.Namespaces: &corev1.Namespace{ObjectMeta: objectMeta("", "shop", "1", 1)}, fact.StorageClasses: storageClass("fast", "1"),
		fact.StorageCapacities: &storagev1.CSIStorageCapacity{ObjectMeta: objectMeta("", "cap", "1", 1)},
		fact.Volumes:           pv("vol", "1", 1, nil, corev1.VolumeAvailable, 1), fact.StatefulSets: statefulSet("db", "sts"),
		fact.DaemonSets: metadataOf(fact.DaemonSets, "a", "ds", "", "", ""), fact.Deployments: metadataOf(fact.Deployments, "a", "d", "", "", ""),
		fact.ReplicaSets: metadataOf(fact.ReplicaSets, "a", "rs", "", "", ""), fact.CronJobs: metadataOf(fact.CronJobs, "a", "cj", "", "", ""),
		fact.Jobs: metadataOf(fact.Jobs, "a", "j", "", "", ""), fact.Claims: pvc("data", "1", 1, ""), fact.VolumeAttachments: volumeAttachment("1", "vol", 2),
		fact.Pods:    podOf("db-0", "1", 1, []string{"db"}, "data"),
		fact.Drivers: &storagev1.CSIDriver{ObjectMeta: objectMeta("", "csi.example", "1", 1)}, fact.Nodes: metadataOf(fact.Nodes, "node-1", "n", "", "", ""),
	}
}

func TestListsOfEachKind(t *testing.T) {
	lists := oneOfEach()
	inv := New()
	for _, kind := range fact.Kinds() {
		for _, list := range [][]any{{lists[kind]}, {lists[kind]}, nil, nil} {
			if err := inv.Replace(kind, list, Live(at(1))); err != nil {
				t.Fatal(err)
			}
			expect(t, string(kind), inv.Count(kind), len(list))
		}
	}
	for _, err := range []error{
		inv.Replace(fact.Pods, []any{lists[fact.Claims]}, Live(1)), inv.Set(metadataOf("Rollout", "a", "x", "", "", ""), Live(1)),
		inv.Delete(&metav1.PartialObjectMetadata{}, Live(1)),
	} {
		if err == nil {
			t.Error("no error")
		}
	}
	expect(t, "a kind it does not take", inv.Count("Rollout"), 0)
}

func TestMemoryOfAListIsLetGo(t *testing.T) {
	inv := New()
	var u fact.Update
	for i := range 2000 {
		if err := inv.Set(storageClass("class", string(rune('a'+i))), Live(at(i))); err != nil {
			t.Fatal(err)
		}
	}
	inv.Take(&u)
	inv.Take(&u)
	inv.Take(&u)
	if n := cap(u.Facts.StorageClasses) + cap(inv.update.Facts.StorageClasses); n != 0 {
		t.Errorf("room for %d rows is held", n)
	}
}

func TestVolumeGrows(t *testing.T) {
	small := pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 1)
	small.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{FlexVolume: &corev1.FlexPersistentVolumeSource{Driver: "flex.example"}}
	large := small.DeepCopy()
	large.Spec.Capacity[corev1.ResourceStorage] = resource.MustParse("15Gi")
	_, h := play(t, set(1, small), set(5, large), set(6, large))
	expect(t, "driver", h.volumes["v1"].Driver, "flex.example")
	for _, c := range changesOf(h) {
		if c.Action == fact.Resized {
			expect(t, "resized", c.Details, "10Gi → 15Gi")
			return
		}
	}
	t.Error("no change tells it")
}

func TestVolumeIsTakenFromItsClaimAndGivenBack(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	bound := pv("vol", "v1", 1, claim, corev1.VolumeBound, 2)
	_, h := play(t, set(1, claim), set(2, bound), set(5, pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 5)), set(9, pv("vol", "v1", 1, claim, corev1.VolumeBound, 9)),
		set(10, running(podOf("db-0", "p1", 9, []string{"db"}, "data"), 10)))
	expect(t, "mounts", h.states["v1"].Mounts, 1)
	expect(t, "first bound", h.bindings[[2]string{"c1", "v1"}].BoundAt, at(2))
	expect(t, "bound again", h.bindings[[2]string{"c1", "v1/1"}].BoundAt, at(9))

	// The claim comes to know the volume by name while it is not yet bound on the other side.
	early := pv("vol", "v1", 1, claim, corev1.VolumeAvailable, 1)
	_, h = play(t, set(1, pvc("data", "c1", 1, "")), set(2, early), set(3, bound), set(4, claim))
	expect(t, "volume", h.claims["c1"].VolumeUID, "v1")
}

func TestEndsThatNobodyExplains(t *testing.T) {
	o := podOf("job", "p1", 1, []string{"main"}, "data")
	done := running(o, 5)
	done.Status.Phase = corev1.PodSucceeded
	_, h := play(t, set(1, pvc("data", "c1", 0, "")), set(9, done))
	expect(t, "mount", h.mount("p1", "main", "/data"), "c1@ 5-9(from 5) Unknown")

	rules := podOf("job", "p1", 1, []string{"main"}, "data")
	rules.Spec.RestartPolicy = corev1.RestartPolicyNever
	rules.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: "Unheard"}}
	_, h = play(t, set(1, pvc("data", "c1", 0, "")), set(9, ended(rules, corev1.PodRunning, 5, 8, 1, "Error")))
	expect(t, "a rule without exit codes is none", h.mount("p1", "main", "/data"), "c1@ 5-8 Error")
}

func TestSecondEphemeralContainer(t *testing.T) {
	o := running(podOf("web", "p1", 1, []string{"main"}, "data"), 2)
	debug := func(n int) *corev1.Pod {
		next := o.DeepCopy()
		for i := range n {
			name := string('a' + rune(i))
			next.Spec.EphemeralContainers = append(next.Spec.EphemeralContainers, corev1.EphemeralContainer{
				EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, VolumeMounts: o.Spec.Containers[0].VolumeMounts}})
			next.Status.EphemeralContainerStatuses = append(next.Status.EphemeralContainerStatuses, corev1.ContainerStatus{
				Name: name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: second(10 + i)}}})
		}
		return next
	}
	_, h := play(t, set(1, pvc("data", "c1", 0, "")), set(2, o), set(10, debug(1)), set(11, debug(2)), set(12, debug(2)))
	expect(t, "first", h.mount("p1", "a", "/data"), "c1@ 10-")
	expect(t, "second", h.mount("p1", "b", "/data"), "c1@ 11-")
}

func TestWhyAContainersUseEnds(t *testing.T) {
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		o := ended(podOf("db-0", "p1", 1, []string{"db"}, "data"), corev1.PodFailed, 5, 20, 143, "Error")
		change(o)
		return o
	}
	target := func(reason string, at int) corev1.PodCondition {
		return corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: second(at)}
	}
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"by itself":          {func(*corev1.Pod) {}, "Error"},
		"deleted":            {func(o *corev1.Pod) { o.DeletionTimestamp = new(second(19)) }, "Deleted"},
		"deleted afterwards": {func(o *corev1.Pod) { o.DeletionTimestamp = new(second(21)) }, "Error"},
		"evicted by kubelet": {func(o *corev1.Pod) { o.Status.Reason = "Evicted" }, "Evicted"},
		"preempted": {func(o *corev1.Pod) {
			o.Status.Conditions = append(o.Status.Conditions, target("PreemptionByScheduler", 19))
		}, "PreemptionByScheduler"},
		"preempted afterwards": {func(o *corev1.Pod) {
			o.Status.Conditions = append(o.Status.Conditions, target("PreemptionByScheduler", 21))
		}, "Error"},
		"an init container that was done, of an evicted pod": {func(o *corev1.Pod) {
			o.Status.Reason = "Evicted"
			o.Spec.InitContainers, o.Spec.Containers = o.Spec.Containers, nil
			o.Status.InitContainerStatuses = o.Status.ContainerStatuses
			o.Status.InitContainerStatuses[0].State = terminated(5, 20, 0, "Completed")
		}, "Completed"},
	} {
		t.Run(name, func(t *testing.T) {
			o := pod(test.change)
			_, h := play(t, set(30, o))
			expect(t, "mount", h.mount("p1", "db", "/data"), "@ 5-20 "+test.want)
			_, h = play(t, set(30, o), gone(31, o))
			expect(t, "once it is gone", h.mount("p1", "db", "/data"), "@ 5-20 "+test.want)
		})
	}
}

func TestRecursivelyReadOnlyMounts(t *testing.T) {
	o := running(podOf("db-0", "p1", 1, []string{"db", "side"}, "data"), 5)
	o.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{
		{Name: "vol-0", MountPath: "/asked", ReadOnly: true, RecursiveReadOnly: new(corev1.RecursiveReadOnlyEnabled)},
		{Name: "vol-0", MountPath: "/possible", ReadOnly: true, RecursiveReadOnly: new(corev1.RecursiveReadOnlyIfPossible)},
		{Name: "vol-0", MountPath: "/impossible", ReadOnly: true, RecursiveReadOnly: new(corev1.RecursiveReadOnlyIfPossible)},
	}
	o.Status.ContainerStatuses[0].VolumeMounts = []corev1.VolumeMountStatus{
		{Name: "vol-0", MountPath: "/possible", ReadOnly: true, RecursiveReadOnly: new(corev1.RecursiveReadOnlyEnabled)},
		{Name: "vol-0", MountPath: "/impossible", ReadOnly: true, RecursiveReadOnly: new(corev1.RecursiveReadOnlyDisabled)},
	}
	_, h := play(t, set(6, o))
	got := map[string]bool{}
	for _, m := range h.mounts {
		got[m.Container+m.MountPath] = m.RecursiveReadOnly
	}
	for mount, want := range map[string]bool{"db/asked": true, "db/possible": true, "db/impossible": false, "side/data": false} {
		expect(t, mount, got[mount], want)
	}
}

func TestVolumeThatPointedToAnUnknownClaimIsGivenToAnother(t *testing.T) {
	first, second := pvc("data", "c1", 1, "vol"), pvc("data", "c2", 5, "vol")
	inv, h := play(t, set(2, pv("vol", "v1", 1, first, corev1.VolumeBound, 2)), set(6, pv("vol", "v1", 1, second, corev1.VolumeBound, 6)), set(7, second))
	expect(t, "the claim's volume", h.claims["c2"].VolumeUID, "v1")
	expect(t, "the first had it", h.bindings[[2]string{"c1", "v1"}].ReleasedAt, at(6))
	expect(t, "so it waits for the first", len(inv.volumeOf), 1)
	if err := inv.Delete(pv("vol", "v1", 1, second, corev1.VolumeBound, 6), Live(at(8))); err != nil {
		t.Fatal(err)
	}
	if err := inv.Delete(second, Live(at(8))); err != nil {
		t.Fatal(err)
	}
	inv.evict(at(8) + retention + 1)
	expect(t, "until it is forgotten", len(inv.volumeOf), 0)

	gonePV := pv("vol", "v1", 1, first, corev1.VolumeBound, 2)
	inv, _ = play(t, set(2, gonePV), gone(3, gonePV))
	inv.evict(at(3) + retention + 1)
	expect(t, "a volume that is forgotten does not wait either", len(inv.volumeOf), 0)
}

func TestVolumeWithoutASource(t *testing.T) {
	o := pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 1)
	o.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{}
	inv, h := play(t, set(1, o), gone(2, o))
	expect(t, "kind", h.volumes["v1"].SourceKind, "")
	inv.evict(at(2) + retention + 1)
	expect(t, "left", len(inv.volumeNames), 0)
	inv.Tick(at(2) + 2*retention)
	expect(t, "told the time", inv.now, at(2)+2*retention)
}

func TestVolumeThatWasBoundAgainUnseen(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	_, h := play(t, set(2, pv("vol", "v1", 1, claim, corev1.VolumeBound, 2)), set(9, pv("vol", "v1", 1, claim, corev1.VolumeBound, 8)))
	expect(t, "first", h.bindings[[2]string{"c1", "v1"}], fact.Binding{Namespace: "shop", ClaimName: "data", ClaimUID: "c1", VolumeUID: "v1", BoundAt: at(2), ReleasedAt: at(8), ReleasedNotBefore: at(2)})
	expect(t, "again", h.bindings[[2]string{"c1", "v1/1"}], fact.Binding{Namespace: "shop", ClaimName: "data", ClaimUID: "c1", VolumeUID: "v1", Ordinal: 1, BoundAt: at(8)})
}

func TestLostClaimGetsAnotherVolume(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	first, second := pv("vol", "v1", 1, claim, corev1.VolumeBound, 3), pv("vol", "v2", 20, claim, corev1.VolumeBound, 21)
	lost := claim.DeepCopy()
	lost.Status.Phase = corev1.ClaimLost
	before := ended(podOf("before", "p1", 3, []string{"db"}, "data"), corev1.PodSucceeded, 4, 6, 0, "Completed")
	during := running(podOf("during", "p2", 3, []string{"db"}, "data"), 5)
	after := running(podOf("after", "p3", 22, []string{"db"}, "data"), 23)
	volumes := []event{set(3, first), gone(10, first), set(20, second)}
	claims := []event{set(1, pvc("data", "c1", 1, "")), set(3, claim), set(11, lost), set(21, claim)}
	pods := []event{set(6, before), set(6, during), set(23, after)}
	for name, events := range map[string][]event{
		"as it was":     {claims[0], volumes[0], claims[1], pods[0], pods[1], volumes[1], claims[2], volumes[2], claims[3], pods[2]},
		"volumes first": slices.Concat(volumes, claims, pods),
		"claims first":  slices.Concat(claims, volumes, pods),
		"pods first":    slices.Concat(pods, claims, volumes),
	} {
		t.Run(name, func(t *testing.T) {
			_, h := play(t, events...)
			expect(t, "before", h.mount("p1", "db", "/data"), "c1@v1 4-6 Completed")
			expect(t, "during", h.mount("p2", "db", "/data"), "c1@v1 5-")
			expect(t, "after", h.mount("p3", "db", "/data"), "c1@v2 23-")
		})
	}
	bounds := 0
	for _, line := range story(t, fact.Claims, claims[0], volumes[0], claims[1], volumes[1], claims[2], volumes[2], claims[3]) {
		if line == "bound: to volume vol" {
			bounds++
		}
	}
	expect(t, "told to be bound", bounds, 2)
	inv, _ := play(t, slices.Concat(claims, volumes)...)
	expect(t, "of before both: the first", inv.volumeUsed(inv.claims["c1"], &pod{podSpec: podSpec{started: at(-3)}}).uid, "v1")
}

func TestClaimRecreatedInTheSecondOfAStart(t *testing.T) {
	version := func(o interface{ SetResourceVersion(string) }, version string) { o.SetResourceVersion(version) }
	first, second := pvc("data", "c1", 1, ""), pvc("data", "c2", 5, "")
	pending := podOf("db-0", "p1", 4, []string{"db"}, "data")
	started := running(pending, 5)
	version(first, "10")
	version(pending, "20")
	version(started, "30")
	last := first.DeepCopy()
	version(last, "40")
	version(second, "50")
	_, h := play(t, set(1, first), set(4, pending), set(5, started), gone(5, last), set(5, second), gone(6, started))
	expect(t, "held when it started", h.mount("p1", "db", "/data"), "c1@ 5-6(from 5) Deleted")
	later := running(pending, 5)
	version(later, "60")
	_, h = play(t, set(1, first), gone(5, last), set(5, second), set(5, later))
	expect(t, "the one that was there by then", h.mount("p1", "db", "/data"), "c2@ 5-")
}

// TestAClockThatIsSetBackStopsNoEviction: what was deleted while the clock was a year ahead keeps nothing else in memory.
func TestAClockThatIsSetBackStopsNoEviction(t *testing.T) {
	const year = fact.Time(365 * 24 * 3600e6)
	early, late := pv("early", "v1", 1, nil, corev1.VolumeAvailable, 1), pv("late", "v2", 1, nil, corev1.VolumeAvailable, 1)
	inv, _ := play(t, set(1, early), set(1, late))
	for _, deleted := range []struct {
		o  *corev1.PersistentVolume
		at fact.Time
	}{{early, at(2) + year}, {late, at(3)}} {
		if err := inv.Delete(deleted.o, Live(deleted.at)); err != nil {
			t.Fatal(err)
		}
	}
	inv.evict(at(4))
	expect(t, "kept for a while", len(inv.tombstones), 2)
	inv.evict(at(4) + retention + 1)
	expect(t, "left", len(inv.tombstones)+len(inv.dead), 0)
}

// TestNoKubeletWritesInTheFuture: whoever may patch a pod can write managedFields as a kubelet does, with any time.
func TestNoKubeletWritesInTheFuture(t *testing.T) {
	const year2200 = 7_258_118_400 // seconds since 1970
	claim := pvc("data", "c1", 1, "")
	user := podOf("db-0", "p1", 4, []string{"db"}, "data")
	forged := vouch(running(user, 5), 6)
	forged.ManagedFields[0].Time = &metav1.Time{Time: time.Unix(year2200, 0)}
	done := ended(user, corev1.PodSucceeded, 5, 300, 0, "Completed")
	done.ManagedFields = forged.ManagedFields
	_, h := play(t, set(1, claim), set(4, user), set(6, forged), set(301, done), gone(302, done))
	for key, mount := range h.mounts {
		expect(t, fmt.Sprint("ended, ", key), mount.EndedAt, at(300))
		expect(t, fmt.Sprint("not before, ", key), mount.EndedNotBefore, at(300))
	}
	expect(t, "mounts", len(h.mounts), 1)
}
