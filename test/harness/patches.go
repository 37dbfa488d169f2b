package harness

import "fmt"

// Merge patches.
const (
	DropFinalizers = `{"metadata":{"finalizers":null}}`
	NewRelease     = `{"spec":{"template":{"metadata":{"annotations":{"release":"2"}}}}}` // of a workload's pods
)

// Replicas is the merge patch that scales a workload.
func Replicas(n int) string { return fmt.Sprintf(`{"spec":{"replicas":%d}}`, n) }

// RequestSize is the merge patch by which a claim requests another size.
func RequestSize(s string) string {
	return fmt.Sprintf(`{"spec":{"resources":{"requests":{"storage":%q}}}}`, s)
}

// Annotate is the merge patch that sets an annotation.
func Annotate(k, v string) string { return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, k, v) }

// Rejection is the merge patch of a pod's status by which a kubelet rejects the pod.
func Rejection(reason string) string {
	return fmt.Sprintf(`{"status":{"phase":"Failed","reason":%q,"message":"Pod was rejected","containerStatuses":null,"conditions":null}}`, reason)
}
