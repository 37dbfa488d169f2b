package catalog

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// summedAgain is how many days RollUp sums up once more when a day is over: a node that was cut off can tell the end of a container
// that late.
const summedAgain = 3

// rollups are the files that sum up a day, each for a table. The last one is byte_seconds_daily: a day that it has is done.
var rollups = []string{"roll_use_seconds.sql", "roll_byte_seconds.sql"}

// rollable asks up to which day a cluster is done, when its coverage began, and of which day all is known: the rows of coverage are
// written after those of what was watched.
const rollable = `
SELECT
    (SELECT toNullable(max(day)) FROM byte_seconds_daily WHERE cluster = {cluster:String} HAVING count() > 0) AS last,
    toDate(min(began)) AS first,
    toDate(min(seen)) - 1 AS known
FROM
(
    SELECT kind, min(started_at) AS began, max(coalesce(ended_at, seen_at)) AS seen
    FROM coverage
    WHERE cluster = {cluster:String} AND kind IN ('Pod', 'PersistentVolumeClaim', 'PersistentVolume')
    GROUP BY kind
)
HAVING count() > 0`

// monthlyRollups are the files that sum up a month from its days. The last one says that the month is complete.
var monthlyRollups = []string{"roll_months.sql", "roll_month_done.sql"}

// rollableMonths asks which months are done by day, and have not been summed up since the last of their days was.
const rollableMonths = `
SELECT d.month
FROM (SELECT toStartOfMonth(day) AS month, max(version) AS version FROM byte_seconds_daily WHERE cluster = {cluster:String} GROUP BY month) AS d
LEFT JOIN (SELECT month, max(version) AS version FROM use_seconds_monthly
    WHERE cluster = {cluster:String} AND namespace = '' AND claim_name = '' AND claim_uid = '' GROUP BY month) AS m ON m.month = d.month
WHERE d.version > m.version AND toLastDayOfMonth(d.month) <= {known:Date}
ORDER BY d.month
SETTINGS join_use_nulls = 0`

// RollUp sums up the days of a cluster that are over and of which all is known, in UTC, oldest first: into the tables
// use_seconds_daily and byte_seconds_daily, which the reports use-hours and space read and which outlive the details. Then it sums up
// the months of these days that are over, into use_seconds_monthly, and the mounts of the pods of each quarter, of the running one each week, into mounts_quarterly, which the
// reports history, pods-per-volume and idle read. It returns how many days it has summed up. It may run at any
// time and is cheap where nothing is to be done; of several trackers one should run it. Errors are *Error; what came before stays.
func (c *Catalog) RollUp(ctx context.Context, cluster string) (days int, err error) {
	const op = "sum up a day"
	var last *time.Time
	var first, known time.Time
	err = c.Each(ctx, op, rollable, map[string]string{"cluster": cluster}, func(rows driver.Rows) error { return rows.Scan(&last, &first, &known) })
	if err != nil || known.IsZero() {
		return 0, err
	}
	first, known = dayOf(first), dayOf(known)
	if last != nil {
		last := dayOf(*last)
		first = last.AddDate(0, 0, 1)
		if again := last.AddDate(0, 0, 1-summedAgain); again.After(c.now().Add(-shortestRetention)) && known.After(last) {
			first = again // the details of longer ago may have expired
		}
	}
	for day := first; !day.After(known); day = day.AddDate(0, 0, 1) {
		if err := c.rollUpDay(ctx, op, cluster, day); err != nil {
			return days, err
		}
		days++
	}
	if err := c.rollUpMonths(ctx, cluster, known); err != nil {
		return days, err
	}
	return days, c.rollUpQuarters(ctx, cluster, known)
}

// rollUpMonths sums up the months that are over by the day known, oldest first.
func (c *Catalog) rollUpMonths(ctx context.Context, cluster string, known time.Time) error {
	const op = "sum up a month"
	var months []string
	err := c.Each(ctx, op, rollableMonths, map[string]string{"cluster": cluster, "known": known.Format(time.DateOnly)}, func(rows driver.Rows) error {
		var month time.Time
		if err := rows.Scan(&month); err != nil {
			return err
		}
		months = append(months, month.Format(time.DateOnly))
		return nil
	})
	for _, month := range months {
		if err = c.rollUp(ctx, op, monthlyRollups, map[string]string{"cluster": cluster, "month": month}); err != nil {
			return err
		}
	}
	return err
}

// summedQuarters asks what of a cluster is summed up: from which quarter on, before which day, and of which versions of mounts.
const summedQuarters = "SELECT first_quarter, until, version FROM summed_quarters FINAL WHERE cluster = {cluster:String}"

// formerSums selects the sums of fewer weeks of a quarter than there are by now, and those of more that were not completed.
const formerSums = `
SELECT _partition_id FROM mounts_quarterly
WHERE cluster = {cluster:String} AND until != addQuarters(quarter, 1) AND until != {until:Date}
GROUP BY _partition_id
SETTINGS final = 0`

// rollUpQuarters sums up the mounts of the pods of each quarter by the day known, of the running one those of the weeks that are over, and sums up again those of the claims of which a
// mount has changed since. A quarter of which a mount may have expired is left out. The sums of one more week lie beside the former ones, which reports read until summed_quarters names the others, and
// which the next RollUp drops.
func (c *Catalog) rollUpQuarters(ctx context.Context, cluster string, known time.Time) error {
	const op = "sum up a quarter"
	first, until := time.Unix(0, 0).UTC(), time.Unix(0, 0).UTC()
	var before uint64
	err := c.Each(ctx, op, summedQuarters, map[string]string{"cluster": cluster}, func(rows driver.Rows) error { return rows.Scan(&first, &until, &before) })
	first, until = dayOf(first), dayOf(until)
	// The catalog has all mounts that were written before the day known began: the tracker has written the coverage of that whole day after them. The
	// sums get the same version, because it only grows, also where the clock of one tracker is behind that of the one before it.
	version := uint64(max(0, known.UnixMicro()))
	if err != nil || version <= before {
		return err
	}
	if err := c.dropFormerSums(ctx, op, cluster, until); err != nil {
		return err
	}
	from, err := c.unexpired(ctx, op)
	if err != nil {
		return err
	}
	monday := known.Truncate(7 * 24 * time.Hour) // the first day of Go's time is a Monday
	partitions, err := c.partitions(ctx, op, "SELECT _partition_id FROM mounts GROUP BY _partition_id ORDER BY _partition_id SETTINGS final = 0", nil)
	if err != nil {
		return err
	}
	for _, id := range partitions {
		quarter, err := time.Parse("200601", id)
		if err != nil || quarter.Before(from) || !quarter.Before(monday) {
			continue
		}
		end := quarter.AddDate(0, 3, 0)
		if end.After(monday) {
			end = monday
		}
		values := map[string]string{"cluster": cluster, "quarter": quarter.Format(time.DateOnly), "end": end.Format(time.DateOnly), "after": "0", "version": strconv.FormatUint(version, 10)}
		if !quarter.Before(first) && !end.After(until) {
			values["after"] = strconv.FormatUint(before, 10)
		}
		if err := c.rollUpQuarter(ctx, op, values); err != nil {
			return err
		}
	}
	return c.rollUp(ctx, op, []string{"roll_quarters_done.sql"}, map[string]string{"cluster": cluster, "version": strconv.FormatUint(version, 10),
		"first": from.Format(time.DateOnly), "end": monday.Format(time.DateOnly)})
}

// dropFormerSums drops what reports read no longer. A user without the right to do so, which only a retention needs, keeps it.
func (c *Catalog) dropFormerSums(ctx context.Context, op, cluster string, until time.Time) error {
	partitions, err := c.partitions(ctx, op, formerSums, map[string]string{"cluster": cluster, "until": until.Format(time.DateOnly)})
	for _, id := range partitions {
		if err == nil {
			err = c.alter(ctx, op, "mounts_quarterly", "DROP PARTITION ID '"+id+"'")
		}
	}
	if HasCode(err, codeAccessDenied) {
		return nil
	}
	return err
}

// summedAtOnce is about how many mounts are summed up in one statement, which takes some 300 MB: more if few mounts of a claim have changed, or if the
// pods of a namespace name many backing stores themselves, as the mounts of one claim, and those without a claim, are summed up together.
const summedAtOnce = 500_000

// rollUpQuarter sums up the changed mounts of one quarter, some namespaces at a time, and of a large one some claims at a time.
func (c *Catalog) rollUpQuarter(ctx context.Context, op string, values map[string]string) error {
	type run struct {
		first, last string // namespaces
		mounts      uint64
	}
	var runs []run
	changed, err := expand("roll_quarter_changed.sql", "", values)
	if err != nil {
		return err
	}
	err = c.Each(ctx, op, changed, values, func(rows driver.Rows) error {
		var namespace string
		var mounts uint64
		err := rows.Scan(&namespace, &mounts)
		if n := len(runs); n > 0 && runs[n-1].mounts+mounts <= summedAtOnce {
			runs[n-1].last, runs[n-1].mounts = namespace, runs[n-1].mounts+mounts
		} else {
			runs = append(runs, run{namespace, namespace, mounts})
		}
		return err
	})
	for _, r := range runs {
		parts := r.mounts/summedAtOnce + 1
		for part := range parts {
			if err != nil {
				return err
			}
			of := maps.Clone(values)
			of["first_namespace"], of["last_namespace"] = r.first, r.last
			of["parts"], of["part"] = strconv.FormatUint(parts, 10), strconv.FormatUint(part, 10)
			err = c.rollUp(ctx, op, []string{"roll_quarter.sql"}, of)
		}
	}
	return err
}

// unexpired returns the first quarter of whose pods no mount can have expired: none so far if somebody else has set the TTL of mounts.
func (c *Catalog) unexpired(ctx context.Context, op string) (time.Time, error) {
	mounts := slices.IndexFunc(retainedTables, func(t retained) bool { return t.table == "mounts" })
	now, err := c.definition(ctx, op, retainedTables[mounts])
	switch {
	case now.ttl == "":
		return time.Unix(0, 0).UTC(), err
	case !now.ours:
		return quarterOf(c.now()).AddDate(0, 3, 0), err
	}
	return quarterOf(c.now().Add(-now.lasts)).AddDate(0, 3, 0), err
}

// dayOf returns the beginning of a day in UTC. The Go client reads a Date as the beginning of that day in the time zone of the server.
func dayOf(date time.Time) time.Time {
	return time.Date(date.Year(), date.Month(), date.Day(), 0, 0, 0, 0, time.UTC)
}

// quarterOf returns the beginning of the quarter of a moment, in UTC.
func quarterOf(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), (t.Month()-1)/3*3+1, 1, 0, 0, 0, 0, time.UTC)
}

func (c *Catalog) rollUpDay(ctx context.Context, op, cluster string, day time.Time) error {
	return c.rollUp(ctx, op, rollups, map[string]string{"cluster": cluster, "day": day.Format(time.DateOnly)})
}

// rollUp executes statements that write sums, in turn.
func (c *Catalog) rollUp(ctx context.Context, op string, files []string, values map[string]string) error {
	conn, err := c.connection(op)
	if err != nil {
		return err
	}
	if values["version"] == "" {
		values["version"] = strconv.FormatInt(c.now().UnixMicro(), 10)
	}
	for _, name := range filters {
		if name != "cluster" {
			values[name] = ""
		}
	}
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"join_use_nulls": 0, "do_not_merge_across_partitions_select_final": 1}))
	for _, file := range files {
		sql, err := expand(file, "window", values)
		if err != nil {
			return err
		}
		if err := conn.Exec(ctx, sql, named(values)...); err != nil {
			return c.explain(op+", "+cmp.Or(values["day"], values["month"], values["quarter"], values["end"]), err)
		}
	}
	return nil
}
