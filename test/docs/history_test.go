package docs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/test/docs"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestOldHistoryIsDeletedByWholeKeys runs the statements of docs/operate.md on mounts that were written several times. An
// old version of a deleted row would be an open mount.
func TestOldHistoryIsDeletedByWholeKeys(t *testing.T) {
	c := catalogtest.OpenMigrated(t, engine)
	version := 0
	insert := func(pod, volume, ended string) {
		version++
		for _, sql := range []string{
			"INSERT INTO mounts (cluster, namespace, pod_uid, container, volume, mount_path, claim_uid, volume_uid, started_at, ended_at, version) VALUES ('east', 'shop', '%[1]s', 'main', 'data', '/data', 'claim-%[2]s', '%[2]s', '2025-01-01 00:00:00', %[3]s, %[4]d)",
			"INSERT INTO containers (cluster, pod_uid, name, finished_at, version) VALUES ('east', '%[1]s', 'main', %[3]s, %[4]d)",
			"INSERT INTO pods (cluster, namespace, uid, deleted_at, version) VALUES ('east', 'shop', '%[1]s', %[3]s, %[4]d)",
			"INSERT INTO objects (cluster, kind, uid, resource_version, observed_at, object) VALUES ('east', 'Pod', '%[1]s', '%[4]d', coalesce(%[3]s, '2025-01-01 00:00:00'), '{}')",
			"INSERT INTO changes (cluster, at, kind, uid, action) VALUES ('east', coalesce(%[3]s, '2025-01-01 00:00:00'), 'Pod', '%[1]s', 'mounted')",
			"INSERT INTO usage (cluster, namespace, at, volume_uid) VALUES ('east', 'shop', coalesce(%[3]s, '2025-01-01 00:00:00'), '%[2]s')",
		} {
			catalogtest.Rows(t, c, fmt.Sprintf(sql, pod, volume, ended, version))
		}
	}
	for _, pod := range []struct{ name, volume, ended string }{
		{"old", "v1", "'2025-05-01 00:00:00'"},
		{"last", "v1", "'2025-06-01 00:00:00'"},
		{"running", "v2", "NULL"},
		{"before", "v2", "'2025-05-01 00:00:00'"}, // the last one that has ended
		{"older", "v2", "'2025-04-01 00:00:00'"},
		{"recent", "v3", "'2026-05-01 00:00:00'"},
		{"replaced", "v3", "'2025-12-31 23:59:59'"},
	} {
		insert(pod.name, pod.volume, "NULL")
		insert(pod.name, pod.volume, pod.ended)
	}
	for _, sql := range []string{
		"INSERT INTO changes (cluster, at, kind, uid, action) VALUES ('east', '2025-05-01 00:00:00', 'PersistentVolume', 'released', 'released')",
		"INSERT INTO storage_capacity (cluster, storage_class, uid, at, capacity_bytes) VALUES ('east', 'fast', 'c1', '2025-01-01 00:00:00', 10)," +
			" ('east', 'fast', 'c1', '2025-06-01 00:00:00', 20), ('east', 'fast', 'c2', '2025-02-01 00:00:00', 30)," +
			" ('east', 'fast', 'c2', '2025-03-01 00:00:00', 40), ('east', 'fast', 'c2', '2026-05-01 00:00:00', 50)",
	} {
		catalogtest.Rows(t, c, sql)
	}
	const kept = "['before','last','recent','running']"
	lastUses := "SELECT toString(groupArray((volume_uid, ended))) FROM (SELECT volume_uid, max(ended_at) AS ended FROM mounts FINAL GROUP BY volume_uid ORDER BY volume_uid)"
	uses := ask(t, c, lastUses)
	n, stay := 0, "AND NOT ("+lastingChanges(t)+")"
	for _, s := range docs.Find(t, "docs/operate.md").Statements() {
		if s.Section == "Old history" {
			n++
			catalogtest.Rows(t, c, s.Text)
			text := strings.Join(strings.Fields(s.Text), " ")
			if strings.HasPrefix(text, "DELETE FROM changes ") && !strings.HasSuffix(text, stay) {
				t.Errorf("%v\ndoes not end with %s", s, stay)
			}
		}
	}
	if n < 8 {
		t.Errorf("only %d statements are found", n)
	}
	for sql, want := range map[string]string{
		"SELECT toString(arraySort(groupUniqArray(pod_uid))) FROM mounts":                        kept,
		"SELECT toString(arraySort(groupUniqArray(pod_uid))) FROM mounts FINAL":                  kept,
		"SELECT toString(groupUniqArray(pod_uid)) FROM mounts FINAL WHERE ended_at IS NULL":      "['running']",
		"SELECT toString(arraySort(groupUniqArray(uid))) FROM pods":                              kept,
		"SELECT toString(arraySort(groupUniqArray(pod_uid))) FROM containers":                    kept,
		"SELECT toString(arraySort(groupArray(uid))) FROM objects FINAL":                         kept,
		"SELECT toString(arraySort(groupUniqArray(uid))) FROM changes":                           "['recent','released']",
		"SELECT toString(groupArray(volume_uid)) FROM (SELECT volume_uid FROM usage ORDER BY 1)": "['v1','v2','v3','v3']",
		"SELECT toString(arraySort(groupArray((uid, capacity_bytes)))) FROM storage_capacity":    "[('c1',20),('c2',40),('c2',50)]",
		lastUses: uses,
	} {
		if got := ask(t, c, sql); got != want {
			t.Errorf("%s\n got %s\nwant %s", sql, got, want)
		}
	}
}

// lastingChanges returns the condition of package catalog for changes that never expire.
func lastingChanges(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile(harness.File(t, "catalog/retention.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, begins := strings.Cut(string(source), "\nconst lastingChanges = `")
	value, _, ends := strings.Cut(rest, "`\n\n")
	if !begins || !ends {
		t.Fatal("catalog/retention.go has no constant lastingChanges")
	}
	return strings.ReplaceAll(value, "` +\n\t`", "")
}
