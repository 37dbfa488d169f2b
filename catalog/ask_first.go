package catalog

import (
	"context"
	"reflect"
	"strings"
	"time"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
)

// Some reports ask small statements before their own: which volumes they are about, in which namespaces they have to read, when pods were
// watched, whether they have any row, how far back they have to read, or which sums cover the window. To compute that within one statement
// would take seconds: ClickHouse analyses a WITH again for each subquery that names it.

// findBounds asks the file NAME-first.sql of a report that has one, and adds the columns of its row to the values.
// nothing is true if the report is seldom and there is no row: then the report has none, too.
func (a *asking) findBounds(ctx context.Context) (nothing bool, err error) {
	r := a.report
	alone := r.seldom && r.found == "" // the file is there for its own sake
	if !alone && (len(r.bounds) == 0 || a.values["limit"] == noLimit || a.values["volume"] != "") {
		return false, nil
	}
	first, err := expand(r.Name+"-first.sql", "", a.values)
	if err != nil {
		return false, err
	}
	for _, from := range a.window.from(a.now(), r.lookBack) {
		a.values["from"] = parameter(from)
		if found, err := a.addValues(ctx, first); err != nil || found {
			return false, err
		}
	}
	return alone, nil
}

// findParameters asks which volumes {volume} names, in which namespaces the statements of a report look for rows, or when pods were
// watched, and adds these to the values as parameters: see volumes.sql, namespaces.sql and spans.sql. A report needs those that its own
// SQL would find itself.
func (a *asking) findParameters(ctx context.Context, own string, parameters ...string) error {
	small := map[string]struct{ finds, file string }{
		"named_volumes":     {"FROM volumes WHERE name = {volume:String}", "volumes.sql"},
		"its_namespaces":    {"FROM owner_namespaces", "namespaces.sql"},
		"volume_namespaces": {" AS volume_namespaces", "namespaces.sql"},
		"watched_spans":     {" AS watched_cluster, started_micros", "spans.sql"},
	}
	for _, parameter := range parameters {
		if !strings.Contains(own, small[parameter].finds) {
			continue
		}
		sql, err := expand(small[parameter].file, parameter, a.values)
		if err != nil {
			return err
		}
		if _, err = a.addValues(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// findRows asks the file NAME-found.sql of a report: for the keys of its rows, for a bound, or for what it is about. It returns a context
// with the answer in the table found, and the SQL that reads this table. nothing is true if there are no rows. If there
// are too many rows for a table, the SQL stays as it was.
func (a *asking) findRows(ctx context.Context, was, kind string) (with context.Context, sql string, nothing bool, err error) {
	find, err := expand(a.report.Name+"-found.sql", kind, a.values)
	if err != nil {
		return nil, "", false, err
	}
	most := a.mostSent
	if a.report.seldom { // its rows are what the report is about, and wide
		most /= 4
	}
	with, rows, err := a.table(ctx, find, "found", most)
	if err != nil || rows == 0 || rows > most {
		return ctx, was, err == nil && rows == 0, err
	}
	sql, err = a.sql(foundKind + " " + kind)
	return with, sql, false, err
}

// table asks a statement and returns a context with its rows in a table, if there are any: the driver sends the
// table along with each statement of that context. If there are too many rows, or the server has not enough memory to
// find them, rows is greater than most, and the table is incomplete: a report can do without it.
func (a *asking) table(ctx context.Context, sql, name string, most int) (with context.Context, rows int, err error) {
	var table *ext.Table
	err = a.withinMemory(func(settings clickhouse.Settings) error {
		result, err := a.query(ctx, a.explain, sql, a.values, settings)
		if err != nil {
			return err
		}
		defer result.Close()
		table, rows, err = result.table(name, most)
		return err
	})
	if HasCode(err, chproto.ErrMemoryLimitExceeded) {
		return ctx, most + 1, nil
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

// addValues asks a statement, and adds the columns of its first row to the values. found is whether it has a row.
func (a *asking) addValues(ctx context.Context, sql string) (found bool, err error) {
	result, err := a.run(ctx, sql)
	if err != nil {
		return false, err
	}
	defer result.Close()
	if found = result.Next(); found {
		for i, column := range result.Columns {
			switch value := result.Row()[i].(type) {
			case time.Time:
				a.values[column.Name] = parameter(value)
			case string:
				a.values[column.Name] = value
			}
		}
	}
	return found, result.Err()
}
