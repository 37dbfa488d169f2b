package catalog

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/prometheus/common/model"
)

// FlagKind is what a flag of a report takes.
type FlagKind int

// The kinds.
const (
	Text     FlagKind = iota // any string; empty means "any"
	Switch                   // true or false
	Count                    // a number; 0 or empty means "no limit"
	Duration                 // as Prometheus has them: 30d, 12h
	Choice                   // one of Choices
	Moment                   // a time, as ParseMoment reads it; empty for none
	Percent                  // a whole number from 0 to 10000
)

// noLimit is a Count of 0, or none, as the SQL takes it.
const noLimit = "4611686018427387904"

// TableRows is how many rows a report shows a person who names no --limit: 1,000 rows fill twenty screens.
const TableRows = 1000

// Flag is a flag of a report: --Name on the command line, and the parameter of
// that name, with underscores, in its SQL.
type Flag struct {
	Name, Help string
	Kind       FlagKind
	Default    string
	Choices    []string
	// Argument says that it is given by its place behind the report's name, and must be given.
	Argument bool
}

// Report is a question that the catalog knows how to answer.
type Report struct {
	Name     string
	Topic    string // the heading in a list of all reports
	Question string // that it answers, in one line
	Help     string // one line
	Flags    []Flag

	explicit  bool     // its SQL has FINAL itself, because it reads some table without
	readsPast bool     // for a past moment, it reads all mounts before
	exclusive []string // flags of which one may be on
	sums      []string // columns with a total
	hidden    []string // columns that tables for people never have
	drawn     []string // columns that only tables for people have
	// remark is a note below the rows, if one of them needs it.
	remark remark
	// usual has the columns that tables for people have only if a row has
	// another value than this one, or than none.
	usual map[string]string
	// span is the window without time flags: now, ever, or the time before now (or before --until).
	span span
	// before is true if it compares its window with that of the same length before it, both in parts of --per.
	before bool
	// columns are the names of its columns, for an empty answer, so that ClickHouse need not be asked for them: of reports that are mostly
	// empty, or that ClickHouse takes long to analyse. TestEmptyAnswersHaveTheirColumns lists them.
	columns string
	// found is the kind of window for which it has a file NAME-found.sql. That one finds the keys of the rows, their
	// claims, a bound for the rows, or what the report is about, which its SQL for the kind "found" reads from the table found. It is asked
	// if the report is seldom, or if there is a limit. With --namespace, --owner or --group it is asked only if narrowFound has all of these flags
	// that are given; then without a limit as well if unlimitedFound. With --volume it is not asked.
	found          string
	narrowFound    []string
	unlimitedFound bool
	// quarterly is the kind of window, "window" or "moment", for which its SQL of the kind "quarters" reads
	// mounts_quarterly, with the parameters of a quarterRun. For a moment it reads all sums of the time before.
	quarterly string
	// bounds are parameters that limit what the SQL reads, with values that limit nothing. A report with --limit asks its file
	// NAME-first.sql for better ones, which are the columns of one row. It asks with each {from}, the end of its window less a duration of
	// lookBack, until there is a row. With --volume it asks for none.
	bounds   map[string]string
	lookBack []time.Duration
	// seldom is true if the report is mostly empty. Then its file NAME-found.sql, or NAME-first.sql if it has no other, is asked before in
	// any case, and without a row there the report is not asked: that file must have a row if the report has one. Such a report declares its columns.
	seldom bool
}

// span is a window that ends now.
type span time.Duration

// The spans that are no duration.
const (
	untimed span = -iota // the report has no time flags
	now                  // the moment
	ever                 // all of the history
)

// remark explains a difference between two columns that count seconds.
type remark struct {
	larger, smaller string
	by              int64  // it is said if a row differs by more than that
	text            string // one line; empty for none
}

// describe says how a table for people shows a column.
func (r Report) describe(column *ResultColumn, values map[string]string, severalClusters bool) {
	if column.Name == "group" {
		column.Name = values["by"]
	}
	title := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(column.Name, "_byte_hours"), "_bytes"), "_seconds")
	column.Title = strings.ToUpper(strings.ReplaceAll(title, "_", " "))
	column.Hidden = slices.Contains(r.hidden, column.Name) || column.Name == "cluster" && (!severalClusters || values["cluster"] != "")
	column.drawn = slices.Contains(r.drawn, column.Name)
	column.usual, column.optional = r.usual[column.Name]
	column.whole = r.before && strings.HasSuffix(column.Name, "_before")
	column.Sum = slices.Contains(r.sums, column.Name) && values["by"] != "group" // what has two groups counts twice
}

// settings are those that all of a report is asked with.
func (r Report) settings() clickhouse.Settings {
	// A LEFT JOIN that finds no row sets a Nullable column to NULL, and any other column to the default of its type.
	// DISTINCT in the order of the sorting key takes longer than by hashes. To look for functions of other columns in ORDER BY, and for
	// min, max or any of what is grouped by, ClickHouse hashes each column with the subqueries below it, which takes longer than it saves.
	settings := withFinal(clickhouse.Settings{
		"join_use_nulls": 0, "optimize_distinct_in_order": 0, "optimize_redundant_functions_in_order_by": 0, "optimize_aggregators_of_group_by_keys": 0,
	})
	if r.explicit {
		settings["final"] = 0
	}
	return settings
}

func findReport(name string) (Report, error) {
	names := []string{}
	for _, r := range Reports() {
		if r.Name == name {
			return r, nil
		}
		names = append(names, r.Name)
	}
	return Report{}, fmt.Errorf("unknown report %q; %s", name, suggest(name, names))
}

// file returns the file with the report's SQL for a window: NAME-moment.sql or NAME-window.sql if it has one for that, else NAME.sql.
func (r Report) file(w window) string {
	own := r.Name + "-" + w.kind() + ".sql"
	if _, err := fs.Stat(reportFiles, "reports/"+own); err == nil {
		return own
	}
	return r.Name + ".sql"
}

// findsFirst says whether a report whose kind of window is found asks for its rows first.
func (r Report) findsFirst(values map[string]string) bool {
	if r.seldom {
		return true
	}
	if values["volume"] != "" { // it has few rows
		return false
	}
	narrow := false
	for _, flag := range []string{"namespace", "owner", "group"} {
		if values[flag] == "" {
			continue
		}
		if !slices.Contains(r.narrowFound, flag) {
			return false
		}
		narrow = true
	}
	return values["limit"] != noLimit || narrow && r.unlimitedFound
}

// values turns flags into parameters of the SQL.
func (r Report) values(given map[string]string) (map[string]string, error) {
	values := map[string]string{"limit": noLimit}
	for _, name := range filters {
		values[name] = ""
	}
	on := []string{}
	for _, f := range r.Flags {
		text, ok := given[f.Name]
		if !ok {
			text = f.Default
		}
		if f.Argument && text == "" {
			return nil, fmt.Errorf("%s is missing: %s", strings.ToUpper(f.Name), f.Help)
		}
		if f.Kind == Moment {
			continue // parseWindow reads those
		}
		value, err := f.value(text)
		if err != nil {
			return nil, err
		}
		values[strings.ReplaceAll(f.Name, "-", "_")] = value
		if slices.Contains(r.exclusive, f.Name) && value == "true" {
			on = append(on, "--"+f.Name)
		}
	}
	for name := range given {
		if !slices.ContainsFunc(r.Flags, func(f Flag) bool { return f.Name == name }) {
			return nil, fmt.Errorf("unknown flag --%s", name)
		}
	}
	if len(on) > 1 {
		return nil, fmt.Errorf("%s exclude each other; give one, or none for all", strings.Join(on, " and "))
	}
	return values, nil
}

// value is text as the SQL parameter takes it: durations in seconds.
func (f Flag) value(text string) (string, error) {
	switch f.Kind {
	case Switch:
		b, err := strconv.ParseBool(text)
		if err != nil && text != "" {
			return "", fmt.Errorf("--%s: %q is neither true nor false", f.Name, text)
		}
		return strconv.FormatBool(b), nil
	case Count:
		if text == "" {
			return noLimit, nil
		}
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return "", fmt.Errorf("--%s: %q is not a whole number from 0", f.Name, text)
		}
		if n == 0 {
			return noLimit, nil
		}
		return strconv.FormatUint(n, 10), nil
	case Percent:
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil || n > 10000 {
			return "", fmt.Errorf("--%s: %q is not a whole number from 0 to 10000", f.Name, text)
		}
		return strconv.FormatUint(n, 10), nil
	case Duration:
		d, err := model.ParseDuration(text)
		if err != nil {
			return "", fmt.Errorf("--%s: %q is not a duration; write 30d or 12h", f.Name, text)
		}
		return strconv.FormatInt(int64(time.Duration(d)/time.Second), 10), nil
	case Choice:
		if !slices.Contains(f.Choices, text) {
			return "", fmt.Errorf("--%s: %q is not one of %s", f.Name, text, strings.Join(f.Choices, ", "))
		}
	}
	return text, nil
}
