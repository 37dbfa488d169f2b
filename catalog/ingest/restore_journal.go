package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// RestoreJournal reads the snapshot in a journal; nil if the journal is new. Its error says that the journal is
// damaged (journal.ErrCorrupt).
func RestoreJournal(j *journal.Journal) (*fact.Snapshot, error) {
	r := journalReader{
		snapshot: &fact.Snapshot{Version: j.Version(), Positions: positionsOf(j), Counters: map[string][]byte{}},
		objects:  map[[2]string]*fact.SavedObject{},
	}
	if len(r.snapshot.Positions) == 0 {
		return nil, nil
	}
	kinds := []string{tallyKind, watchedKind}
	for _, kind := range fact.Kinds() {
		kinds = append(kinds, string(kind), string(kind)+snapshotSuffix)
	}
	for _, kind := range kinds {
		if err := j.State(kind, func(uid string, data []byte) error { return r.read(kind, uid, data) }); err != nil {
			return nil, err
		}
	}
	var err error
	if r.snapshot.Watched, err = restoreWatched(r.watched, r.snapshot.Positions[fact.Pods]); err != nil {
		return nil, err
	}
	for _, o := range r.objects {
		if o.Object != "" { // else only the snapshot is left, of an object that is gone
			r.snapshot.Objects = append(r.snapshot.Objects, *o)
		}
	}
	return r.snapshot, nil
}

// journalReader collects the records of a journal's state, which come in no order.
type journalReader struct {
	snapshot *fact.Snapshot
	objects  map[[2]string]*fact.SavedObject // by kind and UID
	watched  []byte
}

func (r *journalReader) object(kind, uid string) *fact.SavedObject {
	key := [2]string{kind, uid}
	if r.objects[key] == nil {
		r.objects[key] = &fact.SavedObject{Kind: fact.Kind(kind), UID: uid}
	}
	return r.objects[key]
}

// read takes one record, whose data is valid during the call only.
func (r *journalReader) read(kind, uid string, data []byte) error {
	switch kind {
	case tallyKind:
		r.snapshot.Counters[uid] = bytes.Clone(data)
		return nil
	case watchedKind:
		r.watched = bytes.Clone(data)
		return nil
	}
	if of, ok := strings.CutSuffix(kind, snapshotSuffix); ok {
		if err := json.Unmarshal(data, &r.object(of, uid).Snapshot); err != nil {
			return fmt.Errorf("%w: snapshot of %s %s: %w", journal.ErrCorrupt, of, uid, err)
		}
		return nil
	}
	if !json.Valid(data) {
		return fmt.Errorf("%w: %s %s is no JSON", journal.ErrCorrupt, kind, uid)
	}
	r.object(kind, uid).Object = string(data)
	return nil
}

// positionsOf returns the positions of a journal.
func positionsOf(j *journal.Journal) map[fact.Kind]fact.Position {
	positions, meta := map[fact.Kind]fact.Position{}, j.Meta()
	for kind, p := range j.Positions() {
		since, _ := time.Parse(time.RFC3339Nano, string(meta[metaSince+kind])) // zero if it is unknown
		positions[fact.Kind(kind)] = fact.Position{
			Kind: fact.Kind(kind), ResourceVersion: p.ResourceVersion, Since: fact.At(since), At: fact.At(p.At),
		}
	}
	return positions
}
