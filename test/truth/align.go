package truth

import (
	"fmt"
	"maps"
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
		recorded, happened := 0, 0
		for found[numbered(recorded+1)] != nil {
			recorded++
		}
		for t.Facts[table.Name][numbered(happened+1)] != nil {
			happened++
		}
		for n := range recorded {
			delete(aligned, numbered(n+1))
		}
		next := 1
		for n := 1; next <= recorded; n++ {
			want, said := t.Facts[table.Name][numbered(n)], found[numbered(next)][0]["at"]
			if n <= happened && recorded-next < happened-n && t.lost(table, numbered(n), want, away) {
				exactly := func(n int) bool { return t.Facts[table.Name][numbered(n)]["at"].holds(said) }
				later := false
				for m := n + 1; m <= happened; m++ {
					later = later || exactly(m)
				}
				if _, problem := away.accept(want["at"], said, ""); problem != "" || !exactly(n) && later {
					continue // the catalog lacks this one
				}
			}
			aligned[numbered(n)] = found[numbered(next)]
			next++
		}
	}
	return aligned
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
