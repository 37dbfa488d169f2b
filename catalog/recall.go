package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// Recalled is what a journal or the catalog knows of a cluster from before.
type Recalled struct {
	Objects   []inventory.Recalled
	Version   uint64 // the highest row version that was given out
	Positions map[inventory.Kind]inventory.Position
	Tally     map[string][]byte // the records of the last run's Tally
}

// RecallJournal reads what a journal holds; nil if it is new. An error says that the
// journal is damaged (journal.ErrCorrupt).
func RecallJournal(j *journal.Journal) (*Recalled, error) {
	r := &Recalled{Version: j.Version(), Positions: positionsOf(j), Tally: map[string][]byte{}}
	if len(r.Positions) == 0 {
		return nil, nil
	}
	objects := map[[2]string]*inventory.Recalled{}
	held := func(kind, uid string) *inventory.Recalled {
		key := [2]string{kind, uid}
		if objects[key] == nil {
			objects[key] = &inventory.Recalled{}
		}
		return objects[key]
	}
	err := j.State(func(kind, uid string, data []byte) (err error) {
		if kind == tallyKind {
			r.Tally[uid] = bytes.Clone(data)
			return nil
		}
		if of, ok := strings.CutSuffix(kind, memorySuffix); ok {
			if err = json.Unmarshal(data, &held(of, uid).Memory); err != nil {
				return fmt.Errorf("%w: memory of %s %s: %w", journal.ErrCorrupt, of, uid, err)
			}
			return nil
		}
		if held(kind, uid).Object, err = inventory.ReadObject(inventory.Kind(kind), data); err != nil {
			return fmt.Errorf("%w: %w", journal.ErrCorrupt, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if o.Object != nil { // else it is a memory that outlived its object
			r.Objects = append(r.Objects, *o)
		}
	}
	return r, nil
}

// positionsOf reads how far a journal's tracker watched.
func positionsOf(j *journal.Journal) map[inventory.Kind]inventory.Position {
	positions, meta := map[inventory.Kind]inventory.Position{}, j.Meta()
	for kind, p := range j.Positions() {
		since, _ := time.Parse(time.RFC3339Nano, string(meta[metaSince+kind])) // zero: from nobody knows when
		positions[inventory.Kind(kind)] = inventory.Position{
			Kind: inventory.Kind(kind), ResourceVersion: p.ResourceVersion, Since: inventory.At(since), At: inventory.At(p.At),
		}
	}
	return positions
}
