package catalog

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// insert writes the rows that facts hold for t as one block. The token makes
// ClickHouse drop the block if it has it already, so an insert whose answer was
// lost may simply be sent again. Just before it is sent, may is asked; its error is
// returned. All others are *Error.
func (c *Catalog) insert(ctx context.Context, t table, cluster, token string, facts *fact.Facts, may func() error) error {
	op := fmt.Sprintf("write %d rows to %s", t.count(facts), t.name)
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		// An acknowledged row must be on disk, not in a buffer of the server's.
		"async_insert":               0,
		"insert_deduplicate":         1,
		"insert_deduplication_token": token,
	}))
	rows, err := c.conn.PrepareBatch(ctx, "INSERT INTO "+t.name+" ("+strings.Join(t.columns, ", ")+")")
	if err != nil {
		return c.explain(op, err)
	}
	defer rows.Close()
	if err := t.fill(rows, cluster, facts); err != nil {
		return c.explain(op, err)
	}
	if err := may(); err != nil {
		return err
	}
	return c.explain(op, rows.Send())
}

// reject writes a row that was refused to catalog_rejects. Errors are *Error.
func (c *Catalog) reject(ctx context.Context, cluster, token string, at time.Time, table, row string, refusal error) error {
	op := "set a row of " + table + " aside"
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"async_insert": 0, "insert_deduplicate": 1, "insert_deduplication_token": token,
	}))
	rows, err := c.conn.PrepareBatch(ctx, "INSERT INTO catalog_rejects (cluster, at, table_name, row, error)")
	if err != nil {
		return c.explain(op, err)
	}
	defer rows.Close()
	if err := rows.Append(cluster, at, table, row, refusal.Error()); err != nil {
		return c.explain(op, err)
	}
	return c.explain(op, rows.Send())
}
