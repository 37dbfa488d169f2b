package catalog

import (
	"context"
	"reflect"
	"strconv"
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

// mostSent is how many rows can be sent along with a statement.
var mostSent = 200_000

// takeQuarters returns the kind of a report's SQL: "quarters" if it can read sums of quarters, and there are some in its window or before its moment. It
// sets the parameters that this takes, and returns a context that has a table changed, if anything has. Where too much has changed, the mounts are read instead: first those of
// the running quarter, in which most changes, and then all.
func (c *Catalog) takeQuarters(ctx context.Context, explain func(error) error, r Report, s Statement, w window) (with context.Context, kind string, err error) {
	in := w
	if r.quarterly == "moment" {
		in.since = beginning
	}
	in.until = w.endBy(c.now())
	if r.quarterly != w.kind() || !in.hasQuarter() {
		return ctx, w.kind(), nil
	}
	s.Parameters["quarters_since"] = parameter(in.since)
	for _, until := range []time.Time{in.until, quarterOf(in.until)} {
		s.Parameters["quarters_until"] = parameter(until)
		with, found, rows, err := c.askQuarters(ctx, explain, r, s)
		if err != nil || !found {
			return ctx, w.kind(), err
		}
		if rows <= mostSent {
			if rows > 0 {
				s.Parameters["changed_claims"] = strconv.Itoa(rows)
			}
			return with, quartersKind, nil
		}
	}
	return ctx, w.kind(), nil
}

// askQuarters asks which quarters are summed up, and in which rows something has changed since.
func (c *Catalog) askQuarters(ctx context.Context, explain func(error) error, r Report, s Statement) (with context.Context, found bool, rows int, err error) {
	quarters, err := expand("quarters.sql", "", s.Parameters)
	if err != nil {
		return nil, false, 0, err
	}
	if found, err = c.askParameters(ctx, explain, r, quarters, s); err != nil || !found {
		return nil, false, 0, err
	}
	changed, err := expand("changed_claims.sql", r.quarterly, s.Parameters)
	if err != nil {
		return nil, false, 0, err
	}
	with, rows, err = c.askTable(ctx, explain, r, Statement{SQL: changed, Parameters: s.Parameters}, "changed")
	return with, true, rows, err
}

// findRows asks for the rows of a report, or a bound for them, before it asks the rest, and returns a context that has them in a table found. In one statement, ClickHouse
// would resolve them again for each place that names them. nothing says that there are none. Where there are too many, the statement stays as it is.
func (c *Catalog) findRows(ctx context.Context, explain func(error) error, r Report, s *Statement, w window, kind string) (with context.Context, nothing bool, err error) {
	find := *s
	if find.SQL, err = expand(r.Name+"-found.sql", kind, s.Parameters); err != nil {
		return nil, false, err
	}
	with, rows, err := c.askTable(ctx, explain, r, find, "found")
	if err != nil || rows == 0 || rows > mostSent {
		return ctx, err == nil && rows == 0, err
	}
	s.SQL, err = expand(r.file(w), foundKind+" "+kind, s.Parameters)
	return with, false, err
}

// askTable asks a statement and returns a context that has its rows in a table, if there are any, which is sent along with what is asked in that context. A report can do without it: if there
// are more rows than can be sent, or the memory is not enough to find them, rows is greater than mostSent, and the table has not all of them.
func (c *Catalog) askTable(ctx context.Context, explain func(error) error, r Report, s Statement, name string) (with context.Context, rows int, err error) {
	var table *ext.Table
	err = r.withinMemory(func(settings clickhouse.Settings) error {
		result, err := c.query(ctx, explain, s.SQL, s.Parameters, settings)
		if err != nil {
			return err
		}
		defer result.Close()
		table, rows, err = result.table(name)
		return err
	})
	if HasCode(err, codeMemoryLimit) {
		return ctx, mostSent + 1, nil
	}
	if err != nil {
		return ctx, 0, err
	}
	if rows == 0 { // over HTTP, it comes without columns
		return ctx, 0, nil
	}
	return clickhouse.Context(ctx, clickhouse.WithExternalTable(table)), rows, nil
}

// table reads the result, up to mostSent rows and one, into a table that can be sent along with another statement.
func (r *Result) table(name string) (t *ext.Table, rows int, err error) {
	if t, err = ext.NewTable(name); err != nil || r.rows == nil {
		return t, 0, err
	}
	for _, of := range r.rows.ColumnTypes() {
		if err := ext.Column(of.Name(), column.Type(of.DatabaseTypeName()))(t); err != nil {
			return t, 0, err
		}
	}
	values := make([]any, len(r.dest))
	for ; rows <= mostSent && r.rows.Next(); rows++ {
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
