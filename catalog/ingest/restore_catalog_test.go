package ingest

import (
	"encoding/json"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// TestRestoreOfAHalfWrittenBatch is what a killed tracker has left whose journal is lost: of
// pod p1 a version that is newer than its rows, of p2 an object and a mount and no more, of
// p3 all, to its end; of v1 a binding, and no volume; of the claim c2 that p2 has its end; of v2 all, and how full
// it was.
func TestRestoreOfAHalfWrittenBatch(t *testing.T) {
	c := openCatalog(t)
	if err := c.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	object := func(kind fact.Kind, uid, version, text string) fact.Object {
		return fact.Object{Kind: kind, UID: uid, ResourceVersion: version, ObservedAt: 5, Object: text}
	}
	space := fact.Space{CapacityBytes: 100, UsedBytes: 30, AvailableBytes: 60, Inodes: 50, InodesUsed: 5}
	facts := &fact.Facts{
		Objects: []fact.Object{
			object(fact.Pods, "p1", "9", `{"metadata":{"uid":"p1","resourceVersion":"9"},"status":{"phase":"Pending"}}`),
			object(fact.Pods, "p1", "10", `{"metadata":{"uid":"p1","resourceVersion":"10"},"status":{"phase":"Running"}}`),
			object(fact.Pods, "p2", "11", `{"metadata":{"uid":"p2","resourceVersion":"11"},"status":{"phase":"Running"}}`),
			object(fact.Pods, "p3", "8", `{"metadata":{"uid":"p3","resourceVersion":"8"},"status":{"phase":"Running"}}`),
			object(fact.Claims, "c2", "7", `{"metadata":{"uid":"c2","resourceVersion":"7"},"status":{"phase":"Bound"}}`),
			object(fact.Volumes, "v1", "12", `{"metadata":{"uid":"v1","resourceVersion":"12"}}`),
			object(fact.Volumes, "v1", "", `{"metadata":{"uid":"v1"}}`), // a version without a number is not complete
			object(fact.Volumes, "v2", "2", `{"metadata":{"uid":"v2","resourceVersion":"2"}}`),
		},
		Pods:        []fact.Pod{{UID: "p1", Version: 1}, {UID: "p3", Version: 4, DeletedAt: 4}},
		Claims:      []fact.Claim{{UID: "c2", DeletedAt: 4, DeletedNotBefore: 3, Version: 1}},
		Mounts:      []fact.Mount{{PodUID: "p2", Container: "db", Volume: "data", ClaimUID: "c2", StartedAt: 3, Version: 2}, {PodUID: "p3", Container: "db", StartedAt: 3, EndedAt: 4, Version: 3}},
		Volumes:     []fact.Volume{{UID: "v2", Version: 1}},
		Usage:       []fact.Usage{{VolumeUID: "v2", At: 2, Space: fact.Space{UsedBytes: 20}}, {VolumeUID: "v2", At: 3, Space: space}, {VolumeUID: "v2", At: 1, Space: fact.Space{UsedBytes: 10}}},
		Bindings:    []fact.Binding{{VolumeUID: "v1", ClaimUID: "c1", BoundAt: 3, Version: 5}},
		Checkpoints: []fact.Checkpoint{{Instance: "former", Kind: fact.Pods, ResourceVersion: "9"}, {Instance: "former", Kind: fact.Claims, ResourceVersion: "7"}, {Instance: "other", Kind: fact.Volumes, ResourceVersion: "2"}},
	}
	for _, table := range tables() {
		if table.count(facts) == 0 {
			continue
		}
		if err := insertRows(t.Context(), c, table, "east", table.name, facts, nil); err != nil {
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
	type held struct {
		phase  string
		untold bool
	}
	got := map[string]held{}
	for _, o := range known.Objects {
		var object struct{ Status struct{ Phase string } }
		if err := json.Unmarshal([]byte(o.Object), &object); err != nil {
			t.Fatal(err)
		}
		got[o.UID] = held{object.Status.Phase, o.Incomplete}
		if o.UID == "v1" && o.ResourceVersion != "12" {
			t.Errorf("v1 has the version %q", o.ResourceVersion)
		}
		switch {
		case o.Kind == fact.Claims && (o.Snapshot.Deleted != 4 || o.Snapshot.NotBefore != 3):
			t.Errorf("the claim's snapshot is %+v", o.Snapshot)
		case o.UID == "v2" && (o.Snapshot.Space == nil || *o.Snapshot.Space != space):
			t.Errorf("how full v2 was: %+v, want %+v", o.Snapshot.Space, space)
		}
	}
	for uid, want := range map[string]held{"p1": {"Pending", false}, "p2": {"Running", true}, "c2": {"Bound", false}, "v1": {"", true}, "v2": {"", false}} {
		if got[uid] != want {
			t.Errorf("%s: got %+v, want %+v", uid, got[uid], want)
		}
	}
	if len(got) != 5 {
		t.Errorf("held are %v", got)
	}
}
