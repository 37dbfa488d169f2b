package truth

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// containerUse is a container's use of the volumes that it mounts.
type containerUse struct {
	number uint64 // the resource version that first has its start
	start  time.Time
	end    cell
	exact  cell // whether the end is known exactly; absent while there is no end
}

// useOf returns the use that a container has made of its volumes, if it has started.
func useOf(l *life[*corev1.Pod], name string) (r containerUse, begun bool) {
	for _, v := range l.versions {
		s := statusOf(v.object, name)
		if s == nil {
			continue
		}
		for _, started := range startsOf(s) {
			if r.start.IsZero() {
				r.number, r.start = v.number, started
			}
			if started.Before(r.start) {
				r.start = started
			}
		}
	}
	if r.start.IsZero() {
		return containerUse{}, false
	}
	// kwok may date a start before the pod was created, as a node does whose clock is behind.
	if created := l.last().object.CreationTimestamp.Time; r.start.Before(created) {
		r.start = created
	}
	r.end, r.exact = endOf(l, name), absent
	if r.end != absent {
		r.exact = text(1)
	}
	return r, true
}

// clockOff reports whether a pod's node dates a start before the pod was created or scheduled, as kwok does on a busy machine:
// then a tracker need not believe its dates (rule 3.5 of collector/inventory).
func (t *Truth) clockOff(pod string) bool {
	return slices.ContainsFunc(t.log.pods[types.UID(pod)].versions, func(v revision[*corev1.Pod]) bool {
		earliest := v.object.CreationTimestamp.Time
		for _, c := range v.object.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue && c.LastTransitionTime.After(earliest) {
				earliest = c.LastTransitionTime.Time
			}
		}
		return slices.ContainsFunc(containersOf(v.object), func(c corev1.Container) bool {
			s := statusOf(v.object, c.Name)
			return s != nil && slices.ContainsFunc(startsOf(s), earliest.After)
		})
	})
}

// unreported reports whether no kubelet has dated the end of a use, so that nobody can know it exactly. A pod's
// deletion dates nothing: a kubelet reports how a container ended before it lets the pod go.
func unreported(end cell) bool { return !end.from.IsZero() }

// startsOf returns the starts that a status has.
func startsOf(s *corev1.ContainerStatus) (list []time.Time) {
	if s.State.Running != nil {
		list = append(list, s.State.Running.StartedAt.Time)
	}
	for _, state := range []corev1.ContainerState{s.State, s.LastTerminationState} {
		if state.Terminated != nil {
			list = append(list, state.Terminated.StartedAt.Time)
		}
	}
	return list
}

// endOf returns when a container that has started ended for good: as its status dates it, or when its pod was seen
// to have ended without that.
func endOf(l *life[*corev1.Pod], name string) cell {
	pod := l.last().object
	s := statusOf(pod, name)
	last := s.State.Terminated
	if s.State.Waiting != nil {
		last = s.LastTerminationState.Terminated
	}
	over := firstEnded(l)
	switch {
	case last != nil && (!over.IsZero() || pod.DeletionTimestamp != nil || !restarts(pod, name, last.ExitCode)):
		return exactly(last.FinishedAt.Time)
	case last == nil && !over.IsZero():
		return l.observed(over)
	}
	return absent
}

// firstEnded returns when the request came by which a pod was over, and zero if it is not.
func firstEnded(l *life[*corev1.Pod]) time.Time {
	for _, v := range l.versions {
		if harness.HasEnded(v.object) {
			return v.at
		}
	}
	return l.removed()
}

// restarts reports whether a kubelet restarts a container that ended with an exit code.
func restarts(pod *corev1.Pod, name string, exitCode int32) bool {
	named := func(c corev1.Container) bool { return c.Name == name }
	if i := slices.IndexFunc(pod.Spec.InitContainers, named); i >= 0 {
		if sidecar := pod.Spec.InitContainers[i].RestartPolicy; sidecar != nil && *sidecar == corev1.ContainerRestartPolicyAlways {
			return true
		}
		return exitCode != 0 && pod.Spec.RestartPolicy != corev1.RestartPolicyNever
	}
	if slices.ContainsFunc(pod.Spec.Containers, named) {
		return pod.Spec.RestartPolicy == corev1.RestartPolicyAlways || (pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && exitCode != 0)
	}
	return false // an ephemeral container
}

// statusOf returns the status of a container, and nil if it has none.
func statusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{
		pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses,
	} {
		for i := range list {
			if list[i].Name == container {
				return &list[i]
			}
		}
	}
	return nil
}

// containersOf returns all containers of a pod.
func containersOf(pod *corev1.Pod) []corev1.Container {
	list := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	for i := range pod.Spec.EphemeralContainers {
		list = append(list, corev1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	return list
}
