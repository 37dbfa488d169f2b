package catalog

import (
	"context"
	"reflect"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
)

// Some reports ask small statements before their own: in which namespaces they have to read, whether they have any row,
// how far back they have to read, or which sums cover the window. To compute that within one statement would take
// seconds: ClickHouse analyses a WITH again for each subquery that names it.

// askFirst asks the file NAME-first.sql of a report that has one, and adds the columns of its row to the parameters of
// the report's statement. nothing is true if there is no row and the report is seldom: then the report has no rows.
func (c *Catalog) askFirst(ctx context.Context, explain func(error) error, r Report, s Statement, w window) (nothing bool, err error) {
	if !r.seldom && (len(r.bounds) == 0 || s.Parameters["limit"] == noLimit || s.Parameters["volume"] != "") {
		return false, nil
	}
	first, err := expand(r.Name+"-first.sql", "", s.Parameters)
	if err != nil {
		return false, err
	}
	for _, from := range w.from(c.now(), r.lookBack) {
		s.Parameters["from"] = parameter(from)
		if found, err := c.askParameters(ctx, explain, r, first, s); err != nil || found {
			return false, err
		}
	}
	return r.seldom, nil
}

// takeNamespaces asks in which namespaces the statements of a report look for rows, and adds these to their parameters:
// see namespaces.sql. A report needs them if its SQL would find them itself.
func (c *Catalog) takeNamespaces(ctx context.Context, explain func(error) error, r Report, s Statement) error {
	for _, needed := range []struct{ in, parameter string }{
		{"FROM owner_namespaces", "its_namespaces"},
		{" AS volume_namespaces", "volume_namespaces"},
	} {
		if !strings.Contains(s.SQL, needed.in) {
			continue
		}
		sql, err := expand("namespaces.sql", needed.parameter, s.Parameters)
		if err != nil {
			return err
		}
		if _, err := c.askParameters(ctx, explain, r, sql, s); err != nil {
			return err
		}
	}
	return nil
}

// findRows asks the file NAME-found.sql of a report: for the keys of its rows, or for a bound. It returns a context
// with the answer in the table found, and changes the statement to the one that reads this table. nothing is true if
// there are no rows. If there are too many rows for a table, the statement stays as it is.
func (c *Catalog) findRows(ctx context.Context, explain func(error) error, r Report, s *Statement, w window, kind string) (with context.Context, nothing bool, err error) {
	find := *s
	if find.SQL, err = expand(r.Name+"-found.sql", kind, s.Parameters); err != nil {
		return nil, false, err
	}
	with, rows, err := c.askTable(ctx, explain, r, find, "found")
	if err != nil || rows == 0 || rows > c.mostSent {
		return ctx, err == nil && rows == 0, err
	}
	s.SQL, err = expand(r.file(w), foundKind+" "+kind, s.Parameters)
	return with, false, err
}

// askTable asks a statement and returns a context with its rows in a table, if there are any: the driver sends the
// table along with each statement of that context. If there are too many rows, or the server has not enough memory to
// find them, rows is greater than Catalog.mostSent, and the table is incomplete: a report can do without it.
func (c *Catalog) askTable(ctx context.Context, explain func(error) error, r Report, s Statement, name string) (with context.Context, rows int, err error) {
	var table *ext.Table
	err = c.withinMemory(r, func(settings clickhouse.Settings) error {
		result, err := c.query(ctx, explain, s.SQL, s.Parameters, settings)
		if err != nil {
			return err
		}
		defer result.Close()
		table, rows, err = result.table(name, c.mostSent)
		return err
	})
	if HasCode(err, CodeMemoryLimit) {
		return ctx, c.mostSent + 1, nil
	}
	if err != nil {
		return ctx, 0, err
	}
	if rows == 0 { // over HTTP, an empty result has no columns
		return ctx, 0, nil
	}
	return clickhouse.Context(ctx, clickhouse.WithExternalTable(table)), rows, nil
}

// table reads the result into a table for another statement, with one row more than most if it has so many.
func (r *Result) table(name string, most int) (t *ext.Table, rows int, err error) {
	if t, err = ext.NewTable(name); err != nil || r.rows == nil {
		return t, 0, err
	}
	for _, of := range r.rows.ColumnTypes() {
		if err := ext.Column(of.Name(), column.Type(of.DatabaseTypeName()))(t); err != nil {
			return t, 0, err
		}
	}
	values := make([]any, len(r.dest))
	for ; rows <= most && r.rows.Next(); rows++ {
		if err := r.rows.Scan(r.dest...); err != nil {
			return t, rows, err
		}
		for i, pointer := range r.dest {
			values[i] = reflect.ValueOf(pointer).Elem().Interface()
		}
		if err := t.Append(values...); err != nil {
			return t, rows, err
		}
	}
	return t, rows, r.explain(r.rows.Err())
}

// askParameters asks a statement with the parameters of another one, and adds the columns of its first row to them.
// found is whether it has a row.
func (c *Catalog) askParameters(ctx context.Context, explain func(error) error, r Report, sql string, s Statement) (found bool, err error) {
	result, err := c.runReport(ctx, explain, Statement{SQL: sql, Parameters: s.Parameters}, r)
	if err != nil {
		return false, err
	}
	defer result.Close()
	if found = result.Next(); found {
		for i, column := range result.Columns {
			switch value := result.Row()[i].(type) {
			case time.Time:
				s.Parameters[column.Name] = parameter(value)
			case string:
				s.Parameters[column.Name] = value
			}
		}
	}
	return found, result.Err()
}
