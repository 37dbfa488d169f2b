package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/cmd/kubevoltracker/app"
)

// defaultCatalogURL is the address of the embedded engine of a tracker on this machine.
const defaultCatalogURL = "http://127.0.0.1:8123/kubevoltracker"

// passwordVariable is the environment variable for ClickHouse's password. There is no flag for it,
// because flags are visible in the list of processes.
const passwordVariable = "KUBEVOLTRACKER_CATALOG_PASSWORD" //nolint:gosec // the name of a variable, and no password

// catalogFlags select the ClickHouse with the catalog.
type catalogFlags struct {
	url, username, passwordFile string
	usual                       string // the default of url
}

func addCatalogFlags(cmd *kingpin.CmdClause, url, help string) *catalogFlags {
	f := &catalogFlags{usual: url}
	cmd.Flag("catalog.url", "ClickHouse that holds the catalog: clickhouse://user@host:9000/database?secure=true or http://host:8123/database"+help+".").
		Default(url).StringVar(&f.url)
	cmd.Flag("catalog.username", "User of ClickHouse; goes before that of the URL.").StringVar(&f.username)
	cmd.Flag("catalog.password-file", "File with the password of ClickHouse's user; or set "+passwordVariable+".").StringVar(&f.passwordFile)
	return f
}

// addRetentionFlag adds the flag of the retention, which stays nil without it.
func addRetentionFlag(cmd *kingpin.CmdClause, r *catalog.Retention) {
	cmd.Flag("catalog.retention", "For how long a table keeps what is over, as mounts=2y; with commas between them, or repeatable. mounts (with its pods and containers), attachments, changes, usage and storage_capacity can expire. "+
		"The flag is the whole policy: a table that it leaves out, or that has the duration forever, keeps everything. Without the flag each table stays as it was set last; at first, nothing expires.").
		PlaceHolder("TABLE=DURATION").SetValue(&listFlag{add: func(text string) error {
		if *r == nil {
			*r = catalog.Retention{}
		}
		return r.Add(text)
	}})
}

// following returns the options of a program that waits for the password, and follows its changes.
func (f *catalogFlags) following() catalog.Options {
	return catalog.Options{URL: f.url, Username: f.username, Password: os.Getenv(passwordVariable), PasswordFile: f.passwordFile, Version: version.Version}
}

// options reads the password.
func (f *catalogFlags) options() (catalog.Options, error) {
	o := f.following()
	if f.passwordFile != "" {
		var err error
		o.PasswordFile = ""
		if o.Password, err = catalog.ReadPassword(f.passwordFile); err != nil {
			return o, app.UsageError{Err: fmt.Errorf("--catalog.password-file: %w", err)}
		}
	}
	return o, nil
}

// open prepares the connection. It does not connect.
func (f *catalogFlags) open() (*catalog.Catalog, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	c, err := catalog.Open(o)
	if err != nil {
		return nil, app.UsageError{Err: err}
	}
	return c, nil
}

// garbage is GOGC of a command that asks: its heap is small and it ends soon, so to collect it as often as Go does by default takes half of
// its CPU time, beside a ClickHouse that may have the same cores.
const garbage = 400

// ask runs a question against the catalog; Ctrl-C cancels it.
func (f *catalogFlags) ask(question func(context.Context, *catalog.Catalog) error) (err error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := f.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	err = question(ctx, c)
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("interrupted")
	case f.url == f.usual && errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w; %s", err, noTracker)
	}
	return err
}

// noTracker is the cure where nothing listens at the default address.
const noTracker = "start a tracker on this machine, or name its ClickHouse by --catalog.url; that of a tracker in a cluster comes to this address by: " +
	"kubectl port-forward --namespace kubevoltracker kubevoltracker-0 8123"

// addOutputFlag adds the flag -o.
func addOutputFlag(cmd *kingpin.CmdClause) *string {
	output := new(string)
	addChoice(cmd.Flag("output", "Format: "+strings.Join(catalog.Formats(), ", ")+".").Short('o').Default(string(catalog.TableFormat)),
		catalog.Formats(), output)
	return output
}
