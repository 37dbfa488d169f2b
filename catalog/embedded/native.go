package embedded

import (
	"bufio"
	"encoding/binary"
	"io"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"
)

// nativeRevision converts Native blocks in libchdb's format (revision 0) to the revision that a
// client requested. The two differ only around the columns: a block info in front, and a byte per
// column that declares its serialization as the default one. The bytes of the columns are copied
// unchanged. clickhouse-go's own decoder finds where each column ends, so every type that it
// decodes is copied exactly.
type nativeRevision struct {
	revision uint64
	context  *column.ServerContext
}

// translate converts one piece, which consists of whole blocks.
func (n *nativeRevision) translate(piece []byte) ([]byte, error) {
	src := newMeasure(piece)
	out := make([]byte, 0, len(piece)+64)
	for src.offset() < len(piece) {
		var err error
		if out, err = n.block(src, piece, out); err != nil {
			return nil, newException(codeNotImplemented, "a Native block cannot be written for client_protocol_version %d: %v", n.revision, err)
		}
	}
	return out, nil
}

func (n *nativeRevision) block(src *measure, piece, out []byte) ([]byte, error) {
	if n.revision > 0 {
		out = append(out, 1, 0, 2, 0xff, 0xff, 0xff, 0xff, 0) // is_overflows = false, bucket_num = -1
	}
	columns, err := src.r.UVarInt()
	if err != nil {
		return nil, err
	}
	rows, err := src.r.UVarInt()
	if err != nil {
		return nil, err
	}
	out = binary.AppendUvarint(out, columns)
	out = binary.AppendUvarint(out, rows)
	for range columns {
		start := src.offset()
		name, err := src.r.Str()
		if err != nil {
			return nil, err
		}
		kind, err := src.r.Str()
		if err != nil {
			return nil, err
		}
		out = append(out, piece[start:src.offset()]...)
		if n.revision >= proto.DBMS_MIN_REVISION_WITH_CUSTOM_SERIALIZATION {
			out = append(out, 0)
		}
		if rows == 0 {
			continue
		}
		start = src.offset()
		c, err := column.Type(kind).Column(name, n.context)
		if err != nil {
			return nil, err
		}
		if prefixed, ok := c.(column.CustomSerialization); ok {
			if err := prefixed.ReadStatePrefix(src.r); err != nil {
				return nil, err
			}
		}
		if err := c.Decode(src.r, int(rows)); err != nil { //nolint:gosec // the engine itself has written the block
			return nil, err
		}
		out = append(out, piece[start:src.offset()]...)
	}
	return out, nil
}

// measure reads a piece and counts the bytes that the decoder has consumed. The decoder uses a
// large enough bufio.Reader as its own buffer, so the count is exact.
type measure struct {
	source *countingReader
	buffer *bufio.Reader
	r      *chproto.Reader
}

// decoderBuffer is at least the size that chproto.NewReader requests.
const decoderBuffer = 256 << 10

func newMeasure(piece []byte) *measure {
	m := &measure{source: &countingReader{data: piece}}
	m.buffer = bufio.NewReaderSize(m.source, decoderBuffer)
	m.r = chproto.NewReader(m.buffer)
	return m
}

func (m *measure) offset() int { return m.source.at - m.buffer.Buffered() }

type countingReader struct {
	data []byte
	at   int
}

func (c *countingReader) Read(p []byte) (int, error) {
	if c.at >= len(c.data) {
		return 0, io.EOF
	}
	n := copy(p, c.data[c.at:])
	c.at += n
	return n, nil
}
