package exporter

import (
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
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

// TestInventedClassesHaveNoHistogram: who may make claims can name a thousand classes that no volume has.
func TestInventedClassesHaveNoHistogram(t *testing.T) {
	e := newTestExporter()
	c := testClaim()
	c.StorageClass = "invented"
	e.Apply(&fact.Update{Claims: []fact.ClaimState{c}})
	if got := samples(t, e, "kubevoltracker_claim_bind_duration_seconds_count"); got != "" {
		t.Errorf("a claim has begun the histogram %q", got)
	}
}

func TestCountersCountWhatHappenedAndNotWhatWasFound(t *testing.T) {
	e := newTestExporter()
	found := []fact.Change{
		volumeChange(fact.Created), claimChange(fact.Created), claimChange(fact.Bound),
		{Kind: "Pod", Namespace: "shop", Action: fact.Mounted},
	}
	for i := range found {
		found[i].Found, found[i].Took = true, time.Minute
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
	bound.Took = 4 * time.Second
	unknown := claimChange(fact.Bound)
	started := fact.Change{Kind: "Pod", Namespace: "shop", Action: fact.Started, Took: 7 * time.Second}
	e.Apply(changesUpdate(bound, unknown, started))
	got := samples(t, e, "kubevoltracker_claim_bind_duration_seconds", "kubevoltracker_pod_storage_wait_seconds")
	for _, want := range []string{
		`kubevoltracker_claim_bind_duration_seconds_bucket{storageclass="fast",le="2.5"} 0`,
		`kubevoltracker_claim_bind_duration_seconds_bucket{storageclass="fast",le="5"} 1`,
		`kubevoltracker_claim_bind_duration_seconds_sum{storageclass="fast"} 4`,
		`kubevoltracker_claim_bind_duration_seconds_count{storageclass="fast"} 1`,
		`kubevoltracker_pod_storage_wait_seconds_bucket{le="10"} 1`,
		`kubevoltracker_pod_storage_wait_seconds_sum 7`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no line %s in:\n%s", want, got)
		}
	}
}
