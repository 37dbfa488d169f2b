package inventory

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// lastActor names the field manager that wrote last to an object: kubectl-apply,
// kube-controller-manager, a provisioner. It is what the API itself keeps of who
// did it; empty where it keeps nothing.
func lastActor(o metav1.Object) string {
	var actor string
	var last fact.Time
	for _, entry := range o.GetManagedFields() {
		if at := apiTimePtr(entry.Time); actor == "" || at >= last {
			actor, last = entry.Manager, at
		}
	}
	return actor
}
