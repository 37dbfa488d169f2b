package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/cmd/kubevoltracker/app"
)

// formatClause matches the end of a statement that sets the format of its result. Over HTTP
// ClickHouse would use that format, which its client cannot read.
var formatClause = regexp.MustCompile(`(?is)\sFORMAT\s+(\w+)(\s+SETTINGS\s[^']*)?[\s;]*$`)

func addSQL(application *kingpin.Application, commands map[string]command, stdout io.Writer) {
	cmd := application.Command("sql", "Ask the catalog in SQL. Rows that were replaced since do not show: every table is read as with FINAL.")
	query := cmd.Arg("query", "A statement of ClickHouse's SQL.").String()
	file := cmd.Flag("file", "File with the statement, or - for the standard input.").String()
	cmd.Validate(func(*kingpin.CmdClause) error {
		if (*query == "") == (*file == "") {
			return errors.New("sql: give a statement, or a file with one by --file")
		}
		return nil
	})
	params := cmd.Flag("param", "Value for {NAME:Type} in the query; repeatable.").PlaceHolder("NAME=VALUE").StringMap()
	write := cmd.Flag("write", "Run a statement that changes something, too; with a user who may.").Bool()
	output := addOutputFlag(cmd)
	where := addCatalogFlags(cmd, defaultCatalogURL, "")
	commands[cmd.FullCommand()] = func() error {
		if *file != "" {
			text, err := readStatement(*file)
			if err != nil {
				return app.UsageError{Err: fmt.Errorf("sql: --file: %w", err)}
			}
			*query = text
		}
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

// readStatement reads a file, or the standard input if its name is a dash.
func readStatement(name string) (string, error) {
	if name == "-" {
		text, err := io.ReadAll(os.Stdin)
		return string(text), err
	}
	text, err := os.ReadFile(name)
	return string(text), err
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
	var retention catalog.Retention
	addRetentionFlag(migrate, &retention)
	commands[migrate.FullCommand()] = func() error {
		return where.ask(func(ctx context.Context, c *catalog.Catalog) error {
			before, err := c.SchemaVersions(ctx)
			if err != nil {
				return err
			}
			if err := c.Migrate(ctx); err != nil {
				return err
			}
			if _, err = fmt.Fprintf(stdout, "%s at %s: schema version %d, %d migrations applied\n", c.Database(), c.Address(), before.Latest, before.Pending()); err != nil {
				return err
			}
			changes, err := c.Retain(ctx, retention)
			for _, change := range changes {
				if _, err := fmt.Fprintln(stdout, change); err != nil {
					return err
				}
			}
			return err
		})
	}
}
