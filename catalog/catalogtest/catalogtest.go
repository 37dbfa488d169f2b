// Package catalogtest starts the embedded ClickHouse for the tests of the packages that talk to one, and opens catalogs
// in it.
//
// A test binary has one engine, which Main starts before the tests and kills after them; each test has a database of
// its own there. A test that stops the engine starts one of its own.
package catalogtest

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
)

// Main runs a package's tests with the engine at *address. It is called by TestMain, and does not return.
func Main(m *testing.M, address *string) {
	flag.Parse()
	os.Exit(run(m, address))
}

func run(m *testing.M, address *string) int {
	dir, err := os.MkdirTemp("", "catalog-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	e := &Engine{Dir: dir}
	if err := e.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer e.Kill()
	*address = e.Address
	return m.Run()
}

// User and Password are those of the writer of an Engine.
const (
	User     = "kubevoltracker"
	Password = "writers"
)

// Engine is a kubevoltracker-clickhouse process that keeps its address and its
// data over restarts.
type Engine struct {
	// Dir is the data directory, and Flags are more flags of the program.
	Dir   string
	Flags []string
	// Address is host:port; Start sets it if it is empty.
	Address string

	process *exec.Cmd
}

// Start starts the process and waits until it answers.
func (e *Engine) Start() error {
	binary, err := program()
	if err != nil {
		return err
	}
	if e.Address == "" {
		if e.Address, err = FreeAddress(); err != nil {
			return err
		}
	}
	e.process = exec.Command(binary, append([]string{"--data-dir", e.Dir, "--listen-address", e.Address, "--writer-password-stdin"}, e.Flags...)...)
	e.process.Stdin = strings.NewReader(Password + "\n")
	e.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var output strings.Builder
	e.process.Stdout, e.process.Stderr = &output, &output
	if err := e.process.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if e.answers() {
			return nil
		}
		if time.Now().After(deadline) {
			e.Kill()
			return fmt.Errorf("%s did not answer within a minute: %s", binary, output.String())
		}
	}
}

// FreeAddress returns an address of this machine on which nobody listens. Its port is none of those that Linux gives to
// connections (ip_local_port_range), so that no other test gets it before a program listens there.
func FreeAddress() (string, error) {
	for range 100 {
		port := 10_000 + rand.IntN(22_000) //nolint:gosec // no secret
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return listener.Addr().String(), listener.Close()
		}
	}
	return "", errors.New("no port is free")
}

func (e *Engine) answers() bool {
	answer, err := http.Get("http://" + e.Address + "/ping")
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// Kill ends the process by SIGKILL.
func (e *Engine) Kill() {
	_ = e.process.Process.Kill()
	_ = e.process.Wait()
}

// program returns the path of kubevoltracker-clickhouse: KUBEVOLTRACKER_CLICKHOUSE_BINARY, or the one that make builds
// into .cache/bin of the module.
func program() (string, error) {
	binary := os.Getenv("KUBEVOLTRACKER_CLICKHOUSE_BINARY")
	if binary == "" {
		root, err := moduleRoot()
		if err != nil {
			return "", err
		}
		binary = filepath.Join(root, ".cache", "bin", "kubevoltracker-clickhouse")
	}
	if _, err := os.Stat(binary); err != nil {
		return "", fmt.Errorf("the embedded ClickHouse is not built (%w): run `make build`", err)
	}
	return filepath.Abs(binary)
}

// moduleRoot returns the directory of go.mod, above the package's directory in which a test runs.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("the tests do not run in the module's directory")
		}
	}
}

// Clock is "now" for the reports in tests.
func Clock() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// Open opens a database at an address, until the test ends.
func Open(t testing.TB, address, database string) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Open(catalog.Options{URL: "http://" + address + "/" + database, Username: User, Password: Password, Now: Clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// OpenMigrated opens a database of the test's own, which has the catalog's tables.
func OpenMigrated(t testing.TB, address string) *catalog.Catalog {
	t.Helper()
	c := Open(t, address, t.Name())
	if err := c.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// Rows returns all rows of the result of a statement, which may be one that writes.
func Rows(t testing.TB, c *catalog.Catalog, sql string) [][]any {
	t.Helper()
	result, err := c.Run(t.Context(), sql, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	var all [][]any
	for result.Next() {
		all = append(all, append([]any(nil), result.Row()...))
	}
	if result.Err() != nil {
		t.Fatal(result.Err())
	}
	return all
}
