package catalog

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

var (
	update = flag.Bool("update", false, "rewrite the golden files in testdata")
	// address of the engine that most tests share; each has a database of its own.
	sharedAddress string
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "catalog-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	e := &engine{dir: dir}
	if err := e.start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer e.kill()
	sharedAddress = e.address
	return m.Run()
}

// engine is a kubevoltracker-clickhouse process that keeps its address and its
// data over restarts.
type engine struct {
	dir, address string
	flags        []string
	process      *exec.Cmd
}

func (e *engine) start() error {
	binary := os.Getenv("KUBEVOLTRACKER_CLICKHOUSE_BINARY")
	if binary == "" {
		binary = filepath.Join("..", ".cache", "bin", "kubevoltracker-clickhouse")
	}
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("the embedded ClickHouse is not built (%w): run `make build`", err)
	}
	if e.address == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		e.address = l.Addr().String()
		l.Close()
	}
	e.process = exec.Command(binary, append([]string{"--data-dir", e.dir, "--listen-address", e.address}, e.flags...)...)
	e.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said strings.Builder
	e.process.Stdout, e.process.Stderr = &said, &said
	if err := e.process.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		answer, err := http.Get("http://" + e.address + "/ping")
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		if time.Now().After(deadline) {
			e.kill()
			return fmt.Errorf("%s did not answer within a minute: %s", binary, said.String())
		}
	}
}

func (e *engine) kill() {
	_ = e.process.Process.Kill()
	_ = e.process.Wait()
}

// testClock is "now" for the reports in tests.
func testClock() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// openCatalog opens a database of the test's own on the shared engine.
func openCatalog(t *testing.T) *Catalog {
	t.Helper()
	return openAt(t, sharedAddress, t.Name())
}

func openAt(t *testing.T, address, database string) *Catalog {
	t.Helper()
	c, err := Open(Options{URL: "http://" + address + "/" + database, Now: testClock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func migrated(t *testing.T) *Catalog {
	t.Helper()
	c := openCatalog(t)
	if err := c.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// write has a Writer write the facts and end.
func write(t *testing.T, c *Catalog, cluster string, facts *fact.Facts) {
	t.Helper()
	j := newJournal(t)
	record(t, j, facts)
	w := NewWriter(c, WriterOptions{Journal: j, Cluster: cluster, Grace: time.Minute, Logger: log.NewLogfmtLogger(t.Output())})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Run(ended); err != nil {
		t.Fatal(err)
	}
}

func newJournal(t testing.TB) *journal.Journal {
	t.Helper()
	j, err := journal.Open(journal.Options{Path: filepath.Join(t.TempDir(), "journal"), Logger: log.NewLogfmtLogger(t.Output())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// record puts a batch into a journal.
func record(t testing.TB, j *journal.Journal, facts *fact.Facts) {
	t.Helper()
	data, err := encodeFacts(facts)
	if err != nil {
		t.Fatal(err)
	}
	b := journal.Batch{Facts: data, Rows: facts.Len()}
	for _, p := range facts.Checkpoints {
		b.Positions = append(b.Positions, journal.Position{Kind: string(p.Kind), ResourceVersion: p.ResourceVersion, At: p.At.Time()})
	}
	if err := j.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// rows answers a statement with all its rows.
func rows(t *testing.T, c *Catalog, sql string) [][]any {
	t.Helper()
	table, err := c.Query(t.Context(), sql, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	var all [][]any
	for table.Next() {
		all = append(all, append([]any(nil), table.Row()...))
	}
	if table.Err() != nil {
		t.Fatal(table.Err())
	}
	return all
}

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s\nwant:\n%s", path, got, want)
	}
}
