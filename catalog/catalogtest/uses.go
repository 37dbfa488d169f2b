package catalogtest

import (
	_ "embed"
	"fmt"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog"
)

//go:embed volume_uses.sql
var volumeUses string

// SumUpUses fills volume_uses from the mounts, for tests that write mounts without an inventory, which does both.
func SumUpUses(t testing.TB, c *catalog.Catalog) {
	t.Helper()
	result, err := c.Run(t.Context(), `INSERT INTO volume_uses (cluster, volume_uid, in_use, last_ended_at, last_ended_not_before, last_namespace, last_pod_uid,
		last_pod, last_workload_kind, last_workload_name, version)
		SELECT *, toUnixTimestamp64Micro(now64(6)) FROM (`+volumeUses+`) SETTINGS final = 1`, nil)
	if err != nil {
		t.Fatal(err)
	}
	result.Close()
}

// CheckUses compares volume_uses with the mounts of a cluster.
func CheckUses(t testing.TB, c *catalog.Catalog) {
	t.Helper()
	const columns = `cluster, volume_uid, in_use, last_ended_at, last_ended_not_before, last_namespace, last_pod_uid, last_pod,
		last_workload_kind, last_workload_name`
	const kept = `(SELECT ` + columns + ` FROM volume_uses WHERE in_use OR last_ended_at IS NOT NULL)`
	for name, sql := range map[string]string{
		"not what the mounts say": `SELECT ` + columns + ` FROM ` + kept + ` EXCEPT SELECT ` + columns + ` FROM (` + volumeUses + `)`,
		"missing":                 `SELECT ` + columns + ` FROM (` + volumeUses + `) EXCEPT SELECT ` + columns + ` FROM ` + kept,
	} {
		result, err := c.Query(t.Context(), sql, nil)
		if err != nil {
			t.Fatal(err)
		}
		for result.Next() {
			t.Errorf("a row of volume_uses is %s: %s", name, fmt.Sprint(result.Row()...))
		}
		if err := result.Err(); err != nil {
			t.Error(err)
		}
		result.Close()
	}
}
