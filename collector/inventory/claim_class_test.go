package inventory

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestTheAnnotatedClassIsALabelThatMetricsCanHave gives claims and volumes annotations that the API does not validate.
func TestTheAnnotatedClassIsALabelThatMetricsCanHave(t *testing.T) {
	for annotation, want := range map[string]string{
		"fast":                   "fast",
		"fa\xffst":               "fast",
		"team/fast":              "team_fast",
		strings.Repeat("a", 999): strings.Repeat("a", 253),
		strings.Repeat("é", 200): strings.Repeat("é", 126),
	} {
		claim, volume := pvc("data", "c1", 1, "vol"), pv("vol", "v1", 1, pvc("data", "c1", 1, "vol"), corev1.VolumeBound, 2)
		inSpec := "slow"
		claim.Spec.StorageClassName, volume.Spec.StorageClassName = &inSpec, inSpec
		claim.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: annotation}
		volume.Annotations = claim.Annotations
		_, h := play(t, set(3, volume), set(3, claim))
		expect(t, "the claim's class", h.claims["c1"].StorageClass, want)
		expect(t, "the volume's class", h.volumes["v1"].StorageClass, want)
		expect(t, "the class under which metrics show the claim", h.claimState["c1"].StorageClass, want)
	}
}
