package embedded_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog/embedded"
)

func TestTheFenceIsNotInTheWay(t *testing.T) {
	for _, query := range []string{
		"CREATE TABLE file (file String, s3 String, disk String) ENGINE = MergeTree ORDER BY file",
		"CREATE TABLE IF NOT EXISTS file (a Int8) ENGINE = Memory",
		"INSERT INTO file (file) VALUES ('file(1) INTO OUTFILE /* (')",
		"INSERT INTO default.file (file, s3) SELECT 'disk(x)', $$ file() $$",
		"SELECT file, (file), profile FROM (SELECT file, 'INTO OUTFILE ''x''' AS profile FROM file) -- INTO OUTFILE 'x'",
		"CREATE MATERIALIZED VIEW file_view ENGINE = SummingMergeTree ORDER BY file AS SELECT file, count() AS n FROM file GROUP BY file",
		"WITH 'z' AS z INSERT INTO file (file) SELECT z",
		"CREATE TEMPORARY TABLE t (a Int8)", "CREATE FUNCTION plus_one AS x -> x + 1", "KILL QUERY WHERE 0", "SHOW GRANTS", "SYSTEM FLUSH LOGS",
		"ALTER TABLE file DELETE WHERE file = 'z'", "OPTIMIZE TABLE file FINAL", "SELECT * FROM file_view FINAL FORMAT Pretty",
		"DROP TABLE file_view", "DROP TABLE file SYNC",
	} {
		if resp, body := ask(t, "POST", "", query); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", query, body)
		}
	}
}

func TestGarbageIsASyntaxError(t *testing.T) {
	bodies := []string{"\x01\x02\xff\xfe garbage", "\x1f\x8b\x08rubbish", "\x00\x00\x00\x00", "\xff\xff", "é", "-- c", "/* c */", "/* open", ";", "{}", "12", "(", "((1))"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		b := make([]byte, 1+random.IntN(300))
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		bodies = append(bodies, string(b))
	}
	for _, b := range bodies {
		if resp, answer := ask(t, "POST", "", b); resp.StatusCode != http.StatusBadRequest || resp.Header.Get("X-ClickHouse-Exception-Code") != "62" || !strings.Contains(answer, "(SYNTAX_ERROR)") {
			t.Errorf("%q: %s %.200q", b, resp.Status, answer)
		}
	}
}

// What the lexer takes for a comment or a string and the engine for a statement would
// pass by what parseStatement refuses.
func TestTheLexerAgreesWithTheEngine(t *testing.T) {
	fragments := []string{"'", "''", `\'`, `\`, "`", `"`, "/*", "*/", "/", "//", "--", "\u2212", "\n", "\\G", "#", "# ", "#!", "$", "$a$", "$$", "$a b$", "$é$", "(", ")", " ", "\t", "\u3000", "\u2028", "\ufeff", "\u00a0", "\u2014",
		"‘", "’", "“", "”", "INTO", "x", "OUTFILE", " x'", " b'", "01'", ";", ".", ".5", ".5_", ".5e", ".5e-1", "e+", "SETTINGS", " 1 ", " 1.", " 0x1", " 1e-1", ",", "=", "é", "\x00", "\xe2"}
	random := rand.New(rand.NewPCG(3, 4))
	var samples []string
	for range 4000 {
		var b strings.Builder
		for range 1 + random.IntN(12) {
			b.WriteString(fragments[random.IntN(len(fragments))])
		}
		samples = append(samples, b.String())
	}
	var query strings.Builder
	query.WriteString("SELECT arrayJoin([")
	for i, s := range samples {
		if i > 0 {
			query.WriteByte(',')
		}
		fmt.Fprintf(&query, "unhex('%x')", s)
	}
	query.WriteString("]) AS s, tokenizeQuery(s) AS tokens FORMAT JSONCompactEachRow")
	resp, body := ask(t, "POST", "max_query_size=1000000&output_format_json_named_tuples_as_objects=0&output_format_json_quote_64bit_integers=0", query.String())
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%.300s", body)
	}
	compared := 0
	for i, line := range strings.Split(strings.TrimSpace(body), "\n") {
		var row []json.RawMessage
		var tokens [][3]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(row[1], &tokens); err != nil {
			t.Fatal(err)
		}
		want, accepted := wordsAndQuotes(samples[i], tokens)
		if !accepted {
			continue // the engine runs nothing of it
		}
		compared++
		if got := embedded.WordsAndQuotes(samples[i]); !slices.Equal(got, want) {
			t.Errorf("%q: %v, the engine says %v", samples[i], got, want)
		}
	}
	if compared < 200 {
		t.Errorf("only %d compared", compared)
	}
}

// wordsAndQuotes returns where words and quotations are among the engine's tokens of a
// text; false if the engine refuses one of them.
func wordsAndQuotes(text string, tokens [][3]any) (list [][2]int, ok bool) {
	for _, token := range tokens {
		switch kind := token[2].(string); kind {
		case "BareWord", "StringLiteral", "QuotedIdentifier", "HereDoc":
			from, to := int(token[0].(float64)), int(token[1].(float64))
			if kind == "BareWord" && text[from] >= '0' && text[from] <= '9' {
				continue // 1x is a word there and a number here
			}
			if c := text[from]; kind == "StringLiteral" && (c == 'x' || c == 'b') {
				list = append(list, [2]int{from, from + 1}) // x'0a' is one token there and two here
				from++
			}
			list = append(list, [2]int{from, to})
		default:
			if strings.Contains(kind, "Error") {
				return nil, false
			}
		}
	}
	return list, true
}

func TestGETDoesNotWriteInASessionEither(t *testing.T) {
	const session = "session_id=reader&query="
	ask(t, "POST", "", "CREATE TABLE guarded (a Int8) ENGINE = MergeTree ORDER BY a")
	for _, query := range []string{"INSERT INTO guarded VALUES (1)", "DROP TABLE guarded", "WITH 1 AS x INSERT INTO guarded SELECT x", "CREATE TABLE g (a Int8) ENGINE = Memory"} {
		if resp, _ := ask(t, "GET", session+url.QueryEscape(query), ""); resp.Header.Get("X-ClickHouse-Exception-Code") != "164" {
			t.Errorf("%s: %s", query, resp.Status)
		}
	}
	for _, query := range []string{"SELECT count() FROM guarded", "WITH 1 AS x SELECT x - 1", "(SELECT 0)"} {
		if _, body := ask(t, "GET", session+url.QueryEscape(query), ""); body != "0\n" {
			t.Errorf("%s: %q", query, body)
		}
	}
}

func TestAQueryThatIsTooLargeIsNotCutShort(t *testing.T) {
	ask(t, "POST", "", "CREATE TABLE whole (a Int8) ENGINE = Memory")
	query := "SELECT 1 AS x /* " + strings.Repeat(" ", 1<<20) + " */, 2"
	// Its first MiB and a byte would be a statement too.
	rows := "INSERT INTO whole VALUES  " + strings.Repeat("(1),", 1<<18)
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	w.WriteField("query", rows[:len(rows)-1])
	w.Close()
	if resp, body := ask(t, "POST", "", form.String(), "Content-Type", w.FormDataContentType()); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "size exceeded") {
		t.Errorf("in a form: %s %.200s", resp.Status, body)
	}
	if _, body := ask(t, "POST", "", "SELECT count() FROM whole"); body != "0\n" {
		t.Errorf("a part was inserted: %s", body)
	}
	if resp, body := ask(t, "POST", "", query); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "size exceeded") {
		t.Errorf("in the body: %s %.200s", resp.Status, body)
	}
}
