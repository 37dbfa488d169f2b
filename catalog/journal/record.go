package journal

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"
	"time"
)

// format is what this program writes. A later one may change all but the bucket
// head, its one record, the seal of it and its field Format, which is how this
// program knows that it must not touch the file; and it must not nest buckets.
const format = 1

// The buckets, and the key of the one record in head. The names are part of the
// checksums, so that a record cannot pass for one of another bucket.
var (
	headBucket  = []byte("head")
	factsBucket = []byte("facts")
	stateBucket = []byte("state")
	headKey     = []byte("head")
)

// sealBytes is what a seal adds to a value.
const sealBytes = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is the CRC-32C of a record: of its bucket, key and data.
func checksum(bucket, key, data []byte) uint32 {
	sum := crc32.Update(0, castagnoli, bucket)
	sum = crc32.Update(sum, castagnoli, key)
	return crc32.Update(sum, castagnoli, data)
}

// seal appends data and its checksum to dst.
func seal(dst, bucket, key, data []byte) []byte {
	dst = append(dst, data...)
	return binary.LittleEndian.AppendUint32(dst, checksum(bucket, key, data))
}

// unseal returns the data of a value, if the checksum is right.
func unseal(bucket, key, value []byte) ([]byte, error) {
	if len(value) < sealBytes {
		return nil, corruptf("record %q of %s is missing or cut short", key, bucket)
	}
	data := value[:len(value)-sealBytes]
	if sealOf(value) != checksum(bucket, key, data) {
		return nil, corruptf("record %q of %s does not match its checksum", key, bucket)
	}
	return data, nil
}

func sealOf(value []byte) uint32 {
	return binary.LittleEndian.Uint32(value[len(value)-sealBytes:])
}

// head is the one record of the bucket head: all that is small. Every transaction
// writes it anew.
type head struct {
	Format int    `json:"format"`
	ID     string `json:"id"`
	// Last is the last batch number given out, Acknowledged the last one whose
	// facts have been taken out of the file: those between are there.
	Last         uint64 `json:"last"`
	Acknowledged uint64 `json:"acknowledged"`
	Version      uint64 `json:"version"`
	// Commits counts the transactions, to notice one that is not there any more.
	Commits uint64 `json:"commits"`
	// State tells what the bucket state must hold.
	State     digest              `json:"state"`
	Positions map[string]position `json:"positions,omitempty"`
	Meta      map[string][]byte   `json:"meta,omitempty"`
}

type position struct {
	ResourceVersion string    `json:"resourceVersion"`
	At              time.Time `json:"at"`
}

// digest is of a set of records, in any order: how many, and the sum of their
// checksums. It finds what a checksum in each of them cannot: a record that is gone,
// and a page of an earlier time.
type digest struct {
	Records uint64 `json:"records"`
	Sum     uint64 `json:"sum"`
}

func (d *digest) add(value []byte) {
	d.Records++
	d.Sum += uint64(sealOf(value))
}

func (d *digest) remove(value []byte) {
	d.Records--
	d.Sum -= uint64(sealOf(value))
}

func sealHead(h *head) ([]byte, error) {
	data, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("journal: encoding the head: %w", err)
	}
	return seal(nil, headBucket, headKey, data), nil
}

func unsealHead(value []byte) (head, error) {
	data, err := unseal(headBucket, headKey, value)
	if err != nil {
		return head{}, err
	}
	var h head
	if err := json.Unmarshal(data, &h); err != nil {
		return head{}, corruptf("the head cannot be read: %v", err)
	}
	return h, nil
}

// appendStateKey appends the key of an object's record.
func appendStateKey(dst []byte, kind, uid string) []byte {
	dst = append(dst, kind...)
	dst = append(dst, 0)
	return append(dst, uid...)
}

func splitStateKey(key []byte) (kind, uid string, err error) {
	kind, uid, ok := strings.Cut(string(key), "\x00")
	if !ok {
		return "", "", corruptf("record %q of the state has no kind", key)
	}
	return kind, uid, nil
}

// maxKey is bbolt's bound for a key.
const maxKey = 32768

func (r *Record) check() error {
	if r.Kind == "" || r.UID == "" || strings.ContainsRune(r.Kind, 0) || len(r.Kind)+len(r.UID) >= maxKey {
		return fmt.Errorf("journal: a record of kind %.60q and uid %.60q cannot be kept: both must be there, and short", r.Kind, r.UID)
	}
	return nil
}

// chunkBytes is how much of a batch goes into one record, so that two fill a page of
// 4 KiB. In bbolt a leaf holds up to three records however big they are: with whole
// batches as records each commit would write the two or three before it again (422
// bytes for a row of 70, while batches pile up, instead of 113). And with single pages
// any free page will do, where a batch would need a row of them.
const chunkBytes = (pageSize-pageHeader)/2 - elementHeader - factsKeyBytes - sealBytes

// entry is what is known in memory of a batch of facts in the file. Its record 0
// holds this, the records 1 to Chunks the facts.
type entry struct {
	number uint64
	Rows   int       `json:"rows"`
	Bytes  int       `json:"bytes"`
	Chunks int       `json:"chunks"`
	At     time.Time `json:"at"`
}

// factsKeyBytes is the length of a key in facts: the batch's number (8 bytes) and
// the record's (4 bytes), big end first, so that they are in order.
const factsKeyBytes = 12

func factsKey(number uint64, record int) []byte {
	key := make([]byte, 0, factsKeyBytes)
	key = binary.BigEndian.AppendUint64(key, number)
	return binary.BigEndian.AppendUint32(key, uint32(record))
}

func splitFactsKey(key []byte) (number uint64, record int, err error) {
	if len(key) != factsKeyBytes {
		return 0, 0, corruptf("record %x of the facts has no number", key)
	}
	return binary.BigEndian.Uint64(key), int(binary.BigEndian.Uint32(key[8:])), nil
}

func unsealEntry(number uint64, value []byte) (entry, error) {
	data, err := unseal(factsBucket, factsKey(number, 0), value)
	if err != nil {
		return entry{}, err
	}
	e := entry{number: number}
	if err := json.Unmarshal(data, &e); err != nil || e.Bytes < 0 || e.Chunks != (e.Bytes+chunkBytes-1)/chunkBytes && e.Chunks <= 0 {
		return entry{}, corruptf("the beginning of batch %d cannot be read: %v", number, err)
	}
	return e, nil
}
