package catalog

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// mostGaps is how many gaps are noted beside a report. The report coverage has all.
const mostGaps = 3

// Notes returns what the reader of a report needs to know beside its rows, once these have been read: whether there are more, its remark, and
// when nobody watched in the time that it looks at, in one cluster or, if that is empty, in all.
func (c *Catalog) Notes(ctx context.Context, r *Result, cluster string) (notes []string, err error) {
	if r.cut {
		notes = append(notes, fmt.Sprintf("only the first %d rows are shown; --limit=0 shows all, as -o csv does", r.most))
	}
	if remark := r.Remark(); remark != "" {
		notes = append(notes, remark)
	}
	unwatched, err := c.beforeCoverage(ctx, r.window, cluster)
	if err != nil {
		return nil, err
	}
	notes = append(notes, unwatched...)
	expired, err := c.expired(ctx, r, cluster)
	if err != nil {
		return nil, err
	}
	notes = append(notes, expired...)
	gaps, err := c.Gaps(ctx, cluster)
	if err != nil {
		return nil, err
	}
	gaps = slices.DeleteFunc(gaps, func(g Gap) bool { return !r.window.overlaps(g) })
	if earlier := len(gaps) - mostGaps; earlier > 0 {
		notes = append(notes, fmt.Sprintf("there are %d gaps before these; the report coverage has them", earlier))
		gaps = gaps[earlier:]
	}
	for _, g := range gaps {
		notes = append(notes, g.String())
	}
	return notes, nil
}

// overlaps reports whether a gap concerns the window. Each gap concerns the present: what ended in it has bounds.
func (w window) overlaps(g Gap) bool {
	return w.since.Equal(end) || !g.From.After(w.until) && (g.To.IsZero() || g.To.After(w.since))
}

// firstWatched asks when the watching of each cluster began.
const firstWatched = `SELECT cluster, min(started_at) FROM coverage
WHERE kind = 'Pod' AND ({cluster:String} = '' OR cluster = {cluster:String}) GROUP BY cluster ORDER BY cluster`

// expired notes the tables of which the report has read what a retention has made incomplete: those that lack rows of the window.
func (c *Catalog) expired(ctx context.Context, r *Result, cluster string) (notes []string, err error) {
	if r.window.since.Equal(end) || len(r.expiring) == 0 {
		return nil, nil
	}
	const op = "read the retention of the tables"
	var first time.Time // before that, there was nothing to expire
	err = c.Each(ctx, op, "SELECT min(started_at) FROM coverage WHERE {cluster:String} = '' OR cluster = {cluster:String}", map[string]string{"cluster": cluster},
		func(rows driver.Rows) error { return rows.Scan(&first) })
	for _, t := range r.expiring {
		if err != nil {
			return nil, err
		}
		var d definition
		d, err = c.definition(ctx, op, t)
		kept := c.now().Add(-d.lasts)
		if d.ours && r.window.since.Before(kept) && first.Before(kept) {
			notes = append(notes, fmt.Sprintf("of the time before %s the table %s may lack rows: --catalog.retention=%s=%s", humanTime(kept), t.table, t.flag, lasting(d.lasts)))
		}
	}
	return notes, err
}

// expiring returns the tables that a report reads and whose rows can expire.
func expiring(sql string) (list []retained) {
	for _, t := range retainedTables {
		if t.table != "pods" && regexp.MustCompile(`\bFROM `+t.table+`\b`).MatchString(sql) { // pods expire with their mounts
			list = append(list, t)
		}
	}
	return list
}

// beforeCoverage notes the clusters that nobody watched yet when the window began. A window over all of the history
// begins wherever that does.
func (c *Catalog) beforeCoverage(ctx context.Context, w window, cluster string) (notes []string, err error) {
	err = c.Each(ctx, "read when the watching began", firstWatched, map[string]string{"cluster": cluster}, func(rows driver.Rows) error {
		var name string
		var first time.Time
		if err := rows.Scan(&name, &first); err != nil {
			return err
		}
		if w.since.After(beginning) && w.since.Before(first) {
			notes = append(notes, fmt.Sprintf("nobody watched cluster %s before %s: of earlier times the catalog knows only what objects still said then", name, humanTime(first)))
		}
		return nil
	})
	return notes, err
}
