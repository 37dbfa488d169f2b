package scale

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/go-kit/log"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/catalog/ingest"
	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

const (
	lives       = 100_000
	livesClaims = 5_000
	// livesCluster tells the rows of the lives from those of the history.
	livesCluster = "ingest"
)

// TestIngest plays pods' lives through the tracker's own parts (inventory, recorder, journal, writer) into the embedded
// engine, as fast as they go, and prints what a row takes: into an empty catalog, and into the one that TestHistory left in
// BENCH_HISTORY_DIR, from which it deletes the rows again. An earlier version has to be measured by its own parts: of what this
// file uses, the version before the tables had partitions (82a6669) lacks harness.StartClickHouseIn and run alone.
func TestIngest(t *testing.T) {
	mounts, _ := strconv.Atoi(os.Getenv("BENCH_HISTORY_MOUNTS"))
	if mounts == 0 {
		t.Skip("it takes minutes: make bench-history")
	}
	if !regexp.MustCompile(os.Getenv("BENCH_HISTORY_ONLY")).MatchString("ingest") {
		t.Skip("BENCH_HISTORY_ONLY does not match ingest")
	}
	result := ingestInto(t, "an empty catalog", t.TempDir())
	filled := filepath.Join(os.Getenv("BENCH_HISTORY_DIR"), fmt.Sprintf("after-%d", mounts))
	if _, err := os.Stat(filled); err == nil {
		result += ingestInto(t, fmt.Sprintf("%d mounts", mounts), filled)
	}
	t.Logf("\n%d lives of pods with two claims each\n"+
		"| into | rows | rows a second | tracker's CPU, µs a row | server's CPU, µs a row | with the merges after it, µs a row |\n|---|--:|--:|--:|--:|--:|\n%s", lives, result)
}

// ingestInto plays the lives into the catalog of a directory, and returns a line of the table.
func ingestInto(t *testing.T, name, dir string) string {
	t.Helper()
	server := harness.StartClickHouseIn(t, dir)
	defer server.End(syscall.SIGTERM)
	c, err := catalog.Open(catalog.Options{URL: server.URL("kubevoltracker"), Password: catalogtest.Password})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitMerges(t, c)
	tracker, engine, began := cpuOf(t, os.Getpid()), cpuOf(t, server.Pid()), time.Now()
	rows := playLives(t, c)
	took := time.Since(began)
	tracker, written := cpuOf(t, os.Getpid())-tracker, cpuOf(t, server.Pid())-engine
	awaitMerges(t, c)
	merged := cpuOf(t, server.Pid()) - engine
	checkLives(t, c)
	micros := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(rows) }
	return fmt.Sprintf("| %s | %d | %.0f | %.1f | %.1f | %.1f |\n", name, rows, float64(rows)/took.Seconds(), micros(tracker), micros(written), micros(merged))
}

// cpuOf returns the CPU time that a process has used.
func cpuOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	fields, err := harness.Stat(pid)
	if err != nil {
		t.Fatal(err)
	}
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond // Linux counts in hundredths of a second
}

// awaitMerges waits until the engine has merged nothing for two seconds.
func awaitMerges(t *testing.T, c *catalog.Catalog) {
	t.Helper()
	quiet := 0
	for deadline := time.Now().Add(5 * time.Minute); quiet < 4 && time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		if quiet++; fmt.Sprint(catalogtest.Rows(t, c, "SELECT count() FROM system.merges")[0][0]) != "0" {
			quiet = 0
		}
	}
}

// checkLives fails the test unless the catalog has all lives, and deletes them.
func checkLives(t *testing.T, c *catalog.Catalog) {
	t.Helper()
	for table, want := range map[string]int{"pods": lives, "containers": lives, "mounts": 2 * lives, "claims": livesClaims, "volumes": livesClaims} {
		if got := fmt.Sprint(catalogtest.Rows(t, c, "SELECT count() FROM "+table+" WHERE cluster = '"+livesCluster+"'")[0][0]); got != fmt.Sprint(want) {
			t.Errorf("%s: %s rows, want %d", table, got, want)
		}
	}
	ended := catalogtest.Rows(t, c, "SELECT count() FROM mounts WHERE cluster = '"+livesCluster+"' AND ended_at IS NOT NULL")[0][0]
	if fmt.Sprint(ended) != fmt.Sprint(2*lives) {
		t.Errorf("%v mounts have ended, want %d", ended, 2*lives)
	}
	for _, row := range catalogtest.Rows(t, c, "SELECT table FROM system.columns WHERE database = currentDatabase() AND name = 'cluster' AND table IN "+
		"(SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree') SETTINGS final = 0") {
		run(t, c, fmt.Sprintf("ALTER TABLE %s DELETE WHERE cluster = '%s' SETTINGS mutations_sync = 1", row[0], livesCluster), nil)
	}
}

// playLives passes the lives to the tracker's parts, and returns the number of rows that they made once ClickHouse has them all.
func playLives(t *testing.T, c *catalog.Catalog) (rows int) {
	t.Helper()
	j, err := journal.Open(journal.Options{Path: filepath.Join(t.TempDir(), "journal"), Logger: log.NewLogfmtLogger(t.Output())})
	if err != nil {
		t.Fatal(err)
	}
	recorder, err := ingest.NewRecorder(ingest.RecorderOptions{Journal: j, Cluster: livesCluster})
	if err != nil {
		t.Fatal(err)
	}
	listed := journal.Batch{Positions: []journal.Position{{Kind: "Pod", ResourceVersion: "1"}}} // or the writer waits for the first lists
	if err := j.Commit(t.Context(), listed); err != nil {
		t.Fatal(err)
	}
	writer := ingest.NewWriter(c, ingest.WriterOptions{Journal: j, Cluster: livesCluster, Document: inventory.Document, Grace: time.Hour, Logger: log.NewLogfmtLogger(t.Output())})
	recording, endRecording := context.WithCancel(context.Background())
	writing, endWriting := context.WithCancel(context.Background())
	recorded, written := make(chan error), make(chan error)
	go func() { recorded <- recorder.Run(recording) }()
	go func() { written <- writer.Run(writing) }()

	inv, u := inventory.New(), &fact.Update{}
	take := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
		inv.Take(u)
		rows += u.Facts.Len()
		recorder.Record(u)
	}
	// An hour's events come in as many seconds as they take.
	began := time.Now().Add(-time.Hour).Truncate(time.Second)
	for i := range livesClaims {
		claim, volume := boundClaim(i, began)
		take(inv.Set(volume, inventory.Live(fact.At(began))))
		take(inv.Set(claim, inventory.Live(fact.At(began))))
	}
	// Of the pod of a tick, the next events come 20 seconds later each.
	const tick, later = 30 * time.Millisecond, 667
	created := func(i int) time.Time { return began.Add(time.Minute + time.Duration(i)*tick) }
	for n := range lives + 3*later {
		for step := range 4 {
			i := n - step*later
			switch {
			case i < 0 || i >= lives:
			case step < 3:
				take(inv.Set(podAt(i, step, created(i)), inventory.Live(fact.At(created(n)))))
			default:
				take(inv.Delete(podAt(i, 2, created(i)), inventory.Live(fact.At(created(n)))))
			}
		}
	}
	endRecording()
	err = <-recorded
	endWriting()
	if err = errors.Join(err, <-written, j.Close()); err != nil {
		t.Fatal(err)
	}
	return rows
}

func uid(kind, i int) types.UID {
	return types.UID(fmt.Sprintf("%08x-0000-4000-8000-%04x%08x", uint32(i)*2654435761, kind, i)) // spread, as UIDs are
}

func namespaceOf(i int) string { return fmt.Sprintf("team-%03d", i%50) }

// boundClaim returns a claim and its volume.
func boundClaim(i int, created time.Time) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume) {
	class, size := "fast", corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(i), Name: fmt.Sprint("data-", i), UID: uid(1, i), ResourceVersion: fmt.Sprint(10 + i), CreationTimestamp: metav1.NewTime(created)},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, StorageClassName: &class, VolumeName: fmt.Sprint("pvc-", uid(1, i)),
			Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: size},
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName, UID: uid(2, i), ResourceVersion: fmt.Sprint(10 + i), CreationTimestamp: metav1.NewTime(created)},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, StorageClassName: class, AccessModes: claim.Spec.AccessModes, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			ClaimRef:               &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: fmt.Sprint("vol-", i)}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}
	return claim, volume
}

// podAt returns a pod that is pending (step 0), runs (1), or has succeeded (2).
func podAt(i, step int, created time.Time) *corev1.Pod {
	claims := [2]int{i % livesClaims, (i + 50*(i/livesClaims+1)) % livesClaims} // two of its namespace
	phase := []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded}[step]
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespaceOf(i), Name: fmt.Sprintf("app-%d-%d", i%40, i), UID: uid(3, i), ResourceVersion: fmt.Sprint(100_000 + i*4 + step),
			CreationTimestamp: metav1.NewTime(created), Labels: map[string]string{"app": fmt.Sprint("app-", i%40)},
		},
		Spec: corev1.PodSpec{
			NodeName:   fmt.Sprint("node-", i%200),
			Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/app:1"}},
		},
		Status: corev1.PodStatus{Phase: phase},
	}
	for n, claim := range claims {
		volume := []string{"data", "logs"}[n]
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprint("data-", claim)},
		}})
		p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: "/" + volume})
	}
	started, ended := metav1.NewTime(created.Add(20*time.Second).Truncate(time.Second)), metav1.NewTime(created.Add(40*time.Second).Truncate(time.Second))
	status := corev1.ContainerStatus{Name: "main"}
	switch step {
	case 1:
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: started}
	case 2:
		status.State.Terminated = &corev1.ContainerStateTerminated{StartedAt: started, FinishedAt: ended, Reason: "Completed"}
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{status}
	return p
}
