package inventory

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// namesakes are a namespace and a class that were deleted and created again under their names.
type namesakes struct {
	formerNamespace, namespace *corev1.Namespace
	formerClass, class         *storagev1.StorageClass
}

func newNamesakes() (n namesakes) {
	n.formerNamespace = namespaceOf("shop", "n1", map[string]string{"team": "red"})
	n.namespace = namespaceOf("shop", "n2", map[string]string{"team": "green"})
	n.formerClass, n.class = storageClass("fast", "s1"), storageClass("fast", "s2")
	n.class.Provisioner = "new.example"
	n.formerNamespace.CreationTimestamp, n.formerClass.CreationTimestamp = second(5), second(5)
	n.namespace.CreationTimestamp, n.class.CreationTimestamp = second(60), second(60)
	return n
}

// TestTheLivingNamesakeIsEmittedLast plays the ways in which a tracker misses a deletion. Counters and present states go by the name
// of a namespace or a class, so its last row is that of the living object.
func TestTheLivingNamesakeIsEmittedLast(t *testing.T) {
	gap := Observation{At: at(100), NotBefore: at(50)}
	for _, way := range []struct {
		name    string
		play    func(*testing.T, *Inventory, namesakes)
		deleted fact.Time // of the former namespace
	}{
		{"an update", func(t *testing.T, inv *Inventory, n namesakes) {
			must(t, inv.Set(n.formerNamespace, Live(at(10))))
			must(t, inv.Set(n.formerClass, Live(at(10))))
			must(t, inv.Set(n.namespace, Live(at(61))))
			must(t, inv.Set(n.class, Live(at(61))))
		}, at(61)},
		{"a list", func(t *testing.T, inv *Inventory, n namesakes) {
			must(t, inv.Set(n.formerNamespace, Live(at(10))))
			must(t, inv.Set(n.formerClass, Live(at(10))))
			must(t, inv.Replace(fact.Namespaces, []any{n.namespace}, gap))
			must(t, inv.Replace(fact.StorageClasses, []any{n.class}, gap))
		}, at(60) + almostASecond},
		{"a catalog that answers late", func(t *testing.T, inv *Inventory, n namesakes) {
			must(t, inv.Replace(fact.Namespaces, []any{n.namespace}, Observation{At: at(100), Found: true}))
			must(t, inv.Replace(fact.StorageClasses, []any{n.class}, Observation{At: at(100), Found: true}))
			unread, err := inv.Reconcile(fact.SavedList{restored(n.formerNamespace, fact.ObjectSnapshot{}), restored(n.formerClass, fact.ObjectSnapshot{})},
				0, at(101), map[fact.Kind]fact.Time{fact.Namespaces: at(50), fact.StorageClasses: at(50)})
			must(t, unread)
			must(t, err)
		}, at(60) + almostASecond},
		{"a catalog that has both", func(t *testing.T, inv *Inventory, n namesakes) {
			_, err := inv.Restore(fact.SavedList{
				restored(n.namespace, fact.ObjectSnapshot{}), restored(n.class, fact.ObjectSnapshot{}),
				restored(n.formerNamespace, fact.ObjectSnapshot{}), restored(n.formerClass, fact.ObjectSnapshot{}),
			}, 0, at(99))
			must(t, err)
			must(t, inv.Replace(fact.Namespaces, []any{n.namespace}, gap))
			must(t, inv.Replace(fact.StorageClasses, []any{n.class}, gap))
		}, at(60) + almostASecond},
	} {
		t.Run(way.name, func(t *testing.T) {
			inv, u := New(), &fact.Update{}
			claim := pvc("data", "c1", 1, "vol")
			must(t, inv.Set(claim, Live(at(9))))
			must(t, inv.Set(pv("vol", "v1", 1, claim, corev1.VolumeBound, 2), Live(at(9))))
			way.play(t, inv, newNamesakes())
			inv.Take(u)
			if len(u.Facts.Namespaces) == 0 || len(u.Classes) == 0 || len(u.Volumes) == 0 {
				t.Fatalf("%d namespaces, %d classes, %d volumes", len(u.Facts.Namespaces), len(u.Classes), len(u.Volumes))
			}
			var deleted fact.Time
			for _, row := range u.Facts.Namespaces {
				if row.UID == "n1" {
					deleted = row.DeletedAt
				}
			}
			last, class := u.Facts.Namespaces[len(u.Facts.Namespaces)-1], u.Classes[len(u.Classes)-1]
			expect(t, "the former namespace was deleted", deleted, way.deleted)
			expect(t, "the last namespace", last.UID, "n2")
			expect(t, "it lives", last.DeletedAt, 0)
			expect(t, "the last class", class, fact.ClassState{Name: "fast", Provisioner: "new.example", ReclaimPolicy: "Delete", BindingMode: "Immediate"})
			expect(t, "the volume's label", u.Volumes[0].NamespaceLabels.Get("team"), "green")
			expect(t, "namespaces", inv.Count(fact.Namespaces), 1)
			expect(t, "classes", inv.Count(fact.StorageClasses), 1)
		})
	}
}
