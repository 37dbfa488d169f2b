package catalog_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// schemaPage is made by this test with -update.
const schemaPage = "../docs/schema.md"

// shownView is what docs/schema.md says of a view beside what ClickHouse knows of it. The answer to sample must not depend on
// the time of the test.
type shownView struct{ name, sample, note string }

var shownViews = []shownView{
	{
		"current_mounts",
		"SELECT namespace, claim, pod, workload, mount_path, started_at\nFROM current_mounts\nORDER BY started_at",
		"It reads little, also without a condition.\n",
	},
	{
		"mount_history",
		"SELECT pod, workload, owner, started_at, ended_at, end_reason\nFROM mount_history\nWHERE namespace = 'shop' AND claim = 'data'\nORDER BY started_at",
		historyNote,
	},
	{
		"current_claims",
		"SELECT namespace, claim, persistentvolume, in_use,\n    formatReadableSize(capacity_bytes) AS capacity, formatReadableSize(used_bytes) AS used\n" +
			"FROM current_claims\nORDER BY capacity_bytes DESC",
		"A condition on `namespace` reads little.\n",
	},
	{
		"current_volumes",
		"SELECT persistentvolume, phase, namespace, claim, backend, in_use, last_used_at, last_workload\nFROM current_volumes\nORDER BY persistentvolume",
		"",
	},
	{
		"idle_volumes",
		"SELECT volume, state, idle_since, namespace, claim, formatReadableSize(capacity_bytes) AS capacity, last_workload\n" +
			"FROM idle_volumes\nWHERE idle_since < now() - INTERVAL 14 DAY\nORDER BY idle_since",
		"[queries.md](queries.md#idle) has the report.\n",
	},
	{
		"space_daily",
		"SELECT day, sum(claims) AS claims,\n    formatReadableSize(sum(requested_bytes)) AS requested, formatReadableSize(sum(capacity_bytes)) AS capacity\n" +
			"FROM space_daily\nWHERE namespace = 'shop' AND day BETWEEN '2026-01-14' AND '2026-01-17'\nGROUP BY day\nORDER BY day",
		"A namespace and class without claims and volumes has no row for that day. A condition on `namespace` reads less; one on `day` does not,\n" +
			"because each day is the sum of all changes before.\n",
	},
	{
		"timeline",
		"SELECT time, text\nFROM timeline\nWHERE time >= '2026-01-01' AND time < '2026-03-01'\nORDER BY time",
		"A condition on `time` reads the months that match. For an annotation in Grafana: `SELECT time, text FROM timeline WHERE $__timeFilter(time)`.\n",
	},
}

const historyNote = `Give it a condition: without one it reads all of the history.

- ` + "`namespace`" + ` reads little, and ` + "`cluster` and `claim`" + ` with it still less: they are the beginning of the key.
- ` + "`pod_created_at`" + ` reads the quarters that match. Give it beside other times: ` + "`WHERE started_at > now() - INTERVAL 1 DAY AND pod_created_at > now() - INTERVAL 60 DAY`" + `
  leaves out the pods that are older than 60 days.
- ` + "`pod_uid`" + ` has an index.
- All others look at each mount, ` + "`persistentvolume`" + `, too. The mounts by the claim that the volume has now are found by the key:

` + "```sql" + `
SELECT pod, workload, started_at, ended_at
FROM mount_history
WHERE (cluster, namespace, claim) IN (SELECT cluster, namespace, claim FROM current_volumes WHERE persistentvolume = 'pv-data')
ORDER BY started_at
` + "```" + `

`

// shownTables are the tables in the order of the page.
var shownTables = []string{
	"mounts", "pods", "containers", "claims", "volumes", "bindings", "volume_sources", "volume_uses", "volume_states", "usage", "last_usage", "use_seconds_daily", "use_seconds_monthly", "byte_seconds_daily", "mounts_quarterly", "summed_quarters", "owner_namespaces", "claimed_volumes",
	"attachments", "storage_classes", "storage_capacity", "namespaces", "changes", "objects", "volume_versions", "unused_conditions", "coverage", "checkpoints", "catalog_rejects",
}

const schemaHead = `# Views and tables

<!-- Made from the migrations by ` + "`make docs`" + `: the comments are in catalog/migrations. -->

For people who write SQL. [Views](#views) answer the usual questions with the names already joined: begin there. The [tables](#tables)
have everything. [catalog.md](catalog.md) says from where to ask (curl, Grafana, Go), and what the times and bounds mean.

A first query, from a terminal where the tracker runs, and from one with kubectl:

` + "```sh" + `
kubevoltracker sql "SELECT namespace, claim, pod, workload, started_at FROM current_mounts ORDER BY started_at LIMIT 10"
kubectl exec --namespace kubevoltracker kubevoltracker-0 -c kubevoltracker -- \
  kubevoltracker sql "SELECT namespace, claim, pod, workload, started_at FROM current_mounts ORDER BY started_at LIMIT 10"
` + "```" + `

- **Times** are UTC with microseconds: ` + "`DateTime64(6, 'UTC')`" + `. Sizes are bytes; ` + "`formatReadableSize`" + ` makes them readable.
- **NULL** is in ` + "`Nullable(…)`" + ` only: ` + "`ended_at IS NULL`" + ` means that the use lasts. A text that is missing is empty, not NULL.
- ` + "**`LowCardinality(String)`**" + ` is a String that ClickHouse stores as a number. In SQL there is no difference.
- **` + "`cluster`" + `** is in each view and table. If the catalog has several clusters, names repeat among them: give ` + "`cluster = '…'`" + `, or group by it.

The answers below are those of ` + "`kubevoltracker sql`" + `, which writes ` + "`-`" + ` for NULL and for an empty text, on a small history that the tests know:
` + "`catalog/past_test.go`" + ` draws it.

`

const tablesHead = `## Tables

**Read them with ` + "`FINAL`" + `.** The tracker writes a row that changes again, and ClickHouse replaces the older one in its own time. Until then both are
there, and only ` + "`FINAL`" + ` shows the last one alone: ` + "`SELECT count() FROM mounts FINAL`" + `. The setting ` + "`final = 1`" + ` does so for all tables of
a statement, and ` + "`kubevoltracker sql`" + ` always sets it. Views need neither.

**A condition on the first columns of the key reads little.** So does one on the column of the partition, of which ClickHouse reads the months or quarters
that match. An index skips rows for a condition on its column: ` + "`pod_uid = '…'`" + `.

**` + "`SELECT *`" + ` leaves out the columns that are computed**: ` + "`started_not_before`" + ` and ` + "`ended_not_before`" + ` of ` + "`mounts`" + `, and ` + "`deleted_not_before`" + ` of ` + "`pods`" + `. Name
them, or add the setting ` + "`asterisk_include_alias_columns = 1`" + `, as ` + "`kubevoltracker sql`" + ` does without ` + "`--write`" + `. The views have them as all others.

Rows stay for ever, unless ` + "`--catalog.retention`" + ` says otherwise: [operate.md](operate.md#old-history).

`

// joinsHead is followed by a table with the joins.
const joinsHead = `### How tables join

By the UID and ` + "`cluster`" + `: a name can belong to one object after another, a UID to one only.

` + "```sql" + `
SELECT m.namespace, p.name AS pod, m.container, m.mount_path, k.name AS claim, v.name AS persistentvolume, m.started_at
FROM mounts AS m FINAL
JOIN pods AS p FINAL ON p.cluster = m.cluster AND p.namespace = m.namespace AND p.created_at = m.pod_created_at AND p.uid = m.pod_uid
LEFT JOIN claims AS k FINAL ON k.cluster = m.cluster AND k.namespace = m.namespace AND k.uid = m.claim_uid
LEFT JOIN volumes AS v FINAL ON v.cluster = m.cluster AND v.uid = m.volume_uid
WHERE m.cluster = 'east' AND m.namespace = 'shop' AND m.ended_at IS NULL
` + "```" + `

The namespace and the creation of the pod in the conditions do not change the answer. They are in the keys of both tables, so ClickHouse applies
the condition on ` + "`m.namespace`" + ` to ` + "`pods`" + ` and ` + "`claims`" + `, too.

| column | is | |
|---|---|---|
`

// TestSchemaPage compares docs/schema.md with the views and tables after the migrations, and with what the samples are answered.
func TestSchemaPage(t *testing.T) {
	c := migrated(t)
	facts := team()
	for _, pod := range facts.Pods {
		facts.Containers = append(facts.Containers, fact.Container{
			Version: 1, Namespace: pod.Namespace, PodCreatedAt: pod.CreatedAt, PodUID: pod.UID, Name: "main", Kind: fact.MainContainer,
		})
	}
	write(t, c, "east", facts)
	tables := readSchema(t, c)
	var page strings.Builder
	page.WriteString(schemaHead)
	page.WriteString("## Views\n\n| view | question |\n|---|---|\n")
	for _, view := range shownViews {
		question, _, _ := strings.Cut(tables[view.name].comment, "?")
		fmt.Fprintf(&page, "| [`%[1]s`](#%[1]s) | %s? |\n", view.name, question)
	}
	asker := reader(t, nil)
	for _, view := range shownViews {
		page.WriteString(viewSection(t, asker, view, tables[view.name]))
		delete(tables, view.name)
	}
	page.WriteString("\n" + tablesHead + "| table | rows |\n|---|---|\n")
	var sections strings.Builder
	for _, name := range shownTables {
		fmt.Fprintf(&page, "| [`%[1]s`](#%[1]s) | %s |\n", name, rowOf(tables[name]))
		sections.WriteString(tableSection(tables[name]))
		delete(tables, name)
	}
	page.WriteString("\n" + joinsHead)
	for _, j := range joins {
		fmt.Fprintf(&page, "| `%s.%s` | `%s.%s` | %s |\n", j.table, j.column, j.to, j.toColumn, j.what)
	}
	page.WriteString(sections.String())
	for name, table := range tables {
		if !table.isInternal {
			t.Errorf("the page does not have %s", name)
		}
	}
	if *update {
		if err := os.WriteFile(schemaPage, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	is, err := os.ReadFile(schemaPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(is) != page.String() {
		t.Errorf("%s is out of date: run `make docs`", filepath.Clean(schemaPage))
	}
}

// viewSection is what the page says of a view.
func viewSection(t *testing.T, c *catalog.Catalog, view shownView, table *schemaTable) string {
	t.Helper()
	if table == nil {
		t.Fatalf("there is no view %s", view.name)
	}
	result, err := c.Query(t.Context(), view.sample, nil)
	if err != nil {
		t.Fatal(err)
	}
	var answer strings.Builder
	if err := result.Write(&answer, catalog.TableFormat); err != nil {
		t.Fatal(err)
	}
	if strings.Count(answer.String(), "\n") < 2 {
		t.Errorf("the sample of the view %s has no rows", view.name)
	}
	note := view.note
	if note != "" {
		note += "\n"
	}
	return fmt.Sprintf("\n### %s\n\n%s\n\n```sql\n%s\n```\n\n```\n%s```\n\n%s%s",
		view.name, table.comment, view.sample, answer.String(), strings.ReplaceAll(note, "\n\n\n", "\n\n"), columnsOf(table))
}

// tableSection is what the page says of a table.
func tableSection(table *schemaTable) string {
	text := fmt.Sprintf("\n### %s\n\n%s.\n\n- Key: %s. %s\n", table.name, rowOf(table), codes(strings.Split(table.key, ", ")), shownByFinal(table.engine))
	spans := []struct{ function, name string }{{"toYYYYMM(toStartOfQuarter(", "quarter"}, {"toYYYYMM(", "month"}, {"toYear(", "year"}}
	if i := slices.IndexFunc(spans, func(s struct{ function, name string }) bool { return strings.HasPrefix(table.partition, s.function) }); i >= 0 {
		text += fmt.Sprintf("- Partition: the %s of `%s`.\n", spans[i].name, strings.TrimRight(table.partition[len(spans[i].function):], ")"))
	}
	if len(table.indexed) > 0 {
		text += fmt.Sprintf("- Indexes: %s.\n", codes(table.indexed))
	}
	return text + "\n" + columnsOf(table)
}

// codes are words in code, with commas between them.
func codes(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }

// shownByFinal says which of several rows with the same key FINAL shows.
func shownByFinal(engine string) string {
	if version, ok := strings.CutPrefix(engine, "ReplacingMergeTree("); ok {
		return "`FINAL` shows the row with the highest `" + strings.TrimSuffix(version, ")") + "`."
	}
	if engine == "AggregatingMergeTree" {
		return "`FINAL` merges the copies of a row, and shows the earliest `observed_at`."
	}
	return "A row never changes; `FINAL` leaves out its copies."
}

// rowOf is what a row of a table is.
func rowOf(table *schemaTable) string {
	return strings.TrimSuffix(strings.TrimSuffix(table.comment, " Read with FINAL."), ".")
}

func columnsOf(table *schemaTable) string {
	var text strings.Builder
	text.WriteString("| column | type | meaning |\n|---|---|---|\n")
	for _, column := range table.columns {
		fmt.Fprintf(&text, "| `%s` | `%s` | %s |\n", column.name, column.kind, strings.ReplaceAll(column.comment, "|", `\|`))
	}
	return text.String()
}
