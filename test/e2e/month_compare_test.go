package e2e

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
	"github.com/kubevoltracker/kubevoltracker/test/truth"
)

// expectTruth waits until the catalog says what the audit log does. Events may still be under way, in the cluster or
// to the catalog. Nothing happened while the tracker was away, but it cannot know that.
func (m *month) expectTruth(t *testing.T, p *harness.Tracker, away truth.Gaps, when string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(500 * time.Millisecond) {
		if err := m.log.Read(); err != nil {
			t.Fatal(err)
		}
		err := m.log.AgreesWith(m.c, ofTheMonth)
		if err == nil {
			want := truth.Of(m.log, ofTheMonth)
			rows, different := compareAll(want, p)
			uses, wrong, failed := want.CompareUses(t, p, away)
			if err = errors.Join(different, failed, want.Explain(wrong)); err == nil {
				t.Logf("%s: %s; volumes: %s", when, rows, uses)
				return
			}
		}
		if time.Now().After(deadline) {
			t.Errorf("%s: %v", when, err)
			return
		}
	}
}

// monthTables returns the queries of all that could belong to the month: by namespace, by label, and by reference.
func monthTables(volumes []string) []truth.Table {
	const (
		ours   = "startsWith(namespace, 'month-')"
		claims = "(SELECT uid FROM claims WHERE " + ours + ")"
	)
	isVolume := "(mapContains(labels, 'month') OR claim_uid IN " + claims + " OR uid IN ('" + strings.Join(volumes, "', '") + "'))"
	both := "(uid IN " + claims + " OR uid IN (SELECT uid FROM volumes WHERE " + isVolume + "))"
	return []truth.Table{
		{Name: "mount", Key: 4, SQL: `SELECT pod_uid, container, volume, mount_path, sub_path, read_only, block_device, source_kind, claim_uid, claim_name, volume_uid,
			started_at, ended_at, ended_not_before, ended_at = ended_not_before AS exact FROM mounts WHERE ` + ours},
		{Name: "binding", Key: 3, SQL: `SELECT claim_uid, volume_uid, ordinal, namespace, claim_name, bound_at, released_at, released_not_before FROM bindings
			WHERE claim_uid IN ` + claims + ` OR volume_uid IN (SELECT uid FROM volumes WHERE ` + isVolume + `)`},
		{Name: "phase", Key: 3, SQL: `SELECT uid, multiIf(action = 'bound', 'Bound', action = 'released', 'Released', splitByString(' → ', details)[2]) AS phase,
			row_number() OVER (PARTITION BY uid, phase ORDER BY at) AS n, at
			FROM changes WHERE action IN ('bound', 'phase', 'released') AND ` + both},
		{Name: "size", Key: 2, SQL: `SELECT uid, details, at FROM changes WHERE action = 'resized' AND ` + both},
		{Name: "modification", Key: 2, SQL: `SELECT uid, details, at FROM changes WHERE action = 'modified' AND ` + both},
		{Name: "volume", Key: 1, SQL: `SELECT uid, name, phase, phase_changed_at, claim_uid, capacity_bytes, source_kind, created_at, deleted_at FROM volumes WHERE ` + isVolume},
		{Name: "claim", Key: 1, SQL: `SELECT uid, namespace, name, phase, volume_name, volume_uid, requested_bytes, capacity_bytes, created_at, bound_at, deleted_at,
			ephemeral, workload_kind, workload_name FROM claims WHERE ` + ours},
		{Name: "container", Key: 2, SQL: `SELECT pod_uid, name, image, started_at, finished_at, restarts FROM containers
			WHERE pod_uid IN (SELECT uid FROM pods WHERE ` + ours + `)`},
		{Name: "namespace", Key: 1, SQL: `SELECT uid, name, created_at, deleted_at FROM namespaces WHERE startsWith(name, 'month-')`},
		{Name: "attachment", Key: 1, SQL: `SELECT uid, volume_uid, node, attached_at, detached_at FROM attachments
			WHERE volume_uid IN (SELECT uid FROM volumes WHERE ` + isVolume + `)`},
		{Name: "pod", Key: 1, SQL: `SELECT uid, namespace, name, phase, created_at, started_at, deleted_at FROM pods WHERE ` + ours},
	}
}

// compareAll compares the tables of the catalog with the truth. Its error lists all that differs.
func compareAll(want *truth.Truth, p *harness.Tracker) (summary string, err error) {
	var all truth.Difference
	var expected []string
	rows := 0
	for _, table := range monthTables(slices.Sorted(maps.Keys(want.Facts["volume"]))) {
		found, err := rowsOfTable(p, table)
		if err != nil {
			return "", err
		}
		rows += len(found)
		expected = append(expected, fmt.Sprintf("%d %ss", len(want.Facts[table.Name]), table.Name))
		v := want.Facts.Compare(table.Name, found)
		all.Missing = append(all.Missing, v.Missing...)
		all.Invented = append(all.Invented, v.Invented...)
		all.Wrong = append(all.Wrong, v.Wrong...)
	}
	summary = fmt.Sprintf("%s expected, %d found, %d missing, %d invented, %d wrong",
		strings.Join(expected, ", "), rows, len(all.Missing), len(all.Invented), len(all.Wrong))
	if len(all.Missing)+len(all.Invented)+len(all.Wrong) == 0 {
		return summary, nil
	}
	var text strings.Builder
	for _, list := range []struct {
		title string
		lines []string
	}{{"missing", all.Missing}, {"invented", all.Invented}, {"wrong", all.Wrong}} {
		for _, line := range list.lines {
			fmt.Fprintf(&text, "\n%s: %s", list.title, line)
		}
	}
	return summary, errors.New(summary + want.Named(text.String()))
}

// rowsOfTable asks the catalog for a table, and returns its rows by key and column.
func rowsOfTable(p *harness.Tracker, table truth.Table) (map[string]map[string]string, error) {
	lines, err := p.Query(table.SQL + " FORMAT TSVWithNames")
	if err != nil {
		return nil, err
	}
	columns := strings.Split(lines[0], "\t")
	rows := map[string]map[string]string{}
	for _, line := range lines[1:] {
		values := strings.Split(line, "\t")
		row := map[string]string{}
		for i, column := range columns {
			row[column] = values[i]
		}
		rows[strings.Join(values[:table.Key], " ")] = row
	}
	return rows, nil
}
