package e2e

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// away is a namespace in which pods, claims and a part of the storage come and go while no tracker watches.
type away struct {
	cluster        *harness.LocalCluster
	namespace      string
	removeCapacity func()
}

// newAway creates a volume that was used before, two that are in use, and a part of the storage.
func newAway(t *testing.T, c *harness.LocalCluster, namespace string) away {
	t.Helper()
	a := away{cluster: c, namespace: c.CreateNamespace(t, namespace)}
	a.removeCapacity = storageCapacity(t, c, a.namespace, "part", map[string]string{"zone": a.namespace})
	for _, claim := range []string{"idle", "left", "kept"} {
		a.cluster.CreateClaim(t, a.namespace, claim, "standard")
	}
	a.cluster.CreatePod(t, a.namespace, "before", 1, "idle")
	a.cluster.CreatePod(t, a.namespace, "leaves", 0, "left")
	a.cluster.CreatePod(t, a.namespace, "stays", 0, "kept")
	a.cluster.AwaitPod(t, a.namespace, "before", corev1.PodSucceeded)
	a.cluster.AwaitPod(t, a.namespace, "leaves", corev1.PodRunning)
	a.cluster.AwaitPod(t, a.namespace, "stays", corev1.PodRunning)
	return a
}

// awaitKnown waits until a tracker has written what newAway created.
func (a away) awaitKnown(t *testing.T, p *harness.Tracker) {
	t.Helper()
	p.ExpectRows(t, "SELECT claim_name, isNull(ended_at) FROM mounts WHERE namespace = '"+a.namespace+"' ORDER BY claim_name",
		"idle\t0", "kept\t1", "left\t1")
	p.ExpectRows(t, "SELECT count() FROM storage_capacity WHERE topology = 'zone="+a.namespace+"'", "1")
	p.ExpectRows(t, "SELECT count() FROM coverage WHERE kind = 'Pod'", "1") // a batch reaches this table last
}

// pass deletes a pod and the part of the storage, and lets another pod come and go with its claim. It returns when that began and ended.
func (a away) pass(t *testing.T) (began, ended time.Time) {
	t.Helper()
	began = time.Now()
	a.remove(t, "leaves", "")
	a.removeCapacity()
	a.cluster.CreateClaim(t, a.namespace, "brief", "standard")
	a.cluster.CreatePod(t, a.namespace, "brief", 1, "brief")
	a.cluster.AwaitPod(t, a.namespace, "brief", corev1.PodSucceeded)
	a.remove(t, "brief", "brief")
	return began, time.Now()
}

// remove deletes a pod, and then a claim if there is one, and waits until they are gone.
func (a away) remove(t *testing.T, pod, claim string) {
	t.Helper()
	pods, claims := a.cluster.Client.CoreV1().Pods(a.namespace), a.cluster.Client.CoreV1().PersistentVolumeClaims(a.namespace)
	if err := pods.Delete(background, pod, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	gone := func(err error) error {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there: %w", err)
	}
	harness.Eventually(t, "pod "+pod+" is gone", func() error {
		_, err := pods.Get(background, pod, metav1.GetOptions{})
		return gone(err)
	})
	if claim == "" {
		return
	}
	if err := claims.Delete(background, claim, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "claim "+claim+" is gone", func() error {
		_, err := claims.Get(background, claim, metav1.GetOptions{})
		return gone(err)
	})
}

// bounds asks for two moments of one row, in microseconds.
func bounds(t *testing.T, p *harness.Tracker, sql string) (from, to time.Time) {
	t.Helper()
	rows, err := p.Query(sql)
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

// leftWithin checks that the mount of the pod that was deleted has bounds that contain its end, and that the part of the storage
// has ended. Nobody watched then.
func (a away) leftWithin(t *testing.T, p *harness.Tracker, began, ended time.Time) {
	t.Helper()
	p.ExpectRows(t, "SELECT count() FROM mounts WHERE namespace = '"+a.namespace+"' AND claim_name = 'left' AND ended_at IS NOT NULL", "1")
	from, to := bounds(t, p, "SELECT toUnixTimestamp64Micro(assumeNotNull(ended_not_before)), toUnixTimestamp64Micro(assumeNotNull(ended_at)) FROM mounts WHERE namespace = '"+
		a.namespace+"' AND claim_name = 'left'")
	// The API's times are whole seconds.
	if from.After(ended) || to.Before(began.Truncate(time.Second)) || to.Before(from) {
		t.Errorf("it ended between %s and %s, and the catalog says between %s and %s", began, ended, from, to)
	}
	p.ExpectRows(t, "SELECT claim_name FROM mounts WHERE namespace = '"+a.namespace+"' AND ended_at IS NULL", "kept")
	p.ExpectRows(t, "SELECT count() FROM storage_capacity WHERE topology = 'zone="+a.namespace+"' AND capacity_bytes IS NULL", "1")
}

// reportsIdle checks the report idle after a start: it has the volume that was used before, since then, and the volume
// of the pod that was deleted, since some moment of the absence. That of the claim that came and went is gone once the
// watch of volumes has caught up, too.
func (a away) reportsIdle(t *testing.T, p *harness.Tracker, began time.Time) {
	t.Helper()
	harness.Eventually(t, "two volumes are idle", func() error {
		idle := map[string]time.Time{}
		rows := p.Report(t, "idle", "--namespace", a.namespace)
		for _, row := range rows {
			since, err := time.Parse(time.RFC3339, fmt.Sprint(row["idle_since"]))
			if err != nil {
				return fmt.Errorf("idle is %v: %w", row, err)
			}
			idle[fmt.Sprint(row["claim"])] = since
		}
		left, before := idle["left"], idle["idle"]
		if len(rows) != 2 || before.After(began) || before.IsZero() || left.Before(began.Truncate(time.Second)) || left.After(time.Now()) {
			return fmt.Errorf("pods ended from %s on, and idle are %v", began, rows)
		}
		return nil
	})
}

// notes returns what the report idle prints beside its rows.
func notes(t *testing.T, p *harness.Tracker) string {
	t.Helper()
	report := exec.Command(harness.Program(t, "kubevoltracker"), "report", "idle", "--catalog.url="+p.Catalog)
	var stderr strings.Builder
	report.Stderr = &stderr
	if err := report.Run(); err != nil {
		t.Fatal(err, stderr.String())
	}
	return stderr.String()
}

// notesGap waits until the report idle notes that nobody watched for a while. It does once the catalog has rows about the
// watches that have begun since.
func notesGap(t *testing.T, p *harness.Tracker) {
	t.Helper()
	harness.Eventually(t, "the gap is noted", func() error {
		if notes := notes(t, p); !strings.Contains(notes, "note: nobody watched cluster ") {
			return fmt.Errorf("the report notes %q", notes)
		}
		return nil
	})
}

// lastUsed returns when the volume of the claim "idle" was last used, by its metric.
func (a away) lastUsed(t *testing.T, p *harness.Tracker) string {
	t.Helper()
	claim, err := a.cluster.Client.CoreV1().PersistentVolumeClaims(a.namespace).Get(background, "idle", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at := ""
	harness.Eventually(t, "the last use is known", func() error {
		for series, value := range p.Metrics(t) {
			if strings.HasPrefix(series, "kubevoltracker_volume_last_used_timestamp_seconds{") && strings.Contains(series, `"`+claim.Spec.VolumeName+`"`) {
				at = value
				return nil
			}
		}
		return fmt.Errorf("there is no series of it")
	})
	return at
}
