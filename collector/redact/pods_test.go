package redact

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// podOfVolumes is a pod with n claims and as many mounts, in the spec and in the status. A tenth of its
// volumes are Secrets.
func podOfVolumes(n int) *corev1.Pod {
	o := &corev1.Pod{}
	c, s := corev1.Container{Name: "main"}, corev1.ContainerStatus{Name: "main"}
	for i := range n {
		v := corev1.Volume{Name: fmt.Sprintf("volume-%d", i)}
		if i%10 == 9 {
			v.Secret = &corev1.SecretVolumeSource{SecretName: v.Name}
		} else {
			v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: v.Name}
		}
		path := "/data/" + v.Name
		o.Spec.Volumes = append(o.Spec.Volumes, v)
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: path})
		s.VolumeMounts = append(s.VolumeMounts, corev1.VolumeMountStatus{Name: v.Name, MountPath: path})
	}
	o.Spec.Containers, o.Status.ContainerStatuses = []corev1.Container{c}, []corev1.ContainerStatus{s}
	return o
}

// TestMountsOfStorageAreKept has pods on both sides of fewVolumes, and one that a scan for each mount
// would make slow; the benchmark below shows how slow.
func TestMountsOfStorageAreKept(t *testing.T) {
	for _, n := range []int{0, 1, 10, fewVolumes, fewVolumes + 1, 20, 5000} {
		o := podOfVolumes(n)
		Policy{}.Object(fact.Pods, o)
		var want, mounts, statuses []string
		for i := range n {
			if i%10 != 9 { // else it is a Secret
				want = append(want, fmt.Sprintf("volume-%d at /data/volume-%d", i, i))
			}
		}
		for _, m := range o.Spec.Containers[0].VolumeMounts {
			mounts = append(mounts, m.Name+" at "+m.MountPath)
		}
		for _, m := range o.Status.ContainerStatuses[0].VolumeMounts {
			statuses = append(statuses, m.Name+" at "+m.MountPath)
		}
		if !slices.Equal(mounts, want) || !slices.Equal(statuses, want) {
			t.Errorf("of %d volumes, %d mounts and %d statuses are kept, want %d", n, len(mounts), len(statuses), len(want))
		}
		if names := namesOf(o.Spec.Volumes); (names.set != nil) != (len(want) > fewVolumes) {
			t.Errorf("of %d kept volumes, a map is made: %v", len(want), names.set != nil)
		}
	}
}

func BenchmarkPodOfManyVolumes(b *testing.B) {
	for _, n := range []int{5, 50, 2500, 5000, 10_000} {
		b.Run(fmt.Sprintf("volumes=%d", n), func(b *testing.B) {
			o := podOfVolumes(n)
			Policy{}.Object(fact.Pods, o)
			b.ReportAllocs()
			for b.Loop() { // of what is redacted already, nothing is dropped
				Policy{}.Object(fact.Pods, o)
			}
		})
	}
}
