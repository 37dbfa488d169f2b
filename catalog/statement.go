package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// Statement is SQL with parameters ({name:Type}), and their values.
type Statement struct {
	SQL        string
	Parameters map[string]string
	settings   clickhouse.Settings
	database   string // that has the tables
}

// Script returns the statement as a file that `kubevoltracker sql --file` and clickhouse-client run. Its first lines
// are comments with the command lines, which carry the values of the parameters. The last one has the settings that the report is asked with.
func (s Statement) Script() string {
	var tracker, client strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.Parameters)) {
		if !strings.Contains(s.SQL, "{"+name+":") {
			continue
		}
		value := s.Parameters[name]
		tracker.WriteString(" \\\n--     " + shellWord("--param="+name+"="+value))
		client.WriteString(" \\\n--     " + shellWord("--param_"+name+"="+escapedValue.Replace(value)))
	}
	var settings []string
	for _, name := range slices.Sorted(maps.Keys(s.settings)) {
		settings = append(settings, fmt.Sprintf("%s = %v", name, s.settings[name]))
	}
	end := "\n"
	if len(settings) > 0 {
		end = "\nSETTINGS " + strings.Join(settings, ", ") + "\n"
	}
	return fmt.Sprintf("-- Run this file by\n--   kubevoltracker sql --file=FILE%s\n-- or by\n--   clickhouse-client %s --queries-file=FILE%s\n%s%s",
		&tracker, shellWord("--database="+s.database), &client, strings.TrimSpace(s.SQL), end)
}

// escapedValue escapes a value as clickhouse-client reads it: by the rules of ClickHouse's format TabSeparated.
var escapedValue = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\x00", `\0`)

// shellWord quotes a word for a POSIX shell. One with control characters, which would end the line, becomes $'…', which
// bash, zsh and ksh know.
func shellWord(word string) string {
	const safe = "-_./:=,@%+"
	special := func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(safe, r)
	}
	switch {
	case !strings.ContainsFunc(word, special):
		return word
	case !strings.ContainsFunc(word, dangerous):
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var out strings.Builder
	for i := range len(word) {
		switch b := word[i]; {
		case b == '\'' || b == '\\':
			out.WriteString(`\` + string(rune(b)))
		case b < ' ' || b > '~':
			fmt.Fprintf(&out, `\x%02x`, b)
		default:
			out.WriteByte(b)
		}
	}
	return "$'" + out.String() + "'"
}
