package catalog

import (
	"context"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
)

// Block is a set of rows that ClickHouse stores as a whole or not at all. A block whose answer was lost can be sent
// again: each table replaces a row by a later one with the same key.
type Block struct {
	Table   string
	Columns []string
	// Fill appends the rows.
	Fill func(driver.Batch) error
	// Allow is called just before the block is sent; if it returns an error, nothing is sent. Nil allows.
	Allow func() error
}

// Insert writes a block and returns once ClickHouse has it on disk. Its error is that of Allow, or an *Error, in
// which op says what was being done.
func (c *Catalog) Insert(ctx context.Context, op string, b Block) error {
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"async_insert": 0, // which would acknowledge rows that are only in the server's memory
		// Where a table deduplicates blocks, ClickHouse notes that it has a block before it has the block itself: a
		// server that is killed between the two would drop the block when it is sent again, and acknowledge it.
		// So no block is like another. insert_deduplicate would not do: newer versions have deduplicate_insert for it.
		"insert_deduplication_token":      uuid.NewString(),
		"max_partitions_per_insert_block": 0, // the ends of pods of any age may come in one block
	}))
	conn, err := c.connection(op)
	if err != nil {
		return err
	}
	rows, err := conn.PrepareBatch(ctx, "INSERT INTO "+b.Table+" ("+strings.Join(b.Columns, ", ")+")")
	if err != nil {
		return c.explain(op, err)
	}
	defer rows.Close()
	if err := b.Fill(rows); err != nil {
		return c.explain(op, err)
	}
	if b.Allow != nil {
		if err := b.Allow(); err != nil {
			return err
		}
	}
	return c.explain(op, rows.Send())
}
