package catalog_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestEmptyAnswersHaveTheirColumns checks that the columns which a report declares are those that ClickHouse names.
func TestEmptyAnswersHaveTheirColumns(t *testing.T) {
	c := migrated(t)
	for _, question := range []string{"same-store", "blocked", "stranded", "left-behind", "filling", "mounts", "at", "static", "history", "use-hours", "pods-per-volume", "volumes-per-pod", "idle", "idle --at"} {
		name, at, _ := strings.Cut(question, " --")
		flags := map[string]string{at: "1d"}
		if at == "" {
			flags = nil
		}
		statement, err := c.ReportSQL(name, flags)
		if err != nil {
			t.Fatal(err)
		}
		described, err := c.Run(t.Context(), "DESCRIBE (\n"+statement.SQL+"\n)", statement.Parameters)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for described.Next() {
			want = append(want, fmt.Sprint(described.Row()[0]))
		}
		described.Close()
		result, err := c.RunReport(t.Context(), name, flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, column := range result.Columns {
			got = append(got, column.Name)
		}
		result.Close()
		if strings.Join(got, " ") != strings.Join(want, " ") || len(got) < 7 {
			t.Errorf("%s has the columns\n%v, want\n%v", question, got, want)
		}
	}
}
