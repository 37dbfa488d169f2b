package inventory

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// workload is what runs a pod or made a claim.
type workload struct{ kind, name, uid string }

// podWorkload infers a pod's workload from the pod alone: its controller, and
// where that is itself made by another one under a name with a generated
// suffix, the other: a ReplicaSet's pods carry the suffix as a label
// (pod-template-hash), a CronJob's Jobs end in the minute they were due.
func podWorkload(o *corev1.Pod) workload {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil {
		return workload{}
	}
	w := workload{kind: ref.Kind, name: ref.Name, uid: string(ref.UID)}
	switch ref.Kind {
	case "ReplicaSet":
		if hash := o.Labels["pod-template-hash"]; hash != "" {
			if deployment, ok := strings.CutSuffix(ref.Name, "-"+hash); ok {
				return workload{kind: "Deployment", name: deployment}
			}
		}
	case "Job":
		// The controller's name is the CronJob's and the scheduled time in minutes
		// since the epoch: eight digits from 1989 to 2160.
		if i := strings.LastIndexByte(ref.Name, '-'); i > 0 && len(ref.Name)-i-1 == 8 && digits(ref.Name[i+1:]) {
			return workload{kind: "CronJob", name: ref.Name[:i]}
		}
	}
	return w
}

func digits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// claimWorkload returns the controller of a claim, or its only owner: a
// StatefulSet owns its claims if its retention policy says so, without being
// their controller.
func claimWorkload(o *corev1.PersistentVolumeClaim) workload {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil && len(o.OwnerReferences) == 1 {
		ref = &o.OwnerReferences[0]
	}
	if ref == nil {
		return workload{}
	}
	return workload{kind: ref.Kind, name: ref.Name, uid: string(ref.UID)}
}
