package embedded

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/go-kit/log/level"
	"github.com/google/uuid"
)

const (
	// maxQuerySize bounds a statement's text; rows of an INSERT do not count.
	maxQuerySize = 1 << 20
	// maxReadAhead is how much of a statement is read before the request has a slot: all of a usual one.
	maxReadAhead = 64 << 10
	// slotWait is how long a request waits for one of the slots of concurrent statements, and a reader's for its turn to load tables.
	slotWait = 10 * time.Second
	// uploadPatience is how long a reader may take to send what has not been read ahead, which takes one of the
	// readers' slots.
	uploadPatience = 30 * time.Second
)

const notFound = `There is no handle %s

Use / or /ping for health checks.
Or /replicas_status for more sophisticated health checks.

Send queries from your program with POST method or GET /?query=...

Use clickhouse-client:

For interactive data analysis:
    clickhouse-client

For batch query processing:
    clickhouse-client --query='SELECT 1' > result
    clickhouse-client < query > result
`

// ServeHTTP answers like a ClickHouse server's HTTP port.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l, disconnect := s.connect(w, r)
	defer disconnect()
	w, r.Body = l, l
	w.Header().Set("X-ClickHouse-Server-Display-Name", s.engine.displayName)
	w.Header().Set("X-Kubevoltracker-Sandbox", s.options.Sandbox) // catalog/sandbox.go reads it
	switch r.URL.Path {
	case "/ping", "/replicas_status":
		w.Header().Set("Content-Type", "text/html; charset=UTF-8")
		io.WriteString(w, "Ok.\n")
	case "/", "/query":
		if (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.URL.RawQuery == "" {
			w.Header().Set("Content-Type", "text/html; charset=UTF-8")
			io.WriteString(w, "Ok.\n")
			return
		}
		s.serveQuery(w, r)
	default:
		w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, strings.Replace(notFound, "%s", r.URL.Path, 1)) //nolint:gosec // it is served as text/plain
	}
}

func (s *Server) serveQuery(w http.ResponseWriter, r *http.Request) {
	resp := &response{w: w, dir: s.engine.dir, limit: defaultBufferSize, started: time.Now(), tag: newTag()}
	defer resp.close()
	header := w.Header()
	header.Set("X-ClickHouse-Timezone", s.engine.timezone)
	header.Set("X-ClickHouse-Exception-Tag", resp.tag)
	err := s.answer(resp, r)
	if err == nil {
		return
	}
	e := (*Exception)(nil)
	if !errors.As(err, &e) {
		if errors.Is(err, context.Canceled) && r.Context().Err() != nil && context.Cause(s.running) == nil {
			level.Debug(s.logger).Log("msg", "client went away", "query_id", header.Get("X-ClickHouse-Query-Id"))
			panic(http.ErrAbortHandler)
		}
		e = newException(codeUnknownException, "%v", err)
		if errors.Is(err, context.Canceled) {
			e = newException(codeCancelled, "Query was cancelled: the server is stopping")
		}
	}
	level.Debug(s.logger).Log("msg", "query failed", "query_id", header.Get("X-ClickHouse-Query-Id"), "code", e.Code, "err", e.Text)
	resp.fail(e, s.engine.version)
}

// answer runs the request's statement and sends its result.
func (s *Server) answer(resp *response, r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost {
		return newException(codeNotImplemented, "Method %s is not supported", r.Method)
	}
	of, err := s.login(r)
	if err != nil {
		return err
	}
	body, _ := r.Body.(*link)
	q, err := parseRequest(r, of)
	if err != nil {
		return err
	}
	resp.limit, resp.waitEnd, resp.blocks = q.bufferSize, q.waitEndOfQuery, q.compress
	if of == reader {
		resp.maxSpill, resp.keepFree = s.options.limits.answerFile, s.engine.keepFree
	}
	q.answerOptions(resp, r, s.engine.httpCompression)
	if q.queryID == "" {
		q.queryID = uuid.NewString()
	}
	resp.w.Header().Set("X-ClickHouse-Query-Id", q.queryID)
	if err := q.readAhead(); err != nil {
		return err
	}
	release, err := take(r.Context(), s.slots[of])
	if err != nil {
		return err
	}
	defer release()
	q.beginUpload = func() {
		if body != nil && of == reader {
			body.uploaded = time.Now().Add(uploadPatience)
		}
	}
	if q.parts == nil {
		q.beginUpload()
	}
	return s.run(resp, r, q)
}

// run runs the request's statement in a session. When the client has gone or its time is over, run stops whatever the session
// does, and returns why.
func (s *Server) run(resp *response, r *http.Request, q *request) error {
	ctx, stop := s.context(r.Context(), q.role)
	defer stop()
	if client, ok := r.Body.(*link); ok && q.role == reader {
		client.answer = ctx
		defer func() { client.answer = nil }() // the client receives an error even when the time is over
	}
	conn, id, leave, err := s.enter(q)
	if err != nil {
		return err
	}
	defer func() { leave(); s.engine.tableBytes.Add(-q.tableBytes) }()
	restore, err := s.runIn(ctx, conn, id, resp, q)
	defer restore()
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// runIn reads the rest of the statement, and runs it in the session id. The returned function restores the session.
func (s *Server) runIn(ctx context.Context, conn *connection, id string, resp *response, q *request) (restore func(), err error) {
	defer s.engine.whenGone(ctx, id)()
	restore = func() {}
	if q.parts != nil {
		if err := q.loadExternal(ctx, s.engine, conn); err != nil {
			return restore, err
		}
	}
	st, err := q.statement(ctx)
	if err != nil {
		return restore, err
	}
	w := &work{
		conn: conn, engine: s.engine, id: id, role: q.role, readOnly: q.readOnly, statement: st, params: q.params, body: q.body,
		format: cmp.Or(st.outputFormat(), q.defaultFormat, "TabSeparated"),
	}
	w.compose()
	w.admission = q.admission(w)
	if w.known = s.engine.gate.knows(w.admission); q.role == reader && !w.known { // before the request's settings
		w.normal, w.unclear = conn.normalForm(ctx, w.text)
	}
	if restore, err = q.apply(conn); err != nil {
		return restore, err
	}
	return restore, s.send(ctx, resp, q, w)
}

// send runs the work and streams its result.
func (s *Server) send(ctx context.Context, resp *response, q *request, w *work) error {
	resp.w.Header().Set("X-ClickHouse-Format", w.format)
	resp.w.Header().Set("Content-Type", contentType(w.format))
	var native *nativeRevision
	if strings.EqualFold(w.format, "Native") && q.clientRevision > 0 {
		native = &nativeRevision{revision: q.clientRevision, context: &column.ServerContext{Timezone: time.UTC}}
		if q.role == reader {
			native.readers = &s.engine.converting
		}
	}
	err := w.run(ctx, func(piece []byte, used usage) error {
		resp.used.add(used)
		if len(piece) == 0 {
			return nil
		}
		if native != nil {
			return native.write(resp, piece)
		}
		_, err := resp.Write(piece)
		return err
	})
	if err != nil {
		return err
	}
	if err = resp.finish(); err != nil && ctx.Err() != nil {
		return context.Cause(ctx) // the client was too slow, and the error says only that a write failed
	}
	return err
}

// readAhead reads the body, or its beginning, before the request has a slot: a client that sends its
// statement slowly must not hold a slot meanwhile. What takes more memory than a usual statement is read in the slot, as
// all connections together could otherwise take gigabytes: long statements, and a body that has to be decoded.
func (q *request) readAhead() error {
	if q.compressed || q.parts != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(q.body, maxReadAhead))
	if err != nil {
		return bodyError(err)
	}
	q.body = io.MultiReader(bytes.NewReader(text), q.body)
	return nil
}

// statement combines the query from URL and body, and leaves rows in the body.
func (q *request) statement(ctx context.Context) (*statement, error) {
	if len(q.query) > 0 {
		st, err := parseStatement(ctx, q.query)
		if err != nil {
			return nil, err
		}
		if st.kind == "INSERT" && (st.insertsData || st.format != "") {
			return st, nil
		}
		q.query = append(q.query, '\n')
	}
	more, err := io.ReadAll(io.LimitReader(q.body, maxQuerySize))
	if err != nil {
		return nil, bodyError(err)
	}
	text := append(q.query, more...)
	st, err := parseStatement(ctx, text)
	if err != nil {
		return nil, err
	}
	if len(more) == maxQuerySize && (st.kind != "INSERT" || !(st.insertsData || st.format != "")) {
		return nil, queryTooLarge()
	}
	return st, nil
}

func queryTooLarge() *Exception {
	return newException(codeSyntaxError, "Max query size exceeded: %d bytes", maxQuerySize)
}

// outputFormat returns the result format that the statement itself names.
func (s *statement) outputFormat() string {
	if s.kind == "INSERT" {
		return ""
	}
	return s.format
}
