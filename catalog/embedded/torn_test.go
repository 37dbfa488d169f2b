package embedded

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
	"unsafe"
)

func TestATornBodyIsNeverAWholeOne(t *testing.T) {
	rows := make([]byte, 200<<10)
	random := rand.New(rand.NewPCG(5, 6))
	for i := range rows {
		rows[i] = "abcdefgh\n"[random.IntN(9)]
	}
	for _, name := range []string{"gzip", "deflate", "br", "lz4", "zstd", "blocks"} {
		var packed bytes.Buffer
		decode := func(r io.Reader) ([]byte, error) {
			d, err := decodeContent(name, r)
			if err != nil {
				return nil, err
			}
			return io.ReadAll(d)
		}
		if name == "blocks" {
			newBlockWriter(&packed, "LZ4", 0).Write(rows)
			decode = func(r io.Reader) ([]byte, error) { return io.ReadAll(newBlockReader(r, maxReaderBlock)) }
		} else {
			_, e := encoder(name, &packed)
			e.Write(rows)
			e.Close()
		}
		if got, err := decode(bytes.NewReader(packed.Bytes())); err != nil || !bytes.Equal(got, rows) {
			t.Fatalf("%s: %d bytes, %v", name, len(got), err)
		}
		for i := range 60 {
			cut := 1 + i*(packed.Len()-2)/59
			if got, err := decode(bytes.NewReader(packed.Bytes()[:cut])); err == nil {
				t.Errorf("%s: %d of %d bytes passed for a whole body of %d", name, cut, packed.Len(), len(got))
			}
		}
	}
}

func TestRowsThatTheEngineRefusesAreNeverASuccess(t *testing.T) {
	c := &connection{conn: 1, lib: &Library{
		insert: func(handle, unsafe.Pointer, uintptr, unsafe.Pointer, uintptr, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, uintptr) handle {
			return 1
		},
		insertAppend:  func(handle, unsafe.Pointer, uintptr) int32 { return -1 },
		insertError:   func(handle) string { return "" },
		insertDone:    func(handle) handle { return 1 },
		insertDestroy: func(handle) {}, resultDestroy: func(handle) {},
		resultError: func(handle) string { return "" }, resultLength: func(handle) uintptr { return 0 },
		resultRows: func(handle) uint64 { return 0 }, resultBytes: func(handle) uint64 { return 0 }, resultStorageRows: func(handle) uint64 { return 0 },
		resultStorageBytes: func(handle) uint64 { return 0 }, resultRowsWritten: func(handle) uint64 { return 0 }, resultBytesWritten: func(handle) uint64 { return 0 },
	}}
	if _, err := c.insert([]byte("INSERT INTO t"), "CSV", nil, func() ([]byte, error) { return []byte("1\n"), nil }); err == nil {
		t.Error("success")
	}
}
