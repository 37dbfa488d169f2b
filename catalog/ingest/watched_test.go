package ingest

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// podsUntil is the position of Pods, watched since then up to there.
func podsUntil(since, at fact.Time) []fact.Position {
	return []fact.Position{{Kind: fact.Pods, ResourceVersion: "7", Since: since, At: at}}
}

// recalledSpans is what a journal says of when pods were watched, to a tracker that starts.
func recalledSpans(t *testing.T, path string) []fact.Span {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	if j.Origin() != journal.Resumed {
		t.Fatalf("the journal is %s", j.Origin())
	}
	known, err := RestoreJournal(j)
	if err != nil {
		t.Fatal(err)
	}
	return known.Watched
}

// recordedTo has a recorder put updates into the journal at path.
func recordedTo(t *testing.T, path string, o RecorderOptions, updates ...*fact.Update) {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	o.Journal = j
	recorded(t, o, updates...)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestJournalKeepsWhenPodsWereWatched(t *testing.T) {
	spans := []fact.Span{{From: 5, To: 10}, {From: 100_000_000, To: 200_000_000}}
	path := filepath.Join(t.TempDir(), "journal")
	recordedTo(t, path, RecorderOptions{}, &fact.Update{Watched: []fact.Span{{From: 5, To: 10}}, Positions: podsUntil(5, 10)},
		&fact.Update{Watched: spans, Positions: podsUntil(100_000_000, 200_000_000)})
	if got := recalledSpans(t, path); !slices.Equal(got, spans) {
		t.Errorf("got %v, want %v", got, spans)
	}
	// The list is the same, and its last span has gone on.
	recordedTo(t, path, RecorderOptions{WithoutFacts: true}, &fact.Update{Positions: podsUntil(100_000_000, 250_000_000)})
	if got, want := recalledSpans(t, path), []fact.Span{{From: 5, To: 10}, {From: 100_000_000, To: 250_000_000}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	var many []fact.Span
	for i := range fact.Time(1000) {
		many = append(many, fact.Span{From: 1_700_000_000_000_000 + i*1e9, To: 1_700_000_000_000_000 + i*1e9 + 5e8})
	}
	recordedTo(t, path, RecorderOptions{}, &fact.Update{Watched: many})
	if got := recalledSpans(t, path); !slices.Equal(got, many) {
		t.Errorf("got %d spans, want %d", len(got), len(many))
	}
}

func TestOldJournalsKnowTheLastSpanOfWatching(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	recordedTo(t, path, RecorderOptions{}, &fact.Update{Positions: podsUntil(3_000_000, 5_000_000)})
	if got, want := recalledSpans(t, path), []fact.Span{{From: 3_000_000, To: 5_000_000}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, err := restoreWatched(nil, fact.Position{Kind: fact.Pods, At: 5}); got != nil || err != nil {
		t.Errorf("of a journal that does not say since when: %v, %v", got, err)
	}
	if _, err := restoreWatched([]byte("{"), fact.Position{}); !errors.Is(err, journal.ErrCorrupt) {
		t.Errorf("of a damaged record: %v", err)
	}
}
