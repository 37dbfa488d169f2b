package inventory

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTheAnnotatedClassIsALabelThatMetricsCanHave gives claims annotations that the API does not validate.
func TestTheAnnotatedClassIsALabelThatMetricsCanHave(t *testing.T) {
	for annotation, want := range map[string]string{
		"fast":                   "fast",
		"fa\xffst":               "fast",
		"team/fast":              "team_fast",
		strings.Repeat("a", 999): strings.Repeat("a", 253),
		strings.Repeat("é", 200): strings.Repeat("é", 126),
	} {
		o := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{corev1.BetaStorageClassAnnotation: annotation}}}
		if got := claimClass(o); got != want {
			t.Errorf("%q: %q, want %q", annotation, got, want)
		}
	}
}
