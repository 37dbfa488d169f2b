package ingest

import (
	"errors"
	"fmt"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// The journal knows no fact: these are the names of our records in its state and its Meta. They are on users'
// disks: a name that changes has to be read under its old name, too.
const (
	// In the state, an object is under its kind and UID, its snapshot under the kind with this suffix and the UID.
	snapshotSuffix = ".snapshot"
	// tallyKind is the kind of the records of a Tally. See watchedKind, too.
	tallyKind = "tally"

	metaCluster    = "cluster"
	metaSince      = "since/"      // + kind: the start of the span in which the kind is watched without a gap
	metaIncomplete = "unread"      // see Recorder.SetIncomplete
	metaTakingOver = "taking-over" // see Recorder.SetTakingOver
	metaLiveHeap   = "live-heap"   // see Recorder.SetLiveHeap
	metaRedacted   = "redacted"    // redactedBy, once the state has all objects as that version of the rules keeps them
)

// redactedBy is the version of the rules of package redact. A journal of another version has objects with more in them
// than the present rules keep: all of them are recorded again. Raise it when the rules drop or mask more.
const redactedBy = "2"

// appendSnapshots appends snapshots as records. A Forgotten one deletes the records of its object.
func appendSnapshots(records []journal.Record, snapshots []fact.ObjectSnapshot) ([]journal.Record, error) {
	for i := range snapshots {
		s := &snapshots[i]
		if s.Forgotten {
			records = append(records, journal.Record{Kind: string(s.Kind), UID: s.UID}, journal.Record{Kind: string(s.Kind) + snapshotSuffix, UID: s.UID})
			continue
		}
		record, err := snapshotRecord(s)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, nil
}

// A snapshot is encoded as CBOR behind one byte, which says whether its object is deleted: a restore reads those first.
const (
	livingSnapshot  = '+'
	deletedSnapshot = '-'
)

func snapshotRecord(s *fact.ObjectSnapshot) (journal.Record, error) {
	c, err := theCodec()
	if err != nil {
		return journal.Record{}, fmt.Errorf("journal: %w", err)
	}
	data, err := c.encode.Marshal(s)
	if err != nil {
		return journal.Record{}, fmt.Errorf("journal: %w", err)
	}
	living := byte(livingSnapshot)
	if s.Deleted != 0 {
		living = deletedSnapshot
	}
	return journal.Record{Kind: string(s.Kind) + snapshotSuffix, UID: s.UID, Data: append([]byte{living}, data...)}, nil
}

// readSnapshot decodes a snapshotRecord.
func readSnapshot(data []byte, s *fact.ObjectSnapshot) error {
	c, err := theCodec()
	if err != nil {
		return err
	}
	if len(data) == 0 || data[0] != livingSnapshot && data[0] != deletedSnapshot {
		return errors.New("it is of a form that this program does not know")
	}
	return c.decode.Unmarshal(data[1:], s)
}

// objectRecord is an object as protobuf, or as JSON if it comes from the catalog: that begins with a brace, which no
// protobuf of the API's types does.
func objectRecord(kind fact.Kind, uid, document string, wire []byte) journal.Record {
	if wire == nil {
		wire = []byte(document)
	}
	return journal.Record{Kind: string(kind), UID: uid, Data: wire}
}

// readObject decodes an objectRecord. The object refers to data.
func readObject(data []byte, o *fact.SavedObject) {
	o.Object, o.Wire = "", data
	if len(data) > 0 && data[0] == '{' {
		o.Object, o.Wire = string(data), nil
	}
}
