package embedded

import (
	"bytes"
	"encoding/binary"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/go-faster/city"
	"github.com/klauspost/compress/zstd"
)

// compressedBlock returns a block that claims so many bytes of data.
func compressedBlock(method byte, claims uint32, content []byte) []byte {
	b := append(make([]byte, blockMethod), method)
	b = binary.LittleEndian.AppendUint32(b, uint32(blockData-blockMethod+len(content)))
	b = append(binary.LittleEndian.AppendUint32(b, claims), content...)
	sum := city.CH128(b[blockMethod:])
	binary.LittleEndian.PutUint64(b, sum.Low)
	binary.LittleEndian.PutUint64(b[8:], sum.High)
	return b
}

// Zstandard frames: 2 GiB in 64 KiB without a word about their size, a claim of 60 GiB, and a window of 512 MiB.
var (
	zstdBomb   = append([]byte("\x28\xb5\x2f\xfd\x00\x68"), bytes.Repeat([]byte("\x02\x00\x10x"), 16<<10)...)
	zstdClaim  = append(binary.LittleEndian.AppendUint64([]byte("\x28\xb5\x2f\xfd\xc0\x68"), 60<<30), "\x03\x00\x10x"...)
	zstdWindow = []byte("\x28\xb5\x2f\xfd\x00\x98\x03\x00\x10x")
)

func TestABlockTakesNoMoreMemoryThanItMay(t *testing.T) {
	blocks := func(limit int, of []byte) func() (io.Reader, error) {
		return func() (io.Reader, error) { return newBlockReader(bytes.NewReader(of), limit), nil }
	}
	for name, c := range map[string]struct {
		open func() (io.Reader, error)
		want string
	}{
		"a frame of no size":         {blocks(maxReaderBlock, compressedBlock(encodedZSTD, 100, zstdBomb)), "size"},
		"the writer's, too":          {blocks(maxWriterBlock, compressedBlock(encodedZSTD, 100, zstdBomb)), "size"},
		"two frames":                 {blocks(maxReaderBlock, compressedBlock(encodedZSTD, 1<<17, append([]byte("\x28\xb5\x2f\xfd\x00\x68\x03\x00\x10x"), zstdBomb...))), "size"},
		"a frame that claims 60 GiB": {blocks(maxReaderBlock, compressedBlock(encodedZSTD, 100, zstdClaim)), "size"},
		"a claim of 128 MiB":         {blocks(maxReaderBlock, compressedBlock(encodedLZ4, 128<<20, []byte("x"))), "it may have 1048576"},
		"a size of 128 MiB":          {blocks(maxReaderBlock, append(make([]byte, blockMethod), "\x82\x00\x00\x00\x08\x01\x00\x00\x00"...)), "it may have 1048576"},
		"less than its head":         {blocks(maxReaderBlock, append(make([]byte, blockMethod), "\x82\x00\x00\x00\x00\x01\x00\x00\x00"...)), "it may have 1048576"},
		"less than it claims":        {blocks(maxReaderBlock, compressedBlock(encodedNone, 100, []byte("x"))), "1 bytes of data instead of 100"},
		"another method":             {blocks(maxReaderBlock, compressedBlock(0x91, 1, []byte("x"))), "unknown method 0x91"},
		"another checksum":           {blocks(maxReaderBlock, append(make([]byte, blockMethod), "\x02\x0a\x00\x00\x00\x01\x00\x00\x00x"...)), "checksum"},
		"a window of 512 MiB":        {func() (io.Reader, error) { return decodeContent("zstd", bytes.NewReader(zstdWindow)) }, "window size exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r, err := c.open()
			if err == nil {
				_, err = io.Copy(io.Discard, io.LimitReader(r, maxQuerySize))
			}
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
				t.Errorf("it took %d MiB", took>>20)
			}
		})
	}
}

// TestBlocksOfEachMethod reads blocks as clients write them, up to the largest that a reader may send.
func TestBlocksOfEachMethod(t *testing.T) {
	data := bytes.Repeat([]byte("SELECT 'a long statement' "), maxReaderBlock/26+1)[:maxReaderBlock]
	var stream bytes.Buffer // a frame that does not say its size
	z, err := zstd.NewWriter(&stream)
	if err != nil {
		t.Fatal(err)
	}
	for _, half := range [][]byte{data[:maxReaderBlock/2], data[maxReaderBlock/2:]} {
		if _, err := z.Write(half); err != nil {
			t.Fatal(err)
		}
		if err := z.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	sent := compressedBlock(encodedZSTD, maxReaderBlock, stream.Bytes())
	sent = append(sent, compressedBlock(encodedNone, maxReaderBlock, data)...)
	sent = append(sent, compressedBlock(encodedNone, 0, nil)...)
	all := bytes.NewBuffer(sent)
	for _, method := range []string{"LZ4", "ZSTD"} {
		if _, err := newBlockWriter(all, method, 0).Write(data); err != nil {
			t.Fatal(err)
		}
	}
	got, err := io.ReadAll(newBlockReader(all, maxReaderBlock))
	if err != nil || !bytes.Equal(got, bytes.Repeat(data, 4)) {
		t.Errorf("%d bytes instead of %d, %v", len(got), 4*len(data), err)
	}
}
