package truth

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// facts has the wanted rows by table and key.
type facts map[string]map[string]map[string]cell

// factKey joins the columns of a key.
func factKey(key ...any) string {
	return strings.TrimSuffix(fmt.Sprintln(key...), "\n")
}

// has reports whether a row is wanted.
func (f facts) has(table string, key ...any) bool {
	_, ok := f[table][factKey(key...)]
	return ok
}

// put adds a row. A second row of one key gets a key of its own, and is missing from the catalog then.
func (f facts) put(table string, key []any, row map[string]cell) {
	if f[table] == nil {
		f[table] = map[string]map[string]cell{}
	}
	k := factKey(key...)
	for n := 2; f[table][k] != nil; n++ {
		k = fmt.Sprint(factKey(key...), " for the ", n, ". time")
	}
	f[table][k] = row
}

// Difference is what a catalog lacks, what it has too much, and which of its values are wrong.
type Difference struct{ Missing, Invented, Wrong []string }

// Compare compares a whole table with the rows that were found, by key.
func (f facts) Compare(table string, found map[string]map[string]string) (v Difference) {
	for _, key := range slices.Sorted(maps.Keys(f[table])) {
		row, ok := found[key]
		if !ok {
			v.Missing = append(v.Missing, fmt.Sprintf("%s %s: %v", table, key, f[table][key]))
			continue
		}
		for _, column := range slices.Sorted(maps.Keys(f[table][key])) {
			if want := f[table][key][column]; !want.holds(row[column]) {
				v.Wrong = append(v.Wrong, fmt.Sprintf("%s %s: %s is %q, want %s", table, key, column, row[column], want))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if _, ok := f[table][key]; !ok {
			v.Invented = append(v.Invented, fmt.Sprintf("%s %s: %v", table, key, found[key]))
		}
	}
	return v
}

// Table is what is compared of the catalog: the rows of a query, whose first columns are their key.
type Table struct {
	Name string
	Key  int // columns
	SQL  string
}
