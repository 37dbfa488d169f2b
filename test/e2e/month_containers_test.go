package e2e

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// allKinds: a pod has every kind of volume that needs no volume object, and the kinds that are not storage.
func allKinds(s *story) {
	s.create(s.Claim("kinds-a", "standard"), s.Claim("kinds-b", "nfs"))
	csi := &corev1.CSIVolumeSource{Driver: "csi.localcluster.kubevoltracker.io", VolumeAttributes: map[string]string{"share": "inline"}}
	readOnlyClaim := harness.ClaimVolume("kinds-b")
	readOnlyClaim.PersistentVolumeClaim.ReadOnly = true
	optional := true
	pod := s.Pod("kinds", harness.ClaimVolume("kinds-a"), readOnlyClaim,
		harness.InlineVolume("scratch", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}),
		harness.InlineVolume("host", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/srv"}}),
		harness.InlineVolume("csi", corev1.VolumeSource{CSI: csi}),
		harness.InlineVolume("nfs", corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "filer", Path: "/inline"}}),
		harness.InlineVolume("nfs-ro", corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "filer", Path: "/inline", ReadOnly: true}}),
		harness.InlineVolume("iscsi", corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{TargetPortal: "san:3260", IQN: "iqn.2016-06.example:month", Lun: 3}}),
		harness.InlineVolume("image", corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "models:1"}}),
		harness.InlineVolume("secret", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "absent", Optional: &optional}}),
		harness.InlineVolume("downward", corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{}}),
	)
	pod.Spec.Volumes = append(pod.Spec.Volumes, harness.InlineVolume("unused", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}))
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "reader", Image: "reader:1", VolumeMounts: []corev1.VolumeMount{
		{Name: "kinds-a", MountPath: "/a", ReadOnly: true}, {Name: "kinds-b", MountPath: "/b"},
	}})
	s.create(pod)
	s.running(pod)
}

// block: a container uses a volume as a block device.
func block(s *story) {
	claim := s.Claim("device", "standard")
	mode := corev1.PersistentVolumeBlock
	claim.Spec.VolumeMode = &mode
	pod := s.Pod("san", harness.ClaimVolume(claim.Name))
	pod.Spec.Containers[0].VolumeMounts = nil
	pod.Spec.Containers[0].VolumeDevices = []corev1.VolumeDevice{{Name: claim.Name, DevicePath: "/dev/san"}}
	s.create(claim, pod)
	s.running(pod)
	s.remove(pod)
}

// debugged: an ephemeral container joins a pod that runs, and mounts its volume.
func debugged(s *story) {
	claim := s.Claim("puzzle", "standard")
	pod := s.Pod("puzzled", harness.ClaimVolume(claim.Name))
	s.create(claim, pod)
	s.running(pod)
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon(harness.Container("debugger", harness.ClaimVolume(claim.Name)))}}
	if _, err := s.c.Client.CoreV1().Pods(string(s.Namespace)).UpdateEphemeralContainers(background, pod.Name, pod, metav1.UpdateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.until("is looked into", pod, func() bool { return len(pod.Status.EphemeralContainerStatuses) > 0 })
	s.remove(pod)
}
