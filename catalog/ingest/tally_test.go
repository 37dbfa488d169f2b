package ingest

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// countingTally counts changes by namespace, and deaths end what is counted.
type countingTally struct {
	counts, changed map[string][]byte
	integrals       map[string]any // as they are now
}

func (c *countingTally) Add(facts *fact.Facts) {
	for _, change := range facts.Changes {
		c.counts[change.Namespace] = append(c.counts[change.Namespace], '+')
		c.changed[change.Namespace] = c.counts[change.Namespace]
	}
	for _, n := range facts.Namespaces {
		c.changed[n.Name] = nil
	}
}

func (c *countingTally) Records() (map[string][]byte, error) {
	defer func() { c.changed = map[string][]byte{} }()
	return c.changed, nil
}

func (c *countingTally) Integrals(records map[string]any) { maps.Copy(records, c.integrals) }

// changesIn is an update with a change in each of the namespaces, and a position.
func changesIn(namespaces ...string) *fact.Update {
	u := &fact.Update{Positions: []fact.Position{{Kind: fact.Claims, ResourceVersion: "7", Since: 3, At: 5}}}
	for _, ns := range namespaces {
		u.Facts.Changes = append(u.Facts.Changes, fact.Change{Namespace: ns})
	}
	return u
}

func newCountingTally() *countingTally {
	return &countingTally{counts: map[string][]byte{}, changed: map[string][]byte{}}
}

func TestTallyIsKeptWithWhatItCounts(t *testing.T) {
	j := newJournal(t)
	tally := newCountingTally()
	kept := func() string {
		known, err := RestoreJournal(j)
		if err != nil {
			t.Fatal(err)
		}
		if objects := objectsOf(t, known); len(objects) != 0 {
			t.Errorf("counts are taken for objects: %v", objects)
		}
		return fmt.Sprintf("%s", maps.Clone(known.Counters))
	}
	o := RecorderOptions{Journal: j, batchRows: 2, Tally: tally}
	recorded(t, o, changesIn("shop", "shop", "lab"), changesIn("shop"), changesIn("lab", "lab")) // in several transactions
	if got, want := kept(), "map[lab:+++ shop:+++]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	gone := changesIn("shop")
	gone.Facts.Namespaces = []fact.Namespace{{Name: "lab"}}
	recorded(t, o, gone)
	if got, want := kept(), "map[shop:++++]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestIntegralsAreAheadOfACommitThatIsCutOff: the first of its transactions has them, and says so; the last one ends that. What
// an earlier run has left is ended by the exporter only.
func TestIntegralsAreAheadOfACommitThatIsCutOff(t *testing.T) {
	for name, test := range map[string]struct{ batch, bytes int }{"many rows": {batch: 1}, "long rows": {bytes: bytesPerCommit}} {
		t.Run(name, func(t *testing.T) {
			j, err := journal.Open(t.Context(), journal.Options{Path: filepath.Join(t.TempDir(), "journal"), MaxBytes: 1, Logger: log.NewLogfmtLogger(t.Output())})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = j.Close() })
			record(t, j, &fact.Facts{Changes: []fact.Change{{Namespace: "shop"}}}) // it is full, and takes no rows
			tally := newCountingTally()
			commit := func(ctx context.Context, withoutRows bool, integrals map[string]any) error {
				t.Helper()
				tally.integrals = integrals
				r, err := NewRecorder(RecorderOptions{Journal: j, Cluster: "east", batchRows: test.batch, Tally: tally, WithoutFacts: withoutRows})
				if err != nil {
					t.Fatal(err)
				}
				u := changesIn("shop", "shop")
				u.Facts.Changes[0].Details = strings.Repeat("x", test.bytes)
				r.Record(u)
				return r.commit(ctx)
			}
			expect := func(when, value string, ahead bool) {
				t.Helper()
				data, _, err := j.Get(tallyKind, "a")
				if err != nil || string(data) != value {
					t.Errorf("%s: it is %s, want %s (error %v)", when, data, value, err)
				}
				if _, is, err := j.Get(tallyKind, fact.IntegralsAhead); err != nil || is != ahead {
					t.Errorf("%s: ahead is %v, want %v (error %v)", when, is, ahead, err)
				}
			}
			whole := func(integrals map[string]any) {
				t.Helper()
				if err := commit(t.Context(), true, integrals); err != nil {
					t.Fatal(err)
				}
			}
			whole(map[string]any{"a": 1})
			expect("after a whole commit", "1", false)
			soon, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if err := commit(soon, false, map[string]any{"a": 2}); err == nil {
				t.Error("the journal has taken rows")
			}
			expect("after one that was cut off", "2", true)
			whole(map[string]any{"a": 3})
			expect("after a whole one of a run that has not restored all yet", "3", true)
			whole(map[string]any{"a": 4, fact.IntegralsAhead: nil})
			expect("after the exporter has ended it", "4", false)
		})
	}
}

// TestIntegralsAreThoseOfTheUpdates: they are committed as they were with the last update, and not as they are at the
// commit.
func TestIntegralsAreThoseOfTheUpdates(t *testing.T) {
	for _, batch := range []int{1, 1000} {
		j := newJournal(t)
		tally := newCountingTally()
		r, err := NewRecorder(RecorderOptions{Journal: j, Cluster: "east", batchRows: batch, Tally: tally})
		if err != nil {
			t.Fatal(err)
		}
		for _, integrals := range []map[string]any{{"a": 1, "b": 1}, {"a": 2}, {"b": nil, "c": 3}} {
			tally.integrals = integrals
			r.Record(changesIn("shop"))
		}
		tally.integrals = map[string]any{"a": 9, "c": 9}
		if err := r.commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		known, err := RestoreJournal(j)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprintf("%s", known.Counters), "map[a:2 c:3 shop:+++]"; got != want {
			t.Errorf("by batches of %d: got %s, want %s", batch, got, want)
		}
	}
}
