package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// TestReportsByQuarter sums up quarters, and asks the reports that read these sums with and without them: once one quarter is over and some weeks of the next, after mounts of them have
// changed, after they are summed up again with more weeks, and once the second quarter is over, too. TestReportsAgreeWithTheModel holds that the answers without
// them are right.
func TestReportsByQuarter(t *testing.T) {
	h := makeHistory(t)
	boundary := catalogtest.Clock().AddDate(0, -5, 0).Truncate(24 * time.Hour) // 2025-10-01
	h.catalog = h.moved(t, now()-31*86400*second-fact.At(boundary))
	rollUp := func() {
		t.Helper()
		// No day has to be summed up.
		catalogtest.Rows(t, h.catalog, `INSERT INTO byte_seconds_daily (cluster, day, version)
			SELECT cluster, toDate(max(coalesce(ended_at, seen_at))) - 1, 1 FROM coverage FINAL GROUP BY cluster`)
		for _, m := range h.models {
			if _, err := h.catalog.RollUp(t.Context(), m.cluster); err != nil {
				t.Fatal(err)
			}
		}
	}
	quarters := func(want int, until string) {
		t.Helper()
		got := catalogtest.Rows(t, h.catalog, "SELECT DISTINCT quarter FROM mounts_quarterly FINAL WHERE pods > 0")
		if summed := fmt.Sprint(catalogtest.Rows(t, h.catalog, "SELECT DISTINCT toString(until) FROM summed_quarters FINAL")); len(got) != want || summed != "[["+until+"]]" {
			t.Fatalf("quarters %v until %s, want %d until %s", got, summed, want, until)
		}
	}
	rollUp()
	quarters(2, "2025-10-27")
	if n := catalogtest.Rows(t, h.catalog, "SELECT countIf(apart), countIf(NOT apart) FROM mounts_quarterly FINAL WHERE pods > 0")[0]; n[0] == uint64(0) {
		t.Errorf("rows whose pods can be added up, and others: %v", n)
	}
	h.compareQuarters(t, boundary)
	// The ends of uses are learnt late, and the volumes of some are forgotten: pods of two containers are in two sums then. The second version of a row counts.
	catalogtest.Rows(t, h.catalog, `INSERT INTO mounts SELECT * REPLACE (coalesce(ended_at, toDateTime64('2025-10-20 00:00:00', 6, 'UTC')) + INTERVAL 5 DAY AS ended_at, version + 100 * 86400000000 AS version)
		FROM mounts FINAL WHERE ended_at IS NULL OR cityHash64(pod_uid) % 3 = 0`)
	catalogtest.Rows(t, h.catalog, `INSERT INTO mounts SELECT * REPLACE ('' AS volume_uid, version + 101 * 86400000000 AS version) FROM mounts FINAL WHERE claim_uid != '' AND cityHash64(pod_uid, container) % 2 = 0`)
	h.compareQuarters(t, boundary)
	seen := func(until string) {
		t.Helper()
		catalogtest.Rows(t, h.catalog, `INSERT INTO coverage SELECT * REPLACE (toDateTime64('`+until+`', 6, 'UTC') AS seen_at, NULL AS ended_at, version + 102 * 86400000000 AS version)
			FROM coverage FINAL WHERE (cluster, kind, started_at) IN (SELECT cluster, kind, max(started_at) FROM coverage GROUP BY cluster, kind)`)
		rollUp()
	}
	seen("2025-12-17 00:00:00")
	quarters(2, "2025-12-15")
	h.compareQuarters(t, boundary)
	seen("2026-02-15 00:00:00")
	quarters(2, "2026-02-09")
	h.compareQuarters(t, boundary)
}

// moved returns a copy of the catalog in which all happened earlier by so much.
func (h *history) moved(t *testing.T, by fact.Time) *catalog.Catalog {
	t.Helper()
	c := catalogtest.Open(t, address, t.Name()+"Moved")
	if err := c.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	columns := map[string][]string{}
	for _, row := range catalogtest.Rows(t, h.catalog, `SELECT table, name, type FROM system.columns
		WHERE database = currentDatabase() AND default_kind = '' AND table IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree') ORDER BY table, position`) {
		table, name, of := row[0].(string), row[1].(string), row[2].(string)
		switch {
		case strings.Contains(of, "DateTime64"):
			name = fmt.Sprintf("%s - toIntervalMicrosecond(%d) AS %[1]s", name, by)
		case name == "version":
			name = fmt.Sprintf("if(version > %d, version - %[1]d, version) AS version", by) // some are small numbers
		}
		columns[table] = append(columns[table], name)
	}
	for _, table := range []string{"coverage", "volumes", "claims", "bindings", "volume_sources", "owner_namespaces", "pods", "containers", "mounts"} {
		catalogtest.Rows(t, c, fmt.Sprintf("INSERT INTO %s SELECT %s FROM %s.%[1]s FINAL", table, strings.Join(columns[table], ", "), h.catalog.Database()))
	}
	return c
}

// compareQuarters asks history and pods-per-volume for windows, and idle for moments, with the sums of quarters and without them.
func (h *history) compareQuarters(t *testing.T, boundary time.Time) {
	t.Helper()
	var with []string
	var flags []map[string]string
	reports := []string{"history", "pods-per-volume", "idle"}
	for n := range 12 {
		h.subject = h.randomMount()
		flags = append(flags, map[string]string{})
		if n%4 != 0 {
			h.choose(flags[n], "namespace", "owner", "group", "storageclass", "workload")
		}
		if groups := h.subject.groups(); n%4 == 1 && len(groups) > 0 { // a group alone has SQL of its own
			flags[n] = map[string]string{"group": groups[0]}
		}
		day := func(from, days int) string {
			return boundary.AddDate(0, 0, from).Add(time.Duration(h.rnd.Int64N(int64(days) * int64(24*time.Hour)))).Format(time.RFC3339Nano)
		}
		flags[n]["since"] = [...]string{day(-120, 20), "1970-01-01", boundary.AddDate(0, -3, 0).Format(time.DateOnly), day(-30, 60)}[n%4]
		flags[n]["until"] = [...]string{"", boundary.Format(time.DateOnly), day(0, 31)}[n%3]
		if flags[n]["since"] > flags[n]["until"] && n%3 > 0 {
			delete(flags[n], "until")
		}
		if reports[n/4] == "idle" {
			delete(flags[n], "workload")
			delete(flags[n], "since")
			delete(flags[n], "until")
			flags[n]["at"] = [...]string{boundary.Format(time.DateOnly), day(0, 31), day(0, 90), boundary.AddDate(0, 3, 0).Format(time.DateOnly)}[n%4]
		}
		rows := texts(ask(t, h.catalog, reports[n/4], flags[n]))
		with = append(with, strings.Join(rows, "\n"))
		// With a limit, the rows are found by a statement of their own.
		for _, limit := range []int{1, 2, 1 + h.rnd.IntN(1+len(rows)), 1 + len(rows)} {
			limited := maps.Clone(flags[n])
			limited["limit"] = fmt.Sprint(limit)
			first := texts(ask(t, h.catalog, reports[n/4], limited))
			if want := rows[:min(limit, len(rows))]; !slices.Equal(first, want) {
				t.Errorf("seed %d: report %s %q: not the first rows: %s", h.seed, reports[n/4], limited, rowsDiffer(first, want))
			}
		}
	}
	const keep = "DROP TABLE IF EXISTS kept; CREATE TABLE kept AS summed_quarters; INSERT INTO kept SELECT * FROM summed_quarters; TRUNCATE TABLE summed_quarters"
	for sql := range strings.SplitSeq(keep, "; ") {
		catalogtest.Rows(t, h.catalog, sql)
	}
	rows := 0
	for n, f := range flags {
		without := strings.Join(texts(ask(t, h.catalog, reports[n/4], f)), "\n")
		rows += strings.Count(without, "\n")
		if with[n] != without {
			got, want := strings.Split(with[n], "\n"), strings.Split(without, "\n")
			t.Errorf("seed %d: report %s %q: %s", h.seed, reports[n/4], f, rowsDiffer(got, want))
		}
	}
	if rows < 30 {
		t.Errorf("%d rows in all", rows)
	}
	catalogtest.Rows(t, h.catalog, "INSERT INTO summed_quarters SELECT * FROM kept")
}
