package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Unit is what a column's numbers count, so that tables for people can show them
// as people write them.
type Unit int

// The units. They follow from the column's name, as metrics' do: …_bytes and
// …_seconds.
const (
	NoUnit Unit = iota
	Bytes
	Seconds
)

// Column is a column of a result.
type Column struct {
	Name string
	// Title heads the column in a table for people.
	Title string
	Unit  Unit
	// Hidden leaves the column out of tables for people; JSON and CSV have it.
	Hidden bool
	// Sum adds the column up in a last line of tables for people.
	Sum bool

	// A table for people leaves an optional column out where every row has the
	// usual text, or none.
	optional bool
	usual    string
	date     bool // a day without time
	decimal  bool
}

// Table is the result of a question. Its rows stream from ClickHouse: ask Next
// and Row until Next is false, then Err; or hand it to Write. Close it in any case.
type Table struct {
	Columns []Column

	rows    driver.Rows        // nil if the statement has no result
	cancel  context.CancelFunc // ends the statement
	dest    []any              // pointers that rows are scanned into
	row     []any
	err     error
	explain func(error) error
	remark  remark
	said    bool // a row makes the remark needed
}

func newTable(rows driver.Rows, cancel context.CancelFunc, explain func(error) error) *Table {
	t := &Table{rows: rows, cancel: cancel, explain: explain}
	if rows == nil {
		return t
	}
	for _, c := range rows.ColumnTypes() {
		t.Columns = append(t.Columns, newColumn(c.Name(), c.DatabaseTypeName()))
		t.dest = append(t.dest, reflect.New(c.ScanType()).Interface())
	}
	t.row = make([]any, len(t.Columns))
	return t
}

func newColumn(name, databaseType string) Column {
	c := Column{Name: name, Title: name}
	switch {
	case strings.HasSuffix(name, "_bytes"):
		c.Unit = Bytes
	case strings.HasSuffix(name, "_seconds"):
		c.Unit = Seconds
	}
	databaseType = strings.TrimPrefix(strings.TrimPrefix(databaseType, "LowCardinality("), "Nullable(")
	c.decimal = strings.HasPrefix(databaseType, "Decimal")
	c.date = strings.HasPrefix(databaseType, "Date") && !strings.HasPrefix(databaseType, "DateTime")
	return c
}

// Next reads the next row; false at the end, or when reading failed (see Err).
func (t *Table) Next() bool {
	if t.rows == nil || t.err != nil {
		return false
	}
	if !t.rows.Next() {
		t.err = t.explain(t.rows.Err())
		return false
	}
	if err := t.rows.Scan(t.dest...); err != nil {
		t.err = fmt.Errorf("read a row of the result: %w", err)
		return false
	}
	for i, pointer := range t.dest {
		t.row[i] = t.plain(i, reflect.ValueOf(pointer).Elem())
	}
	t.said = t.said || t.differs()
	return true
}

// differs reports whether the row is one that the remark explains.
func (t *Table) differs() bool {
	if t.remark.text == "" {
		return false
	}
	var larger, smaller int64
	for i, c := range t.Columns {
		switch n, _ := t.row[i].(int64); c.Name {
		case t.remark.larger:
			larger = n
		case t.remark.smaller:
			smaller = n
		}
	}
	return larger-smaller > t.remark.by
}

// Remark returns a line that the reader of the rows so far needs; empty if there is none.
func (t *Table) Remark() string {
	if !t.said {
		return ""
	}
	return t.remark.text
}

// Row returns the row that Next read: nil for NULL, time.Time in UTC, a string
// for a day, else what clickhouse-go makes of the type. It is valid until Next.
func (t *Table) Row() []any { return t.row }

// Err returns why Next ended before the end, as *Error where it was ClickHouse.
func (t *Table) Err() error { return t.err }

// Close lets go of the connection, and ends the question if it is not answered
// yet. What went wrong before is in Err.
func (t *Table) Close() {
	if t.rows == nil {
		return
	}
	t.cancel()
	// It reads on to the end of the answer, which the cancelled context makes near;
	// its error is the cancellation, or what Next has met.
	_ = t.rows.Close()
}

func (t *Table) plain(i int, v reflect.Value) any {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case time.Time:
		if t.Columns[i].date {
			return x.Format(time.DateOnly)
		}
		return x.UTC()
	case fmt.Stringer:
		if t.Columns[i].decimal {
			return json.Number(x.String())
		}
	}
	if _, ok := v.Addr().Interface().(json.Marshaler); ok && !v.Type().Implements(reflect.TypeFor[json.Marshaler]()) {
		return v.Addr().Interface() // JSON and the integers of more than 64 bits
	}
	return v.Interface()
}
