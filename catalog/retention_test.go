package catalog_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

const aDay = 24 * time.Hour

func TestRetentionAdd(t *testing.T) {
	for text, want := range map[string]string{
		"mounts=2y":                             "mounts=2y",
		"usage=90d, changes=26w,mounts=forever": "changes=26w,mounts=forever,usage=90d",
		"storage_capacity=30d":                  "storage_capacity=30d",
		"mounts=1y1w":                           "mounts=372d",
		"attachments=50y":                       "attachments=50y",
		"mounts":                                `"mounts" is not TABLE=DURATION, as mounts=2y; tables that can expire are mounts, attachments, changes, usage, storage_capacity`,
		"":                                      `"" is not TABLE=DURATION, as mounts=2y; tables that can expire are mounts, attachments, changes, usage, storage_capacity`,
		"mounts=29d":                            "mounts: 29d is too short, as ClickHouse needs time to merge the versions of a row; the shortest is 30d",
		"mounts=51y":                            "mounts: 51y is too long for ClickHouse's times; the longest is 50y; to keep everything, write forever",
		"mounts=0":                              `mounts: "0" is not a duration; write 90d, 26w or 2y, or forever`,
		"mounts=ever":                           `mounts: "ever" is not a duration; write 90d, 26w or 2y, or forever`,
		"mounts=1y,mounts=2y":                   "mounts is given twice; give it once",
		"mount=1y":                              `there is no table "mount"; did you mean mounts? tables that can expire are mounts, attachments, changes, usage, storage_capacity`,
		"volume=1y":                             `there is no table "volume"; tables that can expire are mounts, attachments, changes, usage, storage_capacity`,
		"pods=1y":                               "pods has no retention of its own: its rows expire with the mounts; give mounts=DURATION. Tables that can expire are mounts, attachments, changes, usage, storage_capacity",
		"objects=1y":                            "objects has no retention of its own: a tracker restores its state from the last version of each object, however old that is; docs/operate.md says how to delete former versions by hand. Tables that can expire are mounts, attachments, changes, usage, storage_capacity",
	} {
		r := catalog.Retention{}
		err := r.Add(text)
		got := catalog.Entries(r)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
}

// Each table of the schema can expire, or says why not.
func TestEachTableHasARetentionOrAReason(t *testing.T) {
	for _, row := range rows(t, migrated(t), "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND name != 'schema_migrations'") {
		if err := (catalog.Retention{}).Add(row[0].(string) + "=1y"); err != nil && !strings.Contains(err.Error(), "has no retention of its own: ") {
			t.Error(err)
		}
	}
}

// retain applies a retention, checks that it changes nothing the second time, and waits for ClickHouse to apply it to what exists.
func retain(t *testing.T, c *catalog.Catalog, text string) string {
	t.Helper()
	r := catalog.Retention{}
	if text != "" {
		if err := r.Add(text); err != nil {
			t.Fatal(err)
		}
	}
	changes, err := c.Retain(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	mutated(t, c)
	if again, err := c.Retain(t.Context(), r); err != nil || len(again) > 0 {
		t.Errorf("the second time: %v, %v", again, err)
	}
	mutated(t, c)
	return strings.Trim(fmt.Sprint(changes), "[]")
}

// mutated waits until the rows that exist are changed.
func mutated(t *testing.T, c *catalog.Catalog) {
	t.Helper()
	const unfinished = "SELECT table, command, latest_fail_reason FROM system.mutations WHERE database = currentDatabase() AND NOT is_done"
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := rows(t, c, unfinished)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(left)
		}
	}
}

// definitions are how ClickHouse has the tables.
func definitions(t *testing.T, c *catalog.Catalog) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, row := range rows(t, c, "SELECT name, engine_full FROM system.tables WHERE database = currentDatabase()") {
		all[row[0].(string)] = row[1].(string)
	}
	return all
}

func TestRetainSetsAndRemovesTTLs(t *testing.T) {
	c := migrated(t)
	usual := definitions(t, c)
	if got, want := retain(t, c, "mounts=2y,usage=90d"), "mounts: retention 2y, before forever pods: retention 2y, before forever usage: retention 90d, before forever"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for table, engine := range definitions(t, c) {
		if has, want := strings.Contains(engine, " TTL "), slices.Contains([]string{"mounts", "pods", "usage"}, table); has != want {
			t.Errorf("%s: %s", table, engine)
		}
	}
	// No retention at all leaves everything as it is, as `schema migrate` without the flag does.
	if changes, err := c.Retain(t.Context(), nil); changes != nil || err != nil {
		t.Error(changes, err)
	}
	if got, want := retain(t, c, "mounts=1y,usage=90d,attachments=1y,changes=1y,storage_capacity=1y"),
		"mounts: retention 1y, before 2y pods: retention 1y, before 2y attachments: retention 1y, before forever changes: retention 1y, before forever storage_capacity: retention 1y, before forever"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got, want := retain(t, c, "mounts=1y,attachments=forever,storage_capacity=1y"),
		"attachments: retention forever, before 1y changes: retention forever, before 1y usage: retention forever, before 90d"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got, want := retain(t, c, ""),
		"mounts: retention forever, before 1y pods: retention forever, before 1y storage_capacity: retention forever, before 1y"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if now := definitions(t, c); !reflect.DeepEqual(now, usual) {
		t.Errorf("the tables are now\n%v, and were\n%v", now, usual)
	}
}

func TestRetainLeavesTheTTLsOfOthers(t *testing.T) {
	c := migrated(t)
	rows(t, c, "ALTER TABLE changes MODIFY TTL toDateTime(at) + INTERVAL 5 YEAR")
	before := definitions(t, c)
	if got := retain(t, c, "changes=forever"); got != "" {
		t.Error(got)
	}
	_, err := c.Retain(t.Context(), catalog.Retention{"changes": 365 * aDay})
	if err == nil || !strings.Contains(err.Error(), "has a TTL on the table that kubevoltracker has not set: toDateTime(at) + toIntervalYear(5); remove it by ALTER TABLE changes REMOVE TTL, or leave changes out of --catalog.retention") {
		t.Errorf("got %v", err)
	}
	if now := definitions(t, c); now["changes"] != before["changes"] {
		t.Error(now["changes"])
	}
}

// began is when the tests began, by the clock of ClickHouse.
var began = time.Now()

// ago is a moment so many days before the tests began.
func ago(days int) fact.Time { return fact.At(began.Add(-time.Duration(days) * aDay)) }

// written is the version of a row that was written then.
func written(at fact.Time) uint64 { return uint64(at) }

// An end is written as another version of the row. If it expired from its own part, the version before would show again.
func TestARetentionRevivesNoMount(t *testing.T) {
	c := migrated(t)
	rows(t, c, "SYSTEM STOP MERGES mounts")
	insert := func(pod string, ended fact.Time, version uint64) {
		end := "NULL"
		if ended != 0 {
			end = fmt.Sprintf("fromUnixTimestamp64Micro(%d)", ended)
		}
		rows(t, c, fmt.Sprintf(`INSERT INTO mounts (cluster, namespace, pod_created_at, pod_uid, container, volume, started_at, ended_at, version)
			SELECT 'east', 'shop', fromUnixTimestamp64Micro(%[1]d), '%[2]s', 'main', 'data', fromUnixTimestamp64Micro(%[1]d), %[3]s, %[4]d`, ago(800), pod, end, version))
	}
	insert("over", 0, written(ago(800)))
	insert("over", ago(700), written(ago(700)))
	insert("written late", 0, written(ago(800)))
	insert("written late", ago(700), written(ago(100)))
	insert("running", 0, written(ago(800)))
	if got := rows(t, c, "SELECT uniqExact(_part) FROM mounts SETTINGS final = 0"); got[0][0] != uint64(5) {
		t.Fatal(got)
	}
	rows(t, c, "SYSTEM START MERGES mounts")
	if got := retain(t, c, "mounts=1y"); got == "" {
		t.Error(got)
	}
	want := [][]any{{"running", uint8(1)}, {"written late", uint8(0)}}
	if got := rows(t, c, "SELECT pod_uid, isNull(ended_at) FROM mounts ORDER BY pod_uid"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}

	// ClickHouse was away for longer than the retention: it gets the end of a mount when that has expired already.
	rows(t, c, "SYSTEM STOP MERGES mounts")
	insert("late", 0, written(ago(800)))
	rows(t, c, "SYSTEM START MERGES mounts")
	insert("late", ago(500), written(ago(500)))
	for _, pod := range []string{"late", "running"} {
		deleted := "NULL"
		if pod == "late" {
			deleted = fmt.Sprintf("fromUnixTimestamp64Micro(%d)", ago(380))
		}
		rows(t, c, fmt.Sprintf(`INSERT INTO pods (cluster, namespace, uid, created_at, deleted_at, version)
			SELECT 'east', 'shop', '%s', fromUnixTimestamp64Micro(%d), %s, 1`, pod, ago(800), deleted))
	}
	retain(t, c, "mounts=1y")
	rows(t, c, "OPTIMIZE TABLE mounts FINAL")
	if got := rows(t, c, "SELECT pod_uid, isNull(ended_at) FROM mounts ORDER BY pod_uid"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A quarter whose parts keep coming must be merged, too, as the end of a mount has to meet the versions before it.
func TestARetentionMergesTheOldPartsOfABusyQuarter(t *testing.T) {
	c := migrated(t)
	retain(t, c, "mounts=1y")
	// Three seconds in place of a day, and no merge but those of old parts.
	rows(t, c, "ALTER TABLE mounts MODIFY SETTING min_age_to_force_merge_seconds = 3, min_parts_to_merge_at_once = 100000")
	insert := func(i int) {
		rows(t, c, fmt.Sprintf(`INSERT INTO mounts (cluster, namespace, pod_created_at, pod_uid, container, volume, started_at, version)
			SELECT 'east', 'shop', '2026-01-02 00:00:00', concat('%d-', toString(number)), 'main', 'data', '2026-01-02 00:00:00', 1 FROM numbers(if(%[1]d = 0, 100000, 1))`, i))
	}
	insert(0)
	insert(1)
	const first = "SELECT count() FROM mounts WHERE pod_uid IN ('0-0', '1-0') GROUP BY _part SETTINGS final = 0"
	for i, deadline := 2, time.Now().Add(30*time.Second); len(rows(t, c, first)) > 1; i++ {
		if time.Now().After(deadline) {
			t.Fatal("the large part and the small one are still apart")
		}
		insert(i)
		time.Sleep(200 * time.Millisecond)
	}
}

// olden is a cluster with a long history. What is over by 400 days expires within a year.
func olden() *fact.Facts {
	volume := func(uid, claim, phase string) fact.Volume {
		v := volumeOf(uid, "fast", "csi:1", "claim-"+claim, phase, 10)
		v.CreatedAt = ago(800)
		return v
	}
	claim := func(name, volume string, bound int) fact.Claim {
		c := claimOf(name, "fast", volume, 10)
		c.CreatedAt, c.BoundAt = ago(bound), ago(bound)
		return c
	}
	pod := func(name string, deleted int) fact.Pod {
		p := podOf("shop", name, "StatefulSet", name)
		p.CreatedAt, p.StartedAt, p.Node = ago(700), ago(700), "n1"
		if deleted > 0 {
			p.DeletedAt, p.DeletedNotBefore, p.FinishedAt, p.Phase = ago(deleted), ago(deleted), ago(deleted), "Succeeded"
		}
		return p
	}
	mount := func(pod, claim, volume string, ended int) fact.Mount {
		m := mountOf(pod, "data", claim, "csi:1", volume, ago(700))
		m.PodCreatedAt = ago(700)
		if ended > 0 {
			m = endedMount(m, ago(ended), ago(ended), "Completed")
		}
		return m
	}
	container := func(pod, name string, finished int) fact.Container {
		c := fact.Container{Version: 1, Namespace: "shop", PodCreatedAt: ago(700), PodUID: "pod-" + pod, Name: name, Kind: fact.MainContainer, StartedAt: ago(700)}
		if finished > 0 {
			c.FinishedAt = ago(finished)
		}
		return c
	}
	f := &fact.Facts{
		VolumeSources: []fact.VolumeSource{{ID: "csi:1", Kind: "csi", Driver: "ebs.csi.aws.com", Path: "vol-1"}},
		Volumes:       []fact.Volume{volume("idle", "idle", "Bound"), volume("used", "used", "Bound"), volume("anew", "anew", "Bound"), volume("lost", "lost", "Available")},
		Claims:        []fact.Claim{claim("idle", "idle", 800), claim("used", "used", 800), claim("former", "", 800), claim("anew", "anew", 600), claim("unused", "", 800), claim("lost", "", 800)},
		Bindings: []fact.Binding{
			{Version: 1, ClaimUID: "claim-former", VolumeUID: "anew", BoundAt: ago(800), ReleasedAt: ago(650), ReleasedNotBefore: ago(650)},
			{Version: 1, ClaimUID: "claim-anew", VolumeUID: "anew", BoundAt: ago(600)},
		},
		Pods:       []fact.Pod{pod("idle", 410), pod("used", 0), pod("former", 660), pod("anew", 420), pod("recent", 20)},
		Containers: []fact.Container{container("idle", "main", 410), container("used", "main", 0), container("used", "init", 690), container("former", "main", 660), container("anew", "main", 420), container("recent", "main", 20)},
		Mounts: []fact.Mount{
			mount("idle", "idle", "idle", 410), mount("used", "used", "used", 0), mount("former", "former", "anew", 660), mount("anew", "anew", "anew", 420),
			mount("recent", "used", "used", 20),
		},
		Attachments: []fact.Attachment{
			{Version: 1, UID: "over", VolumeUID: "idle", Node: "n1", AttachedAt: ago(700), DetachedAt: ago(410)},
			{Version: 1, UID: "attached", VolumeUID: "used", Node: "n1", AttachedAt: ago(700)},
		},
	}
	f.Claims[2].DeletedAt, f.Claims[2].DeletedNotBefore = ago(650), ago(650)
	f.Claims[5].Phase = "Lost"
	for _, days := range []int{700, 600, 500, 400, 20} {
		size := measured("used", ago(days), int64(80-days/10), 10)
		f.Usage = append(f.Usage, size)
		f.StorageCapacity = append(f.StorageCapacity, fact.StorageCapacity{At: ago(days), UID: "capacity", StorageClass: "fast", Driver: "ebs.csi.aws.com", CapacityBytes: int64(days) * gib})
	}
	f.Usage = append(f.Usage, measured("idle", ago(700), 1, 1), measured("idle", ago(450), 7, 1))
	f.StorageCapacity = append(f.StorageCapacity, fact.StorageCapacity{At: ago(500), UID: "full", StorageClass: "fast", Driver: "ebs.csi.aws.com", Topology: "full", CapacityBytes: gib},
		fact.StorageCapacity{At: ago(500), UID: "gone", StorageClass: "fast", Driver: "ebs.csi.aws.com", Topology: "gone", CapacityBytes: gib},
		fact.StorageCapacity{At: ago(450), UID: "gone", StorageClass: "fast", Driver: "ebs.csi.aws.com", Topology: "gone", Gone: true})
	f.Changes = []fact.Change{
		{At: ago(700), Kind: "Pod", UID: "pod-idle", Namespace: "shop", Name: "idle", Action: fact.Mounted},
		{At: ago(410), Kind: "Pod", UID: "pod-idle", Namespace: "shop", Name: "idle", Action: fact.Deleted},
		{At: ago(20), Kind: "Pod", UID: "pod-recent", Namespace: "shop", Name: "recent", Action: fact.Unmounted},
		{At: ago(450), Kind: "Node", UID: "node-gone", Name: "gone", Action: fact.Deleted},
		{At: ago(450), Kind: "PersistentVolumeClaim", UID: "claim-used", Namespace: "shop", Name: "used", Action: fact.ResizeRequested, Details: "5Gi → 10Gi"},
		{At: ago(450), Kind: "PersistentVolume", UID: "used", Name: "pv-used", Action: fact.Resized, Details: "5Gi → 10Gi"},
		{At: ago(450), Kind: "PersistentVolumeClaim", UID: "claim-lost", Namespace: "shop", Name: "lost", Action: fact.Phase, Details: "Bound → Lost"},
		{At: ago(450), Kind: "PersistentVolumeClaim", UID: "claim-used", Namespace: "shop", Name: "used", Action: fact.Phase, Details: "Pending → Bound"},
		{At: ago(440), Kind: "PersistentVolumeClaim", UID: "claim-used", Namespace: "shop", Name: "used", Action: fact.Deleting, Details: "held back by kubernetes.io/pvc-protection"},
	}
	return f
}

// answers are what reports and views say.
func answers(t *testing.T, c *catalog.Catalog) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, of := range []string{
		"idle volume", "idle state", "idle last_used_at", "idle last_pod", "idle used_bytes", "never-mounted claim", "left-behind persistentvolume",
		"orphans name", "orphans reason", "orphans orphaned_since", "orphans last_pod", "space namespace", "space requested_bytes", "space used_bytes",
		"static unchanged_since", "filling growth_per_day_bytes", "rightsize max_used_bytes", "rightsize max_used_at",
		"capacity capacity_bytes", "capacity reported_at", "resizes size", "counts count", "blocked claim", "blocked waits_since",
	} {
		report, cell, _ := strings.Cut(of, " ")
		all[of] = column(t, c, report, cell, map[string][]string{"static": {"min-unchanged=1d"}, "resizes": {"since=800d"}}[report]...)
	}
	all["mounts"] = column(t, c, "mounts", "pod", "running=true")
	for view, sql := range map[string]string{
		"current_mounts": "SELECT * FROM current_mounts", "current_claims": "SELECT * FROM current_claims", "current_volumes": "SELECT * FROM current_volumes",
		"idle_volumes": "SELECT * EXCEPT (idle_seconds, observed_seconds) FROM idle_volumes", "space_daily": "SELECT * FROM space_daily",
	} {
		all[view] = fmt.Sprint(rows(t, c, "SELECT * FROM ("+sql+") ORDER BY ALL"))
	}
	return all
}

// notesOfARetention checks which reports say that rows may have expired.
func notesOfARetention(t *testing.T, c *catalog.Catalog) {
	t.Helper()
	for flags, want := range map[string]string{
		"mounts":         " the table mounts may lack rows: --catalog.retention=mounts=1y",
		"find name=used": " the table mounts may lack rows: --catalog.retention=mounts=1y", "left-behind": "mounts=1y", "left-behind at=300d": "mounts=1y",
		"ephemeral": "", "ephemeral since=300d": "", "ephemeral since=2y": "mounts=1y", "blocked": "", "stranded": "",
		"mounts since=300d": "", "idle at=300d": "mounts=1y", "never-mounted at=300d": "mounts=1y", "orphans": "", "counts at=300d": "", "mounts at=400d": "mounts=1y", "users volume=pv-used since=2y": "mounts=1y", "space at=2y": "usage=1y", "space": "", "idle": "", "resizes since=2y": "changes=1y",
	} {
		words := strings.Fields(flags)
		result, err := c.RunReport(t.Context(), words[0], flagsOf(words[1:]), 0)
		if err != nil {
			t.Fatal(err)
		}
		for result.Next() {
		}
		notes, err := result.Notes()
		if text := strings.Join(notes, "\n"); err != nil || !strings.Contains(text, want) || want == "" && strings.Contains(text, "may lack rows") {
			t.Errorf("%s: notes %q, %v; want %q", flags, notes, err, want)
		}
		result.Close()
	}
}

// Reports on the present, and the sums of the past, are the same after details have expired.
func TestReportsAfterARetention(t *testing.T) {
	migrated(t)
	c, err := catalog.Open(catalog.Options{URL: "http://" + sharedAddress + "/" + t.Name(), Username: catalogtest.User, Password: catalogtest.Password})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	write(t, c, "east", olden())
	before := answers(t, c)
	retain(t, c, "mounts=1y,changes=1y,usage=1y,storage_capacity=1y,attachments=1y")
	after := answers(t, c)
	for name, was := range before {
		if was == "" && name != "left-behind persistentvolume" && !strings.HasPrefix(name, "filling") {
			t.Errorf("%s was empty", name)
		}
		if after[name] != was {
			t.Errorf("%s: it was\n%s\nand is\n%s", name, was, after[name])
		}
	}
	for table, want := range map[string]string{
		"mounts": "pod-recent,pod-used", "pods": "pod-recent,pod-used", "containers": "pod-recent,pod-used", "attachments": "attached",
		"changes": "claim-lost,claim-used,node-gone,pod-recent,used", "usage": "idle 1,used 2", "storage_capacity": "capacity 2,full 1,gone 1",
	} {
		key := map[string]string{"mounts": "pod_uid", "containers": "pod_uid", "usage": "volume_uid"}[table]
		if key == "" {
			key = "uid"
		}
		if table == "usage" || table == "storage_capacity" {
			key = "concat(" + key + ", ' ', toString(count() OVER (PARTITION BY " + key + ")))"
		}
		if got := rows(t, c, "SELECT arrayStringConcat(arraySort(groupUniqArray(key)), ',') FROM (SELECT "+key+" AS key FROM "+table+")"); got[0][0] != want {
			t.Errorf("%s has %v, want %s", table, got[0][0], want)
		}
	}
	notesOfARetention(t, c)
	if got := rows(t, c, "SELECT count() FROM containers"); got[0][0] != uint64(3) { // an init container that was done two years ago is of a pod that lives
		t.Errorf("%v containers", got)
	}
	if got := rows(t, c, "SELECT used_bytes, inodes_used FROM usage WHERE volume_uid = 'idle'"); !reflect.DeepEqual(got, [][]any{{int64(7 * gib), int64(1)}}) {
		t.Errorf("the last row of usage is %v", got)
	}
}

// TestALongerRetentionRevivesNoSums sums up mounts of two namespaces, has them expire, all of one namespace and not all of the other, and
// then ends the retention. The quarter's sums do not count any more, for either namespace.
func TestALongerRetentionRevivesNoSums(t *testing.T) {
	migrated(t)
	c, err := catalog.Open(catalog.Options{URL: "http://" + sharedAddress + "/" + t.Name(), Username: catalogtest.User, Password: catalogtest.Password})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f := &fact.Facts{}
	for _, use := range []struct {
		namespace, name string
		ended           int
	}{{"lab", "gone", 500}, {"shop", "over", 500}, {"shop", "runs", 0}} {
		claim, pod := claimOf(use.name, "fast", use.name, 1), podOf(use.namespace, use.name, "Deployment", use.name)
		claim.Namespace, pod.CreatedAt = use.namespace, ago(700)
		m := mountOf(use.name, "data", use.name, "csi:1", use.name, ago(700))
		m.Namespace, m.PodCreatedAt = use.namespace, ago(700)
		if use.ended > 0 {
			m = endedMount(m, ago(use.ended), ago(use.ended), "Completed")
		}
		f.Claims, f.Pods, f.Mounts = append(f.Claims, claim), append(f.Pods, pod), append(f.Mounts, m)
	}
	write(t, c, "east", f)
	rollUp := func(seen int, first string) {
		t.Helper()
		rows(t, c, fmt.Sprintf(`INSERT INTO coverage (cluster, instance, kind, started_at, seen_at, version)
			SELECT 'east', 'a', arrayJoin(['Pod', 'PersistentVolumeClaim', 'PersistentVolume']), fromUnixTimestamp64Micro(%d), fromUnixTimestamp64Micro(%d), %[2]d`, ago(800), ago(seen)))
		rows(t, c, "INSERT INTO byte_seconds_daily (cluster, day, version) SELECT 'east', toDate(max(seen_at)) - 1, 1 FROM coverage") // no day has to be summed up
		if _, err := c.RollUp(t.Context(), "east"); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(rows(t, c, "SELECT "+first+" FROM summed_quarters FINAL")); got != "[[1]]" {
			t.Errorf("%s is %s", first, got)
		}
	}
	used := func(want string) {
		t.Helper()
		if got := column(t, c, "history", "claim", "since=3y"); got != want {
			t.Errorf("history has the claims %s, want %s", got, want)
		}
	}
	rollUp(4, "first_quarter = toDate(0)")
	used("runs,gone,over")
	if got := rows(t, c, "SELECT count() FROM mounts_quarterly FINAL WHERE pods > 0"); got[0][0] != uint64(3) {
		t.Errorf("%v sums", got)
	}
	retain(t, c, "mounts=1y")
	rollUp(3, "first_quarter BETWEEN today() - INTERVAL 1 YEAR AND today() - INTERVAL 250 DAY")
	used("runs")
	retain(t, c, "mounts=forever")
	rollUp(2, "first_quarter BETWEEN today() - INTERVAL 1 YEAR AND today() - INTERVAL 250 DAY")
	used("runs")
}
