package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// format is the format that this program writes; format 1 was a single file, of bbolt. A later
// format may change everything but the file COMMITTED, by which this program recognises that it
// must not touch the directory.
const format = 2

// The keys of the database, by their first byte:
//
//	c + number (8 bytes, big endian)  nothing: that commit is there
//	f + number (8) + chunk (4)        a piece of a batch of facts; the first behind a header
//	h                                 the head
//	s + kind + \0 + uid               the state of an object, or a record that it had before (undo.go)
const (
	commitKeys = 'c'
	factsKeys  = 'f'
	headKeys   = 'h'
	stateKeys  = 's'
)

var headKey = []byte{headKeys}

// commitsKept is how many commits keep their key. A damaged MANIFEST or a lost log takes away
// the commits of whole memtables. The key of the last of them must be there still: four
// memtables of 2 MB have room for some 30,000 of the smallest commits, of about 300 bytes.
const commitsKept = 1 << 16

// head is all small values of the journal. Every commit writes all of it.
type head struct {
	Format int    `json:"format"`
	ID     string `json:"id"`
	// Last is the last batch number in use, Acknowledged the last one whose facts have been
	// deleted: the batches between them are in the journal.
	Last         uint64 `json:"last"`
	Acknowledged uint64 `json:"acknowledged"`
	Version      uint64 `json:"version"`
	// Commits counts the commits.
	Commits   uint64              `json:"commits"`
	Positions map[string]position `json:"positions,omitempty"`
	Meta      map[string][]byte   `json:"meta,omitempty"`
	// Undo counts the records that a commit in several batches has replaced; 0 between commits.
	Undo uint64 `json:"undo,omitempty"`
}

type position struct {
	ResourceVersion string    `json:"resourceVersion"`
	At              time.Time `json:"at"`
}

func decodeHead(value []byte) (head, error) {
	var h head
	if err := json.Unmarshal(value, &h); err != nil {
		return head{}, corruptf("the head cannot be read: %v", err)
	}
	if h.Format > format {
		return head{}, fmt.Errorf("%w: its format is %d, this program knows %d", ErrNewerFormat, h.Format, format)
	}
	return h, nil
}

func numberKey(prefix byte, number uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{prefix}, number)
}

func splitNumberKey(key []byte) (number uint64, err error) {
	if len(key) != 9 {
		return 0, corruptf("key %q has no number", key)
	}
	return binary.BigEndian.Uint64(key[1:]), nil
}

// entry is a batch of facts, without the facts, in memory.
type entry struct {
	number uint64
	rows   int
	bytes  int // of the facts
	at     time.Time
}

// chunkBytes is how many bytes of a batch of facts are stored under one key. If a block does not
// match its checksum, Pebble searches for the flipped bit, which takes the square of the block's
// size: 0.2 s for 16 KiB, and a minute for 2 MiB.
const chunkBytes = 16 << 10

func (e *entry) chunks() int { return (e.bytes + chunkBytes - 1) / chunkBytes }

func factsKey(number uint64, chunk int) []byte {
	return binary.BigEndian.AppendUint32(numberKey(factsKeys, number), uint32(chunk))
}

func splitFactsKey(key []byte) (number uint64, chunk int, err error) {
	if len(key) != 13 {
		return 0, 0, corruptf("key %q has no number", key)
	}
	return binary.BigEndian.Uint64(key[1:]), int(binary.BigEndian.Uint32(key[9:])), nil
}

// headerBytes is how many bytes precede the first piece of a batch: rows, bytes and time, 8 each.
const headerBytes = 24

func (e *entry) appendHeader(dst []byte) []byte {
	for _, n := range [...]int64{int64(e.rows), int64(e.bytes), e.at.UnixNano()} {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(n)) //nolint:gosec // two's complement, read back the same way
	}
	return dst
}

func decodeEntry(number uint64, value []byte) (entry, error) {
	if len(value) <= headerBytes {
		return entry{}, corruptf("batch %d of the facts is cut short", number)
	}
	n := func(i int) int64 { return int64(binary.LittleEndian.Uint64(value[8*i:])) } //nolint:gosec // two's complement, written the same way
	return entry{number: number, rows: int(n(0)), bytes: int(n(1)), at: time.Unix(0, n(2)).UTC()}, nil
}

// stateKey appends the key of an object's record.
func stateKey(dst []byte, kind, uid string) []byte {
	dst = append(dst, stateKeys)
	dst = append(dst, kind...)
	dst = append(dst, 0)
	return append(dst, uid...)
}

func checkStateKey(key []byte) error {
	if i := bytes.IndexByte(key, 0); i < 2 || i == len(key)-1 {
		return corruptf("record %q of the state has no kind or no uid", key)
	}
	return nil
}

// maxKey bounds a kind and a uid together, in bytes.
const maxKey = 32768

func (r *Record) check() error {
	if r.Kind == "" || r.Kind == undoKind || r.UID == "" || strings.ContainsRune(r.Kind, 0) || len(r.Kind)+len(r.UID) >= maxKey {
		return fmt.Errorf("journal: a record of kind %.60q and uid %.60q cannot be kept: both must be there, short, and not the journal's own", r.Kind, r.UID)
	}
	return nil
}
