package journal

import (
	"bytes"
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// stateAtOnce is how many bytes of records are read at once before fn is called with them: 1 MiB.
const stateAtOnce = 1 << 20

// State calls fn with the records of one kind, in the order of their uids, as of the call; commits
// continue meanwhile. Data is valid until fn returns. An error of fn ends the iteration. Damage may
// be found only after fn was called with some of the records: after ErrCorrupt, discard them. fn
// must not call Close, Reset or Get; it may call State if nobody calls Close or Reset meanwhile.
func (j *Journal) State(kind string, fn func(uid string, data []byte) error) error {
	prefix := stateKey(nil, kind, "")
	end := append(bytes.Clone(prefix[:len(prefix)-1]), 1)
	j.files.RLock()
	defer j.files.RUnlock()
	var it *pebble.Iterator
	err := j.read(func(db *pebble.DB) (err error) {
		it, err = db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: end})
		if err == nil {
			it.First()
		}
		return err
	})
	if err != nil {
		return err
	}
	var records stateReader
	for more := true; more && err == nil; {
		err = j.read(func(*pebble.DB) error {
			more = records.fill(it)
			return it.Error()
		})
		for i := 0; i < len(records.parts) && err == nil; i += 2 {
			err = fn(string(records.parts[i][len(prefix):]), records.parts[i+1])
		}
	}
	closed := j.run(context.Background(), it.Close)
	if err == nil {
		err = j.fail(readError(closed))
	}
	return err
}

// stateReader copies records into memory that it reuses for the next ones.
type stateReader struct {
	memory []byte
	parts  [][]byte // keys and values alternate
}

// fill reads the next records, and reports whether more follow.
func (r *stateReader) fill(it *pebble.Iterator) (more bool) {
	r.memory, r.parts = r.memory[:0], r.parts[:0]
	for ; it.Valid(); it.Next() {
		if len(r.memory) >= stateAtOnce {
			return true
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return false // the iterator keeps the error
		}
		r.parts = append(r.parts, r.copy(it.Key()), r.copy(value))
	}
	return false
}

func (r *stateReader) copy(b []byte) []byte {
	from := len(r.memory)
	r.memory = append(r.memory, b...)
	return r.memory[from:len(r.memory):len(r.memory)]
}

// Get returns one record of the state; ok is false if there is none.
func (j *Journal) Get(kind, uid string) (data []byte, ok bool, err error) {
	j.files.RLock()
	defer j.files.RUnlock()
	data, err = j.get(stateKey(nil, kind, uid))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	return data, err == nil, err
}

// get returns the value of a key, or pebble.ErrNotFound. The caller has files.
func (j *Journal) get(key []byte) (value []byte, err error) {
	err = j.read(func(db *pebble.DB) (err error) {
		value, err = valueOf(db, key)
		return err
	})
	return value, err
}

func valueOf(db *pebble.DB, key []byte) ([]byte, error) {
	value, done, err := db.Get(key)
	if err != nil {
		return nil, err
	}
	return bytes.Clone(value), done.Close()
}

// read calls do with the database. The caller has files.
func (j *Journal) read(do func(*pebble.DB) error) error {
	if err := j.failure(); err != nil {
		return err
	}
	err := j.run(context.Background(), func() error { return do(j.store.db) })
	if errors.Is(err, pebble.ErrNotFound) {
		return err
	}
	return j.fail(readError(err))
}
