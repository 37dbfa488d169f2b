package ingest

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/kubevoltracker/kubevoltracker/catalog"
)

// A row version is a moment: the microseconds of the clock of the tracker that emitted the row (inventory.nextVersion).
// It may be ahead of that clock: versions only grow, also when a clock is set back, and a takeover adds a second and a
// microsecond for each row that waits.
//
// Each start continues from the highest version that it finds. So one absurd version, from another writer or a wrong
// clock, would raise the versions of all later rows for ever; near 2^64 the next version would be 0, and no new
// row would ever win. A version above VersionCeiling is therefore not followed. Its own row stays the current one of
// its key until it is mended: docs/catalog.md says how.

const (
	// versionsAhead is how far a row version may be ahead of this machine's clock: a year. Trackers' clocks differ by an
	// hour at most (clocksApart), but the bound is generous, because it is worse to ignore a version than to follow it:
	// the rows of a tracker that ignores it are hidden by those that have it, while the clock overtakes a version that
	// was followed, within a year. A clock that is behind by as much may be a virtual machine's that was restored.
	versionsAhead = 366 * 24 * time.Hour
	// clockless is how far ahead of firstRelease a version may be on a machine whose clock is not set: a century.
	clockless = 100 * 366 * 24 * time.Hour
)

// firstRelease is before all versions of this program. A clock before it has not been set, as at the boot of a machine
// without a battery, so versions cannot be compared with it.
var firstRelease = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// VersionCeiling returns the highest row version that a tracker may follow at a moment of its own clock.
func VersionCeiling(now time.Time) uint64 {
	if now.Before(firstRelease) {
		return micros(firstRelease.Add(clockless))
	}
	return micros(now.Add(versionsAhead))
}

// micros is a moment as a row version: 0 for one before 1970, which has no version.
func micros(t time.Time) uint64 { return uint64(max(0, t.UnixMicro())) }

// versionsFound are the row versions of a cluster in the catalog.
type versionsFound struct {
	highest uint64   // of those that are not above the ceiling
	beyond  uint64   // the number of rows that are
	in      []string // the tables that have such rows
}

// findVersions asks for the versions of each table, without FINAL: of the rows with one key, FINAL keeps the one with
// the highest version. It reads one column of each table. Rows of checkpoints replace each other by their moment.
var findVersions = func() string {
	var of []string
	for _, t := range allTables {
		if t.versions != nil {
			of = append(of, "SELECT '"+t.name+"', maxIf(version, version <= {ceiling:UInt64}), countIf(version > {ceiling:UInt64}) FROM "+t.name+" WHERE cluster = {cluster:String}")
		}
	}
	of = append(of, "SELECT 'checkpoints', 0, countIf(toUnixTimestamp64Micro(at) > {ceiling:UInt64}) FROM checkpoints WHERE cluster = {cluster:String}")
	return strings.Join(of, " UNION ALL ") + " SETTINGS final = 0"
}()

// versions finds the row versions of the cluster.
func (q *questions) versions() (found versionsFound) {
	q.parameters["ceiling"] = strconv.FormatUint(VersionCeiling(time.Now()), 10)
	q.each(findVersions, func(rows driver.Rows) error {
		var table string
		var highest, beyond uint64
		if err := rows.Scan(&table, &highest, &beyond); err != nil {
			return err
		}
		found.highest = max(found.highest, highest)
		if beyond > 0 {
			found.beyond += beyond
			found.in = append(found.in, table)
		}
		return nil
	})
	return found
}

// readVersions reads the row versions of a cluster.
func readVersions(ctx context.Context, c *catalog.Catalog, cluster string) (versionsFound, error) {
	q := newQuestions(ctx, c, cluster, "")
	found := q.versions()
	return found, q.err
}
