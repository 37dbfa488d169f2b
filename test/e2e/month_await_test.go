package e2e

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// running waits until pods run.
func (s *story) running(pods ...*corev1.Pod) {
	s.t.Helper()
	for _, pod := range pods {
		s.until("runs", pod, func() bool { return pod.Status.Phase == corev1.PodRunning })
	}
}

// completed waits until pods have ended.
func (s *story) completed(pods ...*corev1.Pod) {
	s.t.Helper()
	for _, pod := range pods {
		s.until("has ended", pod, func() bool { return harness.HasEnded(pod) })
	}
}

// unschedulable waits until the scheduler has found no node for a pod.
func (s *story) unschedulable(pod *corev1.Pod) {
	s.t.Helper()
	s.until("cannot be scheduled", pod, func() bool {
		return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
		})
	})
}

// bound waits until a claim is bound, and returns its volume.
func (s *story) bound(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	s.t.Helper()
	s.until("is bound", claim, func() bool { return claim.Status.Phase == corev1.ClaimBound })
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName}}
	s.inPhase(volume, corev1.VolumeBound)
	return volume
}

// inPhase waits until a volume is in a phase.
func (s *story) inPhase(volume *corev1.PersistentVolume, phase corev1.PersistentVolumePhase) {
	s.t.Helper()
	s.until("is "+string(phase), volume, func() bool { return volume.Status.Phase == phase })
}

// pods returns the pods of a workload, which have its name as their label app.
func (s *story) pods(app string) []corev1.Pod {
	s.t.Helper()
	list, err := s.c.Client.CoreV1().Pods(string(s.Namespace)).List(background, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		s.t.Fatal(err)
	}
	return list.Items
}

// settled waits until a workload has n pods, all of which run.
func (s *story) settled(app string, n int) {
	s.t.Helper()
	harness.Eventually(s.t, fmt.Sprintf("%s has %d pods", app, n), func() error {
		pods := s.pods(app)
		for i := range pods {
			if pods[i].Status.Phase != corev1.PodRunning || pods[i].DeletionTimestamp != nil {
				return fmt.Errorf("%s is %s", pods[i].Name, pods[i].Status.Phase)
			}
		}
		if len(pods) != n {
			return fmt.Errorf("it has %d", len(pods))
		}
		return nil
	})
}

// finished waits until a job is complete or has failed.
func (s *story) finished(job *batchv1.Job) {
	s.t.Helper()
	s.until("has finished", job, func() bool {
		return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
			return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
		})
	})
}

// claimNamed reads a claim.
func (s *story) claimNamed(name string) *corev1.PersistentVolumeClaim {
	s.t.Helper()
	claim := s.Claim(name, "")
	s.until("is there", claim, func() bool { return true })
	return claim
}
