package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
)

// Options configure the server.
type Options struct {
	// DataDir is the directory for all files; it is created if it is missing.
	DataDir string
	// ListenAddress is host:port. Without a password the host must be a loopback address.
	ListenAddress string
	// Library is the path of libchdb.so; if it is empty, FindLibrary searches for it.
	Library string
	// Password is the password of the user default; empty for none.
	Password string
	// MaxConcurrentQueries bounds the number of statements that run at once; others wait.
	MaxConcurrentQueries int
	// MaxMemory, in bytes, bounds the engine and each of its queries.
	MaxMemory int64
	// Grace is how long a stop waits for running statements before it cancels them.
	Grace time.Duration
	// Patience is how long a client may neither send its rows nor read its result before its
	// statement is cancelled (0: 5 minutes, enough to read a page in a pager).
	Patience time.Duration
	// Logger receives the messages for an administrator.
	Logger log.Logger
}

// Server is a running engine with its HTTP interface.
type Server struct {
	options  Options
	logger   log.Logger
	engine   *engine
	listener net.Listener
	http     *http.Server
	slots    chan struct{}
	sessions sessions
	running  context.Context // ends when statements must stop
	stop     context.CancelFunc
}

// Start boots the engine on the data directory and listens. An error is one line that names what is
// wrong.
func Start(o Options) (*Server, error) {
	if err := checkAddress(o.ListenAddress, o.Password != ""); err != nil {
		return nil, err
	}
	library, err := FindLibrary(o.Library)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", o.ListenAddress)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("the address %s is in use by another process; choose another with --listen-address", o.ListenAddress)
		}
		return nil, fmt.Errorf("cannot listen on %s: %w", o.ListenAddress, err)
	}
	e, err := bootEngine(library, o.DataDir, o.MaxMemory)
	if err != nil {
		listener.Close()
		return nil, err
	}
	if o.Patience <= 0 {
		o.Patience = 5 * time.Minute
	}
	s := &Server{options: o, logger: o.Logger, engine: e, listener: listener, slots: make(chan struct{}, max(1, o.MaxConcurrentQueries))}
	s.running, s.stop = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       5 * time.Minute,
		MaxHeaderBytes:    maxQuerySize + 64<<10, // a GET carries its query in the URL
	}
	return s, nil
}

// URL returns the address at which the server answers.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Version returns ClickHouse's version.
func (s *Server) Version() string { return s.engine.version }

// Run serves until ctx ends, then stops: it accepts no new requests, cancels running ones after the
// grace period, and makes the engine flush its data.
func (s *Server) Run(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(s.listener) }()
	var err error
	select {
	case err = <-failed:
		err = fmt.Errorf("serve on %s: %w", s.listener.Addr(), err)
	case <-ctx.Done():
	}
	level.Info(s.logger).Log("msg", "stopping", "grace", s.options.Grace)
	grace, cancel := context.WithTimeout(context.Background(), s.options.Grace)
	defer cancel()
	if s.http.Shutdown(grace) != nil {
		s.stop()
		last, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if s.http.Shutdown(last) != nil {
			// A statement cannot be stopped, and its session must not be closed during a statement.
			// The process ends, which the engine survives like a crash.
			s.http.Close()
			return errors.Join(err, errors.New("a statement could not be stopped in time"))
		}
	}
	s.stop()
	s.sessions.close()
	s.engine.close()
	return err
}

// checkAddress rejects an address that other machines can reach, unless there is a password.
func checkAddress(address string, password bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--listen-address %q is not host:port", address)
	}
	if password || host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("--listen-address %s is reachable from other machines, which needs a password (--password-file); use 127.0.0.1 for this machine alone", address)
	}
	return nil
}

// slot waits for one of the slots of concurrent statements.
func (s *Server) slot(ctx context.Context) (release func(), err error) {
	wait := time.NewTimer(slotWait)
	defer wait.Stop()
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-wait.C:
		return nil, newException(codeTooManyQueries, "Too many simultaneous queries. Maximum: %d", cap(s.slots))
	}
}

// context returns a context that ends when the client disconnects or the server must stop.
func (s *Server) context(request context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(request)
	unhook := context.AfterFunc(s.running, cancel)
	return ctx, func() { unhook(); cancel() }
}

// enter returns a new session for the request, or the session that the request names.
func (s *Server) enter(q *request) (conn *connection, id string, leave func(), err error) {
	if q.sessionID == "" {
		id = s.engine.newID()
		if conn, err = s.engine.open(id); err != nil {
			return nil, "", nil, err
		}
		return conn, id, conn.close, nil
	}
	named, err := s.sessions.take(s.engine, q.sessionID, q.sessionCheck)
	if err != nil {
		return nil, "", nil, err
	}
	return named.conn, named.id, func() { s.sessions.give(q.sessionID, named, q.sessionTimeout, q.closeSession) }, nil
}
