package embedded_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// A table of a request: so many rows of the same text.
type table struct {
	structure, format, row string
	rows                   int
}

// longRows has so many rows of 1000 bytes.
func longRows(rows int) table {
	return table{"s String", "TSV", strings.Repeat("x", 999) + "\n", rows}
}

// sendTables sends a statement with tables t0, t1, …, compressed, and returns the answer.
func sendTables(ctx context.Context, server, login, statement string, tables ...table) (string, error) {
	params := login + "&query=" + url.QueryEscape(statement)
	var form bytes.Buffer
	z := gzip.NewWriter(&form)
	w := multipart.NewWriter(z)
	for i, of := range tables {
		name := fmt.Sprintf("t%d", i)
		params += "&" + name + "_structure=" + url.QueryEscape(of.structure) + "&" + name + "_format=" + of.format
		part, err := w.CreateFormFile(name, "")
		if err != nil {
			return "", err
		}
		for range of.rows {
			if _, err := io.WriteString(part, of.row); err != nil {
				return "", err
			}
		}
	}
	w.Close()
	z.Close()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server+"/?"+params, &form)
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.Header.Set("Content-Encoding", "gzip")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return string(answer), err
}

// beside sends tables with a statement that sleeps until the test has ended, and returns the answer, or "" once it sleeps.
func beside(t *testing.T, server string, conn clickhouse.Conn, tables ...table) (answer string) {
	t.Helper()
	answered := make(chan string, 1)
	go func() {
		const sleep = "SELECT sum(sleepEachRow(0.1)) FROM numbers(10000) SETTINGS max_block_size = 1"
		if answer, err := sendTables(t.Context(), server, "", sleep, tables...); err == nil {
			answered <- answer
		}
	}()
	for {
		var sleeping bool
		if err := conn.QueryRow(t.Context(), "SELECT count() > 0 FROM system.processes WHERE query LIKE '%sleepEachRow%' AND query NOT LIKE '%processes%'").Scan(&sleeping); err != nil {
			t.Fatal(err)
		}
		select {
		case answer := <-answered:
			return answer
		case <-time.After(10 * time.Millisecond):
			if sleeping {
				return ""
			}
		}
	}
}

// TestTablesOfReadersAreLimited sends tables to an engine that has 1 GiB: those of all readers may take 128 MiB.
func TestTablesOfReadersAreLimited(t *testing.T) {
	const (
		tooMany = "Limit for external tables exceeded"
		tooMuch = "(MEMORY_LIMIT_EXCEEDED)"
		count   = "SELECT sum(total_rows) FROM system.tables WHERE is_temporary"
	)
	var wide []string
	for i := range 1500 {
		wide = append(wide, fmt.Sprintf("c%d FixedString(256)", i))
	}
	// As large as those of the tracker's command line.
	keys := table{"cluster String, namespace String, claim String, kind String, source String, at Int64", "TSV", strings.Join([]string{
		strings.Repeat("c", 36), strings.Repeat("n", 25), strings.Repeat("p", 40), "PersistentVolumeClaim", strings.Repeat("s", 64), "1234567890123",
	}, "\t") + "\n", 200_000}
	_, _, server := child(t, t.TempDir())
	conn := open(t, func(o *clickhouse.Options) { o.Addr = []string{strings.TrimPrefix(server, "http://")} })
	for _, c := range []struct {
		name, login string
		tables      []table
		want        string // in the answer
	}{
		{"a table of keys", "", []table{keys}, "200000\n"},
		{"once more", "", []table{keys}, "200000\n"},
		{"a table that is too large", "", []table{longRows(500_000)}, tooMuch},
		{"a table of nothing in many columns", "", []table{{strings.Join(wide, ","), "JSONEachRow", "{}\n", 1000}}, tooMuch},
		{"tables that are too large together", "", []table{longRows(50_000), longRows(50_000), longRows(50_000)}, tooMany},
		{"a state of an aggregate function", "", []table{{"a AggregateFunction(uniqExact, UInt64)", "RowBinary", "", 0}}, "(ACCESS_DENIED)"},
		{"the writer's", asWriter, []table{longRows(50_000), longRows(50_000), longRows(50_000)}, "150000\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if answer, err := sendTables(t.Context(), server, c.login, count, c.tables...); err != nil || !strings.Contains(answer, c.want) {
				t.Errorf("%.300s, %v; want %s", answer, err, c.want)
			}
		})
	}
	t.Run("beside an insert", func(t *testing.T) {
		answer := beside(t, server, conn, longRows(250_000), longRows(250_000), longRows(250_000))
		if err := conn.Exec(t.Context(), "INSERT INTO FUNCTION null('n Array(UInt64)') SELECT groupArray(number) FROM numbers(20000000)"); err != nil {
			t.Errorf("the writer has no memory: %v", err)
		}
		if !strings.Contains(answer, tooMuch) {
			t.Errorf("it was answered: %.300s", answer)
		}
	})
	t.Run("of two requests", func(t *testing.T) {
		if answer := beside(t, server, conn, longRows(50_000)); answer != "" {
			t.Fatal(answer)
		}
		if answer, err := sendTables(t.Context(), server, "", count, longRows(50_000)); err != nil || !strings.Contains(answer, tooMany) {
			t.Errorf("%.300s, %v", answer, err)
		}
	})
	awaitRunning(t, conn, "%sleepEachRow%", false)
	if answer, err := sendTables(t.Context(), server, "", count, longRows(50_000)); err != nil || answer != "50000\n" {
		t.Errorf("after these requests: %.300s, %v", answer, err)
	}
}
