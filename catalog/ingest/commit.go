package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-kit/log/level"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

const (
	// recordsPerCommit bounds a transaction of state, rowsPerCommit one of rows, and objectsPerCommit one of
	// objects, which have half a kilobyte each, and one or two as JSON. A transaction is in memory several times on its way:
	// encoded, decoded, as columns, and for a while in the connection to ClickHouse.
	recordsPerCommit = 20_000
	rowsPerCommit    = 10_000
	objectsPerCommit = 1_500
	// bytesPerCommit bounds the texts of a transaction's rows and objects, of which the last one may exceed it: 16 MiB. 10,000 usual rows have
	// 1.4 MB. Users can make objects of 1.5 MB, and rows with kilobytes of owners.
	bytesPerCommit = 16 << 20
	// scratchKept is the largest scratch, in bytes, that is kept for the next commit.
	scratchKept = 1 << 20
)

// commit moves all that is pending into the journal: chunk by chunk first the rows with their objects, then the
// snapshots, and last the positions. After a crash in between, the journal has the state that belongs to the old positions
// (journal.Batch.More). The watches go on from there; the rows that the same events lead to a second time replace
// those of before. If the API server no longer has the events, the rows stay as they are until the catalog's snapshot is
// restored (UndoMeta).
func (r *Recorder) commit(ctx context.Context) error {
	p := r.takePending()
	defer r.committed()
	if len(p.chunks) == 0 {
		p.chunks = []chunk{{}}
	}
	tallied, err := r.tally(p.chunks)
	if err != nil {
		return err
	}
	integrals, err := integralRecords(p.integrals)
	if err != nil {
		return err
	}
	now, rows := time.Now(), 0
	r.coverage.add(&p.chunks[len(p.chunks)-1].facts, p.positions, now)
	p.version = max(p.version, r.coverage.version) // the next run continues from it
	for i := range p.chunks {
		rows += p.chunks[i].facts.Len()
	}
	points := r.coverage.checkpoints(rows, p.unprompted, now)
	if r.options.WithoutFacts {
		points = nil
	}
	putEarlier := func(t transaction) error {
		return r.put(ctx, journal.Batch{State: t.state, Version: p.version, More: true}, t.rows)
	}
	for len(p.chunks) > 1 {
		t, err := r.commitChunk(&p.chunks[0], putEarlier)
		if err == nil {
			err = putEarlier(t)
		}
		if err != nil {
			return err
		}
		p.chunks[0], p.chunks = chunk{}, p.chunks[1:] // its memory can be freed
	}
	t, err := r.commitChunk(&p.chunks[0], putEarlier)
	if err != nil {
		return err
	}
	last, err := r.lastBatch(&p)
	if err != nil {
		return err
	}
	last.State = slices.Concat(t.state, last.State, tallied, integrals)
	// The checkpoints are in the last transaction only: they cover the rows of all of them.
	t.rows.Checkpoints = append(t.rows.Checkpoints, points...)
	return r.put(ctx, last, t.rows)
}

// transaction has the rows and the state records of one transaction of the journal.
type transaction struct {
	rows  fact.Facts
	state []journal.Record
}

// commitChunk commits a chunk in transactions, by put. It returns the last one without committing it: that of the last chunk
// has to have the positions, too.
func (r *Recorder) commitChunk(c *chunk, put func(transaction) error) (t transaction, err error) {
	t.rows, t.state = r.part(&c.facts)
	for c.facts.Len() > 0 {
		if err := put(t); err != nil {
			return t, err
		}
		t.rows, t.state = r.part(&c.facts)
	}
	for {
		n := min(len(c.snapshots), recordsPerCommit)
		if t.state, err = appendSnapshots(t.state, c.snapshots[:n]); err != nil {
			return t, err
		}
		if c.snapshots = c.snapshots[n:]; len(c.snapshots) == 0 {
			return t, nil
		}
		if err := put(t); err != nil {
			return t, err
		}
		t = transaction{}
	}
}

// takePending empties pending, and makes room for Record.
func (r *Recorder) takePending() pending {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pending
	r.pending, r.committing = pending{}, true
	r.room.Broadcast()
	return p
}

func (r *Recorder) committed() {
	if r.scratch.Cap() > scratchKept {
		r.scratch = bytes.Buffer{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.committing = false
}

// lastBatch returns what is in the last transaction of a commit only: the positions and the small values.
func (r *Recorder) lastBatch(p *pending) (b journal.Batch, err error) {
	b = journal.Batch{Version: p.version, Meta: map[string][]byte{metaCluster: []byte(r.options.Cluster)}}
	maps.Copy(b.Meta, p.meta)
	if p.positions != nil { // the first update of a run has all objects of an older journal, redacted
		b.Meta[metaRedacted] = []byte(redactedBy)
	}
	if p.watched != nil {
		watched, err := watchedRecord(p.watched)
		if err != nil {
			return b, err
		}
		b.State = append(b.State, watched)
	}
	for kind, position := range p.positions {
		b.Positions = append(b.Positions, journal.Position{Kind: string(kind), ResourceVersion: position.ResourceVersion, At: position.At.Time()})
		b.Meta[metaSince+string(kind)] = []byte(position.Since.Time().Format(time.RFC3339Nano))
	}
	return b, nil
}

// part moves the rows of one transaction out of facts, and returns them with the state records of the objects among
// them. Objects come after all other rows of an update: an object whose record is in the journal has its rows there,
// too. Only a first start, which emits its lists in parts, has objects there earlier; if it is interrupted, the next start
// begins a new journal.
func (r *Recorder) part(facts *fact.Facts) (rows fact.Facts, state []journal.Record) {
	objects := facts.Objects
	facts.Objects = nil
	most := min(r.options.batchRows, rowsPerCommit)
	rows, bytes := cutRows(facts, most, bytesPerCommit)
	if facts.Objects = objects; facts.Len() == len(objects) {
		n := 0
		for most := min(most-rows.Len(), objectsPerCommit, len(objects)); n < most && bytes > 0; n++ {
			objects[n].Encode() // now, and not earlier: encoded, all objects take more memory than packed
			bytes -= len(objects[n].Wire) + len(objects[n].Object)
		}
		rows.Objects = slices.Clone(objects[:n])
		clear(objects[:n]) // their memory can be freed
		facts.Objects = objects[n:]
	}
	for i := range rows.Objects {
		o := &rows.Objects[i]
		state = append(state, objectRecord(o.Kind, o.UID, o.Object, o.Wire))
	}
	if r.options.WithoutFacts {
		rows = fact.Facts{}
	}
	return rows, state
}

// tally counts the rows, and returns the records to commit with the positions after them.
func (r *Recorder) tally(chunks []chunk) ([]journal.Record, error) {
	if r.options.Tally == nil {
		return nil, nil
	}
	for i := range chunks {
		r.options.Tally.Add(&chunks[i].facts)
	}
	changed, err := r.options.Tally.Records()
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	var records []journal.Record
	for name, data := range changed {
		records = append(records, journal.Record{Kind: tallyKind, UID: name, Data: data})
	}
	return records, nil
}

// integralRecords encodes what Tally.Integrals gave.
func integralRecords(values map[string]any) (records []journal.Record, err error) {
	for name, value := range values {
		record := journal.Record{Kind: tallyKind, UID: name}
		if value != nil {
			if record.Data, err = json.Marshal(value); err != nil {
				return nil, fmt.Errorf("journal: encoding %s: %w", name, err)
			}
		}
		records = append(records, record)
	}
	return records, nil
}

// Save puts the snapshot of the catalog into a new journal. Objects that do not change from now on would not get into
// the journal otherwise, and the next start restores from the journal alone. It is called before Run, and retries
// until ctx ends. The journal counts as new until the collector reports a position.
func (r *Recorder) Save(ctx context.Context, known *fact.Snapshot) error {
	b := journal.Batch{Version: known.Version, Meta: map[string][]byte{metaCluster: []byte(r.options.Cluster)}}
	err := known.Objects.Each(func(o *fact.SavedObject) error {
		if o.Incomplete {
			return nil // the inventory emits it again, with its rows
		}
		b.State = append(b.State, objectRecord(o.Kind, o.UID, o.Object, o.Wire))
		if o.Snapshot.UID != "" {
			snapshot, err := snapshotRecord(&o.Snapshot)
			if err != nil {
				return err
			}
			b.State = append(b.State, snapshot)
		}
		if len(b.State) < recordsPerCommit {
			return nil
		}
		defer func() { b.State = b.State[:0] }()
		return r.put(ctx, b, fact.Facts{})
	})
	if err != nil {
		return err
	}
	return r.put(ctx, b, fact.Facts{})
}

// put commits one transaction, and retries while it can succeed later: a full disk may be cleared.
func (r *Recorder) put(ctx context.Context, b journal.Batch, facts fact.Facts) (err error) {
	if b.Rows = facts.Len(); b.Rows > 0 {
		if b.Facts, err = encodeFacts(&facts, &r.scratch); err != nil {
			return err
		}
	}
	delay := pauses(10 * time.Second)
	var logged time.Time
	for {
		err := r.options.Journal.Commit(ctx, b)
		switch {
		case err == nil || errors.Is(err, journal.ErrCorrupt) || errors.Is(err, journal.ErrFailed) || errors.Is(err, journal.ErrClosed):
			return err
		case ctx.Err() != nil:
			return fmt.Errorf("journal: %d rows could not be put into it before the end; the watches go on before them: %w", b.Rows, err)
		case time.Since(logged) > time.Minute:
			logged = time.Now()
			level.Error(r.options.Logger).Log("msg", "the journal cannot be written; retrying, and the watches wait", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(delay()):
		}
	}
}
