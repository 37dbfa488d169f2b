package ingest

import (
	"fmt"
	"maps"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// countingTally counts changes by namespace, and deaths end what is counted.
type countingTally struct{ counts, changed map[string][]byte }

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

func TestTallyIsKeptWithWhatItCounts(t *testing.T) {
	j := newJournal(t)
	tally := &countingTally{map[string][]byte{}, map[string][]byte{}}
	changes := func(namespaces ...string) *fact.Update {
		u := &fact.Update{Positions: []fact.Position{{Kind: fact.Claims, ResourceVersion: "7", Since: 3, At: 5}}}
		for _, ns := range namespaces {
			u.Facts.Changes = append(u.Facts.Changes, fact.Change{Namespace: ns})
		}
		return u
	}
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
	o := RecorderOptions{Journal: j, BatchRows: 2, Tally: tally}
	recorded(t, o, changes("shop", "shop", "lab"), changes("shop"), changes("lab", "lab")) // in several transactions
	if got, want := kept(), "map[lab:+++ shop:+++]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	gone := changes("shop")
	gone.Facts.Namespaces = []fact.Namespace{{Name: "lab"}}
	recorded(t, o, gone)
	if got, want := kept(), "map[shop:++++]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
