package engine

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog/listen"
)

// inheritedListener is the descriptor under which a child finds the listener: the first one after standard error.
const inheritedListener = 3

// port is the TCP port of the engine. The tracker opens it once and passes it to each child. If each child opened it
// itself, another account of this machine could bind it between two children, and receive the writer's password.
type port struct{ listener *net.TCPListener }

// openPort opens the port. It fails with an ExitError: a child's own error has the same form.
func openPort(o *Options) (*port, error) {
	// A child would refuse some addresses, too, but only after other machines could connect.
	opened, err := listen.Open(o.ListenAddress, o.ReaderPasswordFile != "")
	if err != nil {
		return nil, &ExitError{Line: err.Error()}
	}
	return &port{listener: opened}, nil
}

// address is where this machine connects to it, as host:port.
func (p *port) address() string { return listen.Reachable(p.listener.Addr().String()) }

// file returns a copy of the listener to pass to a child. The caller must close it.
func (p *port) file() (*os.File, error) { return p.listener.File() }

// refuse closes each connection that arrives until the pause or ctx ends. It reads nothing. While no process accepts,
// connections would wait in the kernel: their clients would wait too, instead of trying again, and the next child would
// run statements whose clients have long gone. It must not run while a child does, which accepts on the same port.
func (p *port) refuse(ctx context.Context, pause time.Duration) {
	until := time.Now().Add(pause)
	if err := p.unblock(); err != nil {
		wait(ctx, pause)
		return
	}
	_ = p.listener.SetDeadline(until) // it fails only for a closed listener
	defer context.AfterFunc(ctx, func() { _ = p.listener.SetDeadline(time.Now()) })()
	for {
		connection, err := p.listener.Accept()
		switch {
		case err == nil:
			// By a reset: a client could take a regular end for an answer without rows.
			_ = connection.(*net.TCPConn).SetLinger(0)
			_ = connection.Close()
		case errors.Is(err, os.ErrDeadlineExceeded):
			return
		default: // such as too many open files
			wait(ctx, min(100*time.Millisecond, time.Until(until)))
		}
	}
}

// unblock makes the socket non-blocking again, or no deadline would end Accept: os/exec makes a file that it passes to a
// child blocking, and all copies of a socket share that.
func (p *port) unblock() error {
	raw, err := p.listener.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = syscall.SetNonblock(int(fd), true) })
	return errors.Join(err, failed)
}

func (p *port) close() { _ = p.listener.Close() } // nothing is written by a listener, so nothing is lost

// wait returns after d, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
