package e2e

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// namespaceDeleted: a namespace is deleted with pods, claims and a StatefulSet in every state.
func namespaceDeleted(s *story) {
	s.Namespace = monthGoneNamespace
	kept, lost := s.Claim("kept", "standard-retain"), s.Claim("lost", "standard")
	kept.Labels = map[string]string{"owner": "anna"}
	users := []*corev1.Pod{s.Pod("runs", harness.ClaimVolume(kept.Name), harness.ClaimVolume(lost.Name)), s.Pod("runs-too", s.Ephemeral("own", "late"))}
	done, waits := s.Task("done", "1", harness.ClaimVolume(lost.Name)), s.Pod("waits", harness.ClaimVolume("nothing"))
	set := s.StatefulSet("set", "late", 2, harness.PodSpec(harness.InlineVolume("data", corev1.VolumeSource{})))
	set.Spec.Template.Spec.Volumes = nil
	s.create(kept, lost, users[0], users[1], done, waits, set)
	s.running(users...)
	s.completed(done)
	s.settled("set", 2)
	volume := s.bound(kept)
	s.remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: string(s.Namespace)}})
	s.inPhase(volume, corev1.VolumeReleased)
	s.patch(volume, harness.Annotate("month", "over")) // the catalog still knows its claim
}
