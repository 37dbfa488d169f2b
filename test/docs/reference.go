package docs

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/alecthomas/units"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// ConfigurePage is the page with all flags. Each program has a part of it.
const ConfigurePage = "docs/configure.md"

// Group is a heading over flags that belong together.
type Group struct {
	Title string
	Flags []string // names, or beginnings of names that end with a dot or a dash
	Text  string   // what they are for
}

// CheckReference compares a program's part of the page with its flags, or writes it anew.
func CheckReference(t *testing.T, program string, application *kingpin.Application, update bool, groups ...Group) {
	t.Helper()
	if _, err := application.ParseContext(nil); err != nil { // which sets the names of environment variables
		t.Fatal(err)
	}
	path := harness.File(t, ConfigurePage)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := fmt.Sprintf("<!-- The flags of %s: `make docs` writes them. -->\n", program), fmt.Sprintf("<!-- End of the flags of %s. -->\n", program)
	before, rest, hasBegin := strings.Cut(string(text), begin)
	is, after, hasEnd := strings.Cut(rest, end)
	if !hasBegin || !hasEnd {
		t.Fatalf("%s lacks %q or %q", ConfigurePage, begin, end)
	}
	want := "\n" + reference(program, application.Model(), groups) + "\n"
	switch {
	case is == want:
	case update:
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is out of date in its part of %s: run `make docs`", ConfigurePage, program)
	}
}

// reference returns the flags of a program and of its commands as tables, grouped where there are groups.
func reference(program string, model *kingpin.ApplicationModel, groups []Group) string {
	var b strings.Builder
	write(&b, model.Flags, groups)
	for _, command := range model.Commands {
		runnable := leaves(command)
		common := commonFlags(runnable)
		if len(common) > 0 {
			fmt.Fprintf(&b, "### %s %s\n\n%s\n\nEach of these commands has the flags of this table, and flags of its own.\n\n", program, command.FullCommand, command.Help)
			write(&b, common, groups)
		}
		for _, c := range runnable {
			writeCommand(&b, program, c, common, groups)
		}
	}
	return strings.TrimSpace(b.String()) + "\n"
}

// writeCommand writes a command's flags without those that it has in common with others.
func writeCommand(b *strings.Builder, program string, command *kingpin.CmdModel, common []*kingpin.FlagModel, groups []Group) {
	fmt.Fprintf(b, "### %s %s\n\n%s", program, command.FullCommand, command.Help)
	shown := shownFlags(command.Flags)
	if len(shown) == 0 && len(command.Args) == 0 {
		b.WriteString(" It has no flags.\n\n")
		return
	}
	b.WriteString("\n\n")
	for _, arg := range command.Args {
		fmt.Fprintf(b, "The argument `%s`: %s\n\n", strings.ToUpper(arg.Name), arg.Help)
	}
	write(b, slices.DeleteFunc(shown, func(f *kingpin.FlagModel) bool { return hasFlag(common, f) }), groups)
}

// leaves returns the commands that can be run: the command itself, or those below it.
func leaves(c *kingpin.CmdModel) (list []*kingpin.CmdModel) {
	switch {
	case c.Hidden || c.Name == "help":
	case len(c.Commands) > 0:
		for _, below := range c.Commands {
			list = append(list, leaves(below)...)
		}
	default:
		list = append(list, c)
	}
	return list
}

// commonFlags returns the flags that all of several commands have, apart from those without any flag.
func commonFlags(commands []*kingpin.CmdModel) []*kingpin.FlagModel {
	commands = slices.DeleteFunc(slices.Clone(commands), func(c *kingpin.CmdModel) bool { return len(shownFlags(c.Flags)) == 0 })
	if len(commands) < 2 {
		return nil
	}
	return slices.DeleteFunc(shownFlags(commands[0].Flags), func(f *kingpin.FlagModel) bool {
		return slices.ContainsFunc(commands, func(c *kingpin.CmdModel) bool { return !hasFlag(c.Flags, f) })
	})
}

// hasFlag reports whether the list has a flag of the same name, default and meaning.
func hasFlag(list []*kingpin.FlagModel, f *kingpin.FlagModel) bool {
	return slices.ContainsFunc(list, func(other *kingpin.FlagModel) bool {
		return other.Name == f.Name && other.Help == f.Help && slices.Equal(other.Default, f.Default)
	})
}

// fewFlags is how many flags make one table without headings.
const fewFlags = 12

func write(b *strings.Builder, flags []*kingpin.FlagModel, groups []Group) {
	shown := shownFlags(flags)
	if len(shown) <= fewFlags {
		table(b, shown)
		return
	}
	for _, group := range append(slices.Clone(groups), Group{Title: "Other", Flags: []string{""}}) {
		of := make([]*kingpin.FlagModel, 0, len(shown))
		shown = slices.DeleteFunc(shown, func(f *kingpin.FlagModel) bool {
			belongs := slices.ContainsFunc(group.Flags, func(name string) bool { return belongsTo(f.Name, name) })
			if belongs {
				of = append(of, f)
			}
			return belongs
		})
		if len(of) > 0 {
			fmt.Fprintf(b, "#### %s\n\n", group.Title)
			if group.Text != "" {
				fmt.Fprintf(b, "%s\n\n", group.Text)
			}
			table(b, of)
		}
	}
}

func belongsTo(flag, name string) bool {
	begins := name == "" || strings.HasSuffix(name, ".") || strings.HasSuffix(name, "-")
	return flag == name || begins && strings.HasPrefix(flag, name)
}

// shownFlags leaves out hidden flags, and those that every program has.
func shownFlags(flags []*kingpin.FlagModel) []*kingpin.FlagModel {
	return slices.DeleteFunc(slices.Clone(flags), func(f *kingpin.FlagModel) bool {
		return f.Hidden || f.Name == "help" || f.Name == "version"
	})
}

func table(b *strings.Builder, flags []*kingpin.FlagModel) {
	if len(flags) == 0 {
		return
	}
	b.WriteString("| flag | default | environment | meaning |\n|---|---|---|---|\n")
	for _, f := range flags {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", spelling(f), defaultOf(f), code(f.Envar), escape(meaning(f)))
	}
	b.WriteByte('\n')
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func escape(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// spelling returns how a flag is written.
func spelling(f *kingpin.FlagModel) string {
	switch short := ""; {
	case f.IsBoolFlag():
		return code("--[no-]" + f.Name)
	default:
		if f.Short != 0 {
			short = ", " + code("-"+string(f.Short))
		}
		return code("--"+f.Name+"="+valueName(f)) + short
	}
}

// valueName says what a flag's value is, by its type or its default.
func valueName(f *kingpin.FlagModel) string {
	if f.PlaceHolder != "" {
		return f.PlaceHolder
	}
	if value, ok := f.Value.(kingpin.Getter); ok {
		switch value.Get().(type) {
		case units.Base2Bytes:
			return "SIZE"
		case time.Duration:
			return "DURATION"
		case int, uint32, uint64, float64:
			return "NUMBER"
		}
	}
	if _, err := strconv.ParseUint(strings.Join(f.Default, ""), 10, 64); err == nil {
		return "NUMBER"
	}
	for _, end := range []string{"-file", ".file", "dir", "kubeconfig"} {
		if strings.HasSuffix(f.Name, end) {
			return "PATH"
		}
	}
	return "TEXT"
}

func defaultOf(f *kingpin.FlagModel) string {
	on := slices.Equal(f.Default, []string{"true"})
	switch {
	case f.IsBoolFlag() && on:
		return "on"
	case f.IsBoolFlag():
		return "off"
	case len(f.Default) > 0:
		return code(strings.Join(f.Default, ", "))
	}
	return ""
}

func meaning(f *kingpin.FlagModel) string {
	many, ok := f.Value.(interface{ IsCumulative() bool })
	if ok && many.IsCumulative() && !strings.Contains(f.Help, "epeatable") {
		return f.Help + " Repeatable."
	}
	return f.Help
}
