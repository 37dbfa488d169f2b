package inventory

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// namesakes are objects of the cluster that were deleted and created again under their names.
type namesakes struct{ former, present map[fact.Kind]metav1.Object }

func newNamesakes() namesakes {
	green := storageClass("fast", "s2")
	green.Provisioner = "new.example"
	n := namesakes{
		former: map[fact.Kind]metav1.Object{
			fact.Namespaces: namespaceOf("shop", "n1", map[string]string{"team": "red"}), fact.StorageClasses: storageClass("fast", "s1"),
			fact.Drivers: &storagev1.CSIDriver{ObjectMeta: objectMeta("", "csi.example", "d1", 0)}, fact.Nodes: metadataOf(fact.Nodes, "node-1", "m1", "", "", ""),
		},
		present: map[fact.Kind]metav1.Object{
			fact.Namespaces: namespaceOf("shop", "n2", map[string]string{"team": "green"}), fact.StorageClasses: green,
			fact.Drivers: &storagev1.CSIDriver{ObjectMeta: objectMeta("", "csi.example", "d2", 0)}, fact.Nodes: metadataOf(fact.Nodes, "node-1", "m2", "", "", ""),
		},
	}
	for kind := range n.former {
		n.former[kind].SetCreationTimestamp(second(5))
		n.present[kind].SetCreationTimestamp(second(60))
	}
	return n
}

// TestTheLivingNamesakeIsEmittedLast plays the ways in which a tracker misses a deletion. Counters and present states go by the name
// of a namespace or a class, so its last row is that of the living object. The creation of the living object bounds the deletion
// of the former one (rule 1.4).
func TestTheLivingNamesakeIsEmittedLast(t *testing.T) {
	gap := Observation{At: at(100), NotBefore: at(50)}
	for _, way := range []struct {
		name    string
		play    func(t *testing.T, inv *Inventory, kind fact.Kind, former, present metav1.Object)
		deleted fact.Time // the former object
		back    fact.Time // the node
	}{
		{"an update", func(t *testing.T, inv *Inventory, _ fact.Kind, former, present metav1.Object) {
			must(t, inv.Set(former, Live(at(10))))
			must(t, inv.Set(present, Live(at(61))))
		}, at(61), at(61)},
		{"an update after a gap", func(t *testing.T, inv *Inventory, _ fact.Kind, former, present metav1.Object) {
			must(t, inv.Set(former, Live(at(10))))
			must(t, inv.Set(present, gap))
		}, at(60) + almostASecond, at(100)},
		{"a list", func(t *testing.T, inv *Inventory, kind fact.Kind, former, present metav1.Object) {
			must(t, inv.Set(former, Live(at(10))))
			must(t, inv.Replace(kind, []any{present}, gap))
		}, at(60) + almostASecond, at(100)},
		{"a catalog that answers late", func(t *testing.T, inv *Inventory, kind fact.Kind, former, present metav1.Object) {
			must(t, inv.Replace(kind, []any{present}, Observation{At: at(100), Found: true}))
			unread, err := inv.Reconcile(fact.SavedList{restored(former, fact.ObjectSnapshot{})}, 0, at(101), map[fact.Kind]fact.Time{kind: at(50)}, nil)
			must(t, unread)
			must(t, err)
		}, at(60) + almostASecond, at(60)},
		{"a catalog that has both", func(t *testing.T, inv *Inventory, kind fact.Kind, former, present metav1.Object) {
			_, err := inv.Restore(fact.SavedList{restored(present, fact.ObjectSnapshot{}), restored(former, fact.ObjectSnapshot{})}, 0, at(99))
			must(t, err)
			must(t, inv.Replace(kind, []any{present}, gap))
		}, at(60) + almostASecond, at(60)},
		{"a catalog that has both, the former first", func(t *testing.T, inv *Inventory, kind fact.Kind, former, present metav1.Object) {
			_, err := inv.Restore(fact.SavedList{restored(former, fact.ObjectSnapshot{}), restored(present, fact.ObjectSnapshot{})}, 0, at(99))
			must(t, err)
			must(t, inv.Replace(kind, []any{present}, gap))
		}, at(60) + almostASecond, at(60)},
	} {
		t.Run(way.name, func(t *testing.T) {
			inv, u := New(), &fact.Update{}
			claim := pvc("data", "c1", 1, "vol")
			must(t, inv.Set(claim, Live(at(9))))
			must(t, inv.Set(pv("vol", "v1", 1, claim, corev1.VolumeBound, 2), Live(at(9))))
			n := newNamesakes()
			for kind := range n.former {
				way.play(t, inv, kind, n.former[kind], n.present[kind])
				expect(t, "living objects: "+string(kind), inv.Count(kind), 1)
			}
			expect(t, "the node of the name", inv.nodes["node-1"].uid, "m2")
			expect(t, "it is lost", inv.nodes["node-1"].lost, false)
			expect(t, "since when it is there", inv.nodes["node-1"].returned, way.back)
			inv.Take(u)
			if len(u.Facts.Namespaces) == 0 || len(u.Classes) == 0 || len(u.Volumes) == 0 {
				t.Fatalf("%d namespaces, %d classes, %d volumes", len(u.Facts.Namespaces), len(u.Classes), len(u.Volumes))
			}
			deleted := map[string]fact.Time{}
			for _, row := range u.Facts.Namespaces {
				if row.DeletedAt != 0 {
					deleted[row.UID] = row.DeletedAt
				}
			}
			for _, row := range u.Facts.StorageClasses {
				if row.DeletedAt != 0 {
					deleted["row of "+row.UID] = row.DeletedAt
				}
			}
			for _, c := range u.Facts.Changes {
				if c.Action == fact.Deleted {
					deleted[c.UID] = c.At
				}
			}
			expect(t, "deleted", fmt.Sprint(deleted), fmt.Sprint(map[string]fact.Time{"n1": way.deleted, "s1": way.deleted, "row of s1": way.deleted, "d1": way.deleted, "m1": way.deleted}))
			last, class := u.Facts.Namespaces[len(u.Facts.Namespaces)-1], u.Classes[len(u.Classes)-1]
			expect(t, "the last namespace", last.UID, "n2")
			expect(t, "it lives", last.DeletedAt, 0)
			expect(t, "the last class", class, fact.ClassState{Name: "fast", Provisioner: "new.example", ReclaimPolicy: "Delete", BindingMode: "Immediate"})
			expect(t, "the volume's label", u.Volumes[0].NamespaceLabels.Get("team"), "green")
		})
	}
}
