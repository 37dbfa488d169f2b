package exporter

import (
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

var counterPrefixes = []string{
	"kubevoltracker_volumes_", "kubevoltracker_claims_", "kubevoltracker_mounts_",
}

func volumeChange(a inventory.Action) inventory.Change {
	return inventory.Change{Kind: "PersistentVolume", Action: a, UID: "u1", Name: "pv-1", StorageClass: "fast", SourceKind: "nfs"}
}

func claimChange(a inventory.Action) inventory.Change {
	return inventory.Change{Kind: "PersistentVolumeClaim", Action: a, UID: "c1", Namespace: "shop", Name: "data", StorageClass: "fast"}
}

func TestCountersStartAtZeroWithTheFirstObject(t *testing.T) {
	e := newTestExporter()
	e.Apply(&inventory.Update{
		Volumes: []inventory.VolumeState{testVolume()},
		Claims:  []inventory.ClaimState{testClaim()},
		Facts: inventory.Facts{
			Pods: []inventory.Pod{{Namespace: "lab"}}, // mounts an emptyDir, say
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

func TestCountersCountWhatHappenedAndNotWhatWasFound(t *testing.T) {
	e := newTestExporter()
	found := []inventory.Change{
		volumeChange(inventory.Created), claimChange(inventory.Created), claimChange(inventory.Bound),
		{Kind: "Pod", Namespace: "shop", Action: inventory.Mounted},
	}
	for i := range found {
		found[i].Found, found[i].Took = true, time.Minute
	}
	e.Apply(changesUpdate(found...))
	if got := samples(t, e, append(counterPrefixes, "kubevoltracker_claim_bind_duration_seconds_count")...); got != "" {
		t.Errorf("what was found is counted:\n%s", got)
	}

	e.Apply(changesUpdate(
		volumeChange(inventory.Created), volumeChange(inventory.Created), volumeChange(inventory.Deleted),
		volumeChange(inventory.Bound), volumeChange(inventory.Phase), volumeChange(inventory.Resized), // not counted
		claimChange(inventory.Created), claimChange(inventory.Bound), claimChange(inventory.Resized),
		claimChange(inventory.Resized), claimChange(inventory.Deleted), claimChange(inventory.Released),
		inventory.Change{Kind: "Pod", Namespace: "shop", Action: inventory.Created}, // not counted
		inventory.Change{Kind: "Pod", Namespace: "shop", Action: inventory.Mounted},
		inventory.Change{Kind: "Pod", Namespace: "shop", Action: inventory.Mounted},
		inventory.Change{Kind: "Pod", Namespace: "shop", Action: inventory.Unmounted},
		inventory.Change{Kind: "StorageClass", Name: "fast", Action: inventory.Deleted}, // not counted
		claimChange(inventory.Disputed),
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
	bound := claimChange(inventory.Bound)
	bound.Took = 4 * time.Second
	unknown := claimChange(inventory.Bound)
	started := inventory.Change{Kind: "Pod", Namespace: "shop", Action: inventory.Started, Took: 7 * time.Second}
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
