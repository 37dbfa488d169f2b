package catalog

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// versionTable is where goose records which migrations were applied.
const versionTable = "schema_migrations"

// Versions are the version of the database's schema (0 if it has no tables yet)
// and the newest that this program knows.
type Versions struct {
	Current, Latest int64
}

// Pending is the number of migrations that Migrate would apply.
func (v Versions) Pending() int64 { return max(0, v.Latest-v.Current) }

// Schema returns the SQL that creates the catalog's tables, as Migrate applies
// it to an empty database.
func Schema() (string, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return "", fmt.Errorf("list migrations: %w", err)
	}
	var out strings.Builder
	for i, name := range names {
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("read migration: %w", err)
		}
		if i > 0 {
			out.WriteByte('\n')
		}
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "-- +goose") {
				out.WriteString(line)
			}
		}
	}
	return out.String(), nil
}

// SchemaVersions reads the version of the schema and changes nothing. A database
// that is missing or has no tables yet has version 0.
func (c *Catalog) SchemaVersions(ctx context.Context) (Versions, error) {
	provider, err := c.provider()
	if err != nil {
		return Versions{}, err
	}
	defer provider.Close()
	return c.schemaVersions(ctx, provider)
}

func (c *Catalog) schemaVersions(ctx context.Context, provider *goose.Provider) (Versions, error) {
	sources := provider.ListSources()
	v := Versions{Latest: sources[len(sources)-1].Version}
	conn, err := c.connection("read the schema's version")
	if err != nil {
		return v, err
	}
	err = conn.QueryRow(ctx, "SELECT max(version_id) FROM "+versionTable).Scan(&v.Current)
	if err != nil && !HasCode(err, chproto.ErrUnknownTable, chproto.ErrUnknownDatabase) {
		return v, c.explain("read the schema's version", err)
	}
	return v, nil
}

// Migrate brings the schema to the newest version that this program knows, and
// creates the database if it is missing. It may run again at any time, and in two
// trackers at once: each statement changes nothing the second time. Errors are
// *Error; its Reason is NewerSchema if the schema has a version that this program
// does not know, and Migrate changes nothing then.
func (c *Catalog) Migrate(ctx context.Context) error {
	if err := c.ensureDatabase(ctx); err != nil {
		return err
	}
	provider, err := c.provider()
	if err != nil {
		return err
	}
	defer provider.Close()
	v, err := c.schemaVersions(ctx, provider)
	if err != nil {
		return err
	}
	if v.Current > v.Latest {
		// Unreleased versions counted their migrations up to 22, before these became version 1.
		return &Error{Reason: NewerSchema, Op: "migrate", Address: c.Address(), Hint: fmt.Sprintf(
			"holds schema version %d in database %q, and this kubevoltracker knows up to version %d; use the newer kubevoltracker that made it, or another database; if an unreleased kubevoltracker made it, drop the database and empty --data-dir",
			v.Current, c.Database(), v.Latest)}
	}
	if v.Pending() == 0 {
		return nil // without a write, so that a user who may only read can ask, too
	}
	if _, err := provider.Up(ctx); err != nil {
		return c.explain("migrate", err)
	}
	return nil
}

// ensureDatabase creates the database only if it is missing: a user without the
// right to create databases can use an existing one.
func (c *Catalog) ensureDatabase(ctx context.Context) error {
	conn, err := c.connection("connect")
	if err != nil {
		return err
	}
	err = conn.Ping(ctx)
	if !HasCode(err, chproto.ErrUnknownDatabase) {
		return c.explain("connect", err)
	}
	o := c.serverOptions()
	o.Auth.Database = ""
	unnamed, err := clickhouse.Open(&o)
	if err != nil {
		return c.explain("connect", err)
	}
	defer unnamed.Close()
	err = unnamed.Exec(ctx, "CREATE DATABASE IF NOT EXISTS `"+c.Database()+"`")
	return c.explain("create the database", err)
}

// provider returns goose over database/sql, the only interface that goose has.
// The caller closes it.
func (c *Catalog) provider() (*goose.Provider, error) {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, fmt.Errorf("open migrations: %w", err)
	}
	o := c.serverOptions()
	db := clickhouse.OpenDB(&o)
	provider, err := goose.NewProvider(goose.DialectClickHouse, db, files,
		goose.WithTableName(versionTable), goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return provider, nil
}
