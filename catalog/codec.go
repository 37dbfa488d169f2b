package catalog

import (
	"fmt"
	"math"
	"reflect"
	"sync"

	"github.com/fxamacker/cbor/v2"
	"github.com/klauspost/compress/zstd"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// factsForm is the first byte of encoded facts: CBOR with the fields by name,
// compressed by zstd at its fastest.
//
// Names make it safe to add fields and tables: an older journal is read by a newer
// program, which finds the new ones zero, and a newer journal by an older program,
// which passes over them. zstd makes up for the names. Of 1,000 mixed rows, per row
// to encode, to decode, and kept, on a core that others used too:
//
//	JSON, zstd    2-3 µs   5-7 µs   64 B
//	gob, zstd     2-3 µs   2 µs     69 B
//	CBOR, s2      1-2 µs   2-3 µs  114 B
//	CBOR, zstd    2-3 µs   2 µs     68 B
//
// A row has two or three random UIDs of 16 bytes each, so that is near what can be
// had; 4 GiB hold about 60 million rows. gob would add 5 KB of types to each batch,
// however small, and columns instead of rows save nothing that zstd does not.
const factsForm = 1

type codec struct {
	encode cbor.EncMode
	decode cbor.DecMode
	pack   *zstd.Encoder
	unpack *zstd.Decoder
}

// theCodec is made once, as it takes megabytes, and may be used by many at a time.
var theCodec = sync.OnceValues(func() (c codec, err error) {
	if c.encode, err = (cbor.EncOptions{}).EncMode(); err != nil {
		return c, err
	}
	c.decode, err = cbor.DecOptions{
		MaxArrayElements: math.MaxInt32,          // rows of a table
		MaxMapPairs:      math.MaxInt32,          // labels
		UTF8:             cbor.UTF8DecodeInvalid, // whatever the API server let pass
	}.DecMode()
	if err != nil {
		return c, err
	}
	// The window is memory that the encoder keeps, twice; a larger one saves nothing, and half
	// of it makes a fifth more.
	if c.pack, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true)); err != nil {
		return c, err
	}
	c.unpack, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	return c, err
})

// encodeFacts returns facts as bytes, for Batch.Facts; nothing if there are none.
func encodeFacts(facts *fact.Facts) ([]byte, error) {
	if !hasRows(facts) {
		return nil, nil
	}
	c, err := theCodec()
	if err != nil {
		return nil, fmt.Errorf("encoding facts: %w", err)
	}
	plain, err := c.encode.Marshal(facts)
	if err != nil {
		return nil, fmt.Errorf("encoding facts: %w", err)
	}
	return c.pack.EncodeAll(plain, []byte{factsForm}), nil
}

// hasRows looks into every table there is, so that none can be forgotten.
func hasRows(facts *fact.Facts) bool {
	tables := reflect.ValueOf(facts).Elem()
	for i := range tables.NumField() {
		if tables.Field(i).Len() > 0 {
			return true
		}
	}
	return false
}

// decodeFacts reads what encodeFacts has made into facts, which should be empty. Maps
// and lists that were empty may come back as nil.
func decodeFacts(data []byte, facts *fact.Facts) error {
	if len(data) == 0 {
		return nil
	}
	if data[0] != factsForm {
		return fmt.Errorf("decoding facts: they are in form %d, which is of a later version of this program", data[0])
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
