package journal

import (
	"bytes"

	"go.etcd.io/bbolt"
)

// stateAtOnce is how many bytes of records are read in one go: fn is called outside
// of any transaction, and on memory that no fault can reach.
const stateAtOnce = 1 << 20

// State calls fn with the record of each object, kind by kind. Data is the callee's
// only until it returns. Commits wait meanwhile; fn must not call the journal. An
// error of fn ends it. That the state is damaged may come to light only after fn was
// called with some or all of it, each record right by itself: on ErrCorrupt, throw
// away what was read.
func (j *Journal) State(fn func(kind, uid string, data []byte) error) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	if err := j.failed(); err != nil {
		return err
	}
	var read stateReader
	for !read.end {
		if err := j.store.view(read.more); err != nil {
			return j.fail(err)
		}
		for _, r := range read.records {
			kind, uid, err := splitStateKey(r.key)
			if err != nil {
				return j.fail(err)
			}
			if err := fn(kind, uid, r.data); err != nil {
				return err
			}
		}
	}
	if read.digest != j.head.State {
		return j.fail(corruptf("the state has %d records, and should have %d, or some are of an earlier time", read.digest.Records, j.head.State.Records))
	}
	return nil
}

// stateReader reads the state piece by piece.
type stateReader struct {
	memory  []byte
	records []stateRecord
	last    []byte // key of the last record read
	digest  digest
	end     bool
}

type stateRecord struct{ key, data []byte }

func (r *stateReader) more(tx *bbolt.Tx) error {
	r.memory, r.records = r.memory[:0], r.records[:0]
	c := tx.Bucket(stateBucket).Cursor()
	k, v := c.Seek(r.last)
	if k != nil && bytes.Equal(k, r.last) {
		k, v = c.Next()
	}
	for ; k != nil; k, v = c.Next() {
		if len(r.records) > 0 && len(r.memory)+len(k)+len(v) > stateAtOnce {
			return nil
		}
		key, value := r.copy(k), r.copy(v)
		data, err := unseal(stateBucket, key, value)
		if err != nil {
			return err
		}
		r.digest.add(value)
		r.records = append(r.records, stateRecord{key, data})
		r.last = key
	}
	r.end = true
	return nil
}

// copy keeps b in memory that is used again for the next piece.
func (r *stateReader) copy(b []byte) []byte {
	from := len(r.memory)
	r.memory = append(r.memory, b...)
	return r.memory[from:len(r.memory):len(r.memory)]
}
