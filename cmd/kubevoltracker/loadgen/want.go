package loadgen

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
)

// want is the wanted value of a column: a text, NULL, or a moment that lies between two others.
type want struct {
	text     string
	isText   bool
	from, to time.Time
	watched  bool      // the API does not date the moment: the catalog has when the tracker's watch showed it
	unproven bool      // nobody reports the moment: no row may claim to be exact
	since    time.Time // wide bounds reach back to here at most
}

// second is the precision of the API's times: a moment may differ by less.
const second = time.Second

// lateness is how much later than this program's watch the tracker's watch may have shown a change.
const lateness = 3 * time.Second

var absent = want{}

func text(v any) want { return want{text: fmt.Sprint(v), isText: true} }

// exactly wants a moment that the API dates; NULL if there is none.
func exactly(at *time.Time) want {
	if at == nil {
		return absent
	}
	return want{from: *at, to: *at}
}

// within wants a moment that watches observe: not before from, and seen by this program's watch at seen.
func within(from, seen time.Time) want { return want{from: from, to: seen, watched: true} }

// after sets the moment to which wide bounds may reach back. Without it they are wrong.
func (w want) after(since time.Time) want {
	w.since = since
	return w
}

// judgement is what a value of a catalog is beside the wanted one.
type judgement int

const (
	wrong   judgement = iota
	bounded           // its bounds are wide, contain the truth, and claim no more than was watched
	right
)

// absence says when a catalog's tracker may not have watched.
type absence struct {
	gaps []catalog.Gap // nobody watched, by the table coverage
	now  time.Time     // when the catalog was read: it knows of nothing later
}

// explains reports whether bounds that reach to at may be those of a wanted moment.
//
// A moment that the API dates is lost only where nobody watched when it came, and its bound is then the return of the
// tracker. A moment that only a watch shows is also late where the tracker was killed: it takes up its watch where it
// left it, so that coverage has no gap, but the bound is its return, which can be any time until now.
func (a absence) explains(w want, at time.Time) bool {
	if w.watched {
		return at.Before(a.now.Add(second))
	}
	return slices.ContainsFunc(a.gaps, func(g catalog.Gap) bool {
		end := g.To
		if end.IsZero() {
			end = a.now
		}
		return g.From.Before(w.to.Add(second)) && at.Before(end.Add(lateness+second))
	})
}

// judge compares a column with the wanted value. bound is the earliest moment that the row gives beside it.
func (w want) judge(value, bound any, away absence) judgement {
	if w.isText {
		return either(fmt.Sprint(value) == w.text)
	}
	if w.from.IsZero() {
		return either(value == nil && bound == nil)
	}
	at, isMoment := value.(time.Time)
	earliest, hasBound := bound.(time.Time)
	if !isMoment || !hasBound || earliest.After(at) {
		return wrong
	}
	return w.judgeMoment(earliest, at, away)
}

// judgeMoment compares a moment, and the earliest one that its row gives beside it, with the wanted one.
func (w want) judgeMoment(earliest, at time.Time, away absence) judgement {
	if !w.unproven && w.has(at) && w.has(earliest) {
		return right
	}
	if earliest.Equal(at) || !w.contains(earliest, at) {
		return wrong
	}
	switch {
	case w.unproven && w.has(at):
		return right
	case away.explains(w, at):
		return bounded
	}
	return wrong
}

// judgeAlone compares a column whose table has no bound beside it: what nobody watched has the latest moment.
func (w want) judgeAlone(value any, away absence) judgement {
	w.unproven = false
	if got := w.judge(value, value, away); got != wrong {
		return got
	}
	at, isMoment := value.(time.Time)
	if isMoment && !w.to.IsZero() && at.After(w.to) && away.explains(w, at) {
		return bounded
	}
	return wrong
}

// either turns a comparison into a judgement.
func either(equal bool) judgement {
	if equal {
		return right
	}
	return wrong
}

// has reports whether an exact value is the wanted moment.
func (w want) has(at time.Time) bool {
	to := w.to
	if w.watched {
		to = to.Add(lateness)
	}
	return at.After(w.from.Add(-second)) && at.Before(to.Add(second))
}

// contains reports whether bounds may be those of the wanted moment.
func (w want) contains(earliest, at time.Time) bool {
	return at.After(w.from.Add(-second)) && earliest.Before(w.to.Add(second)) && !w.since.IsZero() && earliest.After(w.since.Add(-second))
}

func (w want) String() string {
	switch {
	case w.isText:
		return fmt.Sprintf("%q", w.text)
	case w.from.IsZero():
		return "NULL"
	case w.from.Equal(w.to):
		return w.from.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%s … %s", w.from.UTC().Format(time.RFC3339Nano), w.to.UTC().Format(time.RFC3339Nano))
}
