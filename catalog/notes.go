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

// notesFrom is what the notes beside a report are made from.
type notesFrom struct {
	err      error  // why it could not be asked for
	cluster  string // of --cluster
	now      time.Time
	firsts   []first               // of the cluster or, if that is empty, of each
	clusters []string              // those that a tracker has written, if it has not written the cluster
	gaps     []Gap                 // of the cluster or, if that is empty, of all
	tables   map[string]definition // those whose rows can expire; nil of a report on the present, which lacks none of these
}

// known asks for what the notes are made from.
func (c *Catalog) known(ctx context.Context, cluster string, w window) notesFrom {
	k := notesFrom{cluster: cluster, now: c.now()}
	if k.firsts, k.err = c.firstWatched(ctx, cluster); k.err == nil && len(k.firsts) == 0 && cluster != "" {
		var all []first
		all, k.err = c.firstWatched(ctx, "")
		for _, f := range all {
			k.clusters = append(k.clusters, f.cluster)
		}
	}
	if k.err == nil && !w.since.Equal(end) {
		k.tables, k.err = c.definitions(ctx, "read the retention of the tables", retainedTables...)
	}
	if k.err == nil {
		k.gaps, k.err = c.Gaps(ctx, cluster)
	}
	return k
}

// Notes returns the notes below a report. It must be called after all rows are read. The notes say
//   - whether there are more rows;
//   - the report's remark;
//   - whether no tracker has written to the catalog;
//   - when nobody watched, in the time of the report and in the time that it compares with, for each of its clusters.
//
// The error says why the catalog could not be asked for that.
func (r *Result) Notes() (notes []string, err error) {
	if r.known.err != nil {
		return nil, r.known.err
	}
	if r.cut {
		notes = append(notes, fmt.Sprintf("only the first %d rows are shown; --limit=0 shows all, as -o csv does", r.most))
	}
	if remark := r.Remark(); remark != "" {
		notes = append(notes, remark)
	}
	if len(r.known.firsts) == 0 {
		notes = append(notes, r.known.neverWatched())
	}
	notes = append(notes, r.known.beforeCoverage(r.window)...)
	notes = append(notes, r.expired()...)
	gaps := slices.DeleteFunc(slices.Clone(r.known.gaps), func(g Gap) bool { return !r.window.overlaps(g) })
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
func (r *Result) expired() (notes []string) {
	for _, t := range r.expiring {
		d := r.known.tables[t.table]
		kept := r.known.now.Add(-d.lasts)
		watchedBefore := func(f first) bool { return f.any.Before(kept) }
		lacks := r.window.since.Before(kept) || r.readsPast && t.table == "mounts"
		if d.ours && lacks && (len(r.known.firsts) == 0 || slices.ContainsFunc(r.known.firsts, watchedBefore)) {
			notes = append(notes, fmt.Sprintf("of the time before %s the table %s may lack rows: --catalog.retention=%s=%s", humanTime(kept), t.table, t.flag, lasting(d.lasts)))
		}
	}
	return notes
}

// expiring returns the tables that a report reads and whose rows can expire. Pods expire with their mounts: for both, it returns mounts.
func expiring(sql string) (list []retained) {
	reads := func(table string) bool { return regexp.MustCompile(`\bFROM ` + table + `\b`).MatchString(sql) }
	for _, t := range retainedTables {
		if t.table != "pods" && reads(t.table) || t.table == "mounts" && reads("pods") {
			list = append(list, t)
		}
	}
	return list
}

// neverWatched notes that no tracker has written the cluster or, if that is empty, any. It names the first of the clusters that the catalog has.
func (k notesFrom) neverWatched() string {
	has, more := k.clusters, ""
	if len(has) == 0 {
		return "no tracker has written into this catalog yet"
	}
	if n := len(has) - mostClusters; n > 0 {
		has, more = has[:mostClusters], fmt.Sprintf(" and %d more; the report coverage lists them", n)
	}
	return fmt.Sprintf("no tracker has written cluster %q into this catalog, which has: %s%s", k.cluster, strings.Join(has, ", "), more)
}

// beforeCoverage notes the clusters that nobody watched yet when the window began. A window over all of the history
// begins wherever that does.
func (k notesFrom) beforeCoverage(w window) (notes []string) {
	for _, f := range k.firsts {
		if !w.since.Equal(beginning) && w.since.Before(f.pods) {
			notes = append(notes, fmt.Sprintf("nobody watched cluster %s before %s: of earlier times the catalog knows only what objects still said then", f.cluster, humanTime(f.pods)))
		}
	}
	return notes
}
