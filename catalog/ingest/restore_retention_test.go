package ingest

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// longHistory is a cluster whose objects are all older than two years. A pod, its claim, their volume and a node exist; another pod
// and another node are gone for more than a year.
func longHistory(now time.Time) *fact.Facts {
	at := func(days int) fact.Time { return fact.At(now.Add(-time.Duration(days) * 24 * time.Hour)) }
	object := func(kind fact.Kind, uid string) fact.Object {
		return fact.Object{Kind: kind, UID: uid, ResourceVersion: "7", ObservedAt: at(800), Object: `{"metadata":{"uid":"` + uid + `","resourceVersion":"7"}}`}
	}
	pod := func(uid string, deleted fact.Time) fact.Pod {
		return fact.Pod{Version: 1, UID: uid, Namespace: "shop", CreatedAt: at(800), StartedAt: at(800), DeletedAt: deleted, DeletedNotBefore: deleted}
	}
	container := func(pod, name string, finished fact.Time) fact.Container {
		return fact.Container{Version: 1, Namespace: "shop", PodCreatedAt: at(800), PodUID: pod, Name: name, StartedAt: at(800), FinishedAt: finished}
	}
	mount := func(pod string, ended fact.Time) fact.Mount {
		return fact.Mount{Version: 1, Namespace: "shop", PodCreatedAt: at(800), PodUID: pod, Container: "main", ClaimUID: "claim", ClaimName: "data",
			VolumeUID: "volume", StartedAt: at(800), StartedNotBefore: at(800), EndedAt: ended, EndedNotBefore: ended}
	}
	return &fact.Facts{
		Objects: []fact.Object{
			object(fact.Pods, "lives"), object(fact.Pods, "gone"), object(fact.Claims, "claim"), object(fact.Volumes, "volume"),
			object(fact.Nodes, "node"), object(fact.Nodes, "node-gone"), object(fact.VolumeAttachments, "attached"), object(fact.VolumeAttachments, "detached"),
		},
		Pods:       []fact.Pod{pod("lives", 0), pod("gone", at(500))},
		Containers: []fact.Container{container("lives", "main", 0), container("lives", "init", at(799)), container("gone", "main", at(500))},
		Mounts:     []fact.Mount{mount("lives", 0), mount("gone", at(500))},
		VolumeUses: []fact.VolumeUse{{Version: 1, VolumeUID: "volume", InUse: true}},
		Claims:     []fact.Claim{{Version: 1, UID: "claim", Namespace: "shop", Name: "data", CreatedAt: at(800), BoundAt: at(800), VolumeUID: "volume"}},
		Volumes:    []fact.Volume{{Version: 1, UID: "volume", CreatedAt: at(800), ClaimUID: "claim"}},
		Bindings:   []fact.Binding{{Version: 1, ClaimUID: "claim", VolumeUID: "volume", BoundAt: at(800)}},
		Usage:      []fact.Usage{{VolumeUID: "volume", At: at(700), Space: lastSpace}},
		Attachments: []fact.Attachment{
			{Version: 1, UID: "attached", VolumeUID: "volume", AttachedAt: at(800)}, {Version: 1, UID: "detached", VolumeUID: "volume", AttachedAt: at(800), DetachedAt: at(500)},
		},
		Changes:     []fact.Change{{At: at(500), Kind: "Node", UID: "node-gone", Action: fact.Deleted}, {At: at(500), Kind: "Pod", UID: "gone", Action: fact.Deleted}},
		Coverage:    []fact.Coverage{{Version: 1, Instance: "former", Kind: fact.Pods, StartedAt: at(800), SeenAt: at(1)}},
		Checkpoints: []fact.Checkpoint{{Instance: "former", Kind: fact.Pods, ResourceVersion: "9", At: at(1)}},
	}
}

// A tracker without a journal restores the same state after the history has expired.
func TestARestoreAfterARetention(t *testing.T) {
	c, now := migrated(t), time.Now()
	facts := longHistory(now)
	for _, table := range tables() {
		if table.count(facts) > 0 {
			if err := insertRows(t.Context(), c, table, "east", facts, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	restored := func() (*fact.Snapshot, map[string]fact.SavedObject) {
		snapshot, err := RestoreCatalog(t.Context(), c, "east", "new")
		if err != nil {
			t.Fatal(err)
		}
		objects := map[string]fact.SavedObject{}
		for _, o := range snapshot.Objects.(fact.SavedList) {
			slices.SortFunc(o.Snapshot.Containers, func(a, b fact.ContainerSnapshot) int { return int(a.FinishedAt - b.FinishedAt) })
			objects[o.UID] = o
		}
		snapshot.Objects = nil
		return snapshot, objects
	}
	before, objects := restored()
	if got, want := slices.Sorted(maps.Keys(objects)), []string{"attached", "claim", "lives", "node", "volume"}; !slices.Equal(got, want) {
		t.Fatalf("before: %v, want %v", got, want)
	}
	year := 365 * 24 * time.Hour
	retention := catalog.Retention{"mounts": year, "attachments": year, "changes": year, "usage": year, "storage_capacity": year}
	for range 2 { // containers are deleted once their pods have expired
		if _, err := c.Retain(t.Context(), retention); err != nil {
			t.Fatal(err)
		}
		for len(catalogtest.Rows(t, c, "SELECT 1 FROM system.mutations WHERE database = currentDatabase() AND NOT is_done")) > 0 {
			time.Sleep(20 * time.Millisecond)
		}
	}
	for table, want := range map[string]uint64{"mounts": 1, "pods": 1, "containers": 2, "attachments": 1, "changes": 1} {
		if got := rows(t, c, "SELECT count() FROM "+table); got[0][0] != want {
			t.Errorf("%s has %v rows, want %d", table, got, want)
		}
	}
	after, still := restored()
	if !reflect.DeepEqual(before, after) || !reflect.DeepEqual(objects, still) {
		t.Errorf("before: %+v\n%+v\nafter: %+v\n%+v", before, objects, after, still)
	}
}
