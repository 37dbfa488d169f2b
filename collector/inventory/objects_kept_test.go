package inventory

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// kept plays events and returns the versions of objects that they gave.
func kept(t *testing.T, events ...event) (list []fact.Object) {
	t.Helper()
	inv := New()
	var u fact.Update
	for _, e := range events {
		if err := inv.Set(e.object, Live(at(e.at))); err != nil {
			t.Fatal(err)
		}
		inv.Take(&u)
		for _, o := range u.Facts.Objects {
			o.Encode()
			var err error
			if o.Object, err = Document(o.Kind, o.Wire); err != nil {
				t.Fatal(err)
			}
			list = append(list, o)
		}
	}
	return list
}

func TestVersionsOfObjectsAreKept(t *testing.T) {
	claim := pvc("data", "c1", 1, "")
	claim.ResourceVersion, claim.Generation = "7", 3
	claim.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	bound := pvc("data", "c1", 1, "vol")
	bound.ResourceVersion = "9"
	noise := bound.DeepCopy()
	noise.ResourceVersion = "11"
	list := kept(t, set(1, claim), set(2, claim), set(3, bound), set(4, noise))
	expect(t, "versions; noise is none", len(list), 2)
	first, second := list[0], list[1]
	var read corev1.PersistentVolumeClaim
	if err := json.Unmarshal([]byte(first.Object), &read); err != nil {
		t.Fatal(err)
	}
	expect(t, "kind", first.Kind, fact.Claims)
	expect(t, "name", first.Namespace+"/"+first.Name+" "+first.UID, "shop/data c1")
	expect(t, "versions", first.ResourceVersion+" "+second.ResourceVersion, "7 9")
	expect(t, "observed", second.ObservedAt, at(3))
	expect(t, "what it says", read.Spec.Resources.Requests.Storage().String(), "10Gi")
	for _, noise := range []string{"managedFields", "resourceVersion", "generation"} {
		if strings.Contains(first.Object, noise) {
			t.Errorf("%s is in %s", noise, first.Object)
		}
	}
	expect(t, "the caller's object is left alone", claim.ResourceVersion+claim.ManagedFields[0].Manager, "7kubectl")
}

func TestOfAStatefulSetTheClaimTemplatesAreKept(t *testing.T) {
	set1 := statefulSet("db", "sts", "data")
	set1.Spec.Template.Spec.ServiceAccountName = "nobody asked"
	list := kept(t, set(1, set1))
	expect(t, "versions", len(list), 1)
	if doc := list[0].Object; !strings.Contains(doc, `"volumeClaimTemplates":[{"metadata":{"name":"data"}`) || strings.Contains(doc, "nobody asked") {
		t.Error(doc)
	}
}

func TestDriversAndNodesAreKeptForTheRecord(t *testing.T) {
	driver := &storagev1.CSIDriver{ObjectMeta: objectMeta("", "csi.example", "d1", 1), Spec: storagev1.CSIDriverSpec{AttachRequired: new(true)}}
	again := &storagev1.CSIDriver{ObjectMeta: objectMeta("", "csi.example", "d2", 8), Spec: storagev1.CSIDriverSpec{AttachRequired: new(false)}}
	node := metadataOf(fact.Nodes, "node-1", "n1", "", "", "")
	labelled := node.DeepCopy()
	labelled.Labels = map[string]string{"topology.kubernetes.io/zone": "a"}
	inv, h := play(t, set(1, driver), set(2, driver), set(8, again), set(2, node), set(3, node), set(4, labelled), gone(9, labelled))
	expect(t, "drivers: the second hid the end of the first", inv.Count(fact.Drivers), 1)
	expect(t, "nodes", inv.Count(fact.Nodes), 0)
	versions := map[fact.Kind]int{}
	for _, o := range h.objects {
		versions[o.Kind]++
	}
	expect(t, "versions of drivers", versions[fact.Drivers], 2)
	expect(t, "versions of the node", versions[fact.Nodes], 2)
	got := map[string]fact.Time{}
	for _, c := range changesOf(h) {
		got[c.Kind+" "+c.UID+" "+string(c.Action)] = c.At
	}
	for what, want := range map[string]fact.Time{
		"CSIDriver d1 created": at(1), "CSIDriver d1 deleted": at(8), "CSIDriver d2 created": at(8), "Node n1 deleted": at(9),
	} {
		expect(t, what, got[what], want)
	}
}

func TestDocumentsOfAllKindsAreReadAsTheAPIsObjects(t *testing.T) {
	for kind, object := range oneOfEach() {
		versions := kept(t, set(1, object))
		if len(versions) != 1 {
			t.Errorf("%s: %d versions", kind, len(versions))
			continue
		}
		for form, encoded := range map[string]fact.SavedObject{"JSON": {Object: versions[0].Object}, "protobuf": {Wire: versions[0].Wire}} {
			read, err := Decode(kind, encoded.Object, encoded.Wire)
			if err != nil {
				t.Fatal(err)
			}
			of, uid, err := identify(read)
			if err != nil || reflect.TypeOf(read) != reflect.TypeOf(object) || of != kind || uid != versions[0].UID {
				t.Errorf("%s: read from %s as %s %s, %v", kind, form, of, uid, err)
			}
			if first := JSON(object.(metav1.Object)); first != versions[0].Object {
				t.Errorf("%s: its document is\n%s\nwant\n%s", kind, versions[0].Object, first)
			}
			if again := JSON(read); again != versions[0].Object {
				t.Errorf("%s: from %s it says\n%s\nand said\n%s", kind, form, again, versions[0].Object)
			}
		}
	}
	for _, bad := range []fact.SavedObject{{Object: "{"}, {Wire: []byte("\xff")}} {
		if _, err := Decode(fact.Pods, bad.Object, bad.Wire); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
	if text, err := Document(fact.Pods, []byte("\xff")); err == nil {
		t.Errorf("what is no protobuf gives %s", text)
	}
}

// packedClaim is a claim that makes a new object each time it is looked at.
type packedClaim struct{ claim *corev1.PersistentVolumeClaim }

func (p packedClaim) Identity() (fact.Kind, string) { return fact.Claims, string(p.claim.UID) }
func (p packedClaim) Unpack() metav1.Object         { return p.claim.DeepCopy() }
func (p packedClaim) Wire() []byte                  { return Wire(p.claim) }
func (p packedClaim) Size() int                     { return p.claim.Size() }

// TestAPackedListIsAList checks that a list of packed objects is taken as that of the
// objects themselves is.
func TestAPackedListIsAList(t *testing.T) {
	play := func(form func(*corev1.PersistentVolumeClaim) any) (u fact.Update) {
		inv := New()
		for i, list := range [][]*corev1.PersistentVolumeClaim{{pvc("data", "c1", 1, ""), pvc("logs", "c2", 1, "")}, {pvc("data", "c1", 1, "vol")}} {
			var objects []any
			for _, claim := range list {
				objects = append(objects, form(claim))
			}
			if err := inv.Replace(fact.Claims, objects, Live(at(5+i))); err != nil {
				t.Fatal(err)
			}
		}
		inv.Take(&u)
		for i := range u.Facts.Objects {
			u.Facts.Objects[i].Encode()
		}
		return u
	}
	plain := play(func(c *corev1.PersistentVolumeClaim) any { return c })
	packed := play(func(c *corev1.PersistentVolumeClaim) any { return packedClaim{c} })
	if !reflect.DeepEqual(plain, packed) {
		t.Errorf("a list gives\n%+v\nand packed\n%+v", plain, packed)
	}
	expect(t, "versions", len(packed.Facts.Objects), 3)
	if err := New().Replace(fact.Pods, []any{packedClaim{pvc("data", "c1", 1, "")}}, Live(at(1))); err == nil {
		t.Error("a list of pods takes a packed claim")
	}
}

func TestTheMemoryOfALongListIsNotKept(t *testing.T) {
	one := 1
	short := emptied([]*int{&one})
	if cap(short) != 1 || short[:1][0] != nil {
		t.Error("the memory of a short list is kept, and what was in it is not")
	}
	if emptied(make([]*int, 0, 3*fact.KeepLength)) != nil {
		t.Error("the memory of a long list is kept")
	}
}
