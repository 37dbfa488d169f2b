package catalog

import (
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// SetReadTimeout sets how long the catalog waits for an answer to a request that has no deadline.
func (c *Catalog) SetReadTimeout(d time.Duration) (err error) {
	c.options.ReadTimeout = d
	o := c.serverOptions()
	c.conn, err = clickhouse.Open(&o)
	return err
}

// SendAtMost sets how many rows can be sent along with a statement, and returns a function that sets it back.
func SendAtMost(rows int) (back func()) {
	most := mostSent
	mostSent = rows
	return func() { mostSent = most }
}

// DayOf is dayOf.
var DayOf = dayOf

// LeftOut is leftOut.
var LeftOut = leftOut
