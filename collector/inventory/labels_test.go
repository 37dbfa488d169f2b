package inventory

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

func namespaceOf(name, uid string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid), Labels: labels}}
}

// A volume's state has the labels of its claim and of the claim's namespace, whatever is
// known first, and is told again when they change, and only then.
func TestLabelsGoAlongWithTheVolume(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	claim.Labels = map[string]string{"app": "db", "tier": "gold"}
	volume := pv("vol", "v1", 1, claim, corev1.VolumeBound, 2)
	inv, u := New(), &fact.Update{}
	told := func(object any) (labels string, n int) {
		t.Helper()
		if err := inv.Set(object, Live(at(10))); err != nil {
			t.Fatal(err)
		}
		inv.Take(u)
		for _, v := range u.Volumes {
			labels = v.ClaimLabels.Get("tier") + "," + v.NamespaceLabels.Get("team") + "," + v.ClaimLabels.Get("none")
		}
		return labels, len(u.Volumes)
	}
	told(volume)
	for i, step := range []struct {
		object any
		want   string
		n      int
	}{
		{claim, "gold,,", 1},
		{namespaceOf(claim.Namespace, "n1", map[string]string{"team": "red"}), "gold,red,", 1},
		{namespaceOf(claim.Namespace, "n1", map[string]string{"team": "red"}), "", 0},
		{namespaceOf("other", "n2", map[string]string{"team": "blue"}), "", 0},
		{namespaceOf(claim.Namespace, "n3", map[string]string{"team": "red"}), "", 0}, // deleted and made again
		{namespaceOf(claim.Namespace, "n3", map[string]string{"team": "green"}), "gold,green,", 1},
	} {
		if got, n := told(step.object); got != step.want || n != step.n {
			t.Errorf("step %d: %d states, %q, want %d, %q", i, n, got, step.n, step.want)
		}
	}
	if err := inv.Replace(fact.Namespaces, []any{namespaceOf(claim.Namespace, "n3", map[string]string{"team": "green"})}, Live(at(11))); err != nil {
		t.Fatal(err)
	}
	relabelled := claim.DeepCopy()
	relabelled.Labels["tier"] = "tin"
	if got, n := told(relabelled); got != "tin,green," || n != 1 {
		t.Errorf("%d states, %q", n, got)
	}
	if intern.Pack(map[string]string{"tier": "tin", "app": "db"}) != u.Volumes[0].ClaimLabels {
		t.Error("equal labels differ")
	}
}
