package statemetrics

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-state-metrics/v2/pkg/metric"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// linesOf returns an object's lines, family by family.
func linesOf(o object) (families []string) {
	for i := range o.shape.families {
		var text strings.Builder
		o.eachLine(i, nil, func(line []byte) bool {
			text.Write(line)
			return true
		})
		families = append(families, text.String())
	}
	return families
}

// FuzzTextsHaveTheSameLines encodes lines of two families that the library has written, with any names and values, and
// compares what is read. The first byte says whether the table of shapes is full.
func FuzzTextsHaveTheSameLines(f *testing.F) {
	f.Add(false, "pv-1", "phase", "Bound", "csi_volume_handle", "a\\b\"c\nd", 1.0)
	f.Add(true, "pv-1", "", "", "phase", "\\", 1.7e9)
	f.Add(false, "", "a", "}", "b", `{",="`, -0.5)
	f.Add(false, `x",`, "storageclass", `} 1`, "label_ü", "ü", 10.0)
	f.Fuzz(func(t *testing.T, full bool, own, name1, value1, name2, value2 string, number float64) {
		for _, name := range []string{name1, name2} {
			if strings.ContainsAny(name, "\"{},=\n\\") {
				t.Skip("no name of a label")
			}
		}
		table := newShapes()
		if full {
			table.all = make([]*shape, maxShapes)
		}
		lines := []metric.Metric{
			{LabelKeys: []string{"own"}, LabelValues: []string{own}, Value: number},
			{LabelKeys: []string{"own", name1, name2}, LabelValues: []string{own, value1, value2}, Value: 1},
			{LabelKeys: []string{"own", name2}, LabelValues: []string{own, value1}, Value: number},
		}
		var all bytes.Buffer
		ends := make([]int, 3)
		for i, family := range [][]metric.Metric{lines[:2], nil, lines[2:]} {
			for _, m := range family {
				m.Write(&all)
			}
			ends[i] = all.Len()
		}
		valid, ends := toValid(all.Bytes(), ends)
		want := []string{string(valid[:ends[0]]), "", string(valid[ends[1]:])}
		if got := linesOf(table.decode(encode(valid, ends, table))); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Volumes that differ in what belongs to one volume only have one shape.
func TestVolumesOfOneKindHaveOneShape(t *testing.T) {
	g := newGenerators(t, nil)
	for i := range 100 {
		v := volume(i)
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: fmt.Sprint("team-", i), Name: fmt.Sprint("data-", i)}
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "csi.example", VolumeHandle: fmt.Sprint("disk-", i)}
		g.Render(fact.Volumes, v)
	}
	if n := len(g.shapes.all); n != 1 {
		t.Errorf("there are %d shapes, want 1", n)
	}
}

// Users choose the names of labels. Each choice makes a shape, until the table is full.
func TestTableOfShapesIsBounded(t *testing.T) {
	g := newGenerators(t, func(o *Options) { o.Resources = o.Resources[:1] })
	texts := NewTexts(g)
	u := &fact.Update{Relisted: g.Kinds()}
	for i := range maxShapes + 10 {
		v := volume(i)
		v.ObjectMeta = metav1.ObjectMeta{Name: v.Name, UID: v.UID, Labels: map[string]string{fmt.Sprint("label", i): "x"}}
		u.Rendered = append(u.Rendered, added(g, fact.Volumes, v))
	}
	texts.Apply(u)
	if n := len(g.shapes.all); n != maxShapes {
		t.Errorf("there are %d shapes, want %d", n, maxShapes)
	}
	text := show(texts.Moment())
	for i := range maxShapes + 10 {
		if want := fmt.Sprintf("kube_persistentvolume_labels{persistentvolume=\"pv-%d\",label_label%d=\"x\"} 1\n", i, i); !strings.Contains(text, want) {
			t.Fatalf("there is no %s", want)
		}
	}
}
