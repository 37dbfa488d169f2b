package history

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// row is a row of a report by its columns.
type row map[string]any

// text writes a row with its columns in order. The model has moments as fact.Time, the catalog as time.Time.
func (r row) text() string {
	var cells []string
	for name, value := range r {
		cells = append(cells, name+"="+cell(value))
	}
	slices.Sort(cells)
	return strings.Join(cells, " ")
}

func cell(value any) string {
	switch v := value.(type) {
	case nil:
		return "-"
	case fact.Time:
		if v == 0 {
			return "-"
		}
		return v.Time().Format(time.RFC3339Nano)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case *big.Int:
		return v.String()
	case []string:
		return fmt.Sprintf("%q", append([]string{}, v...))
	case string:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprint(value)
}

// ask runs a report.
func ask(t *testing.T, c *catalog.Catalog, report string, flags map[string]string) (rows []row) {
	t.Helper()
	result, err := c.RunReport(t.Context(), report, flags, 0)
	if err != nil {
		t.Fatalf("report %s %q: %v", report, flags, err)
	}
	rows, err = readAll(result)
	if err != nil {
		t.Fatalf("report %s %q: %v", report, flags, err)
	}
	for _, r := range rows {
		delete(r, "life") // a drawing of the other columns
		if r["kind"] == "backing store" {
			delete(r, "uid") // a hash of its attributes
		}
		if growth, ok := r["growth_per_day_bytes"].(int64); ok {
			r["growth_per_day_bytes"] = sixDigits(growth)
		}
	}
	return rows
}

// readAll reads and closes a result.
func readAll(result *catalog.Result) (rows []row, err error) {
	defer result.Close()
	for result.Next() {
		r := row{}
		for i, column := range result.Columns {
			r[column.Name] = result.Row()[i]
		}
		rows = append(rows, r)
	}
	return rows, result.Err()
}

func texts(rows []row) (list []string) {
	for _, r := range rows {
		list = append(list, r.text())
	}
	return list
}

// compare compares a report with the model's answer, in any order, and then the first rows with --limit.
func (h *history) compare(t *testing.T, report string, flags map[string]string, want []row) {
	t.Helper()
	whole := ask(t, h.catalog, report, flags)
	got := texts(whole)
	h.asked[report]++
	h.rows[report] += len(want)
	if differ := rowsDiffer(got, texts(want)); differ != "" {
		t.Errorf("seed %d: report %s %q: %s", h.seed, report, flags, differ)
		return
	}
	if _, limited := flags["limit"]; limited || len(got) < 2 || h.rnd.IntN(3) > 0 {
		return
	}
	n := 1 + h.rnd.IntN(len(got)-1)
	flags["limit"] = fmt.Sprint(n)
	first := ask(t, h.catalog, report, flags)
	same := slices.Equal(texts(first), got[:n])
	if report == "use-hours" { // it has some of the uses that took as long as the last one
		same = slices.Equal(times(first), times(whole[:n])) && inOrder(texts(first), got)
	}
	if !same {
		t.Errorf("seed %d: report %s %q: not the first rows%s%s", h.seed, report, flags,
			difference("only with the limit", texts(first), got[:n]), difference("only without it", got[:n], texts(first)))
	}
}

// times returns how long the uses in rows of use-hours took.
func times(rows []row) (list []string) {
	for _, r := range rows {
		list = append(list, cell(r["used_seconds"]))
	}
	return list
}

// inOrder says whether a list has all of some texts in their order, with others between them.
func inOrder(some, list []string) bool {
	for _, text := range some {
		i := slices.Index(list, text)
		if i < 0 {
			return false
		}
		list = list[i+1:]
	}
	return true
}

// rowsDiffer says how rows differ from those of the model, in any order; "" if they do not.
func rowsDiffer(got, want []string) string {
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if slices.Equal(got, want) {
		return ""
	}
	return fmt.Sprintf("%d rows, want %d%s%s", len(got), len(want), difference("only the catalog has", got, want), difference("only the model has", want, got))
}

// difference lists, of two sorted lists, what the first has more often: 20 of it.
func difference(title string, list, other []string) string {
	count := map[string]int{}
	for _, x := range other {
		count[x]++
	}
	var out strings.Builder
	shown := 0
	for _, x := range list {
		if count[x]--; count[x] >= 0 {
			continue
		}
		if shown++; shown > 20 {
			out.WriteString("\n    and more")
			break
		}
		fmt.Fprintf(&out, "\n    %s", x)
	}
	if out.Len() == 0 {
		return ""
	}
	return "\n  " + title + ":" + out.String()
}
