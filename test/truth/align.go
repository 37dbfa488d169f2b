package truth

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// align numbers the changes to a phase as the truth does. If nobody could know of the first of two, the first that
// the catalog has is the second of the truth.
func (t *Truth) align(table scopeTable, found map[string][]map[string]string, away Gaps) map[string][]map[string]string {
	aligned := maps.Clone(found)
	for key := range t.Facts[table.Name] {
		group, one := strings.CutSuffix(key, " 1")
		if !one {
			continue
		}
		numbered := func(n int) string { return fmt.Sprint(group, " ", n) }
		var recorded []map[string]string
		for n := 1; found[numbered(n)] != nil; n++ {
			recorded = append(recorded, found[numbered(n)][0])
			delete(aligned, numbered(n))
		}
		var happened []cell
		for t.Facts[table.Name][numbered(len(happened)+1)] != nil {
			happened = append(happened, t.Facts[table.Name][numbered(len(happened)+1)]["at"])
		}
		recorded = foldRetold(recorded, happened, away)
		next := 0
		for n := 1; next < len(recorded); n++ {
			said := recorded[next]["at"]
			if left := len(happened) - n; left > len(recorded)-next-1 && t.lost(table, numbered(n), t.Facts[table.Name][numbered(n)], away) {
				exactly := func(c cell) bool { return c.holds(said) }
				if _, problem := away.accept(happened[n-1], said, ""); problem != "" || !exactly(happened[n-1]) && slices.ContainsFunc(happened[n:], exactly) {
					continue // the catalog lacks this one
				}
			}
			aligned[numbered(n)] = []map[string]string{recorded[next]}
			next++
		}
	}
	return aligned
}

// foldRetold leaves out a change to a phase that the catalog has a second time, where that is right: a tracker was killed
// after it had written the change and before it had written the object, and its journal was lost. The next tracker knows
// only the object as it was before, and finds the change once more: "Bound → Bound", if it missed what lay in between.
func foldRetold(recorded []map[string]string, happened []cell, away Gaps) []map[string]string {
	told := map[string]int{}
	return slices.DeleteFunc(slices.Clone(recorded), func(row map[string]string) bool {
		said := row["at"]
		times := 0
		for _, c := range happened {
			if c.holds(said) {
				times++
			}
		}
		if told[said]++; times == 0 || told[said] <= times {
			return false
		}
		return away.losesEither(text(said))
	})
}

// rowsOf parses rows of TSV with names, by their first columns.
func rowsOf(lines []string, key int) map[string][]map[string]string {
	columns := strings.Split(lines[0], "\t")
	rows := map[string][]map[string]string{}
	for _, line := range lines[1:] {
		values := strings.Split(line, "\t")
		row := map[string]string{}
		for i, column := range columns {
			row[column] = values[i]
		}
		k := strings.Join(values[:key], " ")
		rows[k] = append(rows[k], row)
	}
	return rows
}
