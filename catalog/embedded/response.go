package embedded

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// response buffers an answer up to defaultBufferSize, so that an early error can still set the
// status, and then streams it.
type response struct {
	w       http.ResponseWriter
	dir     string // for results that do not fit in memory with wait_end_of_query
	limit   int
	waitEnd bool
	accept  string // Accept-Encoding, or "" for no HTTP compression

	blocks      bool // compress=1
	blockMethod string
	blockLevel  int
	started     time.Time
	tag         string
	out         io.Writer
	encoder     flusher
	buffered    []byte
	spill       *os.File
	spilled     int64 // bytes in the file
	maxSpill    int64 // that the file may have; 0 for no limit
	keepFree    int64 // that the file leaves on the disk, in bytes
	committed   bool
	used        usage
}

// Write writes a piece of the result.
func (r *response) Write(p []byte) (int, error) {
	if r.committed {
		return len(p), r.send(p)
	}
	if r.waitEnd && len(r.buffered)+len(p) > maxHeld {
		return len(p), r.spillOver(p)
	}
	if !r.waitEnd && len(r.buffered)+len(p) > r.limit {
		if err := r.commit(); err != nil {
			return 0, err
		}
		return len(p), r.send(p)
	}
	r.buffered = append(r.buffered, p...)
	return len(p), nil
}

// maxHeld is how much of an answer with wait_end_of_query is kept in memory; the rest goes to a file.
const maxHeld = 8 << 20

func (r *response) spillOver(p []byte) error {
	r.spilled += int64(len(r.buffered) + len(p))
	if r.maxSpill > 0 && r.spilled > r.maxSpill {
		return newException(codeTooManyRowsOrBytes, "Limit for result exceeded: with wait_end_of_query=1 an answer for this user "+
			"may have %d bytes; ask for less, or leave wait_end_of_query out", r.maxSpill)
	}
	if err := r.checkDisk(); err != nil {
		return err
	}
	if r.spill == nil {
		f, err := os.CreateTemp(r.dir, "result-*")
		if err != nil {
			return fmt.Errorf("hold the result back: %w", err)
		}
		os.Remove(f.Name()) // the open file remains until it is closed
		r.spill = f
	}
	for _, b := range [][]byte{r.buffered, p} {
		if _, err := r.spill.Write(b); err != nil {
			return fmt.Errorf("hold the result back: %w", err)
		}
	}
	r.buffered = r.buffered[:0]
	return nil
}

// checkDisk returns why the disk has no room for the next part of the answer.
func (r *response) checkDisk() error {
	d, err := diskOf(r.dir)
	if err != nil {
		return err
	}
	if d.free < r.keepFree {
		return newException(codeNotEnoughSpace, "The disk of the catalog has %d bytes free, and answers that are held back leave %d; "+
			"make room, ask for less, or leave wait_end_of_query out", d.free, r.keepFree)
	}
	return nil
}

// commit sends status and headers, then the buffered part of the result.
func (r *response) commit() error {
	r.committed = true
	header := r.w.Header()
	header.Set("X-ClickHouse-Summary", r.used.summary(time.Since(r.started)))
	r.out = r.w
	if r.accept != "" {
		if name, e := encoder(r.accept, r.w); e != nil {
			header.Set("Content-Encoding", name)
			r.encoder, r.out = e, e
		}
	}
	if r.blocks {
		r.out = newBlockWriter(r.out, r.blockMethod, r.blockLevel)
	}
	buffered := r.buffered
	r.buffered = nil
	if r.spill != nil {
		if _, err := r.spill.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.Copy(r.out, r.spill); err != nil {
			return err
		}
	}
	return r.send(buffered)
}

func (r *response) send(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	_, err := r.out.Write(p)
	return err
}

// finish ends a successful answer. An empty result is sent as an empty body with a length, by which
// clickhouse-go recognises that there is no result.
func (r *response) finish() error {
	if !r.committed {
		if len(r.buffered) == 0 && r.spill == nil {
			r.w.Header().Set("X-ClickHouse-Summary", r.used.summary(time.Since(r.started)))
			r.w.Header().Set("Content-Length", "0")
			r.w.WriteHeader(http.StatusOK)
			return nil
		}
		if err := r.commit(); err != nil {
			return err
		}
	}
	if r.encoder != nil {
		return r.encoder.Close()
	}
	return nil
}

// fail reports an exception: as the answer, if nothing has been sent; otherwise as the framed block
// that ends a torn stream. After that block the connection is cut, so that no client takes the part
// for the whole.
func (r *response) fail(e *Exception, version string) {
	r.close() // a client that does not read the error must not keep the file
	text := fmt.Sprintf("%s (version %s (official build))\n", e.Error(), version)
	header := r.w.Header()
	if !r.committed {
		for _, h := range []string{"X-ClickHouse-Format", "Content-Encoding"} {
			header.Del(h)
		}
		header.Set("X-ClickHouse-Exception-Code", fmt.Sprint(e.Code))
		header.Set("Content-Type", "text/plain; charset=UTF-8")
		header.Set("X-ClickHouse-Summary", r.used.summary(time.Since(r.started)))
		if e.Code == codeAuthenticationFailed || e.Code == 194 {
			header.Set("WWW-Authenticate", `Basic realm="ClickHouse server HTTP API"`)
		}
		r.w.WriteHeader(e.status())
		if r.blocks {
			_, _ = newBlockWriter(r.w, r.blockMethod, r.blockLevel).Write([]byte(text)) // the client is gone if it fails
			return
		}
		io.WriteString(r.w, text)
		return
	}
	const most = 16 << 10 // of the message, as clients expect
	text = text[:min(len(text), most-200)]
	// Best effort: the client may be the reason for the failure.
	fmt.Fprintf(r.out, "\r\n__exception__\r\n%s\r\n%s%d %s\r\n__exception__\r\n", r.tag, text, len(text), r.tag)
	if r.encoder != nil {
		r.encoder.Flush()
	}
	http.NewResponseController(r.w).Flush()
	panic(http.ErrAbortHandler)
}

func (r *response) close() {
	if r.spill != nil {
		r.spill.Close()
		r.spill = nil
	}
}

// newTag returns an unpredictable tag for the frame of a late exception, so that data cannot forge
// it.
func newTag() string {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	raw := make([]byte, 16)
	rand.Read(raw)
	for i := range raw {
		raw[i] = letters[int(raw[i])%len(letters)]
	}
	return string(raw)
}
