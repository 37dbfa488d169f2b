package e2e

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestOneOfTwoTrackersWrites has two trackers share a catalog while claims and pods come and go. The leader is
// stopped by SIGSTOP for longer than its lease, and continued; then the other one stops in order. The catalog lacks
// nothing and has nothing twice.
func TestOneOfTwoTrackersWrites(t *testing.T) {
	t.Parallel()
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "leader")
	kubeconfig := c.ServiceAccount(t)
	url := harness.StartClickHouse(t).URL("kubevoltracker")
	start := func() *harness.Tracker {
		p := harness.StartTracker(t, kubeconfig, "--leader-election", "--catalog.url="+url)
		p.Catalog = url
		return p
	}
	makeAbsurdLease(t, c)
	a := start()
	awaitLeader(t, a, "1")
	b := start()
	b.ExpectReady(t)
	comings := startComings(t, c, ns)
	a.ExpectRows(t, "SELECT count() > 2 FROM claims WHERE namespace = 'leader' AND deleted_at IS NOT NULL", "1")
	awaitLeader(t, b, "0")
	harness.Eventually(t, "the first one has written a batch to its end", func() error {
		if a.Metrics(t)["kubevoltracker_catalog_batches_total"] == "0" {
			return errors.New("none")
		}
		return nil
	})
	harness.EventuallyWithin(t, 3*time.Minute, "the standby drops rows that the leader has written", func() error {
		oldest, err := strconv.ParseFloat(b.Metrics(t)["kubevoltracker_journal_oldest_fact_seconds"], 64)
		if err == nil && oldest > 8 {
			err = fmt.Errorf("its oldest row has waited for %v s", oldest)
		}
		return err
	})

	a.Signal(t, syscall.SIGSTOP)
	defer a.Signal(t, syscall.SIGCONT)
	stopped := time.Now()
	awaitLeader(t, b, "1")
	took := time.Since(stopped)
	t.Logf("the other tracker leads %s after the first was stopped", took.Round(100*time.Millisecond))
	if took > 20*time.Second {
		t.Error("that is more than 20 s")
	}
	b.ExpectRows(t, "SELECT max(version) < toUnixTimestamp64Micro(now64(6) + INTERVAL 1 HOUR) FROM claims", "1")
	written := countOf(t, b)
	b.ExpectRows(t, fmt.Sprintf("SELECT count() > %d FROM changes WHERE namespace = 'leader'", written), "1")
	a.Signal(t, syscall.SIGCONT)
	awaitLeader(t, a, "0")
	a.ExpectReady(t)
	awaitLeader(t, b, "1")
	b.ExpectRows(t, fmt.Sprintf("SELECT count() > %d FROM changes WHERE namespace = 'leader'", countOf(t, b)), "1")
	// A batch's changes come before its checkpoints and its coverage: stopped in between, this tracker would have
	// written none of these.
	bothWrote(t, b)

	b.Stop(t)
	stopped = time.Now()
	awaitLeader(t, a, "1")
	if took := time.Since(stopped); took > 10*time.Second {
		t.Errorf("an orderly hand-over took %s", took)
	}
	comings.finish(t)
	comings.expect(t, a)
}

// awaitLeader waits until a tracker's metric leader has a value.
func awaitLeader(t *testing.T, p *harness.Tracker, want string) {
	t.Helper()
	harness.Eventually(t, "leader is "+want, func() error {
		if got := p.Metrics(t)["kubevoltracker_leader"]; got != want {
			return fmt.Errorf("it is %q", got)
		}
		return nil
	})
}

// countOf counts the changes in the test's namespace.
func countOf(t *testing.T, p *harness.Tracker) (n int) {
	t.Helper()
	rows, err := p.Query("SELECT count() FROM changes WHERE namespace = 'leader'")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(rows[0], &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// makeAbsurdLease makes the trackers' Lease by hand, as the API server allows it: without a renewTime, and after the
// last transition that an int32 can count.
func makeAbsurdLease(t *testing.T, c *harness.LocalCluster) {
	t.Helper()
	holder, second, last := strings.Repeat("x", 1<<20), int32(1), int32(math.MaxInt32)
	acquired := metav1.NewMicroTime(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
	if _, err := c.Client.CoordinationV1().Leases("kubevoltracker").Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "kubevoltracker"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &second, LeaseTransitions: &last, AcquireTime: &acquired},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
