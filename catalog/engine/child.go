package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/go-logfmt/logfmt"

	"github.com/kubevoltracker/kubevoltracker/catalog/listen"
)

// child is one run of kubevoltracker-clickhouse.
type child struct {
	cmd     *exec.Cmd
	stdin   io.Closer // the child reads its end when its parent has ended
	logger  log.Logger
	began   time.Time
	exited  chan struct{} // closed when the process is gone and its log is read
	serving chan struct{} // receives once

	mutex    sync.Mutex
	lastLine string // its last line outside the log: the reason of its end
	err      error
}

// ExitError reports a child that ended by itself, or a port that cannot be opened for it.
type ExitError struct {
	// Line is the child's own reason, or its exit status if it gave none. It names the child's flags.
	Line string
}

func (e *ExitError) Error() string { return e.Line }

// patience returns how long after the first attempt another one makes sense.
func (e *ExitError) patience() time.Duration {
	switch {
	case strings.HasPrefix(e.Line, "ClickHouse does not start on"):
		return addressPatience // an ending process may still have the engine's own lock
	case !strings.Contains(e.Line, "in use by another process"):
		return 0
	case strings.HasPrefix(e.Line, "the data directory"):
		return directoryPatience
	}
	return addressPatience
}

// launch starts the program in a process group of its own, so that a Ctrl-C at the terminal reaches
// only the tracker, which still has rows to write. The child reads the writer's password from its
// standard input: arguments and environment can be seen by other processes. It serves on the port that the
// tracker has opened.
func launch(binary string, args []string, password string, at *port, logger log.Logger) (*child, error) {
	c := &child{cmd: exec.Command(binary, args...), logger: logger, began: time.Now(), exited: make(chan struct{}), serving: make(chan struct{}, 1)}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, itsStdin, err := socketPair("stdin")
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}
	defer itsStdin.Close()
	stderr, itsStderr, err := socketPair("stderr")
	if err != nil {
		_ = stdin.Close()
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}
	defer itsStderr.Close()
	listener, err := at.file()
	if err != nil {
		_, _ = stdin.Close(), stderr.Close()
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}
	defer listener.Close()
	c.cmd.ExtraFiles = []*os.File{listener} // as the descriptor inheritedListener
	c.stdin, c.cmd.Stdin, c.cmd.Stderr = stdin, itsStdin, itsStderr
	if err := c.cmd.Start(); err != nil {
		_, _ = stdin.Close(), stderr.Close()
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}
	_, _ = io.WriteString(stdin, password+"\n") // a child that has ended says why
	go func() {
		c.readLog(stderr)
		_ = stderr.Close()
		err := c.cmd.Wait()
		c.mutex.Lock()
		c.err = err
		c.mutex.Unlock()
		close(c.exited)
	}()
	return c, nil
}

// socketPair returns the two ends of a stream, for the parent and for the child. It is no pipe: a
// statement could read a pipe of its process by /proc/self/fd, but not a socket.
func socketPair(name string) (ours, its *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	syscall.CloseOnExec(pair[0])
	syscall.CloseOnExec(pair[1])
	if err := syscall.SetNonblock(pair[0], true); err != nil {
		return nil, nil, errors.Join(err, syscall.Close(pair[0]), syscall.Close(pair[1]))
	}
	return os.NewFile(uintptr(pair[0]), name), os.NewFile(uintptr(pair[1]), name), nil
}

func (c *child) age() time.Duration { return time.Since(c.began) }

// readLog copies the child's log lines to the tracker's log, at their level, until the child ends.
func (c *child) readLog(r io.Reader) {
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := lines.ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			c.pass(line)
		}
		if err != nil {
			return
		}
	}
}

func (c *child) pass(line string) {
	fields := map[string]string{}
	var keyvals []any
	decoder := logfmt.NewDecoder(strings.NewReader(line))
	for decoder.ScanRecord() {
		for decoder.ScanKeyval() {
			key, value := string(decoder.Key()), string(decoder.Value())
			fields[key] = value
			if key != "level" && key != "ts" {
				keyvals = append(keyvals, key, value)
			}
		}
	}
	if decoder.Err() != nil || fields["msg"] == "" {
		c.mutex.Lock()
		c.lastLine = strings.TrimPrefix(line, BinaryName+": ")
		c.mutex.Unlock()
		level.Debug(c.logger).Log("msg", line)
		return
	}
	at := level.Info
	switch fields["level"] {
	case "debug":
		at = level.Debug
	case "warn":
		at = level.Warn
	case "error":
		at = level.Error
	}
	at(c.logger).Log(keyvals...)
	if fields["url"] != "" {
		select {
		case c.serving <- struct{}{}:
		default:
		}
	}
}

// ready waits until the child serves and answers at the address of its port. The child itself announces that it serves: an answer alone
// could come from another program.
func (c *child) ready(ctx context.Context, address string) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("the embedded ClickHouse does not get ready: %w", ctx.Err())
	case <-c.exited:
		return c.exitError()
	case <-c.serving:
	}
	for {
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := listen.Ping(attempt, address)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the embedded ClickHouse does not get ready: %w (%w)", ctx.Err(), err)
		case <-c.exited:
			return c.exitError()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// exitError returns why the child has ended, in its own words if it wrote any.
func (c *child) exitError() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.lastLine != "" && (c.cmd.ProcessState == nil || c.cmd.ProcessState.Exited()) {
		return &ExitError{Line: c.lastLine}
	}
	how := "exit status 0"
	if c.err != nil {
		how = c.err.Error()
	}
	return &ExitError{Line: fmt.Sprintf("%s ended: %s", BinaryName, how)}
}

// end stops the child: SIGTERM and the end of its stdin, then SIGKILL after grace.
func (c *child) end(grace time.Duration) {
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // a process that has ended already needs no signal
	_ = c.stdin.Close()
	select {
	case <-c.exited:
		return
	case <-time.After(grace):
		level.Warn(c.logger).Log("msg", "the embedded ClickHouse does not stop, killing it", "after", grace)
	}
	_ = c.cmd.Process.Kill()
	<-c.exited
}
