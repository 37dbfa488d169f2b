package scale

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/uuid"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/catalog/ingest"
	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

const (
	// ingestCluster is whose rows are written to measure it, and deleted again.
	ingestCluster = "ingest"
	// ingestPods is how many pods are written in one measurement, each with a container and a mount.
	ingestPods = 100_000
)

// ingestRates returns how many rows a second get through the journal into a catalog without history and into the filled one, the better of
// two measurements each, in turn.
func ingestRates(t *testing.T, server *harness.ClickHouse) (empty, filled float64) {
	t.Helper()
	for i := range 2 {
		empty = max(empty, ingestRate(t, server.URL(fmt.Sprint("ingest_empty_", i))))
		filled = max(filled, ingestRate(t, server.URL("kubevoltracker")))
	}
	return empty, filled
}

// ingestRate writes ingestPods through a journal as the tracker does, until ClickHouse has acknowledged the last row.
func ingestRate(t *testing.T, url string) float64 {
	t.Helper()
	c, err := catalog.Open(catalog.Options{URL: url, Username: catalogtest.User, Password: catalogtest.Password})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(t.Context(), journal.Options{Path: filepath.Join(t.TempDir(), "journal")})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	recorder, err := ingest.NewRecorder(ingest.RecorderOptions{Journal: j, Cluster: ingestCluster})
	if err != nil {
		t.Fatal(err)
	}
	listed := journal.Batch{Positions: []journal.Position{{Kind: "Pod", ResourceVersion: "1"}}} // or the writer waits for the first lists
	if err := j.Commit(t.Context(), listed); err != nil {
		t.Fatal(err)
	}
	updates := podsToWrite()
	writer := ingest.NewWriter(c, ingest.WriterOptions{Journal: j, Cluster: ingestCluster, Document: inventory.Document, Grace: time.Hour, Logger: log.NewLogfmtLogger(t.Output())})
	recording, endRecording := context.WithCancel(t.Context())
	writing, endWriting := context.WithCancel(t.Context())
	recorded, written := make(chan error), make(chan error)
	began := time.Now()
	go func() { recorded <- recorder.Run(recording) }()
	go func() { written <- writer.Run(writing) }()
	for _, u := range updates {
		recorder.Record(u)
	}
	endRecording()
	err = <-recorded
	endWriting() // which writes what the journal has
	if err = errors.Join(err, <-written); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	for _, table := range []string{"mounts", "pods", "containers"} {
		if n := catalogtest.Rows(t, c, "SELECT count() FROM "+table+" WHERE cluster = '"+ingestCluster+"'")[0][0]; n != uint64(ingestPods) {
			t.Errorf("%v rows of %s are written, of %d", n, table, ingestPods)
		}
		catalogtest.Rows(t, c, "DELETE FROM "+table+" WHERE cluster = '"+ingestCluster+"'")
	}
	return 3 * ingestPods / took.Seconds()
}

// podsToWrite returns pods that have just started, in updates of a thousand.
func podsToWrite() (updates []*fact.Update) {
	now := fact.At(time.Now())
	for i := range ingestPods {
		if i%1000 == 0 {
			updates = append(updates, &fact.Update{})
		}
		f := &updates[len(updates)-1].Facts
		pod, claim, at := uuid.NewString(), fmt.Sprint("data-", i%20_000), now+fact.Time(i)*1000
		namespace := fmt.Sprintf("team-%03d", i%namespaces)
		f.Pods = append(f.Pods, fact.Pod{Version: 1, UID: pod, Namespace: namespace, Name: fmt.Sprint("web-", i), Node: "node-1", WorkloadKind: "Deployment", WorkloadName: "web", Phase: "Running", CreatedAt: at, StartedAt: at})
		f.Containers = append(f.Containers, fact.Container{Version: 1, PodUID: pod, Namespace: namespace, PodCreatedAt: at, Name: "main", Kind: "main", StartedAt: at})
		f.Mounts = append(f.Mounts, fact.Mount{
			Version: 1, Namespace: namespace, PodUID: pod, PodCreatedAt: at, Container: "main", Volume: "data", MountPath: "/data",
			SourceKind: "csi", ClaimUID: claim, ClaimName: claim, VolumeUID: claim, StartedAt: at,
		})
	}
	return updates
}
