package compare

import (
	"sync"
	"testing"
	"time"
)

// changes end pods and start them again, so that each rival finds the cluster as the one before did.
type changes struct {
	pods int
	// end and start change a pod, and call sent right before the request that is to show.
	end, start func(pod int, sent func()) error
	prepare    func(pod int) error // nil, or a change of its own before the start
	// received returns when a bare watch got the event of a change, or zero if it has not. It is nil without a bare watch.
	received func(pod int, runs bool) time.Time
}

// changesPerSecond is how many changes of pods a second are asked for.
const changesPerSecond = 1000

// changesVisible ends all pods, and then starts them again, while it scrapes. It returns the time of each change
// from before the request to the end of the first scrape that shows it, the part of that after a bare watch got the
// event, and the rate of changes. Nobody waits for the creation of a pod, which is a change as well.
func changesVisible(t testing.TB, m *measured, podOf func([]byte) (int, bool, bool), c changes) (times, own []time.Duration, rate float64) {
	t.Helper()
	w := &watcher{measured: m, podOf: podOf, received: c.received, sent: make([]time.Time, c.pods)}
	ending := atRateSeen(t, w, false, c.pods, func() float64 {
		return atRate(t, c.pods, changesPerSecond, func(i int) error { return c.end(i, func() { w.note(i) }) })
	})
	perPod := 1.0
	if c.prepare != nil {
		perPod = 2
	}
	starting := perPod * atRateSeen(t, w, true, c.pods, func() float64 {
		return atRate(t, c.pods, changesPerSecond/perPod, func(i int) error {
			if c.prepare != nil {
				if err := c.prepare(i); err != nil {
					return err
				}
			}
			return c.start(i, func() { w.note(i) })
		})
	})
	t.Logf("pods ended at %.0f and started at %.0f changes a second, %d scrapes", ending, starting, w.scrapes)
	return w.times, w.own, min(ending, starting)
}

// watcher scrapes to see changes.
type watcher struct {
	measured *measured
	podOf    func([]byte) (int, bool, bool)
	received func(pod int, runs bool) time.Time
	times    []time.Duration
	own      []time.Duration // of the times, after a bare watch was received
	scrapes  int

	mu   sync.Mutex
	sent []time.Time // zero when it has been seen, or was not sent
}

func (w *watcher) note(pod int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent[pod] = time.Now()
}

// atRateSeen lets do make the changes, and scrapes until all of them show.
func atRateSeen(t testing.TB, w *watcher, runs bool, n int, do func() float64) (rate float64) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		rate = do()
	}()
	before := len(w.times)
	var end time.Time // when the last change must show
	for len(w.times)-before < n {
		w.look(t, runs)
		select {
		case <-done:
			if end.IsZero() {
				end = time.Now().Add(time.Minute)
			}
			if time.Now().After(end) {
				t.Errorf("%d of %d changes do not show", n-(len(w.times)-before), n)
				return rate
			}
		default:
		}
		time.Sleep(50 * time.Millisecond)
	}
	<-done
	return rate
}

// look scrapes once. Only changes that were sent before the scrape count as seen in it.
func (w *watcher) look(t testing.TB, runs bool) {
	t.Helper()
	running := make([]bool, len(w.sent))
	began := time.Now()
	if _, err := w.measured.scrape("identity", func(line []byte) {
		if pod, runs, ok := w.podOf(line); ok && pod < len(running) {
			running[pod] = runs
		}
	}); err != nil {
		t.Error(err)
		return
	}
	now := time.Now()
	w.scrapes++
	w.mu.Lock()
	defer w.mu.Unlock()
	for pod, sent := range w.sent {
		if !sent.IsZero() && sent.Before(began) && running[pod] == runs {
			w.times = append(w.times, now.Sub(sent))
			if w.received != nil {
				received := w.received(pod, runs)
				if received.IsZero() { // it is late
					received = now
				}
				w.own = append(w.own, now.Sub(received))
			}
			w.sent[pod] = time.Time{}
		}
	}
}
