package e2e

import (
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// jobs: several pods of a Job use one claim; a Job is removed once it has finished; a Job is suspended and resumed.
func jobs(s *story) {
	s.create(s.Claim("batch", "nfs"))
	two, none := int32(2), int32(0)
	reindex := s.Job("reindex", harness.PodSpec(harness.ClaimVolume("batch")))
	reindex.Spec.Completions, reindex.Spec.Parallelism = &two, &two
	swept := s.Job("swept", harness.PodSpec(harness.ClaimVolume("batch")))
	swept.Spec.TTLSecondsAfterFinished = &none
	s.create(reindex, swept)
	s.gone(swept)
	s.finished(reindex)
	paused := s.Job("paused", harness.PodSpec(harness.ClaimVolume("batch")))
	paused.Spec.Template.Annotations = map[string]string{harness.RunSeconds: "600"} // on a slow machine, too, it is suspended before its end
	s.create(paused)
	s.settled("paused", 1)
	s.patch(paused, `{"spec":{"suspend":true}}`)
	s.settled("paused", 0)
	s.until("has not started", paused, func() bool { return paused.Status.StartTime == nil }) // only then may its template change
	s.patch(paused, `{"spec":{"template":`+harness.Annotate(harness.RunSeconds, "2")+`}}`)
	s.patch(paused, `{"spec":{"suspend":false}}`)
	s.finished(paused)
	again := s.Job("again", harness.PodSpec(harness.ClaimVolume("batch")))
	s.create(again)
	s.finished(again)
	s.remove(again)
}

// retriedJob: a container fails and is restarted in its pod until it succeeds.
func retriedJob(s *story) {
	s.create(s.Claim("retry", "standard"))
	job := s.Job("retried", harness.PodSpec(harness.ClaimVolume("retry")))
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	job.Spec.Template.Annotations = map[string]string{harness.RunSeconds: "1", harness.ExitCode: "1"}
	s.create(job)
	harness.Eventually(s.t, "restarted", func() error {
		for _, pod := range s.pods("retried") {
			if len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].RestartCount > 0 {
				s.patch(&pod, harness.Annotate(harness.ExitCode, "0"))
				return nil
			}
		}
		return errors.New("not yet")
	})
	s.finished(job)
}

// failedJob: the pods of a Job fail one after another, and stay.
func failedJob(s *story) {
	s.create(s.Claim("broken", "standard"))
	job := s.Job("failed", harness.PodSpec(harness.ClaimVolume("broken")))
	one := int32(1)
	job.Spec.BackoffLimit = &one
	job.Spec.Template.Annotations = map[string]string{harness.RunSeconds: "1", harness.ExitCode: "1"}
	s.create(job)
	s.finished(job)
}

// cronJob: a CronJob whose status says that it last ran two minutes ago catches up at once. Another Job of it is
// created by hand.
func cronJob(s *story) {
	s.create(s.Claim("reports", "standard"))
	cron := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: "report", Namespace: string(s.Namespace)},
		Spec:       batchv1.CronJobSpec{Schedule: "* * * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: s.Job("", harness.PodSpec(harness.ClaimVolume("reports"))).Spec}},
	}
	cron.Spec.JobTemplate.Spec.Template.Labels = map[string]string{"app": "report"}
	s.create(cron)
	ago := time.Now().Add(-2 * time.Minute).UTC().Format(time.RFC3339)
	s.patch(cron, fmt.Sprintf(`{"status":{"lastScheduleTime":%q}}`, ago), "status")
	s.until("has run", cron, func() bool { return cron.Status.LastSuccessfulTime != nil })
	s.patch(cron, `{"spec":{"suspend":true}}`)
	byHand := s.Job("report-by-hand", cron.Spec.JobTemplate.Spec.Template.Spec)
	byHand.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cron, batchv1.SchemeGroupVersion.WithKind("CronJob"))}
	s.create(byHand)
	s.finished(byHand)
}
