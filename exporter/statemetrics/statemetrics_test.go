package statemetrics

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	generator "k8s.io/kube-state-metrics/v2/pkg/metric_generator"
	metricsstore "k8s.io/kube-state-metrics/v2/pkg/metrics_store"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

func newGenerators(t *testing.T, change func(*Options)) *Generators {
	t.Helper()
	o := Options{Resources: Resources{"persistentvolumes", "persistentvolumeclaims", "storageclasses", "volumeattachments"}}
	if err := o.Labels.Set("persistentvolumes=[*],persistentvolumeclaims=[app]"); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&o)
	}
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func volume(i int) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("pv-%d", i), UID: types.UID(fmt.Sprintf("uid-%d", i)), CreationTimestamp: metav1.NewTime(time.Unix(1_700_000_000, 0)),
			Labels: map[string]string{"app": fmt.Sprintf("a\\b\"c\nd %d", i), "zone": "ü"},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")},
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadOnlyMany},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}
}

// show returns what a scrape of the texts would have, by family.
func show(m Moment) string {
	var text strings.Builder
	for _, f := range m.Families() {
		for line := range f.Lines {
			text.WriteString(f.Name)
			text.Write(line)
		}
	}
	return text.String()
}

func added(g *Generators, kind fact.Kind, object metav1.Object) fact.Rendered {
	return fact.Rendered{Kind: kind, UID: string(object.GetUID()), Text: g.Render(kind, object)}
}

func sorted(text string) []string { return slices.Sorted(strings.Lines(text)) }

// The library's own store gets the same objects.
func TestTextsHaveTheLinesOfTheLibrarysStore(t *testing.T) {
	g := newGenerators(t, nil)
	u := &fact.Update{Relisted: g.Kinds()}
	var want bytes.Buffer
	stored := func(kind fact.Kind, objects ...metav1.Object) {
		store := metricsstore.NewMetricsStore(make([]string, len(g.of[kind])), generator.ComposeMetricGenFuncs(g.of[kind]))
		for _, object := range objects {
			if err := store.Add(object); err != nil {
				t.Fatal(err)
			}
			u.Rendered = append(u.Rendered, added(g, kind, object))
		}
		if err := metricsstore.NewMetricsWriter("x", store).WriteAll(&want); err != nil {
			t.Fatal(err)
		}
	}
	stored(fact.Volumes, volume(1), volume(2), &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{UID: "bare"}})
	stored(fact.Claims, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{UID: "c", Namespace: "n", Name: "c"}})
	stored(fact.StorageClasses, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{UID: "s", Name: "s"}, Provisioner: "p"})
	stored(fact.VolumeAttachments, &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{UID: "a", Name: "a"}})

	texts := NewTexts(g)
	texts.Apply(u)
	got, wanted := sorted(show(texts.Moment())), sorted(want.String())
	if len(wanted) < 30 || !slices.Equal(got, wanted) {
		t.Errorf("got %d lines:\n%s\nwant %d:\n%s", len(got), strings.Join(got, ""), len(wanted), strings.Join(wanted, ""))
	}
}

func TestRenderLeavesTheObjectAsItIs(t *testing.T) {
	g := newGenerators(t, nil)
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{UID: "s", Name: "s"}}
	g.Render(fact.StorageClasses, class)
	if class.ReclaimPolicy != nil || class.VolumeBindingMode != nil {
		t.Errorf("the class has got defaults: %v %v", class.ReclaimPolicy, class.VolumeBindingMode)
	}
}

func TestTextsAreAbsentUntilAllKindsAreListed(t *testing.T) {
	g := newGenerators(t, func(o *Options) { o.Resources = o.Resources[:2] })
	texts := NewTexts(g)
	texts.Apply(&fact.Update{Relisted: []fact.Kind{fact.Volumes}, Rendered: []fact.Rendered{added(g, fact.Volumes, volume(1))}})
	if got := show(texts.Moment()); got != "" {
		t.Errorf("a part is shown: %s", got)
	}
	if err := texts.Complete(); err == nil || !strings.HasSuffix(err.Error(), ": PersistentVolumeClaim") {
		t.Errorf("the error is %v", err)
	}
	texts.Apply(&fact.Update{Relisted: []fact.Kind{fact.Claims}})
	if got := show(texts.Moment()); texts.Complete() != nil || !strings.Contains(got, `kube_persistentvolume_info{persistentvolume="pv-1"`) {
		t.Errorf("%v: %s", texts.Complete(), got)
	}
}

func TestDeletedAndUnlistedObjectsHaveNoLines(t *testing.T) {
	g := newGenerators(t, func(o *Options) { o.Resources = o.Resources[:1] })
	texts := NewTexts(g)
	u := &fact.Update{Relisted: g.Kinds()}
	for i := range 5 {
		u.Rendered = append(u.Rendered, added(g, fact.Volumes, volume(i)))
	}
	texts.Apply(u)
	before := texts.Moment()
	texts.Apply(&fact.Update{Rendered: []fact.Rendered{
		{Kind: fact.Volumes, UID: "uid-0", Gone: true}, {Kind: fact.Volumes, UID: "uid-4", Gone: true}, {Kind: fact.Volumes, UID: "never", Gone: true},
	}})
	expectVolumes(t, texts.Moment(), 1, 2, 3)
	expectVolumes(t, before, 0, 1, 2, 3, 4)
	texts.Apply(&fact.Update{Relisted: g.Kinds(), Rendered: []fact.Rendered{added(g, fact.Volumes, volume(2)), added(g, fact.Volumes, volume(9))}})
	expectVolumes(t, texts.Moment(), 2, 9)
}

func expectVolumes(t *testing.T, m Moment, want ...int) {
	t.Helper()
	text := show(m)
	for i := range 10 {
		if has := strings.Contains(text, fmt.Sprintf(`_capacity_bytes{persistentvolume="pv-%d"} `, i)); has != slices.Contains(want, i) {
			t.Errorf("volume %d has lines: %t, want only %v", i, has, want)
		}
	}
}

func TestFamiliesAreSelectedByName(t *testing.T) {
	for name, change := range map[string]func(*Options) error{
		"allowed": func(o *Options) error { return o.Allow.Set("kube_persistentvolume_(info|created)$") },
		"denied": func(o *Options) error {
			return o.Deny.Set("claim,class,attach,_mode,phase,capacity,labels,annotations,deletion")
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGenerators(t, func(o *Options) {
				o.Allow, o.Deny = map[string]struct{}{}, map[string]struct{}{}
				if err := change(o); err != nil {
					t.Fatal(err)
				}
			})
			var names []string
			texts := NewTexts(g)
			texts.Apply(&fact.Update{Relisted: g.Kinds()})
			for _, f := range texts.Moment().Families() {
				names = append(names, f.Name)
			}
			slices.Sort(names)
			if want := []string{"kube_persistentvolume_created", "kube_persistentvolume_info"}; !slices.Equal(names, want) {
				t.Errorf("families are %v, want %v", names, want)
			}
		})
	}
}

// The help texts are written as they are, in the text formats and in protobuf, which does not escape.
func TestHelpTextsNeedNoEscaping(t *testing.T) {
	texts := NewTexts(newGenerators(t, nil))
	texts.Apply(&fact.Update{Relisted: newGenerators(t, nil).Kinds()})
	families := texts.Moment().Families()
	if len(families) < 25 {
		t.Errorf("there are only %d families", len(families))
	}
	for _, f := range families {
		if f.Name == "" || f.Help == "" || strings.ContainsAny(f.Help, "\\\n\"") {
			t.Errorf("%q: help %q", f.Name, f.Help)
		}
	}
}

func TestMistakesNameTheirFlag(t *testing.T) {
	set := func(s string) map[string]struct{} { return map[string]struct{}{s: {}} }
	volumes := Resources{"persistentvolumes"}
	for want, o := range map[string]Options{
		"exclude each other": {Resources: volumes, Allow: set("a"), Deny: set("b")},
		"-denylist: ":        {Resources: volumes, Deny: set("(")},
		"--metrics.kube-state-metrics-labels-allowlist: resource x does":      {Resources: volumes, Labels: map[string][]string{"x": {"a"}}},
		"--metrics.kube-state-metrics-annotations-allowlist: resource x does": {Resources: volumes, Annotations: map[string][]string{"x": {"a"}}},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
	if err := new(Resources).Set("persistentvolumes,pods"); err == nil ||
		err.Error() != `"pods" is none of persistentvolumeclaims, persistentvolumes, storageclasses, volumeattachments` {
		t.Errorf("the error is %v", err)
	}
	if g, err := New(Options{}); g != nil || err != nil {
		t.Errorf("without resources: %v %v", g, err)
	}
}

// One byte that is not UTF-8 must not cost the whole scrape.
func TestTextIsValidUTF8(t *testing.T) {
	g := newGenerators(t, func(o *Options) { o.Resources = o.Resources[:1] })
	v := volume(1)
	v.Labels["app"] = "a\xffb"
	texts := NewTexts(g)
	texts.Apply(&fact.Update{Relisted: g.Kinds(), Rendered: []fact.Rendered{added(g, fact.Volumes, v)}})
	if got := show(texts.Moment()); !strings.Contains(got, `label_app="a?b"`) || !strings.Contains(got, `_created{persistentvolume="pv-1"} 1.7e+09`) {
		t.Errorf("the text is %s", got)
	}
}
