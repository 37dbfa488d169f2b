package scale

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
)

// The files select the rows of a table, by columns' names. The tables of an earlier schema get the columns that they have.
// A file is named for its table; what follows a hyphen says which rows of it.
//
//go:embed fill/*.sql
var fills embed.FS

const (
	namespaces = 500
	span       = 730 * 24 * time.Hour
	// podsAtOnce and namespacesAtOnce bound an insert.
	podsAtOnce       = 500_000
	namespacesAtOnce = 5
)

// history is a made-up history.
type history struct {
	mounts, claims int
	began          time.Time
	few            bool // only the namespaces that the questions name have pods and mounts
}

func (h *history) pods() int { return h.mounts / 2 }

// namespaces are 500 for 100 million mounts. A smaller history has fewer of the same size, so that a question on one of them, on an owner or
// on a group takes as long as in the large one.
func (h *history) namespaces() int { return min(namespaces, max(50, h.mounts/200_000)) }

// owners and groups have five and 25 namespaces each.
func (h *history) owners() int { return h.namespaces() / 5 }
func (h *history) groups() int { return h.namespaces() / 25 }

// columns returns the columns of a table that are stored.
func columns(t *testing.T, c *catalog.Catalog, table string) (list []string) {
	t.Helper()
	for _, row := range catalogtest.Rows(t, c, `SELECT name FROM system.columns WHERE database = currentDatabase() AND table = '`+table+`' AND default_kind NOT IN ('ALIAS', 'MATERIALIZED')`) {
		list = append(list, fmt.Sprint(row[0]))
	}
	return list
}

// runAll runs statements, two at a time: each takes one processor for most of its time.
func runAll(t *testing.T, c *catalog.Catalog, statements []string) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(2)
	for _, sql := range statements {
		group.Go(func() error { return run(t.Context(), c, sql) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

func run(ctx context.Context, c *catalog.Catalog, sql string) error {
	result, err := c.Run(ctx, sql, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	defer result.Close()
	for result.Next() { // a statement that writes has no rows
	}
	return result.Err()
}

// fill does the steps of the fill that are not done: it writes the history into the tables, and merges it. The newest partition stays as
// the inserts and ClickHouse's own merges leave it: a tracker still writes to it.
func (h *history) fill(t *testing.T, c *catalog.Catalog, done *progress) {
	t.Helper()
	h.insertAll(t, c, done, h.claims,
		"claims", "volumes", "volume_sources", "bindings", "usage", "attachments", "changes-claims", "changes-resizes", "objects-claims", "objects-volumes",
		"objects-nodes", "objects-waiting", "pods-waiting", "containers-waiting", "storage_classes", "storage_capacity", "coverage")
	h.insertAll(t, c, done, h.pods(), "pods", "containers", "mounts", "changes")
	h.insertAll(t, c, done, h.namespaces(), "volume_uses", "volume_states", "use_seconds_daily", "use_seconds_monthly", "byte_seconds_daily")
	h.insertAll(t, c, done, 1, "use_seconds_monthly-done")
	if len(columns(t, c, "summed_quarters")) > 0 {
		done.step(t, "sum up the quarters", func() {
			if _, err := c.RollUp(t.Context(), "east"); err != nil { // all but the quarters is summed up
				t.Fatal(err)
			}
		})
	}
	for _, name := range []string{"claims", "volumes", "volume_sources", "bindings", "usage", "attachments", "objects", "unused_conditions", "volume_versions", "pods", "containers", "mounts", "changes", "volume_uses", "volume_states", "use_seconds_daily", "use_seconds_monthly", "byte_seconds_daily", "mounts_quarterly"} {
		if len(columns(t, c, name)) > 0 {
			done.step(t, "merge "+name, func() { merge(t, c, name) })
		}
	}
	done.step(t, complete, func() { h.leaveParts(t, c) })
}

// insertAll writes the rows of files, of objects 0 to n, into the tables that the catalog has.
func (h *history) insertAll(t *testing.T, c *catalog.Catalog, done *progress, n int, files ...string) {
	t.Helper()
	for _, file := range files {
		table, _, _ := strings.Cut(file, "-")
		if len(columns(t, c, table)) > 0 {
			done.step(t, "fill "+file, func() { h.insert(t, c, file, n) })
		}
	}
}

// merge merges each partition of a table but the newest.
func merge(t *testing.T, c *catalog.Catalog, table string) {
	t.Helper()
	var merges []string
	for _, row := range catalogtest.Rows(t, c, "SELECT DISTINCT partition_id FROM system.parts WHERE active AND database = currentDatabase() AND table = '"+table+"' AND (partition_id = 'all' OR partition < (SELECT max(partition) FROM system.parts WHERE active AND database = currentDatabase() AND table = '"+table+"')) ORDER BY 1") {
		merges = append(merges, fmt.Sprintf("OPTIMIZE TABLE %s PARTITION ID '%s' FINAL", table, row[0])) // all at once takes longer than an answer may
	}
	runAll(t, c, merges)
}

// leaveParts writes some rows of the tables without partitions again, as a tracker does all the time: FINAL finds such a
// table in several parts.
func (h *history) leaveParts(t *testing.T, c *catalog.Catalog) {
	t.Helper()
	for _, table := range []string{"claims", "volumes", "bindings", "volume_states", "volume_uses"} {
		if len(columns(t, c, table)) == 0 {
			continue
		}
		for batch := range 3 {
			sql := fmt.Sprintf("INSERT INTO %s SELECT * REPLACE (version + 1 AS version) FROM %[1]s FINAL ORDER BY cityHash64(*, %d) LIMIT 300", table, batch)
			if err := run(t.Context(), c, sql); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// insert writes the rows of one file, of objects 0 to n.
func (h *history) insert(t *testing.T, c *catalog.Catalog, name string, n int) {
	t.Helper()
	text, err := fills.ReadFile(path.Join("fill", name+".sql"))
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(name, "-")
	has := columns(t, c, table)
	var both []string
	for _, row := range catalogtest.Rows(t, c, "DESCRIBE ("+h.with(string(text), 0, 0)+")") {
		if column := fmt.Sprint(row[0]); slices.Contains(has, column) {
			both = append(both, column)
		}
	}
	list := strings.Join(both, ", ")
	step := podsAtOnce
	if n == h.namespaces() {
		step = namespacesAtOnce
	}
	settings := ""
	if table == "objects" { // views parse the JSON of a whole block
		settings = ", min_insert_block_size_rows = 100000, max_block_size = 10000"
	}
	where := ""
	if h.few && n == h.pods() {
		where = h.with(" WHERE toUInt64(substring(namespace, 6)) % {groups:UInt64} IN (1, 7 % {groups:UInt64})", 0, 0) // those of group-1, owner-7 and team-007
	}
	var inserts []string
	for from := 0; from < n; from += step {
		inserts = append(inserts, "INSERT INTO "+table+" ("+list+") SELECT "+list+" FROM ("+h.with(string(text), from, min(n, from+step))+")"+where+" SETTINGS max_partitions_per_insert_block = 0"+settings)
	}
	runAll(t, c, inserts)
}

// with fills in the parameters of a file, which are numbers.
func (h *history) with(text string, from, to int) string {
	values := map[string]string{
		"{namespaces:UInt64}": fmt.Sprintf("toUInt64(%d)", h.namespaces()),
		"{owners:UInt64}":     fmt.Sprintf("toUInt64(%d)", h.owners()),
		"{groups:UInt64}":     fmt.Sprintf("toUInt64(%d)", h.groups()),
		"{claims:UInt64}":     fmt.Sprintf("toUInt64(%d)", h.claims),
		"{pods:UInt64}":       fmt.Sprintf("toUInt64(%d)", h.pods()),
		"{began:Int64}":       fmt.Sprintf("toInt64(%d)", h.began.Unix()),
		"{span:UInt64}":       fmt.Sprintf("toUInt64(%d)", int(span.Seconds())),
		"{span:Int64}":        fmt.Sprintf("toInt64(%d)", int(span.Seconds())),
		"{from:UInt64}":       fmt.Sprintf("toUInt64(%d)", from),
		"{to:UInt64}":         fmt.Sprintf("toUInt64(%d)", to),
		"{first:String}":      fmt.Sprintf("'team-%03d'", from),
		"{after:String}":      fmt.Sprintf("'team-%03d'", to),
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		text = strings.ReplaceAll(text, key, values[key])
	}
	return text
}
