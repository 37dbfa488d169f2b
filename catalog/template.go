package catalog

import (
	"cmp"
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"
)

// The files are SQL with server-side parameters. What two reports share is a file
// that both include with {{template "…"}}; values never get in that way.
//
//go:embed reports/*.sql
var reportFiles embed.FS

// included returns a file of reports that others include. It panics if there is none: that is
// a mistake of the program.
func included(name string) string {
	text, err := reportFiles.ReadFile("reports/" + name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Kinds of a report's SQL beside those of windows: it reads mounts_quarterly, or the rows that were asked for before it, and then says for which kind: "found window", "found quarters".
const (
	quartersKind = "quarters"
	foundKind    = "found"
)

// key is the SQL of a number of 128 bits that stands for the columns: rows are found and joined by it several times as fast as by their names. The tables of objects have that of
// their own UIDs, and of those that they refer to, in columns such as uid_key; 00001_schema.sql makes them as this does.
func key(columns string) string {
	return fmt.Sprintf("bitOr(bitShiftLeft(toUInt128(cityHash64(%s)), 64), farmHash64(%s))", columns, columns)
}

// same is the SQL of a join by the keys of columns.
func same(left, right string) string {
	return key(left) + " = " + key(right)
}

// among is the SQL that the columns are one of a list, which is a SELECT without that word: among("cluster, name", "cluster, name FROM shown"). The
// primary key finds where such rows can be, and the rows are compared by their keys: to compare names takes twice as long. The list is
// made twice, so that should be quick.
func among(columns, list string) string {
	return fmt.Sprintf("indexHint((%s) IN (SELECT %s)) AND %s IN (SELECT %s FROM (SELECT %s))", columns, list, key(columns), key("*"), list)
}

// near is the SQL that ClickHouse reads only where rows can be whose sorting key begins with the columns of a list, the name of a query. The rows are not compared: it is for what is read with
// FINAL by the same conditions by which the list is read without. A row that meets them has its key in the list, and all rows of that key are read. Without FINAL, the indexes of
// columns that change, such as ended_at, leave out much more.
func near(columns, list string) string {
	return fmt.Sprintf("indexHint((%s) IN (SELECT %s FROM %s))", columns, columns, list)
}

// listed is the SQL that a key, which a column has or which is computed, is in an array of keys. ClickHouse computes an array that a WITH names once, and a subquery again
// for each place that reads it.
func listed(columnKey, array string) string {
	return fmt.Sprintf("%s IN (SELECT arrayJoin(%s))", columnKey, array)
}

// inNamespaces is the SQL that a row's cluster and namespace are in an array of such pairs, or have the same sum of hashes as one: each report compares owners and groups as well (whose.sql, claim_filter.sql). Both columns have few values, each of
// which ClickHouse hashes once. To look pairs up takes five times as long.
func inNamespaces(array string) string {
	const sum = "cityHash64(cluster) + 31 * cityHash64(namespace)"
	pairs := fmt.Sprintf("SELECT n.1 AS cluster, n.2 AS namespace FROM (SELECT arrayJoin(%s) AS n)", array)
	return fmt.Sprintf("indexHint((cluster, namespace) IN (%s)) AND %s IN (SELECT %s FROM (%s))", pairs, sum, sum, pairs)
}

// flagOf are the columns of which a flag with another name, or none, chooses one.
var flagOf = map[string]string{"claim_namespace": "namespace", "storage_class": "storageclass", "groups": "group"}

// filterBy is the SQL of the flags in values that choose by columns, such as "c.owner": " AND c.owner = {owner:String}" if --owner is given.
func filterBy(values map[string]string, columns ...string) string {
	var out strings.Builder
	for _, column := range columns {
		name := column[strings.LastIndex(column, ".")+1:]
		flag := cmp.Or(flagOf[name], name)
		switch {
		case values[flag] == "":
		case name == "groups":
			fmt.Fprintf(&out, " AND has(%s, {%s:String})", column, flag)
		default:
			fmt.Fprintf(&out, " AND %s = {%s:String}", column, flag)
		}
	}
	return out.String()
}

// files are the files of reports, which are read once. Their functions are those of expand.
var files = sync.OnceValues(func() (*template.Template, error) {
	all := template.New("").Funcs(functions(nil))
	entries, err := reportFiles.ReadDir("reports")
	for _, entry := range entries {
		if err == nil {
			_, err = all.New(entry.Name()).Parse(strings.TrimSpace(included(entry.Name())))
		}
	}
	return all, err
})

// functions are what the files call, with the values of parameters.
func functions(values map[string]string) template.FuncMap {
	return template.FuncMap{
		"same": same, "key": key, "among": among, "near": near, "listed": listed, "inNamespaces": inNamespaces,
		"changedParts": func() []string { // of in_changed.sql
			if values["changed_claims"] == "" {
				return nil
			}
			return []string{"before", "last"}
		},
		"last":     func(part string) bool { return strings.HasSuffix(part, "last") },
		"quarters": func(kind string) bool { return strings.HasSuffix(kind, quartersKind) },
		"found":    func(kind string) bool { return strings.HasPrefix(kind, foundKind) },
		"filter":   func(columns ...string) string { return filterBy(values, columns...) },
		"given": func(flags ...string) bool {
			return slices.ContainsFunc(flags, func(f string) bool { return values[f] != "" })
		},
	}
}

// A list of conditions in a file begins with the word true, so that each flag can add one by AND. expand removes that word again, a WHERE that has no other condition, and
// empty lines.
var (
	always     = regexp.MustCompile(`\btrue\s+AND\s+|\s+AND\s+true\b`)
	everywhere = regexp.MustCompile(`\s+WHERE\s+true\b`)
	blank      = regexp.MustCompile(`(?m)^[ \t]*\n`)
)

// expand returns a file of reports for a kind of window and the values of its parameters, with the files that it includes. What a flag chooses by is in the
// SQL only if the flag is given: ClickHouse takes as long to analyse a condition that holds for all rows as any other.
func expand(name, kind string, values map[string]string) (string, error) {
	all, err := files()
	if err != nil {
		return "", fmt.Errorf("read reports: %w", err)
	}
	if all, err = all.Clone(); err != nil {
		return "", fmt.Errorf("read reports: %w", err)
	}
	var out strings.Builder
	if err := all.Funcs(functions(values)).ExecuteTemplate(&out, name, kind); err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	sql := always.ReplaceAllString(out.String(), "")
	sql = everywhere.ReplaceAllString(sql, "")
	return blank.ReplaceAllString(sql, "") + "\n", nil
}
