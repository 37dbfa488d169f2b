package e2e

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestWorkloadIsTheTopOfTheOwners runs a Job of a CronJob under another name, so that only the chain of owners leads
// to the CronJob.
func TestWorkloadIsTheTopOfTheOwners(t *testing.T) {
	t.Parallel()
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "chain")
	p := harness.StartTracker(t, c.ServiceAccount(t))
	c.CreateClaim(t, ns, "data", "standard")
	cronJob := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: "report"},
		Spec: batchv1.CronJobSpec{Schedule: "0 0 1 1 *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "main", Image: "app:1", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}}},
				Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}},
			}}}}},
	}
	if _, err := c.Client.BatchV1().CronJobs(ns).Create(background, cronJob, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Kubectl(t, "-n", ns, "create", "job", "--from=cronjob/report", "adhoc")
	p.ExpectRows(t, `SELECT p.workload_kind, p.workload_name, m.claim_name FROM mounts m JOIN pods p ON p.uid = m.pod_uid WHERE m.namespace = 'chain'`,
		"CronJob\treport\tdata")
}
