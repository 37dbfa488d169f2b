package catalog

import (
	"encoding/json"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// watchedKind is the kind of the journal's record of fact.Update.Watched. It is committed
// with the positions that it belongs to, and only when the list has changed: each commit
// writes all of the journal's Meta, and the list can have 50 KB.
const watchedKind = "watched"

func watchedRecord(spans []fact.Span) (journal.Record, error) {
	data, err := json.Marshal(spans)
	if err != nil {
		return journal.Record{}, fmt.Errorf("journal: %w", err)
	}
	return journal.Record{Kind: watchedKind, UID: string(fact.Pods), Data: data}, nil
}

// watchedOf returns the spans that a journal holds: those of its record, of which the last
// one has gone on with the position of Pods. A journal of a version before there were such
// records has the one span of that position.
func watchedOf(record []byte, pods fact.Position) (spans []fact.Span, err error) {
	if record == nil {
		if pods.Since == 0 {
			return nil, nil // from nobody knows when
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

// heldWatched asks for the spans in which any tracker of the cluster watched pods.
var heldWatched = `SELECT started_micros, ended_micros FROM (` + included("watched.sql") + `) WHERE cluster = {cluster:String} ORDER BY started_micros`

// watched reads when pods were watched, by whichever tracker: a gap of one that another has
// watched is no gap.
func (h *held) watched() (spans []fact.Span) {
	h.each(heldWatched, func(rows driver.Rows) error {
		var from, to int64
		err := rows.Scan(&from, &to)
		spans = append(spans, fact.Span{From: fact.Time(from), To: fact.Time(to)})
		return err
	})
	return spans
}
