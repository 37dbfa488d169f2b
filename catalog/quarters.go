package catalog

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// mounts_quarterly has sums of the uses of each quarter. A report of years reads them, and the mounts of the rest of its
// window: of the quarters that have no sums, and of the claims whose sums do not fit.

// findQuarters returns the kind of the report's SQL: "quarters" if the report can read the sums of quarters, and some
// cover a part of its window or of the time before its moment. It adds the values of that SQL, and returns a
// context with the table changed, unless no claim has changed. If too many claims have changed for such a table, it
// leaves out the running quarter, which has most of the changes, and then all quarters.
func (a *asking) findQuarters(ctx context.Context) (with context.Context, kind string, err error) {
	in, usual := a.window, a.window.kind()
	if a.report.quarterly == "moment" {
		in.since = beginning
	}
	in.until = a.window.endBy(a.now())
	if a.report.quarterly != usual || !in.hasQuarter() {
		return ctx, usual, nil
	}
	all, err := a.askSummed(ctx)
	if err != nil {
		return nil, "", err
	}
	for _, until := range []time.Time{in.until, quarterOf(in.until)} {
		with, found, rows, err := a.askChanged(ctx, all, in.since, until)
		if err != nil || !found {
			return ctx, usual, err
		}
		if rows <= a.mostSent {
			if rows > 0 {
				a.values["changed_claims"] = strconv.Itoa(rows)
			}
			return with, quartersKind, nil
		}
	}
	return ctx, usual, nil
}

// askChanged asks which claims have changed since the quarters between two moments were summed up. It returns a context with these
// in the table changed, and their number. found is whether there are such quarters.
func (a *asking) askChanged(ctx context.Context, all []summedCluster, since, until time.Time) (with context.Context, found bool, rows int, err error) {
	run := longestRun(all, since, until)
	if run.begin.Equal(run.end) {
		return nil, false, 0, nil
	}
	run.parameters(all, a.values)
	changed, err := expand("changed_claims.sql", a.report.quarterly, a.values)
	if err != nil {
		return nil, false, 0, err
	}
	with, rows, err = a.table(ctx, changed, "changed", a.mostSent)
	return with, true, rows, err
}

// summedCluster says what mounts_quarterly has of a cluster: the sums of the quarters from first up to the day until, made of
// the versions of mounts up to version. Without sums, both days are 1970-01-01. seen is the last day on which it was watched.
type summedCluster struct {
	hash, version      uint64 // hash is cityHash64 of its name
	first, until, seen time.Time
}

// askSummed asks for them, of all clusters.
func (a *asking) askSummed(ctx context.Context) (all []summedCluster, err error) {
	sql, err := expand("quarters.sql", "", a.values)
	if err != nil {
		return nil, err
	}
	result, err := a.rows(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer result.Close()
	for result.Next() {
		row := result.Row()
		day := func(column int) time.Time { return time.Unix(int64(row[column].(uint16))*86400, 0).UTC() }
		all = append(all, summedCluster{hash: row[0].(uint64), version: row[1].(uint64), first: day(2), until: day(3), seen: day(4)})
	}
	return all, result.Err()
}

// quarterRun is a time without a hole, from the beginning of a quarter on, of which mounts_quarterly has the sums of all
// clusters. It ends within a quarter if that one was not over when it was summed up.
type quarterRun struct{ begin, end time.Time }

// longestRun returns the longest run between two moments, or an empty one.
func longestRun(all []summedCluster, since, until time.Time) (longest quarterRun) {
	var run quarterRun
	for quarter := quarterOf(since.Add(-time.Microsecond)).AddDate(0, 3, 0); !quarter.After(until); quarter = quarter.AddDate(0, 3, 0) {
		end := summedUntil(all, quarter)
		switch {
		case end.After(until) || !end.After(quarter):
			run = quarterRun{}
		case run.end.Equal(quarter):
			run.end = end
		default:
			run = quarterRun{quarter, end}
		}
		if run.end.Sub(run.begin) >= longest.end.Sub(longest.begin) {
			longest = run
		}
	}
	return longest
}

// summedUntil returns the day up to which a quarter has sums, or its beginning if it has none: all clusters that were
// watched after it began must have them up to the same day.
func summedUntil(all []summedCluster, quarter time.Time) (day time.Time) {
	for _, c := range all {
		if quarter.After(c.seen) {
			continue
		}
		until := quarter
		if !quarter.Before(c.first) {
			until = earlier(c.until, quarter.AddDate(0, 3, 0))
		}
		if !day.IsZero() && !until.Equal(day) {
			return quarter
		}
		day = until
	}
	return day
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// parameters sets the run, and up to which versions its sums have the mounts of each cluster, least_version the least.
func (r quarterRun) parameters(all []summedCluster, values map[string]string) {
	var versions []string
	least := all[0].version
	for _, c := range all {
		versions = append(versions, fmt.Sprintf("%d:%d", c.hash, c.version))
		least = min(least, c.version)
	}
	values["quarters_begin"], values["quarters_end"] = parameter(r.begin), parameter(r.end)
	values["summed_versions"] = "{" + strings.Join(versions, ",") + "}"
	values["least_version"] = strconv.FormatUint(least, 10)
}
