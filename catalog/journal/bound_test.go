package journal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// soon is how long a context lasts that ends while somebody waits, and how often a test looks again.
const soon = 50 * time.Millisecond

// waiter is a context that closes begun as soon as somebody waits for its end.
type waiter struct {
	context.Context
	begun chan struct{}
	once  *sync.Once
}

func newWaiter(t *testing.T) waiter { return waiter{t.Context(), make(chan struct{}), &sync.Once{}} }

// Done implements context.Context.
func (w waiter) Done() <-chan struct{} {
	w.once.Do(func() { close(w.begun) })
	return w.Context.Done()
}

func TestCommitWaitsWhileTheJournalIsFull(t *testing.T) {
	t.Parallel()
	j := openWith(t, Options{Path: filepath.Join(t.TempDir(), "journal"), MaxBytes: 1000})
	commit(t, j, Batch{Facts: make([]byte, 999)})
	commit(t, j, Batch{Facts: make([]byte, 500)}) // the one that goes over it
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	err := j.Commit(ctx, Batch{Facts: []byte("too much")})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "is full") {
		t.Error(err)
	}
	commit(t, j, Batch{State: []Record{{Kind: "Pod", UID: "a", Data: []byte("no facts, no wait")}}})

	committed := make(chan error, 1)
	waiting := newWaiter(t)
	go func() { committed <- j.Commit(waiting, Batch{Facts: []byte("third")}) }()
	<-waiting.begun
	if e := drain(t, j, 2); len(e) != 0 {
		t.Errorf("it did not wait: %+v", e)
	}
	if err := j.Acknowledge(1); err != nil {
		t.Fatal(err)
	}
	if err := <-committed; err != nil {
		t.Fatal(err)
	}
	if e := drain(t, j, 0); len(e) != 2 || e[0].Number != 2 || e[1].Number != 3 {
		t.Errorf("%+v", e)
	}
}

func TestNextWaitsForTheNextBatch(t *testing.T) {
	t.Parallel()
	j := open(t, filepath.Join(t.TempDir(), "journal"))
	found := make(chan Entry)
	waiting := newWaiter(t)
	go func() {
		e, err := j.Next(waiting, 0)
		if err != nil {
			t.Error(err)
		}
		found <- e
	}()
	<-waiting.begun
	commit(t, j, Batch{State: []Record{{Kind: "Pod", UID: "a", Data: []byte("no facts")}}})
	commit(t, j, Batch{Facts: []byte("facts"), Rows: 3})
	if e := <-found; e.Number != 1 || string(e.Facts) != "facts" || e.Rows != 3 {
		t.Errorf("%+v", e)
	}
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if _, err := j.Next(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestCloseEndsAllWhoWait(t *testing.T) {
	t.Parallel()
	j := openWith(t, Options{Path: filepath.Join(t.TempDir(), "journal"), MaxBytes: 1})
	commit(t, j, Batch{Facts: []byte("full")})
	errs := make(chan error, 2)
	next, committing := newWaiter(t), newWaiter(t)
	go func() { _, err := j.Next(next, 1); errs <- err }()
	go func() { errs <- j.Commit(committing, Batch{Facts: []byte("more")}) }()
	<-next.begun
	<-committing.begun
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-errs; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
	for name, err := range map[string]error{
		"Commit": j.Commit(t.Context(), Batch{}), "Acknowledge": j.Acknowledge(1), "Check": j.check(), "Reset": j.Reset(),
		"State": j.State("Pod", func(string, []byte) error { return nil }),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

func TestAnAcknowledgementCostsNoTransactionOfItsOwn(t *testing.T) {
	t.Parallel()
	j := open(t, filepath.Join(t.TempDir(), "journal"))
	for range 100 {
		commit(t, j, Batch{Facts: []byte("facts"), Rows: 1})
	}
	before := j.commits()
	for n := range uint64(99) {
		if err := j.Acknowledge(n + 1); err != nil {
			t.Fatal(err)
		}
	}
	if s := j.Stats(); s.Rows != 1 || s.Bytes != 5 {
		t.Errorf("%+v", s)
	}
	if n := j.commits() - before; n != 0 {
		t.Errorf("%d transactions", n)
	}
	// It is made durable when nothing else comes.
	for deadline := time.Now().Add(time.Minute); j.commits() == before; time.Sleep(soon) {
		if time.Now().After(deadline) {
			t.Fatal("the acknowledgement was forgotten")
		}
	}
	if j.head.Acknowledged != 99 || j.commits() != before+1 {
		t.Errorf("%+v", j.head)
	}
}

func (j *Journal) commits() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.head.Commits
}

func TestARecordWithoutAKeyIsRefused(t *testing.T) {
	t.Parallel()
	j := open(t, filepath.Join(t.TempDir(), "journal"))
	for _, r := range []Record{{UID: "a"}, {Kind: "Pod"}, {Kind: "a\x00b", UID: "a"}, {Kind: undoKind, UID: "a"}, {Kind: "Pod", UID: strings.Repeat("a", maxKey)}} {
		if err := j.Commit(t.Context(), Batch{State: []Record{r}}); err == nil {
			t.Errorf("%.20q was taken", r)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	j := openWith(t, Options{Path: filepath.Join(t.TempDir(), "journal"), MaxBytes: 100_000})
	const writers, each = 4, 60
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			for i := range each {
				err := j.Commit(t.Context(), Batch{Facts: []byte(strings.Repeat(fmt.Sprint(i%10), 10_000)), Rows: 1, State: []Record{{Kind: "Pod", UID: fmt.Sprint(w, i), Data: []byte("x")}}})
				if err != nil {
					t.Error(err)
				}
				j.Stats()
			}
		})
	}
	wait.Go(func() {
		for n := uint64(0); n < writers*each; {
			e, err := j.Next(t.Context(), n)
			if err != nil || e.Number != n+1 || len(e.Facts) != 10_000 {
				t.Errorf("%d after %d, of %d bytes: %v", e.Number, n, len(e.Facts), err)
				return
			}
			n = e.Number
			if err := j.Acknowledge(n); err != nil {
				t.Error(err)
			}
		}
	})
	wait.Wait()
	if len(state(t, j)) != writers*each || j.Stats().Rows != 0 {
		t.Errorf("%d records, %+v", len(state(t, j)), j.Stats())
	}
	if err := j.check(); err != nil {
		t.Error(err)
	}
}
