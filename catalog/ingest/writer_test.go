package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// filled returns facts with one row per table, in which every field has a value
// of its own.
func filled() *fact.Facts {
	facts := &fact.Facts{}
	n := 0
	all := reflect.ValueOf(facts).Elem()
	for i := range all.NumField() {
		list := all.Field(i)
		row := reflect.New(list.Type().Elem()).Elem()
		for _, field := range reflect.VisibleFields(row.Type()) {
			if field.Tag.Get("cbor") == "-" || field.Anonymous {
				continue
			}
			n++
			fill(row.FieldByIndex(field.Index), field.Name, n)
		}
		list.Set(reflect.Append(list, row))
	}
	return facts
}

func fill(field reflect.Value, name string, n int) {
	switch field.Interface().(type) {
	case fact.Time:
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
	case reflect.Uint16, reflect.Uint64:
		field.SetUint(uint64(n))
	}
}

// columnOf is the column of a field: its name in snake_case.
func columnOf(field string) string {
	words := regexp.MustCompile(`([a-z0-9])([A-Z])`).ReplaceAllString(field, "${1}_$2")
	return strings.ToLower(words)
}

func TestEveryFieldOfEveryRowIsReadBackAsWritten(t *testing.T) {
	t.Run("plain", func(t *testing.T) { roundTrip(t, catalogtest.Open(t, sharedAddress, "round_trip_plain")) })
	t.Run("compressed", func(t *testing.T) {
		_, port, err := net.SplitHostPort(sharedAddress)
		if err != nil {
			t.Fatal(err)
		}
		// This address reaches the engine, too, and is no loopback address, for which compression is left out.
		roundTrip(t, catalogtest.Open(t, net.JoinHostPort("0.0.0.0", port), "round_trip_compressed"))
	})
}

func roundTrip(t *testing.T, c *catalog.Catalog) {
	facts := filled()
	facts.StorageCapacity[0].Gone = false // there is an amount
	write(t, c, "east", facts)
	all := reflect.ValueOf(facts).Elem()
	for i := range all.NumField() {
		name := columnOf(all.Type().Field(i).Name)
		result, err := c.Query(t.Context(), "SELECT * FROM "+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !result.Next() {
			t.Fatalf("%s is empty: %v", name, result.Err())
		}
		got := map[string]any{}
		for i, column := range result.Columns {
			if strings.HasSuffix(column.Name, "_uncertainty") {
				continue // the field is that of *_not_before, which ClickHouse computes from it
			}
			got[column.Name] = result.Row()[i]
		}
		if result.Next() {
			t.Errorf("%s has a second row", name)
		}
		result.Close()
		want := map[string]any{"cluster": "east"}
		row := all.Field(i).Index(0)
		for _, field := range reflect.VisibleFields(row.Type()) {
			if slices.Contains([]string{"Found", "Wire", "Unprompted", "Gone"}, field.Name) || field.Tag.Get("cbor") == "-" {
				break // from here on it is not for the catalog
			}
			if !field.Anonymous {
				want[columnOf(field.Name)] = wanted(row.FieldByIndex(field.Index))
			}
		}
		if groups, ok := want["groups"].(string); ok {
			want["groups"] = (&fact.Mount{Groups: groups}).GroupList()
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got\n%v\nwant\n%v", name, got, want)
		}
	}
}

func wanted(v reflect.Value) any {
	if at, ok := v.Interface().(fact.Time); ok {
		return at.Time()
	}
	if v.Kind() == reflect.String {
		return v.String()
	}
	return v.Interface()
}

func TestAbsentValuesAreNULL(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", &fact.Facts{
		Mounts:          []fact.Mount{{PodUID: "p", StartedAt: 1_000_001}},
		Volumes:         []fact.Volume{{UID: "v"}},
		StorageCapacity: []fact.StorageCapacity{{UID: "full"}, {UID: "gone", Gone: true}},
	})
	if got, want := rows(t, c, "SELECT uid, capacity_bytes FROM storage_capacity ORDER BY uid"), [][]any{{"full", int64(0)}, {"gone", nil}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v", got)
	}
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

func TestABlockThatIsSentTwiceCountsOnce(t *testing.T) {
	c := migrated(t)
	names := []string{"catalog_rejects"}
	for _, table := range tables() {
		names = append(names, table.name)
		for range 2 { // as after an answer that was lost
			if err := insertRows(t.Context(), c, table, "east", filled(), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 2 {
		if err := insertReject(t.Context(), c, "east", time.Now(), "mounts", "{}", errors.New("refused")); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		if got := rows(t, c, "SELECT count() FROM "+name); got[0][0] != uint64(1) {
			t.Errorf("%s has %v rows", name, got[0][0])
		}
	}
}

// A server that is killed may have noted a block for deduplication, and not have its rows.
func TestABlockThatIsSentAgainIsNeverDroppedAsKnown(t *testing.T) {
	c := migrated(t)
	rows(t, c, "ALTER TABLE mounts MODIFY SETTING non_replicated_deduplication_window = 1000") // as in catalogs of earlier versions
	for range 2 {
		if err := insertRows(t.Context(), c, mounts(), "east", filled(), nil); err != nil {
			t.Fatal(err)
		}
		if got := rows(t, c, "SELECT count() FROM mounts"); got[0][0] != uint64(1) {
			t.Fatalf("%v rows", got[0][0])
		}
		rows(t, c, "ALTER TABLE mounts DELETE WHERE 1 SETTINGS mutations_sync = 2") // the note stays
	}
}

// TestABlockThatClickHouseLacksTheMemoryForIsHalved has a view that fails, as memory does, for blocks of more than ten rows.
func TestABlockThatClickHouseLacksTheMemoryForIsHalved(t *testing.T) {
	c := migrated(t)
	rows(t, c, "CREATE TABLE seen (n UInt64) ENGINE = Log")
	rows(t, c, `CREATE MATERIALIZED VIEW little_memory TO seen AS SELECT count() AS n FROM changes
		HAVING throwIf(n > 10, 'no memory', toInt32(241)) = 0 SETTINGS allow_custom_error_code_in_throwif = 1`)
	j := newJournal(t)
	record(t, j, numbered(0, 30))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w := NewWriter(c, WriterOptions{Journal: j, Cluster: "east", Grace: time.Minute, maxBackoff: 10 * time.Millisecond, Logger: log.NewLogfmtLogger(t.Output())})
	if err := w.Run(ended); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(rows(t, c, "SELECT (SELECT count() FROM changes), (SELECT count() FROM catalog_rejects), (SELECT arraySort(groupArray(n)) FROM seen)")); got != "[[30 0 [7 7 8 8]]]" {
		t.Errorf("changes, rejects, rows of each block: %v", got)
	}
	if n := testutil.ToFloat64(w.metrics.failures); n != 9 {
		t.Errorf("%v failures, want 3 of each of 3 blocks", n)
	}
}

// numbered makes n rows that differ in their UID.
func numbered(from, n int) *fact.Facts {
	facts := &fact.Facts{}
	for i := range n {
		facts.Changes = append(facts.Changes, fact.Change{At: 1, UID: fmt.Sprint(from + i)})
	}
	return facts
}

func TestAnOutageCostsNoRow(t *testing.T) {
	e := &catalogtest.Engine{Dir: t.TempDir()}
	if err := e.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { e.Kill() }()
	c := catalogtest.Open(t, e.Address, "kubevoltracker")
	reg := prometheus.NewRegistry()
	j := newJournal(t)
	w := NewWriter(c, WriterOptions{
		Journal: j, Cluster: "east", maxBackoff: 300 * time.Millisecond, Grace: 20 * time.Second, Registerer: reg, Logger: log.NewLogfmtLogger(t.Output()),
	})
	stop := running(t, w)

	until(t, "migrated and up", func() bool { return w.Ready() && w.migrated.Load() && w.Up() })
	for i := range 5 {
		record(t, j, numbered(50*i, 50))
	}
	until(t, "250 rows written", func() bool { return written(w) == 250 })

	e.Kill()
	for i := range 10 {
		record(t, j, numbered(250+100*i, 100))
	}
	until(t, "known to be down", func() bool { return !w.Up() })
	if stats := j.Stats(); stats.Rows != 1000 || stats.Oldest.IsZero() {
		t.Errorf("%d rows wait since %s", stats.Rows, stats.Oldest)
	}
	if err := e.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "1250 rows written", func() bool { return written(w) == 1250 })
	record(t, j, numbered(1250, 50))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, c, "SELECT count(), uniqExact(uid) FROM changes"); !reflect.DeepEqual(got, [][]any{{uint64(1300), uint64(1300)}}) {
		t.Errorf("rows, distinct: %v", got)
	}
	if stored := rows(t, c, "SELECT count() FROM changes SETTINGS final = 0"); stored[0][0] != uint64(1300) {
		t.Errorf("%v rows without FINAL", stored)
	}
	checkWriterMetrics(t, reg)
}

// checkWriterMetrics checks that a writer's metrics pass the linter, and count the rows of each table.
func checkWriterMetrics(t *testing.T, reg *prometheus.Registry) {
	t.Helper()
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
	for deadline := time.Now().Add(50 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not %s within 50 s", what)
		}
	}
}

// running runs a writer. Stop ends it, and returns Run's result.
func running(t *testing.T, w *Writer) (stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	return func() error { cancel(); return <-done }
}

func TestADroppedDatabaseIsMadeAgain(t *testing.T) {
	c := openCatalog(t)
	j := newJournal(t)
	w := NewWriter(c, WriterOptions{Journal: j, Cluster: "east", Logger: log.NewLogfmtLogger(t.Output())})
	stop := running(t, w)
	until(t, "up", w.Up)
	rows(t, catalogtest.Open(t, sharedAddress, "default"), "DROP DATABASE "+c.Database()+" SYNC")
	record(t, j, numbered(0, 1))
	until(t, "row written", func() bool { return written(w) == 1 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatCannotBeWrittenWaitsForTheNextStart(t *testing.T) {
	j := newJournal(t)
	record(t, j, numbered(0, 3))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w := NewWriter(catalogtest.Open(t, "127.0.0.1:1", "x"), WriterOptions{Journal: j, Cluster: "east", Grace: 50 * time.Millisecond})
	if err := w.Run(ended); err != nil {
		t.Fatal(err)
	}
	if rows := j.Stats().Rows; rows != 3 {
		t.Errorf("%d rows wait", rows)
	}
	c := migrated(t)
	w = NewWriter(c, WriterOptions{Journal: j, Cluster: "east", Grace: 10 * time.Second})
	if err := w.Run(ended); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, c, "SELECT count() FROM changes"); got[0][0] != uint64(3) || j.Stats().Rows != 0 {
		t.Errorf("%v rows, %d still wait", got, j.Stats().Rows)
	}
}

func TestARowThatIsRefusedDoesNotBlockTheOthers(t *testing.T) {
	c := migrated(t)
	rows(t, c, "ALTER TABLE changes ADD CONSTRAINT not_poison CHECK uid != '13' AND uid != '77'")
	facts := numbered(0, 100)
	facts.Mounts = []fact.Mount{{PodUID: "p", StartedAt: 1}}
	j := newJournal(t)
	record(t, j, facts)
	record(t, j, numbered(100, 5))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	reg := prometheus.NewRegistry()
	w := NewWriter(c, WriterOptions{Journal: j, Cluster: "east", Grace: 20 * time.Second, Registerer: reg, Logger: log.NewLogfmtLogger(t.Output())})
	if err := w.Run(ended); err != nil {
		t.Fatal(err)
	}
	got := rows(t, c, "SELECT (SELECT count() FROM changes), (SELECT count() FROM mounts)")
	if !reflect.DeepEqual(got, [][]any{{uint64(103), uint64(1)}}) {
		t.Errorf("changes, mounts: %v", got)
	}
	got = rows(t, c, "SELECT cluster, table_name, JSONExtractString(row, 'UID'), position(error, 'not_poison') > 0 FROM catalog_rejects ORDER BY 3")
	want := [][]any{{"east", "changes", "13", uint8(1)}, {"east", "changes", "77", uint8(1)}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("set aside:\n got %v\nwant %v", got, want)
	}
	if n := testutil.ToFloat64(w.metrics.rejects.WithLabelValues("changes")); n != 2 || !w.Up() {
		t.Errorf("%v rejects counted; up: %t", n, w.Up())
	}
}

// cutting returns the address of a proxy before ClickHouse that passes on no more than one byte of the first n inserts.
func cutting(t *testing.T, n int64) string {
	t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: sharedAddress})
	var inserts atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Query().Get("query"), "INSERT") && inserts.Add(1) <= n {
			body, err := io.ReadAll(r.Body)
			if err != nil || len(body) < 2 {
				t.Errorf("the insert has %d bytes, %v", len(body), err)
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body[:1])), 1
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// ClickHouse cannot know that a block was cut on its way, and refuses its content.
func TestALoneRowThatWasCutOnItsWayIsSentAgain(t *testing.T) {
	c := migrated(t)
	proxied := catalogtest.Open(t, cutting(t, 2), c.Database())
	if err := insertRows(t.Context(), proxied, changes(), "east", numbered(0, 1), nil); !refusesRows(err) {
		t.Fatalf("a block that was cut: %v", err)
	}
	write(t, proxied, "east", numbered(0, 1))
	if got := fmt.Sprint(rows(t, c, "SELECT (SELECT count() FROM changes), (SELECT count() FROM catalog_rejects)")); got != "[[1 0]]" {
		t.Errorf("changes, rejects: %s", got)
	}
}

// documented is a Document whose JSON names what it is made of.
func documented(kind fact.Kind, wire []byte) (string, error) {
	if string(wire) == "broken" {
		return "", errors.New("no protobuf")
	}
	return fmt.Sprintf("%s of %s", kind, wire), nil
}

func TestObjectsAreJSONInTheCatalog(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", &fact.Facts{Objects: []fact.Object{{Kind: fact.Pods, UID: "1", Wire: []byte("protobuf")}, {Kind: fact.Pods, UID: "2", Object: "what is JSON already"}}})
	if got := fmt.Sprint(rows(t, c, "SELECT object FROM objects ORDER BY uid")); got != "[[Pod of protobuf] [what is JSON already]]" {
		t.Error(got)
	}
}

func TestAnObjectThatCannotBeReadIsSetAside(t *testing.T) {
	c, facts := migrated(t), numbered(0, 100)
	facts.Objects = []fact.Object{{Kind: fact.Pods, UID: "1", Wire: []byte("broken")}, {Kind: fact.Pods, UID: "2", Wire: []byte("sound")}}
	write(t, c, "east", facts)
	if got := fmt.Sprint(rows(t, c, "SELECT (SELECT count() FROM changes), (SELECT groupArray(uid) FROM objects)")); got != "[[100 [2]]]" {
		t.Error(got)
	}
	got := fmt.Sprint(rows(t, c, "SELECT table_name, JSONExtractString(row, 'UID'), base64Decode(JSONExtractString(row, 'Object')), error FROM catalog_rejects"))
	if got != "[[objects 1 broken no protobuf]]" {
		t.Error(got)
	}
}

// The recorder may be waiting for room on the disk, which only the writer can make.
func TestTheFirstListsAreWrittenIfTheRecorderStalls(t *testing.T) {
	c, j := migrated(t), newJournal(t)
	data, err := encodeFacts(numbered(0, 3), new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Commit(t.Context(), journal.Batch{Facts: data, Rows: 3}); err != nil { // without positions
		t.Fatal(err)
	}
	w := NewWriter(c, WriterOptions{Journal: j, Cluster: "east", Logger: log.NewLogfmtLogger(t.Output())})
	stop := running(t, w)
	until(t, "the rows are written", func() bool { return j.Stats().Rows == 0 })
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// A tracker that stands by makes no JSON of objects that it does not write.
func TestAFollowerMakesNoJSON(t *testing.T) {
	j := newJournal(t)
	record(t, j, &fact.Facts{Objects: []fact.Object{{Kind: fact.Pods, UID: "1", Wire: []byte("protobuf")}}})
	w := NewWriter(catalogtest.Open(t, "127.0.0.1:1", "x"), WriterOptions{Journal: j, Document: func(fact.Kind, []byte) (string, error) {
		t.Error("an object became JSON")
		return "{}", nil
	}})
	if _, err := w.nextNeeds(); err != nil {
		t.Fatal(err)
	}
}

// A tracker may stand by for years, while volumes come and go.
func TestAFollowerForgetsWhatWasMeasuredOfDeletedVolumes(t *testing.T) {
	j := newJournal(t)
	record(t, j, &fact.Facts{Usage: []fact.Usage{{VolumeUID: "gone"}, {VolumeUID: "stays"}}})
	record(t, j, &fact.Facts{Volumes: []fact.Volume{{UID: "gone", DeletedAt: 1}, {UID: "stays"}}})
	w := NewWriter(catalogtest.Open(t, "127.0.0.1:1", "x"), WriterOptions{Journal: j})
	if _, err := w.nextNeeds(); err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(maps.Keys(w.measured)); !slices.Equal(got, []string{"stays"}) {
		t.Errorf("it keeps the measurements of %q", got)
	}
}

// TestPuttingAsideFollowsNoLink has another user make a symbolic link where a batch will be put aside.
func TestPuttingAsideFollowsNoLink(t *testing.T) {
	dir, j := t.TempDir(), newJournal(t)
	victim, entry := filepath.Join(dir, "victim"), journal.Entry{ID: j.ID(), Number: 1, Facts: []byte("rows")}
	if err := os.Symlink(victim, filepath.Join(dir, "journal.batch-"+j.ID()+"-1")); err != nil {
		t.Fatal(err)
	}
	w := NewWriter(nil, WriterOptions{Journal: j, Dir: dir})
	if err := w.putAside(entry, errors.New("unreadable")); err == nil {
		t.Error("it follows the link")
	}
	if _, err := os.Stat(victim); err == nil {
		t.Error("it wrote elsewhere")
	}
}

// TestAFileThatIsNotOnDiskIsNone has a pipe in the place of the file: it takes the bytes, and cannot be synced.
func TestAFileThatIsNotOnDiskIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = os.ReadFile(path) }()
	if err := writeFile(path, []byte("rows")); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("got %v", err)
	}
}

func TestABatchThatCannotBeReadIsPutAside(t *testing.T) {
	c, j, dir := migrated(t), newJournal(t), t.TempDir()
	if err := j.Commit(t.Context(), journal.Batch{Facts: []byte("\xffof the future"), Rows: 7}); err != nil {
		t.Fatal(err)
	}
	record(t, j, numbered(0, 3))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w := NewWriter(c, WriterOptions{Journal: j, Dir: dir, Cluster: "east", Document: documented, Grace: 10 * time.Second, Logger: log.NewLogfmtLogger(t.Output())})
	if err := w.Run(ended); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, c, "SELECT count() FROM changes"); got[0][0] != uint64(3) || j.Stats().Rows != 0 {
		t.Errorf("%v rows, %d still wait", got, j.Stats().Rows)
	}
	files, err := filepath.Glob(filepath.Join(dir, "journal.batch-*-1"))
	if err != nil || len(files) != 1 {
		t.Fatalf("put aside: %v, %v", files, err)
	}
	if text, err := os.ReadFile(files[0]); err != nil || string(text) != "\xffof the future" {
		t.Errorf("%q, %v", text, err)
	}
}
