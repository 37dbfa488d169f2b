package truth

import (
	"fmt"
	"strconv"
	"time"
)

// cell is what a column has to hold: a text, or a moment between two.
type cell struct {
	text     string
	from, to time.Time
}

const microseconds = "2006-01-02 15:04:05.000000"

// absent is a NULL.
var absent = cell{text: `\N`}

func text(v any) cell { return cell{text: fmt.Sprint(v)} }

// exactly is a moment that the API tells.
func exactly(at time.Time) cell { return cell{text: at.UTC().Format(microseconds)} }

// observed is a moment that can only be seen, as that of a request: the clock of
// whoever sees it is read a little later.
func observed(at time.Time) cell {
	if at.IsZero() {
		return absent
	}
	return cell{from: at.Add(-time.Second), to: at.Add(tardy)}
}

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

// moment returns a moment of the truth.
func (c cell) moment() (at time.Time, ok bool) {
	if !c.from.IsZero() {
		return c.from.Add(time.Second), true
	}
	at, err := time.Parse(microseconds, c.text)
	return at, err == nil
}

// latest returns the latest that a moment of the truth can have been.
func (c cell) latest() time.Time {
	if !c.from.IsZero() {
		return c.to.Add(-tardy)
	}
	at, _ := c.moment()
	return at
}
