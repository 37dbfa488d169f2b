package app_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/catalog/ingest"
	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/cmd/kubevoltracker/app"
	"github.com/kubevoltracker/kubevoltracker/collector"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
	"github.com/kubevoltracker/kubevoltracker/exporter"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// These tests run the tracker in this process, so that the race detector sees it start, restore, refuse and stop.

func appOptions(t *testing.T) app.Options {
	t.Helper()
	return app.Options{
		Client: collector.ClientOptions{Kubeconfig: harness.Cluster(t).Kubeconfig, UserAgent: "test"}, DataDir: t.TempDir(), JournalBytes: 1 << 30,
		Web: exporter.ServerOptions{ListenAddresses: []string{"127.0.0.1:0"}}, Metrics: exporter.Options{PerVolume: true},
		Features: collector.Features{Owners: true, Attachments: true, StorageCapacity: true},
		Catalog:  catalog.Options{URL: app.NoCatalog}, Logger: log.NewLogfmtLogger(log.NewSyncWriter(t.Output())),
	}
}

// runningApp is a tracker in this process.
type runningApp struct {
	url  string
	stop func() error // stops it, and returns the error of Run
}

func runApp(t *testing.T, o app.Options) *runningApp {
	t.Helper()
	a, err := app.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	stopped := false
	r := &runningApp{url: a.URL()}
	r.stop = func() (err error) {
		if !stopped {
			stopped = true
			cancel()
			err = <-ended
		}
		return err
	}
	t.Cleanup(func() { _ = r.stop() })
	harness.Eventually(t, "it is ready", func() error { _, err := r.get("/readyz"); return err })
	return r
}

func (r *runningApp) get(path string) (string, error) {
	answer, err := http.Get(r.url + path)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status + ": " + string(body))
	}
	return string(body), err
}

// expectLine waits until the metrics have a line.
func (r *runningApp) expectLine(t *testing.T, line string) {
	t.Helper()
	harness.Eventually(t, line, func() error {
		body, err := r.get("/metrics")
		if err == nil && !strings.Contains(body, "\n"+line+"\n") {
			err = errors.New("the metrics lack it")
		}
		return err
	})
}

// TestRestartGoesOnFromTheJournalOrTheCatalog counts claims over a restart from the journal, and, after the loss of
// the journal, over one from a real catalog.
func TestRestartGoesOnFromTheJournalOrTheCatalog(t *testing.T) {
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "app-restores")
	claim := func(name string) {
		t.Helper()
		if _, err := c.Client.CoreV1().PersistentVolumeClaims(ns).Create(t.Context(), &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	o := appOptions(t)
	var logged bytes.Buffer
	o.Logger = log.NewLogfmtLogger(log.NewSyncWriter(io.MultiWriter(t.Output(), &logged)))
	o.Catalog.URL, o.Catalog.Password = harness.StartClickHouse(t).URL("kubevoltracker"), catalogtest.Password
	written := func() string { return ask(t, o.Catalog, "SELECT count() FROM claims WHERE namespace = '"+ns+"'") }

	r := runApp(t, o)
	claim("first")
	harness.Eventually(t, "the claim is in the catalog", func() error {
		if n := written(); n != "1" {
			return errors.New(n + " claims")
		}
		return nil
	})
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := http.Get(r.url + "/metrics"); err == nil {
		t.Error("it still serves")
	}
	instance := ask(t, o.Catalog, "SELECT DISTINCT instance FROM checkpoints")
	if instance == "" || !regexp.MustCompile(`msg=tracking .*instance=`+regexp.QuoteMeta(instance)+`\n`).Match(logged.Bytes()) {
		t.Errorf("the log does not say that this is the instance %q:\n%s", instance, &logged)
	}

	claim("second") // no tracker watches
	r = runApp(t, o)
	claim("third")
	created := `SELECT arrayStringConcat(arraySort(groupArray(name)), ' ') FROM changes WHERE kind = 'PersistentVolumeClaim' AND action = 'created' AND namespace = '` + ns + `'`
	expectCreated := func(want string) {
		t.Helper()
		harness.Eventually(t, "each creation is a change", func() error {
			if got := ask(t, o.Catalog, created); got != want {
				return errors.New(got)
			}
			return nil
		})
	}
	expectCreated("first second third")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}

	o.DataDir = t.TempDir()
	claim("fourth")
	r = runApp(t, o)
	expectCreated("first fourth second third")
	r.expectLine(t, "kubevoltracker_leader 1")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
}

// cutOff writes the first transaction of a commit to the journal, while no tracker runs. The transaction has the rows of a running pod.
func cutOff(t *testing.T, o app.Options, pod *corev1.Pod) {
	t.Helper()
	open := func(most int64) *journal.Journal {
		j, err := journal.Open(t.Context(), journal.Options{Path: filepath.Join(o.DataDir, "journal"), MaxBytes: most})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	j := open(0)
	before := j.Stats() // the tracker may not have written all rows
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(before.Bytes + 1) // one batch fills it
	r, err := ingest.NewRecorder(ingest.RecorderOptions{Journal: j, Cluster: o.Cluster})
	if err != nil {
		t.Fatal(err)
	}
	inv, u := inventory.New(), &fact.Update{}
	if err := inv.Set(pod, inventory.Live(fact.At(time.Now()))); err != nil {
		t.Fatal(err)
	}
	inv.Take(u)
	for range 2 { // two updates that are not committed together
		u.Facts.Changes = append(u.Facts.Changes, make([]fact.Change, 5_000)...)
		r.Record(u)
		u = &fact.Update{}
	}
	ended := make(chan error)
	go func() { ended <- r.Run(t.Context()) }()
	harness.Eventually(t, "the first batch is in the journal", func() error {
		if j.Stats().Rows == before.Rows {
			return errors.New("it has no more rows")
		}
		return nil
	})
	if err := errors.Join(j.Close(), <-ended); !errors.Is(err, journal.ErrClosed) {
		t.Fatalf("the commit was not cut off: %v", err)
	}
}

// TestAPodOfACommitThatWasCutOffEnds: the watches do not repeat the pod, which is gone, and its rows are in the catalog.
func TestAPodOfACommitThatWasCutOffEnds(t *testing.T) {
	o := appOptions(t)
	o.Cluster = "east"
	o.Catalog.URL, o.Catalog.Password = harness.StartClickHouse(t).URL("kubevoltracker"), catalogtest.Password
	if err := runApp(t, o).stop(); err != nil {
		t.Fatal(err)
	}
	started := metav1.NewTime(time.Now().Add(-time.Minute).Truncate(time.Second))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "job-x", Namespace: "jobs", UID: "job-x", ResourceVersion: "1", CreationTimestamp: started}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}}}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}},
	}}
	cutOff(t, o, pod)
	again := time.Now()
	r := runApp(t, o)
	harness.Eventually(t, "the pod, its container and its mount have ended", func() error {
		for _, end := range []string{"deleted_at, deleted_not_before FROM pods", "finished_at, started_at FROM containers", "ended_at, ended_not_before FROM mounts"} {
			columns, table, _ := strings.Cut(end, " FROM ")
			at, notBefore, _ := strings.Cut(columns, ", ")
			bounded := fmt.Sprintf("SELECT count() = 1 AND countIf(%s >= fromUnixTimestamp64Micro(%d) AND %s BETWEEN fromUnixTimestamp64Micro(%d) AND %s) = 1 FROM %s WHERE %s = 'job-x'",
				at, again.UnixMicro(), notBefore, started.UnixMicro(), at, table, map[bool]string{true: "uid", false: "pod_uid"}[table == "pods"])
			if ok := ask(t, o.Catalog, bounded); ok != "1" && ok != "true" {
				return errors.New(table + ": " + ok + ": " + ask(t, o.Catalog, "SELECT toString(tuple("+columns+")) FROM "+table+" LIMIT 1"))
			}
		}
		return nil
	})
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
}

// ask returns the first value of a query's answer.
func ask(t *testing.T, o catalog.Options, query string) string {
	t.Helper()
	c, err := catalog.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	table, err := c.Query(t.Context(), query, nil)
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	if err := table.Write(&out, catalog.Format("csv")); err != nil {
		t.Fatal(err)
	}
	_, rows, _ := strings.Cut(out.String(), "\n")
	return strings.Trim(strings.TrimSpace(rows), `"`)
}

// TestMistakeLeavesNothingOpen makes mistakes. After each, nothing is left open, so that the next attempt works.
func TestMistakeLeavesNothingOpen(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	o := appOptions(t)
	for name, test := range map[string]struct {
		change func(*app.Options)
		usage  bool
		want   string
	}{
		"a kubeconfig that is not there": {func(o *app.Options) { o.Client.Kubeconfig = "/nowhere" }, false, "/nowhere"},
		"a port that is taken":           {func(o *app.Options) { o.Web.ListenAddresses = []string{busy.Addr().String()} }, false, "--web.listen-address"},
		"a path that is no path":         {func(o *app.Options) { o.Web.TelemetryPath = "metrics" }, true, "--web.telemetry-path"},
		"a catalog of another kind":      {func(o *app.Options) { o.Catalog.URL = "mysql://localhost" }, true, "--catalog.url"},
		"a directory that cannot be":     {func(o *app.Options) { o.DataDir = "/dev/null/data" }, false, "--data-dir"},
		"an interval below zero":         {func(o *app.Options) { o.Kubelets.Interval = -time.Second }, true, "--kubelet.interval"},
		"an election of one":             {func(o *app.Options) { o.Election.Enabled = true }, true, "--leader-election"},
		"a journal that is in use": {func(o *app.Options) {
			used := *o
			used.DataDir = filepath.Join(o.DataDir, "used")
			runApp(t, used)
			*o = used
		}, false, "journal"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := o
			test.change(&changed)
			_, err := app.New(t.Context(), changed)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %v, want one line with %s", err, test.want)
			}
			if usage := errors.As(err, new(app.UsageError)); usage != test.usage {
				t.Errorf("it is a mistake in the command line: %v, want %v", usage, test.usage)
			}
		})
	}
	if err := runApp(t, o).stop(); err != nil {
		t.Error(err)
	}
}

// TestNobodyLeadsWithoutACatalog reads the metrics of a tracker that writes no catalog.
func TestNobodyLeadsWithoutACatalog(t *testing.T) {
	body, err := runApp(t, appOptions(t)).get("/metrics")
	if err != nil || strings.Contains(body, "kubevoltracker_leader") || !strings.Contains(body, "kubevoltracker_ready 1") {
		t.Errorf("it says whether it leads, or not that it is ready; %v\n%s", err, body)
	}
}

// TestStartEndsWithItsContext ends the context before the tracker has started.
func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := app.New(ctx, appOptions(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
