package truth

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// facts are rows by table and key.
type facts map[string]map[string]map[string]cell

func factKey(key ...any) string {
	return strings.TrimSuffix(fmt.Sprintln(key...), "\n")
}

func (f facts) has(table string, key ...any) bool {
	_, ok := f[table][factKey(key...)]
	return ok
}

// put adds a row. Two rows of one key are one too many: the catalog cannot hold
// both.
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

// verdict is what came of comparing the truth with the catalog.
type Difference struct{ Missing, Invented, Wrong []string }

// compare compares whole tables: what the catalog lacks, has too much, or has
// otherwise.
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

// monthTable is what is compared of the catalog: rows of the month, by a key of so
// many columns.
type Table struct {
	Name string
	Key  int
	Sql  string
}
