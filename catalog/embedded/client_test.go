package embedded_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"github.com/kubevoltracker/kubevoltracker/catalog/embedded"
)

func TestPingAndVersion(t *testing.T) {
	conn := open(t)
	if err := conn.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	v, err := conn.ServerVersion()
	if err != nil || v.Version.Major < 24 {
		t.Fatalf("version %v, %v", v, err)
	}
}

type row struct {
	ID       uuid.UUID         `ch:"id"`
	Cluster  string            `ch:"cluster"`
	Name     string            `ch:"name"`
	Kind     string            `ch:"kind"`
	At       time.Time         `ch:"at"`
	Ended    *time.Time        `ch:"ended"`
	Second   time.Time         `ch:"second"`
	Day      time.Time         `ch:"day"`
	Size     int64             `ch:"size"`
	Version  uint64            `ch:"version"`
	Small    uint8             `ch:"small"`
	ReadOnly bool              `ch:"read_only"`
	Ratio    float64           `ch:"ratio"`
	Labels   map[string]string `ch:"labels"`
	Modes    []string          `ch:"modes"`
	Nested   [][]uint32        `ch:"nested"`
	Maybe    *string           `ch:"maybe"`
	LowMaybe *string           `ch:"low_maybe"`
	Money    decimal.Decimal   `ch:"money"`
	V4       net.IP            `ch:"v4"`
	V6       net.IP            `ch:"v6"`
	Fixed    string            `ch:"fixed"`
	Pair     []any             `ch:"pair"`
	Big      *big.Int          `ch:"big"`
	LowMap   map[string]string `ch:"low_map"`
}

const everyType = `(
	id UUID, cluster LowCardinality(String), name String CODEC(ZSTD), kind Enum8('pod' = 1, 'claim' = 2),
	at DateTime64(6, 'UTC') CODEC(Delta, ZSTD), ended Nullable(DateTime64(6, 'UTC')), second DateTime('UTC'), day Date,
	size Int64, version UInt64, small UInt8, read_only Bool, ratio Float64,
	labels Map(String, String), modes Array(LowCardinality(String)), nested Array(Array(UInt32)),
	maybe Nullable(String), low_maybe LowCardinality(Nullable(String)), money Decimal(18, 4), v4 IPv4, v6 IPv6,
	fixed FixedString(3), pair Tuple(String, UInt32), big Int256, low_map Map(LowCardinality(String), String)
)`

func rows(n int) []row {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
	maybe, ended := "there", at.Add(time.Hour)
	out := make([]row, n)
	for i := range out {
		r := row{
			ID: uuid.NewSHA1(uuid.Nil, []byte(strconv.Itoa(i))), Cluster: "c" + strconv.Itoa(i%3), Name: "näme-" + strconv.Itoa(i), Kind: "pod",
			At: at.Add(time.Duration(i) * time.Microsecond), Second: at.Truncate(time.Second), Day: at.Truncate(24 * time.Hour),
			Size: -int64(i), Version: uint64(i) << 40, Small: uint8(i), ReadOnly: i%2 == 0, Ratio: float64(i) / 3,
			Labels: map[string]string{"app": strconv.Itoa(i), "": "'\\\t"}, Modes: []string{"RWO", "ROX"}[:i%3%2+i%2], Nested: [][]uint32{{1, 2}, {}, {uint32(i)}},
			Money: decimal.New(int64(i), -4), V4: net.IPv4(10, 0, 0, byte(i)).To4(), V6: net.ParseIP("fd00::1"), Fixed: "abc",
			Pair: []any{"x", uint32(i)}, Big: big.NewInt(int64(-i)), LowMap: map[string]string{"k": "v"},
		}
		if i%2 == 1 {
			r.Kind, r.Ended, r.Maybe, r.LowMaybe = "claim", &ended, &maybe, &maybe
		}
		out[i] = r
	}
	return out
}

func insert(ctx context.Context, t *testing.T, conn clickhouse.Conn, table string, rows []row) error {
	t.Helper()
	batch, err := conn.PrepareBatch(ctx, "INSERT INTO "+table)
	if err != nil {
		return err
	}
	for i := range rows {
		if err := batch.AppendStruct(&rows[i]); err != nil {
			return err
		}
	}
	return batch.Send()
}

func TestBatchesKeepEveryColumnTypeUnderEveryCompression(t *testing.T) {
	for _, c := range []clickhouse.CompressionMethod{clickhouse.CompressionNone, clickhouse.CompressionLZ4, clickhouse.CompressionZSTD,
		clickhouse.CompressionGZIP, clickhouse.CompressionDeflate, clickhouse.CompressionBrotli} {
		t.Run(c.String(), func(t *testing.T) {
			conn := open(t, func(o *clickhouse.Options) {
				o.Compression = &clickhouse.Compression{Method: c, Level: 3}
			})
			table := "types_" + c.String()
			exec(t, conn, "CREATE TABLE "+table+" "+everyType+" ENGINE = MergeTree ORDER BY version")
			want := rows(5000)
			if err := insert(t.Context(), t, conn, table, want); err != nil {
				t.Fatal(err)
			}
			var got []row
			if err := conn.Select(t.Context(), &got, "SELECT * FROM "+table+" ORDER BY version"); err != nil {
				t.Fatal(err)
			}
			if len(got) != len(want) {
				t.Fatalf("%d rows of %d", len(got), len(want))
			}
			for i := range want {
				if len(want[i].Modes) == 0 {
					want[i].Modes = []string{}
				}
				if !want[i].Money.Equal(got[i].Money) || want[i].Big.Cmp(got[i].Big) != 0 {
					t.Fatalf("row %d: %v %v", i, got[i].Money, got[i].Big)
				}
				got[i].Money, got[i].Big = want[i].Money, want[i].Big
				if fmt.Sprint(want[i].V4) == fmt.Sprint(got[i].V4) {
					got[i].V4 = want[i].V4
				}
				want[i].Pair, got[i].Pair = []any{fmt.Sprint(want[i].Pair)}, []any{fmt.Sprint(got[i].Pair)}
				a, b := deref(want[i]), deref(got[i])
				if !reflect.DeepEqual(a, b) {
					t.Fatalf("row %d:\n got %+v\nwant %+v", i, b, a)
				}
			}
		})
	}
}

// deref makes rows comparable: times by instant, pointers by what they point to.
func deref(r row) map[string]any {
	out := map[string]any{}
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Pointer && !f.IsNil() && v.Type().Field(i).Name != "Big" {
			f = f.Elem()
		}
		value := f.Interface()
		if at, ok := value.(time.Time); ok {
			value = at.UTC().Format(time.RFC3339Nano)
		}
		out[v.Type().Field(i).Name] = value
	}
	return out
}

func TestModernTypesReadAsFromAServer(t *testing.T) {
	conn := open(t)
	for _, c := range []struct{ expr, want string }{
		{`'{"a":{"b":1},"c":"x"}'::JSON`, `{"a":{"b":1},"c":"x"}`},
		{`1::Variant(UInt8, String)`, "1"},
		{`'x'::Dynamic`, "x"},
		{`[(1, 'a'), (2, 'b')]::Nested(n UInt8, s String)`, ""},
		{`NULL`, ""},
	} {
		t.Run(c.expr, func(t *testing.T) {
			var got any
			r, err := conn.Query(t.Context(), "SELECT "+c.expr+" AS v FROM numbers(3)")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			n := 0
			for r.Next() {
				got = reflect.New(r.ColumnTypes()[0].ScanType()).Interface()
				if err := r.Scan(got); err != nil {
					t.Fatal(err)
				}
				n++
			}
			if n != 3 || r.Err() != nil {
				t.Fatalf("%d rows, %v", n, r.Err())
			}
		})
	}
	var text string
	if err := conn.QueryRow(t.Context(), `SELECT toString('{"a":1}'::JSON)`).Scan(&text); err != nil || text != `{"a":1}` {
		t.Fatal(text, err)
	}
}

func TestAnEmptyResultHasItsColumns(t *testing.T) {
	conn := open(t)
	for _, query := range []string{"SELECT 1::UInt8 AS a, [@p] AS `b c` WHERE 0", "WITH 1 AS a SELECT a, 2 AS `b c` FROM numbers(10) LIMIT 0 SETTINGS max_threads = 1 -- end"} {
		r, err := conn.Query(t.Context(), query, clickhouse.Named("p", "x"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Next() || r.Err() != nil || !reflect.DeepEqual(r.Columns(), []string{"a", "b c"}) {
			t.Errorf("%s: %v, %v", query, r.Columns(), r.Err())
		}
		r.Close()
	}
	var n uint8
	if err := conn.QueryRow(t.Context(), "SELECT 1::UInt8 WHERE 0").Scan(&n); !errors.Is(err, sql.ErrNoRows) {
		t.Error(err)
	}
}

func TestParameters(t *testing.T) {
	conn := open(t)
	nasty := "it's a \\ \"quoted\"\tline\nnext; DROP TABLE x --"
	var got string
	var n uint64
	for _, q := range []struct {
		query string
		args  []any
	}{
		{"SELECT {s:String}, {n:UInt64}", []any{clickhouse.Named("s", nasty), clickhouse.Named("n", 42)}},
		{"SELECT @s, toUInt64(@n)", []any{clickhouse.Named("s", nasty), clickhouse.Named("n", 42)}},
		{"SELECT ?, toUInt64(?)", []any{nasty, 42}},
		{"SELECT $1, toUInt64($2)", []any{nasty, 42}},
	} {
		if err := conn.QueryRow(t.Context(), q.query, q.args...).Scan(&got, &n); err != nil || n != 42 {
			t.Errorf("%s: %v", q.query, err)
		} else if got != nasty && !strings.Contains(q.query, "{s") {
			t.Errorf("%s: %q", q.query, got)
		}
	}
	ctx := clickhouse.Context(t.Context(), clickhouse.WithParameters(clickhouse.Parameters{"s": "plain", "t": "numbers"}))
	if err := conn.QueryRow(ctx, "SELECT {s:String}, toUInt64(7)").Scan(&got, &n); err != nil || got != "plain" {
		t.Errorf("%q %v", got, err)
	}
}

func TestErrorsAreExceptions(t *testing.T) {
	conn := open(t)
	for _, c := range []struct {
		query string
		code  int32
	}{
		{"SELECT * FROM nosuch", 60}, {"SELECT nosuch", 47}, {"SELEKT 1", 62}, {"SELECT * FROM nosuch.t", 81},
		{"SELECT throwIf(1)", 395}, {"SELECT * FROM file('/etc/passwd')", 497}, {"CREATE TABLE f (a Int8) ENGINE = File(CSV, '/tmp/f')", 497},
		{"SELECT * FROM executable('id', 'CSV', 'a String')", 1}, {"SELECT * FROM url('http://127.0.0.1/', 'CSV', 'a String')", 497},
		{"CREATE DICTIONARY d (a UInt64) PRIMARY KEY a SOURCE(EXECUTABLE(command 'id' format 'CSV')) LAYOUT(FLAT()) LIFETIME(0)", 497},
		{"SELECT * FROM remote('127.0.0.1', system.one)", 497}, {"SELECT * FROM sqlite('/tmp/x', 't')", 497},
		{"CREATE DATABASE f ENGINE = SQLite('/tmp/x')", 497},
		{"BACKUP DATABASE default TO File('/tmp/f')", 497}, {"SELECT * FROM `/etc/passwd`", 497},
		{"SELECT 1; SELECT 2", 62},
	} {
		err := conn.Exec(t.Context(), c.query)
		var e *clickhouse.Exception
		if !errors.As(err, &e) || e.Code != c.code {
			t.Errorf("%s: %v, want code %d", c.query, err, c.code)
		}
	}
	// Late: the result has begun, its status was sent.
	r, err := conn.Query(t.Context(), "SELECT throwIf(number = 3000000) FROM numbers(4000000)")
	if err == nil {
		for r.Next() {
		}
		err = r.Err()
	}
	var e *clickhouse.Exception
	if !errors.As(err, &e) || e.Code != 395 {
		t.Errorf("late exception: %v", err)
	}
	if err := conn.Exec(clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"nosuch": 1})), "SELECT 1"); !errors.As(err, &e) || e.Code != 115 {
		t.Errorf("unknown setting: %v", err)
	}
}

func TestSettingsHoldForOneQueryOnly(t *testing.T) {
	conn := open(t)
	var n string
	ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"max_block_size": 777, "log_comment": "mine"}))
	if err := conn.QueryRow(ctx, "SELECT toString(getSetting('max_block_size'))").Scan(&n); err != nil || n != "777" {
		t.Fatal(n, err)
	}
	if err := conn.QueryRow(ctx, "SELECT getSetting('log_comment')").Scan(&n); err != nil || n != "mine" {
		t.Fatal(n, err)
	}
	if err := conn.QueryRow(t.Context(), "SELECT toString(getSetting('max_block_size'))").Scan(&n); err != nil || n == "777" {
		t.Fatal(n, err)
	}
}

func TestCancelledAndLateQueriesStop(t *testing.T) {
	conn := open(t)
	for name, query := range map[string]string{
		"aggregation": "SELECT count() FROM numbers(1e15) WHERE sipHash64(number) = 1",
		"stream":      "SELECT number FROM numbers(1e15) WHERE number % 1000000 = 0",
		"json":        "SELECT sum(sipHash64(number)) FROM numbers(1e15) FORMAT JSON",
		"commented":   "SELECT count() FROM numbers(1e15) WHERE sipHash64(number) = 1 SETTINGS log_comment = 'mine'",
		"insert":      "INSERT INTO FUNCTION null('n UInt64') SELECT sipHash64(number) FROM numbers(1e15)",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			began := time.Now()
			r, err := conn.Query(ctx, query)
			if err == nil {
				for r.Next() {
				}
				err = r.Err()
				r.Close()
			}
			if err == nil || time.Since(began) > 20*time.Second {
				t.Fatalf("%v after %v", err, time.Since(began))
			}
			awaitRunning(t, conn, "%1e15%", false)
		})
	}
}

func TestBigResultsAreStreamedInBoundedMemory(t *testing.T) {
	conn := open(t)
	before := residentBytes(t)
	r, err := conn.Query(t.Context(), "SELECT number, toString(number) FROM numbers(5000000)")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var n, count, most uint64
	var s string
	for r.Next() {
		if err := r.Scan(&n, &s); err != nil {
			t.Fatal(err)
		}
		if count++; count%500000 == 0 {
			most = max(most, residentBytes(t))
		}
	}
	if r.Err() != nil || count != 5000000 || s != "4999999" {
		t.Fatal(count, s, r.Err())
	}
	if grown := int64(most) - int64(before); grown > 200<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
}

func residentBytes(t *testing.T) uint64 {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, _ := strconv.ParseUint(strings.Fields(string(raw))[1], 10, 64)
	return pages * uint64(os.Getpagesize())
}

func TestParallelQueries(t *testing.T) {
	conn := open(t)
	exec(t, conn, "CREATE TABLE parallel (worker UInt32, n UInt64) ENGINE = MergeTree ORDER BY (worker, n)")
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 20 {
				if err := conn.Exec(t.Context(), fmt.Sprintf("INSERT INTO parallel SELECT %d, number FROM numbers(%d, 10)", w, i*10)); err != nil {
					t.Error(err)
				}
				var n uint64
				if err := conn.QueryRow(t.Context(), "SELECT count() FROM parallel WHERE worker = ?", w).Scan(&n); err != nil || n != uint64(i+1)*10 {
					t.Error(w, i, n, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestInsertDeduplicationToken(t *testing.T) {
	conn := open(t)
	exec(t, conn, "CREATE TABLE dedup "+everyType+" ENGINE = MergeTree ORDER BY version SETTINGS non_replicated_deduplication_window = 100")
	for _, token := range []string{"a", "a", "b"} {
		ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"insert_deduplication_token": token, "async_insert": 0, "fsync_after_insert": 1}))
		err := insert(ctx, t, conn, "dedup", rows(10))
		if err != nil && !strings.Contains(err.Error(), "fsync_after_insert") {
			t.Fatal(err)
		}
		if err != nil { // a setting of tables, not of queries
			ctx = clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"insert_deduplication_token": token, "async_insert": 0}))
			if err := insert(ctx, t, conn, "dedup", rows(10)); err != nil {
				t.Fatal(err)
			}
		}
	}
	var n uint64
	if err := conn.QueryRow(t.Context(), "SELECT count() FROM dedup").Scan(&n); err != nil || n != 20 {
		t.Fatalf("%d rows, want 20 (%v)", n, err)
	}
}

func TestDatabaseSQL(t *testing.T) {
	db := clickhouse.OpenDB(&clickhouse.Options{Addr: []string{address}, Protocol: clickhouse.HTTP, Auth: clickhouse.Auth{Database: "system", Username: "default"}})
	defer db.Close()
	if err := db.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	var name sql.NullString
	if err := db.QueryRowContext(t.Context(), "SELECT currentDatabase()").Scan(&name); err != nil || name.String != "system" {
		t.Fatal(name, err)
	}
}

func TestWrongLoginIsRefused(t *testing.T) {
	conn := open(t, func(o *clickhouse.Options) {
		o.Auth = clickhouse.Auth{Username: embedded.WriterUser, Password: "wrong"}
	})
	var e *clickhouse.Exception
	if err := conn.Ping(t.Context()); !errors.As(err, &e) || e.Code != 516 {
		t.Fatal(err)
	}
}
