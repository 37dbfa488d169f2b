package scale

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

const (
	// patience is how long a report may take before it is stopped.
	patience = time.Minute
	// memory is what the engine may take: issue 16 allows 4 GiB.
	memory = "4GiB"
)

// TestHistory fills a catalog, runs the reports on it, and prints how long they took beside what is demanded of them. The
// catalog stays in BENCH_HISTORY_DIR for the next time. With BENCH_HISTORY_BEFORE, the program of an earlier version, it
// does the same with that one's tables and reports. With BENCH_HISTORY_FEW, only the namespaces that the questions on one volume, claim,
// namespace, owner or group read have pods and mounts, and only these questions are asked: a tenth of the fill, for the same answers.
func TestHistory(t *testing.T) {
	mounts, _ := strconv.Atoi(os.Getenv("BENCH_HISTORY_MOUNTS"))
	if mounts == 0 {
		t.Skip("it takes minutes: make bench-history")
	}
	h := &history{mounts: mounts, claims: mounts / 100, began: time.Now().Add(-span).Truncate(24 * time.Hour), few: os.Getenv("BENCH_HISTORY_FEW") != ""}
	after, server := h.measure(t, "after", harness.Program(t, "kubevoltracker"))
	if onlyAsked().MatchString("ingest") {
		empty, filled := ingestRates(t, server)
		after.disk += fmt.Sprintf("ingest, rows a second: %.0f into an empty catalog, %.0f into this one (%.2f)\n", empty, filled, filled/empty)
	}
	all := []*measured{after}
	if before := os.Getenv("BENCH_HISTORY_BEFORE"); before != "" {
		m, _ := h.measure(t, "before", before)
		all = append(all, m)
	}
	t.Logf("\n%s", table(h, all))
}

// measured is what the tables and the reports of one program took.
type measured struct {
	name  string
	bytes float64 // of a mount with its part of the pods and containers
	disk  string
	took  map[string]taken
	asked []question
}

// taken is what a report took.
type taken struct {
	time time.Duration
	peak int // MB of the server's memory
	rows int
	err  string
}

// question is a report with its flags.
type question struct {
	args   []string
	demand time.Duration
}

func (q question) String() string { return strings.Join(q.args, " ") }

// open starts a ClickHouse on the catalog of a program, and fills it, or continues what an earlier run has begun. The catalog stays in
// BENCH_HISTORY_DIR.
func (h *history) open(t *testing.T, name, program string) (*harness.ClickHouse, *catalog.Catalog) {
	t.Helper()
	dir := t.TempDir()
	if kept := os.Getenv("BENCH_HISTORY_DIR"); kept != "" {
		if h.few {
			name = "few-" + name
		}
		dir = filepath.Join(kept, fmt.Sprintf("%s-%gM", name, float64(h.mounts)/1e6)) // no name begins another one
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	server := harness.StartClickHouseIn(t, dir, "--max-memory="+memory)
	url := server.URL("kubevoltracker")
	if out, err := exec.Command(program, "schema", "migrate", "--catalog.url="+url).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c, err := catalog.Open(catalog.Options{URL: url, Password: catalogtest.Password})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	var done *progress
	done, h.began = openProgress(t, dir, h.began)
	if n := catalogtest.Rows(t, c, "SELECT count() FROM mounts")[0][0]; len(done.done) == 1 && fmt.Sprint(n) != "0" {
		t.Fatalf("%s has mounts, but its file %s does not say how much of the history: remove the directory to fill it anew", dir, done.path)
	}
	h.fill(t, c, done)
	return server, c
}

// onlyAsked matches the reports that are to be measured.
func onlyAsked() *regexp.Regexp { return regexp.MustCompile(os.Getenv("BENCH_HISTORY_ONLY")) }

func (h *history) measure(t *testing.T, name, program string) (*measured, *harness.ClickHouse) {
	server, c := h.open(t, name, program)
	url := server.URL("kubevoltracker")
	m := &measured{name: name, took: map[string]taken{}}
	mounts := 1.
	for _, row := range catalogtest.Rows(t, c, `SELECT table, sum(rows), sum(bytes_on_disk), count() FROM system.parts
		WHERE active AND database = currentDatabase() AND rows > 0 GROUP BY table ORDER BY table`) {
		size := row[2].(uint64)
		m.disk += fmt.Sprintf("%s: %v rows, %.0f MB, %v parts\n", row[0], row[1], float64(size)/1e6, row[3])
		if slices.Contains([]string{"mounts", "pods", "containers"}, row[0].(string)) {
			m.bytes += float64(size)
		}
		if row[0] == "mounts" {
			mounts = float64(row[1].(uint64))
		}
	}
	m.bytes /= mounts
	m.asked = questions(t, c, program)
	only := onlyAsked()
	for _, q := range m.asked {
		if only.MatchString(q.String()) && (!h.few || q.demand == ofOne) {
			m.took[q.String()] = ask(t, server, program, url, q)
			t.Logf("%s: %s: %v", name, q, m.took[q.String()])
		}
	}
	return m, server
}

// ask runs a report twice as a person does, who gets a table of 1,000 rows at most, and returns what the second run took.
func ask(t *testing.T, server *harness.ClickHouse, program, url string, q question) (got taken) {
	t.Helper()
	for range 2 {
		clear := fmt.Sprintf("/proc/%d/clear_refs", server.Pid())
		if err := os.WriteFile(clear, []byte("5"), 0); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		cmd := exec.CommandContext(ctx, program, append(append([]string{"report"}, q.args...), "--catalog.url="+url)...)
		var out, trouble bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &trouble
		began := time.Now()
		err := cmd.Run()
		late := ctx.Err() != nil
		cancel()
		got = taken{time: time.Since(began), peak: harness.PeakMB(t, server.Pid()), rows: max(0, strings.Count(out.String(), "\n")-1)}
		if err != nil {
			got.err = strings.TrimSpace(strings.SplitN(trouble.String(), "\n", 2)[0])
			if late {
				got.err = fmt.Sprintf("stopped after %s", patience)
			}
			return got
		}
	}
	return got
}

// table prints the measurements side by side.
func table(h *history, all []*measured) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d mounts, %d pods, %d claims\n", h.mounts, h.pods(), h.claims)
	for _, m := range all {
		fmt.Fprintf(&b, "%s: %.1f bytes a mount with its pod and container\n%s", m.name, m.bytes, m.disk)
	}
	b.WriteString("\n| report | demanded, s |")
	for _, m := range all {
		fmt.Fprintf(&b, " %s, s | peak, MB | rows |", m.name)
	}
	b.WriteString("\n|---|--:|" + strings.Repeat("--:|--:|--:|", len(all)) + "\n")
	missed := 0
	for _, q := range all[0].asked {
		first, ok := all[0].took[q.String()]
		if !ok {
			continue
		}
		if first.time > q.demand || first.err != "" {
			missed++
		}
		fmt.Fprintf(&b, "| `%s` | %.0f |", q, q.demand.Seconds())
		for _, m := range all {
			got, ok := m.took[q.String()]
			switch {
			case !ok:
				b.WriteString(" – | – | – |")
			case got.err != "":
				fmt.Fprintf(&b, " %s | %d | – |", got.err, got.peak)
			default:
				late := ""
				if got.time > q.demand {
					late = " **missed**"
				}
				fmt.Fprintf(&b, " %.2f%s | %d | %d |", got.time.Seconds(), late, got.peak, got.rows)
			}
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\n%d of %d missed\n", missed, len(all[0].took))
	return b.String()
}
