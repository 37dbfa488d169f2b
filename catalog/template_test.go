package catalog_test

import (
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog"
)

// Conditions that always hold are not in the SQL that ClickHouse analyses and people read.
func TestWithoutTrue(t *testing.T) {
	for _, test := range []struct{ sql, want string }{
		{"SELECT 1 FROM t WHERE true", "SELECT 1 FROM t"},
		{"FROM t\nWHERE true\nORDER BY a", "FROM t\nORDER BY a"},
		{"FROM t WHERE true AND a = 1", "FROM t WHERE a = 1"},
		{"FROM t\nWHERE true\n  AND true\n  AND a = 1", "FROM t\nWHERE a = 1"},
		{"FROM t WHERE a = 1\n  AND true AND b = 2", "FROM t WHERE a = 1 AND b = 2"},
		{"FROM t WHERE a = 1 AND true", "FROM t WHERE a = 1"},
		{"FROM (SELECT b FROM t WHERE true) WHERE a IN (SELECT b FROM t WHERE true AND true)", "FROM (SELECT b FROM t) WHERE a IN (SELECT b FROM t)"},
		{"PREWHERE true", "PREWHERE true"},
		{"SELECT true AS yes, is_true AND true_too FROM t", "SELECT true AS yes, is_true AND true_too FROM t"},
		{"WHERE (true OR a) AND (true)", "WHERE (true OR a) AND (true)"},
		{"WHERE a = true ANDROID", "WHERE a = true ANDROID"},
	} {
		if got := catalog.WithoutTrue(test.sql); got != test.want {
			t.Errorf("%q: got %q, want %q", test.sql, got, test.want)
		}
	}
}
