package catalogtest

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog"
)

//go:embed volume_uses.sql
var volumeUses string

//go:embed volume_states.sql
var volumeStates string

// states returns the query of volumeStates.
func states(t testing.TB) string {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	watched, err := os.ReadFile(filepath.Join(filepath.Dir(here), "..", "reports", "watched.sql"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(volumeStates, "{{watched.sql}}", string(watched))
}

// SumUp fills volume_uses and volume_states from the other tables, for tests that write these without an inventory, which does all
// of it.
func SumUp(t testing.TB, c *catalog.Catalog) {
	t.Helper()
	for _, fill := range []string{ // the second one reads what the first one writes
		`volume_uses (` + useColumns + `, version) SELECT ` + useColumns + `, toUnixTimestamp64Micro(now64(6)) FROM (` + volumeUses + `)`,
		`volume_states (` + stateColumns + `, version) SELECT ` + stateColumns + `, toUnixTimestamp64Micro(now64(6)) FROM (` + states(t) + `)`,
	} {
		result, err := c.Run(t.Context(), "INSERT INTO "+fill+" SETTINGS final = 1, join_use_nulls = 0", nil)
		if err != nil {
			t.Fatal(err)
		}
		result.Close()
	}
}

const (
	useColumns = `cluster, volume_uid, in_use, last_ended_at, last_ended_not_before, last_namespace, last_pod_uid, last_pod,
		last_workload_kind, last_workload_name`
	stateColumns = `cluster, volume_uid, name, phase, status, idle_since, unused_since, claim_uid, claim_namespace, claim_name, owner, groups, storage_class,
		reclaim_policy, capacity_bytes`
)

// CheckSums compares volume_uses and volume_states with the other tables, and returns an error that lists the rows that differ.
// While a tracker writes, a moment may show some tables of a batch without the others. It does not compare
//   - status and idle_since of a volume that is pending: the mounts do not say that;
//   - idle_since of one that is available or failed, which no report shows, or never_mounted, which before Kubernetes 1.28 is the
//     earliest that it can have been bound;
//   - whose a volume was that is deleted.
func CheckSums(t testing.TB, c *catalog.Catalog) error {
	t.Helper()
	var differences []error
	const (
		kept    = `(SELECT ` + useColumns + ` FROM volume_uses WHERE in_use OR last_ended_at IS NOT NULL)`
		pending = `(cluster, volume_uid) IN (SELECT cluster, volume_uid FROM volume_states WHERE status = 'pending')`
		without = `* REPLACE (if(` + pending + `, 'pending', status) AS status,
			if(status IN ('available', 'failed', 'never_mounted') OR ` + pending + `, NULL, idle_since) AS idle_since,
			if(status = 'deleted', '', toString(owner)) AS owner, if(status = 'deleted', [], groups) AS groups)`
	)
	got, want := `SELECT `+without+` FROM (SELECT `+stateColumns+` FROM volume_states)`, `SELECT `+without+` FROM (SELECT `+stateColumns+` FROM (`+states(t)+`))`
	for name, sql := range map[string]string{
		"volume_uses is not what the mounts say":   `SELECT ` + useColumns + ` FROM ` + kept + ` EXCEPT SELECT ` + useColumns + ` FROM (` + volumeUses + `)`,
		"volume_uses is missing":                   `SELECT ` + useColumns + ` FROM (` + volumeUses + `) EXCEPT SELECT ` + useColumns + ` FROM ` + kept,
		"volume_states is not what the others say": got + ` EXCEPT ` + want,
		"volume_states is missing":                 want + ` EXCEPT ` + got,
	} {
		result, err := c.Query(t.Context(), sql, nil)
		if err != nil {
			t.Fatal(err)
		}
		for result.Next() {
			differences = append(differences, fmt.Errorf("a row of %s: %v", name, result.Row()))
		}
		differences = append(differences, result.Err())
		result.Close()
	}
	return errors.Join(differences...)
}
