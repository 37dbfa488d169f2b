package truth

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// Judgement is the result of comparing a catalog with the truth over gaps.
type Judgement struct {
	expected, found                       int
	missing, duplicated, invented, wrong  []string
	unknown, inBounds, written, different int
}

// ok reports whether the catalog has all that can be known, once, and nothing else.
func (j *Judgement) ok() bool {
	return j.expected > 0 && j.expected == j.found && len(j.missing)+len(j.duplicated)+len(j.invented)+len(j.wrong) == 0
}

func (j *Judgement) String() string {
	return fmt.Sprintf("%d rows expected, %d found, %d missing, %d duplicated, %d wrong (%d moments in bounds; %d rows that nobody could know; %d rows written for %d)",
		j.expected, j.found, len(j.missing), len(j.duplicated), len(j.invented)+len(j.wrong), j.inBounds, j.unknown, j.written, j.different)
}

// Err returns an error that lists the differences, and nil if there are none.
func (j *Judgement) Err(t *Truth) error {
	if j.ok() {
		return nil
	}
	var lines strings.Builder
	fmt.Fprint(&lines, j)
	for _, list := range []struct {
		title string
		lines []string
	}{{"missing", j.missing}, {"duplicated", j.duplicated}, {"invented", j.invented}, {"wrong", j.wrong}} {
		for i, line := range list.lines[:min(len(list.lines), 25)] {
			fmt.Fprintf(&lines, "\n%s: %s", list.title, line)
			if i < 5 {
				words := strings.Fields(line)
				lines.WriteString(t.log.history(words[min(1, len(words)-1)]))
			}
		}
	}
	return errors.New(t.Named(lines.String()))
}

// Judge compares all that a tracker's catalog says of the scope with the truth.
func (s Scope) Judge(t *Truth, p *harness.Tracker, away Gaps) (*Judgement, error) {
	j := &Judgement{}
	for _, table := range s.tables(slices.Sorted(maps.Keys(t.Facts["volume"]))) {
		lines, err := p.Query(table.SQL + " FORMAT TSVWithNames")
		if err != nil {
			return nil, err
		}
		found := t.align(table, rowsOf(lines, table.Key), away)
		for key, rows := range found {
			for range rows[1:] {
				j.duplicated = append(j.duplicated, table.Name+" "+key)
			}
		}
		j.table(t, table, found, away)
	}
	return j, j.countWritten(s, p)
}

// table compares the rows of a table.
func (j *Judgement) table(t *Truth, table scopeTable, found map[string][]map[string]string, away Gaps) {
	for _, key := range slices.Sorted(maps.Keys(t.Facts[table.Name])) {
		want := t.Facts[table.Name][key]
		lost := t.lost(table, key, want, away)
		rows := found[key]
		if rows == nil && lost {
			j.unknown++
			continue
		}
		j.expected++
		if rows == nil {
			j.missing = append(j.missing, fmt.Sprintf("%s %s: %v", table.Name, key, want))
			continue
		}
		j.found++
		if table.Name == "event" {
			j.event(key, want["times"].text, rows[0]["times"], lost)
			continue
		}
		j.row(&foundRow{t, away, table, key, want, rows[0], lost, t.passed(table, key, want, away)})
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if _, ok := t.Facts[table.Name][key]; ok {
			continue
		}
		line := fmt.Sprintf("%s %s: %v", table.Name, key, found[key][0])
		// A second change to one phase is a duplicate if the truth has one.
		if i := strings.LastIndexByte(key, ' '); table.Name == "phase" && key[i+1:] != "1" {
			j.duplicated = append(j.duplicated, line)
		} else {
			j.invented = append(j.invented, line)
		}
	}
}

// foundRow is a row of the catalog, and the truth about it.
type foundRow struct {
	truth *Truth
	away  Gaps
	table scopeTable
	key   string

	want   map[string]cell
	said   map[string]string
	lost   bool // nobody need know of the row
	passed bool // its object ended within a lossy gap
}

// row compares the columns of a row that was found, but for those that nobody can know.
func (j *Judgement) row(r *foundRow) {
	for _, column := range slices.Sorted(maps.Keys(r.want)) {
		switch {
		case r.unknowable(column):
		case column == "exact":
			if r.want[column] == text(0) && r.said[column] != "0" {
				j.wrong = append(j.wrong, fmt.Sprintf("%s %s: its end claims to be exact, and nobody reported it", r.table.Name, r.key))
			}
		default:
			j.column(r, column)
		}
	}
}

// unknowable reports whether nobody can know a column of the row.
func (r *foundRow) unknowable(column string) bool {
	said := r.said[column]
	switch {
	case strings.HasPrefix(column, "workload_") && said == "", column == "ephemeral" && r.away.losesEither(r.want["created_at"]):
		return true // its StatefulSet or its pod may have gone before anybody saw it
	case r.table.Name == "claim" && (column == "volume_uid" || column == "bound_at") && r.truth.unbound(r.key, r.want["volume_uid"].text, r.away):
		return true
	case strings.HasSuffix(column, "_not_before"): // compared with the column that it bounds
		return true
	case r.passed && slices.Contains(r.table.passing, column):
		return true
	case r.truth.nameless(r.table, r.want, column, r.away):
		return true
	}
	return r.lost && (said == "" || said == absent.text) // only what was left of it is known
}

// column compares a column of a row that was found.
func (j *Judgement) column(r *foundRow, column string) {
	said, since := r.said[column], r.said[notBefore[column]]
	bounded, problem := r.away.accept(r.want[column], said, since)
	if problem == tooWide && (r.want["exact"] == text(0) || r.table.Name == "mount" && r.truth.clockOff(strings.Fields(r.key)[0])) {
		problem = ""
	}
	if problem != "" {
		j.wrong = append(j.wrong, fmt.Sprintf("%s %s: %s is %s (not before %s), want %s: %s", r.table.Name, r.key, column, said, since, r.want[column], problem))
	}
	if bounded {
		j.inBounds++
	}
}

// event compares how often the catalog has a change with how often it happened. Fewer are right if some happened within a
// lossy gap.
func (j *Judgement) event(key, want, said string, lost bool) {
	n, _ := strconv.Atoi(want)
	m, _ := strconv.Atoi(said)
	switch {
	case m > n:
		j.duplicated = append(j.duplicated, fmt.Sprintf("event %s: recorded %d times, happened %d times", key, m, n))
	case m < n && !lost:
		j.missing = append(j.missing, fmt.Sprintf("event %s: recorded %d times, happened %d times", key, m, n))
	}
}

// countWritten counts the rows that were written, and those that FINAL leaves.
func (j *Judgement) countWritten(s Scope, p *harness.Tracker) error {
	ours := "startsWith(namespace, '" + string(s) + "')"
	count := `SELECT (SELECT count() FROM mounts WHERE ` + ours + `) + (SELECT count() FROM claims WHERE ` + ours + `) + (SELECT count() FROM pods WHERE ` + ours + `)`
	for _, c := range []struct {
		sql string
		to  any
	}{{count + " SETTINGS final = 0", &j.written}, {count, &j.different}} {
		lines, err := p.Query(c.sql)
		if err != nil {
			return err
		}
		if _, err := fmt.Sscan(lines[0], c.to); err != nil {
			return err
		}
	}
	return nil
}
