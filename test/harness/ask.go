package harness

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// ExpectReady waits until /readyz answers 200.
func (p *Tracker) ExpectReady(t testing.TB) {
	t.Helper()
	Eventually(t, "ready", func() error {
		if status, body, err := p.Get("/readyz?verbose"); err != nil || status != 200 {
			return fmt.Errorf("%d %s %w", status, body, err)
		}
		return nil
	})
}

// Get asks the tracker's HTTP server for a path.
func (p *Tracker) Get(path string) (status int, body string, err error) {
	r, err := http.Get("http://" + p.Web + path)
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return r.StatusCode, string(b), err
}

// Metrics scrapes the tracker and returns the values by series, as the text format writes them.
func (p *Tracker) Metrics(t testing.TB) map[string]string {
	t.Helper()
	_, body, err := p.Get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]string{}
	for line := range strings.Lines(body) {
		if i := strings.LastIndexByte(strings.TrimSpace(line), ' '); i > 0 && line[0] != '#' {
			series[line[:i]] = strings.TrimSpace(line[i:])
		}
	}
	return series
}

// Query asks the catalog over plain HTTP, as curl would, with FINAL. It returns the rows as text with tabs between
// the columns.
func (p *Tracker) Query(sql string) ([]string, error) {
	server, err := url.Parse(p.Catalog)
	if err != nil {
		return nil, err
	}
	r, err := http.Post("http://"+server.Host+"/?final=1&database="+path.Base(server.Path), "text/plain", strings.NewReader(sql))
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if r.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", r.Status, b)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n"), nil
}

// ExpectRows waits until a query returns the wanted rows.
func (p *Tracker) ExpectRows(t testing.TB, sql string, want ...string) {
	t.Helper()
	Eventually(t, sql, func() error {
		got, err := p.Query(sql)
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("\n got %q\nwant %q", got, want)
		}
		return err
	})
}

// Report runs a report and returns its rows.
func (p *Tracker) Report(t testing.TB, args ...string) []map[string]any {
	t.Helper()
	out, err := exec.Command(Program(t, "kubevoltracker"),
		append(append([]string{"report"}, args...), "-o", "json", "--catalog.url="+p.Catalog)...).Output()
	if err != nil {
		t.Fatalf("report %v: %v", args, err)
	}
	var rows []map[string]any
	if err := json.Unmarshal(out, &rows); err != nil {
		t.Fatalf("report %v: %v in %s", args, err, out)
	}
	return rows
}
