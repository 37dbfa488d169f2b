package ingest

import (
	"encoding/json"
	"fmt"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// watchedKind is the kind of the journal's record of fact.Update.Watched. It is a record of its own and not in the
// journal's Meta, because each commit writes all of Meta, and the list can have 50 KB. It is committed with the
// positions that it belongs to, and only when the list has changed.
const watchedKind = "watched"

func watchedRecord(spans []fact.Span) (journal.Record, error) {
	data, err := json.Marshal(spans)
	if err != nil {
		return journal.Record{}, fmt.Errorf("journal: %w", err)
	}
	return journal.Record{Kind: watchedKind, UID: string(fact.Pods), Data: data}, nil
}

// restoreWatched returns the spans of a journal: those of its record, the last of which ends at the position of
// Pods. A journal from before there were such records has one span, that of the position.
func restoreWatched(record []byte, pods fact.Position) (spans []fact.Span, err error) {
	if record == nil {
		if pods.Since == 0 {
			return nil, nil // the start of the span is unknown
		}
		return []fact.Span{{From: pods.Since, To: pods.At}}, nil
	}
	if err := json.Unmarshal(record, &spans); err != nil {
		return nil, fmt.Errorf("%w: the spans of watching: %w", journal.ErrCorrupt, err)
	}
	if n := len(spans); n > 0 {
		spans[n-1].To = max(spans[n-1].To, pods.At)
	}
	return spans, nil
}
