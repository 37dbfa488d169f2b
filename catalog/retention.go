package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// Retention says for how long tables keep what is over, by the table's name. It is the whole policy: a table that it
// does not name keeps everything. A Retention without any entry is not the same as nil: nil leaves all tables as they are.
type Retention map[string]time.Duration

const (
	// shortestRetention leaves ClickHouse time to merge the versions of a row: see retained.versioned.
	shortestRetention = 30 * 24 * time.Hour
	// longestRetention is bounded by ClickHouse's DateTime, which ends in 2106.
	longestRetention = 50 * 365 * 24 * time.Hour
	// keepForever is how the flag says that a table keeps everything.
	keepForever = "forever"
)

// keptTables are the tables of which nothing may expire, with the reason.
var keptTables = map[string]string{
	"pods":                "its rows expire with the mounts; give mounts=DURATION",
	"containers":          "its rows expire with the mounts; give mounts=DURATION",
	"objects":             "a tracker restores its state from the last version of each object, however old that is; docs/operate.md says how to delete former versions by hand",
	"volumes":             "reports on old mounts need the names in it, and it is small",
	"claims":              "reports on old mounts need the names in it, and it is small",
	"bindings":            "reports on space need all of it, and it is small",
	"volume_uses":         "it has the last use of each volume, which idle times come from",
	"volume_states":       "it has the present state of each volume, and it is small",
	"volume_sources":      "reports on old mounts need the backends in it, and it is small",
	"owner_namespaces":    "reports read only the namespaces that it names, and it is small",
	"claimed_volumes":     "reports read only the volumes that it names, and it is small",
	"last_usage":          "it has one row per volume",
	"use_seconds_daily":   "it has the sums of what has expired",
	"use_seconds_monthly": "it has the sums of what has expired",
	"mounts_quarterly":    "it has sums that must not be gone before their mounts are, and it is small",
	"summed_quarters":     "it has one row per cluster",
	"byte_seconds_daily":  "it has the sums of what has expired, and it is small",
	"storage_classes":     "it is small",
	"namespaces":          "it is small",
	"volume_versions":     "it has former sizes and phases, and it is small",
	"unused_conditions":   "it has uses that nothing else shows, which idle times come from, and it is small",
	"coverage":            "without it reports would doubt times that were watched, and it is small",
	"checkpoints":         "it has one row per kind of objects",
	"catalog_rejects":     "a person has to look at its rows",
}

// Add adds entries to the retention, as the flag takes them: TABLE=DURATION with commas between them. A duration is
// written as Prometheus writes it (90d, 26w, 2y), or is "forever". Its errors name the cure.
func (r Retention) Add(text string) error {
	for entry := range strings.SplitSeq(text, ",") {
		table, lasts, ok := strings.Cut(strings.TrimSpace(entry), "=")
		if !ok {
			return fmt.Errorf("%q is not TABLE=DURATION, as mounts=2y; tables that can expire are %s", entry, expiringTables())
		}
		if err := mayExpire(table); err != nil {
			return err
		}
		if _, ok := r[table]; ok {
			return fmt.Errorf("%s is given twice; give it once", table)
		}
		d, err := parseRetained(lasts)
		if err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
		r[table] = d
	}
	return nil
}

func expiringTables() string {
	var names []string
	for _, t := range retainedTables {
		if !slices.Contains(names, t.flag) {
			names = append(names, t.flag)
		}
	}
	return strings.Join(names, ", ")
}

func mayExpire(table string) error {
	names := slices.Collect(maps.Keys(keptTables))
	for _, t := range retainedTables {
		if t.flag == table {
			return nil
		}
		names = append(names, t.flag)
	}
	if why, ok := keptTables[table]; ok {
		return fmt.Errorf("%s has no retention of its own: %s. Tables that can expire are %s", table, why, expiringTables())
	}
	hint := "tables that can expire are " + expiringTables()
	if meant, ok := Nearest(table, names); ok && mayExpire(meant) == nil {
		hint = "did you mean " + meant + "? " + hint
	}
	return fmt.Errorf("there is no table %q; %s", table, hint)
}

func parseRetained(text string) (time.Duration, error) {
	if text == keepForever {
		return 0, nil
	}
	d, err := model.ParseDuration(text)
	switch {
	case err != nil || d == 0:
		return 0, fmt.Errorf("%q is not a duration; write 90d, 26w or 2y, or forever", text)
	case time.Duration(d) < shortestRetention:
		return 0, fmt.Errorf("%s is too short, as ClickHouse needs time to merge the versions of a row; the shortest is 30d", text)
	case time.Duration(d) > longestRetention:
		return 0, fmt.Errorf("%s is too long for ClickHouse's times; the longest is 50y; to keep everything, write forever", text)
	}
	return time.Duration(d), nil
}

// lasting is a retention as the flag takes it.
func lasting(d time.Duration) string {
	if d == 0 {
		return keepForever
	}
	return model.Duration(d).String()
}

// retained is a table whose rows expire, and how.
type retained struct {
	table string
	flag  string // the name by which the flag has it
	// ttl is its TTL for a retention.
	ttl func(time.Duration) string
	// versioned: a row is written again when it changes, so an older version of it may be in another part. If ClickHouse deleted
	// the ended version first, the older one would show a use that goes on for ever. So all parts of a partition are merged before
	// the table gets its TTL. After that ClickHouse merges all parts that are older than a day (the settings below), and a row
	// stays for a month at least after its last version was written.
	versioned bool
	// settings of the table while it has a TTL, and those that it has in the schema; an empty one is ClickHouse's default.
	settings []tableSetting
}

type tableSetting struct{ name, retaining, usual string }

// A TTL deletes single rows, for which ClickHouse writes their part anew. By default it does so every four hours.
var ttlDaily = tableSetting{"merge_with_ttl_timeout", "86400", ""}

// mergedDaily has ClickHouse merge parts that are older than min_age_to_force_merge_seconds also while new ones come.
var mergedDaily = tableSetting{"min_age_to_force_merge_on_partition_only", "0", "1"}

// podsStayLonger is how much longer pods stay than their mounts, so that no mount is left without the name of its pod: the pod's
// row can be written last before its mounts'.
const podsStayLonger = 31 * 24 * time.Hour

// retainedTables are the tables that can expire. Containers have no time of deletion, so they have no TTL: see sweepContainers.
var retainedTables = []retained{
	{table: "mounts", flag: "mounts", ttl: ending("ended_at"), versioned: true, settings: []tableSetting{mergedDaily, ttlDaily}},
	{table: "pods", flag: "mounts", ttl: func(d time.Duration) string { return ending("deleted_at")(d + podsStayLonger) }, versioned: true,
		settings: []tableSetting{mergedDaily, ttlDaily}},
	{table: "attachments", flag: "attachments", ttl: ending("detached_at"), versioned: true,
		settings: []tableSetting{{"min_age_to_force_merge_seconds", "86400", ""}, ttlDaily}},
	{table: "changes", flag: "changes", ttl: func(d time.Duration) string {
		return "if(" + lastingChanges + ", " + endOfTime + ", " + after("toUnixTimestamp64Micro(at)", d) + ")"
	}, settings: []tableSetting{ttlDaily}},
	{table: "usage", flag: "usage", ttl: rollingUp("cluster, namespace, volume_uid",
		"claim_uid", "capacity_bytes", "used_bytes", "available_bytes", "inodes", "inodes_used"), settings: []tableSetting{ttlDaily}},
	{table: "storage_capacity", flag: "storage_capacity", ttl: rollingUp("cluster, storage_class, topology, uid",
		"driver", "capacity_bytes", "maximum_volume_bytes", "resource_version"), settings: []tableSetting{ttlDaily}},
}

// lastingChanges are the changes that never expire, because something still needs them: RestoreCatalog, to know which Nodes and
// CSIDrivers are gone; space_daily, space, resizes and diff, to know former sizes and phases; orphans, to know since when a claim
// is Lost; and blocked, to know since when a claim waits for its deletion. That one row per claim stays also when the claim is gone,
// as the claim's row in claims does: a TTL cannot look into another table.
const lastingChanges = `kind IN ('Node', 'CSIDriver') AND action = 'deleted' OR action IN ('resized', 'resize_requested')` +
	` OR kind = 'PersistentVolumeClaim' AND (action = 'deleting' OR action = 'phase' AND endsWith(details, 'Lost'))` +
	` OR kind = 'PersistentVolume' AND action IN ('phase', 'released')`

// endOfTime is the last moment of a DateTime, in 2106. A row that stays has it as the time at which it expires. A condition
// (TTL … WHERE) would not do: ClickHouse would write parts anew for rows that it then keeps.
const endOfTime = "toDateTime(4294967295, 'UTC')"

const endOfTimeMicros = 4294967295_000000

// after returns the DateTime that is a duration after a moment in microseconds. A result after endOfTime becomes endOfTime.
func after(micros string, d time.Duration) string {
	return fmt.Sprintf("toDateTime(intDiv(greatest(0, least(%s, %d)), 1000000) + %d, 'UTC')", micros, endOfTimeMicros-d.Microseconds(), int64(d/time.Second))
}

// ending is the TTL of rows with an end. Rows without one stay. A row also stays for as long after its last version was
// written: see retained.versioned. Versions are microseconds since 1970, and an absurd one does not overflow.
func ending(column string) func(time.Duration) string {
	return func(d time.Duration) string {
		last := fmt.Sprintf("greatest(toUnixTimestamp64Micro(assumeNotNull(%s)), toInt64(least(version, %d)))", column, endOfTimeMicros)
		return fmt.Sprintf("if(isNull(%s), %s, %s)", column, endOfTime, after(last, d))
	}
}

// rollingUp is the TTL of samples, of which a row is written only when a value changes: of the expired rows with one key, the
// last one stays, as its values hold until the next row. ClickHouse reads them in the order of the sorting key, which is that of
// at; argMax would pass over NULL.
func rollingUp(key string, columns ...string) func(time.Duration) string {
	return func(d time.Duration) string {
		sets := make([]string, 0, len(columns)+1)
		for _, c := range columns {
			sets = append(sets, fmt.Sprintf("%s = anyLast_respect_nulls(%[1]s)", c))
		}
		return after("toUnixTimestamp64Micro(at)", d) + " GROUP BY " + key + " SET " + strings.Join(append(sets, "at = max(at)"), ", ")
	}
}
