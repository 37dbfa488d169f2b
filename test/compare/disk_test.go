package compare

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// diskRows is the variable with the number of pods that TestDisk makes up.
const diskRows = "COMPARE_DISK"

// TestDisk fills the catalog's tables in a real engine with the rows that so many pods leave behind, each with a
// container and a claim in use, merges them, and prints what a row takes on disk by the query of docs/operate.md. The
// rows are made up by the engine: UIDs are random, as they are in a cluster, and times lie within three months.
func TestDisk(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv(diskRows))
	if err != nil {
		t.Skip(diskRows + " has no number of pods: make compare-disk")
	}
	server := harness.StartClickHouse(t)
	c := catalogtest.Open(t, server.Address, catalog.DefaultDatabase)
	if err := c.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, statement := range madeUp(t) {
		// Parts of a size that a tracker's batches reach after some merges; the whole would need too much memory.
		const part = 100_000
		for from := 0; from < n; from += part {
			sql := strings.NewReplacer("{from}", fmt.Sprint(from), "{rows}", fmt.Sprint(min(part, n-from))).Replace(statement)
			catalogtest.Rows(t, c, sql)
		}
	}
	page, err := os.ReadFile(harness.File(t, "docs/operate.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, query, found := strings.Cut(string(page), "-- what each table takes on disk\n")
	query, _, _ = strings.Cut(query, "```")
	if !found {
		t.Fatal("docs/operate.md lacks the query")
	}
	for _, table := range []string{"mounts", "pods", "containers", "claims", "volumes", "bindings", "changes", "objects", "usage"} {
		catalogtest.Rows(t, c, "OPTIMIZE TABLE "+table+" FINAL")
	}
	for _, row := range catalogtest.Rows(t, c, query) {
		t.Log(row...)
	}
}

// madeUp returns the statements of testdata/disk.sql.
func madeUp(t *testing.T) (list []string) {
	text, err := os.ReadFile("testdata/disk.sql")
	if err != nil {
		t.Fatal(err)
	}
	for statement := range strings.SplitSeq(string(text), ";\n") {
		if strings.TrimSpace(statement) != "" {
			list = append(list, statement)
		}
	}
	return list
}
