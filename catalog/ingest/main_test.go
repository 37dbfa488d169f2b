package ingest

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// sharedAddress is that of the engine that most tests share; each has a database of its own.
var sharedAddress string

func TestMain(m *testing.M) { catalogtest.Main(m, &sharedAddress) }

// openCatalog opens a database of the test's own on the shared engine.
func openCatalog(t *testing.T) *catalog.Catalog {
	t.Helper()
	return catalogtest.Open(t, sharedAddress, t.Name())
}

func migrated(t *testing.T) *catalog.Catalog {
	t.Helper()
	return catalogtest.OpenMigrated(t, sharedAddress)
}

func rows(t testing.TB, c *catalog.Catalog, sql string) [][]any {
	t.Helper()
	return catalogtest.Rows(t, c, sql)
}

// write has a Writer write the facts and end.
func write(t *testing.T, c *catalog.Catalog, cluster string, facts *fact.Facts) {
	t.Helper()
	j := newJournal(t)
	record(t, j, facts)
	w := NewWriter(c, WriterOptions{Journal: j, Cluster: cluster, Document: documented, Grace: time.Minute, Logger: log.NewLogfmtLogger(t.Output())})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Run(ended); err != nil {
		t.Fatal(err)
	}
}

func newJournal(t testing.TB) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Options{Path: filepath.Join(t.TempDir(), "journal"), Logger: log.NewLogfmtLogger(t.Output())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// record puts a batch into a journal, which then has the first lists.
func record(t testing.TB, j *journal.Journal, facts *fact.Facts) {
	t.Helper()
	data, err := encodeFacts(facts, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	b := journal.Batch{Facts: data, Rows: facts.Len(), Positions: []journal.Position{{Kind: "Namespace", ResourceVersion: "1"}}}
	for _, p := range facts.Checkpoints {
		b.Positions = append(b.Positions, journal.Position{Kind: string(p.Kind), ResourceVersion: p.ResourceVersion, At: p.At.Time()})
	}
	if err := j.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// objectsOf reads all objects of a snapshot.
func objectsOf(t *testing.T, s *fact.Snapshot) (list []fact.SavedObject) {
	t.Helper()
	err := s.Objects.Each(func(o *fact.SavedObject) error {
		list = append(list, *o)
		list[len(list)-1].Wire = bytes.Clone(o.Wire)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
