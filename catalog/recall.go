package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// Recalled is what a journal or the catalog knows of a cluster from before.
type Recalled struct {
	Objects   []fact.Restored
	Version   uint64 // the highest row version that was given out
	Positions map[fact.Kind]fact.Position
	Watched   []fact.Span       // in which pods were watched and nothing can have been missed; see fact.Update
	Tally     map[string][]byte // the records of the last run's Tally
}

// RecallJournal reads what a journal holds; nil if it is new. An error says that the
// journal is damaged (journal.ErrCorrupt).
func RecallJournal(j *journal.Journal) (*Recalled, error) {
	r := &Recalled{Version: j.Version(), Positions: positionsOf(j), Tally: map[string][]byte{}}
	if len(r.Positions) == 0 {
		return nil, nil
	}
	objects := map[[2]string]*fact.Restored{}
	held := func(kind, uid string) *fact.Restored {
		key := [2]string{kind, uid}
		if objects[key] == nil {
			objects[key] = &fact.Restored{Kind: fact.Kind(kind), UID: uid}
		}
		return objects[key]
	}
	var watched []byte
	err := j.State(func(kind, uid string, data []byte) (err error) {
		switch kind {
		case tallyKind:
			r.Tally[uid] = bytes.Clone(data)
			return nil
		case watchedKind:
			watched = bytes.Clone(data)
			return nil
		}
		if of, ok := strings.CutSuffix(kind, memorySuffix); ok {
			if err = json.Unmarshal(data, &held(of, uid).Snapshot); err != nil {
				return fmt.Errorf("%w: memory of %s %s: %w", journal.ErrCorrupt, of, uid, err)
			}
			return nil
		}
		if !json.Valid(data) {
			return fmt.Errorf("%w: %s %s is no JSON", journal.ErrCorrupt, kind, uid)
		}
		held(kind, uid).Object = string(data)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if r.Watched, err = watchedOf(watched, r.Positions[fact.Pods]); err != nil {
		return nil, err
	}
	for _, o := range objects {
		if o.Object != "" { // else it is a memory that outlived its object
			r.Objects = append(r.Objects, *o)
		}
	}
	return r, nil
}

// positionsOf reads how far a journal's tracker watched.
func positionsOf(j *journal.Journal) map[fact.Kind]fact.Position {
	positions, meta := map[fact.Kind]fact.Position{}, j.Meta()
	for kind, p := range j.Positions() {
		since, _ := time.Parse(time.RFC3339Nano, string(meta[metaSince+kind])) // zero: from nobody knows when
		positions[fact.Kind(kind)] = fact.Position{
			Kind: fact.Kind(kind), ResourceVersion: p.ResourceVersion, Since: fact.At(since), At: fact.At(p.At),
		}
	}
	return positions
}
