package catalog

import (
	"maps"
	"slices"
	"strings"
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
func (c *Catalog) SendAtMost(rows int) (back func()) {
	most := c.mostSent
	c.mostSent = rows
	return func() { c.mostSent = most }
}

// DayOf is dayOf.
var DayOf = dayOf

// Entries returns the entries of a retention as Add takes them.
func Entries(r Retention) string {
	var entries []string
	for _, table := range slices.Sorted(maps.Keys(r)) {
		entries = append(entries, table+"="+lasting(r[table]))
	}
	return strings.Join(entries, ",")
}

// LeftOut is leftOut.
var LeftOut = leftOut
