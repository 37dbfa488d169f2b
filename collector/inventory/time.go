package inventory

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Time is a moment in microseconds since the Unix epoch, UTC; zero means
// "absent". It takes 8 bytes where time.Time takes 24, which counts when some
// hundred thousand objects are held, and it compares with ==.
type Time int64

// At turns t into a Time; the zero time.Time becomes "absent".
func At(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixMicro())
}

// apiTime turns a time of the API (whole seconds, often absent) into a Time.
func apiTime(t metav1.Time) Time { return At(t.Time) }

func apiTimePtr(t *metav1.Time) Time {
	if t == nil {
		return 0
	}
	return At(t.Time)
}

// Time returns the moment in UTC, the zero time.Time for "absent".
func (t Time) Time() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(t)).UTC()
}

// IsZero reports whether the moment is absent.
func (t Time) IsZero() bool { return t == 0 }

// Seconds returns the moment in seconds since the Unix epoch.
func (t Time) Seconds() float64 { return float64(t) / 1e6 }

// earliest returns the earlier of two moments; an absent one does not count.
func earliest(a, b Time) Time {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

func latest(a, b Time) Time { return max(a, b) }
