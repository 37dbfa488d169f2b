package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// RestoreJournal reads the snapshot in a journal; nil if the journal is new. The objects stay in the journal until the
// snapshot's reader asks for them. Its error, and theirs, say that the journal is damaged (journal.ErrCorrupt).
func RestoreJournal(j *journal.Journal) (*fact.Snapshot, error) {
	s := &fact.Snapshot{Version: j.Version(), Positions: positionsOf(j), Counters: map[string][]byte{}}
	s.Objects = journalObjects{journal: j, unredacted: string(j.Meta()[metaRedacted]) != redactedBy}
	if len(s.Positions) == 0 {
		return nil, nil
	}
	err := j.State(tallyKind, func(name string, data []byte) error {
		s.Counters[name] = bytes.Clone(data)
		return nil
	})
	if err != nil {
		return nil, err
	}
	watched, _, err := j.Get(watchedKind, string(fact.Pods))
	if err != nil {
		return nil, err
	}
	if s.Watched, err = restoreWatched(watched, s.Positions[fact.Pods]); err != nil {
		return nil, err
	}
	return s, nil
}

// journalObjects reads the objects in a journal one after another: those of a large cluster would take more memory than
// all else.
type journalObjects struct {
	journal    *journal.Journal
	unredacted bool
	object     *fact.SavedObject // the one that is being restored; its memory is used for all of them
}

// Each implements fact.SavedObjects.
func (l journalObjects) Each(restore func(*fact.SavedObject) error) error {
	if take := restore; l.unredacted {
		restore = func(o *fact.SavedObject) error {
			o.Unredacted = true
			return take(o)
		}
	}
	l.object = &fact.SavedObject{}
	for _, kind := range fact.Kinds() {
		if err := l.deleted(kind, restore); err != nil {
			return err
		}
		if err := l.living(kind, restore); err != nil {
			return err
		}
	}
	return nil
}

// deleted reads the objects of a kind that are gone and remembered: few.
func (l journalObjects) deleted(kind fact.Kind, restore func(*fact.SavedObject) error) error {
	snapshots := map[string][]byte{} // by UID: State's callback may not call Get
	err := l.journal.State(string(kind)+snapshotSuffix, func(uid string, data []byte) error {
		if len(data) > 0 && data[0] == deletedSnapshot {
			snapshots[uid] = bytes.Clone(data)
		}
		return nil
	})
	for uid, snapshot := range snapshots {
		object, ok, failed := l.journal.Get(string(kind), uid)
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		if ok {
			if err := l.restoreRecords(kind, uid, object, snapshot, restore); err != nil {
				return err
			}
		}
	}
	return err
}

// living reads the other objects of a kind, each with its snapshot, if it has one: both are in the order of their UIDs.
func (l journalObjects) living(kind fact.Kind, restore func(*fact.SavedObject) error) error {
	var failed error
	next, stop := iter.Pull2(l.records(string(kind)+snapshotSuffix, &failed))
	defer stop()
	of, snapshot, ok := next()
	err := l.journal.State(string(kind), func(uid string, data []byte) error {
		for ok && of < uid {
			of, snapshot, ok = next() // that object is gone, and not remembered
		}
		if !ok || of != uid {
			return l.restoreRecords(kind, uid, data, nil, restore)
		}
		if snapshot[0] == deletedSnapshot {
			return nil
		}
		return l.restoreRecords(kind, uid, data, snapshot, restore)
	})
	return errors.Join(err, failed)
}

// records are the records of a kind by their UIDs. They are valid until the next one is asked for.
func (l journalObjects) records(kind string, failed *error) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		errEnough := errors.New("enough")
		err := l.journal.State(kind, func(uid string, data []byte) error {
			if len(data) == 0 {
				return fmt.Errorf("%w: record %s %s is empty", journal.ErrCorrupt, kind, uid)
			}
			if !yield(uid, data) {
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) {
			*failed = err
		}
	}
}

// restoreRecords decodes an object and its snapshot, if that is not nil, and restores it.
func (l journalObjects) restoreRecords(kind fact.Kind, uid string, object, snapshot []byte, restore func(*fact.SavedObject) error) error {
	o := l.object
	*o = fact.SavedObject{Kind: kind, UID: uid}
	readObject(object, o)
	if snapshot != nil {
		if err := readSnapshot(snapshot, &o.Snapshot); err != nil {
			return fmt.Errorf("%w: snapshot of %s %s: %w", journal.ErrCorrupt, kind, uid, err)
		}
	}
	return restore(o)
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
