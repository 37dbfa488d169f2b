package exporter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

var counterPrefixes = []string{
	"kubevoltracker_volumes_", "kubevoltracker_claims_", "kubevoltracker_mounts_",
}

func volumeChange(a fact.Action) fact.Change {
	return fact.Change{Kind: "PersistentVolume", Action: a, UID: "u1", Name: "pv-1", StorageClass: "fast", SourceKind: "nfs"}
}

func claimChange(a fact.Action) fact.Change {
	return fact.Change{Kind: "PersistentVolumeClaim", Action: a, UID: "c1", Namespace: "shop", Name: "data", StorageClass: "fast"}
}

func TestCountersStartAtZeroWithTheFirstObject(t *testing.T) {
	e := newTestExporter()
	e.Apply(&fact.Update{
		Volumes: []fact.VolumeState{testVolume()},
		Claims:  []fact.ClaimState{testClaim()},
		Facts: fact.Facts{
			Pods: []fact.Pod{{Namespace: "lab"}}, // mounts an emptyDir, say
		},
	})
	wantText(t, samples(t, e, counterPrefixes...), `
kubevoltracker_claims_bound_total{namespace="shop",storageclass="fast"} 0
kubevoltracker_claims_created_total{namespace="shop",storageclass="fast"} 0
kubevoltracker_claims_deleted_total{namespace="shop",storageclass="fast"} 0
kubevoltracker_claims_resized_total{namespace="shop",storageclass="fast"} 0
kubevoltracker_mounts_ended_total{namespace="lab"} 0
kubevoltracker_mounts_ended_total{namespace="shop"} 0
kubevoltracker_mounts_started_total{namespace="lab"} 0
kubevoltracker_mounts_started_total{namespace="shop"} 0
kubevoltracker_volumes_created_total{source="nfs",storageclass="fast"} 0
kubevoltracker_volumes_deleted_total{source="nfs",storageclass="fast"} 0
`)
	if got := samples(t, e, "kubevoltracker_claim_bind_duration_seconds_count"); !strings.HasSuffix(got, "} 0\n") {
		t.Errorf("the class's histogram is %q, want it to start at 0", got)
	}
}

func claimOfClass(name, class string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), ResourceVersion: "1"},
		Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: &class},
	}
}

// TestInventedClassesCountAsOne creates and deletes claims of 1,000 classes that nothing else has, as a tenant can, gives one of them
// 1,000 other classes, and creates claims of classes that a StorageClass or a volume has, before the claim or after it.
func TestInventedClassesCountAsOne(t *testing.T) {
	const invented = 1000
	inv, e, tally := inventory.New(), newTestExporter(), NewTally(testNow.Time)
	apply := func(do func(any, inventory.Observation) error, objects ...any) {
		t.Helper()
		for _, o := range objects {
			if err := do(o, inventory.Live(testNow)); err != nil {
				t.Fatal(err)
			}
			var u fact.Update
			inv.Take(&u)
			e.Apply(&u)
			tally.Add(&u.Facts)
		}
	}
	class := func(name string) any {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	}
	volume := func(class string) any {
		return &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: class, UID: types.UID("v-" + class)}, Spec: corev1.PersistentVolumeSpec{StorageClassName: class},
		}
	}
	apply(inv.Set, class("fast"), volume("by-hand"))
	for i := range invented {
		c := claimOfClass(fmt.Sprint(i), fmt.Sprint("invented-", i))
		apply(inv.Set, c)
		apply(inv.Delete, c)
	}
	annotated := claimOfClass("annotated", "fast")
	annotated.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: "invented"}
	annotated.Spec.VolumeName, annotated.Status.Phase = "pv", corev1.ClaimBound
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv", UID: "pv"}}
	pv.Spec.StorageClassName, pv.Spec.ClaimRef = "fast", &corev1.ObjectReference{Namespace: "shop", Name: "annotated", UID: "annotated"}
	pv.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Ki")}
	pv.Status.Phase = corev1.VolumeBound
	early, waiting := claimOfClass("early", "late"), claimOfClass("waiting", "late-by-hand")
	apply(inv.Set, pv, annotated, claimOfClass("a", "fast"), claimOfClass("b", "by-hand"), claimOfClass("c", ""), early, waiting)
	created := `
kubevoltracker_claims_created_total{namespace="shop",storageclass=""} 1
kubevoltracker_claims_created_total{namespace="shop",storageclass="_unknown"} 1003
kubevoltracker_claims_created_total{namespace="shop",storageclass="by-hand"} 1
kubevoltracker_claims_created_total{namespace="shop",storageclass="fast"} 1
`
	wantText(t, samples(t, e, "kubevoltracker_claims_created"), created)
	for i := range invented {
		again := annotated.DeepCopy()
		again.Annotations[corev1.BetaStorageClassAnnotation] = fmt.Sprint("again-", i)
		apply(inv.Set, again)
	}
	if got := samples(t, e, "kubevoltracker_namespace_capacity_byte_seconds"); strings.Count(got, "\n") != 2 { // of _unknown and of the volume's class
		t.Errorf("there are the byte-seconds\n%s", got)
	}
	pending := `kubevoltracker_namespace_claims{namespace="shop",storageclass="",phase="Pending"} 1
kubevoltracker_namespace_claims{namespace="shop",storageclass="_unknown",phase="Pending"} 2
kubevoltracker_namespace_claims{namespace="shop",storageclass="_unknown",phase="Bound"} 1
kubevoltracker_namespace_claims{namespace="shop",storageclass="by-hand",phase="Pending"} 1
kubevoltracker_namespace_claims{namespace="shop",storageclass="fast",phase="Pending"} 1
`
	wantText(t, presentClaims(t, e), pending)
	apply(inv.Set, class("late"), volume("late-by-hand")) // the counters start before the first event
	pending = strings.Replace(pending, `kubevoltracker_namespace_claims{namespace="shop",storageclass="_unknown",phase="Pending"} 2
`, "", 1) + `kubevoltracker_namespace_claims{namespace="shop",storageclass="late",phase="Pending"} 1
kubevoltracker_namespace_claims{namespace="shop",storageclass="late-by-hand",phase="Pending"} 1
`
	wantText(t, presentClaims(t, e), pending)
	created += `kubevoltracker_claims_created_total{namespace="shop",storageclass="late"} 0
kubevoltracker_claims_created_total{namespace="shop",storageclass="late-by-hand"} 0
`
	wantText(t, samples(t, e, "kubevoltracker_claims_created"), created)
	apply(inv.Delete, early, waiting)
	wantText(t, samples(t, e, "kubevoltracker_claims_deleted"), `
kubevoltracker_claims_deleted_total{namespace="shop",storageclass=""} 0
kubevoltracker_claims_deleted_total{namespace="shop",storageclass="_unknown"} 1000
kubevoltracker_claims_deleted_total{namespace="shop",storageclass="by-hand"} 0
kubevoltracker_claims_deleted_total{namespace="shop",storageclass="fast"} 0
kubevoltracker_claims_deleted_total{namespace="shop",storageclass="late"} 1
kubevoltracker_claims_deleted_total{namespace="shop",storageclass="late-by-hand"} 1
`)
	if got := samples(t, e, "kubevoltracker_claim_bind_duration_seconds_count"); strings.Count(got, "\n") != 5 {
		t.Errorf("there are the histograms\n%s", got)
	}

	records := mustRecords(t, tally)
	if n := len(records["shop"]); n > 1000 {
		t.Errorf("the record of the namespace has %d bytes", n)
	}
	restored := NewTally(testNow.Time)
	if err := restored.Restore(records); err != nil {
		t.Fatal(err)
	}
	again := newTestExporter()
	again.Restore(restored, func() bool { return true })
	wantText(t, samples(t, again, "kubevoltracker_claims_created"), created)
}

// presentClaims are the samples of the claims that there are.
func presentClaims(t *testing.T, e *Exporter) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(samples(t, e, "kubevoltracker_namespace_claims")) {
		if !strings.HasSuffix(line, " 0\n") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestCountersCountWhatHappenedAndNotWhatWasFound(t *testing.T) {
	e := newTestExporter()
	found := []fact.Change{
		volumeChange(fact.Created), claimChange(fact.Created), claimChange(fact.Bound),
		{Kind: "Pod", Namespace: "shop", Action: fact.Mounted},
	}
	for i := range found {
		found[i].Found, found[i].Took, found[i].Measured = true, time.Minute, true
	}
	e.Apply(changesUpdate(found...))
	if got := samples(t, e, append(counterPrefixes, "kubevoltracker_claim_bind_duration_seconds_count")...); got != "" {
		t.Errorf("what was found is counted:\n%s", got)
	}

	e.Apply(changesUpdate(
		volumeChange(fact.Created), volumeChange(fact.Created), volumeChange(fact.Deleted),
		volumeChange(fact.Bound), volumeChange(fact.Phase), volumeChange(fact.Resized), // not counted
		claimChange(fact.Created), claimChange(fact.Bound), claimChange(fact.Resized),
		claimChange(fact.Resized), claimChange(fact.Deleted), claimChange(fact.Released),
		fact.Change{Kind: "Pod", Namespace: "shop", Action: fact.Created}, // not counted
		fact.Change{Kind: "Pod", Namespace: "shop", Action: fact.Mounted},
		fact.Change{Kind: "Pod", Namespace: "shop", Action: fact.Mounted},
		fact.Change{Kind: "Pod", Namespace: "shop", Action: fact.Unmounted},
		fact.Change{Kind: "StorageClass", Name: "fast", Action: fact.Deleted}, // not counted
		claimChange(fact.Disputed),
	))
	wantText(t, samples(t, e, "kubevoltracker_unused_disagreements_total"), "\nkubevoltracker_unused_disagreements_total 1\n")
	wantText(t, samples(t, e, counterPrefixes...), `
kubevoltracker_claims_bound_total{namespace="shop",storageclass="fast"} 1
kubevoltracker_claims_created_total{namespace="shop",storageclass="fast"} 1
kubevoltracker_claims_deleted_total{namespace="shop",storageclass="fast"} 1
kubevoltracker_claims_resized_total{namespace="shop",storageclass="fast"} 2
kubevoltracker_mounts_ended_total{namespace="shop"} 1
kubevoltracker_mounts_started_total{namespace="shop"} 2
kubevoltracker_volumes_created_total{source="nfs",storageclass="fast"} 2
kubevoltracker_volumes_deleted_total{source="nfs",storageclass="fast"} 1
`)
}

func TestLatencies(t *testing.T) {
	e := newTestExporter()
	bound := claimChange(fact.Bound)
	bound.Took, bound.Measured = 4*time.Second, true
	unknown, atOnce := claimChange(fact.Bound), claimChange(fact.Bound)
	atOnce.Measured = true // in the second in which the claim was created
	started := fact.Change{Kind: "Pod", Namespace: "shop", Action: fact.Started, Took: 7 * time.Second, Measured: true}
	e.Apply(changesUpdate(bound, unknown, atOnce, started))
	got := samples(t, e, "kubevoltracker_claim_bind_duration_seconds", "kubevoltracker_pod_storage_wait_seconds")
	for _, want := range []string{
		`kubevoltracker_claim_bind_duration_seconds_bucket{storageclass="fast",le="0.5"} 1`,
		`kubevoltracker_claim_bind_duration_seconds_bucket{storageclass="fast",le="2.5"} 1`,
		`kubevoltracker_claim_bind_duration_seconds_bucket{storageclass="fast",le="5"} 2`,
		`kubevoltracker_claim_bind_duration_seconds_sum{storageclass="fast"} 4`,
		`kubevoltracker_claim_bind_duration_seconds_count{storageclass="fast"} 2`,
		`kubevoltracker_pod_storage_wait_seconds_bucket{le="10"} 1`,
		`kubevoltracker_pod_storage_wait_seconds_sum 7`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no line %s in:\n%s", want, got)
		}
	}
}
