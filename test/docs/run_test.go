package docs_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
)

// run runs a statement, and reads all of its rows.
func run(ctx context.Context, c *catalog.Catalog, sql string) error {
	result, err := c.Run(ctx, sql, nil)
	if err != nil {
		return err
	}
	for result.Next() {
		_ = result.Row()
	}
	result.Close()
	return result.Err()
}

// ask returns the one text that a question is answered by.
func ask(t *testing.T, c *catalog.Catalog, sql string) string {
	t.Helper()
	rows := catalogtest.Rows(t, c, sql)
	if len(rows) != 1 || len(rows[0]) != 1 {
		t.Fatalf("%s: %v", sql, rows)
	}
	return fmt.Sprint(rows[0][0])
}
