package attack

import (
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// Secrets: no answer may contain one.
const (
	secretOfFile        = "what-the-file-says"
	secretOfEnvironment = "what-the-environment-says"
)

// who attacks.
type who int

const (
	nobody     who = iota // whoever reaches the port: the reader
	programmer            // who knows the writer's password
)

// target is an engine as the tracker runs it, and what an attacker would like to reach.
type target struct {
	engine *harness.ClickHouse
	data   string // the engine's directory
	files  string // the names of the files there, apart from those of tables

	outside string // a directory that the account of the engine can read and write
	secret  string // a file there
	wanted  string // a file there that must never exist
	decoy   string // host:port that nobody must connect to
	called  *atomic.Int64
}

func newTarget(t *testing.T, flags ...string) *target {
	t.Helper()
	t.Setenv("AWS_SECRET_ACCESS_KEY", secretOfEnvironment)
	at := &target{outside: t.TempDir(), called: &atomic.Int64{}}
	at.secret, at.wanted = filepath.Join(at.outside, "secret"), filepath.Join(at.outside, "wanted")
	if err := os.WriteFile(at.secret, []byte(secretOfFile+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	decoy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { decoy.Close() })
	at.decoy = decoy.Addr().String()
	go func() {
		for {
			c, err := decoy.Accept()
			if err != nil {
				return
			}
			at.called.Add(1)
			c.Close()
		}
	}()
	at.engine = harness.StartClickHouse(t, flags...)
	at.data = at.engine.Data()
	for _, statement := range []string{
		"CREATE DATABASE IF NOT EXISTS kubevoltracker",
		"CREATE TABLE kubevoltracker.victim (a Int64, s String) ENGINE = MergeTree ORDER BY a",
		"INSERT INTO kubevoltracker.victim VALUES (7, 'kept')",
	} {
		if status, answer := at.send(t, programmer, request{body: statement}); status != http.StatusOK {
			t.Fatalf("%s: %s", statement, answer)
		}
	}
	at.files = at.filesOfTheEngine(t)
	return at
}

// filesOfTheEngine returns the names of the files in the engine's directory, apart from those of tables. A file that somebody
// adds to its metadata keeps the engine from starting again.
func (at *target) filesOfTheEngine(t *testing.T) string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(at.data, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == "store" {
			return filepath.SkipDir
		}
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, "\n")
}

// request is what an attacker sends.
type request struct {
	method  string // POST if empty
	path    string // with parameters; / if empty
	body    string
	headers []string // name, value, …
}

// send sends a request and returns the status and the answer; status 0 and why there was none.
func (at *target) send(t *testing.T, as who, r request) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), or(r.method, http.MethodPost), "http://"+at.engine.Address, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	path, query, _ := strings.Cut(or(r.path, "/"), "?")
	req.URL.Opaque = path // sent as it is
	req.URL.RawQuery = query
	if as == programmer {
		req.SetBasicAuth(catalogtest.User, catalogtest.Password)
	}
	for i := 0; i+1 < len(r.headers); i += 2 {
		if req.Header.Set(r.headers[i], r.headers[i+1]); r.headers[i] == "Host" {
			req.Host = r.headers[i+1]
		}
	}
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		body = append(body, err.Error()...)
	}
	return answer.StatusCode, string(body)
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// unharmed returns what an attack has reached, or nil.
func (at *target) unharmed(t *testing.T, answer string) error {
	t.Helper()
	for _, secret := range []string{secretOfFile, secretOfEnvironment, "root:x:0:0"} {
		if strings.Contains(answer, secret) {
			return fmt.Errorf("it has read %q", secret)
		}
	}
	if text, err := os.ReadFile(at.secret); err != nil || string(text) != secretOfFile+"\n" {
		return fmt.Errorf("it has changed a file: %q %w", text, err)
	}
	if files, err := os.ReadDir(at.outside); err != nil || len(files) != 1 {
		return fmt.Errorf("it has written or moved files: %v %w", files, err)
	}
	if files := at.filesOfTheEngine(t); files != at.files {
		return fmt.Errorf("it has written a file of the engine: %s, before %s", files, at.files)
	}
	if n := at.called.Load(); n > 0 {
		return fmt.Errorf("it has made %d connections", n)
	}
	if status, rows := at.send(t, nobody, request{body: "SELECT a, s FROM kubevoltracker.victim"}); rows != "7\tkept\n" {
		return fmt.Errorf("the catalog is not as it was: %d %s", status, rows)
	}
	return nil
}

// sql returns the request of a statement.
func sql(statement string) request { return request{body: statement} }

// get returns the request of a link.
func get(parameters ...string) request {
	values := url.Values{}
	for i := 0; i+1 < len(parameters); i += 2 {
		values.Add(parameters[i], parameters[i+1])
	}
	return request{method: http.MethodGet, path: "/?" + values.Encode()}
}

// form returns a request with external tables: parameters of the URL, then the rows of table x.
func form(parameters ...string) request {
	r := get(parameters...)
	const boundary = "----b"
	r.method, r.headers = http.MethodPost, []string{"Content-Type", "multipart/form-data; boundary=" + boundary}
	r.body = "--" + boundary + "\r\nContent-Disposition: form-data; name=\"x\"; filename=\"x\"\r\n\r\n1\n\r\n--" + boundary + "--\r\n"
	return r
}
