package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog"
)

// schemaTable is a table or a view as ClickHouse describes it.
type schemaTable struct {
	name, comment      string
	engine             string // with its parameters, as ReplacingMergeTree(version)
	key, partition     string
	columns            []schemaColumn
	indexed            []string // the columns of its data skipping indexes
	isView, isInternal bool
}

type schemaColumn struct{ name, kind, comment string }

// column returns the column of a name, or nil.
func (table *schemaTable) column(name string) *schemaColumn {
	if i := slices.IndexFunc(table.columns, func(c schemaColumn) bool { return c.name == name }); i >= 0 {
		return &table.columns[i]
	}
	return nil
}

// readSchema returns the tables and views of a catalog by name. The table of the migrations, and the view that fills
// last_usage are internal: nobody asks them.
func readSchema(t *testing.T, c *catalog.Catalog) map[string]*schemaTable {
	t.Helper()
	tables := map[string]*schemaTable{}
	for _, row := range rows(t, c, `SELECT name, comment, extract(engine_full, '^\\w+(?:\\([^)]*\\))?'), sorting_key, partition_key, engine
		FROM system.tables WHERE database = currentDatabase()`) {
		table := &schemaTable{name: row[0].(string), comment: row[1].(string), engine: row[2].(string), key: row[3].(string), partition: row[4].(string)}
		table.isView, table.isInternal = row[5] == "View", row[5] == "MaterializedView" || table.name == "schema_migrations"
		tables[table.name] = table
	}
	for _, row := range rows(t, c, "SELECT table, name, type, comment FROM system.columns WHERE database = currentDatabase() ORDER BY table, position") {
		table := tables[row[0].(string)]
		table.columns = append(table.columns, schemaColumn{row[1].(string), row[2].(string), row[3].(string)})
	}
	for _, row := range rows(t, c, "SELECT table, expr FROM system.data_skipping_indices WHERE database = currentDatabase() ORDER BY table, expr") {
		table := tables[row[0].(string)]
		table.indexed = append(table.indexed, row[1].(string))
	}
	return tables
}

// TestSchemaIsCommented checks that each table, view and column has a comment; that the comment says what NULL means where a
// column can be NULL, and the unit of sizes and durations.
func TestSchemaIsCommented(t *testing.T) {
	tables := readSchema(t, migrated(t))
	if len(tables) < 25 {
		t.Errorf("only %d tables and views are found", len(tables))
	}
	for _, table := range tables {
		if table.isInternal {
			continue
		}
		if table.comment == "" {
			t.Errorf("%s has no comment", table.name)
		}
		if !table.isView && !strings.HasSuffix(table.comment, " Read with FINAL.") {
			t.Errorf("the comment of %s does not say how to read it: %q", table.name, table.comment)
		}
		for _, column := range table.columns {
			for _, needs := range column.needs() {
				if !strings.Contains(column.comment, needs) {
					t.Errorf("the comment of %s.%s does not say %q: %q", table.name, column.name, needs, column.comment)
				}
			}
			if column.comment == "" {
				t.Errorf("%s.%s has no comment", table.name, column.name)
			}
		}
	}
}

// needs are words that the comment of a column has to contain.
func (c *schemaColumn) needs() (words []string) {
	if strings.HasPrefix(c.kind, "Nullable(") {
		words = append(words, "NULL")
	}
	for suffix, unit := range map[string]string{"_bytes": "bytes", "_seconds": "seconds"} {
		if strings.HasSuffix(c.name, suffix) {
			words = append(words, unit)
		}
	}
	if c.kind == "Bool" {
		words = append(words, "true")
	}
	return words
}

// joins are the columns of the tables that refer to another table, whose column it is. The column cluster is to be equal, too.
var joins = []struct{ table, column, to, toColumn, what string }{
	{"mounts", "pod_uid", "pods", "uid", "the pod"},
	{"mounts", "pod_uid", "containers", "pod_uid", "the container, also with `container` = `name`"},
	{"mounts", "claim_uid", "claims", "uid", "the claim, if the pod names one"},
	{"mounts", "volume_uid", "volumes", "uid", "the volume, if there is one; else that of the claim"},
	{"mounts", "source_id", "volume_sources", "id", "the backing store"},
	{"containers", "pod_uid", "pods", "uid", "the pod"},
	{"claims", "volume_uid", "volumes", "uid", "the volume that the claim is bound to"},
	{"claims", "pod_uid", "pods", "uid", "the pod of an ephemeral claim"},
	{"volumes", "claim_uid", "claims", "uid", "the claim that the volume is bound to or was released from"},
	{"volumes", "source_id", "volume_sources", "id", "the backing store"},
	{"volume_uses", "volume_uid", "volumes", "uid", "the volume"},
	{"volume_uses", "last_pod_uid", "pods", "uid", "the pod that used it last"},
	{"volume_states", "volume_uid", "volumes", "uid", "the volume"},
	{"volume_states", "claim_uid", "claims", "uid", "the claim"},
	{"bindings", "claim_uid", "claims", "uid", "the claim"},
	{"bindings", "volume_uid", "volumes", "uid", "the volume"},
	{"attachments", "volume_uid", "volumes", "uid", "the volume"},
	{"usage", "claim_uid", "claims", "uid", "the claim"},
	{"usage", "volume_uid", "volumes", "uid", "the volume"},
	{"last_usage", "claim_uid", "claims", "uid", "the claim"},
	{"last_usage", "volume_uid", "volumes", "uid", "the volume"},
	{"volume_versions", "volume_uid", "volumes", "uid", "the volume"},
	{"unused_conditions", "claim_uid", "claims", "uid", "the claim"},
	{"use_seconds_daily", "claim_uid", "claims", "uid", "the claim"},
	{"use_seconds_daily", "volume_uid", "volumes", "uid", "the volume"},
	{"use_seconds_monthly", "claim_uid", "claims", "uid", "the claim"},
	{"use_seconds_monthly", "volume_uid", "volumes", "uid", "the volume"},
	{"mounts_quarterly", "claim_uid", "claims", "uid", "the claim"},
	{"mounts_quarterly", "volume_uid", "volumes", "uid", "the volume"},
	{"mounts_quarterly", "source_id", "volume_sources", "id", "the backing store"},
}

// TestJoinsExist checks that the joins name columns that exist, have the same type, and include each UID of another object.
func TestJoinsExist(t *testing.T) {
	tables, known := readSchema(t, migrated(t)), map[string]bool{}
	for _, j := range joins {
		known[j.table+"."+j.column] = true
		from, to := tables[j.table].column(j.column), tables[j.to].column(j.toColumn)
		if from == nil || to == nil || from.kind != to.kind {
			t.Errorf("%s.%s does not join %s.%s: %v, %v", j.table, j.column, j.to, j.toColumn, from, to)
		}
	}
	for _, table := range tables {
		for _, column := range table.columns {
			refers := strings.HasSuffix(column.name, "_uid") || strings.HasSuffix(column.name, "_id")
			if name := table.name + "." + column.name; refers && !known[name] && !table.isView && !table.isInternal && name != "pods.workload_uid" {
				t.Errorf("%s joins no table", name)
			}
		}
	}
}
