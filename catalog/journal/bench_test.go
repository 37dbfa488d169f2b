package journal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// objects is how many records the benchmarks' state has: a cluster of 100,000 pods
// with storage.
const objects = 350_000

// filled is a journal whose state has that many records of size bytes.
func filled(b *testing.B, size int) (*Journal, []string) {
	b.Helper()
	j := open(b, filepath.Join(b.TempDir(), "journal"))
	uids := make([]string, objects)
	data := random(size)
	for from := 0; from < objects; from += 10_000 {
		records := make([]Record, 10_000)
		for i := range records {
			uids[from+i] = uuid.NewString()
			records[i] = Record{Kind: "PersistentVolumeClaim", UID: uids[from+i], Data: data}
		}
		commit(b, j, Batch{State: records})
	}
	return j, uids
}

func random(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	return data
}

// written is what the process has sent to disks, in bytes.
func written(b *testing.B) (n int64) {
	b.Helper()
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		b.Skip(err)
	}
	for line := range strings.Lines(string(data)) {
		if _, err := fmt.Sscanf(line, "write_bytes: %d", &n); err == nil {
			return n
		}
	}
	return 0
}

// BenchmarkCommit is a group commit of 1,000 rows that touch 100 objects, with the
// rows taken out as fast as they come.
func BenchmarkCommit(b *testing.B) {
	const rows = 1000
	j, uids := filled(b, 300)
	facts, data := random(rows*200), random(300)
	before := written(b)
	for b.Loop() {
		records := make([]Record, 100)
		for i := range records {
			records[i] = Record{Kind: "PersistentVolumeClaim", UID: uids[rand.IntN(objects)], Data: data}
		}
		commit(b, j, Batch{Facts: facts, Rows: rows, State: records, Positions: []Position{{Kind: "PersistentVolumeClaim", ResourceVersion: "1"}}})
		if err := j.Acknowledge(j.head.Last); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(written(b)-before)/float64(b.N)/rows, "written-B/row")
	b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(j.Stats().FileBytes)/1e6, "file-MB")
}

// BenchmarkOpen opens a journal of 350,000 objects and reads its state.
func BenchmarkOpen(b *testing.B) {
	j, _ := filled(b, 600)
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	var walk time.Duration
	var size int64
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		next := open(b, j.options.Path)
		begun, n := time.Now(), 0
		if err := next.State("PersistentVolumeClaim", func(string, []byte) error { n++; return nil }); err != nil || n != objects {
			b.Fatal(n, err)
		}
		walk += time.Since(begun)
		runtime.ReadMemStats(&after)
		size = next.Stats().FileBytes
		if err := next.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(walk.Seconds()/float64(b.N), "s-walk")
	b.ReportMetric((b.Elapsed()-walk).Seconds()/float64(b.N), "s-open")
	b.ReportMetric(float64(after.HeapSys-before.HeapSys)/1e6, "heap-MB")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/1e6, "alloc-MB")
	b.ReportMetric(float64(size)/1e6, "file-MB")
}

// BenchmarkDrain takes waiting batches of 1,000 rows out one by one.
func BenchmarkDrain(b *testing.B) {
	const rows, batches = 1000, 500
	facts := random(rows * 200)
	drained := 0
	for b.Loop() {
		b.StopTimer()
		j := open(b, filepath.Join(b.TempDir(), "journal"))
		for range batches {
			commit(b, j, Batch{Facts: facts, Rows: rows})
		}
		b.StartTimer()
		for n := uint64(0); n < batches; {
			e, err := j.Next(context.Background(), n)
			if err != nil {
				b.Fatal(err)
			}
			n = e.Number
			if err := j.Acknowledge(n); err != nil {
				b.Fatal(err)
			}
			drained += e.Rows
		}
		if err := j.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(drained)/b.Elapsed().Seconds(), "rows/s")
}
