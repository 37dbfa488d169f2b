package embedded

import (
	"cmp"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// request is a client's request, parsed from URL, headers and body.
type request struct {
	queryID         string
	database        string
	role            role
	defaultFormat   string
	sqlRole         string // to be set for the session
	clientRevision  uint64 // the revision of Native blocks in the answer
	compress        bool   // whether the answer consists of ClickHouse's compressed blocks
	waitEndOfQuery  bool
	bufferSize      int
	readOnly        bool
	sessionID       string
	sessionTimeout  time.Duration
	sessionCheck    bool
	closeSession    bool
	params          []parameter
	settings        []setting // by name
	externalFormats map[string]externalTable
	tableBytes      int64     // that a reader's external tables take
	beginUpload     func()    // begins the time in which a reader's body has to arrive
	query           []byte    // the text from outside the body
	body            io.Reader // decoded
	compressed      bool      // the body: a client that sends little can make its decoder take megabytes
	parts           *multipart.Reader
}

type setting struct{ name, value string }

// defaultBufferSize is how much of an answer is buffered before its status is sent, so that an
// error among the first rows still leads to a proper status.
const defaultBufferSize = 64 << 10

// reserved are the URL parameters that are not settings.
var reserved = map[string]bool{
	"query": true, "query_id": true, "database": true, "default_format": true, "compress": true, "decompress": true,
	"user": true, "password": true, "quota_key": true, "stacktrace": true, "session_id": true, "session_timeout": true,
	"session_check": true, "close_session": true, "role": true, "client_protocol_version": true, "wait_end_of_query": true,
	"buffer_size": true, "http_response_buffer_size": true,
}

// parseRequest reads everything but the body's content.
func parseRequest(r *http.Request, of role) (*request, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, newException(codeBadArguments, "the URL's parameters cannot be parsed: %v", err)
	}
	q := &request{
		role:           of,
		queryID:        values.Get("query_id"),
		database:       cmp.Or(values.Get("database"), r.Header.Get("X-ClickHouse-Database")),
		defaultFormat:  cmp.Or(values.Get("default_format"), r.Header.Get("X-ClickHouse-Format")),
		sqlRole:        values.Get("role"),
		compress:       isTrue(values.Get("compress")),
		waitEndOfQuery: isTrue(values.Get("wait_end_of_query")),
		bufferSize:     defaultBufferSize,
		readOnly:       r.Method == http.MethodGet || r.Method == http.MethodHead,
		sessionID:      values.Get("session_id"),
		sessionCheck:   isTrue(values.Get("session_check")),
		closeSession:   isTrue(values.Get("close_session")),
		query:          []byte(values.Get("query")),
	}
	if v := values.Get("client_protocol_version"); v != "" {
		if q.clientRevision, err = strconv.ParseUint(v, 10, 32); err != nil {
			return nil, newException(codeBadArguments, "client_protocol_version is not a number: %q", v)
		}
	}
	if v := cmp.Or(values.Get("buffer_size"), values.Get("http_response_buffer_size")); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			return nil, newException(codeBadArguments, "buffer_size is not a number: %q", v)
		}
		q.bufferSize = min(n, 16<<20)
	}
	if q.sessionTimeout, err = sessionTimeout(values.Get("session_timeout")); err != nil {
		return nil, err
	}
	if err := q.readBody(r, isTrue(values.Get("decompress"))); err != nil {
		return nil, err
	}
	for name := range values {
		value := values[name][len(values[name])-1]
		if err := q.option(name, value); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(q.settings, func(a, b setting) int { return strings.Compare(a.name, b.name) })
	return q, checkFormat(q.defaultFormat)
}

// option takes a URL parameter that is a statement's parameter, a setting, or describes a table.
func (q *request) option(name, value string) error {
	switch {
	case reserved[name]:
		return nil
	case strings.HasPrefix(name, "param_"):
		name = strings.TrimPrefix(name, "param_")
		q.params = append(q.params, parameter{name, value})
		return checkParameter("the parameter", name)
	case q.parts != nil && q.external(name, value):
		return nil
	}
	q.settings = append(q.settings, setting{name, value})
	return checkParameter("the setting", name)
}

// readBody decodes the body: first the HTTP encoding, then ClickHouse's blocks.
func (q *request) readBody(r *http.Request, decompress bool) error {
	body, err := decodeContent(r.Header.Get("Content-Encoding"), r.Body)
	if err != nil {
		return err
	}
	if kind, options, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" {
		q.parts = multipart.NewReader(body, options["boundary"])
		q.body = strings.NewReader("")
		return nil
	}
	q.compressed = decompress || body != r.Body
	switch {
	case decompress && q.role == writer:
		body = newBlockReader(body, maxWriterBlock)
	case decompress:
		body = newBlockReader(body, maxReaderBlock)
	}
	q.body = body
	return nil
}

func isTrue(v string) bool { return v == "1" || strings.EqualFold(v, "true") }
