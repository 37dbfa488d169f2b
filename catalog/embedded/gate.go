package embedded

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"k8s.io/utils/lru"
)

// role is what a client may do.
type role int

const (
	reader role = iota // reads, within limits
	writer             // changes the catalog, too
)

// class is what a statement does to state that outlives it, by the engine's own parser.
type class uint32

const (
	classReads        class = iota // it leaves no trace
	classWrites                    // it changes a database
	classWritesGlobal              // it changes functions or users
	classControls                  // SET, USE, SYSTEM, temporary tables, and what writes outside of databases
	classUnknown                   // the parser does not understand it
)

// analysis is the engine's chdb_query_analysis_v1.
type analysis struct {
	size       uint32 // of this struct
	statements uint32
	_          uint32 // flags
	class      class
}

type classifyFunc func(conn handle, query unsafe.Pointer, queryLen uintptr, database unsafe.Pointer, databaseLen uintptr, out *analysis) int32

// classify asks the engine what the statements in text would do. It runs nothing.
func (c *connection) classify(text []byte) (analysis, error) {
	a := analysis{size: uint32(unsafe.Sizeof(analysis{}))}
	text = append(text[:len(text):len(text)], 0)
	failed := c.lib.classify(c.conn, unsafe.Pointer(&text[0]), uintptr(len(text)-1), nil, 0, &a)
	runtime.KeepAlive(text)
	if failed != 0 {
		return a, newException(codeUnknownException, "libchdb cannot say what the statement does")
	}
	return a, nil
}

// admit is the gate: each statement of a client passes it whole, as the engine will run it, unless it is known (see admission). Only one
// statement that the engine's own parser understands gets through; of a reader, only one that leaves
// no trace. A reader's statement is looked at twice: where this package takes a part of it for a comment or a text, and the
// engine does not, the second look finds what is there.
//
// Behind the gate the session of a reader is read-only, and the kernel confines the engine to its
// directory (package sandbox). Neither alone would do: ClickHouse lets a session leave the read-only
// mode, and pass by its limits, by "readonly = DEFAULT"; and the catalog's files are in the engine's
// directory.
func (w *work) admit() error {
	if err := w.statement.readsInput(); err != nil {
		return err
	}
	text := w.statement.whole()
	a, err := w.conn.classify(text)
	switch {
	case err != nil:
		return err
	case a.class >= classUnknown:
		return w.conn.syntaxError(text)
	case a.statements != 1:
		return newException(codeSyntaxError, "Syntax error (Multi-statements are not allowed): %d statements", a.statements)
	case a.class == classControls && w.statement.reads(): // what writes outside of databases counts as control
		return newException(codeIntoOutfile, "INTO OUTFILE is not allowed")
	}
	if err := w.admitPipe(); err != nil {
		return err
	}
	switch {
	case a.class == classReads && w.statement.kind == "INSERT": // its rows would be dropped without a word
		return newException(codeSyntaxError, "Syntax error: INSERT is the name of something in this statement; put it in quotes")
	case w.role == reader:
		return w.admitReader(a.class)
	case w.statement.innerSettings:
		return errInnerSettings()
	case a.class != classReads && w.readOnly && !w.statement.changesSession():
		return newException(codeReadOnly, "default: Cannot execute query in readonly mode. For queries over HTTP, method GET implies readonly. You should use method POST for modifying queries.")
	}
	return nil
}

// admission stands for a reader's statement that the gate has let through, with all that its answer depends on: it is a hash of the
// request's settings, database and SQL role, and of all that the client wrote. It is zero for a statement that the gate has to look at each
// time.
type admission [sha256.Size]byte

// admission returns it for a reader's statement. To look at it takes as long as a small answer, and dashboards and reports ask the same
// statements again and again, with other values of their parameters. A named session can have settings from before, and what is written
// to a pipe is another text each time.
func (q *request) admission(w *work) (a admission) {
	if q.role != reader || q.sessionID != "" || w.pipe != "" {
		return a
	}
	text := sha256.New()
	for _, s := range q.settings {
		fmt.Fprintf(text, "%q=%q ", s.name, s.value)
	}
	fmt.Fprintf(text, "%q %q ", q.database, q.sqlRole)
	text.Write(w.statement.source)
	text.Sum(a[:0])
	return a
}

// admissionsKept is how many admissions the gate has.
const admissionsKept = 1000

// gate has the admissions of the statements that came last.
type gate struct{ admissions *lru.Cache }

func newGate() gate { return gate{lru.New(admissionsKept)} }

func (g gate) knows(a admission) bool {
	_, known := g.admissions.Get(a)
	return known
}

func (g gate) remember(a admission) {
	if a != (admission{}) {
		g.admissions.Add(a, nil)
	}
}

// admitPipe looks at the statement of a client as it writes its result to a pipe of this package: still one statement, which
// counts as control because it writes outside of databases.
func (w *work) admitPipe() error {
	if w.pipe == "" {
		return nil
	}
	a, err := w.conn.classify(w.text)
	if err == nil && (a.statements != 1 || a.class != classControls) {
		err = newException(codeSyntaxError, "Syntax error: the statement cannot be answered in the format %s; write its SETTINGS behind FORMAT %[1]s", w.format)
	}
	return err
}

// readsInput refuses INSERT … SELECT … FROM input(): libchdb would run it and drop the rows without a word.
func (s *statement) readsInput() error {
	if s.kind != "INSERT" || s.insertsData || s.format == "" {
		return nil
	}
	return newException(codeNotImplemented, "INSERT … SELECT … FROM input() is not supported by the embedded engine; insert into a temporary table of a session first")
}

// errInnerSettings is why a statement with SETTINGS that the engine would not check is refused.
func errInnerSettings() error {
	return newException(codeConstraint, "SETTINGS are not allowed in a subquery, before UNION, INTERSECT or EXCEPT, or in DESCRIBE SELECT; write them at the end of the statement, or put a column of that name in quotes")
}

// admitReader returns why a reader may not run the statement. It looks at it twice: as the reader wrote it, and as the engine
// writes it.
func (w *work) admitReader(c class) error {
	if c != classReads {
		return newException(codeAccessDenied, "%[1]s: Not enough privileges. User %[1]s reads only; %[2]s may write", ReaderUser, WriterUser)
	}
	if err := w.statement.refuseReader(w.engine); err != nil {
		return err
	}
	if w.unclear != nil {
		return w.unclear
	}
	for _, name := range w.normal.settings {
		if err := checkSetting(name); err != nil {
			return err
		}
	}
	return w.normal.refuseReader(w.engine)
}

// refuseReader returns what in the statement readers may not use.
func (s *statement) refuseReader(e *engine) error {
	switch {
	case s.innerSettings:
		return errInnerSettings()
	case s.hidesSQL != "":
		return newException(codeAccessDenied, "%s", s.hidesSQL)
	case s.resetsSetting:
		return newException(codeConstraint, "A setting cannot be reset to DEFAULT by this user")
	}
	for _, name := range s.calls {
		if e.outsideReaders[strings.ToLower(name)] {
			written := ""
			if strings.EqualFold(name, "viewExplain") {
				written = ": it is EXPLAIN in FROM"
			}
			return newException(codeAccessDenied, "the table function %s is not allowed%s", name, written)
		}
	}
	return nil
}

// normalForm returns a statement as the engine writes what it understands. The session must have none of the client's settings
// yet: by offset or max_result_bytes, the engine would return nothing.
func (c *connection) normalForm(ctx context.Context, text []byte) (*statement, error) {
	query := "SELECT formatQuerySingleLine({text:String}) SETTINGS max_query_size = " + strconv.Itoa(maxQuerySize)
	normal, _, err := c.query([]byte(query), "TSVRaw", []parameter{{"text", escaped.Replace(string(text))}})
	if err != nil {
		return nil, err
	}
	return parseNormal(ctx, normal)
}

// whole returns the statement, with its settings and without its output format and the rows of an INSERT.
func (s *statement) whole() []byte {
	if s.kind == "INSERT" && s.insertsData && s.format != "" {
		return join(s.text, []byte("FORMAT "+s.format))
	}
	return join(s.text, s.suffix)
}

// escaped writes a text as the value of a parameter.
var escaped = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\x00", `\0`)

// syntaxError returns the engine's error for a text that is no statement. It does not run the text.
func (c *connection) syntaxError(text []byte) error {
	_, _, err := c.query([]byte("SELECT formatQuery({text:String})"), "Null", []parameter{{"text", escaped.Replace(string(text))}})
	if e := (*Exception)(nil); errors.As(err, &e) {
		e.Text, _, _ = strings.Cut(e.Text, ": In scope SELECT formatQuery(")
		return e
	}
	return newException(codeSyntaxError, "Syntax error: the statement is not supported")
}

// Names in a request that become part of a statement.
var (
	formatName    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,63}$`)
	parameterName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
)

func checkFormat(name string) error {
	if name != "" && !formatName.MatchString(name) {
		return newException(codeUnknownFormat, "Unknown format %.100q", name)
	}
	return nil
}

func checkParameter(what, name string) error {
	if !parameterName.MatchString(name) {
		return newException(codeBadArguments, "%s %.100q is not a name", what, name)
	}
	return nil
}
