package catalog

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/common/model"
)

// momentLayouts are the ways to write a moment; those without a zone are UTC.
var momentLayouts = []string{time.RFC3339Nano, time.DateOnly, time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04"}

// ParseMoment reads a moment as the flags --at, --since and --until take it: a duration before now, as Prometheus has
// them, a date, or a time.
func ParseMoment(text string, now time.Time) (time.Time, error) {
	if d, err := model.ParseDuration(text); err == nil {
		return now.Add(-time.Duration(d)).UTC(), nil
	}
	for _, layout := range momentLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time; write how long ago (30d, 12h), a date (2026-11-20), or a time in UTC (2026-11-20 15:04, 2026-11-20T15:04:05Z)", text)
}

// beginning and end bound all moments of the catalog: those of ClickHouse's DateTime64.
var (
	beginning = time.Unix(0, 0).UTC()
	end       = time.Date(2299, 12, 31, 23, 59, 59, 0, time.UTC)
)

// window is what a report looks at: all that was so at some moment in it. Both ends are the same for a moment, and the
// end of time for now: the clocks of the nodes that date a use may be ahead of this one.
type window struct{ since, until time.Time }

// kind says what a window is, as the SQL of a report asks it: now, moment or window.
func (w window) kind() string {
	switch {
	case !w.since.Equal(w.until):
		return "window"
	case w.until.Equal(end):
		return "now"
	}
	return "moment"
}

// hasQuarter says whether a month or more from the beginning of a quarter on can be in the window: what is less is read as fast as its sums.
func (w window) hasQuarter() bool {
	return !quarterOf(w.since.Add(-time.Microsecond)).AddDate(0, 4, 0).After(w.until)
}

// before returns the window of a span that ends at a moment, or now.
func (s span) before(moment time.Time) window {
	switch s {
	case untimed, now:
		return window{end, end}
	case ever:
		return window{beginning, end}
	}
	return window{moment.Add(-time.Duration(s)), end}
}

// endBy returns the end of the window, or now if that comes first.
func (w window) endBy(now time.Time) time.Time {
	if now.Before(w.until) {
		return now
	}
	return w.until
}

// partLengths are the lengths of the parts of a window, by the words of the flag --per.
var partLengths = map[string]time.Duration{"hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour}

// withBefore returns the window together with as many parts before it as it has, as creation-rate.sql compares them. The first part is
// a whole hour, day or week: Truncate counts weeks from a Monday, too.
func (w window) withBefore(part time.Duration, now time.Time) window {
	first := w.since.Truncate(part)
	parts := max(1, (w.endBy(now).Sub(first)+part-1)/part)
	return window{first.Add(-parts * part), w.until}
}

// from returns the moments from which on a report looks in turn: those so long before the end of the window, or before now, and the beginning.
func (w window) from(now time.Time, lookBack []time.Duration) (list []time.Time) {
	last := w.endBy(now)
	for _, d := range lookBack {
		if from := last.Add(-d); from.After(beginning) {
			list = append(list, from)
		}
	}
	return append(list, beginning)
}

// parseWindow reads the flags --at, --since and --until. Without any, the window is the usual span.
func parseWindow(flags map[string]string, usual span, moment time.Time) (window, error) {
	given, err := parseMoments(flags, moment)
	if err != nil {
		return window{}, err
	}
	at, hasAt := given["at"]
	since, hasSince := given["since"]
	until, hasUntil := given["until"]
	switch {
	case hasAt && (hasSince || hasUntil):
		return window{}, errors.New("--at is for a moment, --since and --until are for a window: give the one or the others")
	case hasAt:
		return window{at, at}, nil
	case !hasSince && !hasUntil:
		return usual.before(moment), nil
	case !hasUntil:
		return window{since, end}, nil
	case !hasSince && usual > 0:
		if since = (window{until: until}).endBy(moment).Add(-time.Duration(usual)); since.Before(beginning) {
			since = beginning
		}
	case !hasSince:
		since = beginning
	}
	return window{since, until}, checkOrder(flags, since, until)
}

// checkOrder returns an error if a window ends before it begins, or with the date with which it begins: a person means the whole day, and it
// would be the moment at which the day begins.
func checkOrder(flags map[string]string, since, until time.Time) error {
	if since.After(until) {
		return fmt.Errorf("--since=%s is after --until=%s; swap them", flags["since"], flags["until"])
	}
	if _, notDate := time.Parse(time.DateOnly, flags["until"]); notDate == nil && flags["since"] == flags["until"] {
		return fmt.Errorf("--since=%s and --until=%s are the same moment; a date is its beginning in UTC, so the day %s ends with --until=%s",
			flags["since"], flags["until"], flags["until"], until.AddDate(0, 0, 1).Format(time.DateOnly))
	}
	return nil
}

// parseMoments reads the time flags that are given.
func parseMoments(flags map[string]string, moment time.Time) (map[string]time.Time, error) {
	given := map[string]time.Time{}
	for _, name := range []string{"at", "since", "until"} {
		text := flags[name]
		if text == "" {
			continue
		}
		t, err := ParseMoment(text, moment)
		switch {
		case err != nil:
			return nil, fmt.Errorf("--%s: %w", name, err)
		case t.After(moment) && name != "until":
			return nil, fmt.Errorf("--%s: %s is in the future", name, text)
		case t.Before(beginning):
			return nil, fmt.Errorf("--%s: %s is before 1970, where the catalog begins", name, text)
		case t.After(end):
			return nil, fmt.Errorf("--%s: %s is after %s, where the catalog ends", name, text, end.Format(time.DateOnly))
		}
		given[name] = t
	}
	return given, nil
}

// parameter is a time as ClickHouse takes it for {name:DateTime64(6, 'UTC')}.
func parameter(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000000") }
