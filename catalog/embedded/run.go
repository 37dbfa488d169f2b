package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// pieceSize is how much of an insert's body is passed to the engine at a time.
const pieceSize = 1 << 20

// concatenable are the formats whose separately formatted pieces can be concatenated: without
// header, footer, separators and numbering. The other formats go through a pipe.
var concatenable = map[string]bool{
	"native": true, "tabseparated": true, "tsv": true, "tabseparatedraw": true, "tsvraw": true, "csv": true, "tskv": true,
	"jsoneachrow": true, "jsonlines": true, "ndjson": true, "jsonstringseachrow": true, "jsoncompacteachrow": true,
	"jsoncompactstringseachrow": true, "rowbinary": true, "lineasstring": true, "rawblob": true, "null": true,
}

// work is one statement with all that it needs to run.
type work struct {
	conn      *connection
	engine    *engine
	id        string
	role      role
	readOnly  bool // GET
	statement *statement
	format    string // of the result
	params    []parameter
	body      io.Reader // the rest of an insert's rows

	// Of a reader: the statement as the engine writes it, or why the engine does not.
	normal  *statement
	unclear error
}

// run executes the statement and passes its result to sink.
func (w *work) run(ctx context.Context, sink func([]byte, usage) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.admit(); err != nil {
		return err
	}
	s := w.statement
	switch {
	case s.kind == "INSERT":
		used, err := w.insert(ctx)
		if err != nil {
			return err
		}
		return sink(nil, used)
	case s.kind == "SELECT" || s.kind == "FROM":
		if !concatenable[strings.ToLower(w.format)] {
			return w.pipe(sink)
		}
		empty := true
		err := w.conn.stream(join(s.text, s.suffix), w.format, w.params, func(piece []byte, used usage) error {
			empty = empty && len(piece) == 0
			return sink(piece, used)
		})
		if err == nil && empty && strings.EqualFold(w.format, "Native") {
			return sink(w.columns(), usage{})
		}
		if e := (*Exception)(nil); !errors.As(err, &e) || !strings.HasPrefix(e.Text, "Streaming query is not supported") {
			return err
		}
	}
	data, used, err := w.conn.query(join(s.text, s.suffix), w.format, w.params)
	if err != nil {
		return err
	}
	return sink(data, used)
}

func (w *work) insert(ctx context.Context) (usage, error) {
	s := w.statement
	switch {
	case s.insertsData && s.format != "":
		return w.conn.insert(s.text, s.format, w.params, w.pieces(ctx))
	}
	_, used, err := w.conn.query(s.text, w.format, w.params)
	return used, err
}

// columns returns the block without rows by which a server describes the columns of an empty
// result, and which libchdb leaves out; nil if the columns cannot be determined.
func (w *work) columns() []byte {
	text := fmt.Appendf(nil, "DESCRIBE (%s\n) SETTINGS describe_compact_output = 1", w.statement.text)
	names, used, err := w.conn.query(text, "RowBinary", w.params)
	if err != nil || used.resultRows == 0 {
		return nil
	}
	// A Native block begins with the numbers of columns and rows, then each name and type,
	// written as in RowBinary.
	return append(append(binary.AppendUvarint(nil, used.resultRows), 0), names...)
}

// join appends the settings that followed a FORMAT clause to the statement, on a line of their own,
// because the statement may end with a comment.
func join(text, suffix []byte) []byte {
	if len(suffix) == 0 {
		return text
	}
	return bytes.Join([][]byte{text, suffix}, []byte("\n"))
}

// pieces returns the rows from the statement's text, then the body.
func (w *work) pieces(ctx context.Context) func() ([]byte, error) {
	rows := io.MultiReader(bytes.NewReader(w.statement.data), w.body)
	buf := make([]byte, pieceSize)
	return func() ([]byte, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := fill(rows, buf)
		if err != nil {
			return nil, bodyError(err)
		}
		if n == 0 {
			return nil, nil
		}
		return buf[:n], nil
	}
}

// fill reads until buf is full or the rows end, which is no error. Unlike io.ReadFull it
// distinguishes that end from a truncated body, whose rows must not be committed.
func fill(r io.Reader, buf []byte) (int, error) {
	n := 0
	for n < len(buf) {
		m, err := r.Read(buf[n:])
		n += m
		if err == io.EOF {
			break
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

func bodyError(err error) error {
	if e := (*Exception)(nil); errors.As(err, &e) {
		return e
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return newException(codeSocketTimeout, "Timeout exceeded while reading the request's body from the client")
	}
	return newException(codeIncorrectData, "cannot read the request's body: %v", err)
}

// pipe streams a result in a format whose pieces cannot be concatenated (JSON with its totals,
// Parquet, tables with borders): the engine writes it, like a file, to a named pipe that this
// function reads.
func (w *work) pipe(sink func([]byte, usage) error) error {
	// Whoever knows the pipe's name could read it, too: system.processes shows no more than the client's text.
	_ = w.conn.exec("SET log_queries_cut_to_length = " + strconv.Itoa(len(w.statement.text))) // not in the mode readonly=1
	path := filepath.Join(w.engine.dir, "result-"+newTag())
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return fmt.Errorf("create a pipe for the result: %w", err)
	}
	defer os.Remove(path)
	// The reading end is opened non-blocking, so that opening does not wait for the engine. The
	// writing end is opened here as well, so that there is no end of file before the engine has
	// opened and closed its own.
	r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("open the result's pipe: %w", err)
	}
	defer r.Close()
	own, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open the result's pipe: %w", err)
	}
	type end struct {
		used usage
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		text := fmt.Appendf(nil, "%s\nINTO OUTFILE %s APPEND FORMAT %s %s", w.statement.text, quote(path), w.format, w.statement.suffix)
		_, used, err := w.conn.query(text, w.format, w.params)
		own.Close()
		ended <- end{used, err}
	}()
	var sinkErr error
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 && sinkErr == nil {
			if sinkErr = sink(buf[:n], usage{}); sinkErr != nil {
				w.engine.kill(w.id) // and continue reading, so that the engine is not blocked in its write
			}
		}
		if err != nil {
			break
		}
	}
	e := <-ended
	switch {
	case sinkErr != nil:
		return sinkErr
	case e.err != nil:
		return e.err
	}
	return sink(nil, e.used)
}
