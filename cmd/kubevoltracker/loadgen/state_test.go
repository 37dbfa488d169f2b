package loadgen

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAStatusShowsTheEarliestStart has containers that were restarted before anybody looked.
func TestAStatusShowsTheEarliestStart(t *testing.T) {
	at := func(second int) metav1.Time { return metav1.Date(2026, 5, 1, 12, 0, second, 0, time.UTC) }
	running := func(second int) corev1.ContainerState {
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(second)}}
	}
	ended := func(start, end int) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: at(start), FinishedAt: at(end)}}
	}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	for _, c := range []struct {
		name                      string
		now, last                 corev1.ContainerState
		started, finished, former int // seconds; 0 for none
	}{
		{"never ran", waiting, corev1.ContainerState{}, 0, 0, 0},
		{"runs", running(5), corev1.ContainerState{}, 5, 0, 0},
		{"runs again", running(9), ended(5, 7), 5, 0, 0},
		{"ended", ended(9, 11), corev1.ContainerState{}, 9, 11, 0},
		{"ended again", ended(9, 11), ended(5, 7), 5, 11, 0},
		{"waits to run again", waiting, ended(5, 7), 5, 0, 7},
		{"its former start is unknown", running(9), corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "ContainerStatusUnknown"}}, 9, 0, 0},
	} {
		pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "other", State: running(1)}, {Name: "main", State: c.now, LastTerminationState: c.last}}}}
		got := containerState(pod, "main")
		for column, pair := range map[string]struct {
			got  *time.Time
			want int
		}{"started": {got.Started, c.started}, "finished": {got.Finished, c.finished}, "former": {got.Former, c.former}} {
			if (pair.got == nil) != (pair.want == 0) || pair.got != nil && pair.got.Second() != pair.want {
				t.Errorf("%s: %s is %v, want second %d", c.name, column, pair.got, pair.want)
			}
		}
	}
}
