package app

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-kit/log"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/engine"
	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
)

func openHistory(t *testing.T, dir string) *history {
	t.Helper()
	h := &history{logger: log.NewLogfmtLogger(t.Output())}
	if err := h.openJournal(t.Context(), Options{DataDir: dir}); err != nil {
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
	// A second tracker that waits for the lock must not get it meanwhile.
	lock, kept := filepath.Join(dir, journalDir, "LOCK"), filepath.Join(dir, "lock")
	if err := os.Link(lock, kept); err != nil {
		t.Fatal(err)
	}
	second := openHistory(t, dir)
	if before, err := os.Stat(kept); err != nil {
		t.Error(err)
	} else if after, err := os.Stat(lock); err != nil || !os.SameFile(before, after) {
		t.Errorf("the directory is another one, %v", err)
	}
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

// A journal with a record that cannot be read is set aside with all that it has: positions without the objects would have the
// watches resume into an empty inventory.
func TestAJournalWithAnUnreadableRecordIsBegunAnew(t *testing.T) {
	dir := t.TempDir()
	first := openHistory(t, dir)
	err := first.journal.Commit(t.Context(), journal.Batch{
		Positions: []journal.Position{{Kind: "Pod", ResourceVersion: "7"}}, State: []journal.Record{{Kind: "watched", UID: "Pod", Data: []byte("?")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	id := first.journal.ID()
	if err := first.journal.Close(); err != nil {
		t.Fatal(err)
	}
	second := openHistory(t, dir)
	if second.snapshot != nil || second.journal.ID() == id || len(second.journal.Positions()) > 0 {
		t.Errorf("it goes on with the snapshot %+v and the positions %v", second.snapshot, second.journal.Positions())
	}
}

// withEngine returns options for dir, with an engine that prints a line and fails.
func withEngine(t *testing.T, dir, line string) Options {
	t.Helper()
	program := filepath.Join(t.TempDir(), "engine")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho '"+line+"' >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	logger := log.NewLogfmtLogger(log.NewSyncWriter(t.Output()))
	return Options{DataDir: dir, Logger: logger, Catalog: catalog.Options{URL: EmbeddedCatalog}, Engine: engine.Options{Binary: program}}
}

// The engine of a second tracker waits for its directory, and then names a lock. The journal's error is there at once,
// and names the cure.
func TestAJournalInUseEndsTheStartOfTheEngine(t *testing.T) {
	dir := t.TempDir()
	openHistory(t, dir)
	o := withEngine(t, dir, "the data directory is in use by another process")
	second := &history{logger: o.Logger}
	if err := second.openBoth(t.Context(), o); !errors.Is(err, journal.ErrInUse) {
		t.Errorf("got %v", err)
	}
}

// A damaged journal is set aside once, however often the engine then fails to start, and the directories that were set
// aside before stay.
func TestADamagedJournalIsSetAsideOnceWhileTheEngineFails(t *testing.T) {
	dir := t.TempDir()
	first := openHistory(t, dir)
	position := []journal.Position{{Kind: "Pod", ResourceVersion: "7"}}
	if err := first.journal.Commit(t.Context(), journal.Batch{Positions: position, Facts: []byte("rows"), Rows: 1}); err != nil {
		t.Fatal(err)
	}
	if err := first.journal.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, journalDir)
	damage(t, path)
	before := filesOf(t, path)
	earlier := path + ".broken-20200101T000000.000000Z"
	if err := os.Mkdir(earlier, 0o700); err != nil {
		t.Fatal(err)
	}
	o := withEngine(t, dir, "it has no library")
	for range 3 {
		h := &history{logger: o.Logger}
		if err := h.openBoth(t.Context(), o); err == nil || !strings.Contains(err.Error(), "it has no library") {
			t.Fatalf("got %v", err)
		}
		if err := h.close(); err != nil {
			t.Fatal(err)
		}
	}
	aside, err := filepath.Glob(path + ".broken-*")
	if err != nil || len(aside) != 2 || aside[0] != earlier {
		t.Fatalf("%q are set aside, %v", aside, err)
	}
	if after := filesOf(t, aside[1]); !slices.Equal(after, before) {
		t.Errorf("set aside is %q, and was %q", after, before)
	}
}

// damage overwrites the journal's database files that hold its commits.
func damage(t *testing.T, path string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(path, "MANIFEST-*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		if err := os.WriteFile(file, []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// filesOf returns the names and contents of a journal's database files.
func filesOf(t *testing.T, path string) (files []string) {
	t.Helper()
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() || entry.Name() == "LOCK" || entry.Name() == "RESERVE" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(path, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, entry.Name()+": "+string(content))
	}
	return files
}
