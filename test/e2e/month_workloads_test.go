package e2e

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// web: a Deployment on a shared volume is rolled out and rolled back. One of its pods is evicted.
func web(s *story) {
	s.create(s.Claim("media", "nfs"))
	spec := harness.PodSpec(harness.ClaimVolume("media"), harness.InlineVolume("cache", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}))
	mounts := &spec.Containers[0].VolumeMounts
	*mounts = append(*mounts, corev1.VolumeMount{Name: "media", MountPath: "/thumbnails", SubPath: "thumbnails", ReadOnly: true})
	front := s.Deployment("web", 2, spec)
	s.create(front)
	s.settled("web", 2)
	s.patch(front, harness.NewRelease)
	s.until("is rolled out", front, func() bool {
		return front.Status.ObservedGeneration == front.Generation && front.Status.UpdatedReplicas == 2 && front.Status.Replicas == 2
	})
	s.settled("web", 2)
	s.evict(&s.pods("web")[0])
	s.settled("web", 2)
	s.patch(front, `{"spec":{"template":{"metadata":{"annotations":{"release":null}}}}}`)
	s.until("is taken back", front, func() bool {
		return front.Status.ObservedGeneration == front.Generation && front.Status.UpdatedReplicas == 2 && front.Status.Replicas == 2
	})
	s.settled("web", 2) // they still run
}

// daemonSet: a pod on each node mounts a directory of the node.
func daemonSet(s *story) {
	logs := harness.InlineVolume("logs", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/log"}})
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "shipper", Namespace: string(s.Namespace)},
		Spec:       appsv1.DaemonSetSpec{Selector: harness.Selector("shipper"), Template: harness.PodTemplate("shipper", harness.PodSpec(logs))},
	}
	s.create(set)
	s.until("is everywhere", set, func() bool {
		return set.Status.NumberReady > 0 && set.Status.NumberReady == set.Status.DesiredNumberScheduled
	})
	s.remove(set)
	s.settled("shipper", 0)
}
