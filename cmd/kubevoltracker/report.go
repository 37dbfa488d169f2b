package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/cmd/kubevoltracker/app"
)

// reportCall is a report with the values of its flags.
type reportCall struct {
	catalog.Report
	values   map[string]*string
	switches map[string]*bool
	output   *string
	columns  *string
	sql      *bool
	watch    *time.Duration
	where    *catalogFlags
	called   program

	stdout, stderr io.Writer
}

func addReport(application *kingpin.Application, commands map[string]command, called program, stdout, stderr io.Writer) {
	report := application.Command("report", "Answer a question from the catalog. Without a name: list the questions.")
	// It is no default in kingpin's sense, which would keep shells from completing the names of reports.
	list := report.Command(listOfReports, "List the reports by the questions that they answer, as report alone does.")
	commands[list.FullCommand()] = func() error { return listReports(stdout, called) }
	for _, r := range catalog.Reports() {
		cmd := report.Command(r.Name, r.Help)
		call := &reportCall{Report: r, values: map[string]*string{}, switches: map[string]*bool{}, called: called, stdout: stdout, stderr: stderr}
		for _, f := range r.Flags {
			call.add(cmd, f)
		}
		call.output = addOutputFlag(cmd)
		call.columns = cmd.Flag("columns", "Only these columns, in this order, with commas between them.").PlaceHolder("NAME,…").NoEnvar().String()
		call.sql = cmd.Flag("sql", "Print the SQL with the values of its parameters, and do not run it. It is one statement with the same rows; the report itself may ask smaller ones first, to read less.").Bool()
		call.watch = cmd.Flag("watch", "Ask again and again, until Ctrl-C: each 2 seconds, or as often as the duration behind it says.").PlaceHolder("2s").Duration()
		call.where = addCatalogFlags(cmd, defaultCatalogURL, "")
		commands[cmd.FullCommand()] = call.run
	}
}

// add declares a flag of a report.
func (r *reportCall) add(cmd *kingpin.CmdClause, f catalog.Flag) {
	if f.Argument {
		r.values[f.Name] = cmd.Arg(f.Name, f.Help).Required().String()
		return
	}
	flag := cmd.Flag(f.Name, f.Help)
	if f.Default != "" {
		flag = flag.Default(f.Default)
	}
	switch f.Kind {
	case catalog.Switch:
		r.switches[f.Name] = flag.Bool()
	case catalog.Choice:
		r.values[f.Name] = new(string)
		addChoice(flag, f.Choices, r.values[f.Name])
	case catalog.Moment:
		r.values[f.Name] = flag.PlaceHolder("TIME").String()
	case catalog.Count:
		r.values[f.Name] = flag.PlaceHolder("NUMBER").String()
	default:
		r.values[f.Name] = flag.String()
	}
}

// parameters returns the values of the flags as text.
func (r *reportCall) parameters() map[string]string {
	parameters := map[string]string{}
	for name, v := range r.values {
		parameters[name] = *v
	}
	for name, v := range r.switches {
		parameters[name] = fmt.Sprint(*v)
	}
	return parameters
}

func (r *reportCall) run() error {
	if *r.watch < 0 {
		return app.UsageError{Err: fmt.Errorf("--watch=%s: write how often, such as 2s", *r.watch)}
	}
	if *r.sql && *r.columns != "" {
		return app.UsageError{Err: errors.New("--columns chooses from the rows, and --sql prints no rows; leave out one of them")}
	}
	return r.where.ask(func(ctx context.Context, c *catalog.Catalog) error {
		switch {
		case *r.sql:
			return r.printSQL(c)
		case *r.watch > 0:
			return watch(ctx, r.stdout, r.stderr, *r.watch, func(page, notes io.Writer) error {
				if r.forPeople() {
					notes = page
				}
				return r.answer(ctx, c, page, notes)
			})
		}
		return r.answer(ctx, c, r.stdout, r.stderr)
	})
}

func (r *reportCall) printSQL(c *catalog.Catalog) error {
	statement, err := c.ReportSQL(r.Name, r.parameters())
	if err != nil {
		return app.UsageError{Err: err}
	}
	_, err = io.WriteString(r.stdout, statement.Script())
	return err
}

// forPeople reports whether a person reads the answer, and no program.
func (r *reportCall) forPeople() bool {
	format := catalog.Format(*r.output)
	return format == catalog.TableFormat || format == catalog.MarkdownFormat
}

// answer runs the report once, and writes its rows and the notes on them. The rows go to r.stdout, or to a buffer for it.
func (r *reportCall) answer(ctx context.Context, c *catalog.Catalog, rows, notes io.Writer) error {
	parameters := r.parameters()
	most := 0
	if r.forPeople() {
		most = catalog.TableRows
	}
	result, err := c.RunReport(ctx, r.Name, parameters, most)
	if err != nil && !errors.As(err, new(*catalog.Error)) {
		return app.UsageError{Err: err}
	}
	if err != nil {
		return err
	}
	if *r.columns != "" {
		if err := result.Select(strings.Split(*r.columns, ",")); err != nil {
			result.Close()
			return app.UsageError{Err: fmt.Errorf("report %s: --columns: %w", r.Name, err)}
		}
	}
	if err := result.WriteFor(r.stdout, rows, catalog.Format(*r.output)); err != nil {
		return err
	}
	said, err := result.Notes()
	if result.Empty() {
		said = append(said, r.whereToLook()...)
	}
	for _, note := range said {
		if _, err := fmt.Fprintf(notes, "note: %s\n", note); err != nil {
			return err
		}
	}
	return err
}

// listOfReports is the command that is meant by report alone.
const listOfReports = "list"

// whereToLook notes, of a report without rows, how to find what its argument may have meant.
func (r *reportCall) whereToLook() []string {
	for _, f := range r.Flags {
		if f.Argument && r.Name != "find" {
			name := strconv.Quote(*r.values[f.Name])
			return []string{fmt.Sprintf("no rows for %s; `%s` lists what has that name", name, r.called.spell("report find "+name))}
		}
	}
	return nil
}

// listReports writes the reports by topic and question.
func listReports(w io.Writer, called program) error {
	var b strings.Builder
	topic := ""
	calls, widest := map[string]string{}, 0
	for _, r := range catalog.Reports() {
		calls[r.Name] = r.Name
		for _, f := range r.Flags {
			if f.Argument {
				calls[r.Name] += " " + strings.ToUpper(f.Name)
			}
		}
		widest = max(widest, len(calls[r.Name]))
	}
	fmt.Fprintf(&b, "%s answers a question from the catalog.\n", called.spell("report NAME"))
	for _, r := range catalog.Reports() {
		if r.Topic != topic {
			topic = r.Topic
			fmt.Fprintf(&b, "\n%s\n", topic)
		}
		fmt.Fprintf(&b, "  %-*s   %s\n", widest, calls[r.Name], r.Question)
	}
	fmt.Fprintf(&b, `
Where the report has them:
The past         --at=TIME, or --since=TIME --until=TIME: 30d or 12h ago, 2026-11-20, "2026-11-20 15:04"
Fewer rows       --namespace, --owner, --group, --storageclass, --workload

In each report:
Fewer rows       --cluster, --limit
Other formats    -o table|json|csv|yaml|markdown, --columns=NAME,NAME
Again and again  --watch, --watch=10s
Its SQL          --sql
All flags        %s --help
`, called.spell("report NAME"))
	_, err := io.WriteString(w, b.String())
	return err
}
