package embedded

import (
	"bytes"
	"errors"
	"runtime"
	"unsafe"
)

// connection is one session of the engine, with its own settings, current database and temporary
// tables. Opening one takes about 0.2 ms, so each request has its own. It runs one statement at a
// time, for one goroutine at a time.
type connection struct {
	lib    *Library
	double handle // chdb_connection *, the argument of chdb_close_conn
	conn   handle // chdb_connection, the argument of all other functions
	argv   []*byte
}

// parameter is a value of a {name:Type} placeholder, in ClickHouse's escaped text.
type parameter struct{ name, value string }

// usage is the cost of a statement, for X-ClickHouse-Summary.
type usage struct {
	readRows, readBytes, writtenRows, writtenBytes, resultRows, resultBytes uint64
}

// sink receives a piece of a statement's result, and what the piece cost. It may not keep the piece, which is memory of the
// engine, and counts as such until sink returns. A copy that waits for a slow client would escape the engine's limits.
type sink func(piece []byte, used usage) error

// openConnection opens a session. The first one of a process boots the engine with the
// server-level arguments among args; each may name query settings (--max_threads=4).
func (l *Library) openConnection(args []string) (*connection, error) {
	c := &connection{lib: l}
	for _, a := range append([]string{"clickhouse"}, args...) {
		b := append([]byte(a), 0)
		c.argv = append(c.argv, &b[0])
	}
	argv := append(c.argv, nil)
	c.double = l.connect(int32(len(c.argv)), unsafe.Pointer(&argv[0]))
	runtime.KeepAlive(argv)
	if c.double == 0 {
		return nil, errors.New("libchdb refused to open a connection")
	}
	// The handle is a pointer to C's own pointer. Reading it this way keeps Go from treating it as
	// a Go pointer.
	c.conn = *(*handle)(*(*unsafe.Pointer)(unsafe.Pointer(&c.double)))
	return c, nil
}

func (c *connection) close() {
	if c.double != 0 {
		c.lib.closeConn(c.double)
		c.double, c.conn = 0, 0
	}
}

// query runs a statement to its end and returns its whole result.
func (c *connection) query(text []byte, format string, params []parameter) (data []byte, used usage, err error) {
	err = c.queryTo(text, format, params, func(piece []byte, u usage) error {
		data, used = bytes.Clone(piece), u
		return nil
	})
	return data, used, err
}

// queryTo runs a statement to its end and passes its whole result to sink as one piece.
func (c *connection) queryTo(text []byte, format string, params []parameter, sink sink) error {
	return c.receive(newArguments(text, format, params).call(c.lib.query, c.conn), sink)
}

// exec runs a statement and discards its result.
func (c *connection) exec(text string) error {
	_, _, err := c.query([]byte(text), "Null", nil)
	return err
}

// stream runs a SELECT and passes its result to sink in pieces of whole blocks. Each piece is
// formatted on its own, so the format must allow concatenation.
func (c *connection) stream(text []byte, format string, params []parameter, sink sink) error {
	s := newArguments(text, format, params).call(c.lib.streamQuery, c.conn)
	if s == 0 {
		return newException(codeUnknownException, "libchdb returned no result")
	}
	defer c.lib.resultDestroy(s)
	if text := c.lib.resultError(s); text != "" {
		return parseException(text)
	}
	for more := true; more; {
		err := c.receive(c.lib.fetch(c.conn, s), func(piece []byte, used usage) error {
			if more = len(piece) > 0 || used.resultRows > 0; !more {
				return nil
			}
			err := sink(piece, used)
			if err != nil {
				c.lib.cancelQuery(c.conn, s)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// insert runs an INSERT with the rows that next returns, until next returns nil.
func (c *connection) insert(text []byte, format string, params []parameter, next func() ([]byte, error)) (usage, error) {
	s := newArguments(text, format, params).call(c.lib.insert, c.conn)
	if s == 0 {
		return usage{}, newException(codeUnknownException, "libchdb returned no insert stream")
	}
	defer c.lib.insertDestroy(s)
	if text := c.lib.insertError(s); text != "" {
		return usage{}, parseException(text)
	}
	refused := false
	for !refused {
		data, err := next()
		if err != nil {
			c.lib.insertCancel(s)
			return usage{}, err
		}
		if data == nil {
			break
		}
		if len(data) == 0 {
			continue
		}
		refused = c.lib.insertAppend(s, unsafe.Pointer(&data[0]), uintptr(len(data))) != 0
		runtime.KeepAlive(data)
	}
	if text := c.lib.insertError(s); text != "" {
		return usage{}, parseException(text)
	}
	var used usage
	err := c.receive(c.lib.insertDone(s), func(_ []byte, u usage) error { // returns why rows were refused
		used = u
		return nil
	})
	if err == nil && refused {
		err = newException(codeUnknownException, "libchdb took only a part of the rows")
	}
	return used, err
}

// receive passes a result to sink, and destroys it.
func (c *connection) receive(r handle, sink sink) error {
	if r == 0 {
		return newException(codeUnknownException, "libchdb returned no result")
	}
	defer c.lib.resultDestroy(r)
	if text := c.lib.resultError(r); text != "" {
		return parseException(text)
	}
	var piece []byte
	if n := c.lib.resultLength(r); n > 0 {
		piece = unsafe.Slice((*byte)(c.lib.resultBuffer(r)), n)
	}
	return sink(piece, usage{
		readRows: c.lib.resultStorageRows(r), readBytes: c.lib.resultStorageBytes(r),
		writtenRows: c.lib.resultRowsWritten(r), writtenBytes: c.lib.resultBytesWritten(r),
		resultRows: c.lib.resultRows(r), resultBytes: c.lib.resultBytes(r),
	})
}

// arguments pins the memory that a call passes to C until the call returns; C copies all of it.
// Each string has a NUL after its end, because some C functions expect one.
type arguments struct {
	query, format       []byte
	names, values       []*byte
	nameLens, valueLens []uintptr
}

func newArguments(query []byte, format string, params []parameter) *arguments {
	a := &arguments{query: append(query[:len(query):len(query)], 0), format: append([]byte(format), 0)}
	for _, p := range params {
		name, value := append([]byte(p.name), 0), append([]byte(p.value), 0)
		a.names, a.nameLens = append(a.names, &name[0]), append(a.nameLens, uintptr(len(p.name)))
		a.values, a.valueLens = append(a.values, &value[0]), append(a.valueLens, uintptr(len(p.value)))
	}
	return a
}

func (a *arguments) call(f statementFunc, conn handle) handle {
	var names, nameLens, values, valueLens unsafe.Pointer
	if len(a.names) > 0 {
		names, nameLens = unsafe.Pointer(&a.names[0]), unsafe.Pointer(&a.nameLens[0])
		values, valueLens = unsafe.Pointer(&a.values[0]), unsafe.Pointer(&a.valueLens[0])
	}
	r := f(conn, unsafe.Pointer(&a.query[0]), uintptr(len(a.query)-1), unsafe.Pointer(&a.format[0]), uintptr(len(a.format)-1),
		names, nameLens, values, valueLens, uintptr(len(a.names)))
	runtime.KeepAlive(a)
	return r
}
