package embedded

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

func TestStatementsAreSplit(t *testing.T) {
	for _, c := range []struct{ in, kind, text, format, suffix, data string }{
		{in: "SELECT 1", kind: "SELECT", text: "SELECT 1"},
		{in: "SELECT 1 FORMAT JSON;", kind: "SELECT", text: "SELECT 1", format: "JSON"},
		{in: "select 'FORMAT CSV' -- FORMAT XML\n format Native /* x */ ; ", kind: "SELECT", text: "select 'FORMAT CSV' -- FORMAT XML", format: "Native"},
		{in: "SELECT 1 FORMAT CSV SETTINGS max_threads=1", kind: "SELECT", text: "SELECT 1", format: "CSV", suffix: "SETTINGS max_threads=1"},
		{in: "SELECT format FROM t", kind: "SELECT", text: "SELECT format FROM t"},
		{in: "SELECT format('{}', 1) AS format", kind: "SELECT", text: "SELECT format('{}', 1) AS format"},
		{in: "SELECT * FROM format(CSV, '1')", kind: "SELECT", text: "SELECT * FROM format(CSV, '1')"},
		{in: "SELECT `FORMAT` FROM (SELECT 1 AS `FORMAT`)", kind: "SELECT", text: "SELECT `FORMAT` FROM (SELECT 1 AS `FORMAT`)"},
		{in: "(SELECT 1) UNION ALL (SELECT 2) FORMAT TSV", kind: "SELECT", text: "(SELECT 1) UNION ALL (SELECT 2)", format: "TSV"},
		{in: "SELECT $a$; FORMAT x$a$, ';'';' FORMAT TSV", kind: "SELECT", text: "SELECT $a$; FORMAT x$a$, ';'';'", format: "TSV"},
		{in: "SHOW CREATE TABLE format", kind: "SHOW", text: "SHOW CREATE TABLE format"},
		{in: "INSERT INTO t FORMAT CSV\n1,2;\n", kind: "INSERT", text: "INSERT INTO t", format: "CSV", data: "1,2;\n"},
		{in: "INSERT INTO t (a, format) SETTINGS async_insert=0 FORMAT Native", kind: "INSERT", text: "INSERT INTO t (a, format) SETTINGS async_insert=0", format: "Native"},
		{in: "INSERT INTO t FORMAT JSONEachRow {\"a\":1}", kind: "INSERT", text: "INSERT INTO t", format: "JSONEachRow", data: "{\"a\":1}"},
		{in: "INSERT INTO t VALUES (1),(2);", kind: "INSERT", text: "INSERT INTO t", format: "Values", data: " (1),(2)"},
		{in: "INSERT INTO t (a)", kind: "INSERT", text: "INSERT INTO t (a)", format: "Values"},
		{in: "INSERT INTO t SELECT 1", kind: "INSERT", text: "INSERT INTO t SELECT 1"},
		{in: "INSERT INTO values VALUES (1)", kind: "INSERT", text: "INSERT INTO values", format: "Values", data: " (1)"},
	} {
		s, err := parseStatement(t.Context(), []byte(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if s.kind != c.kind || string(s.text) != c.text || s.format != c.format || string(s.suffix) != c.suffix || string(s.data) != c.data {
			t.Errorf("%s:\n kind %q text %q format %q suffix %q data %q", c.in, s.kind, s.text, s.format, s.suffix, s.data)
		}
	}
	for _, in := range []string{"SELECT 1; SELECT 2", "SELECT 1;;", "INSERT INTO t VALUES (1); DROP TABLE t"} {
		if _, err := parseStatement(t.Context(), []byte(in)); err == nil {
			t.Errorf("%s: accepted", in)
		}
	}
}

// Behind each word that begins with $, the lexers look for the end of a heredoc.
func TestWordsThatBeginWithADollarAreFew(t *testing.T) {
	words := func(n int) []byte { return []byte("SELECT " + strings.Repeat("$a, $$ $b c$ $$, ", n/2) + "$c$") }
	if _, err := parseStatement(t.Context(), words(maxDollarWords-1)); err != nil {
		t.Error(err)
	}
	if _, err := parseStatement(t.Context(), words(2*maxDollarWords)); err == nil || !strings.Contains(err.Error(), "more than 100 words begin with $") {
		t.Error(err)
	}
}

func TestNobodyWaitsForAStatementThatIsGone(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	if _, err := parseStatement(ctx, []byte("SELECT "+strings.Repeat("1, ", checkEvery))); !errors.Is(err, gone) {
		t.Error(err)
	}
}

// The engine checks the settings at the end of a statement. A table or a column may be called settings.
func TestSettingsMayStandWhereTheEngineChecksThem(t *testing.T) {
	for _, in := range []string{
		"SELECT 1 SETTINGS final, max_threads = 1", "SELECT 1 UNION ALL SELECT 2 SETTINGS max_threads = 1 FORMAT JSON SETTINGS max_threads = 1", "(SELECT 1) EXCEPT (SELECT 2) SETTINGS max_threads = 1",
		"WITH x AS (SELECT 1 UNION ALL SELECT 2) SELECT * EXCEPT a FROM x SETTINGS final = 0", "EXPLAIN SELECT 1 INTERSECT SELECT 1 SETTINGS max_threads = 1",
		"DESCRIBE (SELECT 1 UNION ALL SELECT 2) SETTINGS describe_compact_output = 1", "DESC TABLE t SETTINGS describe_compact_output = 1", "SHOW TABLES SETTINGS max_threads = 1",
		"INSERT INTO t SETTINGS async_insert = 0 SELECT * EXCEPT a FROM s UNION ALL SELECT 1", "INSERT INTO t SETTINGS async_insert = 0 VALUES (1)",
		"CREATE TABLE t (a String CODEC(ZSTD) SETTINGS (min_compress_block_size = 1)) ENGINE = MergeTree ORDER BY a SETTINGS index_granularity = 1 AS SELECT * EXCEPT b FROM s UNION ALL SELECT 1",
		"CREATE VIEW v AS SELECT 1 UNION ALL SELECT 2 SETTINGS join_use_nulls = 0", "ALTER TABLE t DELETE WHERE a IN (SELECT 1) SETTINGS mutations_sync = 2",
		"SELECT * FROM (SELECT name FROM system.settings AS s UNION ALL SELECT settings.name FROM settings) UNION ALL SELECT `settings` FROM t", "SELECT (settings, Settings['x'], settings = 1), settings FROM t",
		"CREATE TABLE t (name String, settings String) ENGINE = Memory", "INSERT INTO t (name, settings) SELECT 1, 2",
	} {
		if s, err := parseStatement(t.Context(), []byte(in)); err != nil || s.innerSettings {
			t.Errorf("%s: refused (%v)", in, err)
		}
	}
}

// The engine writes a setting as name = value; a name may have dots, and be that of a column.
func TestTheSettingsOfANormalForm(t *testing.T) {
	for _, c := range []struct {
		in, settings string
		inner        bool
	}{
		{in: "SELECT 1 SETTINGS final = true, `x y` = {'a':'b, c = 1'}, z = disk(type = x, y = 1)", settings: "final x y z"},
		{in: "SELECT (SELECT settings AS x, settings.a FROM t AS settings WHERE (settings = 1) OR Settings['x']) SETTINGS a.b = 1", settings: "a"},
		{in: "SELECT (SELECT 1 SETTINGS a.b = 1, c = 2), 3", settings: "a c", inner: true},
		{in: "SELECT 1 SETTINGS a = 1 UNION ALL SELECT 2", settings: "a", inner: true},
		{in: "DESCRIBE TABLE (SELECT 1 SETTINGS a = 1)", settings: "a", inner: true},
		{in: "DESCRIBE TABLE mysql('x', SETTINGS a = 1, b = 2)", settings: "a b"},
	} {
		s, err := parseNormal(t.Context(), []byte(c.in))
		if err != nil || strings.Join(s.settings, " ") != c.settings || s.innerSettings != c.inner {
			t.Errorf("%s: %+v, %v", c.in, s, err)
		}
	}
}

// Readers may call these functions with plain texts.
func TestPlainTextsHideNoSQL(t *testing.T) {
	for _, in := range []string{
		"SELECT arrayReduce('quantile(0.5, 0.9)', x), initializeAggregation('sumState', 1), arrayReduce FROM t WHERE a IS NULL",
		"SELECT printf('%s %s', concat(a, 'b'), c), nullIf(a, b), null, values, input FROM t FORMAT CSV", `SELECT * FROM format(JSONEachRow, '{"a": "x\n"}')`,
		`SELECT * FROM format('CSV', 'a Enum8(\'x\' = 1), b UInt8 DEFAULT 2', '1\n')`, "SELECT * FROM format(CSV, $$a Enum8('x' = 1)$$, $$1$$)",
		`SELECT icebergBucket(4, 1) FROM values('a String', ('x\n'), (upper('y'))), values(1, 2), values((1, 'a'), (2, 'b'))`, "SELECT * FROM (VALUES (1, 'x')) WHERE a IN (VALUES (1))", "SELECT 'arrayReduce(' FROM t",
	} {
		if s, err := parseStatement(t.Context(), []byte(in)); err != nil || s.hidesSQL != "" {
			t.Errorf("%s: refused (%v, %s)", in, err, s.hidesSQL)
		}
	}
}

func FuzzStatement(f *testing.F) {
	for _, seed := range []string{"SELECT 1 FORMAT CSV", "INSERT INTO t FORMAT CSV\n1", "SELECT 'a\\'' /* x */ FORMAT -- y\nJSON SETTINGS a = 1;", "$a$", "INSERT INTO t VALUES", "\u00a0#!x\n("} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before := bytes.Clone(in)
		s, err := parseStatement(t.Context(), in)
		if !bytes.Equal(before, in) {
			t.Fatal("the text was changed")
		}
		if err != nil {
			return
		}
		if !bytes.HasPrefix(in, s.text) && len(s.text) > 0 {
			t.Fatalf("text %q is not the beginning of %q", s.text, in)
		}
		if len(s.data) > 0 && !bytes.Contains(in, s.data) {
			t.Fatalf("data %q is not of %q", s.data, in)
		}
		// What was found once is found again behind a comment.
		again, err := parseStatement(t.Context(), append([]byte("/* c */ "), in...))
		if err != nil || again.format != s.format || again.kind != s.kind || !bytes.Equal(again.data, s.data) {
			t.Fatalf("behind a comment: %+v, %v", again, err)
		}
	})
}
