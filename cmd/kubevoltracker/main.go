// Command kubevoltracker remembers who used which Kubernetes storage, when.
//
// It only parses flags: package app is the tracker itself, package catalog answers reports. Exit codes: 0,
// 1 for a failure, 2 for a mistake in the command line.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/cmd/kubevoltracker/app"
	"github.com/kubevoltracker/kubevoltracker/cmd/namedflag"
)

func main() { os.Exit(run(os.Args, os.Stdout, os.Stderr)) }

// command is the action of a subcommand, after its flags are parsed.
type command func() error

// run runs a command line, and returns the exit code.
func run(commandLine []string, stdout, stderr io.Writer) int {
	called, args := arguments(commandLine)
	application, commands := newApplication(called, stdout, stderr)
	name, err := application.Parse(args)
	if err != nil {
		err = app.UsageError{Err: fmt.Errorf("%w%s (see %s --help)", err, suggestion(application, args), called.spell(selected(application, args)))}
	} else {
		err = commands[name]()
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "kubevoltracker:", oneLine(err))
	if errors.As(err, new(app.UsageError)) {
		return 2
	}
	return 1
}

// newApplication declares all commands and their flags, for a program that is called so. Parse returns the name of the
// command to run.
func newApplication(called program, stdout, stderr io.Writer) (*kingpin.Application, map[string]command) {
	application := kingpin.New("kubevoltracker", "Remembers who used which Kubernetes storage, when: watches the API server, serves metrics to Prometheus, keeps the history in ClickHouse.")
	application.HelpFlag.Short('h')
	application.UsageWriter(stdout)
	application.UsageTemplate(usageTemplate()).UsageFuncs(map[string]any{"Spell": called.spell})
	application.Version(version.Print("kubevoltracker"))
	application.DefaultEnvars()
	application.HelpFlag.NoEnvar()
	application.VersionFlag.NoEnvar() // an image may set KUBEVOLTRACKER_VERSION

	commands := map[string]command{}
	addRun(application, commands, stderr)
	addReport(application, commands, called, stdout, stderr)
	addSQL(application, commands, stdout)
	addSchema(application, commands, stdout)
	addLoadgen(application, commands, stdout, stderr)
	addCompletion(application, commands, stdout)
	addVersion(application, commands, stdout)
	namedflag.NameAll(application)
	return application, commands
}

// oneLine returns an error's text as one line, even if a server's message has several. Control characters
// are escaped: the text of a server may quote names that anybody chose, and a terminal obeys them.
func oneLine(err error) string {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	return catalog.Printable(strings.Join(lines, "; "))
}

// choice is the value of a flag that accepts one of several words.
type choice struct {
	options []string
	value   *string
}

func addChoice(clause *kingpin.FlagClause, options []string, value *string) {
	clause.HintOptions(options...).SetValue(&choice{options, value})
}

func (c *choice) String() string { return *c.value }

func (c *choice) Set(text string) error {
	if !slices.Contains(c.options, text) {
		return fmt.Errorf("%q is not one of %s", text, strings.Join(c.options, ", "))
	}
	*c.value = text
	return nil
}

func addVersion(application *kingpin.Application, commands map[string]command, stdout io.Writer) {
	cmd := application.Command("version", "Print the version.")
	commands[cmd.FullCommand()] = func() error {
		_, err := fmt.Fprintln(stdout, version.Print("kubevoltracker"))
		return err
	}
}
