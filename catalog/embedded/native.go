package embedded

import (
	"bufio"
	"io"
	"sync"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"
)

// nativeRevision converts Native blocks in libchdb's format (revision 0) to the revision that a
// client requested. The two differ only around the columns: a block info in front, and a byte per
// column that declares its serialization as the default one. The bytes of the columns stay as they
// are. clickhouse-go's own decoder finds where each column ends, so every type that it decodes is
// passed on exactly.
type nativeRevision struct {
	revision uint64
	context  *column.ServerContext
	readers  *sync.Mutex // locked while a reader's piece is converted; nil for the writer
}

// maxReaderPiece bounds a piece that is converted for a reader, in bytes. The decoder copies one column after another into Go's
// memory, which the engine does not count; so pieces of readers are converted one at a time.
const maxReaderPiece = 64 << 20

// write converts one piece and writes it to w.
func (n *nativeRevision) write(w io.Writer, piece []byte) error {
	parts, err := n.translate(piece)
	if err != nil {
		return err
	}
	joined := bufio.NewWriterSize(w, 64<<10) // with compress=1, each write to w becomes a block
	for _, part := range parts {
		if _, err := joined.Write(part); err != nil {
			return err
		}
	}
	return joined.Flush()
}

// translate converts one piece, which consists of whole blocks. It returns parts, most of which are parts of the piece.
func (n *nativeRevision) translate(piece []byte) (parts [][]byte, err error) {
	if n.readers != nil {
		if len(piece) > maxReaderPiece {
			return nil, newException(codeTooManyRowsOrBytes, "Limit for result exceeded: a block in the format Native may have %d bytes for this user, and this one "+
				"has %d; give a smaller max_block_size, or another format", maxReaderPiece, len(piece))
		}
		n.readers.Lock()
		defer n.readers.Unlock()
	}
	src := newMeasure(piece)
	for src.offset() < len(piece) {
		if parts, err = n.block(src, piece, parts); err != nil {
			return nil, newException(codeNotImplemented, "a Native block cannot be written for client_protocol_version %d: %v", n.revision, err)
		}
	}
	return parts, nil
}

func (n *nativeRevision) block(src *measure, piece []byte, parts [][]byte) ([][]byte, error) {
	if n.revision > 0 {
		parts = append(parts, []byte{1, 0, 2, 0xff, 0xff, 0xff, 0xff, 0}) // is_overflows = false, bucket_num = -1
	}
	start := src.offset()
	columns, err := src.r.UVarInt()
	if err != nil {
		return nil, err
	}
	rows, err := src.r.UVarInt()
	if err != nil {
		return nil, err
	}
	parts = append(parts, piece[start:src.offset()])
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
		parts = append(parts, piece[start:src.offset()])
		if n.revision >= proto.DBMS_MIN_REVISION_WITH_CUSTOM_SERIALIZATION {
			parts = append(parts, []byte{0})
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
		parts = append(parts, piece[start:src.offset()])
	}
	return parts, nil
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
