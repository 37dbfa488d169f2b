package catalog

import (
	"fmt"
	"strings"
)

// suggest says what somebody may have meant by a name that does not exist: the nearest of the names that do, or all.
func suggest(name string, names []string) string {
	if meant, ok := Nearest(name, names); ok {
		return fmt.Sprintf("did you mean %s?", meant)
	}
	return "there are " + strings.Join(names, ", ")
}

// Nearest returns the name that is the least mistyped as another one; false if more than half of that, or more than 3
// characters, would be wrong.
func Nearest(name string, names []string) (nearest string, ok bool) {
	distance := min(len(name)/2, 3) + 1
	for _, candidate := range names {
		if d := edits([]rune(name), []rune(candidate)); d < distance {
			nearest, distance = candidate, d
		}
	}
	return nearest, nearest != ""
}

// edits counts the characters to insert, delete, replace, or swap with their neighbour to make b of a (the distance of
// Damerau and Levenshtein, in which nothing is edited twice).
func edits(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range b {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
