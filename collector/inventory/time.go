package inventory

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// almostASecond is the error of the API's times, which are cut to whole seconds: an event may have
// happened up to that much later.
const almostASecond = fact.Time(999_999)

// apiTime converts a time of the API (whole seconds, often absent) to a Time.
func apiTime(t metav1.Time) fact.Time { return fact.At(t.Time) }

func apiTimePtr(t *metav1.Time) fact.Time {
	if t == nil {
		return 0
	}
	return fact.At(t.Time)
}

// earliest returns the earlier of two moments; an absent one does not count.
func earliest(a, b fact.Time) fact.Time {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

func latest(a, b fact.Time) fact.Time { return max(a, b) }
