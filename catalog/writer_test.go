package catalog

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// filled returns facts with one row per table, in which every field has a value
// of its own.
func filled() *inventory.Facts {
	facts := &inventory.Facts{}
	n := 0
	all := reflect.ValueOf(facts).Elem()
	for i := range all.NumField() {
		list := all.Field(i)
		row := reflect.New(list.Type().Elem()).Elem()
		for j := range row.NumField() {
			if !row.Type().Field(j).IsExported() {
				continue
			}
			n++
			fill(row.Field(j), row.Type().Field(j).Name, n)
		}
		list.Set(reflect.Append(list, row))
	}
	return facts
}

func fill(field reflect.Value, name string, n int) {
	switch field.Interface().(type) {
	case inventory.Time:
		field.SetInt(time.Date(2026, 1, 2, 3, 4, n, n*1000, time.UTC).UnixMicro())
		return
	case map[string]string:
		field.Set(reflect.ValueOf(map[string]string{name: "värde", "a": fmt.Sprint(n), "": ""}))
		return
	case []string:
		field.Set(reflect.ValueOf([]string{name, "b"}))
		return
	}
	switch field.Kind() {
	case reflect.String:
		field.SetString(fmt.Sprintf("%s-%d\t'\\", name, n))
	case reflect.Bool:
		field.SetBool(true)
	case reflect.Int32, reflect.Int64:
		field.SetInt(int64(n))
	case reflect.Uint64:
		field.SetUint(uint64(n))
	}
}

// columnOf is the column of a field by the rule of DESIGN.md: snake_case.
func columnOf(field string) string {
	words := regexp.MustCompile(`([a-z0-9])([A-Z])`).ReplaceAllString(field, "${1}_$2")
	return strings.ToLower(words)
}

func TestEveryFieldOfEveryRowIsReadBackAsWritten(t *testing.T) {
	t.Run("plain", func(t *testing.T) { roundTrip(t, openAt(t, sharedAddress, "round_trip_plain")) })
	t.Run("compressed", func(t *testing.T) { // as with any server that is not on loopback
		c := openAt(t, sharedAddress, "round_trip_compressed")
		c.options.Compression = &clickhouse.Compression{Method: clickhouse.CompressionLZ4}
		c.conn.Close()
		var err error
		if c.conn, err = clickhouse.Open(&c.options); err != nil {
			t.Fatal(err)
		}
		roundTrip(t, c)
	})
}

func roundTrip(t *testing.T, c *Catalog) {
	facts := filled()
	write(t, c, "east", facts)
	all := reflect.ValueOf(facts).Elem()
	for i := range all.NumField() {
		name := columnOf(all.Type().Field(i).Name)
		table, err := c.Query(t.Context(), "SELECT * FROM "+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !table.Next() {
			t.Fatalf("%s is empty: %v", name, table.Err())
		}
		got := map[string]any{}
		for i, column := range table.Columns {
			got[column.Name] = table.Row()[i]
		}
		if table.Next() {
			t.Errorf("%s has a second row", name)
		}
		table.Close()
		want := map[string]any{"cluster": "east"}
		row := all.Field(i).Index(0)
		for j := range row.NumField() {
			field := row.Type().Field(j).Name
			if field == "Found" || field == "of" {
				break // from here on it is not for the catalog
			}
			want[columnOf(field)] = wanted(row.Field(j))
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got\n%v\nwant\n%v", name, got, want)
		}
	}
}

func wanted(v reflect.Value) any {
	if at, ok := v.Interface().(inventory.Time); ok {
		return at.Time()
	}
	if v.Kind() == reflect.String {
		return v.String()
	}
	return v.Interface()
}

func TestAbsentTimesAreNULL(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", &inventory.Facts{
		Mounts:  []inventory.Mount{{PodUID: "p", StartedAt: 1_000_001}},
		Volumes: []inventory.Volume{{UID: "v"}},
	})
	got := rows(t, c, "SELECT started_at, ended_at, ended_not_before, deleted_at, labels, access_modes FROM mounts, volumes")
	want := [][]any{{time.Unix(1, 1000).UTC(), nil, nil, nil, map[string]string{}, []string{}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v", got)
	}
}

func TestWritingTheSameAgainChangesNothing(t *testing.T) {
	c := migrated(t)
	for range 3 {
		write(t, c, "east", filled())
	}
	newer := filled()
	newer.Volumes[0].Version++
	newer.Volumes[0].Phase = "Released"
	older := filled()
	older.Volumes[0].Version--
	older.Volumes[0].Phase = "Bound"
	write(t, c, "east", newer)
	write(t, c, "east", older)
	for _, table := range tables() {
		if got := rows(t, c, "SELECT count() FROM "+table.name); got[0][0] != uint64(1) {
			t.Errorf("%s has %v rows", table.name, got[0][0])
		}
	}
	if got := rows(t, c, "SELECT phase FROM volumes"); got[0][0] != "Released" {
		t.Errorf("phase %v", got)
	}
}

func TestABlockThatIsSentTwiceIsStoredOnce(t *testing.T) {
	c := migrated(t)
	facts := filled()
	for range 2 { // as after an answer that was lost
		if err := c.insert(t.Context(), mounts(), "east", "token", facts); err != nil {
			t.Fatal(err)
		}
	}
	var n uint64
	if err := c.conn.QueryRow(t.Context(), "SELECT count() FROM mounts").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d rows without FINAL, %v", n, err)
	}
}

// numbered makes n rows that differ in their UID.
func numbered(from, n int) *inventory.Facts {
	facts := &inventory.Facts{}
	for i := range n {
		facts.Changes = append(facts.Changes, inventory.Change{At: 1, UID: fmt.Sprint(from + i)})
	}
	return facts
}

func TestAnOutageCostsNoRow(t *testing.T) {
	e := &engine{dir: t.TempDir()}
	if err := e.start(); err != nil {
		t.Fatal(err)
	}
	defer func() { e.kill() }()
	c := openAt(t, e.address, "kubevoltracker")
	reg := prometheus.NewRegistry()
	w := NewWriter(c, WriterOptions{
		Cluster: "east", BatchRows: 100, BatchAge: 20 * time.Millisecond,
		MaxBackoff: 300 * time.Millisecond, Grace: 20 * time.Second, Registerer: reg, Logger: log.NewLogfmtLogger(t.Output()),
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()

	until(t, "migrated and up", func() bool { return w.Settled() && w.Migrated() && w.Up() })
	w.Record(numbered(0, 250))
	until(t, "250 rows written", func() bool { return written(w) == 250 })

	e.kill()
	w.Record(numbered(250, 1000))
	until(t, "known to be down", func() bool { return !w.Up() })
	if held, since := w.queue.rows(); held != 1000 || since.IsZero() {
		t.Errorf("%d rows wait since %s", held, since)
	}
	if err := e.start(); err != nil {
		t.Fatal(err)
	}
	until(t, "1250 rows written", func() bool { return written(w) == 1250 })
	w.Record(numbered(1250, 50))
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := rows(t, c, "SELECT count(), uniqExact(uid) FROM changes"); !reflect.DeepEqual(got, [][]any{{uint64(1300), uint64(1300)}}) {
		t.Errorf("rows, distinct: %v", got)
	}
	var stored uint64
	if err := c.conn.QueryRow(t.Context(), "SELECT count() FROM changes").Scan(&stored); err != nil || stored != 1300 {
		t.Errorf("%d rows without FINAL, %v", stored, err)
	}
	problems, err := testutil.GatherAndLint(reg)
	if err != nil || len(problems) > 0 {
		t.Errorf("metrics: %v, %v", problems, err)
	}
	if n, err := testutil.GatherAndCount(reg, "kubevoltracker_catalog_rows_written_total"); err != nil || n != len(tables()) {
		t.Errorf("%d series of rows_written_total, %v", n, err)
	}
}

func written(w *Writer) float64 { return testutil.ToFloat64(w.metrics.rows.WithLabelValues("changes")) }

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not %s within 30 s", what)
		}
	}
}

func TestADroppedDatabaseIsMadeAgain(t *testing.T) {
	c := openCatalog(t)
	w := NewWriter(c, WriterOptions{Cluster: "east", BatchAge: time.Millisecond, Logger: log.NewLogfmtLogger(t.Output())})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	until(t, "up", w.Up)
	rows(t, openAt(t, sharedAddress, "default"), "DROP DATABASE "+c.Database()+" SYNC")
	w.Record(numbered(0, 1))
	until(t, "row written", func() bool { return written(w) == 1 })
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestRunSaysHowManyRowsAreLost(t *testing.T) {
	c := openAt(t, "127.0.0.1:1", "x")
	w := NewWriter(c, WriterOptions{Cluster: "east", Grace: 50 * time.Millisecond})
	w.Record(numbered(0, 3))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	want := "catalog: 3 rows could not be written to ClickHouse at 127.0.0.1:1 before the end, and are lost"
	if err := w.Run(ctx); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	w.Record(numbered(3, 1)) // and nobody hangs
}

// BenchmarkWriter tells how fast rows get into the embedded engine.
func BenchmarkWriter(b *testing.B) {
	c, err := Open(Options{URL: "http://" + sharedAddress + "/benchmark_writer"})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	facts := &inventory.Facts{}
	for i := range 50_000 {
		facts.Mounts = append(facts.Mounts, inventory.Mount{
			Version: 1, Namespace: "shop", PodUID: fmt.Sprintf("00000000-0000-0000-0000-%012d", i), Container: "main",
			Volume: "data", MountPath: "/data", ClaimUID: fmt.Sprintf("00000000-0000-0000-0001-%012d", i), StartedAt: inventory.Time(i + 1),
		})
	}
	w := NewWriter(c, WriterOptions{Cluster: "east", Grace: time.Hour, Logger: log.NewLogfmtLogger(b.Output())})
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	start := time.Now()
	for b.Loop() {
		w.Record(facts)
	}
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N*50_000)/time.Since(start).Seconds(), "rows/s")
}
