package loadgen

import (
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestVerifyFindsWhatIsWrong changes the rows of a right catalog one after another, as the user who writes them. After
// each change verify names it, and after each repair it is content again.
func TestVerifyFindsWhatIsWrong(t *testing.T) { // alone: the youngest rows are those of its run
	c := marked(t)
	server := harness.StartClickHouse(t)
	url := server.URL("kubevoltracker")
	tracker := harness.StartTracker(t, c.Kubeconfig, "--catalog.url="+url)
	file, _, _ := load(t, "", "--kube.kubeconfig="+c.Kubeconfig, "--rate=60", "--claims=10", "--pods=10", "--volumes=4")
	verify := func() (string, error) {
		out, _, err := run(t, "verify", "--file="+file, "--catalog.url="+url)
		return out, err
	}
	if out, err := verify(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tracker.Stop(t) // nobody writes any more
	owner, err := catalog.Open(catalog.Options{URL: url, Password: catalogtest.Password})
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	write := func(sql string) {
		t.Helper()
		result, err := owner.Run(background, sql, nil)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		result.Close()
	}
	const one, ours = " ORDER BY version DESC LIMIT 1", "WHERE namespace = 'kubevoltracker-loadgen'"
	const exact = ours + " AND ended_not_before = ended_at" // in a subquery: an alias would take the place of a column
	for _, c := range []struct{ name, insert, want string }{
		{"an end is a minute late", `INSERT INTO mounts SELECT * REPLACE (ended_at + 60 AS ended_at, version + 1 AS version) FROM mounts FINAL ` + ours + one, "wrong: mounts"},
		{"an end is 14 seconds late", `INSERT INTO mounts SELECT * REPLACE (ended_at + 14 AS ended_at, version + 1 AS version) FROM mounts FINAL ` + ours + one, "wrong: mounts"},
		{"an end may have been 14 seconds later", `INSERT INTO mounts SELECT * REPLACE (ended_at + 14 AS ended_at, ended_uncertainty + 14000000 AS ended_uncertainty, version + 1 AS version) FROM (SELECT * FROM mounts FINAL ` + exact + `)` + one, "wrong: mounts"},
		{"an end may have been in 1970", `INSERT INTO mounts SELECT * REPLACE (toUnixTimestamp64Micro(assumeNotNull(ended_at)) AS ended_uncertainty, version + 1 AS version) FROM mounts FINAL ` + ours + one, "wrong: mounts"},
		{"a start is 14 seconds late", `INSERT INTO mounts SELECT * REPLACE (started_at + 14 AS started_at, version + 1 AS version) FROM mounts FINAL ` + ours + one, "wrong: mounts"},
		{"a start may have been in 1970", `INSERT INTO mounts SELECT * REPLACE (toUnixTimestamp64Micro(started_at) AS started_uncertainty, version + 1 AS version) FROM mounts FINAL ` + ours + one, "wrong: mounts"},
		{"a deletion is 14 seconds late", `INSERT INTO claims SELECT * REPLACE (deleted_at + 14 AS deleted_at, deleted_not_before + 14 AS deleted_not_before, version + 1 AS version) FROM claims FINAL ` + ours + one, "wrong: claims"},
		{"a deletion may have been in 1970", `INSERT INTO claims SELECT * REPLACE (toDateTime64(0, 6, 'UTC') AS deleted_not_before, version + 1 AS version) FROM claims FINAL ` + ours + one, "wrong: claims"},
		{"a release may have been in 1970", `INSERT INTO bindings SELECT * REPLACE (toDateTime64(0, 6, 'UTC') AS released_not_before, version + 1 AS version) FROM bindings FINAL` + one, "wrong: bindings"},
		{"a use never ended", `INSERT INTO mounts SELECT * REPLACE (NULL AS ended_at, version + 1 AS version) FROM mounts FINAL ` + ours + one, "wrong: mounts"},
		{"a claim has another volume", `INSERT INTO claims SELECT * REPLACE ('other' AS volume_uid, version + 1 AS version) FROM claims FINAL ` + ours + one, "wrong: claims"},
		{"a size", `INSERT INTO volumes SELECT * REPLACE (capacity_bytes + 1 AS capacity_bytes, version + 1 AS version) FROM volumes FINAL WHERE startsWith(name, 'lg-')` + one, "wrong: volumes"},
		{"a name", `INSERT INTO pods SELECT * REPLACE ('x' AS name, version + 1 AS version) FROM pods FINAL ` + ours + one, "wrong: pods"},
		{"a pod that never was", `INSERT INTO pods SELECT * REPLACE ('invented' AS uid, version + 1 AS version) FROM pods FINAL ` + ours + one, "wrong: pods invented"},
		{"a container that never was", `INSERT INTO containers SELECT * REPLACE ('invented' AS name) FROM containers FINAL` + one, "wrong: containers"},
		{"a mount that never was", `INSERT INTO mounts SELECT * REPLACE ('invented' AS pod_uid, 'invented' AS claim_uid, 'invented' AS volume_uid) FROM mounts FINAL ` + ours + ` AND claim_name != ''` + one, "wrong: mounts invented"},
		{"a second mount of a volume", `INSERT INTO mounts SELECT * REPLACE ('/elsewhere' AS mount_path) FROM mounts FINAL ` + ours + one, "duplicated: mounts"},
		{"a second binding", `INSERT INTO bindings SELECT * REPLACE (ordinal + 1 AS ordinal) FROM bindings FINAL` + one, "duplicated: bindings"},
		{"a deletion may have been in 2099", `INSERT INTO claims SELECT * REPLACE (toDateTime64('2099-01-01 00:00:00', 6, 'UTC') AS deleted_at, version + 1 AS version) FROM claims FINAL ` + ours + one, "wrong: claims"},
		{"a container ended in 2099", `INSERT INTO containers SELECT * REPLACE (toDateTime64('2099-01-01 00:00:00', 6, 'UTC') AS finished_at, version + 1 AS version) FROM containers FINAL` + one, "wrong: containers"},
		{"a pod ended 14 seconds late", `INSERT INTO pods SELECT * REPLACE (finished_at + 14 AS finished_at, version + 1 AS version) FROM (SELECT * FROM pods FINAL ` + ours + ` AND (cluster, uid) IN (
			SELECT cluster, pod_uid FROM mounts WHERE ended_at = ended_not_before))` + one, "wrong: pods"},
		{"a mount in another namespace", `INSERT INTO mounts SELECT * REPLACE ('other' AS namespace, '/elsewhere' AS mount_path) FROM (SELECT * FROM mounts FINAL ` + ours + one + `)`, "duplicated: mounts"},
		{"a volume of the run before it began", `INSERT INTO volumes SELECT * REPLACE ('invented' AS uid, toDateTime64('2020-01-01 00:00:00', 6, 'UTC') AS deleted_at) FROM volumes FINAL WHERE startsWith(name, 'lg-')` + one, "wrong: volumes invented"},
		{"a claim in a second cluster", `INSERT INTO claims SELECT * REPLACE ('second' AS cluster) FROM claims FINAL ` + ours + one, "duplicated: claims"},
	} {
		table := strings.Fields(c.insert)[2]
		write("CREATE TABLE saved AS " + table)
		write("INSERT INTO saved SELECT * FROM " + table)
		write(c.insert)
		expect(t, verify, c.name, c.want)
		write("TRUNCATE TABLE " + table)
		write("INSERT INTO " + table + " SELECT * FROM saved")
		write("DROP TABLE saved SYNC")
	}
	write("CREATE TABLE saved AS claims")
	write("INSERT INTO saved SELECT * FROM claims")
	write("TRUNCATE TABLE claims")
	write("INSERT INTO claims SELECT * REPLACE (if(uid = (SELECT min(uid) FROM saved " + ours + "), 'second', cluster) AS cluster) FROM (SELECT * FROM saved FINAL)")
	expect(t, verify, "a claim in a second cluster alone", "under 2 clusters")
	write("TRUNCATE TABLE claims")
	write("INSERT INTO claims SELECT * FROM saved")
	write("DROP TABLE saved SYNC")
	write("CREATE TABLE saved AS mounts")
	write("INSERT INTO saved SELECT * FROM mounts")
	write("INSERT INTO mounts SELECT * REPLACE (ended_at + 8 AS ended_at, version + 1 AS version) FROM (SELECT * FROM saved FINAL " + exact + ")" + one)
	write("CREATE TABLE watched AS coverage")
	write("INSERT INTO watched SELECT * FROM coverage FINAL")
	write("INSERT INTO coverage SELECT * REPLACE ('second' AS cluster, addMilliseconds(started_at, 1) AS ended_at) FROM watched")
	write("INSERT INTO coverage SELECT * REPLACE ('second' AS cluster, now64(6) AS started_at, now64(6) AS seen_at) FROM watched")
	expect(t, verify, "a gap of another cluster", "wrong: mounts")
	write("TRUNCATE TABLE mounts")
	write("INSERT INTO mounts SELECT * FROM saved")
	write("TRUNCATE TABLE coverage")
	write("INSERT INTO coverage SELECT * FROM watched")
	write("DROP TABLE saved SYNC")
	write("DROP TABLE watched SYNC")
	for _, table := range []string{"pods", "claims", "volumes", "containers", "mounts", "bindings"} {
		write("CREATE TABLE saved AS " + table)
		write("INSERT INTO saved SELECT * FROM " + table)
		write("TRUNCATE TABLE " + table)
		write("INSERT INTO " + table + " SELECT * FROM saved FINAL ORDER BY version DESC LIMIT 1, 1000000")
		expect(t, verify, "a row less in "+table, "missing: "+table)
		write("TRUNCATE TABLE " + table)
		write("INSERT INTO " + table + " SELECT * FROM saved")
		write("DROP TABLE saved SYNC")
	}
	if out, err := verify(); err != nil {
		t.Errorf("after all repairs: %v\n%s", err, out)
	}
}

// expect runs verify, and wants it to fail with a line.
func expect(t *testing.T, verify func() (string, error), name, want string) {
	t.Helper()
	out, err := verify()
	if err == nil || !strings.Contains(out, want) {
		t.Errorf("%s: want %q, got %v\n%s", name, want, err, out)
	}
}
