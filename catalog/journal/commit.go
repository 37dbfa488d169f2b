package journal

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/go-kit/log/level"
)

// Commit puts a batch into the journal as one transaction, and returns when the batch is on disk.
// While MaxBytes of facts or more are unacknowledged, Commit waits, until ctx ends.
//
// After an error the caller keeps the batch and may try again: after a disk error, once the disk is
// repaired; after ErrCorrupt, once Reset was called; after ErrFailed, once the process was
// restarted. If ctx ends during the write, the batch may be in the journal nevertheless; committing
// it again does no harm, because rows are idempotent.
func (j *Journal) Commit(ctx context.Context, b Batch) error {
	for i := range b.State {
		if err := b.State[i].check(); err != nil {
			return err
		}
	}
	b.completes = !b.More
	if err := j.waitForRoom(ctx, &b); err != nil {
		return err
	}
	if err := j.lock(ctx); err != nil {
		return err
	}
	return j.run(ctx, func() error {
		defer j.unlock()
		err := j.write(&b)
		if isFull(err) && j.acknowledged() && j.makeRoom() == nil {
			for begun := time.Now(); isFull(err) && ctx.Err() == nil && time.Since(begun) < deletePatience; {
				time.Sleep(20 * time.Millisecond)
				err = j.write(&b)
			}
		}
		return err
	})
}

func (j *Journal) waitForRoom(ctx context.Context, b *Batch) error {
	for {
		j.mu.Lock()
		err, full, changed := j.err, j.stats.Bytes >= j.options.MaxBytes, j.changed
		j.mu.Unlock()
		if err != nil {
			return err
		}
		if !full || len(b.Facts) == 0 {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("journal %s is full: %w", j.options.Path, ctx.Err())
		case <-changed:
		}
	}
}

func (j *Journal) acknowledged() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err == nil && len(j.done) > 0
}

// takeOut deletes the acknowledged facts. The caller has writing.
func (j *Journal) takeOut() error {
	if !j.acknowledged() {
		return nil
	}
	return j.write(&Batch{})
}

// compactPatience bounds a compaction that may lack the disk space that it needs itself.
const compactPatience = 10 * time.Second

// deletePatience bounds the wait for the deletion of the files that a compaction made obsolete.
const deletePatience = 2 * time.Second

// makeRoom deletes the acknowledged facts and compacts the database at once, to free space on a
// full disk. The caller has writing.
func (j *Journal) makeRoom() error {
	if err := j.takeOut(); err != nil {
		return err
	}
	if err := j.store.db.Flush(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), compactPatience)
	defer cancel()
	return j.store.db.Compact(ctx, []byte{factsKeys}, []byte{factsKeys + 1}, false)
}

// flush calls takeOut if no commit has come since the acknowledgement.
func (j *Journal) flush() {
	if j.lock(context.Background()) != nil {
		return
	}
	err := j.run(context.Background(), func() error {
		defer j.unlock()
		j.mu.Lock()
		j.flushes = nil
		j.mu.Unlock()
		return j.takeOut()
	})
	if err != nil {
		// The next commit tries again, and reports the error to a caller that can act on it.
		level.Debug(j.options.Logger).Log("msg", "acknowledgements were not taken out of the journal yet", "err", err)
	}
}

// write commits one transaction: a batch, and the deletion of the acknowledged facts. The caller
// has writing.
func (j *Journal) write(b *Batch) error {
	j.mu.Lock()
	if j.err != nil {
		defer j.mu.Unlock()
		return j.err
	}
	t := transaction{batch: b, head: j.head, gone: j.done, now: j.options.Now()}
	j.mu.Unlock()

	t.head.Positions, t.head.Meta = maps.Clone(t.head.Positions), maps.Clone(t.head.Meta)
	if b.clear {
		t.head.ID, t.head.Positions, t.head.Meta, t.head.Undo = rand.Text(), nil, nil, 0
	}
	t.head.Commits++
	if err := j.commit(&t); err != nil {
		return j.fail(writeError(j.options.Path, err)) // a commit also reads: see putUndo
	}
	j.took(&t)
	return nil
}

// commit writes a transaction to disk.
func (j *Journal) commit(t *transaction) error {
	b := j.store.db.NewBatchWithSize(t.size())
	defer b.Close()
	if err := t.put(b, j.store.db); err != nil {
		return err
	}
	// A transaction that only deletes frees space, so it may use the reserve. So may one that Open needs.
	if !t.deletes() && t.batch.undone == 0 {
		if err := j.room(memTableSize + 4*int64(b.Len())); err != nil {
			return err
		}
	}
	return b.Commit(pebble.Sync)
}

// took updates the journal's memory with the changes of a transaction.
func (j *Journal) took(t *transaction) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil { // else the file says that the directory is damaged
		last := committed{format: format, id: t.head.ID, commits: t.head.Commits}
		if err := last.write(j.store.committed); err != nil {
			// The commit is on disk all the same. The file is behind, and notices less.
			level.Warn(j.options.Logger).Log("msg", "the journal's file "+committedName+" cannot be written", "err", err)
		}
	}
	j.head = t.head
	if j.done = j.done[len(t.gone):]; len(j.done) == 0 {
		j.done = nil
	}
	if t.added.number != 0 {
		j.waiting = append(j.waiting, t.added)
		j.stats.Rows += t.added.rows
		j.stats.Bytes += int64(t.added.bytes)
	}
	j.wake()
}

// transaction is the set of changes of one write.
type transaction struct {
	batch *Batch
	head  head    // its values after the transaction
	gone  []entry // acknowledged
	added entry   // the batch's facts, if it has any
	now   time.Time
}

// size returns about how many bytes the transaction takes in the database's log.
func (t *transaction) size() int {
	const head, perKey = 4 << 10, 64
	state := 0
	for i := range t.batch.State {
		state += perKey + len(t.batch.State[i].Data)
	}
	if t.batch.More {
		state *= 2 // with the records that these replace
	}
	return head + len(t.batch.Facts) + state
}

// deletes reports whether the transaction contains only deletions.
func (t *transaction) deletes() bool {
	return (len(t.gone) > 0 || t.batch.clear) && len(t.batch.Facts) == 0 && len(t.batch.State) == 0
}

func (t *transaction) put(b *pebble.Batch, db *pebble.DB) error {
	err := errors.Join(t.takeOut(b), t.putFacts(b), t.putUndo(b, db), t.putState(b))
	if err != nil {
		return err
	}
	t.putSmall()
	value, err := json.Marshal(&t.head)
	if err != nil {
		return fmt.Errorf("encoding the head: %w", err)
	}
	if n := t.head.Commits; n > commitsKept {
		err = b.Delete(numberKey(commitKeys, n-commitsKept), nil)
	}
	return errors.Join(err, b.Set(numberKey(commitKeys, t.head.Commits), nil, nil), b.Set(headKey, value, nil))
}

// deleteRange is the number of keys from which on facts are deleted as a range: 64. For the
// tombstone of a range the database drops whole tables at once, but it costs each reader, and a
// flush one second later. The few keys of a quiet cluster are deleted one by one.
const deleteRange = 64

func (t *transaction) takeOut(b *pebble.Batch) (err error) {
	n := len(t.gone)
	if n == 0 {
		return nil
	}
	t.head.Acknowledged = t.gone[n-1].number
	chunks := 0
	for i := range t.gone {
		chunks += t.gone[i].chunks()
	}
	if chunks > deleteRange {
		return b.DeleteRange(factsKey(t.gone[0].number, 0), factsKey(t.head.Acknowledged+1, 0), nil)
	}
	for i := range t.gone {
		for chunk := range t.gone[i].chunks() {
			err = errors.Join(err, b.Delete(factsKey(t.gone[i].number, chunk), nil))
		}
	}
	return err
}

func (t *transaction) putFacts(b *pebble.Batch) error {
	if len(t.batch.Facts) == 0 {
		return nil
	}
	t.head.Last++
	t.added = entry{number: t.head.Last, rows: t.batch.Rows, bytes: len(t.batch.Facts), at: t.now.UTC().Round(0)}
	for i := range t.added.chunks() {
		piece := t.batch.Facts[i*chunkBytes : min((i+1)*chunkBytes, len(t.batch.Facts))]
		if i == 0 {
			piece = append(t.added.appendHeader(make([]byte, 0, headerBytes+len(piece))), piece...)
		}
		if err := b.Set(factsKey(t.added.number, i), piece, nil); err != nil {
			return err
		}
	}
	return nil
}

func (t *transaction) putState(b *pebble.Batch) (err error) {
	if t.batch.clear {
		err = b.DeleteRange([]byte{stateKeys}, []byte{stateKeys + 1}, nil)
	}
	var key []byte
	for i := range t.batch.State {
		r := &t.batch.State[i]
		key = stateKey(key[:0], r.Kind, r.UID)
		if r.Data == nil {
			err = errors.Join(err, b.Delete(key, nil))
		} else {
			err = errors.Join(err, b.Set(key, r.Data, nil))
		}
	}
	return err
}

// putSmall puts the values that are part of the head.
func (t *transaction) putSmall() {
	t.head.Version = max(t.head.Version, t.batch.Version)
	for _, p := range t.batch.Positions {
		if t.head.Positions == nil {
			t.head.Positions = map[string]position{}
		}
		t.head.Positions[p.Kind] = position{ResourceVersion: p.ResourceVersion, At: p.At.UTC().Round(0)}
	}
	for key, value := range t.batch.Meta {
		if t.head.Meta == nil {
			t.head.Meta = map[string][]byte{}
		}
		if value == nil {
			delete(t.head.Meta, key)
			continue
		}
		t.head.Meta[key] = append([]byte{}, value...)
	}
}
