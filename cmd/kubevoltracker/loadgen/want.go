package loadgen

import (
	"fmt"
	"time"
)

// want is the wanted value of a column: a text, a moment within bounds, or NULL.
type want struct {
	text     string
	isText   bool
	from, to time.Time
}

// second is the precision of the API's times.
const second = time.Second

// lateness is how much later than this program's watch the tracker's watch may have shown a change.
const lateness = 15 * time.Second

var absent = want{}

func text(v any) want { return want{text: fmt.Sprint(v), isText: true} }

// exactly wants a moment that the API dates, in whole seconds; NULL if there is none.
func exactly(at *time.Time) want {
	if at == nil {
		return absent
	}
	return want{from: at.Add(-second + time.Nanosecond), to: at.Add(second - time.Nanosecond)}
}

// within wants a moment that watches observed: not before from, and seen by this program's watch at seen.
func within(from, seen time.Time) want { return want{from: from.Add(-second), to: seen.Add(lateness)} }

// holds reports whether a column has the wanted value. since is the column with the earliest moment that it can have
// been; nil if there is no such column.
func (w want) holds(value, since any) bool {
	if w.isText {
		return fmt.Sprint(value) == w.text
	}
	if w.from.IsZero() {
		return value == nil
	}
	at, ok := value.(time.Time)
	if !ok || at.Before(w.from) {
		return false
	}
	if earliest, ok := since.(time.Time); ok {
		return !earliest.After(w.to) && !earliest.After(at) && !at.After(w.to.Add(lateness))
	}
	return !at.After(w.to)
}

func (w want) String() string {
	switch {
	case w.isText:
		return fmt.Sprintf("%q", w.text)
	case w.from.IsZero():
		return "NULL"
	}
	return fmt.Sprintf("%s … %s", w.from.UTC().Format(time.RFC3339Nano), w.to.UTC().Format(time.RFC3339Nano))
}
