package loadgen

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
)

// table is a table of the catalog that Verify compares.
type table struct {
	name string
	key  []string // its columns identify a row
	same int      // so many columns of the key identify what a row is about: a second row of it is a duplicate
	sql  string
}

// The questions read the rows of all runs; concerns chooses those of one.
const (
	podsOfRuns = `(SELECT uid FROM pods WHERE namespace = {namespace:String} OR startsWith(name, {prefix:String})
		UNION ALL SELECT pod_uid FROM mounts WHERE namespace = {namespace:String} OR startsWith(claim_name, {prefix:String}) OR startsWith(claim_name, {template:String}))`
	claimsOfRuns = `(SELECT uid FROM claims WHERE namespace = {namespace:String} OR startsWith(name, {prefix:String}) OR startsWith(name, {template:String})
		UNION ALL SELECT claim_uid FROM mounts WHERE namespace = {namespace:String} AND claim_uid != '')`
	volumesOfRuns = `(SELECT uid FROM volumes WHERE startsWith(name, {prefix:String})
		UNION ALL SELECT volume_uid FROM mounts WHERE namespace = {namespace:String} AND volume_uid != '')`
)

var tables = []table{
	{"pods", []string{"uid"}, 1, `SELECT cluster, uid, namespace, name, phase, node, owner, created_at, started_at, finished_at, deleted_at, deleted_not_before
		FROM pods WHERE uid IN ` + podsOfRuns},
	{"claims", []string{"uid"}, 1, `SELECT cluster, uid, namespace, name, phase, volume_name, volume_uid, owner, requested_bytes, capacity_bytes, ephemeral, pod_uid,
		created_at, bound_at, deleted_at, deleted_not_before FROM claims WHERE uid IN ` + claimsOfRuns},
	{"volumes", []string{"uid"}, 1, `SELECT cluster, uid, name, phase, source_kind, capacity_bytes, reclaim_policy, claim_uid, created_at, deleted_at, deleted_not_before
		FROM volumes WHERE (deleted_at IS NULL OR deleted_at >= fromUnixTimestamp({began:Int64}) OR uid IN ` + volumesOfRuns + `)`},
	{"containers", []string{"pod_uid", "name"}, 2, `SELECT cluster, pod_uid, name, started_at, finished_at FROM containers WHERE pod_uid IN ` + podsOfRuns},
	{"mounts", []string{"pod_uid", "container", "volume", "mount_path"}, 3, `SELECT cluster, pod_uid, container, volume, mount_path, namespace, source_kind, claim_name, claim_uid,
		volume_uid, started_at, started_not_before, ended_at, ended_not_before FROM mounts
		WHERE (pod_uid IN ` + podsOfRuns + ` OR claim_uid IN ` + claimsOfRuns + ` OR volume_uid IN ` + volumesOfRuns + `)`},
	{"bindings", []string{"claim_uid", "volume_uid", "ordinal"}, 2, `SELECT cluster, claim_uid, volume_uid, ordinal, namespace, claim_name, bound_at, released_at, released_not_before FROM bindings
		WHERE (claim_uid IN ` + claimsOfRuns + ` OR volume_uid IN ` + volumesOfRuns + `)`},
}

// notBefore names the column that bounds another from below.
var notBefore = map[string]string{
	"deleted_at": "deleted_not_before", "ended_at": "ended_not_before", "released_at": "released_not_before", "started_at": "started_not_before",
}

// Verdict is how a catalog compares with an account.
type Verdict struct {
	Missing, Duplicated, Wrong []string      // a line each
	Bounded                    int           // moments with wide bounds, which contain the truth
	Widest                     time.Duration // of those bounds
	counts                     []string      // of rows, by table
	clusters                   map[any]bool  // under which the rows are
	away                       absence
}

// Good reports whether the catalog has all that the account proves, once, and nothing else of the run.
func (v *Verdict) Good() bool { return len(v.Missing)+len(v.Duplicated)+len(v.Wrong) == 0 }

// mostListed bounds how many lines of each sort Write prints.
const mostListed = 20

// Write prints the verdict. Its last line is the sums.
func (v *Verdict) Write(w io.Writer) error {
	var b strings.Builder
	for _, sort := range []struct {
		name  string
		lines []string
	}{{"missing", v.Missing}, {"duplicated", v.Duplicated}, {"wrong", v.Wrong}} {
		for _, line := range sort.lines[:min(mostListed, len(sort.lines))] {
			fmt.Fprintf(&b, "%s: %s\n", sort.name, catalog.Printable(line))
		}
		if more := len(sort.lines) - mostListed; more > 0 {
			fmt.Fprintf(&b, "%s: %d more\n", sort.name, more)
		}
	}
	fmt.Fprintf(&b, "rows that the account proves: %s\n", strings.Join(v.counts, ", "))
	if v.Bounded > 0 {
		fmt.Fprintf(&b, "%d moments have bounds of up to %s, which contain the truth: the tracker was away, or its watch late\n", v.Bounded, v.Widest.Round(time.Second))
	}
	fmt.Fprintf(&b, "%d missing, %d duplicated, %d wrong\n", len(v.Missing), len(v.Duplicated), len(v.Wrong))
	_, err := io.WriteString(w, b.String())
	return err
}

// Verify compares a catalog with an account. If cluster is not empty, rows of other clusters do not count. Before, it
// waits until the catalog has what the account's end has, for as long as catchUp.
func Verify(ctx context.Context, c *catalog.Catalog, path, cluster string, progress io.Writer) (*Verdict, error) {
	lines, err := readAccount(path)
	if err != nil {
		return nil, UsageError{err}
	}
	t, err := newTruth(lines)
	if err != nil {
		return nil, UsageError{err}
	}
	if err := t.awaitCatalog(ctx, c, cluster, progress); err != nil {
		return nil, err
	}
	v := &Verdict{clusters: map[any]bool{}}
	if v.away.gaps, err = t.gaps(ctx, c, cluster); err != nil {
		return nil, err
	}
	for i := range tables {
		found, err := t.read(ctx, c, &tables[i], cluster, lines[0].At)
		if err != nil {
			return nil, err
		}
		v.away.now = time.Now()
		v.compare(t, &tables[i], found)
	}
	v.oneCluster()
	for _, kind := range t.behind {
		v.Missing = append(v.Missing, fmt.Sprintf("the last events of %s, by the table checkpoints", kind))
	}
	return v, nil
}

// oneCluster wants all rows of the run under one name of its cluster.
func (v *Verdict) oneCluster() {
	if len(v.clusters) < 2 {
		return
	}
	var list []string
	for name := range v.clusters {
		list = append(list, fmt.Sprintf("%q", name))
	}
	slices.Sort(list)
	v.Wrong = append(v.Wrong, fmt.Sprintf("the rows of the run are under %d clusters (%s): choose one by --cluster", len(list), strings.Join(list, ", ")))
}

// foundRow is a row of the catalog.
type foundRow map[string]any

func (t *table) keyOf(r foundRow, columns int) string {
	var key []any
	for _, column := range t.key[:columns] {
		key = append(key, r[column])
	}
	return keyOf(key...)
}

// parameters of the questions. Dead volumes that were gone long before the run are left out.
func (t *truth) parameters(cluster string, began time.Time) map[string]string {
	return map[string]string{
		"namespace": Namespace, "prefix": names(t.plan.Run).prefix(), "template": templatePrefix + names(t.plan.Run).prefix(),
		"cluster": cluster, "began": fmt.Sprint(began.Add(-lateness).Unix()),
	}
}

// read returns the rows of a table that concern the run.
func (t *truth) read(ctx context.Context, c *catalog.Catalog, table *table, cluster string, began time.Time) (found []foundRow, err error) {
	sql := table.sql
	if cluster != "" {
		sql += " AND cluster = {cluster:String}"
	}
	result, err := c.Query(ctx, sql, t.parameters(cluster, began))
	if err != nil {
		return nil, err
	}
	defer result.Close()
	for result.Next() {
		r := foundRow{}
		for i, column := range result.Columns {
			r[column.Name] = result.Row()[i]
		}
		if t.concerns(table, r) {
			found = append(found, r)
		}
	}
	return found, result.Err()
}

// concerns reports whether a row is about an object of the account, or about one that has a name of the run. The tables
// of pods, claims and volumes are read before those that refer to them.
func (t *truth) concerns(table *table, r foundRow) bool {
	for _, column := range []string{"uid", "pod_uid", "claim_uid", "volume_uid"} {
		if uid, _ := r[column].(string); t.life[uid] != nil || t.alien[uid] {
			return true
		}
	}
	if table.name == "containers" { // their names are not the run's
		return false
	}
	for _, column := range []string{"name", "claim_name"} {
		if name, _ := r[column].(string); names(t.plan.Run).has(name) {
			if uid, ok := r["uid"].(string); ok {
				t.alien[uid] = true
			}
			return true
		}
	}
	return false
}

// compare compares the rows of a table.
func (v *Verdict) compare(t *truth, table *table, found []foundRow) {
	wanted := t.rows[table.name]
	v.counts = append(v.counts, fmt.Sprintf("%d %s", len(wanted), table.name))
	byKey, about := map[string][]foundRow{}, map[string]bool{}
	for _, r := range found {
		key := table.keyOf(r, len(table.key))
		byKey[key] = append(byKey[key], r)
		v.clusters[r["cluster"]] = true
	}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		about[strings.Join(strings.Split(key, " ")[:table.same], " ")] = true
		rows := byKey[key]
		switch {
		case len(rows) == 0:
			v.Missing = append(v.Missing, fmt.Sprintf("%s %s%s", table.name, key, t.named(key)))
			continue
		case len(rows) > 1:
			v.Duplicated = append(v.Duplicated, fmt.Sprintf("%s %s%s: %d rows", table.name, key, t.named(key), len(rows)))
		}
		v.row(t, table, key, wanted[key], rows[0])
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		if wanted[key] != nil {
			continue
		}
		line := fmt.Sprintf("%s %s%s: the run has made no such thing", table.name, key, t.named(key))
		if about[table.keyOf(byKey[key][0], table.same)] {
			v.Duplicated = append(v.Duplicated, line)
		} else {
			v.Wrong = append(v.Wrong, line)
		}
	}
}

// named returns the names of the objects in a key.
func (t *truth) named(key string) string {
	var list []string
	for part := range strings.FieldsSeq(key) {
		if l := t.life[part]; l != nil {
			list = append(list, l.name)
		}
	}
	return " (" + strings.Join(list, ", ") + ")"
}

// row compares the columns of a row.
func (v *Verdict) row(t *truth, table *table, key string, wanted row, r foundRow) {
	for _, column := range slices.Sorted(maps.Keys(wanted)) {
		w := wanted[column]
		bound, hasBound := r[notBefore[column]]
		got := w.judge(r[column], bound, v.away)
		if !hasBound {
			got = w.judgeAlone(r[column], v.away)
		}
		switch got {
		case wrong:
			v.Wrong = append(v.Wrong, fmt.Sprintf("%s %s%s: %s is %s, want %s", table.name, key, t.named(key), column, printed(r[column], bound), w))
		case bounded:
			v.Bounded++
			v.Widest = max(v.Widest, width(w, r[column], bound))
		case right:
		}
	}
}

// width is how wide the bounds of a value are. Without a bound they begin at the truth.
func width(w want, value, bound any) time.Duration {
	at, _ := value.(time.Time)
	if earliest, ok := bound.(time.Time); ok {
		return at.Sub(earliest)
	}
	return at.Sub(w.from)
}

func printed(value, since any) string {
	show := func(v any) string {
		if at, ok := v.(time.Time); ok {
			return at.Format(time.RFC3339Nano)
		}
		if v == nil {
			return "NULL"
		}
		return fmt.Sprintf("%q", fmt.Sprint(v))
	}
	if since != nil && since != value {
		return show(value) + " (not before " + show(since) + ")"
	}
	return show(value)
}
