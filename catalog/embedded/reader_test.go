package embedded_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/kubevoltracker/kubevoltracker/catalog/embedded"
)

// TestGrafanaReads asks as Grafana's data source does: by clickhouse-go's database/sql over HTTP, as the user default,
// with settings, and first for the databases, tables and columns.
func TestGrafanaReads(t *testing.T) {
	exec(t, open(t), "CREATE TABLE IF NOT EXISTS panel (at DateTime64(3), v Float64, name LowCardinality(String)) ENGINE = MergeTree ORDER BY at")
	exec(t, open(t), "INSERT INTO panel SELECT toDateTime64(1700000000 + number, 3), number, 'a' FROM numbers(100)")
	db := clickhouse.OpenDB(&clickhouse.Options{
		Addr: []string{address}, Protocol: clickhouse.HTTP, Auth: clickhouse.Auth{Username: "default"},
		Settings:    clickhouse.Settings{"max_execution_time": 60, "final": 1, "use_query_cache": 0},
		Compression: &clickhouse.Compression{Method: clickhouse.CompressionGZIP},
	})
	defer db.Close()
	if err := db.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"SELECT version()", "SELECT name FROM system.databases", "SELECT name FROM system.tables WHERE database = currentDatabase()",
		"SELECT name, type FROM system.columns WHERE table = 'panel'", "SELECT distinct arrayJoin(mapKeys(map('a', 1)))",
		"SELECT toStartOfInterval(at, INTERVAL 10 second) AS time, avg(v) FROM panel WHERE at >= 1700000000 GROUP BY time ORDER BY time SETTINGS max_threads = 1",
		"SELECT name, count() FROM panel GROUP BY name WITH TOTALS", "EXPLAIN SELECT * FROM panel", "SHOW CREATE TABLE panel", "DESCRIBE TABLE panel",
		"WITH x AS (SELECT 1 AS a) SELECT a FROM x", "/* Grafana */ SELECT 1", "SHOW TABLES", "EXISTS TABLE panel",
	} {
		if n, err := countRows(t, db, query); err != nil || n == 0 {
			t.Errorf("%s: %d rows, %v", query, n, err)
		}
	}
	var v sql.NullFloat64
	if err := db.QueryRowContext(t.Context(), "SELECT max(v) FROM panel WHERE name = @name", clickhouse.Named("name", "a")).Scan(&v); err != nil || v.Float64 != 99 {
		t.Error(v, err)
	}
	var refused *clickhouse.Exception
	if _, err := db.ExecContext(t.Context(), "INSERT INTO panel SELECT * FROM panel"); !errors.As(err, &refused) || refused.Code != 497 {
		t.Error(err)
	}
}

// TestTheGateIsNotInTheWayOfReaders asks what readers ask, in forms that are close to what the gate refuses.
func TestTheGateIsNotInTheWayOfReaders(t *testing.T) {
	exec(t, open(t), "CREATE TABLE IF NOT EXISTS asked (a Int64, settings String, b Float64) ENGINE = MergeTree ORDER BY a")
	exec(t, open(t), "INSERT INTO asked VALUES (1, 'x', 0.5)")
	for _, c := range []struct{ parameters, statement, want string }{
		{"", "SELECT 1 // a comment\n", "1\n"},
		{"", "(SELECT 1 AS a) UNION ALL (SELECT 1) FORMAT JSONColumns SETTINGS max_threads = 1", "{\n\t\"a\": [1, 1]\n}\n"},
		{"", "SELECT 1 AS a SETTINGS max_threads = 1 FORMAT JSONColumns SETTINGS max_block_size = 10 -- a comment", "{\n\t\"a\": [1]\n}\n"},
		{"", "SELECT 1 AS a, 2 AS b WHERE 0 FORMAT Native SETTINGS max_threads = 1", "\x02\x00\x01a\x05UInt8\x01b\x05UInt8"},
		{"", "(SELECT 1 AS a WHERE 0) UNION ALL (SELECT 2 WHERE 0) FORMAT Native SETTINGS max_threads = 1", "\x01\x00\x01a\x05UInt8"},
		{"", "SELECT a, settings FROM asked WHERE settings = 'x' ORDER BY settings DESC", "1\tx\n"},
		{"", "SELECT (SELECT `settings` AS s FROM asked AS `settings`), (SELECT asked.settings AS s FROM asked)", "x\tx\n"},
		{"", "SELECT 1 UNION ALL SELECT 1 SETTINGS final, max_threads = 1", "1\n1\n"},
		{"", "(SELECT 1) UNION ALL (SELECT 1) SETTINGS max_threads = 1, final = 0", "1\n1\n"},
		{"", "SELECT * EXCEPT b FROM asked FORMAT CSV SETTINGS format_csv_delimiter = ';', output_format_csv_crlf_end_of_line = 1", "1;\"x\"\r\n"},
		{"max_result_bytes=1000&offset=0&limit=1", "SELECT number FROM numbers(3)", "0\n"},
		{"offset=1", "SELECT number FROM numbers(3)", "1\n2\n"},
		{"max_query_size=1000000", "SELECT length('" + strings.Repeat("x", 300_000) + "')", "300000\n"},
		{"wait_end_of_query=1&readonly=2&max_result_rows=0&send_progress_in_http_headers=1&log_comment=x&session_timezone=UTC", "SELECT 1", "1\n"},
		{"param_x=2&param_t=asked", "SELECT a + {x:UInt8} FROM {t:Identifier}", "3\n"},
		{"", "SELECT * FROM (VALUES (1, 'x')) WHERE 1 IN (VALUES (1))", "1\tx\n"},
		{"", "SELECT * FROM values('a String,\n\tb UInt8', ('x\\n', 1))", "x\\n\t1\n"},
		{"", "SELECT a FROM format(CSV, $$a Enum8('x' = 1), b UInt8 DEFAULT 2$$, $$x,1\n$$)", "x\n"},
		{"", `SELECT * FROM format(JSONEachRow, '{"a": "x\\ty"}')`, "x\\ty\n"},
		{"", "SELECT * FROM merge(currentDatabase(), '^asked$')", "1\tx\t0.5\n"},
		{"", "SELECT sum(number) FROM numbers_mt(3) AS `a b` WHERE number IN (SELECT generate_series FROM generate_series(1, 2))", "3\n"},
		{"", "SELECT arrayReduce('quantiles(0.5, 0.9)', [1, 1]), icebergBucket(4, 1) >= 0, file FROM (SELECT 1 AS file)", "[1,1]\t1\t1\n"},
		{"", "SELECT 1 AS \"a'b\", 2 AS `c\nd`", "1\t2\n"},
		{"", "SELECT CASE a WHEN 1 THEN 'one' ELSE 'more' END, a::String, a BETWEEN 1 AND 2, EXTRACT(YEAR FROM toDate('2026-01-01')), a IS NOT DISTINCT FROM 1 FROM asked", "one\t1\t1\t2026\t1\n"},
		{"", "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT max(n) FROM t", "3\n"},
		{"", "SELECT max(a) OVER (PARTITION BY `settings` ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM asked QUALIFY 1", "1\n"},
	} {
		if answer := send(t, c.parameters, c.statement); answer != c.want {
			t.Errorf("%s %.200s: %.300s", c.parameters, c.statement, answer)
		}
	}
	// The engine writes this format to a file, and takes settings only behind that.
	answer := send(t, "", "(SELECT 1) UNION ALL (SELECT 2) SETTINGS max_threads = 1 FORMAT JSONColumns")
	if !strings.Contains(answer, "write its SETTINGS behind FORMAT JSONColumns") {
		t.Errorf("%.300s", answer)
	}
}

// TestReadersGiveSettingsThatExist looks up the list of settings, in which a name with a mistake would allow nothing.
func TestReadersGiveSettingsThatExist(t *testing.T) {
	names := embedded.ReaderSettings()
	if missing := send(t, "", "SELECT arrayFilter(name -> name NOT IN (SELECT name FROM system.settings), ['"+strings.Join(names, "', '")+"'])"); missing != "[]\n" {
		t.Errorf("ClickHouse does not know %s", missing)
	}
}

func countRows(t *testing.T, db *sql.DB, query string) (n int, err error) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		n++
	}
	return n, rows.Err()
}

// TestStatementsRunOnSeveralThreads asks how a statement would be run that may have two threads. The engine has 2 GiB.
func TestStatementsRunOnSeveralThreads(t *testing.T) {
	if _, pipeline := ask(t, "POST", "max_threads=2", "EXPLAIN PIPELINE SELECT sum(number) FROM numbers_mt(1000000000)"); !strings.Contains(pipeline, "NumbersRange × 2") {
		t.Errorf("one thread does it:\n%s", pipeline)
	}
}
