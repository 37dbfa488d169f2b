package embedded

import (
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ClickHouse/ch-go/compress"
	"github.com/andybalholm/brotli"
	"github.com/go-faster/city"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// maxWindow is how much of what it has decoded a Zstandard decoder keeps: HTTP's encoders look back no further (RFC 9659). By
// default it keeps as much as a frame asks for, up to 512 MiB. Brotli keeps at most 16 MiB, lz4 blocks of 8 MiB, gzip 32 KiB.
const maxWindow = 8 << 20

// decodeContent decodes a request's Content-Encoding.
func decodeContent(encoding string, body io.Reader) (io.Reader, error) {
	var r io.Reader
	var err error
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		r, err = gzip.NewReader(body)
	case "deflate":
		r, err = zlib.NewReader(body)
	case "br":
		r = brotli.NewReader(body)
	case "lz4":
		r = lz4.NewReader(body)
	case "zstd":
		r, err = zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	default:
		return nil, newException(codeNotImplemented, "Unknown compression method: %s", encoding)
	}
	if err != nil {
		return nil, newException(codeIncorrectData, "the body is not %s: %v", encoding, err)
	}
	return r, nil
}

// flusher is a compressor that can flush its buffer.
type flusher interface {
	io.WriteCloser
	Flush() error
}

// encoder compresses answers in one of the encodings that the client accepts, in the
// server's order of preference, or returns "" for none. gzhttp knows neither that order
// nor br and lz4.
func encoder(accept string, w io.Writer) (string, flusher) {
	offered := map[string]bool{}
	for item := range strings.SplitSeq(accept, ",") {
		name, options, _ := strings.Cut(item, ";")
		if strings.ReplaceAll(options, " ", "") != "q=0" {
			offered[strings.ToLower(strings.TrimSpace(name))] = true
		}
	}
	switch {
	case offered["br"]:
		return "br", brotli.NewWriterLevel(w, 1)
	case offered["lz4"]:
		return "lz4", lz4.NewWriter(w)
	case offered["zstd"]:
		if z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1)); err == nil {
			return "zstd", z
		}
	}
	switch {
	case offered["gzip"]:
		z, _ := gzip.NewWriterLevel(w, flate.BestSpeed) // the level is a valid one
		return "gzip", z
	case offered["deflate"]:
		z, _ := zlib.NewWriterLevel(w, flate.BestSpeed)
		return "deflate", z
	}
	return "", nil
}

// maxBlock is the size of a compressed block, far below the limit of a ClickHouse reader.
const maxBlock = 1 << 20

// blockWriter writes ClickHouse's own compressed blocks (compress=1).
type blockWriter struct {
	w          io.Writer
	compressor *compress.Writer
}

func newBlockWriter(w io.Writer, method string, level int) *blockWriter {
	m := compress.LZ4
	if strings.EqualFold(method, "ZSTD") {
		m = compress.ZSTD
	}
	return &blockWriter{w: w, compressor: compress.NewWriter(compress.Level(level), m)}
}

func (b *blockWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), maxBlock)
		if err := b.compressor.Compress(rest[:n]); err != nil {
			return 0, err
		}
		if _, err := b.w.Write(b.compressor.Data); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(p), nil
}

// Sizes of a block that a client sends.
const (
	maxReaderBlock = maxQuerySize // a reader sends only statements, and clients cut their blocks at 1 MiB
	maxWriterBlock = 128 << 20    // clickhouse-go sends each batch of rows as one block
)

// Where the fields of a block begin. Its checksum comes first. blockSize counts the block without the checksum.
const (
	blockMethod   = 16
	blockSize     = 17
	blockDataSize = 21
	blockData     = 25
)

// The methods.
const (
	encodedNone = 0x02
	encodedLZ4  = 0x82
	encodedZSTD = 0x90
)

// blockReader reads such blocks (decompress=1) and checks their checksums. It returns io.EOF between blocks and another
// error inside a block. ch-go's reader decodes as much as a Zstandard frame contains, before it compares that with the size
// that the block claims: 4 bytes of a frame can stand for 128 KiB.
type blockReader struct {
	source io.Reader
	limit  int // of the data in a block
	block  []byte
	data   []byte // decoded, of which rest has not been read
	rest   []byte
	zstd   *zstd.Decoder
}

func newBlockReader(r io.Reader, limit int) *blockReader {
	return &blockReader{source: r, limit: limit}
}

func (b *blockReader) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if err := b.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// next reads and decodes a block.
func (b *blockReader) next() error {
	b.block = slices.Grow(b.block[:0], blockData)[:blockData]
	if _, err := io.ReadFull(b.source, b.block); err != nil {
		return err
	}
	size := int64(binary.LittleEndian.Uint32(b.block[blockSize:])) + blockMethod
	dataSize := int64(binary.LittleEndian.Uint32(b.block[blockDataSize:]))
	if size < blockData || size > blockData+int64(lz4.CompressBlockBound(b.limit)) || dataSize > int64(b.limit) {
		return fmt.Errorf("a compressed block has %d bytes, and %d bytes of data; it may have %d", size, dataSize, b.limit)
	}
	b.block = slices.Grow(b.block, int(size)-blockData)[:size]
	if _, err := io.ReadFull(b.source, b.block[blockData:]); errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	sum := city.CH128(b.block[blockMethod:])
	if sum.Low != binary.LittleEndian.Uint64(b.block) || sum.High != binary.LittleEndian.Uint64(b.block[8:]) {
		return errors.New("a compressed block has another checksum than its content")
	}
	return b.decode(int(dataSize))
}

// decode decodes the block, which may contain only so many bytes of data.
func (b *blockReader) decode(size int) (err error) {
	b.data = slices.Grow(b.data[:0], size)
	switch method := b.block[blockMethod]; method {
	case encodedNone:
		b.rest = b.block[blockData:]
	case encodedLZ4:
		var n int
		n, err = lz4.UncompressBlock(b.block[blockData:], b.data[:size])
		b.rest = b.data[:n]
	case encodedZSTD:
		if b.zstd == nil {
			b.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
		}
		if err == nil {
			b.rest, err = b.zstd.DecodeAll(b.block[blockData:], b.data[:0:size])
		}
	default:
		return fmt.Errorf("a block is compressed by the unknown method 0x%02x", method)
	}
	if err == nil && len(b.rest) != size {
		err = fmt.Errorf("a compressed block has %d bytes of data instead of %d", len(b.rest), size)
	}
	if err != nil {
		b.rest = nil
	}
	return err
}
