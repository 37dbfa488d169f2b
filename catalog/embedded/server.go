package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"golang.org/x/net/netutil"
)

// Options configure the server.
type Options struct {
	// DataDir is the directory for all files; it is created if it is missing.
	DataDir string
	// Listener is where the server serves; see package listen.
	Listener net.Listener
	// Library is the path of libchdb.so; if it is empty, FindLibrary searches for it.
	Library string
	// WriterPassword is the password of WriterUser; if it is empty, nobody can write.
	WriterPassword string
	// ReaderPassword is the password of ReaderUser; empty for none.
	ReaderPassword string
	// NoReaders refuses ReaderUser.
	NoReaders bool
	// MaxConcurrentQueries bounds the number of statements that run at once; others wait. Some of
	// the places are the writer's alone.
	MaxConcurrentQueries int
	// ReaderTimeout is how long a statement of a reader may take, with the time in which the client receives its
	// answer (0: 5 minutes).
	ReaderTimeout time.Duration
	// MaxMemory, in bytes, bounds the engine; five eighths of it bound each query.
	MaxMemory int64
	// Grace is how long a stop waits for running statements before it cancels them.
	Grace time.Duration
	// Sandbox is what confines this process, or "none"; each answer has it in its header, for the tracker.
	Sandbox string
	// Logger receives the messages for an administrator.
	Logger log.Logger

	limits limits // only tests set it: see standardLimits
}

// limits bound what a client may cost.
type limits struct {
	// patience is how long a client may neither send its rows nor read its result before its statement is cancelled.
	patience time.Duration
	// answerFile, in bytes, bounds the file that holds an answer for a reader who asks for it as a whole, by
	// wait_end_of_query=1. All readers together can have as many files as statements.
	answerFile int64
	// temporary, in bytes, bounds what all statements together write to disk while they sort, group or join more
	// than fits in memory; half of it bounds each statement. It is at most a quarter of the disk.
	temporary int64
	// keepFree, in bytes, is how much of the disk these files leave free for the catalog and for the tracker's journal, which
	// may be on the same disk; 0 for 2 GiB, or a tenth of a smaller disk.
	keepFree int64
}

// on returns the limits on a disk.
func (l limits) on(d disk) limits {
	l.temporary = max(2, min(l.temporary, d.size/4)) // 0 would be no limit
	if l.keepFree == 0 {
		l.keepFree = min(2<<30, d.size/10)
	}
	return l
}

// standardLimits has the patience to read a page in a pager.
var standardLimits = limits{patience: 5 * time.Minute, answerFile: 1 << 30, temporary: 16 << 30}

// Server is a running engine with its HTTP interface.
type Server struct {
	options  Options
	logger   log.Logger
	engine   *engine
	listener net.Listener
	http     *http.Server
	slots    map[role]chan struct{}
	sessions sessions
	running  context.Context // ends when statements must stop
	stop     context.CancelFunc
}

const (
	// writerSlots is how many of the concurrent statements are the writer's alone: a tracker has one
	// or two at a time.
	writerSlots = 4
	// maxConnections bounds what idle and slow clients cost.
	maxConnections = 512
	// maxHead bounds the URL and the headers of a request. net/http takes twelve times the memory for short headers: 400 MB
	// for all connections.
	maxHead = 64 << 10
)

// Start boots the engine on the data directory. An error is one line that names what is wrong. The
// listener is closed with the server, or with an error.
func Start(o Options) (*Server, error) {
	library, err := FindLibrary(o.Library)
	if err != nil {
		o.Listener.Close()
		return nil, err
	}
	o.setDefaults()
	e, err := bootEngine(library, o.DataDir, o.MaxMemory, o.limits)
	if err != nil {
		o.Listener.Close()
		return nil, err
	}
	s := &Server{options: o, logger: o.Logger, engine: e, listener: netutil.LimitListener(o.Listener, maxConnections), slots: map[role]chan struct{}{
		reader: make(chan struct{}, max(1, o.MaxConcurrentQueries-writerSlots)),
		writer: make(chan struct{}, writerSlots),
	}}
	s.running, s.stop = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       20 * time.Second,
		MaxHeaderBytes:    maxHead,
	}
	return s, nil
}

func (o *Options) setDefaults() {
	if o.limits == (limits{}) {
		o.limits = standardLimits
	}
	if o.ReaderTimeout <= 0 {
		o.ReaderTimeout = 5 * time.Minute
	}
}

// URL returns the address at which the server answers.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Version returns ClickHouse's version.
func (s *Server) Version() string { return s.engine.version }

// Run serves until ctx ends, then stops: it accepts no new requests, cancels running ones after the
// grace period, and makes the engine flush its data. It returns at once with an error if a statement
// cannot be stopped.
func (s *Server) Run(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(s.listener) }()
	var err error
	select {
	case err = <-failed:
		err = fmt.Errorf("serve on %s: %w", s.listener.Addr(), err)
	case id := <-s.engine.stuck:
		// The engine survives that like a crash. Whoever supervises this process starts it again.
		s.http.Close()
		return fmt.Errorf("the statement %s cannot be stopped, so ClickHouse has to be started again", id)
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

// take waits for one of some slots, for slotWait at most.
func take(ctx context.Context, slots chan struct{}) (release func(), err error) {
	wait := time.NewTimer(slotWait)
	defer wait.Stop()
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-wait.C:
		return nil, newException(codeTooManyQueries, "Too many simultaneous queries. Maximum: %d", cap(slots))
	}
}

// context returns a context that ends when the client disconnects, the server must stop, or a
// reader's time is over.
func (s *Server) context(request context.Context, of role) (context.Context, func()) {
	ctx, cancel := context.WithCancel(request)
	unhook := context.AfterFunc(s.running, cancel)
	if of == writer {
		return ctx, func() { unhook(); cancel() }
	}
	limit := s.options.ReaderTimeout
	ctx, release := context.WithTimeoutCause(ctx, limit, newException(codeTimeoutExceeded, "Timeout exceeded: a statement of this user may take %v", limit))
	return ctx, func() { release(); unhook(); cancel() }
}

// enter returns a new session for the request, or the session that the request names.
func (s *Server) enter(q *request) (conn *connection, id string, leave func(), err error) {
	if q.sessionID == "" {
		id = s.engine.newID()
		if conn, err = s.engine.open(id, q.role); err != nil {
			return nil, "", nil, err
		}
		return conn, id, conn.close, nil
	}
	name := sessionName{of: q.role, name: q.sessionID}
	named, err := s.sessions.take(s.engine, name, q.sessionCheck)
	if err != nil {
		return nil, "", nil, err
	}
	return named.conn, named.id, func() { s.sessions.give(name, named, q.sessionTimeout, q.closeSession) }, nil
}
