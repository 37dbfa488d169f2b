package catalog_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
)

// seenUntil says that a cluster was watched until a day, and that its days are summed up.
func seenUntil(t *testing.T, c *catalog.Catalog, cluster, day string) {
	t.Helper()
	rows(t, c, fmt.Sprintf(`INSERT INTO coverage (cluster, instance, kind, started_at, seen_at, version)
		SELECT '%s', 'a', arrayJoin(['Pod', 'PersistentVolumeClaim', 'PersistentVolume']), '2024-01-01 00:00:00', '%s 00:00:00', toUInt64(toDate('%[2]s'))`, cluster, day))
	rows(t, c, fmt.Sprintf("INSERT INTO byte_seconds_daily (cluster, day, version) SELECT '%s', toDate('%s') - 1, 1", cluster, day))
}

// mountOn writes a mount of a pod that was created on a day, which has not ended.
func mountOn(t *testing.T, c *catalog.Catalog, cluster, claim, day string) {
	t.Helper()
	rows(t, c, fmt.Sprintf(`INSERT INTO mounts (cluster, namespace, claim_name, claim_uid, volume_uid, pod_uid, container, volume, pod_created_at, started_at, version)
		SELECT '%s', 'shop', '%s', '%[2]s', '%[2]s', '%[2]s-%s', 'main', 'data', '%[3]s 12:00:00', '%[3]s 12:00:00', toUnixTimestamp64Micro(toDateTime64('%[3]s 12:00:00', 6, 'UTC'))`, cluster, claim, day))
}

// podsOf are the claims that were used since 2024, and how many pods used each.
func podsOf(t *testing.T, c *catalog.Catalog) string {
	t.Helper()
	return column(t, c, "history", "claim", "since=2024-02-01") + " " + column(t, c, "history", "pods", "since=2024-02-01")
}

// TestSumsOfWeeks sums up a running quarter, and once more a week later: reports read the former sums until the new ones are complete, also if these never are, and if the rows of
// summed_quarters were exported before them.
func TestSumsOfWeeks(t *testing.T) {
	c := migrated(t)
	rollUp := func() error {
		t.Helper()
		_, err := c.RollUp(t.Context(), "east")
		return err
	}
	sums := func(want string) {
		t.Helper()
		got := fmt.Sprint(rows(t, c, "SELECT toString(until), sum(pods) FROM mounts_quarterly FINAL GROUP BY until ORDER BY until"))
		if got != want {
			t.Errorf("sums %s, want %s", got, want)
		}
	}
	pods := func(want string) {
		t.Helper()
		if got := podsOf(t, c); got != want {
			t.Errorf("pods %s, want %s", got, want)
		}
	}
	mountOn(t, c, "east", "data", "2026-01-07")
	seenUntil(t, c, "east", "2026-01-14")
	if err := rollUp(); err != nil {
		t.Fatal(err)
	}
	sums("[[2026-01-12 1]]")
	pods("data 1")

	mountOn(t, c, "east", "logs", "2026-01-15")
	seenUntil(t, c, "east", "2026-01-21")
	rows(t, c, "ALTER TABLE summed_quarters ADD CONSTRAINT full CHECK until < '2026-01-15'")
	if err := rollUp(); err == nil {
		t.Fatal("the new sums are complete")
	}
	sums("[[2026-01-12 1] [2026-01-19 2]]")
	pods("logs,data 1,1")

	rows(t, c, "CREATE TABLE exported AS summed_quarters")
	rows(t, c, "INSERT INTO exported SELECT * FROM summed_quarters")
	rows(t, c, "ALTER TABLE summed_quarters DROP CONSTRAINT full")
	if err := rollUp(); err != nil {
		t.Fatal(err)
	}
	sums("[[2026-01-12 1] [2026-01-19 2]]")
	pods("logs,data 1,1")
	rows(t, c, "EXCHANGE TABLES exported AND summed_quarters")
	pods("logs,data 1,1")
	rows(t, c, "EXCHANGE TABLES exported AND summed_quarters")

	seenUntil(t, c, "east", "2026-01-22")
	if err := rollUp(); err != nil {
		t.Fatal(err)
	}
	sums("[[2026-01-19 2]]")
	pods("logs,data 1,1")
}

// TestSumsBeforeAHole has a cluster that was last seen in the middle of a quarter: nobody sums that one up to its end. Sums of the years before are read then, and not those of a few
// weeks after it. Each sum is made greater to see which are read.
func TestSumsBeforeAHole(t *testing.T) {
	c := migrated(t)
	for _, cluster := range []string{"east", "west"} {
		mountOn(t, c, cluster, "old", "2024-05-07")
		seenUntil(t, c, cluster, "2025-11-20")
	}
	mountOn(t, c, "east", "new", "2026-01-07")
	seenUntil(t, c, "east", "2026-01-14")
	for _, cluster := range []string{"east", "west"} {
		if _, err := c.RollUp(t.Context(), cluster); err != nil {
			t.Fatal(err)
		}
	}
	rows(t, c, "INSERT INTO mounts_quarterly SELECT * REPLACE (pods + 1000 AS pods) FROM mounts_quarterly FINAL WHERE pods > 0")
	if got := podsOf(t, c); got != "new,old,old 1,1001,1001" {
		t.Errorf("got %s", got)
	}
	if got := column(t, c, "history", "pods", "since=2024-02-01", "cluster=east"); got != "1001,1001" {
		t.Errorf("of the cluster that goes on: %s", got)
	}
}

// TestDayOfServerInAnotherZone: the Go client reads a Date as midnight where the server is.
func TestDayOfServerInAnotherZone(t *testing.T) {
	for _, hours := range []int{-5, 0, 9} {
		read := time.Date(2024, 7, 1, 0, 0, 0, 0, time.FixedZone("", hours*3600))
		if got := catalog.DayOf(read); !got.Equal(time.Date(2024, 7, 1, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%s is %s", read, got)
		}
	}
}
