package catalog

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// summedAgain is the number of days that RollUp sums up once more when a day is over: what a kubelet reports late changes them. If
// that is later still, lateDay has more.
const summedAgain = 3

// lateDay asks for the first day, before those of summedAgain, of which a mount says otherwise that was written since: a node that was cut off for
// days has reported the end of a container, or a pod that waited for its volume for days has started. Versions far ahead of the clock do not
// say when a mount was written.
const lateDay = `
SELECT toNullable(min(if(started_at >= toDateTime64({again:Date}, 6, 'UTC'), toDate(pod_created_at), toDate(ended_at))))
FROM mounts
WHERE cluster = {cluster:String} AND version BETWEEN {after:UInt64} AND {ahead:UInt64}
    AND (ended_at < toDateTime64({again:Date}, 6, 'UTC')
        OR started_at >= toDateTime64({again:Date}, 6, 'UTC') AND pod_created_at < toDateTime64({again:Date}, 6, 'UTC'))
HAVING count() > 0
SETTINGS final = 0`

// rollups are the files that sum up a day, each for a table. The last one is that of byte_seconds_daily: a day with rows there is done.
var rollups = []string{"roll_use_seconds.sql", "roll_byte_seconds.sql"}

// rollable asks for the last day of a cluster that is done, the first day of its coverage, and the last day that is
// known completely: the tracker writes a row of coverage after all rows of the time that it covers. If its clock is ahead, that day is not
// over by ClickHouse's clock.
const rollable = `
SELECT
    (SELECT toNullable(max(day)) FROM byte_seconds_daily WHERE cluster = {cluster:String} HAVING count() > 0) AS last,
    toDate(min(began)) AS first,
    least(toDate(min(seen)), toDate(now('UTC'))) - 1 AS known
FROM
(
    SELECT kind, min(started_at) AS began, max(coalesce(ended_at, seen_at)) AS seen
    FROM coverage
    WHERE cluster = {cluster:String} AND kind IN ('Pod', 'PersistentVolumeClaim', 'PersistentVolume')
    GROUP BY kind
)
HAVING count() > 0`

// monthlyRollups are the files that sum up a month from its days. The last one marks the month as done.
var monthlyRollups = []string{"roll_months.sql", "roll_month_done.sql"}

// rollableMonths asks for the months whose days are done, and of which a day was summed up after the month.
const rollableMonths = `
SELECT d.month
FROM (SELECT toStartOfMonth(day) AS month, max(version) AS version FROM byte_seconds_daily WHERE cluster = {cluster:String} GROUP BY month) AS d
LEFT JOIN (SELECT month, max(version) AS version FROM use_seconds_monthly
    WHERE cluster = {cluster:String} AND namespace = '' AND claim_name = '' AND claim_uid = '' GROUP BY month) AS m ON m.month = d.month
WHERE d.version > m.version AND toLastDayOfMonth(d.month) <= {known:Date}
ORDER BY d.month
SETTINGS join_use_nulls = 0`

// RollUp sums up a cluster's history, in UTC and oldest first, and returns the number of days that it summed up. Days
// that are over and completely known go into use_seconds_daily and byte_seconds_daily, which the reports use-hours and
// space read, and which are kept longer than the details. Months go into use_seconds_monthly. The mounts of the pods
// that were created in a quarter go into mounts_quarterly, those of the running quarter once a week; the reports
// history, pods-per-volume and idle read it. RollUp may be called at any time, and is cheap if there is nothing to do.
// Of several trackers, one should call it. Errors are *Error; the sums that were written before an error stay.
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
		if last := dayOf(*last); !known.After(last) {
			first = last.AddDate(0, 0, 1)
		} else if first, err = c.firstAgain(ctx, op, cluster, first, last); err != nil {
			return 0, err
		}
	}
	for day := first; !day.After(known); day = day.AddDate(0, 0, 1) {
		if err := c.rollUp(ctx, op, rollups, map[string]string{"cluster": cluster, "day": day.Format(time.DateOnly)}); err != nil {
			return days, err
		}
		days++
	}
	if err := c.rollUpMonths(ctx, cluster, known); err != nil {
		return days, err
	}
	return days, c.rollUpQuarters(ctx, cluster, known)
}

// firstAgain returns the first day to sum up if the days up to last are summed up: the first one that may have changed, but none before the first
// watched day or of which the details may have expired, and at the latest the day after last.
func (c *Catalog) firstAgain(ctx context.Context, op, cluster string, watched, last time.Time) (time.Time, error) {
	first, err := c.firstChanged(ctx, op, cluster, last)
	if oldest := dayOf(c.now().Add(-shortestRetention)).AddDate(0, 0, 1); first.Before(oldest) {
		first = oldest
	}
	if first.Before(watched) {
		first = watched
	}
	if next := last.AddDate(0, 0, 1); first.After(next) {
		first = next
	}
	return first, err
}

// firstChanged returns the first day that may have changed since the days up to last were summed up.
func (c *Catalog) firstChanged(ctx context.Context, op, cluster string, last time.Time) (time.Time, error) {
	first := last.AddDate(0, 0, 1-summedAgain)
	tables, err := c.definitions(ctx, op, retainedTables...)
	for _, name := range []string{"mounts", "changes", "usage"} {
		if now := tables[name]; err != nil || now.ttl != "" && !now.ours {
			return first, err // somebody else has details expire, maybe after a few days
		}
	}
	// The catalog had all mounts that were written before the last day began when that day was summed up: see rollUpQuarters.
	values := map[string]string{
		"cluster": cluster, "again": first.Format(time.DateOnly), "after": strconv.FormatInt(max(0, last.UnixMicro()), 10),
		"ahead": strconv.FormatInt(c.now().AddDate(0, 0, 1).UnixMicro(), 10),
	}
	err = c.Each(ctx, op, lateDay, values, func(rows driver.Rows) error {
		var late *time.Time
		err := rows.Scan(&late)
		if late != nil && dayOf(*late).Before(first) {
			first = dayOf(*late)
		}
		return err
	})
	return first, err
}

// rollUpMonths sums up the months that ended by the day known, oldest first.
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
	if err != nil {
		return err
	}
	for _, month := range months {
		if err := c.rollUp(ctx, op, monthlyRollups, map[string]string{"cluster": cluster, "month": month}); err != nil {
			return err
		}
	}
	return nil
}

// summedQuarters asks for the first quarter of a cluster that is summed up, the day before which its pods were created,
// and the last version of its mounts.
const summedQuarters = "SELECT first_quarter, until, version FROM summed_quarters FINAL WHERE cluster = {cluster:String}"

// formerSums selects the partitions of the running quarter whose sums end on another day than the recorded one: former
// sums, and incomplete ones.
const formerSums = `
SELECT _partition_id FROM mounts_quarterly
WHERE cluster = {cluster:String} AND until != addQuarters(quarter, 1) AND until != {until:Date}
GROUP BY _partition_id
SETTINGS final = 0`

// rollUpQuarters sums up the mounts of pods by the quarter in which the pod was created. It sums up the quarters that began
// before the day known; of the running quarter, the pods of the weeks that are over. Reports read the former sums of the
// running quarter until summed_quarters names the new ones beside them, and the next RollUp drops the former ones.
func (c *Catalog) rollUpQuarters(ctx context.Context, cluster string, known time.Time) error {
	const op = "sum up a quarter"
	done := summedCluster{first: beginning, until: beginning}
	err := c.Each(ctx, op, summedQuarters, map[string]string{"cluster": cluster}, func(rows driver.Rows) error {
		return rows.Scan(&done.first, &done.until, &done.version)
	})
	if err != nil {
		return err
	}
	done.first, done.until = dayOf(done.first), dayOf(done.until)
	// The catalog has all mounts that were written before the day known began: the tracker has written the coverage of
	// that whole day after them. The sums get the same version, because it only grows, also where the clock of one tracker
	// is behind that of the one before it.
	version := uint64(max(0, known.UnixMicro()))
	if version <= done.version {
		return nil
	}
	if err := c.dropFormerSums(ctx, op, cluster, done.until); err != nil {
		return err
	}
	from, err := c.unexpired(ctx, op)
	if err != nil {
		return err
	}
	// A quarter before the first one has lost mounts by now, also if the retention was made longer or has ended since. It may still
	// have sums of them, which do not count.
	if from.Before(done.first) {
		from = done.first
	}
	partitions, err := c.partitions(ctx, op, "SELECT _partition_id FROM mounts GROUP BY _partition_id ORDER BY _partition_id SETTINGS final = 0", nil)
	if err != nil {
		return err
	}
	monday := known.Truncate(7 * 24 * time.Hour) // the first day of Go's time is a Monday
	values := map[string]string{"cluster": cluster, "version": strconv.FormatUint(version, 10)}
	for _, job := range planQuarters(partitions, from, monday, done) {
		if err := c.rollUpQuarter(ctx, op, job, values); err != nil {
			return err
		}
	}
	values["first"], values["end"] = from.Format(time.DateOnly), monday.Format(time.DateOnly)
	return c.rollUp(ctx, op, []string{"roll_quarters_done.sql"}, values)
}

// quarterJob is a quarter to sum up.
type quarterJob struct {
	quarter time.Time // its first day
	end     time.Time // the day before which the pods were created
	after   uint64    // the claims with a mount of a later version are summed up
}

// planQuarters returns the quarters to sum up, of those that are partitions of mounts: from the quarter from on, before
// which mounts may have expired, and up to the last Monday that is known. The sums that are done begin with that quarter, or before
// it. Of a quarter that is summed up, the claims are summed up of which a mount was written since. Of one that has ended, or has
// more weeks, all claims are: their sums end on another day.
func planQuarters(partitions []string, from, monday time.Time, done summedCluster) (jobs []quarterJob) {
	for _, id := range partitions {
		quarter, err := time.Parse("200601", id)
		if err != nil || quarter.Before(from) || !quarter.Before(monday) {
			continue
		}
		job := quarterJob{quarter: quarter, end: quarter.AddDate(0, 3, 0)}
		if job.end.After(monday) {
			job.end = monday
		}
		if !job.end.After(done.until) {
			job.after = done.version
		}
		jobs = append(jobs, job)
	}
	return jobs
}

// dropFormerSums drops the weekly sums that have been replaced, which reports no longer read. DROP PARTITION needs the right
// ALTER DELETE. A user without it keeps these sums.
func (c *Catalog) dropFormerSums(ctx context.Context, op, cluster string, until time.Time) error {
	partitions, err := c.partitions(ctx, op, formerSums, map[string]string{"cluster": cluster, "until": until.Format(time.DateOnly)})
	if err != nil {
		return err
	}
	for _, id := range partitions {
		err := c.alter(ctx, op, "mounts_quarterly", "DROP PARTITION ID '"+id+"'")
		if HasCode(err, chproto.ErrAccessDenied) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// summedAtOnce is about the number of mounts that one statement sums up, in some 300 MB. A statement reads more if few
// of a claim's mounts have changed, or if the pods of a namespace name many backing stores themselves: one statement
// has all mounts of a claim, and all mounts without a claim.
const summedAtOnce = 500_000

// rollUpQuarter sums up the changed mounts of one quarter: several small namespaces at a time, and a large namespace in parts.
// The values are the cluster and the version.
func (c *Catalog) rollUpQuarter(ctx context.Context, op string, job quarterJob, values map[string]string) error {
	values = maps.Clone(values)
	values["quarter"], values["end"] = job.quarter.Format(time.DateOnly), job.end.Format(time.DateOnly)
	values["after"] = strconv.FormatUint(job.after, 10)
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
	if err != nil {
		return err
	}
	for _, r := range runs {
		parts := r.mounts/summedAtOnce + 1
		for part := range parts {
			values["first_namespace"], values["last_namespace"] = r.first, r.last
			values["parts"], values["part"] = strconv.FormatUint(parts, 10), strconv.FormatUint(part, 10)
			if err := c.rollUp(ctx, op, []string{"roll_quarter.sql"}, values); err != nil {
				return err
			}
		}
	}
	return nil
}

// unexpired returns the first quarter whose mounts cannot have expired. If somebody else has set the TTL of mounts,
// that is the next quarter.
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

// dayOf returns the beginning of a date in UTC. The Go client returns a Date as midnight in the time zone of the server.
func dayOf(date time.Time) time.Time {
	return time.Date(date.Year(), date.Month(), date.Day(), 0, 0, 0, 0, time.UTC)
}

// quarterOf returns the beginning of the quarter of a moment, in UTC.
func quarterOf(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), (t.Month()-1)/3*3+1, 1, 0, 0, 0, 0, time.UTC)
}

// rollUp executes the files, which write sums, one after the other.
func (c *Catalog) rollUp(ctx context.Context, op string, files []string, values map[string]string) error {
	conn, err := c.connection(op)
	if err != nil {
		return err
	}
	values = maps.Clone(values)
	if values["version"] == "" {
		values["version"] = strconv.FormatInt(c.now().UnixMicro(), 10)
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
