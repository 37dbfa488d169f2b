package harness

import (
	"fmt"
)

const (
	DropFinalizers = `{"metadata":{"finalizers":null}}`
	NewRelease     = `{"spec":{"template":{"metadata":{"annotations":{"release":"2"}}}}}`
)

func Replicas(n int) string { return fmt.Sprintf(`{"spec":{"replicas":%d}}`, n) }
func RequestSize(s string) string {
	return fmt.Sprintf(`{"spec":{"resources":{"requests":{"storage":%q}}}}`, s)
}
func Annotate(k, v string) string { return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, k, v) }

func Rejection(reason string) string {
	return fmt.Sprintf(`{"status":{"phase":"Failed","reason":%q,"message":"Pod was rejected","containerStatuses":null,"conditions":null}}`, reason)
}
