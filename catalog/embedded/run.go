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
	text      []byte // what the engine runs, without the rows of an INSERT
	format    string // of the result
	pipe      string // the path of the named pipe for the result, or ""
	params    []parameter
	body      io.Reader // the rest of an insert's rows

	admission admission
	known     bool // the gate has let it through before
	// Of a reader's statement that is not known: as the engine writes it, or why the engine does not.
	normal  *statement
	unclear error
}

// compose writes the text that the engine runs.
func (w *work) compose() {
	s := w.statement
	w.text = s.whole()
	if s.selects() && !concatenable[strings.ToLower(w.format)] {
		w.pipe = filepath.Join(w.engine.dir, "result-"+newTag())
		w.text = fmt.Appendf(nil, "%s\nINTO OUTFILE %s APPEND FORMAT %s %s", s.text, quote(w.pipe), w.format, s.suffix)
	}
}

// run executes the statement and passes its result to sink.
func (w *work) run(ctx context.Context, sink sink) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !w.known {
		if err := w.admit(); err != nil {
			return err
		}
		w.engine.gate.remember(w.admission)
	}
	switch {
	case w.statement.kind == "INSERT":
		used, err := w.insert(ctx)
		if err != nil {
			return err
		}
		return sink(nil, used)
	case w.pipe != "":
		return w.runThroughPipe(sink)
	case w.statement.selects():
		empty := true
		err := w.conn.stream(w.text, w.format, w.params, func(piece []byte, used usage) error {
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
	return w.conn.queryTo(w.text, w.format, w.params, sink)
}

func (w *work) insert(ctx context.Context) (usage, error) {
	s := w.statement
	switch {
	case s.insertsData && s.format != "":
		return w.conn.insert(s.text, s.format, w.params, w.pieces(ctx))
	}
	_, used, err := w.conn.query(w.text, w.format, w.params)
	return used, err
}

// describe returns the names and types of a statement's columns.
func (w *work) describe(text []byte) (names []byte, used usage, err error) {
	return w.conn.query(fmt.Appendf(nil, "DESCRIBE (%s\n) SETTINGS describe_compact_output = 1", text), "RowBinary", w.params)
}

// columns returns the block without rows by which a server describes the columns of an empty
// result, and which libchdb leaves out; nil if the columns cannot be determined. The gate has seen all that stands in the
// brackets: the engine's parser took it for one statement, so it leaves no comment and no text open. In brackets, a statement that
// ends with a bracket can have no settings.
func (w *work) columns() []byte {
	names, used, err := w.describe(w.text)
	if err != nil {
		names, used, err = w.describe(w.statement.text)
	}
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
	next := piecesOf(io.MultiReader(bytes.NewReader(w.statement.data), w.body))
	return func() ([]byte, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return next()
	}
}

// piecesOf returns the rows of r piece by piece, and nil at their end.
func piecesOf(r io.Reader) func() ([]byte, error) {
	buf := make([]byte, pieceSize)
	return func() ([]byte, error) {
		n, err := fill(r, buf)
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

// runThroughPipe streams a result in a format whose pieces cannot be concatenated (JSON with its totals,
// Parquet, tables with borders): the engine writes it, like a file, to a named pipe that this
// function reads.
func (w *work) runThroughPipe(sink sink) error {
	// Whoever knows the pipe's name could read it, too: system.processes shows no more than the client's text.
	_ = w.conn.exec("SET log_queries_cut_to_length = " + strconv.Itoa(len(w.statement.text))) // not in the mode readonly=1
	if err := syscall.Mkfifo(w.pipe, 0o600); err != nil {
		return fmt.Errorf("create a pipe for the result: %w", err)
	}
	defer os.Remove(w.pipe)
	// The reading end is opened non-blocking, so that opening does not wait for the engine. The
	// writing end is opened here as well, so that there is no end of file before the engine has
	// opened and closed its own.
	r, err := os.OpenFile(w.pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("open the result's pipe: %w", err)
	}
	defer r.Close()
	own, err := os.OpenFile(w.pipe, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open the result's pipe: %w", err)
	}
	type end struct {
		used usage
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		_, used, err := w.conn.query(w.text, w.format, w.params)
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
