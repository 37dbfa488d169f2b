package embedded

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net/http"
	"testing"
)

// FuzzRequest parses requests as a client may send them, byte by byte. What gets through is made of names.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		"GET /?query=SELECT+1&default_format=XML%3BSELECT HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /?param_a=1&max_threads=2&session_id=s&session_timeout=5 HTTP/1.1\r\nHost: x\r\nX-ClickHouse-Format: CSV\r\nContent-Length: 8\r\n\r\nSELECT 1",
		"POST /?x_structure=a+Int8&x_format=CSV HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 4\r\n\r\n--b\r",
		"POST /?decompress=1&compress=1&client_protocol_version=54460 HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b",
		"POST /?query=INSERT+INTO+t+FORMAT+CSV&buffer_size=1&wait_end_of_query=1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n1,\r\n0\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
		if err != nil {
			return
		}
		credentials(r)
		_ = refuseOtherSites(r)
		_ = refuseForeignHost(r)
		q, err := parseRequest(r, reader)
		if err != nil {
			return
		}
		if q.defaultFormat != "" && !formatName.MatchString(q.defaultFormat) {
			t.Errorf("format %q", q.defaultFormat)
		}
		for _, s := range q.settings {
			if !parameterName.MatchString(s.name) {
				t.Errorf("setting %q", s.name)
			}
		}
		for _, p := range q.params {
			if !parameterName.MatchString(p.name) {
				t.Errorf("parameter %q", p.name)
			}
		}
		if q.parts == nil {
			if st, err := q.statement(t.Context()); err == nil && st.kind == "" {
				t.Errorf("a statement of no kind: %q", st.text)
			}
		}
	})
}

// A reader's tables wait for those of others to be loaded, until the reader's time is over. The time for the upload has not begun then.
func TestTablesWaitForOthers(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("over")
	cancel(over)
	e := &engine{loads: make(chan struct{})} // full
	begun := false
	q := &request{role: reader, beginUpload: func() { begun = true }}
	if err := q.loadExternal(ctx, e, nil); !errors.Is(err, over) || begun {
		t.Errorf("%v, the upload has begun: %t", err, begun)
	}
}
