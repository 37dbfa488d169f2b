package catalog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// views are a statement for each view, whose answer does not depend on the time of the test.
var views = map[string]string{
	"current_mounts":  "SELECT * FROM current_mounts ORDER BY pod, volume",
	"mount_history":   "SELECT * FROM mount_history ORDER BY started_at, pod, volume",
	"current_claims":  "SELECT * FROM current_claims ORDER BY claim",
	"current_volumes": "SELECT * FROM current_volumes ORDER BY persistentvolume",
	"idle_volumes":    "SELECT * EXCEPT (idle_seconds) FROM idle_volumes ORDER BY volume",
	"space_daily":     "SELECT * FROM space_daily WHERE day IN ('2026-01-01', '2026-01-02', '2026-01-14', '2026-01-15', '2026-01-16', '2026-02-09', '2026-02-10', '2026-02-20', '2026-02-25') ORDER BY day, storage_class",
	"timeline":        "SELECT * FROM timeline ORDER BY time",
}

// reader opens the test's database as those who give no name and no password.
func reader(t *testing.T, now func() time.Time) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Open(catalog.Options{URL: "http://" + sharedAddress + "/" + t.Name(), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// plain asks without the setting final, which Query would set, as Grafana does.
func plain(t *testing.T, c *catalog.Catalog, sql string, settings ...string) string {
	t.Helper()
	result, err := c.Query(t.Context(), sql+" SETTINGS "+strings.Join(append(settings, "final = 0"), ", "), nil)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer result.Close()
	var out strings.Builder
	if err := result.Write(&out, catalog.YAMLFormat); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return out.String()
}

// olderValues are, for each table, what the older version of a row has in place of its present values.
var olderValues = map[string]string{
	"mounts": "NULL AS ended_at, 0 AS version", "pods": "'old' AS name, 0 AS version", "containers": "'init' AS kind, 0 AS version",
	"claims":         "NULL AS deleted_at, 1 AS requested_bytes, toDateTime64('2026-01-20 00:00:00', 6, 'UTC') AS unused_since, NULL AS bound_at, 0 AS version",
	"volumes":        "NULL AS deleted_at, 1 AS capacity_bytes, 0 AS version",
	"volume_uses":    "NOT in_use AS in_use, 0 AS version",
	"volume_states":  "'mounted' AS status, 0 AS version",
	"bindings":       "if(released_at IS NULL, bound_at, NULL) AS released_at, toDateTime64('2025-12-25 00:00:00', 6, 'UTC') AS bound_at, 0 AS version",
	"volume_sources": "'old' AS path, 0 AS version",
	"coverage":       "seen_at + INTERVAL 1 DAY AS seen_at, NULL AS ended_at, 0 AS version",
	"last_usage":     "at - INTERVAL 1 DAY AS at, 1 AS used_bytes",
	"changes":        "",
}

// keepVersions keeps ClickHouse from merging the tables.
func keepVersions(t *testing.T, c *catalog.Catalog) {
	t.Helper()
	for table := range olderValues {
		rows(t, c, "SYSTEM STOP MERGES "+table)
	}
}

// addVersions adds an older version of each row to the tables.
func addVersions(t *testing.T, c *catalog.Catalog) {
	t.Helper()
	for table, values := range olderValues {
		if values != "" {
			values = " REPLACE (" + values + ")"
		}
		rows(t, c, "INSERT INTO "+table+" SELECT *"+values+" FROM "+table+" FINAL")
		if n := plain(t, c, "SELECT count() FROM "+table); n == plain(t, c, "SELECT count() FROM "+table+" FINAL") && !strings.Contains(n, ": 0") {
			t.Fatalf("%s has no older versions: %s", table, n)
		}
	}
}

// TestViews asks each view as the reader, while the tables hold older versions of all rows.
func TestViews(t *testing.T) {
	c := migrated(t)
	keepVersions(t, c)
	f := team()
	f.Containers = []fact.Container{{Version: 1, Namespace: "shop", PodCreatedAt: day(2, 12), PodUID: "pod-api-3", Name: "main", Kind: fact.MainContainer}}
	write(t, c, "east", f)
	addVersions(t, c)
	asker := reader(t, nil)
	for name, sql := range views {
		answer := plain(t, asker, sql)
		golden(t, "view_"+name+".yaml", answer)
		if nullable := plain(t, asker, sql, "join_use_nulls = 1"); nullable != answer {
			t.Errorf("%s depends on the setting join_use_nulls:\n%s", name, nullable)
		}
	}
	found := rows(t, c, "SELECT name, comment FROM system.tables WHERE database = currentDatabase() AND engine = 'View'")
	if len(found) != len(views) {
		t.Errorf("%d views, and %d are tested", len(found), len(views))
	}
	for _, view := range found {
		if view[1] == "" {
			t.Errorf("%s has no comment", view[0])
		}
	}
}

// TestSpaceDailyFollowsAVolume has a volume that was resized, went to a claim of another namespace, was resized again and deleted;
// and one that is free again.
func TestSpaceDailyFollowsAVolume(t *testing.T) {
	c := migrated(t)
	keepVersions(t, c)
	moved, free := volumeOf("moved", "fast", "csi:1", "claim-second", "Released", 40), volumeOf("free", "fast", "csi:1", "", "Available", 7)
	moved.DeletedAt, moved.DeletedNotBefore = day(1, 20), day(1, 20)
	first, second := claimOf("first", "fast", "moved", 5), claimOf("second", "fast", "moved", 5)
	first.Namespace, first.DeletedAt = "lab", day(1, 8)
	resized := func(at fact.Time, version, details string) fact.Change {
		return fact.Change{At: at, Kind: "PersistentVolume", UID: "moved", Name: "pv-moved", Action: fact.Resized, Details: details, ResourceVersion: version}
	}
	write(t, c, "east", &fact.Facts{
		Volumes: []fact.Volume{moved, free}, Claims: []fact.Claim{first, second},
		Bindings: []fact.Binding{
			{Version: 1, ClaimUID: "claim-first", VolumeUID: "moved", BoundAt: day(1, 2), ReleasedAt: day(1, 8)},
			{Version: 1, ClaimUID: "claim-second", VolumeUID: "moved", BoundAt: day(1, 10)},
			{Version: 1, ClaimUID: "claim-first", VolumeUID: "free", BoundAt: day(1, 3), ReleasedAt: day(1, 4)},
		},
		Changes: []fact.Change{
			resized(day(1, 5), "1", "10Gi → 20Gi"), resized(day(1, 6), "1", "10Gi → 20Gi"), // by two trackers
			resized(day(1, 12), "2", "20Gi → 40Gi"), resized(day(1, 13), "3", "many → more"),
		},
	})
	addVersions(t, c)
	rows(t, c, "CREATE TABLE answer ENGINE = Memory AS SELECT * FROM space_daily WHERE day < '2026-02-01' SETTINGS final = 0")
	got := fmt.Sprint(rows(t, c, `SELECT toString(min(day)), namespace, toString(bound_volumes), toString(divide(capacity_bytes, 1073741824))
		FROM (SELECT *, sum(toUInt8(changed)) OVER (PARTITION BY namespace ORDER BY day) AS step
		      FROM (SELECT *, (bound_volumes, capacity_bytes) != lagInFrame((bound_volumes, capacity_bytes)) OVER (PARTITION BY namespace ORDER BY day) AS changed
		            FROM answer))
		WHERE bound_volumes > 0 GROUP BY namespace, step, bound_volumes, capacity_bytes ORDER BY min(day), namespace`))
	const want = "[[2026-01-02 lab 1 10] [2026-01-03 lab 2 17] [2026-01-04 lab 1 10] [2026-01-05 lab 1 20] [2026-01-10 shop 1 20] [2026-01-12 shop 1 40]]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if last := fmt.Sprint(rows(t, c, "SELECT toString(max(day)) FROM answer WHERE bound_volumes > 0")); last != "[[2026-01-19]]" {
		t.Errorf("the volume is counted until %s", last)
	}
}

// TestIdleVolumesIsTheReportIdle compares the two where a report has to get each case right.
func TestIdleVolumesIsTheReportIdle(t *testing.T) {
	c := migrated(t)
	keepVersions(t, c)
	write(t, c, "east", company())
	write(t, c, "west", branch())
	write(t, c, "north", team())
	addVersions(t, c)
	asker := reader(t, time.Now)
	result, err := asker.RunReport(t.Context(), "idle", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	columns := make([]string, len(result.Columns))
	for i, column := range result.Columns {
		columns[i] = column.Name
	}
	list := strings.Join(columns, ", ")
	rows(t, c, "CREATE TABLE answer ENGINE = Memory AS SELECT "+list+" FROM idle_volumes SETTINGS final = 0")
	view := rows(t, c, "SELECT * FROM answer ORDER BY idle_seconds DESC, cluster, volume")
	n := 0
	for ; result.Next(); n++ {
		if n >= len(view) {
			t.Fatalf("the view has %d rows only", len(view))
		}
		row := result.Row()
		for i, value := range row {
			was, isNumber := value.(int64)
			// It grows meanwhile.
			if columns[i] == "idle_seconds" && isNumber && view[n][i].(int64) >= was-10 && view[n][i].(int64) <= was+10 {
				continue
			}
			if fmt.Sprintf("%v", deref(value)) != fmt.Sprintf("%v", deref(view[n][i])) {
				t.Errorf("%v of %v: the view has %v, and the report %v", columns[i], row[:2], deref(view[n][i]), deref(value))
			}
		}
	}
	if n < 6 || n != len(view) {
		t.Errorf("the report has %d rows, and the view %d", n, len(view))
	}
}

// deref returns what a pointer of a nullable column points to.
func deref(value any) any {
	switch v := value.(type) {
	case *time.Time:
		if v != nil {
			return v.UTC()
		}
	case *int64:
		if v != nil {
			return *v
		}
	case time.Time:
		return v.UTC()
	default:
		return v
	}
	return nil
}

// TestViewsReadLittle asks ClickHouse what it reads for conditions on the columns of the keys.
func TestViewsReadLittle(t *testing.T) {
	c := migrated(t)
	const many = " FROM numbers(200000)"
	rows(t, c, `INSERT INTO mounts (cluster, namespace, claim_name, pod_created_at, pod_uid, container, started_at, ended_at, version)
		SELECT 'east', concat('ns-', leftPad(toString(intDiv(number, 1000)), 3, '0')), toString(number % 100), '2026-01-01 00:00:00', toString(number), 'main', '2026-01-01 00:00:00', '2026-01-02 00:00:00', 1`+many)
	rows(t, c, "INSERT INTO pods (cluster, namespace, created_at, uid, version) SELECT 'east', concat('ns-', leftPad(toString(intDiv(number, 1000)), 3, '0')), '2026-01-01 00:00:00', toString(number), 1"+many)
	rows(t, c, "INSERT INTO claims (cluster, namespace, uid, created_at, version) SELECT 'east', concat('ns-', leftPad(toString(intDiv(number, 1000)), 3, '0')), toString(number), '2026-01-01 00:00:00', 1"+many)
	rows(t, c, "INSERT INTO changes (cluster, at, kind, namespace, uid) SELECT 'east', '2026-01-01 00:00:00', 'Pod', concat('ns-', leftPad(toString(intDiv(number, 1000)), 3, '0')), toString(number)"+many)
	for _, table := range []string{"mounts", "pods", "claims", "changes"} {
		rows(t, c, "OPTIMIZE TABLE "+table+" FINAL")
	}
	for _, test := range []struct {
		sql    string
		tables string // whose rows are chosen by the key
	}{
		{"SELECT * FROM mount_history WHERE cluster = 'east' AND namespace = 'ns-007'", "mounts pods claims"},
		{"SELECT * FROM mount_history WHERE cluster = 'east' AND namespace = 'ns-007' AND claim = '3'", "mounts"},
		{"SELECT * FROM mount_history WHERE namespace = 'ns-007' AND claim = '3'", "mounts pods claims"},
		{"SELECT * FROM mount_history WHERE (cluster, namespace, claim) IN (SELECT 'east', 'ns-007', '3')", "mounts"},
		{"SELECT * FROM current_claims WHERE cluster = 'east' AND namespace = 'ns-007'", "claims"},
		{"SELECT * FROM current_claims WHERE namespace = 'ns-007'", "claims"},
		{"SELECT * FROM timeline WHERE cluster = 'east' AND kind = 'Pod' AND namespace = 'ns-007'", "changes"},
		{"SELECT * FROM current_mounts", "mounts"}, // none lasts
	} {
		read := indexed(t, c, test.sql, "Granules")
		for _, name := range strings.Fields(test.tables) {
			var some, all int
			if _, err := fmt.Sscanf(read[name], "%d/%d", &some, &all); err != nil || some > 2 {
				t.Errorf("%s reads %q granules of %s", test.sql, read[name], name)
			}
		}
	}
}

// TestViewsReadFewPartitions asks ClickHouse how many partitions it reads for a condition on time.
func TestViewsReadFewPartitions(t *testing.T) {
	c := migrated(t)
	// Months 0 to 9.
	const created = "toDateTime64('2026-01-15 00:00:00', 6, 'UTC') + toIntervalMonth(number % 10) AS created"
	for _, sql := range []string{
		"INSERT INTO mounts (cluster, namespace, pod_created_at, pod_uid, container, started_at, version) SELECT 'east', 'shop', " + created + ", toString(number), 'main', created, 1",
		"INSERT INTO pods (cluster, namespace, created_at, uid, version) SELECT 'east', 'shop', " + created + ", toString(number), 1",
		"INSERT INTO containers (cluster, namespace, pod_created_at, pod_uid, name, version) SELECT 'east', 'shop', " + created + ", toString(number), 'main', 1",
		"INSERT INTO changes (cluster, at, kind, namespace, uid) SELECT 'east', " + created + ", 'Pod', 'shop', toString(number)",
	} {
		rows(t, c, sql+" FROM numbers(20)")
	}
	for sql, tables := range map[string]string{
		"SELECT * FROM mount_history WHERE pod_created_at >= '2026-10-01'":                                              "mounts pods containers",
		"SELECT * FROM mount_history WHERE started_at >= '2026-10-05' AND pod_created_at >= '2026-10-01'":               "mounts pods containers",
		"SELECT * FROM mount_history WHERE pod_created_at >= '2026-03-01' AND pod_created_at < '2026-04-01'":            "mounts pods containers",
		"SELECT * FROM current_mounts WHERE pod_created_at >= '2026-10-01'":                                             "mounts",
		"SELECT * FROM timeline WHERE time >= '2026-10-01'":                                                             "changes",
		"SELECT * FROM timeline WHERE cluster = 'east' AND time >= '2026-03-01' AND time < '2026-04-01'":                "changes",
		"SELECT * FROM timeline WHERE time >= toDateTime64('2026-10-01', 3, 'UTC') AND time < now() + INTERVAL 50 YEAR": "changes", // as Grafana writes it
	} {
		read := indexed(t, c, sql, "Parts")
		for _, name := range strings.Fields(tables) {
			if parts := read[name]; !strings.HasPrefix(parts, "1/") {
				t.Errorf("%s reads %q partitions of %s", sql, parts, name)
			}
		}
	}
}

// indexed returns what EXPLAIN says that each table's last index leaves, which leaves the fewest: "Parts" or "Granules", as 2/25.
func indexed(t *testing.T, c *catalog.Catalog, sql, what string) map[string]string {
	t.Helper()
	left, table := map[string]string{}, ""
	for _, row := range rows(t, c, "EXPLAIN indexes = 1 "+sql) {
		line := strings.Trim(row[0].(string), " │└├─")
		if name, ok := strings.CutPrefix(line, "ReadFromMergeTree ("); ok {
			table = strings.TrimSuffix(name[strings.IndexByte(name, '.')+1:], ")")
		}
		if count, ok := strings.CutPrefix(line, what+": "); ok && strings.Contains(count, "/") {
			left[table] = count
		}
	}
	return left
}
