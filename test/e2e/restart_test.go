package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestEventsOfAnAbsenceAreReplayed kills the tracker, lets pods and claims come and go, and starts it again. The
// journal has the positions of the watches, and the API server sends what came after them.
func TestEventsOfAnAbsenceAreReplayed(t *testing.T) {
	t.Parallel()
	a := newAway(t, harness.Cluster(t), "away")
	dir := t.TempDir()
	p := harness.StartTracker(t, a.cluster.Kubeconfig, "--data-dir="+dir)
	a.awaitKnown(t, p)
	started, _ := bounds(t, p, "SELECT toUnixTimestamp64Micro(started_at), 0 FROM mounts WHERE namespace = 'away' AND claim_name = 'kept'")
	p.Kill(t)
	began, ended := a.pass(t)

	p = harness.StartTracker(t, a.cluster.Kubeconfig, "--data-dir="+dir)
	p.ExpectRows(t, "SELECT claim_name, end_reason, ended_at = ended_not_before FROM mounts WHERE namespace = 'away' AND claim_name = 'brief'", "brief\tCompleted\t1")
	a.reportsIdle(t, p, began)
	a.leftWithin(t, p, began, ended)
	p.ExpectRows(t, "SELECT count() FROM claims WHERE namespace = 'away' AND name = 'brief' AND deleted_at IS NOT NULL", "1")
	from, to := bounds(t, p, "SELECT toUnixTimestamp64Micro(assumeNotNull(deleted_not_before)), toUnixTimestamp64Micro(assumeNotNull(deleted_at)) FROM claims WHERE namespace = 'away' AND name = 'brief'")
	if from.After(ended) || to.Before(ended) {
		t.Errorf("the claim was gone by %s, and the catalog says between %s and %s", ended, from, to)
	}
	if again, _ := bounds(t, p, "SELECT toUnixTimestamp64Micro(started_at), 0 FROM mounts WHERE namespace = 'away' AND claim_name = 'kept'"); !again.Equal(started) {
		t.Errorf("the mount that goes on began at %s, and now at %s", started, again)
	}
	harness.Eventually(t, "what was missed is caught up with", func() error { // there are no counters before
		if series := `kubevoltracker_mounts_started_total{namespace="away"}`; p.Metrics(t)[series] == "" {
			return fmt.Errorf("there is no %s", series)
		}
		return nil
	})
	metrics := p.Metrics(t)
	for series, want := range map[string]string{
		`kubevoltracker_watch_lists_total{kind="Pod"}`:                                            "0",
		`kubevoltracker_claims_created_total{namespace="away",storageclass="standard"}`:           "1",
		`kubevoltracker_mounts_started_total{namespace="away"}`:                                   "1",
		`kubevoltracker_namespace_bound_volumes{namespace="away",storageclass="standard"}`:        "3",
		`kubevoltracker_namespace_claims{namespace="away",storageclass="standard",phase="Bound"}`: "3",
	} {
		if got := metrics[series]; got != want {
			t.Errorf("%s is %s, want %s", series, got, want)
		}
	}
	p.ExpectRows(t, "SELECT count(), countIf(ended_at IS NOT NULL) FROM coverage WHERE kind = 'Pod'", "1\t0")
	// The tracker observes what happens now.
	a.remove(t, "stays", "kept")
	p.ExpectRows(t, "SELECT name, deleted_at = deleted_not_before FROM claims WHERE namespace = 'away' AND deleted_at IS NOT NULL ORDER BY name", "brief\t0", "kept\t1")
	if notes := notes(t, p); strings.Contains(notes, "nobody watched") {
		t.Errorf("there was no gap, and the report notes %q", notes)
	}
	p.ExpectRows(t, "SELECT count() FROM (SELECT uid, action, count() AS n FROM changes WHERE namespace = 'away' AND action IN ('created', 'deleted', 'bound') GROUP BY uid, action HAVING n > 1)", "0")
}

// TestLostJournalIsReplacedByTheCatalog deletes the journal while the tracker is away. The tracker reads the open
// rows of the catalog back, and compares them with the lists.
func TestLostJournalIsReplacedByTheCatalog(t *testing.T) {
	t.Parallel()
	a := newAway(t, harness.Cluster(t), "lost")
	dir := t.TempDir()
	p := harness.StartTracker(t, a.cluster.Kubeconfig, "--data-dir="+dir)
	a.awaitKnown(t, p)
	idle := a.lastUsed(t, p)
	p.Kill(t)
	began, ended := a.pass(t)
	a.remove(t, "before", "") // the last user of the idle volume is gone
	if err := os.RemoveAll(filepath.Join(dir, "journal")); err != nil {
		t.Fatal(err)
	}

	p = harness.StartTracker(t, a.cluster.Kubeconfig, "--data-dir="+dir)
	a.leftWithin(t, p, began, ended)
	if again := a.lastUsed(t, p); again != idle {
		t.Errorf("the idle volume was last used at %s, and now at %s", idle, again)
	}
	p.ExpectRows(t, "SELECT count(), uniqExact(instance) FROM coverage WHERE kind = 'Pod'", "2\t2")
	rows := p.Report(t, "idle", "--namespace", "lost")
	if len(rows) != 2 {
		t.Errorf("idle are %v", rows)
	}
	notesGap(t, p)

	// The new journal has what the lost one had, also of objects that have not changed since.
	p.Stop(t)
	a.remove(t, "stays", "kept")
	p = harness.StartTracker(t, a.cluster.Kubeconfig, "--data-dir="+dir)
	p.ExpectRows(t, "SELECT count(), countIf(ended_at IS NULL) FROM mounts WHERE namespace = 'lost' AND claim_name = 'kept'", "1\t0")
	p.ExpectRows(t, "SELECT groupArray(action) FROM (SELECT action FROM changes WHERE namespace = 'lost' AND name = 'kept' AND action IN ('created', 'deleted') ORDER BY at)", "['created','deleted']")
	if again := a.lastUsed(t, p); again != idle {
		t.Errorf("the idle volume was last used at %s, and after another restart at %s", idle, again)
	}
	if lists := p.Metrics(t)[`kubevoltracker_watch_lists_total{kind="Pod"}`]; lists != "0" {
		t.Errorf("pods were listed %s times, though the journal is there", lists)
	}
}

// TestLostJournalIsReplacedOnceClickHouseAnswers starts a tracker without a journal while ClickHouse is away, so
// that it can ask nobody what was before, and then starts ClickHouse.
func TestLostJournalIsReplacedOnceClickHouseAnswers(t *testing.T) {
	t.Parallel()
	a := newAway(t, harness.Cluster(t), "nobody-knows")
	server := harness.NewClickHouse(t)
	url := server.URL("kubevoltracker")
	server.Start()
	p := harness.StartTracker(t, a.cluster.Kubeconfig, "--catalog.url="+url)
	p.Catalog = url
	a.awaitKnown(t, p)
	idle := a.lastUsed(t, p)
	p.Kill(t)
	server.End(syscall.SIGTERM)
	began, ended := a.pass(t)
	a.remove(t, "before", "")

	dir := t.TempDir()
	for range 2 { // the second start has a journal, which does not know the past either
		p = harness.StartTracker(t, a.cluster.Kubeconfig, "--data-dir="+dir, "--catalog.url="+url)
		p.Catalog = url
		harness.Eventually(t, "metrics without ClickHouse", func() error {
			if n := p.Metrics(t)[`kubevoltracker_namespace_bound_volumes{namespace="nobody-knows",storageclass="standard"}`]; n != "3" {
				return fmt.Errorf("%q bound volumes", n)
			}
			return nil
		})
		p.Stop(t)
	}
	p = harness.StartTracker(t, a.cluster.Kubeconfig, "--data-dir="+dir, "--catalog.url="+url)
	p.Catalog = url
	server.Start()
	t.Cleanup(func() { p.Stop(t) })
	a.leftWithin(t, p, began, ended)
	if again := a.lastUsed(t, p); again != idle {
		t.Errorf("the idle volume was last used at %s, and now at %s", idle, again)
	}
}

// listsWhatTheAPIServerHasForgotten restarts the API server, which drops the events of the tracker's absence. The
// watch gets a real 410, and a list that is compared with the journal.
func listsWhatTheAPIServerHasForgotten(t *testing.T, c *harness.LocalCluster) {
	a := newAway(t, c, "forgotten")
	dir := t.TempDir()
	p := harness.StartTracker(t, a.cluster.Kubeconfig, "--data-dir="+dir)
	a.awaitKnown(t, p)
	p.Stop(t)
	began, ended := a.pass(t)
	if err := a.cluster.Restart("kube-apiserver", "--down=1s"); err != nil {
		t.Fatal(err)
	}
	a.cluster.AwaitAPI(t)
	p = harness.StartTracker(t, a.cluster.Kubeconfig, "--data-dir="+dir)
	a.leftWithin(t, p, began, ended)
	if lists := p.Metrics(t)[`kubevoltracker_watch_lists_total{kind="Pod"}`]; lists == "0" {
		t.Error("pods were not listed: the API server still knew")
	}
	p.ExpectRows(t, "SELECT count(), countIf(ended_at IS NOT NULL) FROM coverage WHERE kind = 'Pod'", "2\t1")
}

// TestAFullJournalIsNoOrderlyEnd stops a tracker whose last rows do not fit into its journal, as ClickHouse is away: it says so, and fails.
func TestAFullJournalIsNoOrderlyEnd(t *testing.T) {
	t.Parallel()
	c := harness.Cluster(t)
	p := harness.LaunchTracker(t, c.Kubeconfig, "--catalog.url=http://127.0.0.1:1/kubevoltracker", "--journal.max-bytes=1B")
	p.AwaitServing(t)
	harness.Eventually(t, "the journal is full", func() error {
		if rows := p.Metrics(t)["kubevoltracker_journal_facts"]; rows == "" || rows == "0" {
			return fmt.Errorf("it has %q rows", rows)
		}
		return nil
	})
	c.CreateClaim(t, c.CreateNamespace(t, "too-much"), "data", "standard")
	harness.Eventually(t, "the tracker has seen the claim", func() error {
		for series := range p.Metrics(t) {
			if strings.HasPrefix(series, "kubevoltracker_namespace_claims{") && strings.Contains(series, `namespace="too-much"`) {
				return nil
			}
		}
		return errors.New("no series names its namespace")
	})
	p.Signal(t, syscall.SIGTERM)
	if err := p.Wait(); err == nil || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("the tracker ended with %v", err)
	}
	if log := fmt.Sprint(p.Lines()); !strings.Contains(log, "could not be put into it before the end") {
		t.Errorf("it does not say why: %s", log)
	}
}
