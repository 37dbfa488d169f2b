package compare

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubevoltracker/kubevoltracker/catalog/ingest"
	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/cmd/kubevoltracker/app"
	"github.com/kubevoltracker/kubevoltracker/collector"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
	"github.com/kubevoltracker/kubevoltracker/collector/redact"
	"github.com/kubevoltracker/kubevoltracker/exporter"
)

// TestRestore measures a restart from the journal alone, without an API server and ClickHouse: COMPARE_RESTORE
// volumes with their claims, and half as many pods again. The recorder writes the journal; then TestRestoreProcess
// opens and restores it, five times, each time in a process of its own.
// The first of them does not know yet how large the heap is at rest. On a busy machine, compare the CPU time. To
// profile one process, run TestRestoreProcess with RESTORE_JOURNAL=DIRECTORY and -cpuprofile.
func TestRestore(t *testing.T) {
	for _, n := range sizesOf(t, "COMPARE_RESTORE") {
		dir := filepath.Join(t.TempDir(), "journal")
		fillJournal(t, dir, n)
		for range 5 {
			cmd := exec.Command(os.Args[0], "-test.run=^TestRestoreProcess$", "-test.v")
			cmd.Env = append(os.Environ(), restoreJournal+"="+dir)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v:\n%s", err, out)
			}
			for line := range strings.Lines(string(out)) {
				if figures, ok := strings.CutPrefix(line, "restored "); ok {
					fmt.Fprintf(t.Output(), "%d volumes: %s", n, figures)
				}
			}
		}
	}
}

// fillJournal writes a journal as a tracker's first start leaves it behind.
func fillJournal(t *testing.T, dir string, n int) {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Options{Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	r, err := ingest.NewRecorder(ingest.RecorderOptions{Journal: j, Cluster: "bench", WithoutFacts: true, Logger: log.NewLogfmtLogger(os.Stderr)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(background)
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	inv, u, now := inventory.New(), &fact.Update{}, fact.At(time.Now())
	lists := syntheticLists(t, n)
	for _, kind := range fact.Kinds() {
		if err := inv.Replace(kind, lists[kind], inventory.Observation{At: now, Found: true, Version: "1"}); err != nil {
			t.Fatal(err)
		}
		delete(lists, kind)
	}
	for inv.Take(u) {
		r.Record(u)
		*u = fact.Update{}
	}
	for _, kind := range fact.Kinds() {
		u.Positions = append(u.Positions, fact.Position{Kind: kind, ResourceVersion: "1", EventVersion: "1", Since: now, At: now})
	}
	r.Record(u)
	for r.Pending() {
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	if err := errors.Join(<-ended, j.Close()); err != nil {
		t.Fatal(err)
	}
}

// limitGarbage has the garbage collected when the heap is twice as large as at rest, as the tracker does while it
// starts; it does nothing if that size is not known. The function that it returns ends that.
func limitGarbage(rest uint64) (end func()) {
	if rest == 0 {
		return func() {}
	}
	const notHeap = 50 << 20
	users := debug.SetMemoryLimit(int64(2*rest + notHeap))
	debug.SetGCPercent(-1)
	return func() {
		debug.SetMemoryLimit(users)
		app.LimitGarbage()
	}
}

// processorTime returns the CPU time that this process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func liveHeap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// restoreJournal is the environment variable that names the journal which a process is to restore.
const restoreJournal = "RESTORE_JOURNAL"

// TestRestoreProcess is the process that TestRestore starts.
func TestRestoreProcess(t *testing.T) {
	dir := os.Getenv(restoreJournal)
	if dir == "" {
		t.Skip("TestRestore starts it")
	}
	app.LimitGarbage()
	began := time.Now()
	j, err := journal.Open(t.Context(), journal.Options{Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := ingest.RestoreJournal(j)
	if err != nil {
		t.Fatal(err)
	}
	opened := time.Since(began)
	r, err := ingest.NewRecorder(ingest.RecorderOptions{Journal: j, Cluster: "bench", WithoutFacts: true, Logger: log.NewLogfmtLogger(os.Stderr)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(background)
	ended := make(chan error, 2)
	go func() { ended <- r.Run(ctx) }()
	c := restoringCollector(t, snapshot, r)
	endOfStart := limitGarbage(r.LiveHeap())
	restoring := time.Now()
	go func() { ended <- c.Run(ctx) }()
	for c.Synced() != nil {
		time.Sleep(time.Millisecond)
	}
	restored := time.Since(restoring)
	peak, used := memoryOf(t, os.Getpid()).peak, processorTime(t)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	endOfStart()
	for r.Pending() {
		time.Sleep(10 * time.Millisecond)
	}
	debug.FreeOSMemory()
	r.SetLiveHeap(liveHeap())
	fmt.Printf("restored opened %.2f s, restored %.2f s, CPU %.2f s (%.0f %% in %d collections), peak %.0f MB, at rest %.0f MB, allocated %d MB in %d objects\n",
		opened.Seconds(), restored.Seconds(), used.Seconds(), m.GCCPUFraction*100, m.NumGC, peak*mega, memoryOf(t, os.Getpid()).rss*mega,
		m.TotalAlloc>>20, m.Mallocs)
	runtime.KeepAlive(c)
	cancel()
	if err := errors.Join(<-ended, <-ended, j.Close()); err != nil {
		t.Fatal(err)
	}
}

// restoringCollector returns a collector that restores a snapshot, and whose API server answers nothing.
func restoringCollector(t *testing.T, s *fact.Snapshot, r collector.Recorder) *collector.Collector {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	config := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "x", "clusters": [{"name": "x", "cluster": {"server": %q}}],
		"contexts": [{"name": "x", "context": {"cluster": "x"}}]}`, server.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := collector.NewClient(collector.ClientOptions{Kubeconfig: config})
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	e := exporter.New(exporter.Options{Registry: registry, PerVolume: true, MaxVolumes: 100_000})
	return collector.New(collector.Options{
		Client: client, Policy: redact.Policy{}, Exporter: e, Recorder: r, Snapshot: s, Registerer: registry, Logger: log.NewNopLogger(),
		Features: collector.Features{Owners: true, Attachments: true, StorageCapacity: true},
	})
}
