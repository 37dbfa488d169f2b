package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// gap is a time in which no tracker watched, or in which what it saw was lost again.
type gap struct {
	from, to time.Time
	// lossy: nobody can tell afterwards what came and went within it. Otherwise the
	// API server still knew, and only the moment of what it does not date is not known.
	lossy bool
}

type gaps []gap

// tardy is how much later than it happened something may be seen by one who watches:
// two cores do everything here.
const tardy = 10 * time.Second

// until returns when at the latest one sees what happens at a moment.
func (g gaps) until(at time.Time) time.Time {
	end := at
	for again := true; again; {
		again = false
		for _, one := range g {
			if !one.from.After(end) && one.to.After(end) {
				end, again = one.to, true
			}
		}
	}
	return end.Add(tardy)
}

// overlaps tells whether nobody watched at some moment of a span.
func (g gaps) overlaps(from, to time.Time) bool {
	return slices.ContainsFunc(g, func(one gap) bool { return !one.from.After(to) && !one.to.Before(from) })
}

// swallow tells whether a span is within one lossy gap: to nobody's knowledge.
func (g gaps) swallow(from, to time.Time) bool {
	return slices.ContainsFunc(g, func(one gap) bool { return one.lossy && !from.Before(one.from) && !to.After(one.to) })
}

// swallowsEither tells whether one of two moments is within a lossy gap.
func (g gaps) swallowsEither(moments ...cell) bool {
	return slices.ContainsFunc(moments, func(c cell) bool {
		at, ok := c.moment()
		return ok && (g.swallow(at, at) || g.swallow(at.Add(time.Second), at.Add(time.Second)))
	})
}

// scope is what belongs to a churn: the namespaces that begin so, what is in them, and
// the volumes of their claims, or that have no claim and whose names begin so.
type scope string

func (s scope) owns(o metav1.Object) bool {
	namespace := o.GetNamespace()
	switch o := o.(type) {
	case *corev1.PersistentVolume:
		if namespace = o.Name; o.Spec.ClaimRef != nil {
			namespace = o.Spec.ClaimRef.Namespace
		}
	case *corev1.Namespace:
		namespace = o.Name
	}
	return strings.HasPrefix(namespace, string(s))
}

// scopeTable is what is compared of the catalog: rows by a key of so many columns.
type scopeTable struct {
	monthTable
	// from and to are the columns that tell how long a row's subject lived, as the
	// truth has them: what lived within a lossy gap need not be known.
	from, to string
	// passing columns tell a state, of which nobody knows the last if that was within
	// a lossy gap.
	passing []string
}

func (s scope) tables(volumes []string) []scopeTable {
	var (
		ours   = "startsWith(namespace, '" + string(s) + "')"
		claims = "(SELECT uid FROM claims WHERE " + ours + ")"
		isOurs = "(claim_uid IN " + claims + " OR uid IN ('" + strings.Join(volumes, "', '") + "'))"
		vols   = "(SELECT uid FROM volumes WHERE " + isOurs + ")"
		both   = "(uid IN " + claims + " OR uid IN " + vols + ")"
		all    = "(" + both + " OR uid IN (SELECT uid FROM pods WHERE " + ours + "))"
	)
	return []scopeTable{
		{monthTable{"mount", 4, `SELECT pod_uid, container, volume, mount_path, sub_path, read_only, block_device, source_kind, claim_uid, claim_name, volume_uid,
			started_at, ended_at, ended_not_before, ended_at = ended_not_before AS exact FROM mounts WHERE ` + ours}, "started_at", "ended_at", nil},
		{monthTable{"binding", 3, `SELECT claim_uid, volume_uid, ordinal, bound_at, released_at, released_not_before FROM bindings
			WHERE claim_uid IN ` + claims + ` OR volume_uid IN ` + vols}, "bound_at", "released_at", nil},
		{monthTable{"phase", 3, `SELECT uid, multiIf(action = 'bound', 'Bound', action = 'released', 'Released', splitByString(' → ', details)[2]) AS phase,
			row_number() OVER (PARTITION BY uid, phase ORDER BY at) AS n, at
			FROM changes WHERE action IN ('bound', 'phase', 'released') AND ` + both}, "at", "at", nil},
		{monthTable{"size", 2, `SELECT uid, details, at FROM changes WHERE action = 'resized' AND ` + both}, "at", "at", nil},
		{monthTable{"modification", 2, `SELECT uid, details, at FROM changes WHERE action = 'modified' AND ` + both}, "at", "at", nil},
		{monthTable{"event", 2, `SELECT uid, action, count() AS times FROM changes
			WHERE action IN ('created', 'mounted', 'unmounted', 'deleted') AND ` + all + ` GROUP BY ALL`}, "", "", nil},
		{monthTable{"volume", 1, `SELECT uid, name, phase, phase_changed_at, claim_uid, capacity_bytes, source_kind, created_at, deleted_at, deleted_not_before
			FROM volumes WHERE ` + isOurs}, "created_at", "deleted_at", []string{"phase", "phase_changed_at", "claim_uid", "capacity_bytes"}},
		{monthTable{"claim", 1, `SELECT uid, namespace, name, phase, volume_name, volume_uid, requested_bytes, capacity_bytes, created_at, bound_at, deleted_at, deleted_not_before,
			ephemeral, workload_kind, workload_name FROM claims WHERE ` + ours}, "created_at", "deleted_at", []string{"phase", "volume_name", "volume_uid", "requested_bytes", "capacity_bytes", "bound_at"}},
		{monthTable{"container", 2, `SELECT pod_uid, name, image, started_at, finished_at, restarts FROM containers
			WHERE pod_uid IN (SELECT uid FROM pods WHERE ` + ours + `)`}, "", "", []string{"started_at", "finished_at", "restarts"}},
		{monthTable{"namespace", 1, `SELECT uid, name, created_at, deleted_at FROM namespaces WHERE startsWith(name, '` + string(s) + `')`}, "created_at", "deleted_at", nil},
		{monthTable{"attachment", 1, `SELECT uid, volume_uid, node, attached_at, detached_at FROM attachments WHERE volume_uid IN ` + vols}, "attached_at", "detached_at", nil},
		{monthTable{"pod", 1, `SELECT uid, namespace, name, phase, created_at, started_at, deleted_at, deleted_not_before FROM pods WHERE ` + ours},
			"created_at", "deleted_at", []string{"phase", "started_at"}},
	}
}

// notBefore are the columns that tell the earliest that a moment can have been.
var notBefore = map[string]string{"ended_at": "ended_not_before", "released_at": "released_not_before", "deleted_at": "deleted_not_before"}

// tellEvents tells how often the catalog's changes have to tell what happens once: an
// object is made and deleted, a volume mounted and unmounted.
func (t *truth) tellEvents() {
	count := map[string]int{}
	for _, table := range []string{"volume", "claim", "pod"} {
		for uid, row := range t.facts[table] {
			count[uid+" created"]++
			if row["deleted_at"] != absent {
				count[uid+" deleted"]++
			}
		}
	}
	for key, row := range t.facts["mount"] {
		pod := strings.Fields(key)[0]
		count[pod+" mounted"]++
		if row["ended_at"] != absent {
			count[pod+" unmounted"] += 1 + t.log.relapses(pod)
		}
	}
	for key, n := range count {
		t.facts.put("event", []any{key}, map[string]cell{"times": text(n)})
	}
}

// judgement is what came of comparing the catalog with the truth.
type judgement struct {
	expected, found                       int
	missing, duplicated, invented, wrong  []string
	unknown, inBounds, written, different int
}

func (j *judgement) ok() bool {
	return j.expected > 0 && j.expected == j.found && len(j.missing)+len(j.duplicated)+len(j.invented)+len(j.wrong) == 0
}

func (j *judgement) String() string {
	return fmt.Sprintf("%d facts expected, %d found, %d missing, %d duplicated, %d wrong (%d moments in bounds; %d facts that nobody could know; %d rows written for %d)",
		j.expected, j.found, len(j.missing), len(j.duplicated), len(j.invented)+len(j.wrong), j.inBounds, j.unknown, j.written, j.different)
}

func (j *judgement) err(t *truth) error {
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
				told := strings.Fields(line)
				lines.WriteString(t.log.history(told[min(1, len(told)-1)]))
			}
		}
	}
	return errors.New(t.named(lines.String()))
}

// judge compares all that the catalog says of a scope with the truth.
func (s scope) judge(t *truth, p *tracker, away gaps) (*judgement, error) {
	j := &judgement{}
	for _, table := range s.tables(slices.Sorted(maps.Keys(t.facts["volume"]))) {
		lines, err := p.query(table.sql + " FORMAT TSVWithNames")
		if err != nil {
			return nil, err
		}
		found := rowsOf(lines, table.key)
		if table.name == "phase" {
			found = t.align(table, found, away)
		}
		for key, rows := range found {
			for range rows[1:] {
				j.duplicated = append(j.duplicated, table.name+" "+key)
			}
		}
		j.table(t, table, found, away)
	}
	return j, j.countWritten(s, p)
}

// align numbers the changes of phase as the truth does. If nobody could know of the first of two, the
// first that the catalog has is the truth's second.
func (t *truth) align(table scopeTable, found map[string][]map[string]string, away gaps) map[string][]map[string]string {
	aligned := maps.Clone(found)
	for key := range t.facts[table.name] {
		group, one := strings.CutSuffix(key, " 1")
		if !one {
			continue
		}
		numbered := func(n int) string { return fmt.Sprint(group, " ", n) }
		told, happened := 0, 0
		for found[numbered(told+1)] != nil {
			told++
		}
		for t.facts[table.name][numbered(happened+1)] != nil {
			happened++
		}
		for n := range told {
			delete(aligned, numbered(n+1))
		}
		next := 1
		for n := 1; next <= told; n++ {
			want, said := t.facts[table.name][numbered(n)], found[numbered(next)][0]["at"]
			if n <= happened && told-next < happened-n && t.lost(table, numbered(n), want, away) {
				exactly := func(n int) bool { return t.facts[table.name][numbered(n)]["at"].holds(said) }
				later := false
				for m := n + 1; m <= happened; m++ {
					later = later || exactly(m)
				}
				if _, problem := away.accept(want["at"], said, ""); problem != "" || !exactly(n) && later {
					continue // this one is not told
				}
			}
			aligned[numbered(n)] = found[numbered(next)]
			next++
		}
	}
	return aligned
}

// rowsOf parses TSV with names; the key is made of the first columns.
func rowsOf(lines []string, key int) map[string][]map[string]string {
	columns := strings.Split(lines[0], "\t")
	rows := map[string][]map[string]string{}
	for _, line := range lines[1:] {
		values := strings.Split(line, "\t")
		row := map[string]string{}
		for i, column := range columns {
			row[column] = values[i]
		}
		k := strings.Join(values[:key], " ")
		rows[k] = append(rows[k], row)
	}
	return rows
}

func (j *judgement) table(t *truth, table scopeTable, found map[string][]map[string]string, away gaps) {
	for _, key := range slices.Sorted(maps.Keys(t.facts[table.name])) {
		want := t.facts[table.name][key]
		lost := t.lost(table, key, want, away)
		rows := found[key]
		if rows == nil && lost {
			j.unknown++
			continue
		}
		j.expected++
		if rows == nil {
			j.missing = append(j.missing, fmt.Sprintf("%s %s: %v", table.name, key, want))
			continue
		}
		j.found++
		if table.name == "event" {
			j.event(key, want["times"].text, rows[0]["times"], lost)
			continue
		}
		passed := t.passed(table, key, want, away)
		for _, column := range slices.Sorted(maps.Keys(want)) {
			if strings.HasPrefix(column, "workload_") && rows[0][column] == "" || column == "ephemeral" && away.swallowsEither(want["created_at"]) {
				continue // the StatefulSet or the pod that tells may have gone before anybody looked
			}
			if table.name == "claim" && (column == "volume_uid" || column == "bound_at") && t.unbound(key, want["volume_uid"].text, away) {
				continue
			}
			if strings.HasSuffix(column, "_not_before") || passed && slices.Contains(table.passing, column) || t.nameless(table, want, column, away) {
				continue
			}
			said, since := rows[0][column], rows[0][notBefore[column]]
			if lost && (said == "" || said == absent.text) {
				continue // what is known of it is only what was left
			}
			if column == "exact" {
				if want[column] == text(0) && said != "0" {
					j.wrong = append(j.wrong, fmt.Sprintf("%s %s: its end claims to be exact, and nobody reported it", table.name, key))
				}
				continue
			}
			bounded, problem := away.accept(want[column], said, since)
			if problem == tooWide && want["exact"] == text(0) {
				problem = ""
			}
			if problem != "" {
				j.wrong = append(j.wrong, fmt.Sprintf("%s %s: %s is %s (not before %s), want %s: %s", table.name, key, column, said, since, want[column], problem))
			}
			if bounded {
				j.inBounds++
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if _, ok := t.facts[table.name][key]; ok {
			continue
		}
		line := fmt.Sprintf("%s %s: %v", table.name, key, found[key][0])
		// What is told for the second time, and happened once, is told twice.
		if i := strings.LastIndexByte(key, ' '); table.name == "phase" && key[i+1:] != "1" {
			j.duplicated = append(j.duplicated, line)
		} else {
			j.invented = append(j.invented, line)
		}
	}
}

// event compares how often something is told. Less often than it happened may be right
// where a gap swallowed some.
func (j *judgement) event(key, want, said string, lost bool) {
	n, _ := strconv.Atoi(want)
	m, _ := strconv.Atoi(said)
	switch {
	case m > n:
		j.duplicated = append(j.duplicated, fmt.Sprintf("event %s: told %d times, happened %d times", key, m, n))
	case m < n && !lost:
		j.missing = append(j.missing, fmt.Sprintf("event %s: told %d times, happened %d times", key, m, n))
	}
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

// lost tells whether nobody could know of a fact.
func (t *truth) lost(table scopeTable, key string, want map[string]cell, away gaps) bool {
	object := strings.Fields(key)[0]
	switch table.name {
	case "container":
		return t.lost(scopeTable{from: "created_at", to: "deleted_at"}, object, t.facts["pod"][object], away)
	case "event":
		for _, of := range []string{"pod", "claim", "volume"} {
			if row := t.facts[of][object]; row != nil && away.swallowsEither(row["created_at"], row["deleted_at"]) {
				return true
			}
		}
		for mount, row := range t.facts["mount"] {
			if strings.HasPrefix(mount, object) && away.swallowsEither(row["started_at"], row["ended_at"]) {
				return true
			}
		}
		return false
	}
	from, ok := want[table.from].moment()
	to, ended := want[table.to].moment()
	// The API's times are whole seconds.
	return ok && ended && (away.swallow(from, to) || away.swallow(from.Add(time.Second), to))
}

// nameless tells whether a mount's claim came and went within a lossy gap, or was bound to its
// volume only then: then its pod names a claim that nobody knows, or one that was made anew in
// the second of its start, or one of which nobody knows which volume it had.
func (t *truth) nameless(table scopeTable, mount map[string]cell, column string, away gaps) bool {
	if table.name != "mount" || !slices.Contains([]string{"claim_uid", "source_kind", "volume_uid"}, column) {
		return false
	}
	uid := mount["claim_uid"].text
	claim := t.facts["claim"][uid]
	if claim != nil && t.lost(scopeTable{from: "created_at", to: "deleted_at"}, uid, claim, away) {
		return true
	}
	return column != "claim_uid" && claim != nil && t.unbound(uid, mount["volume_uid"].text, away)
}

// unbound tells whether nobody can know that a claim and a volume were bound to each other.
func (t *truth) unbound(claim, volume string, away gaps) bool {
	for binding, row := range t.facts["binding"] {
		if part := strings.Fields(binding); part[0] == claim && part[1] == volume && !t.lost(scopeTable{from: "bound_at", to: "released_at"}, binding, row, away) {
			return false
		}
	}
	return volume != ""
}

// passed tells whether an object ended in a gap in which its last states are lost.
func (t *truth) passed(table scopeTable, key string, want map[string]cell, away gaps) bool {
	if table.passing == nil {
		return false
	}
	if table.name == "container" {
		want = t.facts["pod"][strings.Fields(key)[0]]
	}
	at, ended := want["deleted_at"].moment()
	return ended && away.swallow(at, at)
}

const tooWide = "the bounds are wide, though it was watched"

// accept compares a moment, or another value, that the catalog says with the truth: one
// that was observed may have bounds, which have to contain the truth, and one that claims
// to be exact has to be.
func (g gaps) accept(want cell, said, since string) (bounded bool, problem string) {
	at, isMoment := want.moment()
	if !isMoment {
		if said != want.text {
			problem = "it differs"
		}
		return false, problem
	}
	to, err := time.Parse(microseconds, said)
	if err != nil {
		return false, "it is not told"
	}
	from, err := time.Parse(microseconds, since)
	// etcd may have been slow: what was asked for was done later, by when it was answered.
	done := want.latest()
	slack := time.Second + done.Sub(at)
	if !want.from.IsZero() && g.swallow(at, at) {
		slack += 4 * time.Second
	}
	switch {
	case err != nil && want.holds(said):
		return false, ""
	case err != nil: // it has no column for the earlier bound
		if to.Before(at.Add(-time.Second)) || to.After(g.until(done)) || !g.overlaps(at, to) {
			return false, "it is not the API's"
		}
		return true, ""
	case from.After(to):
		return true, "it ends before it begins"
	case from.Equal(to):
		if !want.holds(said) {
			problem = "it claims to be exact"
		}
		return false, problem
	case from.After(at.Add(slack)) || to.Before(at.Add(-time.Second)):
		return true, "the bounds do not contain the truth"
	case !g.overlaps(from, to) || to.After(g.until(done)):
		return true, tooWide
	}
	return true, ""
}

// countWritten counts the rows that were written and those that are left with FINAL.
func (j *judgement) countWritten(s scope, p *tracker) error {
	ours := "startsWith(namespace, '" + string(s) + "')"
	lines, err := p.query(`SELECT (SELECT count() FROM mounts WHERE ` + ours + ` SETTINGS final = 0) + (SELECT count() FROM claims WHERE ` + ours + ` SETTINGS final = 0)
			+ (SELECT count() FROM pods WHERE ` + ours + ` SETTINGS final = 0),
		(SELECT count() FROM mounts WHERE ` + ours + `) + (SELECT count() FROM claims WHERE ` + ours + `) + (SELECT count() FROM pods WHERE ` + ours + `)`)
	if err != nil {
		return err
	}
	_, err = fmt.Sscan(lines[0], &j.written, &j.different)
	return err
}
