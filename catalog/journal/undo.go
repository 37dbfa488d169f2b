package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/go-kit/log/level"
)

// A commit of the owner can take several batches (Batch.More). The watches resume from the positions, which the last batch
// has. If the process ends before that one, the state of the others must go: it would be ahead of the events that the watches
// repeat. So each batch with More also stores the records that its State replaces, numbered from 1 on; head.Undo is the last
// number. The batch that completes the commit deletes them. If it is missing, Open puts them back, the last one first.
//
// They are records of the state, of a kind of the journal's own, because former versions of this program take a directory with
// unknown keys for damaged. A former version drops head.Undo, and the records no longer count.
const undoKind = "undo"

var undoPrefix = stateKey(nil, undoKind, "")

func undoKey(number uint64) []byte {
	return binary.BigEndian.AppendUint64(bytes.Clone(undoPrefix), number)
}

// appendReplaced encodes a record as it was before, if it was there.
func appendReplaced(dst, key, value []byte, there bool) []byte {
	if there {
		dst = append(dst, 1)
	} else {
		dst = append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(key)))
	return append(append(dst, key...), value...)
}

// decodeReplaced decodes an appendReplaced into a Record.
func decodeReplaced(data []byte) (r Record, err error) {
	if len(data) > 0 {
		size, n := binary.Uvarint(data[1:])
		if key := data[1+max(n, 0):]; n > 0 && size <= uint64(len(key)) && checkStateKey(key[:size]) == nil {
			kind, uid, _ := bytes.Cut(key[1:size], []byte{0})
			r = Record{Kind: string(kind), UID: string(uid)}
			if data[0] == 1 {
				r.Data = append([]byte{}, key[size:]...)
			}
			return r, nil
		}
	}
	return r, corruptf("a record to put back cannot be read")
}

// putUndo stores the records that the batch is about to replace, or deletes those that nobody needs any more. A journal
// without positions needs none: no watch resumes from it.
func (t *transaction) putUndo(b *pebble.Batch, db *pebble.DB) error {
	former := t.head.Undo
	switch {
	case t.batch.undone > 0:
		t.head.Undo -= t.batch.undone
		return b.DeleteRange(undoKey(t.head.Undo+1), undoKey(former+1), nil)
	case t.batch.completes && former > 0:
		t.head.Undo = 0
		return b.DeleteRange(undoKey(0), undoKey(math.MaxUint64), nil)
	case !t.batch.More || len(t.head.Positions) == 0:
		return nil
	}
	keys := make([][]byte, len(t.batch.State))
	for i := range keys {
		keys[i] = stateKey(nil, t.batch.State[i].Kind, t.batch.State[i].UID)
	}
	slices.SortFunc(keys, bytes.Compare) // neighbours are in one block, which the database reads once
	var replaced []byte
	for _, key := range slices.CompactFunc(keys, bytes.Equal) {
		value, err := valueOf(db, key)
		missing := errors.Is(err, pebble.ErrNotFound)
		if err != nil && !missing {
			return readError(err)
		}
		replaced = appendReplaced(replaced[:0], key, value, !missing)
		t.head.Undo++
		if err := b.Set(undoKey(t.head.Undo), replaced, nil); err != nil {
			return err
		}
	}
	return nil
}

// undo puts back the records that a commit without its last batch has replaced. If the process ends meanwhile, the next one
// goes on.
func (j *Journal) undo() error {
	if j.head.Undo == 0 {
		return nil
	}
	level.Info(j.options.Logger).Log("msg", "the last commit was cut off: its state is undone, and the watches repeat its events",
		"records", j.head.Undo)
	for j.head.Undo > 0 {
		records, err := j.replaced(j.head.Undo)
		if err == nil {
			err = j.write(&Batch{State: records, Meta: j.options.UndoMeta, undone: uint64(len(records))})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// replaced reads the records that were replaced last, about stateAtOnce bytes of them, the last one first.
func (j *Journal) replaced(last uint64) (records []Record, err error) {
	it, err := j.store.db.NewIter(&pebble.IterOptions{LowerBound: undoKey(1), UpperBound: undoKey(last + 1)})
	if err != nil {
		return nil, readError(err)
	}
	size := 0
	for ok := it.Last(); ok && err == nil && size < stateAtOnce; ok = it.Prev() {
		var r Record
		var data []byte
		if data, err = it.ValueAndErr(); err == nil {
			r, err = decodeReplaced(data)
		}
		records, size = append(records, r), size+len(data)
	}
	return records, errors.Join(readError(err), readError(it.Close()))
}
