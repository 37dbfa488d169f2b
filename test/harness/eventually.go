package harness

import (
	"testing"
	"time"
)

// Eventually calls try until it returns no error, and fails the test with its last error after two minutes.
// Controllers that share two cores with other tests may need that long.
func Eventually(t testing.TB, what string, try func() error) {
	t.Helper()
	EventuallyWithin(t, 2*time.Minute, what, try)
}

// EventuallyWithin is Eventually with another patience, for what waits for bookmarks: one may come a minute.
func EventuallyWithin(t testing.TB, patience time.Duration, what string, try func() error) {
	t.Helper()
	var err error
	for start := time.Now(); time.Since(start) < patience; time.Sleep(100 * time.Millisecond) {
		if err = try(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}
