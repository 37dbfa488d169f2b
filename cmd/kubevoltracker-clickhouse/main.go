// Command kubevoltracker-clickhouse serves the embedded ClickHouse engine on ClickHouse's HTTP
// interface. The tracker runs it as a child process; it can also serve a catalog on its own.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/alecthomas/units"
	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/kubevoltracker/kubevoltracker/catalog/embedded"
)

// orphanPatience is how long, beyond the grace for statements, a process whose parent has ended may
// take to stop.
const orphanPatience = 30 * time.Second

const name = "kubevoltracker-clickhouse"

func main() { os.Exit(run(os.Args[1:])) }

type flags struct {
	embedded.Options
	maxMemory        units.Base2Bytes
	passwordFile     string
	logLevel         string
	logFormat        string
	exitOnStdinClose bool
}

// run returns the exit code: 1 if it cannot serve, 2 for a mistake in the command line.
func run(args []string) int {
	f, err := parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v; see --help\n", name, err)
		return 2
	}
	if err := serve(f); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return 1
	}
	return 0
}

func parse(args []string) (*flags, error) {
	f := &flags{}
	app := kingpin.New(name, "Serves the embedded ClickHouse engine on ClickHouse's HTTP interface.")
	app.Version(version()).DefaultEnvars()
	app.HelpFlag.Short('h')
	app.Flag("data-dir", "Directory of the engine's data; created where it is missing.").Default("./clickhouse-data").StringVar(&f.DataDir)
	app.Flag("listen-address", "host:port to serve on; other than loopback only with a password.").Default("127.0.0.1:8123").StringVar(&f.ListenAddress)
	app.Flag("library", "Path of libchdb.so; default: "+embedded.LibraryEnv+", beside this program, in lib/ there or one up, or in .cache/lib.").StringVar(&f.Library)
	app.Flag("password-file", "File that holds the password of the user default.").StringVar(&f.passwordFile)
	app.Flag("max-concurrent-queries", "Statements that run at once; others wait, and are refused after a while.").Default("16").IntVar(&f.MaxConcurrentQueries)
	app.Flag("max-memory", "Memory that the engine, and each query, may take.").Default("2GiB").BytesVar(&f.maxMemory)
	app.Flag("stop-grace", "How long a stop waits for running statements before it cancels them.").Default("10s").DurationVar(&f.Grace)
	app.Flag("exit-on-stdin-close", "Stop when standard input ends: how a parent process makes sure that this one never outlives it.").BoolVar(&f.exitOnStdinClose)
	app.Flag("log.level", "Least severe messages to log.").Default("info").EnumVar(&f.logLevel, "debug", "info", "warn", "error")
	app.Flag("log.format", "How to log.").Default("logfmt").EnumVar(&f.logFormat, "logfmt", "json")
	if _, err := app.Parse(args); err != nil {
		return nil, err
	}
	f.MaxMemory = int64(f.maxMemory)
	f.Logger = newLogger(f.logLevel, f.logFormat)
	return f, nil
}

func serve(f *flags) error {
	if f.passwordFile != "" {
		raw, err := os.ReadFile(f.passwordFile)
		if err != nil {
			return fmt.Errorf("--password-file: %w", err)
		}
		if f.Password = strings.TrimRight(string(raw), "\r\n"); f.Password == "" {
			return fmt.Errorf("--password-file: %s is empty", f.passwordFile)
		}
	}
	// If the reader of a result disconnects, the write must return an error; SIGPIPE must not end
	// the process.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if f.exitOnStdinClose {
		var orphaned context.CancelFunc
		ctx, orphaned = context.WithCancel(ctx)
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			orphaned()
			// No parent is left to kill a stop that hangs. The data survives that like a crash.
			time.AfterFunc(f.Grace+orphanPatience, func() { os.Exit(1) })
		}()
	}
	began := time.Now()
	server, err := embedded.Start(f.Options)
	if err != nil {
		return err
	}
	level.Info(f.Logger).Log("msg", "serving ClickHouse", "url", server.URL(), "version", server.Version(),
		"data_dir", f.DataDir, "start", time.Since(began).Round(time.Millisecond))
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	return server.Run(ctx)
}

func newLogger(least, format string) log.Logger {
	w := log.NewSyncWriter(os.Stderr)
	logger := log.NewLogfmtLogger(w)
	if format == "json" {
		logger = log.NewJSONLogger(w)
	}
	return log.With(level.NewFilter(logger, level.Allow(level.ParseDefault(least, level.InfoValue()))), "ts", log.DefaultTimestampUTC)
}

func version() string {
	v := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		v = info.Main.Version
	}
	return fmt.Sprintf("%s %s (libchdb %s, %s/%s, %s)", name, v, embedded.LibraryVersion, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
