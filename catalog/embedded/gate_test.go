package embedded_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// send sends a statement, with parameters of the URL, and returns the answer.
func send(t testing.TB, parameters, statement string) string {
	t.Helper()
	resp, err := http.Post("http://"+address+"/?"+parameters, "", strings.NewReader(statement))
	if err != nil {
		t.Fatalf("%q: %v", statement, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err.Error()
	}
	return string(answer)
}

// FuzzGate sends statements as a reader. None may change the catalog, or write a file where ClickHouse would.
func FuzzGate(f *testing.F) {
	for _, seed := range []string{
		"SELECT 1", "SELECT 1 INTO OUTFILE 'x'", "SELECT 1; DROP TABLE fuzzed", "INSERT INTO fuzzed VALUES (2)", "WITH 2 AS x INSERT INTO fuzzed SELECT x",
		"SELECT a FROM fuzzed FORMAT CSV SETTINGS max_threads = 1", "EXPLAIN DROP TABLE fuzzed", "SELECT 1 SETTINGS readonly = DEFAULT", "/* ; */ TRUNCATE fuzzed",
		"SELECT $$ ; $$ FORMAT TSV -- x", "ALTER TABLE fuzzed DELETE WHERE 1", "SELECT 1 PARALLEL WITH DROP TABLE fuzzed", "(SELECT 1) UNION ALL (SELECT 2) INTO OUTFILE 'x'",
	} {
		f.Add(seed)
	}
	before := filesHere(f)
	send(f, asWriter, "DROP TABLE IF EXISTS fuzzed SYNC")
	send(f, asWriter, "CREATE TABLE fuzzed (a Int8) ENGINE = MergeTree ORDER BY a")
	send(f, asWriter, "INSERT INTO fuzzed VALUES (1)")
	f.Fuzz(func(t *testing.T, statement string) {
		answer := send(t, "max_execution_time=2", statement)
		if rows := send(t, "", "SELECT groupArray(a) FROM fuzzed"); rows != "[1]\n" {
			t.Fatalf("%q has changed the catalog: %s (%.200s)", statement, rows, answer)
		}
		if now := filesHere(t); now != before {
			t.Fatalf("%q has written a file: %s", statement, now)
		}
	})
}

// filesHere returns the names in the directory of this process, in which ClickHouse is, too.
func filesHere(t testing.TB) string {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(files)
}

// A statement that was let through is answered again, and one that was refused is refused again: also beside it, and with the same words
// elsewhere.
func TestStatementsAreAnsweredAgain(t *testing.T) {
	for range 3 {
		for statement, want := range map[string]string{
			"SELECT {a:UInt8} + 1":                            "2\n",
			"SELECT {a:UInt8} + 1 FROM file('x', 'CSV')":      "ACCESS_DENIED",
			"SELECT 1 SETTINGS readonly = DEFAULT":            "SETTING_CONSTRAINT_VIOLATION",
			"DROP TABLE IF EXISTS nothing":                    "ACCESS_DENIED",
			"SELECT 1 FROM (SELECT 1 SETTINGS final = 1)":     "SETTING_CONSTRAINT_VIOLATION",
			"SELECT {a:UInt8} + 1 SETTINGS max_memory_usage=": "SYNTAX_ERROR",
		} {
			if answer := send(t, "param_a=1", statement); !strings.Contains(answer, want) {
				t.Errorf("%s: %s, want %s", statement, answer, want)
			}
		}
	}
	if answer := send(t, "param_a=x", "SELECT {a:UInt8} + 1"); !strings.Contains(answer, "Exception") {
		t.Errorf("with a value that is no number: %s", answer)
	}
	if answer := send(t, "param_a=1&allow_introspection_functions=1", "SELECT {a:UInt8} + 1"); !strings.Contains(answer, "should not be changed") {
		t.Errorf("with a setting that readers may not give: %s", answer)
	}
}
