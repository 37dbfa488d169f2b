package ingest

import (
	"context"
	"fmt"
	"time"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// insertRows writes the rows of one table as one block. It calls allow just before the block is sent, and
// returns its error; all others are *catalog.Error.
func insertRows(ctx context.Context, c *catalog.Catalog, t table, cluster string, facts *fact.Facts, allow func() error) error {
	return c.Insert(ctx, fmt.Sprintf("write %d rows to %s", t.count(facts), t.name), catalog.Block{
		Table: t.name, Columns: t.columns, Allow: allow,
		Fill: func(rows driver.Batch) error { return t.fill(rows, cluster, facts) },
	})
}

// insertReject writes a row that was refused to catalog_rejects. Errors are *catalog.Error.
func insertReject(ctx context.Context, c *catalog.Catalog, cluster string, at time.Time, table, row string, refusal error) error {
	return c.Insert(ctx, "set a row of "+table+" aside", catalog.Block{
		Table: "catalog_rejects", Columns: []string{"cluster", "at", "table_name", "row", "error"},
		Fill: func(rows driver.Batch) error { return rows.Append(cluster, at, table, row, refusal.Error()) },
	})
}

// rowCodes are ClickHouse's exceptions about the content of a row. Sending the row again does not help, unless it was cut
// on its way; sending the others without it does.
var rowCodes = []chproto.Error{
	chproto.ErrCannotParseText,
	chproto.ErrCannotParseInputAssertionFailed,
	chproto.ErrAttemptToReadAfterEOF,
	chproto.ErrCannotParseDate,
	chproto.ErrCannotParseDatetime,
	chproto.ErrArgumentOutOfBound,
	chproto.ErrCannotConvertType,
	chproto.ErrCannotParseNumber,
	chproto.ErrIncorrectData,
	chproto.ErrTooLargeStringSize,
	chproto.ErrValueIsOutOfRangeOfDataType,
	chproto.ErrCannotInsertNullInOrdinaryColumn,
	chproto.ErrFunctionThrowIfValueIsNonZero, // as in a view of somebody's
	chproto.ErrDecimalOverflow,
	chproto.ErrViolatedConstraint,
}

// refusesRows reports whether ClickHouse refuses rows for their content.
func refusesRows(err error) bool { return catalog.HasCode(err, rowCodes...) }
