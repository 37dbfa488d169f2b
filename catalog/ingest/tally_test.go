package ingest

import (
	"fmt"
	"maps"
	"testing"

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
