package catalog

import (
	"context"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"golang.org/x/sync/errgroup"
)

// Some reports ask small statements before their own: in which namespaces they have to read, whether they have any row,
// how far back they have to read, or which sums cover the window. To compute that within one statement would take
// seconds: ClickHouse analyses a WITH again for each subquery that names it.

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

// findNamespaces asks in which namespaces the statements of a report look for rows, and adds these to the values as a
// parameter: see namespaces.sql. A report needs them if its own SQL would find them itself.
func (a *asking) findNamespaces(ctx context.Context, own, parameter string) error {
	finds := map[string]string{"its_namespaces": "FROM owner_namespaces", "volume_namespaces": " AS volume_namespaces"}[parameter]
	if !strings.Contains(own, finds) {
		return nil
	}
	sql, err := expand("namespaces.sql", parameter, a.values)
	if err != nil {
		return err
	}
	_, err = a.addValues(ctx, sql)
	return err
}

// findRows asks the file NAME-found.sql of a report: for the keys of its rows, for a bound, or for what it is about, and then the files of
// its lookUps. It returns the tables that its SQL for the kind "found" reads, or none if there are too many rows for a table. nothing is
// true if there are no rows.
func (a *asking) findRows(ctx context.Context, kind string, changed *ext.Table) (tables []*ext.Table, nothing bool, err error) {
	find, err := expand(a.report.Name+"-found.sql", kind, a.values)
	if err != nil {
		return nil, false, err
	}
	most := a.mostSent
	if a.report.seldom || len(a.report.lookUps) > 0 { // the rows are what the report is about, and wide
		most /= 4
	}
	found, rows, err := a.table(bringing(ctx, changed), find, "found", most)
	if err != nil || rows == 0 || rows > most {
		return nil, err == nil && rows == 0, err
	}
	tables = make([]*ext.Table, 1+len(a.report.lookUps))
	tables[0] = found
	var all errgroup.Group
	var tooMany atomic.Bool
	for i, name := range a.report.lookUps {
		all.Go(func() error {
			sql, err := expand(a.report.Name+"-"+name+".sql", "", a.values)
			if err != nil {
				return err
			}
			more, rows, err := a.table(bringing(ctx, found), sql, name+"_found", most)
			tables[1+i] = more
			if rows == 0 || rows > most {
				tooMany.Store(true)
			}
			return err
		})
	}
	if err = all.Wait(); err != nil || tooMany.Load() {
		return nil, false, err
	}
	return tables, false, nil
}

// table asks a statement and returns its rows as a table, which the driver can send along with other statements. If there are too many
// rows, or the server has not enough memory to find them, rows is greater than most, and the table is incomplete: a report can do
// without it. Without rows there is no table, as over HTTP an empty result has no columns.
func (a *asking) table(ctx context.Context, sql, name string, most int) (table *ext.Table, rows int, err error) {
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
		return nil, most + 1, nil
	}
	return table, rows, err
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
