package intern

import (
	"strings"
	"unique"
)

// Word is a string that many objects share.
type Word = unique.Handle[string]

// Join writes a list into one string, from which Split reads it; no element may contain a comma.
func Join[S ~string](list []S) string {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return string(list[0])
	}
	s := make([]string, len(list))
	for i, e := range list {
		s[i] = string(e)
	}
	return strings.Join(s, ",")
}

// Split returns the list that Join has written; nil for the empty string.
func Split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// Text returns a word's text, empty for the zero word.
func Text(w Word) string {
	if w == (Word{}) {
		return ""
	}
	return w.Value()
}
