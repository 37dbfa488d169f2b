package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// comings is what the API says of the claims and pods of a namespace that come and go.
type comings struct {
	stop, unwatch func()
	churning      sync.WaitGroup
	watching      sync.WaitGroup
	namespace     string

	mu    sync.Mutex
	uids  map[string][]string // by kind
	times map[string]string   // start and end of a pod's container, by the pod's UID
}

// startComings creates and deletes claims, each with a pod, until finish.
func startComings(t *testing.T, c *harness.LocalCluster, ns string) *comings {
	t.Helper()
	x := &comings{namespace: ns, uids: map[string][]string{}, times: map[string]string{}}
	watching, unwatch := context.WithCancel(background)
	churning, stop := context.WithCancel(background)
	x.stop, x.unwatch = stop, unwatch
	t.Cleanup(func() { stop(); x.churning.Wait(); unwatch(); x.watching.Wait() })
	pods, err := c.Client.CoreV1().Pods(ns).Watch(watching, metav1.ListOptions{})
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
				if err := comeAndGo(t, c, x, ns, fmt.Sprintf("w%d-%d", worker, i)); err != nil {
					t.Errorf("churn: %v", err)
					return
				}
			}
		})
	}
	return x
}

// note keeps when a pod's container ran.
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

// comeAndGo creates a claim and a pod, waits until the pod has completed, and deletes both.
func comeAndGo(t *testing.T, c *harness.LocalCluster, x *comings, ns, name string) error {
	core := c.Client.CoreV1()
	c.CreateClaim(t, ns, name, "standard")
	pod := c.CreatePod(t, ns, name, 1, name)
	claim, volume := c.AwaitBound(t, ns, name)
	c.AwaitPod(t, ns, name, corev1.PodSucceeded)
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
	harness.Eventually(t, "the volume "+volume.Name+" is gone", func() error {
		_, err := core.PersistentVolumes().Get(background, volume.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
	return nil
}

// finish ends the workers and the watch.
func (x *comings) finish(t *testing.T) {
	x.stop()
	x.churning.Wait()
	x.unwatch()
	x.watching.Wait()
	t.Logf("%d claims came and went", len(x.uids["Pod"]))
}

// expect compares the catalog with what the API said: rows, changes, and that both trackers wrote checkpoints.
func (x *comings) expect(t *testing.T, p *harness.Tracker) {
	t.Helper()
	sorted := func(kind string) []string {
		slices.Sort(x.uids[kind])
		return x.uids[kind]
	}
	for kind, table := range map[string]string{"Pod": "pods", "PersistentVolumeClaim": "claims"} {
		p.ExpectRows(t, fmt.Sprintf("SELECT uid FROM %s WHERE namespace = '%s' AND deleted_at IS NOT NULL ORDER BY uid", table, x.namespace), sorted(kind)...)
		p.ExpectRows(t, fmt.Sprintf("SELECT count() FROM %s WHERE namespace = '%s'", table, x.namespace), fmt.Sprint(len(x.uids[kind])))
	}
	p.ExpectRows(t, fmt.Sprintf("SELECT uid FROM volumes WHERE deleted_at IS NOT NULL AND uid IN (SELECT volume_uid FROM claims WHERE namespace = '%s') ORDER BY uid", x.namespace), sorted("PersistentVolume")...)
	var mounts []string
	for uid, times := range x.times {
		if slices.Contains(x.uids["Pod"], uid) {
			mounts = append(mounts, uid+"\t"+times+"\t1")
		}
	}
	slices.Sort(mounts)
	p.ExpectRows(t, "SELECT pod_uid, toDateTime(started_at, 'UTC'), toDateTime(ended_at, 'UTC'), ended_at = ended_not_before FROM mounts WHERE namespace = '"+x.namespace+"' ORDER BY pod_uid", mounts...)
	mine := "uid IN (SELECT uid FROM claims WHERE namespace = '" + x.namespace + "' UNION ALL SELECT uid FROM pods WHERE namespace = '" + x.namespace +
		"' UNION ALL SELECT volume_uid FROM claims WHERE namespace = '" + x.namespace + "')"
	n := len(x.uids["Pod"])
	p.ExpectRows(t, "SELECT concat(action, ' ', details, ' at ', toString(groupArray(tuple(at, resource_version)))) FROM changes WHERE "+mine+
		" GROUP BY uid, action, details HAVING count() > 1", "")
	p.ExpectRows(t, "SELECT kind, action, count(), uniqExact(uid) FROM changes WHERE action IN ('created', 'bound', 'deleted', 'mounted', 'unmounted', 'released') AND "+mine+
		" GROUP BY kind, action ORDER BY toString(kind), toString(action)", counts(n,
		"PersistentVolume created", "PersistentVolume deleted", "PersistentVolume released", "PersistentVolumeClaim bound", "PersistentVolumeClaim created",
		"PersistentVolumeClaim deleted", "Pod created", "Pod deleted", "Pod mounted", "Pod unmounted")...)
	bothWrote(t, p)
}

// bothWrote waits until the catalog has checkpoints and coverage of two trackers.
func bothWrote(t *testing.T, p *harness.Tracker) {
	t.Helper()
	p.ExpectRows(t, "SELECT uniqExact(instance) FROM checkpoints", "2")
	p.ExpectRows(t, "SELECT uniqExact(instance) FROM coverage WHERE kind = 'Pod'", "2")
}

// counts are the wanted rows of kinds and actions that happened n times to n objects.
func counts(n int, of ...string) (rows []string) {
	for _, line := range of {
		kind, action, _ := strings.Cut(line, " ")
		rows = append(rows, fmt.Sprintf("%s\t%s\t%d\t%d", kind, action, n, n))
	}
	return rows
}
