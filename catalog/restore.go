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

// RestoreJournal reads the snapshot that a journal holds; nil if the journal is new. An error says that
// the journal is damaged (journal.ErrCorrupt).
func RestoreJournal(j *journal.Journal) (*fact.Snapshot, error) {
	r := &fact.Snapshot{Version: j.Version(), Positions: positionsOf(j), Counters: map[string][]byte{}}
	if len(r.Positions) == 0 {
		return nil, nil
	}
	objects := map[[2]string]*fact.SavedObject{}
	held := func(kind, uid string) *fact.SavedObject {
		key := [2]string{kind, uid}
		if objects[key] == nil {
			objects[key] = &fact.SavedObject{Kind: fact.Kind(kind), UID: uid}
		}
		return objects[key]
	}
	var watched []byte
	record := func(kind, uid string, data []byte) (err error) {
		switch kind {
		case tallyKind:
			r.Counters[uid] = bytes.Clone(data)
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
	}
	kinds := []string{tallyKind, watchedKind}
	for _, kind := range fact.Kinds() {
		kinds = append(kinds, string(kind), string(kind)+memorySuffix)
	}
	for _, kind := range kinds {
		if err := j.State(kind, func(uid string, data []byte) error { return record(kind, uid, data) }); err != nil {
			return nil, err
		}
	}
	var err error
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
