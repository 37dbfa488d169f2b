package inventory

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// The API cuts times to whole seconds: what it dates may have happened up to almostASecond later.
const almostASecond = fact.Time(999_999)

// apiTime turns a time of the API (whole seconds, often absent) into a Time.
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
