// Package engine runs the embedded ClickHouse as a child process of the tracker.
//
// It owns the process kubevoltracker-clickhouse: it finds the binary, starts it, waits until it
// answers, restarts it (with growing pauses, without limit) when it dies, and stops it at the end.
// Its input is the data directory and the address to listen on; its output is a URL for a
// ClickHouse client, and the child's log. It opens that address once and passes it to each child, so that
// nobody else can bind it while no child runs.
//
// It promises that a failure to start is one line in the child's own words; that a crash or the
// memory use of the child does not affect the tracker; and that the child never outlives the
// tracker, not even a killed one: the child reads from a socket that closes when its parent ends. It
// imports nothing of the engine itself, so the tracker stays static.
package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
)

// BinaryName is the program that serves the engine.
const BinaryName = "kubevoltracker-clickhouse"

const (
	minBackoff = 500 * time.Millisecond
	maxBackoff = 30 * time.Second
	// steadyAfter is how long a child must have lived for the pauses to start from the shortest
	// again.
	steadyAfter = time.Minute
	// How long Start waits for resources in use: the child of a tracker that was just killed
	// releases its address at once, and its directory after some seconds.
	addressPatience   = 3 * time.Second
	directoryPatience = 20 * time.Second
	// startTimeout is how long the first start may take: a large catalog loads its parts first.
	startTimeout = 2 * time.Minute
	// stopGrace is how long a stop waits between SIGTERM and SIGKILL: more than the child itself waits for running
	// statements.
	stopGrace = 20 * time.Second
)

// Options configure the child and its supervision. The child reads its other flags from the environment, such as
// KUBEVOLTRACKER_CLICKHOUSE_MAX_MEMORY.
type Options struct {
	// Binary is the path of kubevoltracker-clickhouse; empty looks beside the running
	// program, then on PATH.
	Binary string
	// DataDir is the directory of the engine's data.
	DataDir string
	// ListenAddress is the host:port to serve on (default 127.0.0.1:8123). Without ReaderPasswordFile it must be a loopback address.
	ListenAddress string
	// Library is the path of libchdb.so; empty lets the child look for it.
	Library string
	// ReaderPasswordFile is a file with the password of readers; empty for none, which serves
	// everybody on this machine.
	ReaderPasswordFile string
	// LogLevel is the least severe level that Logger shows. At debug the child logs what it would leave out otherwise.
	LogLevel string
	// Logger receives the supervisor's messages and the child's log lines.
	Logger log.Logger
}

// Engine is a supervised child.
type Engine struct {
	options  Options
	logger   log.Logger
	password string // of User
	port     *port  // open until the last child has ended
	stop     context.CancelFunc
	done     chan struct{} // closed when the supervisor has ended

	mutex sync.Mutex
	child *child
}

// Start runs the engine and returns once it answers. It keeps running until Stop, or
// until ctx ends.
func Start(ctx context.Context, o Options) (*Engine, error) {
	o.setDefaults()
	binary, err := findBinary(o.Binary)
	if err != nil {
		return nil, err
	}
	o.Binary = binary
	e := &Engine{options: o, logger: o.Logger, password: rand.Text(), done: make(chan struct{})}
	first, err := e.firstChild(ctx)
	if err != nil {
		if e.port != nil {
			e.port.close()
		}
		return nil, err
	}
	ctx, e.stop = context.WithCancel(ctx)
	go e.supervise(ctx, first)
	return e, nil
}

func (o *Options) setDefaults() {
	if o.ListenAddress == "" {
		o.ListenAddress = "127.0.0.1:8123"
	}
	if o.Logger == nil {
		o.Logger = log.NewNopLogger()
	}
	o.Logger = log.With(o.Logger, "component", "clickhouse")
}

// URL returns the address at which the engine answers this machine: http://host:port.
func (e *Engine) URL() string { return "http://" + e.port.address() }

// User is the only one who may write.
const User = "kubevoltracker"

// Password returns the password of User. It is a new one in each run of the tracker; only the tracker
// and its child know it.
func (e *Engine) Password() string { return e.password }

// Pid returns the process id of the present child, or 0 between two children. The tests of this package and of test/attack need it.
func (e *Engine) Pid() int {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.child == nil {
		return 0
	}
	return e.child.cmd.Process.Pid
}

// Stop stops the child, gracefully if possible, and returns when the child has ended.
func (e *Engine) Stop() {
	e.stop()
	<-e.done
}

// firstChild starts the first child, and waits for a predecessor that is still stopping.
func (e *Engine) firstChild(ctx context.Context) (*child, error) {
	began := time.Now()
	for {
		c, err := e.startChild(ctx)
		if err == nil {
			return c, nil
		}
		inUse := (*ExitError)(nil)
		if !errors.As(err, &inUse) || time.Since(began) > inUse.patience() {
			return nil, err
		}
		level.Debug(e.logger).Log("msg", "waiting for the previous engine to stop", "reason", inUse.Line)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// startChild starts a child. The first time, it opens the port.
func (e *Engine) startChild(ctx context.Context) (*child, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if e.port == nil {
		opened, err := openPort(&e.options)
		if err != nil {
			return nil, err
		}
		e.port = opened
	}
	c, err := launch(e.options.Binary, e.options.arguments(), e.password, e.port, e.logger)
	if err != nil {
		return nil, err
	}
	if err := c.ready(ctx, e.port.address()); err != nil {
		c.end(time.Second)
		return nil, err
	}
	e.mutex.Lock()
	e.child = c
	e.mutex.Unlock()
	return c, nil
}

// supervise waits for the child's end and starts the next one, until ctx ends. Libraries for
// supervision (suture, oklog/run) supervise goroutines, not processes.
func (e *Engine) supervise(ctx context.Context, c *child) {
	defer close(e.done)
	defer e.port.close()
	pause := minBackoff
	for {
		if c != nil {
			select {
			case <-ctx.Done():
				e.port.close() // the child closes its copy as it stops, and then the port is closed
				c.end(stopGrace)
				e.gone()
				return
			case <-c.exited:
			}
			e.gone()
			if c.age() > steadyAfter {
				pause = minBackoff
			}
			level.Warn(e.logger).Log("msg", "the embedded ClickHouse died, starting it again", "err", c.exitError(), "pause", pause)
		}
		e.port.refuse(ctx, pause)
		if ctx.Err() != nil {
			return
		}
		pause = min(2*pause, maxBackoff)
		var err error
		if c, err = e.startChild(ctx); err != nil {
			c = nil
			if ctx.Err() == nil {
				level.Error(e.logger).Log("msg", "the embedded ClickHouse does not start, trying again", "err", err, "pause", pause)
			}
		}
	}
}

// gone records that there is no child now.
func (e *Engine) gone() {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.child = nil
}

func (o *Options) arguments() []string {
	// ready reads the child's log, so the environment must not change its format, nor a
	// level leave out that it serves. What is below our own level our logger leaves out.
	least := "info"
	if o.LogLevel == "debug" {
		least = o.LogLevel
	}
	args := []string{"--exit-on-stdin-close", "--writer-password-stdin", "--log.format=logfmt", "--log.level=" + least,
		"--data-dir=" + o.DataDir, "--listen-address=" + o.ListenAddress, "--inherited-listener=" + strconv.Itoa(inheritedListener)}
	if o.Library != "" {
		args = append(args, "--library="+o.Library)
	}
	if o.ReaderPasswordFile != "" {
		args = append(args, "--reader-password-file="+o.ReaderPasswordFile)
	}
	return args
}

// findBinary returns the given path, or looks beside the running program, then on PATH.
func findBinary(given string) (string, error) {
	if given != "" {
		if _, err := exec.LookPath(given); err != nil {
			return "", fmt.Errorf("the embedded ClickHouse's program %s cannot be run: %w", given, err)
		}
		return given, nil
	}
	beside := ""
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		beside = filepath.Join(filepath.Dir(exe), BinaryName)
		if _, err := exec.LookPath(beside); err == nil {
			return beside, nil
		}
	}
	if path, err := exec.LookPath(BinaryName); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("the program %s was not found (looked for %s and on PATH); build it with `make build`, or name another catalog with --catalog.url",
		BinaryName, strings.TrimSpace(beside))
}
