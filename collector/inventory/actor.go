package inventory

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// lastActor returns the field manager that last wrote to an object: kubectl-apply,
// kube-controller-manager, a provisioner. The API's managedFields name it; the result is empty if
// they are.
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
