package embedded_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog/embedded"
)

// ask makes one raw request, as curl does: the writer's, unless params or headers name another user.
func ask(t *testing.T, method, params, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+"/?"+params, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(params, "user=") {
		req.SetBasicAuth(embedded.WriterUser, writerPassword)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "X-ClickHouse-User" {
			req.Header.Del("Authorization")
		}
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := (&http.Transport{DisableCompression: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, _ := io.ReadAll(resp.Body)
	return resp, string(out)
}

func TestHTTPAnswersAsAServer(t *testing.T) {
	conn := open(t)
	exec(t, conn, "CREATE TABLE raw (a Int32, s String) ENGINE = MergeTree ORDER BY a")
	esc := url.QueryEscape
	asReader := []string{"X-ClickHouse-User", "default"}
	const largeRows = "SELECT repeat('x', 20000) FROM numbers(4000) FORMAT Native"
	for _, c := range []struct {
		name, method, params, body string
		headers                    []string
		status                     int
		code, format, contains     string
	}{
		{name: "landing", method: "GET", status: 200, contains: "Ok.\n"},
		{name: "GET reads", method: "GET", params: "query=SELECT+1", status: 200, format: "TabSeparated", contains: "1\n"},
		{name: "GET does not write", method: "GET", params: "query=" + esc("INSERT INTO raw VALUES (1,'a')"), status: 500, code: "164", contains: "(READONLY)"},
		{name: "GET does not create", method: "GET", params: "query=" + esc("CREATE TABLE g (a Int8) ENGINE=Memory"), status: 500, code: "164"},
		{name: "GET takes settings", method: "GET", params: "max_block_size=5&query=" + esc("SELECT getSetting('max_block_size')"), status: 200, contains: "5\n"},
		{name: "GET cannot leave read-only", method: "GET", params: "readonly=0&query=" + esc("INSERT INTO raw VALUES (1,'a')"), status: 500, code: "164"},
		{name: "rows in the body", method: "POST", params: "query=" + esc("INSERT INTO raw FORMAT CSV"), body: "1,a\n2,b\n", status: 200},
		{name: "query and rows in the body", method: "POST", body: "INSERT INTO raw FORMAT JSONEachRow {\"a\":3,\"s\":\"c\"}", status: 200},
		{name: "values", method: "POST", params: "param_x=" + esc("d"), body: "INSERT INTO raw VALUES (4, {x:String}), (2+3, 'e');", status: 200},
		{name: "values in the body", method: "POST", params: "query=" + esc("INSERT INTO raw (s, a) VALUES"), body: "('f', 6)", status: 200},
		{name: "input()", method: "POST", params: "query=" + esc("INSERT INTO raw SELECT a + 1, s FROM input('a Int32, s String') FORMAT TSV"), body: "6\tg\n", status: 501, code: "48"},
		{name: "insert select", method: "POST", body: "INSERT INTO raw SELECT 8, 'h'; -- end", status: 200},
		{name: "all of it", method: "POST", body: "SELECT groupArray(s) FROM (SELECT s FROM raw ORDER BY a)", status: 200, contains: "['a','b','c','d','e','f','h']"},
		{name: "query goes on in the body", method: "POST", params: "query=SELECT", body: "1+1", status: 200, contains: "2\n"},
		{name: "own format wins", method: "POST", params: "default_format=CSV", body: "SELECT 1 AS x FORMAT JSONEachRow -- end", status: 200, format: "JSONEachRow", contains: `{"x":1}`},
		{name: "default format", method: "POST", params: "default_format=CSVWithNames", body: "SELECT 1 AS x", status: 200, format: "CSVWithNames", contains: "\"x\"\n1\n"},
		{name: "format header", method: "POST", headers: []string{"X-ClickHouse-Format", "JSONCompact"}, body: "SELECT 1 AS x", status: 200, format: "JSONCompact", contains: `"rows": 1`},
		{name: "format and settings", method: "POST", body: "SELECT 1 AS x FORMAT CSV SETTINGS max_threads = 1", status: 200, format: "CSV"},
		{name: "totals", method: "POST", body: "SELECT number % 2 AS k, count() FROM numbers(4) GROUP BY k WITH TOTALS FORMAT JSON", status: 200, contains: `"totals"`},
		{name: "show", method: "POST", body: "SHOW TABLES LIKE 'raw' FORMAT JSONEachRow", status: 200, contains: `{"name":"raw"}`},
		{name: "database", method: "POST", params: "database=system", body: "SELECT currentDatabase()", status: 200, contains: "system"},
		{name: "no such database", method: "POST", params: "database=nosuch", body: "SELECT 1", status: 404, code: "81"},
		{name: "no such table", method: "POST", body: "SELECT * FROM nosuch", status: 404, code: "60", contains: "(UNKNOWN_TABLE) (version "},
		{name: "no such setting", method: "POST", params: "nosuch=1", body: "SELECT 1", status: 404, code: "115"},
		{name: "bad setting", method: "POST", params: "max_threads=x", body: "SELECT 1", status: 400, code: "27"},
		{name: "syntax", method: "POST", body: "SELEKT 1", status: 400, code: "62"},
		{name: "empty", method: "POST", body: " ", status: 400, code: "62"},
		{name: "several", method: "POST", body: "SELECT 1; SELECT 2", status: 400, code: "62"},
		{name: "bad rows", method: "POST", params: "query=" + esc("INSERT INTO raw FORMAT CSV"), body: "x,y\n", status: 400, code: "27"},
		{name: "files", method: "POST", body: "SELECT 1 INTO OUTFILE '/tmp/x'", status: 500, code: "358"},
		{name: "password", method: "POST", params: "user=kubevoltracker&password=x", body: "SELECT 1", status: 403, code: "516"},
		{name: "other user", method: "POST", headers: []string{"X-ClickHouse-User", "root"}, body: "SELECT 1", status: 403, code: "516"},
		{name: "a web page", method: "POST", headers: []string{"X-ClickHouse-User", "default", "Origin", "http://evil.example"}, body: "SELECT 1", status: 403, code: "497"},
		{name: "a rebound name", method: "POST", headers: []string{"X-ClickHouse-User", "default", "Host", "evil.example"}, body: "SELECT 1", status: 403, code: "497"},
		{name: "held back", method: "POST", params: "wait_end_of_query=1", body: "SELECT throwIf(number = 2999999) FROM numbers(3000000)", status: 500, code: "395"},
		{name: "parameter", method: "POST", params: "param_x=" + esc(`a\tb`), body: "SELECT length({x:String})", status: 200, contains: "3\n"},
		{name: "missing parameter", method: "POST", body: "SELECT {x:String}", status: 500, code: "456"},
		{name: "a large block of Native", method: "POST", params: "client_protocol_version=54460", headers: asReader, body: largeRows, status: 500, code: "396", contains: "give a smaller max_block_size"},
		{name: "smaller blocks of Native", method: "POST", params: "client_protocol_version=54460&max_block_size=1000", headers: asReader, body: largeRows, status: 200, contains: "String"},
		{name: "a large block of the writer's Native", method: "POST", params: "client_protocol_version=54460", body: largeRows, status: 200, contains: "String"},
		{name: "timeout", method: "POST", params: "max_execution_time=0.2", body: "SELECT count() FROM numbers(1e14) WHERE sipHash64(number) = 0", status: 408, code: "159"},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, body := ask(t, c.method, c.params, c.body, c.headers...)
			if resp.StatusCode != c.status || resp.Header.Get("X-ClickHouse-Exception-Code") != c.code || !strings.Contains(body, c.contains) {
				t.Errorf("%s, code %s: %.300s", resp.Status, resp.Header.Get("X-ClickHouse-Exception-Code"), body)
			}
			if c.format != "" && resp.Header.Get("X-ClickHouse-Format") != c.format {
				t.Errorf("format %s", resp.Header.Get("X-ClickHouse-Format"))
			}
		})
	}
}

func TestHTTPHeaders(t *testing.T) {
	resp, _ := ask(t, "POST", "query_id=mine", "SELECT 1 FORMAT JSON")
	for name, want := range map[string]string{
		"X-ClickHouse-Query-Id": "mine", "X-ClickHouse-Format": "JSON", "Content-Type": "application/json; charset=UTF-8",
		"X-ClickHouse-Summary": `{"read_rows":"1"`, "X-ClickHouse-Timezone": "/", "X-ClickHouse-Server-Display-Name": "",
	} {
		if got := resp.Header.Get(name); !strings.Contains(got, want) || got == "" && name != "X-ClickHouse-Timezone" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestHTTPCompressionOfBodyAndAnswer(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	io.WriteString(z, "SELECT 'zipped'")
	z.Close()
	resp, body := ask(t, "POST", "enable_http_compression=1", zipped.String(), "Content-Encoding", "gzip", "Accept-Encoding", "gzip")
	if resp.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("%v %q", resp.Header, body)
	}
	r, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if out, _ := io.ReadAll(r); string(out) != "zipped\n" {
		t.Errorf("%q", out)
	}
}

func TestLateExceptionTearsTheAnswer(t *testing.T) {
	resp, err := http.Post("http://"+address+"/", "", strings.NewReader("SELECT throwIf(number = 3000000) FROM numbers(4000000) SETTINGS max_block_size = 10000"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	tag := resp.Header.Get("X-ClickHouse-Exception-Tag")
	if err == nil || resp.StatusCode != 200 || !bytes.Contains(out, []byte("\r\n__exception__\r\n"+tag+"\r\nCode: 395.")) {
		t.Errorf("%v %s %.200s", err, resp.Status, out[max(0, len(out)-200):])
	}
}

func TestSessionsKeepTemporaryTables(t *testing.T) {
	const session = "session_id=s1&"
	ask(t, "POST", session, "CREATE TEMPORARY TABLE mine (a Int8)")
	ask(t, "POST", session+"max_threads=1&database=system", "INSERT INTO mine VALUES (5)")
	if _, body := ask(t, "POST", session, "SELECT a, currentDatabase() FROM mine"); body != "5\tdefault\n" {
		t.Error(body)
	}
	if resp, _ := ask(t, "POST", "", "SELECT a FROM mine"); resp.StatusCode != 404 {
		t.Error(resp.Status)
	}
	if resp, _ := ask(t, "POST", "session_id=other&session_check=1", "SELECT 1"); resp.Header.Get("X-ClickHouse-Exception-Code") != "372" {
		t.Error(resp.Status)
	}
}

func TestExternalTables(t *testing.T) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	w.WriteField("query", "SELECT sum(n) FROM ext")
	part, _ := w.CreateFormFile("ext", "")
	fmt.Fprint(part, "1\n2\n3\n")
	w.Close()
	if _, body := ask(t, "POST", "ext_structure="+url.QueryEscape("n UInt8"), form.String(), "Content-Type", w.FormDataContentType()); body != "6\n" {
		t.Error(body)
	}
}

func TestUnknownPath(t *testing.T) {
	resp, err := http.Get("http://" + address + "/nosuch")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 404 {
		t.Error(resp.Status)
	}
}
