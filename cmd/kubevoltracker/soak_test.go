package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// soakSeed is the seed of all that is random, printed so that a failure can be run again.
func soakSeed(t testing.TB) uint64 {
	seed := uint64(time.Now().UnixNano()) % 100000
	if text := os.Getenv("SOAK_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("SOAK_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("SOAK_SEED=%d", seed)
	return seed
}

// runner runs a tracker that is killed and started again on one data directory.
type runner struct {
	t          testing.TB
	kubeconfig string
	args       []string
	catalog    string // where the catalog is, if it is not the tracker's own
	p          *tracker
	killed     time.Time
	away       gaps
	starts     int
	warnings   map[string]int
}

func newRunner(t testing.TB, kubeconfig string, args ...string) *runner {
	r := &runner{t: t, kubeconfig: kubeconfig, args: args, warnings: map[string]int{}}
	t.Cleanup(func() {
		if r.p != nil {
			r.stop()
		}
	})
	return r
}

// unsaved is how long what was seen may not be in the journal yet.
const unsaved = 12 * time.Second

// start starts the tracker, and does not wait for it.
func (r *runner) start() {
	r.t.Helper()
	r.p = launchTracker(r.t, r.kubeconfig, r.args...)
	r.starts++
}

// serve waits until the tracker serves and has been told all that it has to be told. The
// gap since it was last killed ends here.
func (r *runner) serve() {
	r.t.Helper()
	r.p.awaitServing(r.t)
	if r.catalog != "" {
		r.p.catalog = r.catalog
	}
	eventually(r.t, "the tracker is ready", func() error {
		if status, body, err := r.p.get("/readyz?verbose"); err != nil || status != 200 {
			return fmt.Errorf("%d %s %w", status, body, err)
		}
		return nil
	})
	if !r.killed.IsZero() {
		r.away = append(r.away, gap{from: r.killed.Add(-unsaved), to: time.Now().Add(5 * time.Second)})
		r.killed = time.Time{}
	}
}

// kill ends the tracker with SIGKILL. It must not have ended by itself.
func (r *runner) kill() {
	r.t.Helper()
	r.ended()
	if r.killed.IsZero() {
		r.killed = time.Now()
	}
	_ = r.p.process.Process.Kill()
	r.p.exited <- errors.Join(<-r.p.exited, errKilled)
}

// ended fails the test if the tracker has ended by itself.
func (r *runner) ended() {
	r.t.Helper()
	select {
	case err := <-r.p.exited:
		r.p.exited <- err
		r.p.mu.Lock()
		defer r.p.mu.Unlock()
		r.t.Fatalf("the tracker has ended by itself: %v\n%v", err, r.p.log[max(0, len(r.p.log)-20):])
	default:
	}
}

// stop ends the tracker in order.
func (r *runner) stop() {
	if r.killed.IsZero() {
		r.killed = time.Now()
	}
	r.p.stop(r.t)
	if r.t.Failed() {
		r.p.mu.Lock()
		defer r.p.mu.Unlock()
		for _, line := range r.p.log[max(0, len(r.p.log)-30):] {
			r.t.Log(line)
		}
	}
}

// settle waits until all that was seen is in the catalog.
func (r *runner) settle() {
	r.t.Helper()
	eventually(r.t, "the journal is empty", func() error {
		r.ended()
		if n := r.p.metrics(r.t)["kubevoltracker_journal_facts"]; n != "0" {
			return fmt.Errorf("%s facts wait", n)
		}
		return nil
	})
}

// soaked is a churn, its truth and the tracker that is to find it.
type soaked struct {
	t     testing.TB
	c     *localCluster
	churn *churn
	log   *auditLog
	stop  func() error
	*runner
}

// soak starts a churn.
func soak(t testing.TB, s scope, seed uint64, workers int, pause time.Duration, r *runner) *soaked {
	t.Helper()
	c := cluster(t)
	log, err := openAuditLog(filepath.Join(c.dir, "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	x := &soaked{t: t, c: c, log: log, runner: r}
	x.churn = startChurn(t, c, s, seed, workers, pause)
	x.stop = x.churn.follow(log)
	return x
}

// verdict ends the churn, waits until all is quiet, and compares the catalog with the
// truth. What is still on its way to it is given some time.
func (x *soaked) verdict() {
	x.t.Helper()
	x.churn.stop()
	eventually(x.t, "the cluster is quiet", x.churn.quiet)
	if err := x.stop(); err != nil {
		x.t.Fatal(err)
	}
	x.settle()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Second) {
		err := x.log.read()
		if err == nil {
			err = logIsComplete(x.c, x.log, x.churn.scope.owns)
		}
		if err == nil {
			truth := truthOf(x.log, x.churn.scope.owns)
			truth.tellEvents()
			var j *judgement
			if j, err = x.churn.scope.judge(truth, x.p, x.away); err == nil {
				if err = j.err(truth); err == nil {
					x.t.Logf("%d things done, %d starts: %s", x.churn.done.Load(), x.starts, j)
					return
				}
			}
		}
		if time.Now().After(deadline) {
			x.t.Fatal(err)
		}
	}
}

// TestKilledAgainAndAgain kills the tracker at random moments, also while it starts, and
// starts it again at once with the same data directory.
func TestKilledAgainAndAgain(t *testing.T) {
	seed := soakSeed(t)
	random := rand.New(rand.NewPCG(seed, 1))
	r := newRunner(t, cluster(t).kubeconfig, "--data-dir="+t.TempDir())
	r.start()
	r.serve() // what was before the first list, nobody knows
	x := soak(t, "killed-", seed, 8, 200*time.Millisecond, r)
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); {
		time.Sleep(time.Duration(random.Int64N(int64(3 * time.Second))))
		r.kill()
		r.start()
	}
	r.serve()
	x.verdict()
}
