package e2e

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// databases: a StatefulSet with an init container and a sidecar is scaled up, down and up again, rolled and deleted.
// Its claims stay.
func databases(s *story) {
	always := corev1.ContainerRestartPolicyAlways
	data := harness.InlineVolume("data", corev1.VolumeSource{})
	spec := corev1.PodSpec{
		InitContainers: []corev1.Container{harness.Container("init", data), harness.Container("sidecar", data)},
		Containers:     []corev1.Container{harness.Container("db", data), harness.Container("backup", data), {Name: "exporter", Image: "exporter:1"}},
	}
	spec.InitContainers[1].RestartPolicy = &always
	spec.Containers[1].VolumeMounts[0].ReadOnly = true
	db := s.StatefulSet("db", "standard", 2, spec)
	s.create(db)
	s.settled("db", 2)
	s.patch(db, harness.Replicas(3))
	s.settled("db", 3)
	s.patch(db, harness.Replicas(1))
	s.settled("db", 1)
	s.patch(db, harness.Replicas(2))
	s.settled("db", 2)
	s.patch(db, harness.NewRelease)
	s.until("is rolled", db, func() bool {
		return db.Status.UpdatedReplicas == 2 && db.Status.CurrentRevision == db.Status.UpdateRevision
	})
	s.settled("db", 2)
	s.remove(db)
	s.settled("db", 0)
	s.remove(s.Claim("data-db-2", ""))
}

// brokers: a StatefulSet deletes the claims of its pods with them.
func brokers(s *story) {
	mq := s.StatefulSet("mq", "late", 3, harness.PodSpec(harness.InlineVolume("data", corev1.VolumeSource{})))
	mq.Spec.Template.Spec.Volumes = nil
	mq.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	mq.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType, WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
	}
	s.create(mq)
	s.settled("mq", 3)
	s.patch(mq, harness.Replicas(1))
	s.settled("mq", 1)
	s.gone(s.Claim("data-mq-1", ""), s.Claim("data-mq-2", ""))
	s.patch(mq, harness.Replicas(2))
	s.settled("mq", 2)
	s.remove(mq)
	s.gone(s.Claim("data-mq-0", ""), s.Claim("data-mq-1", ""))
}

// keptBack is a claim that a finalizer keeps from being deleted.
const keptBack = "data-shrinking-2"

// scaledDown: a StatefulSet is scaled down, and deletes claims. A finalizer keeps one of them, which is owned by a
// pod that is gone.
func scaledDown(s *story) {
	set := s.StatefulSet("shrinking", "standard-retain", 3, harness.PodSpec(harness.InlineVolume("data", corev1.VolumeSource{})))
	set.Spec.Template.Spec.Volumes = nil
	set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType, WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
	}
	set.Spec.VolumeClaimTemplates[0].Labels = map[string]string{"owner": "carla"}
	s.create(set)
	s.settled("shrinking", 3)
	kept := s.Claim(keptBack, "")
	s.patch(kept, fmt.Sprintf(`{"metadata":{"finalizers":["kubernetes.io/pvc-protection",%q]}}`, hold))
	volume := s.bound(s.claimNamed("data-shrinking-1"))
	s.patch(set, harness.Replicas(1))
	s.settled("shrinking", 1)
	s.gone(s.Claim("data-shrinking-1", ""))
	s.inPhase(volume, corev1.VolumeReleased)
	s.until("is to be deleted", kept, func() bool { return kept.DeletionTimestamp != nil })
}
