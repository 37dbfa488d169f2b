package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Unit is what a column's numbers count, so that tables for people can show them
// as people write them.
type Unit int

// The units. They follow from the column's name, as metrics' do: …_bytes, …_seconds and
// …_byte_hours.
const (
	NoUnit Unit = iota
	Bytes
	Seconds
	ByteHours
)

// ResultColumn is a column of a Result.
type ResultColumn struct {
	Name string
	// Title heads the column in a table for people.
	Title string
	Unit  Unit
	// Hidden leaves the column out of tables for people; JSON and CSV have it.
	Hidden bool
	// Sum adds the column up in a last line of tables for people.
	Sum bool

	whole bool // the sum is that of all rows, or there is none: it is compared with another one
	// A table for people leaves an optional column out where every row has the
	// usual text, or none.
	optional bool
	usual    string
	drawn    bool // only tables for people have it
	date     bool // a day without time
	decimal  bool
}

// Result is the answer to a question. Its rows stream from ClickHouse: call Next
// and Row until Next is false, then Err; or call Write. Close it in any case.
type Result struct {
	Columns []ResultColumn // those that are selected: all of the answer, unless Select was called

	all     []ResultColumn     // those of the answer
	full    []any              // the row, with all of them
	picked  []int              // which of them are selected; nil for all
	rows    driver.Rows        // nil if the statement has no result
	cancel  context.CancelFunc // ends the statement
	dest    []any              // pointers that rows are scanned into
	row     []any
	err     error
	explain func(error) error
	remark  remark
	needed  bool // a row needs the remark
	read    int  // how many rows Next has read
	most    int  // how many it reads; 0 for all
	cut     bool // there are more than that
	window  window
	known   notesFrom

	expiring  []retained // the tables it reads whose rows can expire
	readsPast bool       // it reads all mounts before the window, too
}

func newResult(rows driver.Rows, cancel context.CancelFunc, explain func(error) error) *Result {
	r := &Result{rows: rows, cancel: cancel, explain: explain}
	if rows == nil {
		return r
	}
	for _, c := range rows.ColumnTypes() {
		r.Columns = append(r.Columns, newResultColumn(c.Name(), c.DatabaseTypeName()))
		r.dest = append(r.dest, reflect.New(c.ScanType()).Interface())
	}
	r.all, r.full = r.Columns, make([]any, len(r.Columns))
	r.row = r.full
	return r
}

func newResultColumn(name, databaseType string) ResultColumn {
	c := ResultColumn{Name: name, Title: name}
	switch {
	case strings.HasSuffix(name, "_bytes"):
		c.Unit = Bytes
	case strings.HasSuffix(name, "_byte_hours"):
		c.Unit = ByteHours
	case strings.HasSuffix(name, "_seconds"):
		c.Unit = Seconds
	}
	databaseType = strings.TrimPrefix(strings.TrimPrefix(databaseType, "LowCardinality("), "Nullable(")
	c.decimal = strings.HasPrefix(databaseType, "Decimal")
	c.date = strings.HasPrefix(databaseType, "Date") && !strings.HasPrefix(databaseType, "DateTime")
	return c
}

// Select leaves only the columns with these names, in their order, and shows them in each format. The error names the
// columns that there are. It is for a Result of which no row has been read.
func (r *Result) Select(names []string) error {
	there := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		there[i] = c.Name
	}
	selected := make([]ResultColumn, len(names))
	r.picked = make([]int, len(names))
	for i, name := range names {
		of := slices.Index(there, strings.TrimSpace(name))
		if of < 0 {
			return fmt.Errorf("there is no column %q; there are %s", strings.TrimSpace(name), strings.Join(there, ", "))
		}
		r.picked[i], selected[i] = of, r.Columns[of]
		selected[i].Hidden, selected[i].optional = false, false
	}
	r.Columns, r.row = selected, make([]any, len(names))
	return nil
}

// Next reads the next row; false at the end, or when reading failed (see Err).
func (r *Result) Next() bool {
	if r.rows == nil || r.err != nil {
		return false
	}
	if !r.rows.Next() {
		r.err = r.explain(r.rows.Err())
		return false
	}
	if r.most > 0 && r.read == r.most {
		r.cut = true
		return false
	}
	if err := r.rows.Scan(r.dest...); err != nil {
		r.err = fmt.Errorf("read a row of the result: %w", err)
		return false
	}
	for i, pointer := range r.dest {
		r.full[i] = r.plain(i, reflect.ValueOf(pointer).Elem())
	}
	for i, of := range r.picked {
		r.row[i] = r.full[of]
	}
	r.needed = r.needed || r.differs()
	r.read++
	return true
}

// differs reports whether the row is one that the remark explains.
func (r *Result) differs() bool {
	if r.remark.text == "" {
		return false
	}
	var larger, smaller int64
	for i, c := range r.all {
		switch n, _ := r.full[i].(int64); c.Name {
		case r.remark.larger:
			larger = n
		case r.remark.smaller:
			smaller = n
		}
	}
	return larger-smaller > r.remark.by
}

// Remark returns a line that the reader of the rows so far needs; empty if there is none.
func (r *Result) Remark() string {
	if !r.needed {
		return ""
	}
	return r.remark.text
}

// Empty reports whether Next has read no row.
func (r *Result) Empty() bool { return r.read == 0 }

// Row returns the row that Next read: nil for NULL, time.Time in UTC, a string
// for a day, else what clickhouse-go makes of the type. It is valid until Next.
func (r *Result) Row() []any { return r.row }

// Err returns why Next ended before the end, as *Error where it was ClickHouse.
func (r *Result) Err() error { return r.err }

// Close gives the connection back, and cancels the question if its answer has not been read to the end. Err keeps
// its error.
func (r *Result) Close() {
	if r.rows == nil {
		return
	}
	r.cancel()
	// Close reads on to the end of the answer, which is near once the context is cancelled.
	// Its error is the cancellation, or the one that Next met.
	_ = r.rows.Close()
}

func (r *Result) plain(i int, v reflect.Value) any {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case time.Time:
		if r.all[i].date {
			return x.Format(time.DateOnly)
		}
		return x.UTC()
	case fmt.Stringer:
		if r.all[i].decimal {
			return json.Number(x.String())
		}
	}
	if _, ok := v.Addr().Interface().(json.Marshaler); ok && !v.Type().Implements(reflect.TypeFor[json.Marshaler]()) {
		return v.Addr().Interface() // JSON and the integers of more than 64 bits
	}
	return v.Interface()
}
