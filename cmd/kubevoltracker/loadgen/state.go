package loadgen

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// moment returns a time of the API in UTC; nil if there is none.
func moment(t *metav1.Time) *time.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	utc := t.UTC()
	return &utc
}

func claimState(c *corev1.PersistentVolumeClaim) *ClaimState {
	s := &ClaimState{
		Phase: string(c.Status.Phase), Volume: c.Spec.VolumeName, Owner: c.Labels["owner"],
		Request: c.Spec.Resources.Requests.Storage().Value(), Capacity: c.Status.Capacity.Storage().Value(),
	}
	if owner := metav1.GetControllerOf(c); owner != nil && owner.Kind == PodKind {
		s.Pod = string(owner.UID)
	}
	return s
}

func volumeState(v *corev1.PersistentVolume) *VolumeState {
	s := &VolumeState{
		Phase: string(v.Status.Phase), PhaseChanged: moment(v.Status.LastPhaseTransitionTime),
		Capacity: v.Spec.Capacity.Storage().Value(), Reclaim: string(v.Spec.PersistentVolumeReclaimPolicy),
	}
	switch {
	case v.Spec.NFS != nil:
		s.Source = NFS
	case v.Spec.ISCSI != nil:
		s.Source = ISCSI
	case v.Spec.CSI != nil:
		s.Source = CSI
	case v.Spec.Local != nil:
		s.Source = Local
	}
	if ref := v.Spec.ClaimRef; ref != nil {
		s.ClaimUID, s.ClaimName = string(ref.UID), ref.Name
	}
	return s
}

func podState(p *corev1.Pod) *PodState {
	s := &PodState{Phase: string(p.Status.Phase), Node: p.Spec.NodeName, Job: p.Labels["batch.kubernetes.io/job-name"], Owner: p.Labels["owner"], Deleting: p.DeletionTimestamp != nil,
		Restarts: p.Spec.RestartPolicy == corev1.RestartPolicyAlways}
	for _, c := range p.Spec.Containers {
		s.Containers = append(s.Containers, containerState(p, c.Name))
		for _, m := range c.VolumeMounts {
			if mount, ok := mountState(p, &m); ok {
				mount.Container = c.Name
				s.Mounts = append(s.Mounts, mount)
			}
		}
	}
	return s
}

func containerState(p *corev1.Pod, name string) ContainerState {
	s := ContainerState{Name: name}
	for _, status := range p.Status.ContainerStatuses {
		switch {
		case status.Name != name:
		case status.State.Running != nil:
			s.Started = moment(&status.State.Running.StartedAt)
		case status.State.Terminated != nil:
			s.Started, s.Finished = moment(&status.State.Terminated.StartedAt), moment(&status.State.Terminated.FinishedAt)
		case status.LastTerminationState.Terminated != nil:
			s.Former = moment(&status.LastTerminationState.Terminated.FinishedAt)
		}
		if last := status.LastTerminationState.Terminated; last != nil && status.Name == name {
			if former := moment(&last.StartedAt); former != nil && (s.Started == nil || former.Before(*s.Started)) {
				s.Started = former
			}
		}
	}
	return s
}

// mountState describes a mount of storage. The other mounts are those of service account tokens.
func mountState(p *corev1.Pod, m *corev1.VolumeMount) (MountState, bool) {
	s := MountState{Volume: m.Name, Path: m.MountPath}
	for _, v := range p.Spec.Volumes {
		switch {
		case v.Name != m.Name:
		case v.PersistentVolumeClaim != nil:
			s.Claim = v.PersistentVolumeClaim.ClaimName
			return s, true
		case v.Ephemeral != nil:
			s.Claim, s.Ephemeral = p.Name+"-"+v.Name, true
			return s, true
		case v.EmptyDir != nil:
			s.Source = "emptyDir"
			return s, true
		}
	}
	return s, false
}
