package catalog

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// RetentionChange is a change of the retention of a table: for how long it keeps what is over, and did before. Zero is for ever.
type RetentionChange struct {
	Table       string
	Before, Now time.Duration
}

// String says the change as people read it.
func (r RetentionChange) String() string {
	return fmt.Sprintf("%s: retention %s, before %s", r.Table, lasting(r.Now), lasting(r.Before))
}

// Retain gives the tables the TTLs of a retention, also for the rows that exist, and deletes what a TTL cannot. It returns what it
// has changed. It may run again at any time, and changes nothing the second time. A nil retention changes nothing at all.
//
// A table that the retention does not name loses a TTL that Retain has set. A TTL that somebody else has set stays, and is an
// error if the retention names its table. Errors are *Error.
//
// Rows expire in the background. A first TTL takes minutes for a large table, as ClickHouse merges all parts of each partition and
// writes each part anew.
func (c *Catalog) Retain(ctx context.Context, r Retention) (changes []RetentionChange, err error) {
	if r == nil {
		return nil, nil
	}
	for _, t := range retainedTables {
		before, changed, err := c.retainTable(ctx, t, r[t.flag])
		if err != nil {
			return changes, err
		}
		if changed {
			changes = append(changes, RetentionChange{t.table, before, r[t.flag]})
		}
	}
	if r["mounts"] == 0 {
		return changes, nil
	}
	return changes, errors.Join(c.sweepMounts(ctx, r["mounts"]), c.sweepContainers(ctx, r["mounts"]))
}

// retainTable gives a table the TTL for a retention. It returns the retention that the table had.
func (c *Catalog) retainTable(ctx context.Context, t retained, d time.Duration) (before time.Duration, changed bool, err error) {
	op := "set the retention of " + t.table
	now, err := c.definition(ctx, op, t)
	if err != nil {
		return 0, false, err
	}
	switch {
	case d == 0 && !now.ours: // without a TTL, or with one that is not Retain's
		return 0, false, nil
	case now.ttl != "" && !now.ours:
		return 0, false, &Error{Reason: Refused, Op: op, Address: c.Address(), Hint: fmt.Sprintf(
			"has a TTL on the table that kubevoltracker has not set: %s; remove it by ALTER TABLE %s REMOVE TTL, or leave %s out of --catalog.retention", now.ttl, t.table, t.flag)}
	case d == 0:
		if err := c.alter(ctx, op, t.table, "REMOVE TTL"); err != nil {
			return 0, false, err
		}
		return now.lasts, true, c.setSettings(ctx, op, t, now, func(s tableSetting) string { return s.usual })
	}
	if err := c.setSettings(ctx, op, t, now, func(s tableSetting) string { return s.retaining }); err != nil || now.lasts == d {
		return now.lasts, false, err
	}
	if t.versioned {
		if err := c.mergeParts(ctx, op, t.table); err != nil {
			return 0, false, err
		}
	}
	return now.lasts, true, c.alter(ctx, op, t.table, "MODIFY TTL "+t.ttl(d)+" SETTINGS materialize_ttl_after_modify = 1, mutations_sync = 0")
}

// definition is how ClickHouse has a table.
type definition struct {
	ttl    string
	ours   bool          // Retain has set the TTL
	lasts  time.Duration // the retention that our TTL is for
	engine string        // the engine with its clauses, TTL and settings among them
}

var (
	// tableTTL finds the TTL in the clauses of an engine.
	tableTTL = regexp.MustCompile(`(?s) TTL (.*?)(?: SETTINGS .*)?$`)
	// longNumber matches the numbers by which the TTLs of two retentions differ.
	longNumber = regexp.MustCompile(`\d{5,}`)
)

// definition reads the definition of a table. It is an error if there is none.
func (c *Catalog) definition(ctx context.Context, op string, t retained) (definition, error) {
	all, err := c.definitions(ctx, op, t)
	d, ok := all[t.table]
	if err == nil && !ok {
		err = &Error{Reason: Refused, Op: op, Address: c.Address(), Hint: fmt.Sprintf("has no table %s in database %q; create it with `kubevoltracker schema migrate`", t.table, c.Database())}
	}
	return d, err
}

// definitions reads the definitions of tables, by their names. ClickHouse formats the TTL of a table in its own way, so it formats
// ours, too: for the shortest retention. A TTL that differs from that in its numbers alone is ours for another retention.
func (c *Catalog) definitions(ctx context.Context, op string, tables ...retained) (map[string]definition, error) {
	const sql = `SELECT name, engine_full, formatQuerySingleLine(splitByChar('\n', {ours:String})[indexOf(splitByChar('\n', {tables:String}), name)])
FROM system.tables WHERE database = currentDatabase() AND name IN splitByChar('\n', {tables:String})`
	var names, ours []string
	for _, t := range tables {
		names = append(names, t.table)
		ours = append(ours, "CREATE TABLE t (a Int8) ENGINE = MergeTree ORDER BY a TTL "+t.ttl(shortestRetention))
	}
	parameters := map[string]string{"tables": strings.Join(names, "\n"), "ours": strings.Join(ours, "\n")}
	all := map[string]definition{}
	err := c.Each(ctx, op, sql, parameters, func(rows driver.Rows) error {
		var name, engine, formatted string
		if err := rows.Scan(&name, &engine, &formatted); err != nil {
			return err
		}
		all[name] = tables[slices.Index(names, name)].definedBy(engine, formatted)
		return nil
	})
	return all, err
}

// definedBy reads an engine with its clauses. formatted is a definition with our TTL.
func (t retained) definedBy(engine, formatted string) definition {
	d := definition{engine: engine}
	m, ours := tableTTL.FindStringSubmatch(engine), tableTTL.FindStringSubmatch(formatted)
	if m == nil || ours == nil {
		return d
	}
	d.ttl = m[1]
	if longNumber.ReplaceAllString(d.ttl, "#") == longNumber.ReplaceAllString(ours[1], "#") {
		d.ours, d.lasts = true, t.retentionOf(d.ttl)
	}
	return d
}

// retentionOf returns the retention that a TTL of ours is for. The seconds are its last long number.
func (t retained) retentionOf(ttl string) time.Duration {
	numbers := longNumber.FindAllString(ttl, -1)
	seconds, err := time.ParseDuration(numbers[len(numbers)-1] + "s")
	if err != nil {
		return 0
	}
	if t.table == "pods" {
		seconds -= podsStayLonger
	}
	return seconds
}

// setSettings sets those settings of a table that differ from what they should be.
func (c *Catalog) setSettings(ctx context.Context, op string, t retained, now definition, want func(tableSetting) string) error {
	var set, reset []string
	for _, s := range t.settings {
		value := want(s)
		has := regexp.MustCompile(`\b` + s.name + ` = (\d+)`).FindStringSubmatch(now.engine)
		switch {
		case value == "" && has != nil:
			reset = append(reset, s.name)
		case value != "" && (has == nil || has[1] != value):
			set = append(set, s.name+" = "+value)
		}
	}
	if len(set) > 0 {
		if err := c.alter(ctx, op, t.table, "MODIFY SETTING "+strings.Join(set, ", ")); err != nil {
			return err
		}
	}
	if len(reset) == 0 {
		return nil
	}
	return c.alter(ctx, op, t.table, "RESET SETTING "+strings.Join(reset, ", "))
}

// mergeParts merges all parts of each partition of a table. Where a merge of some of them is under way, it tries again.
func (c *Catalog) mergeParts(ctx context.Context, op, table string) (err error) {
	for range 5 {
		if err = c.mergePartsOnce(ctx, op, table); !HasCode(err, chproto.ErrCannotAssignOptimize) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return err
}

func (c *Catalog) mergePartsOnce(ctx context.Context, op, table string) error {
	// Not from system.parts, which a user may be forbidden to read.
	sql := `SELECT _partition_id FROM ` + table + ` GROUP BY _partition_id HAVING uniqExact(_part) > 1 ORDER BY _partition_id SETTINGS final = 0`
	partitions, err := c.partitions(ctx, op, sql, nil)
	for _, id := range partitions {
		if err == nil {
			err = c.exec(ctx, op, "OPTIMIZE TABLE "+table+" PARTITION ID '"+id+"' FINAL SETTINGS optimize_throw_if_noop = 1")
		}
	}
	return err
}

// partitions returns the ids of the partitions that a statement selects.
func (c *Catalog) partitions(ctx context.Context, op, sql string, parameters map[string]string) (ids []string, err error) {
	err = c.Each(ctx, op, sql, parameters, func(rows driver.Rows) error {
		var id string
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// sweepMounts deletes what would show an expired mount as one that goes on: see retained.versioned. Such a row can be left if
// ClickHouse got the end of a mount only after the retention was over, as when rows wait in the journal for that long. It
// has no end, its last version is older than the retention, and its pod has been deleted for a day. The end of a
// mount is written before the deletion of its pod, and pods stay longer.
func (c *Catalog) sweepMounts(ctx context.Context, d time.Duration) error {
	const op = "delete what is left of expired mounts"
	// FINAL reads each row with whatever it could replace, so the keys of the rows without an end are read first, which are few.
	without := fmt.Sprintf("isNull(ended_at) AND version < toUnixTimestamp64Micro(now64(6)) - %d", d.Microseconds())
	condition := without + ` AND (cluster, namespace, claim_name, pod_created_at) IN (SELECT cluster, namespace, claim_name, pod_created_at FROM mounts WHERE ` + without + `)
    AND (cluster, namespace, pod_created_at, pod_uid) IN (
        SELECT cluster, namespace, created_at, uid FROM pods FINAL
        WHERE deleted_at < now64(6) - INTERVAL 1 DAY AND (cluster, namespace, created_at) IN (SELECT cluster, namespace, pod_created_at FROM mounts WHERE ` + without + `))`
	var n uint64
	err := c.Each(ctx, op, "SELECT count() FROM mounts FINAL WHERE "+condition+" SETTINGS final = 0", nil, func(rows driver.Rows) error { return rows.Scan(&n) })
	if err != nil || n == 0 {
		return err
	}
	return c.alter(ctx, op, "mounts", "DELETE WHERE "+condition+" SETTINGS allow_nondeterministic_mutations = 1")
}

// sweepContainers deletes containers of expired pods: those whose pod has no row, which were last written more than the shortest
// retention ago. A partition is written anew for that, so only once a tenth of its rows can go.
func (c *Catalog) sweepContainers(ctx context.Context, d time.Duration) error {
	const op = "delete the containers of expired pods"
	sql := fmt.Sprintf(`SELECT DISTINCT _partition_id FROM containers WHERE pod_created_at < now64(6) - toIntervalSecond(%d) SETTINGS final = 0`, int64(d/time.Second))
	partitions, err := c.partitions(ctx, op, sql, nil)
	for _, id := range partitions {
		if err == nil {
			err = c.sweepPartition(ctx, op, id)
		}
	}
	return err
}

func (c *Catalog) sweepPartition(ctx context.Context, op, id string) error {
	// Hashes take a third of the memory of the UIDs. Two UIDs with one hash keep a row that could go.
	condition := fmt.Sprintf(`version < toUnixTimestamp64Micro(now64(6)) - %d AND sipHash64(cluster, pod_uid) NOT IN (
    SELECT sipHash64(cluster, uid) FROM pods WHERE _partition_id = '%s')`, shortestRetention.Microseconds(), id)
	var over, all uint64
	err := c.Each(ctx, op, "SELECT countIf("+condition+"), count() FROM containers WHERE _partition_id = '"+id+"' SETTINGS final = 0", nil,
		func(rows driver.Rows) error { return rows.Scan(&over, &all) })
	if err != nil || over*10 < all || over == 0 {
		return err
	}
	return c.alter(ctx, op, "containers", "DELETE IN PARTITION ID '"+id+"' WHERE "+condition+" SETTINGS allow_nondeterministic_mutations = 1")
}

// alter alters a table.
func (c *Catalog) alter(ctx context.Context, op, table, what string) error {
	return c.exec(ctx, op, "ALTER TABLE "+table+" "+what)
}

// exec runs a statement of Retain, or of dropFormerSums. The error of a user who lacks a right names the rights.
func (c *Catalog) exec(ctx context.Context, op, sql string) error {
	conn, err := c.connection(op)
	if err != nil {
		return err
	}
	err = c.explain(op, conn.Exec(ctx, sql))
	var known *Error
	if errors.As(err, &known) && HasCode(err, chproto.ErrAccessDenied) && !strings.Contains(known.Hint, "only read") {
		known.Hint += fmt.Sprintf("; an administrator has to run GRANT %s ON %s.* TO %s, or leave out --catalog.retention", RetentionGrants, c.Database(), c.user())
	}
	return err
}

// RetentionGrants are the rights that Retain needs, besides those of Migrate. RollUp needs ALTER DELETE of them, to drop weekly
// sums that have been replaced.
const RetentionGrants = "ALTER TTL, ALTER SETTINGS, ALTER DELETE, OPTIMIZE"
