package catalog

import (
	"context"
	"errors"
	"io"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// Query runs any statement of ClickHouse's SQL; parameters fill in {name:Type}
// on the server, so values need no quoting. Rows that were replaced since never
// show, as if every table were read with FINAL. The caller closes the Table. Errors
// are *Error.
func (c *Catalog) Query(ctx context.Context, sql string, parameters map[string]string) (*Table, error) {
	explain := func(err error) error { return c.explain("query", err) }
	return c.query(ctx, explain, sql, parameters, clickhouse.Settings{"final": 1})
}

func (c *Catalog) query(ctx context.Context, explain func(error) error, sql string, parameters map[string]string, settings clickhouse.Settings) (*Table, error) {
	args := make([]any, 0, len(parameters))
	for name, value := range parameters {
		args = append(args, clickhouse.Named(name, value))
	}
	ctx, cancel := context.WithCancel(ctx)
	rows, err := c.conn.Query(clickhouse.Context(ctx, clickhouse.WithSettings(settings)), sql, args...)
	switch {
	case errors.Is(err, io.EOF): // the native protocol's way to say "done, no result"
		cancel()
		return newTable(nil, nil, explain), nil
	case err != nil:
		cancel()
		return nil, explain(err)
	}
	return newTable(rows, cancel, explain), nil
}
