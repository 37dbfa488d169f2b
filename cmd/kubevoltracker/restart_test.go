package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// away is a namespace in which things end, and come and go, while no tracker watches.
type away struct {
	cluster   *localCluster
	namespace string
}

// newAway makes a volume that was used before and two that are in use.
func newAway(t *testing.T, namespace string) away {
	t.Helper()
	a := away{cluster(t), cluster(t).namespace(t, namespace)}
	for _, claim := range []string{"idle", "left", "kept"} {
		a.cluster.claim(t, a.namespace, claim, "standard")
	}
	a.cluster.pod(t, a.namespace, "before", 1, "idle")
	a.cluster.pod(t, a.namespace, "leaves", 0, "left")
	a.cluster.pod(t, a.namespace, "stays", 0, "kept")
	a.cluster.await(t, a.namespace, "before", corev1.PodSucceeded)
	a.cluster.await(t, a.namespace, "leaves", corev1.PodRunning)
	a.cluster.await(t, a.namespace, "stays", corev1.PodRunning)
	return a
}

// known waits until a tracker has written how things stood before.
func (a away) known(t *testing.T, p *tracker) {
	t.Helper()
	p.expectRows(t, "SELECT claim_name, isNull(ended_at) FROM mounts WHERE namespace = '"+a.namespace+"' ORDER BY claim_name",
		"idle\t0", "kept\t1", "left\t1")
	p.expectRows(t, "SELECT count() FROM coverage WHERE kind = 'Pod'", "1") // the last table of a batch
}

// pass lets things happen: a pod leaves, another one comes and goes with its claim.
func (a away) pass(t *testing.T) (began, ended time.Time) {
	t.Helper()
	began = time.Now()
	a.remove(t, "leaves", "")
	a.cluster.claim(t, a.namespace, "brief", "standard")
	a.cluster.pod(t, a.namespace, "brief", 1, "brief")
	a.cluster.await(t, a.namespace, "brief", corev1.PodSucceeded)
	a.remove(t, "brief", "brief")
	return began, time.Now()
}

// remove deletes a pod, and then a claim, and waits until they are gone.
func (a away) remove(t *testing.T, pod, claim string) {
	t.Helper()
	pods, claims := a.cluster.client.CoreV1().Pods(a.namespace), a.cluster.client.CoreV1().PersistentVolumeClaims(a.namespace)
	if err := pods.Delete(background, pod, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	gone := func(err error) error {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there: %w", err)
	}
	eventually(t, "pod "+pod+" is gone", func() error {
		_, err := pods.Get(background, pod, metav1.GetOptions{})
		return gone(err)
	})
	if claim == "" {
		return
	}
	if err := claims.Delete(background, claim, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "claim "+claim+" is gone", func() error {
		_, err := claims.Get(background, claim, metav1.GetOptions{})
		return gone(err)
	})
}

// kill ends a tracker at once, and its engine with it.
func (p *tracker) kill(t *testing.T) {
	t.Helper()
	if err := p.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.exited <- errors.Join(<-p.exited, errKilled)
}

// bounds asks for two moments of one row.
func (p *tracker) bounds(t *testing.T, sql string) (from, to time.Time) {
	t.Helper()
	rows, err := p.query(sql)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%s: %q, %v", sql, rows, err)
	}
	moments := strings.Split(rows[0], "\t")
	for i, at := range []*time.Time{&from, &to} {
		micros, err := strconv.ParseInt(moments[i], 10, 64)
		if err != nil {
			t.Fatalf("%s: %q", sql, rows)
		}
		*at = time.UnixMicro(micros)
	}
	return from, to
}

// leftWithin holds that the mount of the pod that left has bounds that contain the
// truth: it ended while nobody watched.
func (a away) leftWithin(t *testing.T, p *tracker, began, ended time.Time) {
	t.Helper()
	p.expectRows(t, "SELECT count() FROM mounts WHERE namespace = '"+a.namespace+"' AND claim_name = 'left' AND ended_at IS NOT NULL", "1")
	from, to := p.bounds(t, "SELECT toUnixTimestamp64Micro(assumeNotNull(ended_not_before)), toUnixTimestamp64Micro(assumeNotNull(ended_at)) FROM mounts WHERE namespace = '"+
		a.namespace+"' AND claim_name = 'left'")
	// The API's own times are in whole seconds.
	if from.After(ended) || to.Before(began.Truncate(time.Second)) || to.Before(from) {
		t.Errorf("it ended between %s and %s, and the catalog says between %s and %s", began, ended, from, to)
	}
	p.expectRows(t, "SELECT claim_name FROM mounts WHERE namespace = '"+a.namespace+"' AND ended_at IS NULL", "kept")
}

// TestNothingIsLostWhileTheTrackerIsAway kills the tracker, lets things happen, and
// starts it again: the journal knows how far it was, and the API server what came then.
func TestNothingIsLostWhileTheTrackerIsAway(t *testing.T) {
	a := newAway(t, "away")
	dir := t.TempDir()
	p := startTracker(t, a.cluster.kubeconfig, "--data-dir="+dir)
	a.known(t, p)
	started, _ := p.bounds(t, "SELECT toUnixTimestamp64Micro(started_at), 0 FROM mounts WHERE namespace = 'away' AND claim_name = 'kept'")
	p.kill(t)
	began, ended := a.pass(t)

	p = startTracker(t, a.cluster.kubeconfig, "--data-dir="+dir)
	p.expectRows(t, "SELECT claim_name, end_reason, ended_at = ended_not_before FROM mounts WHERE namespace = 'away' AND claim_name = 'brief'", "brief\tCompleted\t1")
	a.reportsIdle(t, p, began)
	a.leftWithin(t, p, began, ended)
	p.expectRows(t, "SELECT count() FROM claims WHERE namespace = 'away' AND name = 'brief' AND deleted_at IS NOT NULL", "1")
	from, to := p.bounds(t, "SELECT toUnixTimestamp64Micro(assumeNotNull(deleted_not_before)), toUnixTimestamp64Micro(assumeNotNull(deleted_at)) FROM claims WHERE namespace = 'away' AND name = 'brief'")
	if from.After(ended) || to.Before(ended) {
		t.Errorf("the claim was gone by %s, and the catalog says between %s and %s", ended, from, to)
	}
	if again, _ := p.bounds(t, "SELECT toUnixTimestamp64Micro(started_at), 0 FROM mounts WHERE namespace = 'away' AND claim_name = 'kept'"); !again.Equal(started) {
		t.Errorf("the mount that goes on began at %s, and now at %s", started, again)
	}
	eventually(t, "what was missed is caught up with", func() error { // until then there are no counters
		if series := `kubevoltracker_mounts_started_total{namespace="away"}`; p.metrics(t)[series] == "" {
			return fmt.Errorf("there is no %s", series)
		}
		return nil
	})
	metrics := p.metrics(t)
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
	p.expectRows(t, "SELECT count(), countIf(ended_at IS NOT NULL) FROM coverage WHERE kind = 'Pod'", "1\t0")
	// What happens from now on is seen to happen.
	a.remove(t, "stays", "kept")
	p.expectRows(t, "SELECT name, deleted_at = deleted_not_before FROM claims WHERE namespace = 'away' AND deleted_at IS NOT NULL ORDER BY name", "brief\t0", "kept\t1")
	if notes := p.notes(t); strings.Contains(notes, "nobody watched") {
		t.Errorf("there was no gap, and the report notes %q", notes)
	}
	p.expectRows(t, "SELECT count() FROM (SELECT uid, action, count() AS n FROM changes WHERE namespace = 'away' AND action IN ('created', 'deleted', 'bound') GROUP BY uid, action HAVING n > 1)", "0")
}

// reportsIdle holds what the report says right after a start: idle are the volume that was
// used before, since then, and that of the pod that left meanwhile, since some moment of that.
func (a away) reportsIdle(t *testing.T, p *tracker, began time.Time) {
	t.Helper()
	idle := map[string]time.Time{}
	rows := p.report(t, "idle", "--namespace", a.namespace)
	for _, row := range rows {
		since, err := time.Parse(time.RFC3339, fmt.Sprint(row["idle_since"]))
		if err != nil {
			t.Errorf("idle is %v: %v", row, err)
		}
		idle[fmt.Sprint(row["claim"])] = since
	}
	left, before := idle["left"], idle["idle"]
	if len(rows) != 2 || before.After(began) || before.IsZero() || left.Before(began.Truncate(time.Second)) || left.After(time.Now()) {
		t.Errorf("pods ended from %s on, and idle are %v", began, rows)
	}
}

// TestJournalIsLost deletes the journal as well: what the catalog holds open is read
// back and compared with what there is.
func TestJournalIsLost(t *testing.T) {
	a := newAway(t, "lost")
	dir := t.TempDir()
	p := startTracker(t, a.cluster.kubeconfig, "--data-dir="+dir)
	a.known(t, p)
	idle := a.lastUsed(t, p)
	p.kill(t)
	began, ended := a.pass(t)
	a.remove(t, "before", "") // who used the idle volume is not there to tell
	if err := os.RemoveAll(filepath.Join(dir, "journal")); err != nil {
		t.Fatal(err)
	}

	p = startTracker(t, a.cluster.kubeconfig, "--data-dir="+dir)
	a.leftWithin(t, p, began, ended)
	if again := a.lastUsed(t, p); again != idle {
		t.Errorf("the idle volume was last used at %s, and now at %s", idle, again)
	}
	p.expectRows(t, "SELECT count(), uniqExact(instance) FROM coverage WHERE kind = 'Pod'", "2\t2")
	rows := p.report(t, "idle", "--namespace", "lost")
	if len(rows) != 2 {
		t.Errorf("idle are %v", rows)
	}
	if notes := p.notes(t); !strings.Contains(notes, "note: nobody watched cluster ") {
		t.Errorf("the report notes %q", notes)
	}

	// The new journal knows what the lost one did: also what has not changed since.
	p.stop(t)
	a.remove(t, "stays", "kept")
	p = startTracker(t, a.cluster.kubeconfig, "--data-dir="+dir)
	p.expectRows(t, "SELECT count(), countIf(ended_at IS NULL) FROM mounts WHERE namespace = 'lost' AND claim_name = 'kept'", "1\t0")
	p.expectRows(t, "SELECT groupArray(action) FROM (SELECT action FROM changes WHERE namespace = 'lost' AND name = 'kept' AND action IN ('created', 'deleted') ORDER BY at)", "['created','deleted']")
	if again := a.lastUsed(t, p); again != idle {
		t.Errorf("the idle volume was last used at %s, and after another restart at %s", idle, again)
	}
	if lists := p.metrics(t)[`kubevoltracker_watch_lists_total{kind="Pod"}`]; lists != "0" {
		t.Errorf("pods were listed %s times, though the journal is there", lists)
	}
}

// notes is what a report says beside its rows.
func (p *tracker) notes(t *testing.T) string {
	t.Helper()
	report := exec.Command(program(t, "kubevoltracker"), "report", "idle", "--catalog.url="+p.catalog)
	var stderr strings.Builder
	report.Stderr = &stderr
	if err := report.Run(); err != nil {
		t.Fatal(err, stderr.String())
	}
	return stderr.String()
}

// lastUsed is when the volume of the claim "idle" was last used, as the metric says.
func (a away) lastUsed(t *testing.T, p *tracker) string {
	t.Helper()
	claim, err := a.cluster.client.CoreV1().PersistentVolumeClaims(a.namespace).Get(background, "idle", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at := ""
	eventually(t, "the last use is known", func() error {
		for series, value := range p.metrics(t) {
			if strings.HasPrefix(series, "kubevoltracker_volume_last_used_timestamp_seconds{") && strings.Contains(series, `"`+claim.Spec.VolumeName+`"`) {
				at = value
				return nil
			}
		}
		return fmt.Errorf("there is no series of it")
	})
	return at
}

// TestJournalIsLostAndClickHouseAway starts a tracker that can ask nobody what was
// before, until ClickHouse comes.
func TestJournalIsLostAndClickHouseAway(t *testing.T) {
	a := newAway(t, "nobody-knows")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, data := listener.Addr().String(), t.TempDir()
	listener.Close()
	serve := func() (stop func()) {
		server := exec.Command(program(t, "kubevoltracker-clickhouse"), "--data-dir="+data, "--listen-address="+address)
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		return func() {
			_ = server.Process.Signal(os.Interrupt)
			_ = server.Wait()
		}
	}
	url := "http://" + address + "/kubevoltracker"
	stop := serve()
	p := startTracker(t, a.cluster.kubeconfig, "--catalog.url="+url)
	p.catalog = url
	a.known(t, p)
	idle := a.lastUsed(t, p)
	p.kill(t)
	stop()
	began, ended := a.pass(t)
	a.remove(t, "before", "")

	dir := t.TempDir() // another data directory
	for range 2 {      // the second start has a journal, which does not know what was before either
		p = startTracker(t, a.cluster.kubeconfig, "--data-dir="+dir, "--catalog.url="+url)
		p.catalog = url
		eventually(t, "metrics without ClickHouse", func() error {
			if n := p.metrics(t)[`kubevoltracker_namespace_bound_volumes{namespace="nobody-knows",storageclass="standard"}`]; n != "3" {
				return fmt.Errorf("%q bound volumes", n)
			}
			return nil
		})
		p.stop(t)
	}
	p = startTracker(t, a.cluster.kubeconfig, "--data-dir="+dir, "--catalog.url="+url)
	p.catalog = url
	stop = serve()
	t.Cleanup(stop)
	t.Cleanup(func() { p.stop(t) })
	a.leftWithin(t, p, began, ended)
	if again := a.lastUsed(t, p); again != idle {
		t.Errorf("the idle volume was last used at %s, and now at %s", idle, again)
	}
}

// TestTheAPIServerHasForgotten lets the API server forget what happened while the
// tracker was away: a real 410 leads to a list that is compared with the journal.
func TestTheAPIServerHasForgotten(t *testing.T) {
	a := newAway(t, "forgotten")
	dir := t.TempDir()
	p := startTracker(t, a.cluster.kubeconfig, "--data-dir="+dir)
	a.known(t, p)
	p.stop(t)
	began, ended := a.pass(t)
	out, err := exec.Command(program(t, "localcluster"), "restart", "kube-apiserver", "--dir", a.cluster.dir, "--down=1s").CombinedOutput()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	eventually(t, "the API server is back", func() error {
		_, err := a.cluster.client.Discovery().ServerVersion()
		return err
	})
	p = startTracker(t, a.cluster.kubeconfig, "--data-dir="+dir)
	a.leftWithin(t, p, began, ended)
	if lists := p.metrics(t)[`kubevoltracker_watch_lists_total{kind="Pod"}`]; lists == "0" {
		t.Error("pods were not listed: the API server still knew")
	}
	p.expectRows(t, "SELECT count(), countIf(ended_at IS NOT NULL) FROM coverage WHERE kind = 'Pod'", "2\t1")
}
