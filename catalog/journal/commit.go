package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/go-kit/log/level"
	"go.etcd.io/bbolt"
)

// Commit puts a batch into the journal as one transaction, and returns when it is on
// disk. While MaxBytes of facts or more wait to be acknowledged, it waits, until ctx
// ends. After an error the batch is still the caller's, to be tried again: after one
// of the disk, as soon as that is mended; after ErrCorrupt, once Reset was called.
// In rare cases, when the disk fails at the very end, such a batch is in the journal
// even so; committing it once more does no harm, as rows are idempotent.
func (j *Journal) Commit(ctx context.Context, b Batch) error {
	for i := range b.State {
		if err := b.State[i].check(); err != nil {
			return err
		}
	}
	if err := j.waitForRoom(ctx, &b); err != nil {
		return err
	}
	j.writing.Lock()
	defer j.writing.Unlock()
	err := j.write(&b)
	if err != nil && j.acknowledged() {
		// What was acknowledged leaves room in the file, but not in the transaction
		// that takes it out.
		if j.takeOut() == nil {
			err = j.write(&b)
		}
	}
	return err
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

// maxTakeOut is how many bytes of acknowledged facts one transaction takes out.
const maxTakeOut = 64 << 20

// takeOut deletes what was acknowledged from the file. It needs writing.
func (j *Journal) takeOut() error {
	for j.acknowledged() {
		if err := j.write(&Batch{}); err != nil {
			return err
		}
	}
	return nil
}

// flush is takeOut when no commit has come.
func (j *Journal) flush() {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.mu.Lock()
	j.flushes = nil
	j.mu.Unlock()
	if j.failed() != nil {
		return
	}
	if err := j.takeOut(); err != nil {
		// The next commit tries again, and says so to somebody who can act on it.
		level.Debug(j.options.Logger).Log("msg", "acknowledgements were not taken out of the journal yet", "err", err)
		return
	}
	j.compactWhenDrained()
}

// write is one transaction: a batch, and what was acknowledged. It needs writing.
func (j *Journal) write(b *Batch) error {
	j.files.RLock()
	defer j.files.RUnlock()
	j.mu.Lock()
	if j.err != nil {
		j.mu.Unlock()
		return j.err
	}
	t := transaction{batch: b, head: j.head, gone: j.bounded(), now: j.options.Now()}
	j.mu.Unlock()

	t.head.Positions, t.head.Meta = maps.Clone(t.head.Positions), maps.Clone(t.head.Meta)
	t.head.Commits++
	if err := j.store.update(t.run); err != nil {
		return j.failedWrite(&t, writeError(j.options.Path, err))
	}
	j.committed(&t)
	return nil
}

// bounded is what of the acknowledged facts the next transaction takes out. It needs
// mu.
func (j *Journal) bounded() []entry {
	bytes := 0
	for i := range j.done {
		if bytes += j.done[i].Bytes; bytes > maxTakeOut && i > 0 {
			return j.done[:i]
		}
	}
	return j.done
}

// committed takes over what a transaction has changed.
func (j *Journal) committed(t *transaction) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.head = t.head
	j.done = j.done[len(t.gone):]
	if len(j.done) == 0 {
		j.done = nil
	}
	if t.added.number != 0 {
		j.waiting = append(j.waiting, t.added)
		j.stats.Rows += t.added.Rows
		j.stats.Bytes += int64(t.added.Bytes)
	}
	j.stats.FileBytes = j.store.size.Load()
	j.tell()
}

// failedWrite finds out whether a transaction that failed is in the file even so:
// when only the last sync of the new beginning failed, it is, for all who read.
func (j *Journal) failedWrite(t *transaction, err error) error {
	if errors.Is(err, ErrCorrupt) {
		return j.fail(err)
	}
	var h head
	read := j.store.view(func(tx *bbolt.Tx) (err error) {
		h, err = getHead(tx)
		return err
	})
	if read != nil {
		return j.fail(read)
	}
	if h.Commits == t.head.Commits {
		j.committed(t)
	}
	return err
}

func getHead(tx *bbolt.Tx) (head, error) {
	return unsealHead(tx.Bucket(headBucket).Get(headKey))
}

// transaction is what a write does to the file.
type transaction struct {
	batch *Batch
	head  head    // as it will be
	gone  []entry // acknowledged
	added entry   // the batch's facts, if it has any
	now   time.Time
}

func (t *transaction) run(tx *bbolt.Tx) error {
	h, err := getHead(tx)
	if err != nil {
		return err
	}
	if h.Commits+1 != t.head.Commits {
		return corruptf("its last transaction is %d, and should be %d", h.Commits, t.head.Commits-1)
	}
	if err := t.takeOut(tx.Bucket(factsBucket)); err != nil {
		return err
	}
	if err := t.putFacts(tx.Bucket(factsBucket)); err != nil {
		return err
	}
	if err := t.putState(tx.Bucket(stateBucket)); err != nil {
		return err
	}
	t.putSmall()
	return putHead(tx, &t.head)
}

func (t *transaction) takeOut(facts *bbolt.Bucket) error {
	for i := range t.gone {
		for record := range t.gone[i].Chunks + 1 {
			if err := facts.Delete(factsKey(t.gone[i].number, record)); err != nil {
				return err
			}
		}
		t.head.Acknowledged = t.gone[i].number
	}
	return nil
}

func (t *transaction) putFacts(facts *bbolt.Bucket) error {
	data := t.batch.Facts
	if len(data) == 0 {
		return nil
	}
	facts.FillPercent = 1 // numbers only grow
	t.head.Last++
	t.added = entry{number: t.head.Last, Rows: t.batch.Rows, Bytes: len(data), Chunks: (len(data) + chunkBytes - 1) / chunkBytes, At: t.now.UTC().Round(0)}
	first, err := json.Marshal(t.added)
	if err != nil {
		return fmt.Errorf("encoding the beginning of a batch: %w", err)
	}
	put := func(record int, data []byte) error {
		key := factsKey(t.added.number, record)
		return facts.Put(key, seal(make([]byte, 0, len(data)+sealBytes), factsBucket, key, data))
	}
	if err := put(0, first); err != nil {
		return err
	}
	for i := range t.added.Chunks {
		if err := put(i+1, data[i*chunkBytes:min((i+1)*chunkBytes, len(data))]); err != nil {
			return err
		}
	}
	return nil
}

func (t *transaction) putState(state *bbolt.Bucket) error {
	var key []byte
	for i := range t.batch.State {
		r := &t.batch.State[i]
		key = appendStateKey(key[:0], r.Kind, r.UID)
		if old := state.Get(key); old != nil {
			if len(old) < sealBytes {
				return corruptf("record %q of the state is cut short", key)
			}
			t.head.State.remove(old)
		}
		if r.Data == nil {
			if err := state.Delete(key); err != nil {
				return err
			}
			continue
		}
		value := seal(make([]byte, 0, len(r.Data)+sealBytes), stateBucket, key, r.Data)
		t.head.State.add(value)
		if err := state.Put(key, value); err != nil {
			return err
		}
	}
	return nil
}

// putSmall changes what the head itself holds.
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
