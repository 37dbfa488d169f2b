package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// stuckAfter is how long a statement may take to stop. One that does not, since it waits for something
// that the kernel does not interrupt, would keep its place for ever.
const stuckAfter = 30 * time.Second

// killInterval is how often a statement whose client has disconnected is killed again until it
// stops: the engine may not know the statement yet at the first attempt.
const killInterval = 100 * time.Millisecond

// engine is the booted ClickHouse of this process. Its sessions are independent.
type engine struct {
	lib  *Library
	dir  string
	args []string
	lock *os.File

	maxMemory      int64           // in bytes
	keepFree       int64           // that answers leave on the disk, in bytes
	loads          chan struct{}   // has an element for each reader's request whose tables are loaded now
	tableBytes     atomic.Int64    // that the external tables of all readers take
	outsideReaders map[string]bool // the names, in small letters, of the table functions that readers may not call

	converting sync.Mutex // see nativeRevision
	gate       gate

	stuck        chan string // receives the id of a statement that cannot be stopped
	control      *connection // keeps the engine alive, and runs KILL QUERY
	controlMutex sync.Mutex
	lastID       atomic.Uint64

	version, timezone, displayName string
	httpCompression                string
}

// bootEngine locks dir, writes the configuration and boots ClickHouse.
func bootEngine(libraryPath, dir string, maxMemory int64, l limits) (*engine, error) {
	dir, err := MakeDataDir(dir)
	if err != nil {
		return nil, err
	}
	space, err := diskOf(dir)
	if err != nil {
		return nil, err
	}
	l = l.on(space)
	lock, err := lockDirectory(dir)
	if err != nil {
		return nil, err
	}
	e := &engine{dir: dir, lock: lock, gate: newGate(), stuck: make(chan string, 1), loads: make(chan struct{}, loadsAtOnce), maxMemory: maxMemory, keepFree: l.keepFree}
	if err := e.boot(libraryPath, l); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

func (e *engine) boot(libraryPath string, l limits) (err error) {
	if e.lib, err = LoadLibrary(libraryPath); err != nil {
		return err
	}
	server, err := writeConfig(e.dir, e.maxMemory, e.queryMemory(), l)
	if err != nil {
		return err
	}
	leftovers, _ := filepath.Glob(filepath.Join(e.dir, "result-*"))
	for _, f := range leftovers {
		os.Remove(f)
	}
	// Switch off what clickhouse-local allows and a server does not.
	e.args = append(server, "--implicit_select=0", "--allow_introspection_functions=0")
	if e.control, err = e.lib.openConnection(e.args); err != nil {
		return fmt.Errorf("ClickHouse does not start on the data directory %s: %w", e.dir, err)
	}
	out, _, err := e.control.query([]byte("SELECT version(), timezone(), displayName(), toString(getSetting('enable_http_compression'))"), "TabSeparated", nil)
	if err != nil {
		return fmt.Errorf("ClickHouse does not start on the data directory %s: %w", e.dir, err)
	}
	fields := strings.Split(strings.TrimSpace(string(out)), "\t")
	if len(fields) != 4 {
		return fmt.Errorf("ClickHouse does not report its version: %q", out)
	}
	e.version, e.timezone, e.displayName, e.httpCompression = fields[0], fields[1], fields[2], fields[3]
	return e.listTableFunctions()
}

// listTableFunctions finds out which table functions this version of ClickHouse has besides those that readers may call.
func (e *engine) listTableFunctions() error {
	out, _, err := e.control.query([]byte("SELECT name FROM system.table_functions"), "TabSeparated", nil)
	if err == nil && len(out) == 0 {
		err = errors.New("the list is empty")
	}
	if err != nil {
		return fmt.Errorf("ClickHouse does not list its table functions: %w", err)
	}
	e.outsideReaders = map[string]bool{}
	for name := range strings.FieldsSeq(string(out)) {
		if !readerTables[strings.ToLower(name)] {
			e.outsideReaders[strings.ToLower(name)] = true
		}
	}
	return nil
}

// close ends the last session, which flushes and stops the engine, and releases the directory. No
// other session may be open.
func (e *engine) close() {
	if e.control != nil {
		e.control.close()
		e.lib.shutdown()
	}
	e.lock.Close()
}

// queryMemory is how much memory a statement may take, in bytes: what the cache of uncompressed blocks leaves, which gives nothing back, less
// an eighth of the whole.
func (e *engine) queryMemory() int64 { return e.maxMemory - e.maxMemory/cacheShare - e.maxMemory/8 }

// newID returns an id for a statement, unique within this process.
func (e *engine) newID() string {
	return fmt.Sprintf("kubevoltracker:%d:%d", os.Getpid(), e.lastID.Add(1))
}

// statementSetting carries the id by which kill finds a session's statements. The setting has no
// effect because its table engine is not allowed, and a client cannot set it (see outsideSettings),
// so that no statement can evade kill.
const statementSetting = "s3queue_default_zookeeper_path"

// templatesSetting lets the engine evaluate expressions in rows of the format Values. The writer may have them there.
const templatesSetting = "input_format_values_deduce_templates_of_expressions"

// maxResultRows bounds what one statement of a reader returns.
const maxResultRows = 10_000_000

// open opens a session in which kill finds statements by id.
func (e *engine) open(id string, of role) (*connection, error) {
	args := append(e.args[:len(e.args):len(e.args)], "--"+statementSetting+"="+id)
	if of == reader {
		args = append(args, "--readonly=2", "--"+templatesSetting+"=0", "--max_result_rows="+strconv.Itoa(maxResultRows), "--max_memory_usage="+strconv.FormatInt(e.queryMemory(), 10))
	}
	c, err := e.lib.openConnection(args)
	if err != nil {
		return nil, newException(codeUnknownException, "%v", err)
	}
	return c, nil
}

// whenGone kills the statements of the session id once ctx is done. The caller must call the
// returned function when the statement has returned.
func (e *engine) whenGone(ctx context.Context, id string) (done func()) {
	finished := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-finished:
			return
		case <-ctx.Done():
		}
		tick, began := time.NewTicker(killInterval), time.Now()
		defer tick.Stop()
		for {
			e.kill(id)
			select {
			case <-finished:
				return
			case <-tick.C:
			}
			if time.Since(began) > stuckAfter {
				select {
				case e.stuck <- id:
				default: // one is known already
				}
			}
		}
	})
	return func() { close(finished); watching.Wait() }
}

func (e *engine) kill(id string) {
	e.controlMutex.Lock()
	defer e.controlMutex.Unlock()
	// If the statement has ended meanwhile, that is no error; any other error has no reader.
	_ = e.control.exec("KILL QUERY WHERE Settings['" + statementSetting + "'] = " + quote(id) + " ASYNC")
}

// quote returns s as a string literal.
func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// quoteName returns s as an identifier.
func quoteName(s string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(s) + "`"
}

// summary renders the value of X-ClickHouse-Summary.
func (u usage) summary(elapsed time.Duration) string {
	var b strings.Builder
	b.WriteByte('{')
	for _, f := range []struct {
		name  string
		value uint64
	}{
		{"read_rows", u.readRows}, {"read_bytes", u.readBytes}, {"written_rows", u.writtenRows}, {"written_bytes", u.writtenBytes},
		{"total_rows_to_read", 0}, {"result_rows", u.resultRows}, {"result_bytes", u.resultBytes}, {"elapsed_ns", uint64(elapsed)}, //nolint:gosec // a duration that has passed is not negative
	} {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + f.name + `":"` + strconv.FormatUint(f.value, 10) + `"`)
	}
	return b.String() + "}"
}

func (u *usage) add(o usage) {
	u.readRows += o.readRows
	u.readBytes += o.readBytes
	u.writtenRows += o.writtenRows
	u.writtenBytes += o.writtenBytes
	u.resultRows += o.resultRows
	u.resultBytes += o.resultBytes
}
