package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/cmd/kubevoltracker/app"
)

func addReport(application *kingpin.Application, commands map[string]command, stdout, stderr io.Writer) {
	report := application.Command("report", "Answer a question from the catalog.")
	for _, r := range catalog.Reports() {
		cmd := report.Command(r.Name, r.Help)
		values := map[string]*string{}
		switches := map[string]*bool{}
		for _, f := range r.Flags {
			flag := cmd.Flag(f.Name, f.Help)
			if f.Default != "" {
				flag = flag.Default(f.Default)
			}
			switch f.Kind {
			case catalog.Switch:
				switches[f.Name] = flag.Bool()
			case catalog.Choice:
				values[f.Name] = new(string)
				addChoice(flag, f.Name, f.Choices, values[f.Name])
			default:
				values[f.Name] = flag.String()
			}
		}
		output := addOutputFlag(cmd)
		where := addCatalogFlags(cmd, defaultCatalogURL, "")
		commands[cmd.FullCommand()] = func() error {
			parameters := map[string]string{}
			for name, v := range values {
				parameters[name] = *v
			}
			for name, v := range switches {
				parameters[name] = fmt.Sprint(*v)
			}
			return where.ask(func(ctx context.Context, c *catalog.Catalog) error {
				result, err := c.RunReport(ctx, r.Name, parameters)
				if err != nil && !errors.As(err, new(*catalog.Error)) {
					return app.UsageError{Err: err}
				}
				if err != nil {
					return err
				}
				if err := result.Write(stdout, catalog.Format(*output)); err != nil {
					return err
				}
				if remark := result.Remark(); remark != "" {
					if _, err := fmt.Fprintf(stderr, "note: %s\n", remark); err != nil {
						return err
					}
				}
				return noteGaps(ctx, c, parameters["cluster"], stderr)
			})
		}
	}
}

// noteGaps writes, after a report, the times at which no tracker watched.
func noteGaps(ctx context.Context, c *catalog.Catalog, cluster string, stderr io.Writer) error {
	gaps, err := c.Gaps(ctx, cluster)
	if err != nil {
		return err
	}
	const most = 3
	if earlier := len(gaps) - most; earlier > 0 {
		gaps = gaps[earlier:]
		_, err = fmt.Fprintf(stderr, "note: there are %d gaps before these; the table coverage has them\n", earlier)
	}
	for _, gap := range gaps {
		_, err = fmt.Fprintf(stderr, "note: %s\n", gap)
	}
	return err
}

// formatClause matches the end of a statement that sets the format of its result. Over HTTP
// ClickHouse would use that format, which its client cannot read.
var formatClause = regexp.MustCompile(`(?is)\sFORMAT\s+(\w+)(\s+SETTINGS\s[^']*)?[\s;]*$`)

func addSQL(application *kingpin.Application, commands map[string]command, stdout io.Writer) {
	cmd := application.Command("sql", "Ask the catalog in SQL. Rows that were replaced since do not show: every table is read as with FINAL.")
	query := cmd.Arg("query", "A statement of ClickHouse's SQL.").Required().String()
	params := cmd.Flag("param", "Value for {NAME:Type} in the query; repeatable.").PlaceHolder("NAME=VALUE").StringMap()
	write := cmd.Flag("write", "Run a statement that changes something, too; with a user who may.").Bool()
	output := addOutputFlag(cmd)
	where := addCatalogFlags(cmd, defaultCatalogURL, "")
	commands[cmd.FullCommand()] = func() error {
		if strings.TrimSpace(*query) == "" {
			return app.UsageError{Err: fmt.Errorf("sql: the query is empty")}
		}
		if m := formatClause.FindStringSubmatch(*query); m != nil && !strings.EqualFold(m[1], "Null") {
			return app.UsageError{Err: fmt.Errorf("sql: leave out FORMAT %s; -o says how to print: %s", m[1], strings.Join(catalog.Formats(), ", "))}
		}
		return where.ask(func(ctx context.Context, c *catalog.Catalog) error {
			run := c.Query
			if *write {
				run = c.Run
			}
			result, err := run(ctx, *query, *params)
			if err != nil {
				return err
			}
			return result.Write(stdout, catalog.Format(*output))
		})
	}
}

func addSchema(application *kingpin.Application, commands map[string]command, stdout io.Writer) {
	schema := application.Command("schema", "The catalog's tables.")
	print := schema.Command("print", "Print the SQL that makes the tables.").Default()
	commands[print.FullCommand()] = func() error {
		text, err := catalog.Schema()
		if err != nil {
			return err
		}
		_, err = io.WriteString(stdout, text)
		return err
	}

	migrate := schema.Command("migrate", "Bring the tables to the version that this program knows; run does so by itself.")
	where := addCatalogFlags(migrate, defaultCatalogURL, "")
	commands[migrate.FullCommand()] = func() error {
		return where.ask(func(ctx context.Context, c *catalog.Catalog) error {
			before, err := c.SchemaVersions(ctx)
			if err != nil {
				return err
			}
			if err := c.Migrate(ctx); err != nil {
				return err
			}
			_, err = fmt.Fprintf(stdout, "%s at %s: schema version %d, %d migrations applied\n", c.Database(), c.Address(), before.Latest, before.Pending())
			return err
		})
	}
}
