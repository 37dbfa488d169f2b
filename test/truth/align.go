package truth

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// numbered is a table whose keys end with a number, which counts what happened to the same objects again.
type numbered struct {
	first int    // the number of the first one
	at    string // the column of when it happened
}

// numberedTables are the changes to a phase, and the bindings of a claim and a volume.
var numberedTables = map[string]numbered{"phase": {1, "at"}, "binding": {0, "bound_at"}}

// align numbers the rows of a numbered table as the truth does. If nobody could know of the first of two, the first that
// the catalog has is the second of the truth.
func (t *Truth) align(table scopeTable, found map[string][]map[string]string, away Gaps) map[string][]map[string]string {
	by := numberedTables[table.Name]
	if by.at == "" {
		return found
	}
	aligned := maps.Clone(found)
	for key := range t.Facts[table.Name] {
		group, one := strings.CutSuffix(key, fmt.Sprint(" ", by.first))
		if !one {
			continue
		}
		nth := func(n int) string { return fmt.Sprint(group, " ", by.first+n) }
		var recorded [][]map[string]string
		for n := 0; found[nth(n)] != nil; n++ {
			recorded = append(recorded, found[nth(n)])
			delete(aligned, nth(n))
		}
		var happened []cell
		for t.Facts[table.Name][nth(len(happened))] != nil {
			happened = append(happened, t.Facts[table.Name][nth(len(happened))][by.at])
		}
		if table.Name == "phase" {
			recorded = foldRepeated(recorded, happened, away)
		}
		next := 0
		for n := 0; next < len(recorded); n++ {
			said := recorded[next][0][by.at]
			if left := len(happened) - n - 1; left > len(recorded)-next-1 && t.lost(table, nth(n), t.Facts[table.Name][nth(n)], away) {
				exactly := func(c cell) bool { return c.holds(said) }
				if _, problem := away.accept(happened[n], said, ""); problem != "" || !exactly(happened[n]) && slices.ContainsFunc(happened[n+1:], exactly) {
					continue // the catalog lacks this one
				}
			}
			aligned[nth(n)] = recorded[next]
			next++
		}
	}
	return aligned
}

// foldRepeated leaves out a change to a phase that the catalog has a second time, where that is right: a tracker was killed
// after it had written the change and before it had written the object, and its journal was lost. The next tracker knows
// only the object as it was before, and finds the change once more: "Bound → Bound", if it missed what lay in between.
func foldRepeated(recorded [][]map[string]string, happened []cell, away Gaps) [][]map[string]string {
	told := map[string]int{}
	return slices.DeleteFunc(slices.Clone(recorded), func(rows []map[string]string) bool {
		said := rows[0]["at"]
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
