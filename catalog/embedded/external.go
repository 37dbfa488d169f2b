package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
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

// loadExternal reads the parts of the body: it appends the part named query to the query from the
// URL, and loads each other part into a temporary table of this request's session.
func (q *request) loadExternal(ctx context.Context, conn *connection) error {
	if q.role == reader && q.sessionID != "" {
		return newException(codeNotImplemented, "This user cannot send tables in a session, where they would stay in memory")
	}
	for {
		part, err := q.nextPart(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := part.FormName()
		if name == "query" {
			text, err := io.ReadAll(io.LimitReader(part, maxQuerySize+1))
			if err != nil {
				return bodyError(err)
			}
			if len(q.query)+len(text) > maxQuerySize {
				return queryTooLarge()
			}
			q.query = append(q.query, text...)
			continue
		}
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
		buf := make([]byte, pieceSize)
		_, err = conn.insert([]byte("INSERT INTO "+quoteName(name)), cmp.Or(table.format, "TabSeparated"), nil, func() ([]byte, error) {
			n, err := fill(part, buf)
			if err != nil {
				return nil, bodyError(err)
			}
			if n == 0 {
				return nil, nil
			}
			return buf[:n], nil
		})
		if err != nil {
			return err
		}
	}
}
