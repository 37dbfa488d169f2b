// Command kubevoltracker remembers who used which Kubernetes storage, when.
//
// It only parses flags and wires: the collector watches the API server, the
// exporter serves what it infers to Prometheus, the catalog keeps it in
// ClickHouse. Exit codes: 0, 1 for a failure, 2 for a mistake in the command
// line.
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
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// command is what a subcommand does once its flags are read.
type command func() error

// usageError is a mistake in the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }

func run(args []string, stdout, stderr io.Writer) int {
	app := kingpin.New("kubevoltracker", "Remembers who used which Kubernetes storage, when: watches the API server, serves metrics to Prometheus, keeps the history in ClickHouse.")
	app.HelpFlag.Short('h')
	app.UsageWriter(stdout)
	app.Version(version.Print("kubevoltracker"))
	app.DefaultEnvars()
	app.HelpFlag.NoEnvar()
	app.VersionFlag.NoEnvar() // an image may well set KUBEVOLTRACKER_VERSION

	commands := map[string]command{}
	addRun(app, commands, stderr)
	addReport(app, commands, stdout, stderr)
	addSQL(app, commands, stdout)
	addSchema(app, commands, stdout)
	addVersion(app, commands, stdout)

	name, err := app.Parse(args)
	if err != nil {
		err = usageError{fmt.Errorf("%w (see kubevoltracker --help)", err)}
	} else {
		err = commands[name]()
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "kubevoltracker:", oneLine(err))
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 1
}

// oneLine keeps an error in one line, whatever a server put into it.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// choice is the value of a flag that takes one of some words. Unlike kingpin's
// own, its error names the flag.
type choice struct {
	flag    string
	options []string
	value   *string
}

func addChoice(clause *kingpin.FlagClause, flag string, options []string, value *string) {
	clause.SetValue(&choice{flag, options, value})
}

func (c *choice) String() string { return *c.value }

func (c *choice) Set(text string) error {
	if !slices.Contains(c.options, text) {
		return fmt.Errorf("--%s: %q is not one of %s", c.flag, text, strings.Join(c.options, ", "))
	}
	*c.value = text
	return nil
}

func addVersion(app *kingpin.Application, commands map[string]command, stdout io.Writer) {
	cmd := app.Command("version", "Print the version.")
	commands[cmd.FullCommand()] = func() error {
		_, err := fmt.Fprintln(stdout, version.Print("kubevoltracker"))
		return err
	}
}
