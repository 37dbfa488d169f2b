package truth

import (
	"fmt"
	"strconv"
	"time"
)

// cell is the wanted value of a column: a text, or a moment in a range.
type cell struct {
	text     string
	from, to time.Time
}

// microseconds is how the catalog prints a moment.
const microseconds = "2006-01-02 15:04:05.000000"

// absent is NULL.
var absent = cell{text: `\N`}

// text wants a value as it prints.
func text(v any) cell { return cell{text: fmt.Sprint(v)} }

// exactly wants a moment that the API dates.
func exactly(at time.Time) cell { return cell{text: at.UTC().Format(microseconds)} }

// observed wants a moment that a watcher can only see, such as that of a request: its clock reads a little later.
func observed(at time.Time) cell {
	if at.IsZero() {
		return absent
	}
	return cell{from: at.Add(-time.Second), to: at.Add(lateness)}
}

// holds reports whether a value of the catalog is the wanted one.
func (c cell) holds(found string) bool {
	if c.from.IsZero() {
		return found == c.text
	}
	at, err := time.Parse(microseconds, found)
	return err == nil && !at.Before(c.from) && !at.After(c.to)
}

func (c cell) String() string {
	if c.from.IsZero() {
		return strconv.Quote(c.text)
	}
	return fmt.Sprintf("%s … %s", c.from.UTC().Format(microseconds), c.to.UTC().Format(microseconds))
}

// moment returns the moment that a cell wants, if it wants one.
func (c cell) moment() (at time.Time, ok bool) {
	if !c.from.IsZero() {
		return c.from.Add(time.Second), true
	}
	at, err := time.Parse(microseconds, c.text)
	return at, err == nil
}

// latest returns the latest that the wanted moment can have been.
func (c cell) latest() time.Time {
	if !c.from.IsZero() {
		return c.to.Add(-lateness)
	}
	at, _ := c.moment()
	return at
}
