package catalog

import (
	"context"
	"io"
	"maps"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// readOnly is ClickHouse's mode that refuses what changes anything, and takes settings.
const readOnly = 2

// withFinal returns settings by which replaced rows never show, and more settings. Rows replace each other
// within a partition only, as no table is partitioned by what can change.
func withFinal(more clickhouse.Settings) clickhouse.Settings {
	settings := clickhouse.Settings{"final": 1, "do_not_merge_across_partitions_select_final": 1}
	maps.Copy(settings, more)
	return settings
}

// interpreted keeps ClickHouse from compiling expressions to machine code, which it does when it has seen them three times: 0.3 to 0.6 s
// for a report with many, which then saves nothing of a small answer and a twentieth of a large one.
var interpreted = clickhouse.Settings{"compile_expressions": 0, "compile_aggregate_expressions": 0, "compile_sort_description": 0}

// Query asks in ClickHouse's SQL, and changes nothing; parameters fill in {name:Type}
// on the server, so values need no quoting. Rows that were replaced since never
// show, as if every table were read with FINAL. The caller closes the Result. Errors
// are *Error.
func (c *Catalog) Query(ctx context.Context, sql string, parameters map[string]string) (*Result, error) {
	explain := func(err error) error {
		if HasCode(err, chproto.ErrReadonly) {
			return &Error{Reason: Refused, Op: "query", Address: c.Address(), Err: err, Hint: "was asked to read only, and the statement changes something; add --write to run it"}
		}
		return c.explain("query", err)
	}
	// SELECT * is for people, who want to see the columns that are computed, too.
	return c.query(ctx, explain, sql, parameters, withFinal(clickhouse.Settings{"readonly": readOnly, "asterisk_include_alias_columns": 1}))
}

// Run runs any statement, as Query does, also one that changes something.
func (c *Catalog) Run(ctx context.Context, sql string, parameters map[string]string) (*Result, error) {
	explain := func(err error) error { return c.explain("query", err) }
	return c.query(ctx, explain, sql, parameters, withFinal(nil))
}

func (c *Catalog) query(ctx context.Context, explain func(error) error, sql string, parameters map[string]string, settings clickhouse.Settings) (*Result, error) {
	conn, err := c.connection("query")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	rows, err := conn.Query(clickhouse.Context(ctx, clickhouse.WithSettings(settings)), sql, named(parameters)...)
	switch {
	case err == io.EOF: //nolint:errorlint // the native protocol's way to say "done, no result"; of a connection that ended, the error wraps it
		cancel()
		return newResult(nil, nil, explain), nil
	case err != nil:
		cancel()
		return nil, explain(err)
	}
	return newResult(rows, cancel, explain), nil
}

// Each asks one of the program's own questions and calls read with each row of the answer, which read scans into
// its variables. It sees the same rows as Query, and stops at the first error. Errors are *Error, in which op says
// what was being done.
func (c *Catalog) Each(ctx context.Context, op, sql string, parameters map[string]string, read func(driver.Rows) error) error {
	conn, err := c.connection(op)
	if err != nil {
		return err
	}
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(withFinal(interpreted)))
	rows, err := conn.Query(ctx, sql, named(parameters)...)
	if err != nil {
		return c.explain(op, err)
	}
	for rows.Next() && err == nil {
		err = read(rows)
	}
	if err == nil {
		err = rows.Err()
	}
	_ = rows.Close() // the answer has been read, or is given up
	return c.explain(op, err)
}

// named returns parameters as clickhouse-go takes them.
func named(parameters map[string]string) []any {
	args := make([]any, 0, len(parameters))
	for name, value := range parameters {
		args = append(args, clickhouse.Named(name, value))
	}
	return args
}
