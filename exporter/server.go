package exporter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"path"
	"strings"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/exporter-toolkit/web"
)

// The server's limits. Prometheus gives a scrape up after ten seconds, unless its scrape_timeout is longer. The server
// ends a scrape whose client reads nothing for 15 seconds, or, after the first 15 seconds, less than 1 MB of text a second
// (compressed, 50 KB): a response has up to 132 MB for 100,000 volumes. 512 connections with the largest headers take
// 40 MB, and 270 MB by HTTP/2, whose streams have headers each.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 2 * time.Minute
	stallTimeout      = 15 * time.Second
	slowestRead       = 1_000_000 // bytes a second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	maxConnections    = 512 // for each listener
	maxStreams        = 8   // for each connection by HTTP/2
	shutdownTimeout   = 5 * time.Second
)

// The paths that are not configurable.
const (
	healthPath = "/healthz"
	livePath   = "/livez"
	readyPath  = "/readyz"
	pprofPath  = "/debug/pprof/"
)

// ServerOptions say what to serve, and where.
type ServerOptions struct {
	ListenAddresses []string     // --web.listen-address, each host:port; port 0 picks one
	WebConfigFile   string       // --web.config.file: TLS and users, exporter-toolkit's format; may be empty
	TelemetryPath   string       // --web.telemetry-path; empty means /metrics
	Metrics         http.Handler // what to serve there, see Exporter.Handler

	// Live are the checks of /livez and /healthz: does the tracker still make progress?
	// They leave out failures that a restart would not repair.
	Live []Check
	// Ready are the checks of /readyz: can a reader rely on the metrics?
	Ready []Check

	// Pprof serves Go's profiles of the tracker under /debug/pprof/; --web.enable-pprof.
	Pprof bool

	Logger log.Logger
}

// Server is the tracker's HTTP server: metrics, health and a landing page. If the web config file
// has users, every path requires a login, the probes' paths too.
type Server struct {
	webConfig string
	handler   http.Handler
	slog      *slog.Logger
}

// Check looks for mistakes in the options and the web config file. Its errors name the flag.
func (o ServerOptions) Check() error {
	if o.TelemetryPath != "" {
		if err := checkTelemetryPath(o.TelemetryPath); err != nil {
			return fmt.Errorf("--web.telemetry-path: %w", err)
		}
	}
	if len(o.ListenAddresses) == 0 {
		return errors.New("--web.listen-address: no address to listen on")
	}
	if err := web.Validate(o.WebConfigFile); err != nil {
		// YAML's errors come as a headline and a line for each mistake.
		return fmt.Errorf("--web.config.file %s: %s", o.WebConfigFile, strings.Join(strings.Fields(err.Error()), " "))
	}
	return nil
}

// NewServer prepares a server; its errors are Check's.
func NewServer(o ServerOptions) (*Server, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = log.NewNopLogger()
	}
	if o.TelemetryPath == "" {
		o.TelemetryPath = "/metrics"
	}
	landing, err := landingPage(o.TelemetryPath, o.Pprof)
	if err != nil {
		return nil, fmt.Errorf("making the landing page: %w", err)
	}

	// A GET pattern takes HEAD too; other methods get 405 from the mux.
	mux := http.NewServeMux()
	mux.Handle("GET "+o.TelemetryPath, o.Metrics)
	mux.Handle("GET "+healthPath, healthHandler(healthPath, o.Live))
	mux.Handle("GET "+livePath, healthHandler(livePath, o.Live))
	mux.Handle("GET "+readyPath, healthHandler(readyPath, o.Ready))
	mux.Handle("GET /{$}", landing)
	if o.Pprof {
		mux.HandleFunc("GET "+pprofPath, pprof.Index) // serves all that are not below, too
		mux.HandleFunc("GET "+pprofPath+"cmdline", pprof.Cmdline)
		mux.HandleFunc("GET "+pprofPath+"profile", pprof.Profile)
		mux.HandleFunc("GET "+pprofPath+"symbol", pprof.Symbol)
		mux.HandleFunc("GET "+pprofPath+"trace", pprof.Trace)
	}
	return &Server{
		webConfig: o.WebConfigFile,
		handler:   mux,
		slog:      slog.New(slogHandler{logger: o.Logger}),
	}, nil
}

func checkTelemetryPath(p string) error {
	switch {
	case !strings.HasPrefix(p, "/"), p != path.Clean(p), strings.ContainsAny(p, "{}?# "):
		return fmt.Errorf("%q is not a plain path such as /metrics", p)
	case p == "/", p == healthPath, p == livePath, p == readyPath, strings.HasPrefix(p+"/", pprofPath):
		return fmt.Errorf("%s is taken by another page", p)
	}
	return nil
}

// Listen opens all addresses, or none, so that a port in use is detected before the tracker starts
// its work. The bound addresses are the listeners' Addr; Serve closes them.
func Listen(ctx context.Context, addresses []string) ([]net.Listener, error) {
	var listeners []net.Listener
	for _, address := range addresses {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err != nil {
			for _, l := range listeners {
				_ = l.Close() // nothing has been served on it
			}
			return nil, fmt.Errorf("--web.listen-address %s: %w", address, err)
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

// Serve serves on the listeners until ctx ends, then lets running requests
// finish for a few seconds. It returns nil after such an end, else why it ended.
func (s *Server) Serve(ctx context.Context, listeners []net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	// A server for each listener: exporter-toolkit wraps the server's handler and
	// sets its TLS config when it begins to serve, so that two listeners on one
	// server would wrap it twice, and race.
	servers := make([]*http.Server, len(listeners))
	ended := make(chan error, len(listeners))
	for i, l := range listeners {
		servers[i] = s.httpServer()
		go func() {
			err := web.Serve(&sharedListener{Listener: l, max: maxConnections}, servers[i], &web.FlagConfig{WebConfigFile: &s.webConfig}, s.slog)
			_ = l.Close() // where Serve failed before it took the listener over
			if !errors.Is(err, http.ErrServerClosed) {
				err = fmt.Errorf("serving on %s: %w", l.Addr(), err)
				cancel() // one that fails ends all
			} else {
				err = nil
			}
			ended <- err
		}()
	}

	<-ctx.Done()
	errs := s.stop(servers)
	for range servers {
		errs = append(errs, <-ended)
	}
	return errors.Join(errs...)
}

// stop ends all servers at once within one timeout.
func (s *Server) stop(servers []*http.Server) []error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	var errs []error
	for _, srv := range servers {
		if err := srv.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
			// A reader that slow is cut off; that is no failure of ours.
			_ = srv.Close()
		} else if err != nil {
			errs = append(errs, fmt.Errorf("stopping the HTTP server: %w", err))
		}
	}
	return errs
}

func (s *Server) httpServer() *http.Server {
	return &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		// In HTTP/2 a scrape's deadline ends its stream, and not a connection that takes no bytes at all.
		HTTP2:          &http.HTTP2Config{WriteByteTimeout: stallTimeout, MaxConcurrentStreams: maxStreams},
		MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:       slog.NewLogLogger(s.slog.Handler(), slog.LevelWarn),
	}
}
