package catalog

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// How many gaps and clusters a note beside a report names. The report coverage has all.
const (
	mostGaps     = 3
	mostClusters = 10
)

// Notes returns what the reader of a report needs to know beside its rows, once these have been read: whether there are more, its remark, that no
// tracker has written, and when nobody watched in the time that it looks at or compares that with, in one cluster or, if that is empty, in all.
func (c *Catalog) Notes(ctx context.Context, r *Result, cluster string) (notes []string, err error) {
	if r.cut {
		notes = append(notes, fmt.Sprintf("only the first %d rows are shown; --limit=0 shows all, as -o csv does", r.most))
	}
	if remark := r.Remark(); remark != "" {
		notes = append(notes, remark)
	}
	firsts, err := c.firstWatched(ctx, cluster)
	if err != nil {
		return nil, err
	}
	if len(firsts) == 0 {
		note, err := c.neverWatched(ctx, cluster)
		if err != nil {
			return nil, err
		}
		notes = append(notes, note)
	}
	notes = append(notes, beforeCoverage(firsts, r.window)...)
	expired, err := c.expired(ctx, r, firsts)
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

// first is when the watching of a cluster began; pods is zero if nobody watched its pods.
type first struct {
	cluster   string
	pods, any time.Time
}

// firstWatched asks when the watching of a cluster began or, if that is empty, of each.
func (c *Catalog) firstWatched(ctx context.Context, cluster string) (list []first, err error) {
	const sql = `SELECT cluster, minIf(toNullable(started_at), kind = 'Pod'), min(started_at) FROM coverage
WHERE {cluster:String} = '' OR cluster = {cluster:String} GROUP BY cluster ORDER BY cluster`
	err = c.Each(ctx, "read when the watching began", sql, map[string]string{"cluster": cluster}, func(rows driver.Rows) error {
		var f first
		var pods *time.Time
		err := rows.Scan(&f.cluster, &pods, &f.any)
		if pods != nil {
			f.pods = *pods
		}
		list = append(list, f)
		return err
	})
	return list, err
}

// expired notes the tables of which the report has read what a retention has made incomplete: those that lack rows of what it looks at.
// Before the first watching, there was nothing to expire.
func (c *Catalog) expired(ctx context.Context, r *Result, firsts []first) (notes []string, err error) {
	if r.window.since.Equal(end) || len(r.expiring) == 0 {
		return nil, nil
	}
	definitions, err := c.definitions(ctx, "read the retention of the tables", r.expiring...)
	for _, t := range r.expiring {
		d := definitions[t.table]
		kept := c.now().Add(-d.lasts)
		watchedBefore := func(f first) bool { return f.any.Before(kept) }
		lacks := r.window.since.Before(kept) || r.readsPast && t.table == "mounts"
		if d.ours && lacks && (len(firsts) == 0 || slices.ContainsFunc(firsts, watchedBefore)) {
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

// neverWatched notes that no tracker has written a cluster or, if that is empty, any. It names the first of the clusters that the catalog has.
func (c *Catalog) neverWatched(ctx context.Context, cluster string) (string, error) {
	var has []string
	if cluster != "" {
		all, err := c.firstWatched(ctx, "")
		if err != nil {
			return "", err
		}
		for _, f := range all {
			has = append(has, f.cluster)
		}
	}
	if len(has) == 0 {
		return "no tracker has written into this catalog yet", nil
	}
	more := ""
	if n := len(has) - mostClusters; n > 0 {
		has, more = has[:mostClusters], fmt.Sprintf(" and %d more; the report coverage lists them", n)
	}
	return fmt.Sprintf("no tracker has written cluster %q into this catalog, which has: %s%s", cluster, strings.Join(has, ", "), more), nil
}

// beforeCoverage notes the clusters that nobody watched yet when the window began. A window over all of the history
// begins wherever that does.
func beforeCoverage(firsts []first, w window) (notes []string) {
	for _, f := range firsts {
		if !w.since.Equal(beginning) && w.since.Before(f.pods) {
			notes = append(notes, fmt.Sprintf("nobody watched cluster %s before %s: of earlier times the catalog knows only what objects still said then", f.cluster, humanTime(f.pods)))
		}
	}
	return notes
}
