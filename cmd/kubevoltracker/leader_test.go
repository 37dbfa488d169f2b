package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// TestOneOfTwoTrackersWrites has two trackers share a catalog, while claims and pods come
// and go. The one that writes is stopped by a signal for longer than its lease, and woken
// up; then the other one ends in order.
func TestOneOfTwoTrackersWrites(t *testing.T) {
	c := cluster(t)
	ns := c.namespace(t, "leader")
	kubeconfig := c.serviceAccount(t) // with what deploy/rbac.yaml grants
	url := "http://" + startClickHouse(t) + "/kubevoltracker"
	start := func() *tracker {
		p := startTracker(t, kubeconfig, "--leader-election", "--catalog.url="+url)
		p.catalog = url
		return p
	}
	a := start()
	a.awaitLeader(t, "1")
	b := start()
	b.expectReady(t)
	comings := c.churn(t, ns)
	a.expectRows(t, "SELECT count() > 2 FROM claims WHERE namespace = 'leader' AND deleted_at IS NOT NULL", "1")
	b.awaitLeader(t, "0")
	eventually(t, "the first one has written a batch to its end", func() error {
		if a.metrics(t)["kubevoltracker_catalog_batches_total"] == "0" {
			return errors.New("none")
		}
		return nil
	})
	eventually(t, "the one that stands by lets go of what is written", func() error {
		oldest, err := strconv.ParseFloat(b.metrics(t)["kubevoltracker_journal_oldest_fact_seconds"], 64)
		if err == nil && oldest > 8 {
			err = fmt.Errorf("its oldest row has waited for %v s", oldest)
		}
		return err
	})

	signal := func(p *tracker, s syscall.Signal) {
		if err := p.process.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	signal(a, syscall.SIGSTOP)
	defer signal(a, syscall.SIGCONT)
	stopped := time.Now()
	b.awaitLeader(t, "1")
	took := time.Since(stopped)
	t.Logf("the other tracker leads %s after the first was stopped", took.Round(100*time.Millisecond))
	if took > 20*time.Second {
		t.Error("that is more than 20 s")
	}
	written := b.countOf(t)
	b.expectRows(t, fmt.Sprintf("SELECT count() > %d FROM changes WHERE namespace = 'leader'", written), "1")
	signal(a, syscall.SIGCONT)
	a.awaitLeader(t, "0")
	a.expectReady(t)
	b.awaitLeader(t, "1")
	b.expectRows(t, fmt.Sprintf("SELECT count() > %d FROM changes WHERE namespace = 'leader'", b.countOf(t)), "1")

	b.stop(t)
	stopped = time.Now()
	a.awaitLeader(t, "1")
	if took := time.Since(stopped); took > 10*time.Second {
		t.Errorf("an orderly hand-over took %s", took)
	}
	comings.finish(t)
	comings.expect(t, a)
}

// awaitLeader waits until a tracker says whether it leads.
func (p *tracker) awaitLeader(t *testing.T, want string) {
	t.Helper()
	eventually(t, "leader is "+want, func() error {
		if got := p.metrics(t)["kubevoltracker_leader"]; got != want {
			return fmt.Errorf("it is %q", got)
		}
		return nil
	})
}

func (p *tracker) expectReady(t *testing.T) {
	t.Helper()
	eventually(t, "ready", func() error {
		if status, body, err := p.get("/readyz?verbose"); err != nil || status != 200 {
			return fmt.Errorf("%d %s %w", status, body, err)
		}
		return nil
	})
}

func (p *tracker) countOf(t *testing.T) (n int) {
	t.Helper()
	rows, err := p.query("SELECT count() FROM changes WHERE namespace = 'leader'")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(rows[0], &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// comings are what the API says of the claims and pods of a namespace that come and go.
type comings struct {
	stop, unwatch func()
	churning      sync.WaitGroup
	watching      sync.WaitGroup
	namespace     string

	mu    sync.Mutex
	uids  map[string][]string // by kind
	times map[string]string   // of a pod's mount, by its UID: start and end as the API has them
}

// churn makes and deletes claims with a pod each, until the test has it finish.
func (c *localCluster) churn(t *testing.T, ns string) *comings {
	t.Helper()
	x := &comings{namespace: ns, uids: map[string][]string{}, times: map[string]string{}}
	watching, unwatch := context.WithCancel(background)
	churning, stop := context.WithCancel(background)
	x.stop, x.unwatch = stop, unwatch
	t.Cleanup(func() { stop(); x.churning.Wait(); unwatch(); x.watching.Wait() })
	pods, err := c.client.CoreV1().Pods(ns).Watch(watching, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	x.watching.Go(func() {
		for event := range pods.ResultChan() {
			x.note(event)
		}
	})
	for worker := range 3 {
		x.churning.Go(func() {
			for i := 0; churning.Err() == nil; i++ {
				if err := c.comeAndGo(t, x, ns, fmt.Sprintf("w%d-%d", worker, i)); err != nil {
					t.Errorf("churn: %v", err)
					return
				}
			}
		})
	}
	return x
}

// note takes down when a pod's container ran.
func (x *comings) note(event watch.Event) {
	pod, ok := event.Object.(*corev1.Pod)
	if !ok || len(pod.Status.ContainerStatuses) == 0 {
		return
	}
	if s := pod.Status.ContainerStatuses[0].State.Terminated; s != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.times[string(pod.UID)] = seconds(s.StartedAt) + "\t" + seconds(s.FinishedAt)
	}
}

// comeAndGo is the life of a claim and its pod.
func (c *localCluster) comeAndGo(t *testing.T, x *comings, ns, name string) error {
	core := c.client.CoreV1()
	c.claim(t, ns, name, "standard")
	pod := c.pod(t, ns, name, 1, name)
	claim, volume := c.awaitBound(t, ns, name)
	c.await(t, ns, name, corev1.PodSucceeded)
	x.mu.Lock()
	x.uids["Pod"] = append(x.uids["Pod"], string(pod.UID))
	x.uids["PersistentVolumeClaim"] = append(x.uids["PersistentVolumeClaim"], string(claim.UID))
	x.uids["PersistentVolume"] = append(x.uids["PersistentVolume"], string(volume.UID))
	x.mu.Unlock()
	if err := core.Pods(ns).Delete(background, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := core.PersistentVolumeClaims(ns).Delete(background, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	eventually(t, "the volume "+volume.Name+" is gone", func() error {
		_, err := core.PersistentVolumes().Get(background, volume.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
	return nil
}

func (x *comings) finish(t *testing.T) {
	x.stop()
	x.churning.Wait()
	x.unwatch()
	x.watching.Wait()
	t.Logf("%d claims came and went", len(x.uids["Pod"]))
}

// expect compares the catalog with what the API said.
func (x *comings) expect(t *testing.T, p *tracker) {
	t.Helper()
	sorted := func(kind string) []string {
		slices.Sort(x.uids[kind])
		return x.uids[kind]
	}
	for kind, table := range map[string]string{"Pod": "pods", "PersistentVolumeClaim": "claims"} {
		p.expectRows(t, fmt.Sprintf("SELECT uid FROM %s WHERE namespace = '%s' AND deleted_at IS NOT NULL ORDER BY uid", table, x.namespace), sorted(kind)...)
		p.expectRows(t, fmt.Sprintf("SELECT count() FROM %s WHERE namespace = '%s'", table, x.namespace), fmt.Sprint(len(x.uids[kind])))
	}
	p.expectRows(t, fmt.Sprintf("SELECT uid FROM volumes WHERE deleted_at IS NOT NULL AND uid IN (SELECT volume_uid FROM claims WHERE namespace = '%s') ORDER BY uid", x.namespace), sorted("PersistentVolume")...)
	var mounts []string
	for uid, times := range x.times {
		if slices.Contains(x.uids["Pod"], uid) {
			mounts = append(mounts, uid+"\t"+times+"\t1")
		}
	}
	slices.Sort(mounts)
	p.expectRows(t, "SELECT pod_uid, toDateTime(started_at, 'UTC'), toDateTime(ended_at, 'UTC'), ended_at = ended_not_before FROM mounts WHERE namespace = '"+x.namespace+"' ORDER BY pod_uid", mounts...)
	mine := "uid IN (SELECT uid FROM claims WHERE namespace = '" + x.namespace + "' UNION ALL SELECT uid FROM pods WHERE namespace = '" + x.namespace +
		"' UNION ALL SELECT volume_uid FROM claims WHERE namespace = '" + x.namespace + "')"
	n := len(x.uids["Pod"])
	p.expectRows(t, "SELECT concat(action, ' ', details, ' at ', toString(groupArray(tuple(at, resource_version)))) FROM changes WHERE "+mine+
		" GROUP BY uid, action, details HAVING count() > 1", "")
	p.expectRows(t, "SELECT kind, action, count(), uniqExact(uid) FROM changes WHERE action IN ('created', 'bound', 'deleted', 'mounted', 'unmounted', 'released') AND "+mine+
		" GROUP BY kind, action ORDER BY toString(kind), toString(action)", counts(n,
		"PersistentVolume created", "PersistentVolume deleted", "PersistentVolume released", "PersistentVolumeClaim bound", "PersistentVolumeClaim created",
		"PersistentVolumeClaim deleted", "Pod created", "Pod deleted", "Pod mounted", "Pod unmounted")...)
	p.expectRows(t, "SELECT uniqExact(instance) FROM checkpoints", "2")
	p.expectRows(t, "SELECT uniqExact(instance) FROM coverage WHERE kind = 'Pod'", "2")
}

func counts(n int, of ...string) (rows []string) {
	for _, line := range of {
		kind, action, _ := strings.Cut(line, " ")
		rows = append(rows, fmt.Sprintf("%s\t%s\t%d\t%d", kind, action, n, n))
	}
	return rows
}
