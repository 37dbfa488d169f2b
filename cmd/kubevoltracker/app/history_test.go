package app

import (
	"path/filepath"
	"testing"

	"github.com/go-kit/log"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
)

func openHistory(t *testing.T, dir string) *history {
	t.Helper()
	h := &history{logger: log.NewLogfmtLogger(t.Output())}
	if err := h.openJournal(Options{DataDir: dir}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.journal.Close() })
	return h
}

// A start that was interrupted has left objects in the journal. Some of them may be gone by the next start, whose lists
// do not show that.
func TestAJournalOfAnInterruptedStartIsReplaced(t *testing.T) {
	dir := t.TempDir()
	first := openHistory(t, dir)
	object := []journal.Record{{Kind: "Pod", UID: "p1", Data: []byte("x")}}
	if err := first.journal.Commit(t.Context(), journal.Batch{State: object, Facts: []byte("rows"), Rows: 1}); err != nil {
		t.Fatal(err)
	}
	id := first.journal.ID()
	if err := first.journal.Close(); err != nil {
		t.Fatal(err)
	}
	second := openHistory(t, dir)
	if second.journal.ID() == id || second.journal.Stats().Rows > 0 || second.snapshot != nil {
		t.Errorf("it goes on with %d rows", second.journal.Stats().Rows)
	}
	if _, ok, err := second.journal.Get("Pod", "p1"); ok || err != nil {
		t.Errorf("the pod is there, %v", err)
	}
	if aside, err := filepath.Glob(filepath.Join(dir, "journal.broken-*")); err != nil || len(aside) > 0 {
		t.Errorf("%q is set aside, %v", aside, err)
	}
}

func TestAJournalWithPositionsIsGoneOnWith(t *testing.T) {
	dir := t.TempDir()
	first := openHistory(t, dir)
	position := []journal.Position{{Kind: "Pod", ResourceVersion: "7"}}
	if err := first.journal.Commit(t.Context(), journal.Batch{Positions: position}); err != nil {
		t.Fatal(err)
	}
	id := first.journal.ID()
	if err := first.journal.Close(); err != nil {
		t.Fatal(err)
	}
	if second := openHistory(t, dir); second.journal.ID() != id || second.snapshot == nil {
		t.Error("it begins anew")
	}
}
