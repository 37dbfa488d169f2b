package redact

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// many returns a list of n elements.
func many[T any](n int, element func(i int) T) (list []T) {
	for i := range n {
		list = append(list, element(i))
	}
	return list
}

// largeText is as long as the API server takes an annotation.
var largeText = strings.Repeat("é", 100_000)

// largeMeta has as much metadata as a user can write, and the names of an owner and of a controller among it.
func largeMeta() metav1.ObjectMeta {
	m := metav1.ObjectMeta{Labels: map[string]string{"owner": "dana"}, Annotations: map[string]string{"team": "web"}}
	for i := range 5000 {
		m.Labels[fmt.Sprintf("a-%d.example.com/label", i)] = strings.Repeat("x", 63)
	}
	for _, name := range []string{"kubevoltracker.io/note", "kubevoltracker.io/keep", "kubevoltracker.io/groups", "volume.kubernetes.io/selected-node", corev1.BetaStorageClassAnnotation} {
		m.Annotations[name] = largeText
	}
	m.Finalizers = many(5000, func(i int) string { return fmt.Sprintf("example.com/finalizer-%d", i) })
	m.OwnerReferences = append(many(5000, func(i int) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: fmt.Sprint("job-", i), UID: types.UID(fmt.Sprint(i))}
	}), metav1.OwnerReference{APIVersion: largeText, Kind: largeText, Name: largeText, UID: types.UID(largeText), Controller: ptr.To(true)})
	return m
}

func largeClaimSpec() corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		AccessModes: many(5000, func(int) corev1.PersistentVolumeAccessMode { return corev1.ReadWriteOnce }),
		VolumeName:  largeText,
		Selector: &metav1.LabelSelector{MatchLabels: largeMeta().Labels, MatchExpressions: many(5000, func(i int) metav1.LabelSelectorRequirement {
			return metav1.LabelSelectorRequirement{Key: fmt.Sprint("key-", i), Operator: metav1.LabelSelectorOpIn, Values: []string{"a", "b"}}
		})},
		DataSource:    &corev1.TypedLocalObjectReference{APIGroup: ptr.To(largeText), Kind: largeText, Name: largeText},
		DataSourceRef: &corev1.TypedObjectReference{APIGroup: ptr.To(largeText), Kind: largeText, Name: largeText, Namespace: ptr.To(largeText)},
	}
}

// largePod is a pod with two volumes.
func largePod() *corev1.Pod {
	mount := corev1.VolumeMount{Name: "data", MountPath: largeText, SubPath: largeText, SubPathExpr: largeText}
	driver := &corev1.CSIVolumeSource{Driver: "example.com", VolumeAttributes: map[string]string{"a": largeText}}
	maps.Copy(driver.VolumeAttributes, largeMeta().Labels)
	return &corev1.Pod{ObjectMeta: largeMeta(), Spec: corev1.PodSpec{
		Volumes: []corev1.Volume{
			{Name: "data", VolumeSource: corev1.VolumeSource{CSI: driver}},
			{Name: "rbd", VolumeSource: corev1.VolumeSource{RBD: &corev1.RBDVolumeSource{CephMonitors: many(5000, func(i int) string { return fmt.Sprint("mon-", i) })}}},
			{Name: "claim", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: largeText}}},
			{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: largeClaimSpec()}}}},
		},
		Containers: []corev1.Container{{Name: "main", Image: largeText, Command: []string{largeText}, VolumeMounts: []corev1.VolumeMount{mount}}},
	}}
}

// TestUsersCannotFillTheCatalogByOneObject has objects of half a megabyte and more.
func TestUsersCannotFillTheCatalogByOneObject(t *testing.T) {
	for kind, o := range map[fact.Kind]metav1.Object{
		fact.Claims: &corev1.PersistentVolumeClaim{ObjectMeta: largeMeta(), Spec: largeClaimSpec()},
		fact.Pods:   largePod(),
		fact.Jobs:   &metav1.PartialObjectMetadata{ObjectMeta: largeMeta()},
	} {
		before := len(inventory.Wire(o))
		Policy{}.Object(kind, o)
		if size := len(inventory.Wire(o)); size > 120_000 || size > before/10 {
			t.Errorf("a %s of %d bytes is kept with %d", kind, before, size)
		}
		if kind != fact.Jobs && o.GetLabels()["owner"] != "dana" || o.GetAnnotations()["team"] != "web" {
			t.Errorf("the owner of a %s is lost", kind)
		}
		if c := metav1.GetControllerOfNoCopy(o); c == nil || c.Kind != strings.Repeat("é", mostNameBytes/2) {
			t.Errorf("the controller of a %s is %v", kind, c)
		}
		once := inventory.JSON(o)
		if (Policy{}).Object(kind, o); inventory.JSON(o) != once {
			t.Errorf("what is bounded of a %s changes when it is bounded again", kind)
		}
	}
}

// TestWhatIsKeptOfLongTexts has texts on both sides of the bounds. A text is masked before it is cut.
func TestWhatIsKeptOfLongTexts(t *testing.T) {
	x := strings.Repeat("x", mostTextBytes)
	for text, want := range map[string]string{
		x:                                x,
		x + "y":                          x,
		x[2:] + "é":                      x[2:] + "é",
		x[1:] + "é":                      x[1:],
		x[20:] + "//user:hunter2@host/a": x[20:] + "//***@host/a",
		x[9:] + "//user:hunter2@host/a":  x[9:] + "//***@hos",
		x[2:] + "-----BEGIN KEY-----":    x[2:] + "**",
	} {
		if got := Text(text); got != want {
			t.Errorf("of a text of %d bytes that ends with %q, %d bytes are kept, at the end %q", len(text), text[mostTextBytes-20:], len(got), got[len(got)-20:])
		}
		if again := Text(want); again != want {
			t.Errorf("%q becomes %q when it is masked again", want[len(want)-20:], again[len(again)-20:])
		}
	}
}

func TestTheFirstLabelsAreKept(t *testing.T) {
	value := strings.Repeat("x", 63)
	labels := map[string]string{"team": "web", "zone": "z"}
	for i := range 125 {
		labels[fmt.Sprintf("%03d", i)] = value // 66 bytes; 124 of them and the team have 8,191
	}
	want := maps.Clone(labels)
	delete(want, "124")
	delete(want, "zone")
	if got := masked(labels); !reflect.DeepEqual(got, want) {
		t.Errorf("%v are kept", slices.Sorted(maps.Keys(got)))
	}
}

// TestLargeAnnotationsDropNoSmallOnes has annotations of which each is within the bounds, and all together are not.
func TestLargeAnnotationsDropNoSmallOnes(t *testing.T) {
	p, err := New("a.example.com/spec", "b.example.com/notes", "c.example.com/ticket")
	if err != nil {
		t.Fatal(err)
	}
	small := map[string]string{
		inventory.KeepAnnotation: "until 2027-01-31", "pv.kubernetes.io/bind-completed": "yes", corev1.BetaStorageClassAnnotation: "fast",
	}
	large := strings.Repeat("x", mostTextBytes)
	for name, test := range map[string]struct {
		written map[string]string
		dropped []string
	}{
		"notes":             {map[string]string{"a.example.com/spec": large, "b.example.com/notes": large, "c.example.com/ticket": "7"}, []string{"b.example.com/notes"}},
		"owners":            {map[string]string{"owner": large, "team": large}, []string{"team"}},
		"an owner and more": {map[string]string{"owner": large, "a.example.com/spec": large[:4000], "c.example.com/ticket": "7"}, []string{"a.example.com/spec"}},
	} {
		maps.Copy(test.written, small)
		want := maps.Clone(test.written)
		for _, key := range test.dropped {
			delete(want, key)
		}
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: test.written}}
		if p.Object(fact.Claims, claim); !maps.Equal(claim.Annotations, want) {
			t.Errorf("%s: %v are kept, want %v", name, slices.Sorted(maps.Keys(claim.Annotations)), slices.Sorted(maps.Keys(want)))
		}
	}
}
