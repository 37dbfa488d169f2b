package embedded

import (
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"strings"

	"github.com/ClickHouse/ch-go/compress"
	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

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
		r, err = zstd.NewReader(body, zstd.WithDecoderConcurrency(1))
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

// blockReader reads such blocks (decompress=1) and checks their checksums. It returns io.EOF
// between blocks and another error inside a block; the decompressor does not distinguish the two.
type blockReader struct {
	source       countedReader
	decompressor *compress.Reader
}

func newBlockReader(r io.Reader) io.Reader {
	b := &blockReader{source: countedReader{r: r}}
	b.decompressor = compress.NewReader(&b.source)
	return b
}

func (b *blockReader) Read(p []byte) (int, error) {
	before := b.source.n
	n, err := b.decompressor.Read(p)
	if errors.Is(err, io.EOF) {
		if b.source.n == before {
			return n, io.EOF
		}
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

type countedReader struct {
	r io.Reader
	n int64
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
