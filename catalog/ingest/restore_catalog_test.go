package ingest

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// halfWrittenBatch is what a tracker has written that was killed amid a batch and lost its journal: of pod p1 a version
// that is newer than its rows; of p2 its object and a mount, and no more; of p3 all, to its end; of v1 a binding, and
// no volume; of the claim c2, which p2 uses, its end; of v2 all, and how full it is; of the capacity k1 all, and of k2 all, to its end.
func halfWrittenBatch() *fact.Facts {
	object := func(kind fact.Kind, uid, version, text string) fact.Object {
		return fact.Object{Kind: kind, UID: uid, ResourceVersion: version, ObservedAt: 5, Object: text}
	}
	return &fact.Facts{
		Objects: []fact.Object{
			object(fact.Pods, "p1", "9", `{"metadata":{"uid":"p1","resourceVersion":"9"},"status":{"phase":"Pending"}}`),
			object(fact.Pods, "p1", "10", `{"metadata":{"uid":"p1","resourceVersion":"10"},"status":{"phase":"Running"}}`),
			object(fact.Pods, "p2", "11", `{"metadata":{"uid":"p2","resourceVersion":"11"},"status":{"phase":"Running"}}`),
			object(fact.Pods, "p3", "8", `{"metadata":{"uid":"p3","resourceVersion":"8"},"status":{"phase":"Running"}}`),
			object(fact.Claims, "c2", "7", `{"metadata":{"uid":"c2","resourceVersion":"7"},"status":{"phase":"Bound"}}`),
			object(fact.Volumes, "v1", "12", `{"metadata":{"uid":"v1","resourceVersion":"12"}}`),
			object(fact.Volumes, "v1", "", `{"metadata":{"uid":"v1"}}`), // a version without a number is not complete
			object(fact.Volumes, "v2", "2", `{"metadata":{"uid":"v2","resourceVersion":"2"}}`),
			object(fact.StorageCapacities, "k1", "3", `{"metadata":{"uid":"k1","resourceVersion":"3"}}`),
			object(fact.StorageCapacities, "k2", "3", `{"metadata":{"uid":"k2","resourceVersion":"3"}}`),
		},
		StorageCapacity: []fact.StorageCapacity{{UID: "k1", At: 2, Gone: true}, {UID: "k1", At: 3}, {UID: "k2", At: 2}, {UID: "k2", At: 3, Gone: true}},
		Pods:            []fact.Pod{{UID: "p1", Version: 1}, {UID: "p3", Version: 4, DeletedAt: 4}},
		Claims:          []fact.Claim{{UID: "c2", DeletedAt: 4, DeletedNotBefore: 3, Version: 1}},
		Mounts:          []fact.Mount{{PodUID: "p2", Container: "db", Volume: "data", ClaimUID: "c2", StartedAt: 3, Version: 2}, {PodUID: "p3", Container: "db", StartedAt: 3, EndedAt: 4, Version: 3}},
		Volumes:         []fact.Volume{{UID: "v2", Version: 1}},
		Usage:           []fact.Usage{{VolumeUID: "v2", At: 2, Space: fact.Space{UsedBytes: 20}}, {VolumeUID: "v2", At: 3, Space: lastSpace}, {VolumeUID: "v2", At: 1, Space: fact.Space{UsedBytes: 10}}},
		Bindings:        []fact.Binding{{VolumeUID: "v1", ClaimUID: "c1", BoundAt: 3, Version: 5}},
		Checkpoints:     []fact.Checkpoint{{Instance: "former", Kind: fact.Pods, ResourceVersion: "9"}, {Instance: "former", Kind: fact.Claims, ResourceVersion: "7"}, {Instance: "other", Kind: fact.Volumes, ResourceVersion: "2"}, {Instance: "former", Kind: fact.StorageCapacities, ResourceVersion: "3"}},
	}
}

// lastSpace is how full v2 is.
var lastSpace = fact.Space{CapacityBytes: 100, UsedBytes: 30, AvailableBytes: 60, Inodes: 50, InodesUsed: 5}

func TestRestoreOfAHalfWrittenBatch(t *testing.T) {
	c, facts := migrated(t), halfWrittenBatch()
	for _, table := range tables() {
		if table.count(facts) == 0 {
			continue
		}
		if err := insertRows(t.Context(), c, table, "east", facts, nil); err != nil {
			t.Fatal(err)
		}
	}
	known, err := RestoreCatalog(t.Context(), c, "east", "new")
	if err != nil {
		t.Fatal(err)
	}
	if known.Version != 5 {
		t.Errorf("the highest version is %d", known.Version)
	}
	type restored struct {
		phase, version string
		incomplete     bool
	}
	got := map[string]restored{}
	for _, o := range known.Objects.(fact.SavedList) {
		var object struct{ Status struct{ Phase string } }
		if err := json.Unmarshal([]byte(o.Object), &object); err != nil {
			t.Fatal(err)
		}
		got[o.UID] = restored{object.Status.Phase, o.ResourceVersion, o.Incomplete}
		switch {
		case o.Kind == fact.Claims && (o.Snapshot.Deleted != 4 || o.Snapshot.NotBefore != 3):
			t.Errorf("the claim's snapshot is %+v", o.Snapshot)
		case o.UID == "v2" && (o.Snapshot.Space == nil || *o.Snapshot.Space != lastSpace):
			t.Errorf("how full v2 was: %+v, want %+v", o.Snapshot.Space, lastSpace)
		}
	}
	want := map[string]restored{
		"p1": {"Pending", "9", false}, "p2": {"Running", "11", true}, "c2": {"Bound", "7", false}, "v1": {"", "12", true}, "v2": {"", "2", false}, "k1": {"", "3", false},
	}
	if !maps.Equal(got, want) {
		t.Errorf("restored are %v, want %v", got, want)
	}
}
