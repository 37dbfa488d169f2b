package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// Table is a table on a page.
type Table struct {
	Page    string
	Heading string // the text of the heading of level 2 or 3 above
	Header  []string
	Rows    []Row
}

// Row is a row of a table.
type Row struct {
	Line  int
	Cells []string // their texts, without marks
	Names []string // the code in the first cell
}

// has reports whether the table's columns begin with these.
func (t *Table) has(columns ...string) bool {
	return len(t.Header) >= len(columns) && slices.Equal(t.Header[:len(columns)], columns)
}

func (p *reading) table(n *extast.Table) Table {
	t := Table{Page: p.page.Name, Heading: p.heading}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		r := p.row(row)
		if row.Kind() == extast.KindTableHeader {
			t.Header = r.Cells
			continue
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

func (p *reading) row(n ast.Node) (r Row) {
	for cell := n.FirstChild(); cell != nil; cell = cell.NextSibling() {
		if cell == n.FirstChild() {
			if cell.Lines().Len() > 0 {
				r.Line = p.lineOf(cell.Lines().At(0).Start)
			}
			for c := cell.FirstChild(); c != nil; c = c.NextSibling() {
				if c.Kind() == ast.KindCodeSpan {
					r.Names = append(r.Names, p.text(c))
				}
			}
		}
		r.Cells = append(r.Cells, p.text(cell))
	}
	return r
}

// Defaults are the flags of one command, and their defaults as docs/configure.md has them: on or off for a switch.
type Defaults map[string]string

// commandHeading is a heading of docs/configure.md above the flags of a command.
var commandHeading = regexp.MustCompile(`^kubevoltracker\b`)

// DefaultsOf reads the flags of each command from the tables of docs/configure.md. The tests of the programs hold that
// they are those of the code.
func DefaultsOf(configure *Page) map[string]Defaults {
	commands := map[string]Defaults{}
	for _, t := range configure.Tables {
		if !t.has("flag", "default") || !commandHeading.MatchString(t.Heading) {
			continue
		}
		if commands[t.Heading] == nil {
			commands[t.Heading] = Defaults{}
		}
		for _, row := range t.Rows {
			for _, name := range row.Names[:min(1, len(row.Names))] { // the second one is the short name
				if m := nameOfFlag.FindStringSubmatch(name); m != nil {
					commands[t.Heading][m[2]] = row.Cells[1]
				}
			}
		}
	}
	return commands
}

// WrongFlagTables checks the tables whose first column is "flag". All flags of a table must belong to one command: the
// one that has most of them. If the second column is "default", it must have the defaults of the flags. n is how many
// defaults were compared.
func (p *Page) WrongFlagTables(commands map[string]Defaults) (findings []string, n int) {
	for _, t := range p.Tables {
		if !t.has("flag") {
			continue
		}
		command := t.command(commands)
		for _, row := range t.Rows {
			values := []string{}
			if t.has("flag", "default") {
				values = row.defaults()
			}
			found, compared := row.wrongFlags(command, commands[command], values)
			n += compared
			for _, finding := range found {
				findings = append(findings, fmt.Sprintf("%s:%d: %s", p.Name, row.Line, finding))
			}
		}
	}
	return findings, n
}

// command returns the name of the command that has most flags of a table.
func (t *Table) command(commands map[string]Defaults) (best string) {
	most := 0
	for name, flags := range commands {
		n := 0
		for _, row := range t.Rows {
			for _, flag := range row.Names {
				if _, _, ok := flags.of(flag); ok {
					n++
				}
			}
		}
		if n > most || n == most && n > 0 && name < best {
			most, best = n, name
		}
	}
	return best
}

// of returns the default of a flag as it is spelled: that of --no-x is the opposite of that of --x.
func (d Defaults) of(spelled string) (value string, isSwitch, ok bool) {
	m := nameOfFlag.FindStringSubmatch(spelled)
	if m == nil {
		return "", false, false
	}
	value, ok = d[m[2]]
	negated := false
	if positive, cut := strings.CutPrefix(m[2], "no-"); cut && !ok {
		value, ok = d[positive]
		negated = true
	}
	switch isSwitch = value == "on" || value == "off"; {
	case negated && !isSwitch:
		return "", false, false
	case negated && value == "on":
		return "off", true, ok
	case negated:
		return "on", true, ok
	}
	return value, isSwitch, ok
}

// defaults returns the defaults in a row, one for each of its flags.
func (r *Row) defaults() []string {
	if len(r.Names) == 1 {
		return []string{r.Cells[1]}
	}
	return strings.Split(r.Cells[1], ", ")
}

// wrongFlags compares a row with the flags of a command. A switch without a default in the row is off. Values are the
// defaults in the row; none if the table has no column for them.
func (r *Row) wrongFlags(command string, flags Defaults, values []string) (findings []string, n int) {
	if len(values) > 0 && len(values) != len(r.Names) {
		return []string{fmt.Sprintf("%d flags and %d defaults", len(r.Names), len(values))}, 0
	}
	for i, spelled := range r.Names {
		value, isSwitch, ok := flags.of(spelled)
		if !ok {
			findings = append(findings, fmt.Sprintf("%s is not a flag of %q, as others in the table are", spelled, command))
			continue
		}
		if len(values) == 0 {
			continue
		}
		n++
		if is := values[i]; is != value && !(isSwitch && is == "" && value == "off") {
			findings = append(findings, fmt.Sprintf("the default of %s is %q, not %q", spelled, value, is))
		}
	}
	return findings, n
}
