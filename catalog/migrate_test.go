package catalog_test

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

func TestMigrateCreatesTheDatabaseAndMayRunAgain(t *testing.T) {
	c := openCatalog(t)
	before, err := c.SchemaVersions(t.Context())
	if err != nil || before.Current != 0 || before.Pending() != before.Latest {
		t.Fatalf("before: %+v, %v", before, err)
	}
	var applied [][]any
	for range 2 {
		if err := c.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		v, err := c.SchemaVersions(t.Context())
		if err != nil || v.Current != v.Latest || v.Pending() != 0 {
			t.Fatalf("after: %+v, %v", v, err)
		}
		tables := rows(t, c, "SELECT name, toString(uuid), toString(metadata_modification_time), total_rows FROM system.tables WHERE database = currentDatabase() ORDER BY name")
		if applied != nil && !reflect.DeepEqual(tables, applied) {
			t.Errorf("the second Migrate changed\n%v into\n%v", applied, tables)
		}
		applied = tables
	}
}

func TestMigrateByManyTrackersAtOnce(t *testing.T) {
	var wait sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		c := openCatalog(t)
		wait.Go(func() { errs[i] = c.Migrate(t.Context()) })
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, openCatalog(t), "SELECT count() FROM mounts"); got[0][0] != uint64(0) {
		t.Fatal(got)
	}
}

// A later kubevoltracker made the schema, or an unreleased one, which had 22 migrations.
func TestMigrateRefusesASchemaThatItDoesNotKnow(t *testing.T) {
	c := migrated(t)
	for _, version := range []string{"3", "22"} {
		rows(t, c, "INSERT INTO schema_migrations (version_id, is_applied) VALUES ("+version+", 1)")
		err := c.Migrate(t.Context())
		if !catalog.IsReason(err, catalog.NewerSchema) || !catalog.IsFatal(err) {
			t.Fatalf("got %v", err)
		}
		for _, part := range []string{
			"holds schema version " + version + " in database", "knows up to version 2;",
			"use the newer kubevoltracker", "drop the database and empty --data-dir",
		} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
	}
}

func TestMigrateKeepsRowsWhenItsOwnTableIsLost(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", &fact.Facts{Volumes: []fact.Volume{{UID: "v1", Version: 1}}})
	rows(t, c, "DROP TABLE schema_migrations SYNC")
	if err := c.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, c, "SELECT uid FROM volumes"); !reflect.DeepEqual(got, [][]any{{"v1"}}) {
		t.Fatal(got)
	}
}

func TestAnObjectsRowsAreFoundByItsUIDAlone(t *testing.T) {
	c := migrated(t)
	keys := map[string]bool{}
	for _, row := range rows(t, c, "SELECT concat(table, '.', expr) FROM system.data_skipping_indices WHERE database = currentDatabase() AND type = 'bloom_filter'") {
		keys[row[0].(string)] = true
	}
	for _, row := range rows(t, c, "SELECT concat(name, '.', splitByString(', ', sorting_key)[2]) FROM system.tables WHERE database = currentDatabase()") {
		keys[row[0].(string)] = true
	}
	for _, column := range []string{
		"volumes.uid", "volumes.claim_uid", "claims.uid", "claims.volume_uid", "pods.uid", "containers.pod_uid",
		"mounts.pod_uid", "mounts.claim_uid", "mounts.volume_uid", "mounts.source_id",
		"bindings.claim_uid", "bindings.volume_uid", "volume_sources.id", "storage_classes.uid", "changes.uid",
	} {
		if !keys[column] {
			t.Errorf("%s has neither an index nor a place in the key", column)
		}
	}
}

func TestSchemaIsPlainSQL(t *testing.T) {
	text, err := catalog.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text, "CREATE TABLE IF NOT EXISTS"); n != reflect.TypeFor[fact.Facts]().NumField()+11 { // catalog_rejects, last_usage, owner_namespaces, claimed_volumes, volume_versions, unused_conditions and the five of rollups are no tables of facts
		t.Errorf("%d tables", n)
	}
	if strings.Contains(text, "goose") || strings.Contains(text, catalog.DefaultDatabase+".") {
		t.Errorf("it names the tool or the database:\n%s", text)
	}
}
