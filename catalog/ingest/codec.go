package ingest

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"

	"github.com/fxamacker/cbor/v2"
	"github.com/klauspost/compress/zstd"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// The first byte of encoded facts is their form. In both forms they are CBOR with the fields by name, compressed by
// zstd at its fastest level. Form 2 has objects as protobuf: a program that knows only their JSON must not pass over it.
//
// Field names make it safe to add fields and tables. A newer program finds zeros where an older journal lacks a field;
// an older program skips the fields of a newer journal. zstd makes up for the names. Measured with 1,000 mixed rows
// (clusterRows), four for each pod, on a core that was shared (time per row to encode and to decode, and size per row):
//
//	JSON, zstd    2-3 µs   5-7 µs   64 B
//	gob, zstd     2-3 µs   2 µs     69 B
//	CBOR, s2      1-2 µs   2-3 µs  114 B
//	CBOR, zstd    2-3 µs   2 µs     68 B
//
// Such a row has two or three random UIDs of 16 bytes each. Compression removes only those that come again in the same
// batch. A pod of a real cluster has 70 rows with the same UIDs, so a row takes 32 B (docs/operate.md): 4 GiB are about
// 130 million rows. gob would add 5 KB of type descriptions to each batch, however small. Columns instead of rows save nothing
// that zstd does not save.
const (
	factsForm    = 1
	protobufForm = 2
)

type codec struct {
	encode cbor.UserBufferEncMode
	decode cbor.DecMode
	pack   *zstd.Encoder
	unpack *zstd.Decoder
}

// theCodec returns the one codec, which takes megabytes and is safe for concurrent use.
var theCodec = sync.OnceValues(func() (c codec, err error) {
	if c.encode, err = (cbor.EncOptions{}).UserBufferEncMode(); err != nil {
		return c, err
	}
	c.decode, err = cbor.DecOptions{
		MaxArrayElements: math.MaxInt32,          // rows of a table
		MaxMapPairs:      math.MaxInt32,          // labels
		UTF8:             cbor.UTF8DecodeInvalid, // names may have any bytes that the API server accepted
	}.DecMode()
	if err != nil {
		return c, err
	}
	// The encoder keeps two windows in memory. A larger window makes the output no smaller; half of it makes the
	// output a fifth larger.
	if c.pack, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true)); err != nil {
		return c, err
	}
	c.unpack, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	return c, err
})

// encodeFacts returns facts as bytes for journal.Batch.Facts; nil if there are no rows. It works in scratch, whose
// memory the next call can use again: 10,000 rows take some 7 MB before they are compressed.
func encodeFacts(facts *fact.Facts, scratch *bytes.Buffer) ([]byte, error) {
	if !hasRows(facts) {
		return nil, nil
	}
	c, err := theCodec()
	if err != nil {
		return nil, fmt.Errorf("encoding facts: %w", err)
	}
	scratch.Reset()
	if err := c.encode.MarshalToBuffer(facts, scratch); err != nil {
		return nil, fmt.Errorf("encoding facts: %w", err)
	}
	form := byte(factsForm)
	if slices.ContainsFunc(facts.Objects, func(o fact.Object) bool { return o.Wire != nil }) {
		form = protobufForm
	}
	return c.pack.EncodeAll(scratch.Bytes(), append(make([]byte, 0, scratch.Len()/8), form)), nil
}

// hasRows reports whether any list of facts has rows. It reflects over all lists, so a new one cannot be forgotten.
func hasRows(facts *fact.Facts) bool {
	tables := reflect.ValueOf(facts).Elem()
	for i := range tables.NumField() {
		if tables.Field(i).Len() > 0 {
			return true
		}
	}
	return false
}

// decodeFacts reads the bytes of encodeFacts into facts, which should be empty. Empty maps and lists may come back
// as nil.
func decodeFacts(data []byte, facts *fact.Facts) error {
	if len(data) == 0 {
		return nil
	}
	if data[0] != factsForm && data[0] != protobufForm {
		return fmt.Errorf("decoding facts: they are in form %d, which a later version of this program has written", data[0])
	}
	c, err := theCodec()
	if err != nil {
		return fmt.Errorf("decoding facts: %w", err)
	}
	plain, err := c.unpack.DecodeAll(data[1:], nil)
	if err != nil {
		return fmt.Errorf("decoding facts: %w", err)
	}
	if err := c.decode.Unmarshal(plain, facts); err != nil {
		return fmt.Errorf("decoding facts: %w", err)
	}
	return nil
}
