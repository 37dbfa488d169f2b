package ingest

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestDeclaredColumnsEqualTheSchema(t *testing.T) {
	c := migrated(t)
	for _, table := range tables() {
		var have []string
		for _, row := range rows(t, c, "SELECT name, comment, default_kind FROM system.columns WHERE database = currentDatabase() AND table = '"+table.name+"' ORDER BY position") {
			if row[2] == "" || row[2] == "DEFAULT" { // ClickHouse computes the others
				have = append(have, row[0].(string))
			}
			if row[1] == "" {
				t.Errorf("%s.%s has no comment", table.name, row[0])
			}
		}
		if !reflect.DeepEqual(have, table.columns) {
			t.Errorf("%s: the schema has\n%v, declared are\n%v", table.name, have, table.columns)
		}
	}
}

// TestKeysOfTables compares the keys by which rows replace each other with those of ClickHouse. In some tables, a
// number such as claim_key, which ClickHouse computes, stands for cluster and claim_uid.
func TestKeysOfTables(t *testing.T) {
	c := migrated(t)
	for _, table := range tables() {
		if table.keep == nil {
			continue
		}
		of := rows(t, c, "SELECT sorting_key FROM system.tables WHERE database = currentDatabase() AND name = '"+table.name+"'")
		theirs := strings.Split(strings.ReplaceAll(of[0][0].(string), "_key", "_uid"), ", ")
		ours := append([]string{"cluster"}, table.key...)
		slices.Sort(theirs)
		slices.Sort(ours)
		if !slices.Equal(ours, theirs) {
			t.Errorf("%s: ClickHouse has %s, and we %s", table.name, theirs, ours)
		}
	}
}
