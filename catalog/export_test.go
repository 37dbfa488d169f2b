package catalog

import (
	"context"
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

// BoundsOf answers a report, and returns the values that its bounds had in its own statement.
func (c *Catalog) BoundsOf(ctx context.Context, name string, flags map[string]string) (map[string]string, error) {
	a, err := c.ask(name, flags)
	if err != nil {
		return nil, err
	}
	with, kind, err := a.prepare(ctx)
	if err != nil {
		return nil, err
	}
	result, err := a.answer(with, kind)
	if err != nil {
		return nil, err
	}
	defer result.Close()
	bounds := map[string]string{}
	for bound := range a.report.bounds {
		bounds[bound] = a.values[bound]
	}
	return bounds, nil
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

// WithoutTrue is withoutTrue.
var WithoutTrue = withoutTrue

// Expand is expand.
var Expand = expand
