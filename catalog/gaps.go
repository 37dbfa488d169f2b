package catalog

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Gap is a time in which nobody watched a cluster's pods, claims or volumes: what ended
// in it has bounds, and what came and went in it may be missing.
type Gap struct {
	Cluster  string
	From, To time.Time // To is zero where nobody has watched since
}

// String says what the gap means, for a person.
func (g Gap) String() string {
	if g.To.IsZero() {
		return fmt.Sprintf("nobody has watched cluster %s since %s", g.Cluster, humanTime(g.From))
	}
	return fmt.Sprintf("nobody watched cluster %s from %s to %s: what ended then has bounds, and what came and went then may be missing",
		g.Cluster, humanTime(g.From), humanTime(g.To))
}

func humanTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// coverageSlack is how old the newest row about a watch that is up may be: the API server sends a bookmark a
// minute, the tracker records a row a minute, and both wait for their batch.
const coverageSlack = 5 * time.Minute

// gaps are the times between spans of watching, by kind; the last one of each kind has
// no end.
const gaps = `
SELECT cluster, ended, began FROM (
    SELECT cluster, kind,
        max(coalesce(ended_at, seen_at)) OVER (PARTITION BY cluster, kind ORDER BY started_at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS ended,
        leadInFrame(toNullable(started_at)) OVER (PARTITION BY cluster, kind ORDER BY started_at ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS began
    FROM coverage
    WHERE kind IN ('Pod', 'PersistentVolumeClaim', 'PersistentVolume') AND ({cluster:String} = '' OR cluster = {cluster:String}))
WHERE began IS NULL OR began > ended
ORDER BY cluster, ended`

// Gaps returns the times in which nobody watched, of one cluster or, if that is empty,
// of all, oldest first. Errors are *Error.
func (c *Catalog) Gaps(ctx context.Context, cluster string) (list []Gap, err error) {
	err = c.Each(ctx, "read the gaps of watching", gaps, map[string]string{"cluster": cluster}, func(rows driver.Rows) error {
		var g Gap
		var began *time.Time
		if err := rows.Scan(&g.Cluster, &g.From, &began); err != nil {
			return err
		}
		if began != nil {
			g.To = *began
		} else if c.now().Sub(g.From) < coverageSlack {
			return nil // it is watched
		}
		list = joinedGaps(list, g)
		return nil
	})
	return list, err
}

// joinedGaps adds a gap to those before it. Gaps of several kinds that overlap become one.
func joinedGaps(list []Gap, g Gap) []Gap {
	if n := len(list); n > 0 {
		if last := &list[n-1]; last.Cluster == g.Cluster && (last.To.IsZero() || !g.From.After(last.To)) {
			if g.To.IsZero() || (!last.To.IsZero() && g.To.After(last.To)) {
				last.To = g.To
			}
			return list
		}
	}
	return append(list, g)
}

// Span is a time in which pods were watched without a gap.
type Span struct{ From, To time.Time }

// watchedSpans asks for the spans that the report on idle volumes counts as observed.
var watchedSpans = `SELECT started_micros, ended_micros FROM (` + included("watched.sql") + `) WHERE cluster = {cluster:String} ORDER BY started_micros`

// Watched returns the spans in which any tracker of a cluster watched pods, oldest first and apart from each
// other: a gap of one tracker in which another one watched is no gap. Errors are *Error.
func (c *Catalog) Watched(ctx context.Context, cluster string) (spans []Span, err error) {
	err = c.Each(ctx, "read the spans of watching", watchedSpans, map[string]string{"cluster": cluster}, func(rows driver.Rows) error {
		var from, to int64
		err := rows.Scan(&from, &to)
		spans = append(spans, Span{time.UnixMicro(from).UTC(), time.UnixMicro(to).UTC()})
		return err
	})
	return spans, err
}
