// Command kubevoltracker-clickhouse serves the embedded ClickHouse engine on ClickHouse's HTTP
// interface. The tracker runs it as a child process; it can also serve a catalog on its own.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/alecthomas/units"
	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/common/version"

	"github.com/kubevoltracker/kubevoltracker/catalog/embedded"
	"github.com/kubevoltracker/kubevoltracker/catalog/embedded/sandbox"
	"github.com/kubevoltracker/kubevoltracker/catalog/listen"
	"github.com/kubevoltracker/kubevoltracker/cmd/namedflag"
)

// orphanPatience is how long, beyond the grace for statements, a process whose parent has ended may
// take to stop.
const orphanPatience = 30 * time.Second

const name = "kubevoltracker-clickhouse"

// init keeps the process's first thread for main, which does nothing: ClickHouse asks where the stack
// of its thread is, and glibc reads /proc/self/maps for the first one, which the sandbox forbids.
func init() { runtime.LockOSThread() } //nolint:gochecknoinits // main may run on another thread already

func main() {
	code := make(chan int)
	go func() { code <- run(os.Args[1:]) }()
	os.Exit(<-code)
}

// flags are the values of the flags. The exported ones, and what was read by the others, are passed
// on to the confined process, which sees neither the environment nor the files.
type flags struct {
	embedded.Options
	ListenAddress       string
	ExitOnStdinClose    bool
	LogLevel, LogFormat string

	maxMemory            units.Base2Bytes
	writerPasswordFile   string
	writerPasswordStdin  bool
	writerPasswordCreate bool
	ping                 bool
	readerPasswordFile   string
	inheritedListener    int // 0 for none
}

// run returns the exit code: 1 if it cannot serve, 2 for a mistake in the command line.
func run(args []string) int {
	serve := serveConfined
	if !sandbox.Entered() {
		f, err := parse(args)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v; see --help\n", name, err)
			return 2
		}
		serve = func() error { return confine(f) }
		if f.ping {
			serve = func() error { return ping(f.ListenAddress) }
		}
	}
	if err := serve(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return 1
	}
	return 0
}

func parse(args []string) (*flags, error) {
	f := &flags{}
	if _, err := newApplication(f).Parse(args); err != nil {
		return nil, err
	}
	if f.writerPasswordCreate && f.writerPasswordFile == "" {
		return nil, errors.New("--writer-password-create: name the file by --writer-password-file")
	}
	f.MaxMemory = int64(f.maxMemory)
	return f, nil
}

// newApplication declares the flags.
func newApplication(f *flags) *kingpin.Application {
	app := kingpin.New(name, "Serves the embedded ClickHouse engine on ClickHouse's HTTP interface.")
	app.Version(versionText()).DefaultEnvars()
	app.HelpFlag.Short('h')
	app.Flag("data-dir", "Directory of the engine's data; created where it is missing.").Default("./clickhouse-data").StringVar(&f.DataDir)
	app.Flag("listen-address", "host:port to serve on; other than loopback only with a password of readers.").Default("127.0.0.1:8123").StringVar(&f.ListenAddress)
	app.Flag("library", "Path of libchdb.so; default: "+embedded.LibraryEnv+", beside this program, or in lib/ there or one up.").StringVar(&f.Library)
	app.Flag("writer-password-file", "File with the password of the user "+embedded.WriterUser+", who alone may write; without one nobody may.").StringVar(&f.writerPasswordFile)
	app.Flag("writer-password-create", "Make that file with a random password if it is missing, readable only for this user. A tracker beside this program reads it by its --catalog.password-file.").BoolVar(&f.writerPasswordCreate)
	app.Flag("writer-password-stdin", "Read that password from the first line of standard input, as the tracker gives it.").BoolVar(&f.writerPasswordStdin)
	app.Flag("reader-password-file", "File with the password of the user "+embedded.ReaderUser+", who may read; without one everybody on this machine may.").StringVar(&f.readerPasswordFile)
	app.Flag("reader-timeout", "How long a statement of a reader may take, with the time in which the client receives the answer.").Default("5m").DurationVar(&f.ReaderTimeout)
	app.Flag("max-concurrent-queries", "Statements that run at once; others wait, and are refused after a while. Four are the writer's alone.").Default("16").IntVar(&f.MaxConcurrentQueries)
	app.Flag("max-memory", "Memory that the engine may take, and five eighths of it each query.").Default("2GiB").BytesVar(&f.maxMemory)
	app.Flag("stop-grace", "How long a stop waits for running statements before it cancels them.").Default("10s").DurationVar(&f.Grace)
	app.Flag("exit-on-stdin-close", "Stop when standard input ends: how a parent process makes sure that this one never outlives it.").BoolVar(&f.ExitOnStdinClose)
	app.Flag("inherited-listener", "Serve on this descriptor, which the parent has opened at --listen-address and keeps open.").
		Hidden().NoEnvar().IntVar(&f.inheritedListener)
	app.Flag("ping", "Only ask the engine that already listens at --listen-address whether it answers: for probes. Exits with 0 or 1.").BoolVar(&f.ping)
	app.Flag("log.level", "Least severe messages to log: debug, info, warn or error.").Default("info").EnumVar(&f.LogLevel, "debug", "info", "warn", "error")
	app.Flag("log.format", "Format of the log: logfmt or json.").Default("logfmt").EnumVar(&f.LogFormat, "logfmt", "json")
	namedflag.NameAll(app)
	return app
}

// confine does what the confined process cannot do: it reads the passwords, finds the library, makes
// the data directory and opens the port, unless its parent has done so. Then it has the kernel confine
// this program, which goes on in serveConfined. It returns only an error, or after it has served unconfined.
func confine(f *flags) error {
	if err := f.readPasswords(); err != nil {
		return err
	}
	var err error
	if f.Library, err = embedded.FindLibrary(f.Library); err != nil {
		return err
	}
	if f.DataDir, err = embedded.MakeDataDir(f.DataDir); err != nil {
		return err
	}
	listener, err := f.listen()
	if err != nil {
		return err
	}
	file, err := listener.File()
	if err != nil {
		return fmt.Errorf("listen on %s: %w", f.ListenAddress, err)
	}
	err = sandbox.Enter(embedded.Needs(f.DataDir, f.Library), f, file)
	if !errors.Is(err, sandbox.ErrUnsupported) {
		return err
	}
	_ = file.Close() // the listener itself is open
	return serveUnconfined(f, listener, err)
}

// listen opens the port, or takes the listener that the parent has opened.
func (f *flags) listen() (*net.TCPListener, error) {
	if f.inheritedListener != 0 {
		file := os.NewFile(uintptr(f.inheritedListener), "inherited listener")
		return listen.Inherit(file, f.ListenAddress, f.ReaderPassword != "")
	}
	return listen.Open(f.ListenAddress, f.ReaderPassword != "")
}

// serveConfined serves in the process that the sandbox has executed.
func serveConfined() error {
	f := &flags{}
	files, err := sandbox.Inherit(f, "listener")
	if err != nil {
		return err
	}
	if !sandbox.Confined() {
		return errors.New("the kernel does not confine this process, though it was to")
	}
	listener, err := net.FileListener(files[0])
	if err != nil {
		return fmt.Errorf("listen on %s: %w", f.ListenAddress, err)
	}
	_ = files[0].Close() // the listener has a copy
	f.Logger = newLogger(f.LogLevel, f.LogFormat)
	return serveOn(f, listener, "landlock-"+strconv.Itoa(sandbox.Version()))
}

// serveUnconfined serves where the kernel cannot confine the process: on loopback, and only to who
// knows a password.
func serveUnconfined(f *flags, listener net.Listener, cause error) error {
	if err := listen.CheckLoopback(f.ListenAddress); err != nil {
		_ = listener.Close()
		return fmt.Errorf("%w: %w", cause, err)
	}
	f.NoReaders = f.ReaderPassword == ""
	f.Logger = newLogger(f.LogLevel, f.LogFormat)
	level.Warn(f.Logger).Log("msg", "the kernel does not confine ClickHouse: a statement could use a mistake in it to reach this account's files; readers need --reader-password-file", "reason", cause)
	return serveOn(f, listener, "none")
}

func (f *flags) readPasswords() (err error) {
	if f.writerPasswordCreate {
		if err := makePassword(f.writerPasswordFile); err != nil {
			return fmt.Errorf("--writer-password-create: %w", err)
		}
	}
	if f.writerPasswordStdin {
		line, err := bufio.NewReader(os.Stdin).ReadString('\n')
		if f.WriterPassword = strings.TrimSpace(line); f.WriterPassword == "" {
			return fmt.Errorf("--writer-password-stdin: standard input has no first line (%w)", err)
		}
	}
	for _, from := range []struct {
		flag, file string
		to         *string
	}{
		{"--writer-password-file", f.writerPasswordFile, &f.WriterPassword},
		{"--reader-password-file", f.readerPasswordFile, &f.ReaderPassword},
	} {
		if from.file == "" {
			continue
		}
		text, err := os.ReadFile(from.file)
		if err != nil {
			return fmt.Errorf("%s: %w", from.flag, err)
		}
		if *from.to = strings.TrimRight(string(text), "\r\n"); *from.to == "" {
			return fmt.Errorf("%s: %s is empty", from.flag, from.file)
		}
	}
	return nil
}

// serveOn serves on the listener until a signal, or the end of standard input.
func serveOn(f *flags, listener net.Listener, confinedBy string) error {
	// If the reader of a result disconnects, the write must return an error; SIGPIPE must not end
	// the process.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if f.ExitOnStdinClose {
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
	f.Listener, f.Sandbox = listener, confinedBy
	server, err := embedded.Start(f.Options)
	if err != nil {
		return err
	}
	level.Info(f.Logger).Log("msg", "serving ClickHouse", "url", server.URL(), "version", server.Version(),
		"data_dir", f.DataDir, "sandbox", confinedBy, "start", time.Since(began).Round(time.Millisecond))
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

func versionText() string {
	return fmt.Sprintf("%s, version %s (libchdb %s, %s/%s, %s)", name, version.Version, embedded.LibraryVersion, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
