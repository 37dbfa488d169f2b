package ingest

import (
	"encoding/json"
	"fmt"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// The journal knows no fact: these are the names of our records in its state and its Meta. They are on users'
// disks: a name that changes has to be read under its old name, too.
const (
	// In the state, an object's document is under its kind and UID, its snapshot under the kind with this suffix.
	snapshotSuffix = ".memory"
	// tallyKind is the kind of the records of a Tally. See watchedKind, too.
	tallyKind = "tally"

	metaCluster    = "cluster"
	metaSince      = "since/"      // + kind: the start of the span in which the kind is watched without a gap
	metaIncomplete = "unread"      // see Recorder.SetIncomplete
	metaTakingOver = "taking-over" // see Recorder.SetTakingOver
)

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

func snapshotRecord(s *fact.ObjectSnapshot) (journal.Record, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return journal.Record{}, fmt.Errorf("journal: %w", err)
	}
	return journal.Record{Kind: string(s.Kind) + snapshotSuffix, UID: s.UID, Data: text}, nil
}
