package catalog

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
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

// Kinds of a report's SQL beside those of windows: quarters reads mounts_quarterly. found comes before another kind, as
// in "found quarters", and reads the table found.
const (
	quartersKind = "quarters"
	foundKind    = "found"
)

// key returns the SQL of a 128-bit hash of columns. ClickHouse finds and joins rows by such a number several times as
// fast as by names. The tables of objects store the keys of their own UIDs, and of the UIDs that they refer to, in
// columns such as uid_key, which 00001_schema.sql computes in the same way.
func key(columns string) string {
	return fmt.Sprintf("bitOr(bitShiftLeft(toUInt128(cityHash64(%s)), 64), farmHash64(%s))", columns, columns)
}

// same returns the SQL of a join by the keys of columns.
func same(left, right string) string {
	return key(left) + " = " + key(right)
}

// listed returns the SQL that a key, a column or an expression, is in an array of keys. ClickHouse computes an array of
// a WITH once, and a subquery again for each place that names it.
func listed(columnKey, array string) string {
	return fmt.Sprintf("%s IN (SELECT arrayJoin(%s))", columnKey, array)
}

// namespaceHash returns the SQL of a number for a row's cluster and namespace, which are columns with a prefix such as "c.".
// Both have few values, and ClickHouse hashes each of them once; looking up pairs takes five times as long. Other pairs may
// have the same number, so each report also compares owners and groups exactly.
func namespaceHash(prefix string) string {
	return fmt.Sprintf("cityHash64(%[1]scluster) + 31 * cityHash64(%[1]snamespace)", prefix)
}

// inNamespaces returns the SQL that a row's cluster and namespace are among the parameters of namespaces.sql, or without
// them in the array of such pairs that has their name. The primary key compares the pairs. With an array that it computes,
// ClickHouse needs the subqueries to use the primary key, and to look up fast.
func inNamespaces(values map[string]string, name, prefix string) string {
	pairs, numbers := "{"+name+":Array(Tuple(String, String))}", "{"+name+"_hashes:Array(UInt64)}"
	if values[name] == "" {
		each := fmt.Sprintf("SELECT n.1 AS cluster, n.2 AS namespace FROM (SELECT arrayJoin(%s) AS n)", name)
		pairs, numbers = "("+each+")", fmt.Sprintf("(SELECT %s FROM (%s))", namespaceHash(""), each)
	}
	return fmt.Sprintf("indexHint((%[1]scluster, %[1]snamespace) IN %[2]s) AND %[3]s IN %[4]s", prefix, pairs, namespaceHash(prefix), numbers)
}

// showsFewRows reports whether a report shows so few rows that a statement can have them as an array. Without a limit it
// does not, as limit is noLimit then.
func showsFewRows(values map[string]string) bool {
	n, err := strconv.Atoi(values["limit"])
	return err == nil && n <= 10_000
}

// isLarge reports whether a report selects so much, and shows so few rows of it, that its statement looks for their keys first: a group can
// have millions of mounts. Those of an owner or a namespace are read sooner with their names than twice.
func isLarge(values map[string]string) bool {
	return values["group"] != "" && values["owner"] == "" && values["namespace"] == "" && showsFewRows(values)
}

// flagOf has the flags of columns whose flag has another name.
var flagOf = map[string]string{"claim_namespace": "namespace", "storage_class": "storageclass", "groups": "group"}

// filterBy returns the SQL of the given flags for columns: for "c.owner", " AND c.owner = {owner:String}" if --owner is
// given, else nothing.
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

// files parses the files of reports once. expand sets their functions.
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

// functions returns the functions that the files call, for the values of parameters.
func functions(values map[string]string) template.FuncMap {
	return template.FuncMap{
		"same": same, "key": key, "listed": listed,
		"namespaceHash": func() string { return namespaceHash("") },
		"inNamespaces":  func(name, prefix string) string { return inNamespaces(values, name, prefix) },
		"changedParts": func() []string { // of in_changed.sql
			if values["changed_claims"] == "" {
				return nil
			}
			return []string{"before", "last"}
		},
		"fewRows":  func() bool { return showsFewRows(values) },
		"large":    func(kind string) bool { return (kind == "window" || kind == quartersKind) && isLarge(values) },
		"last":     func(part string) bool { return strings.HasSuffix(part, "last") },
		"quarters": func(kind string) bool { return strings.HasSuffix(kind, quartersKind) },
		"found":    func(kind string) bool { return strings.HasPrefix(kind, foundKind) },
		"latest":   func(kind string) bool { return strings.HasPrefix(kind, "latest ") }, // of summed_mounts.sql
		"filter":   func(columns ...string) string { return filterBy(values, columns...) },
		"is":       func(name, value string) bool { return values[name] == value },
		"contains": func(name, part string) bool { return strings.Contains(values[name], part) },
		"given": func(names ...string) bool { // flags, or parameters that small statements have found
			return slices.ContainsFunc(names, func(name string) bool { return values[name] != "" })
		},
	}
}

// withoutTrue returns SQL without the conditions that always hold: a list of conditions in a file begins with true, so that each
// flag can append one with AND. It removes that word with its AND, and each WHERE without another condition.
func withoutTrue(sql string) string {
	out := make([]byte, 0, len(sql))
	for {
		before, after, found := strings.Cut(sql, "true")
		out = append(out, before...)
		if !found {
			return string(out)
		}
		if len(out) > 0 && wordByte.Match(out[len(out)-1:]) || wordByte.MatchString(after) { // it is a part of another word
			out, sql = append(out, "true"...), after
		} else if rest, ok := withoutLast(out, "AND"); ok {
			out, sql = rest, after
		} else if and := andNext.FindString(after); and != "" {
			sql = after[len(and):]
		} else if rest, ok := withoutLast(out, "WHERE"); ok {
			out, sql = rest, after
		} else {
			out, sql = append(out, "true"...), after
		}
	}
}

// space is what separates words.
const space = " \t\n"

var (
	wordByte = regexp.MustCompile(`^\w`)
	andNext  = regexp.MustCompile(`^\s+AND\s+`)
)

// withoutLast returns SQL without its last word and the space around it, if that word is the given one with space on both sides.
func withoutLast(sql []byte, word string) (rest []byte, ok bool) {
	trimmed := bytes.TrimRight(sql, space)
	rest, ok = bytes.CutSuffix(trimmed, []byte(word))
	before := bytes.TrimRight(rest, space)
	return before, ok && len(trimmed) < len(sql) && len(before) < len(rest)
}

// withoutBlank returns SQL without empty lines, with a newline at its end.
func withoutBlank(sql string) string {
	var out strings.Builder
	for line := range strings.Lines(sql) {
		if strings.Trim(line, space) != "" {
			out.WriteString(strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	return out.String()
}

// expand returns the SQL of a file of reports and of the files that it includes, for a kind of window and the values of
// its parameters. The condition of a flag is in the SQL only if the flag is given: ClickHouse takes as long to analyse
// a condition that is always true as any other.
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
	return withoutBlank(withoutTrue(out.String())), nil
}
