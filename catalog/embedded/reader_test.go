package embedded_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
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
