package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"strconv"
	"strings"
)

// externalTable is a table that a request contains (multipart/form-data): its rows in a part of the
// body, its format and columns in the URL (name_format, name_structure or name_types).
type externalTable struct{ format, structure string }

// external parses a URL parameter that describes such a table, and reports whether it was one.
func (q *request) external(name, value string) bool {
	for _, kind := range []string{"_format", "_structure", "_types"} {
		table, ok := strings.CutSuffix(name, kind)
		if !ok || table == "" {
			continue
		}
		if q.externalFormats == nil {
			q.externalFormats = map[string]externalTable{}
		}
		t := q.externalFormats[table]
		switch kind {
		case "_format":
			t.format = value
		case "_structure":
			t.structure = value
		default:
			var columns []string
			for i, typ := range strings.Split(value, ",") {
				columns = append(columns, fmt.Sprintf("_%d %s", i+1, typ))
			}
			t.structure = strings.Join(columns, ", ")
		}
		q.externalFormats[table] = t
		return true
	}
	return false
}

// nextPart returns the next part of the body, until ctx ends.
func (q *request) nextPart(ctx context.Context) (*multipart.Part, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	part, err := q.parts.NextPart()
	if err != nil && !errors.Is(err, io.EOF) {
		err = bodyError(err)
	}
	return part, err
}

// tableShare divides the engine's memory: a reader's table may take so much of it while it is loaded, and the tables of all
// readers together from then on. The largest that the tracker's command line sends have 200,000 rows of names, 60 MB.
const tableShare = 8

// loadsAtOnce is for how many readers' requests tables are loaded at once; others wait. The engine keeps the rows that a client has sent
// until it has sent the last one, for uploadPatience at most.
const loadsAtOnce = 2

// loadExternal loads the parts of the body. A reader's tables are bounded: they stay in memory until the statement ends, and
// when the engine is short of memory, it can stop statements, but not drop their tables.
func (q *request) loadExternal(ctx context.Context, e *engine, conn *connection) error {
	if q.role == writer {
		return q.loadParts(ctx, conn, func() error { return nil })
	}
	if q.sessionID != "" {
		return newException(codeNotImplemented, "This user cannot send tables in a session, where they would stay in memory")
	}
	release, err := take(ctx, e.loads)
	if err != nil {
		return err
	}
	defer release()
	q.beginUpload()
	if err := conn.limitMemory(e.maxMemory / tableShare); err != nil {
		return err
	}
	if err := q.loadParts(ctx, conn, func() error { return q.countTables(e, conn) }); err != nil {
		return err
	}
	return conn.limitMemory(e.queryMemory())
}

// limitMemory bounds the memory of each further statement of the session, in bytes.
func (c *connection) limitMemory(bytes int64) error {
	return c.exec("SET max_memory_usage = " + strconv.FormatInt(bytes, 10))
}

// countTables counts what the request's tables take, and returns an error if those of all readers take too much.
func (q *request) countTables(e *engine, conn *connection) error {
	out, _, err := conn.query([]byte("SELECT sum(total_bytes) FROM system.tables WHERE database = '' AND is_temporary"), "TabSeparated", nil)
	if err != nil {
		return err
	}
	bytes, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		return fmt.Errorf("count the memory of external tables: %w", err)
	}
	more := bytes - q.tableBytes
	q.tableBytes = bytes
	if most := e.maxMemory / tableShare; e.tableBytes.Add(more) > most {
		return newException(codeTooManyRowsOrBytes, "Limit for external tables exceeded: those of all requests of this user may take %d bytes of memory together, "+
			"and these take %d; send fewer rows, or try again later", most, bytes)
	}
	return nil
}

// loadParts reads the parts of the body: it appends the part named query to the query from the URL, and loads each other part
// into a temporary table of this request's session. It calls check after each table.
func (q *request) loadParts(ctx context.Context, conn *connection, check func() error) error {
	for {
		part, err := q.nextPart(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if part.FormName() == "query" {
			err = q.appendQuery(part)
		} else if err = q.loadTable(conn, part); err == nil {
			err = check()
		}
		if err != nil {
			return err
		}
	}
}

func (q *request) appendQuery(part io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(part, maxQuerySize+1))
	if err != nil {
		return bodyError(err)
	}
	if len(q.query)+len(text) > maxQuerySize {
		return queryTooLarge()
	}
	q.query = append(q.query, text...)
	return nil
}

func (q *request) loadTable(conn *connection, part *multipart.Part) error {
	name := part.FormName()
	table := q.externalFormats[name]
	if table.structure == "" {
		return newException(codeBadArguments, "Neither structure nor types have not been provided for external table %s. Use fields %s_structure or %s_types to do so.", name, name, name)
	}
	if err := errors.Join(checkParameter("the external table", name), checkFormat(table.format), checkStructure(name, table.structure)); err != nil {
		return err
	}
	// The structure is a value here, and cannot end the statement.
	if err := conn.exec("CREATE TEMPORARY TABLE " + quoteName(name) + " ENGINE = Memory AS SELECT * FROM null(" + quote(table.structure) + ")"); err != nil {
		return err
	}
	_, err := conn.insert([]byte("INSERT INTO "+quoteName(name)), cmp.Or(table.format, "TabSeparated"), nil, piecesOf(part))
	return err
}
