package catalog

import (
	"context"
	"reflect"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
)

// A report can ask a small statement before its own: whether there is anything to tell, how much there is to read, or which sums there are.

// askFirst asks whether a report has nothing to tell, or how little one with a limit has to read, and sets these parameters of its statement. To find
// that out in the statement itself takes ClickHouse seconds before it begins: it resolves a WITH again for each subquery that names it.
func (c *Catalog) askFirst(ctx context.Context, explain func(error) error, r Report, s Statement, w window) (nothing bool, err error) {
	if !r.seldom && (len(r.bounds) == 0 || s.Parameters["limit"] == noLimit) {
		return false, nil
	}
	first, err := expand(r.Name+"-first.sql", "")
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

// takeQuarters returns the kind of a report's SQL: "quarters" if it can read sums of quarters, and there are some in its window or before its moment. It
// sets the parameters that this takes.
func (c *Catalog) takeQuarters(ctx context.Context, explain func(error) error, r Report, s Statement, w window) (kind string, err error) {
	in := w
	if r.quarterly == "moment" {
		in.since = beginning
	}
	if r.quarterly != w.kind() || !in.hasQuarter(c.now()) || r.wide && narrow(s.Parameters) {
		return w.kind(), nil
	}
	quarters, err := expand("quarters.sql", "")
	if err != nil {
		return "", err
	}
	s.Parameters["quarters_since"] = parameter(in.since)
	if found, err := c.askParameters(ctx, explain, r, quarters, s); err != nil || !found {
		return w.kind(), err
	}
	return "quarters", nil
}

// findRows asks for the rows of a report before it asks the rest, and returns a context that has them in a table found. In one statement, ClickHouse
// would resolve them again for each place that names them. nothing says that there are none.
func (c *Catalog) findRows(ctx context.Context, explain func(error) error, r Report, s *Statement, w window, kind string) (with context.Context, nothing bool, err error) {
	find := *s
	if find.SQL, err = expand(r.Name+"-found.sql", kind); err != nil {
		return nil, false, err
	}
	result, err := c.askReport(ctx, explain, find, r)
	if err != nil {
		return nil, false, err
	}
	defer result.Close()
	table, rows, err := result.table("found")
	if err != nil || rows == 0 {
		return ctx, true, err
	}
	s.SQL, err = expand(r.file(w, s.Parameters), "found")
	return clickhouse.Context(ctx, clickhouse.WithExternalTable(table)), false, err
}

// table reads the result into a table that can be sent along with another statement.
func (r *Result) table(name string) (t *ext.Table, rows int, err error) {
	if t, err = ext.NewTable(name); err != nil || r.rows == nil { // over HTTP, a result without rows comes without columns
		return t, 0, err
	}
	for _, of := range r.rows.ColumnTypes() {
		if err := ext.Column(of.Name(), column.Type(of.DatabaseTypeName()))(t); err != nil {
			return t, 0, err
		}
	}
	values := make([]any, len(r.dest))
	for ; r.rows.Next(); rows++ {
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

// askParameters asks a statement with the parameters of another one, which get the columns of its row; found says whether it has one.
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
