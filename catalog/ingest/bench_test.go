package ingest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/go-kit/log"
	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// pipeline is the way of the facts: recorder, journal on disk, writer, engine.
type pipeline struct {
	catalog  *catalog.Catalog
	journal  *journal.Journal
	recorder *Recorder
	stop     func()
}

func newPipeline(b *testing.B, database string) *pipeline {
	b.Helper()
	c, err := catalog.Open(catalog.Options{URL: "http://" + sharedAddress + "/" + database, Username: catalogtest.User, Password: catalogtest.Password})
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	p := &pipeline{catalog: c, journal: newJournal(b)}
	if p.recorder, err = NewRecorder(RecorderOptions{Journal: p.journal, Cluster: "east"}); err != nil {
		b.Fatal(err)
	}
	listed := journal.Batch{Positions: []journal.Position{{Kind: "Pod", ResourceVersion: "1"}}} // or the writer waits for the first lists
	if err := p.journal.Commit(b.Context(), listed); err != nil {
		b.Fatal(err)
	}
	w := NewWriter(c, WriterOptions{Journal: p.journal, Cluster: "east", Document: inventory.Document, Grace: time.Hour, Logger: log.NewLogfmtLogger(b.Output())})
	recording, endRecording := context.WithCancel(context.Background())
	writing, endWriting := context.WithCancel(context.Background())
	recorded, written := make(chan error), make(chan error)
	go func() { recorded <- p.recorder.Run(recording) }()
	go func() { written <- w.Run(writing) }()
	p.stop = func() {
		endRecording()
		err := <-recorded
		endWriting()
		if err = errors.Join(err, <-written); err != nil {
			b.Error(err)
		}
		_ = c.Close()
	}
	return p
}

// BenchmarkFacts is how fast rows get through the journal into the embedded engine, each
// on disk before the next step counts; what the journal and the engine write for one, and
// what the engine keeps of it once its parts are merged, as columns (raw) and compressed.
// The rows are mounts with random UIDs, none of them recorded twice.
func BenchmarkFacts(b *testing.B) {
	database := fmt.Sprint("benchmark_facts_", time.Now().UnixNano())
	p := newPipeline(b, database)
	const perUpdate = 20_000
	u := &fact.Update{}
	began := fact.At(time.Now())
	ask := func(sql string, into ...any) {
		if err := ask(p.catalog, sql, into...); err != nil {
			b.Fatal(err)
		}
	}
	var written, writtenBefore uint64
	const engineWrote = "SELECT sum(value) FROM system.events WHERE event = 'WriteBufferFromFileDescriptorWriteBytes'"
	ask(engineWrote, &writtenBefore)
	before := bytesWritten(b)
	start := time.Now()
	n := 0
	for b.Loop() {
		b.StopTimer()
		u.Facts.Mounts = u.Facts.Mounts[:0]
		for i := range perUpdate {
			claim := uuid.NewString()
			u.Facts.Mounts = append(u.Facts.Mounts, fact.Mount{
				Version: uint64(n*perUpdate + i), Namespace: "shop", PodUID: uuid.NewString(), Container: "main", Volume: "data", MountPath: "/data",
				SourceKind: "csi", ClaimUID: claim, ClaimName: "data", VolumeUID: uuid.NewString(), StartedAt: began + fact.Time((n*perUpdate+i)*1000),
			})
		}
		b.StartTimer()
		p.recorder.Record(u)
		n++
	}
	all := float64(n * perUpdate)
	p.stop()
	b.ReportMetric(all/time.Since(start).Seconds(), "rows/s")
	b.ReportMetric(float64(bytesWritten(b)-before)/all, "journal-written-B/row")

	c, err := catalog.Open(catalog.Options{URL: "http://" + sharedAddress + "/" + database, Username: catalogtest.User, Password: catalogtest.Password})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	p.catalog = c
	rows(b, c, "OPTIMIZE TABLE mounts FINAL")
	ask(engineWrote, &written)
	var kept, compressed, raw uint64
	ask("SELECT sum(rows), sum(bytes_on_disk), sum(data_uncompressed_bytes) FROM system.parts WHERE database = currentDatabase() AND table = 'mounts' AND active", &kept, &compressed, &raw)
	if kept != uint64(n*perUpdate) {
		b.Errorf("%d rows are there, of %d", kept, n*perUpdate)
	}
	b.ReportMetric(float64(written-writtenBefore)/all, "engine-written-B/row")
	b.ReportMetric(float64(compressed)/all, "disk-B/row")
	b.ReportMetric(float64(raw)/all, "raw-B/row")
	b.ReportMetric(0, "ns/op")
}

// ask scans the last row of an answer.
func ask(c *catalog.Catalog, sql string, into ...any) error {
	return c.Each(context.Background(), "ask", sql, nil, func(rows driver.Rows) error { return rows.Scan(into...) })
}

// bytesWritten is how much this process has written to disk, which is the journal.
func bytesWritten(b *testing.B) int64 {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "write_bytes: "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatal("/proc/self/io has no write_bytes")
	return 0
}

// BenchmarkEventToRow is how long it takes from an event to its rows in ClickHouse while
// 1,000 pods a second change: each starts in an update of its own.
func BenchmarkEventToRow(b *testing.B) {
	const perSecond, events = 1000, 10_000
	for range b.N { // one round takes ten seconds
		p := newPipeline(b, fmt.Sprint("benchmark_latency_", time.Now().UnixNano()))
		seen := make([]time.Time, events)
		var all []time.Duration
		done := make(chan struct{})
		go func() { // looks how far the rows are
			defer close(done)
			for len(all) < events {
				var n uint64
				if err := ask(p.catalog, "SELECT uniqExact(pod_uid) FROM mounts SETTINGS final = 0", &n); err != nil {
					b.Error(err)
					return
				}
				now := time.Now()
				for uint64(len(all)) < n {
					all = append(all, now.Sub(seen[len(all)]))
				}
				time.Sleep(5 * time.Millisecond)
			}
		}()
		inv, u := inventory.New(), &fact.Update{}
		start := time.Now()
		for i := range events {
			time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / perSecond)))
			now := time.Now()
			seen[i] = now
			if err := inv.Set(startedPod(i, now), inventory.Live(fact.At(now))); err != nil {
				b.Fatal(err)
			}
			inv.Take(u)
			p.recorder.Record(u)
		}
		<-done
		p.stop()
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2].Seconds(), "s-p50")
		b.ReportMetric(all[len(all)*99/100].Seconds(), "s-p99")
	}
}

func startedPod(i int, now time.Time) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprint("pod-", i), UID: types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i)),
			ResourceVersion: fmt.Sprint(i + 1), CreationTimestamp: metav1.NewTime(now),
		},
		Spec: corev1.PodSpec{
			NodeName:   "node-1",
			Volumes:    []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			Containers: []corev1.Container{{Name: "main", VolumeMounts: []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}},
		}}},
	}
}

// BenchmarkRestart measures how long it takes to restore a journal: 20,000 pods that have started, each with a document
// and a snapshot.
func BenchmarkRestart(b *testing.B) {
	const pods = 20_000
	p := newPipeline(b, "benchmark_restart")
	inv, u := inventory.New(), &fact.Update{}
	now := time.Now()
	for i := range pods {
		if err := inv.Set(startedPod(i, now), inventory.Live(fact.At(now))); err != nil {
			b.Fatal(err)
		}
		inv.Take(u)
		u.Positions = []fact.Position{{Kind: fact.Pods, ResourceVersion: fmt.Sprint(i), At: fact.At(now)}}
		p.recorder.Record(u)
	}
	p.stop()
	size := float64(p.journal.Stats().FileBytes)
	for b.Loop() {
		known, err := RestoreJournal(p.journal)
		if err != nil {
			b.Fatal(err)
		}
		again := inventory.New()
		if unread, err := again.Restore(known.Objects, known.Version, fact.At(now)); unread != nil || err != nil || again.Count(fact.Pods) != pods {
			b.Fatalf("%d pods, %v", again.Count(fact.Pods), err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/pods*1e6, "µs/pod")
	b.ReportMetric(size/pods, "file-B/pod")
}
