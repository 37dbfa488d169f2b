package harness

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
)

// FreePort returns a port of this machine on which nobody listens.
func FreePort(t testing.TB) string {
	_, port, err := net.SplitHostPort(freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// ClickHouse is the embedded engine as a process of its own. It keeps its address and its data over restarts.
type ClickHouse struct {
	t             testing.TB
	data, Address string
	args          []string

	mu      sync.Mutex
	process *exec.Cmd
}

func freeAddress(t testing.TB) string {
	t.Helper()
	address, err := catalogtest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// NewClickHouse reserves an address and a directory for a ClickHouse, which the test starts when it wants to. It
// ends with the test.
func NewClickHouse(t testing.TB, args ...string) *ClickHouse {
	t.Helper()
	// Programs that the test starts log in by it: see URL.
	if err := os.Setenv("KUBEVOLTRACKER_CATALOG_PASSWORD", catalogtest.Password); err != nil {
		t.Fatal(err)
	}
	s := &ClickHouse{t: t, data: t.TempDir(), Address: freeAddress(t), args: args}
	t.Cleanup(func() { s.End(syscall.SIGTERM) })
	return s
}

// StartClickHouse starts a ClickHouse and waits until it answers.
func StartClickHouse(t testing.TB, args ...string) *ClickHouse {
	t.Helper()
	return StartClickHouseIn(t, t.TempDir(), args...)
}

// StartClickHouseIn starts a ClickHouse on a data directory, and waits until it answers.
func StartClickHouseIn(t testing.TB, dir string, args ...string) *ClickHouse {
	t.Helper()
	s := NewClickHouse(t, args...)
	s.data = dir
	s.Start()
	Eventually(t, "ClickHouse answers", func() error {
		r, err := http.Get("http://" + s.Address + "/ping")
		if err == nil {
			r.Body.Close()
		}
		return err
	})
	return s
}

// URL returns the URL of a database, for --catalog.url.
func (s *ClickHouse) URL(database string) string { return CatalogURL(s.Address, database) }

// CatalogURL returns the URL of a database of a ClickHouse that can be reached at an address.
func CatalogURL(address, database string) string {
	return "http://" + catalogtest.User + "@" + address + "/" + database
}

// Data returns the data directory.
func (s *ClickHouse) Data() string { return s.data }

// Pid returns the id of the running process.
func (s *ClickHouse) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.Process.Pid
}

// Start starts the process and does not wait for it.
func (s *ClickHouse) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = exec.Command(Program(s.t, "kubevoltracker-clickhouse"), append([]string{"--data-dir=" + s.data, "--listen-address=" + s.Address, "--writer-password-stdin"}, s.args...)...)
	s.process.Stdin = strings.NewReader(catalogtest.Password + "\n")
	if err := s.process.Start(); err != nil {
		s.t.Error(err)
		s.process = nil
	}
}

// End sends a signal to the process and waits until it has ended. It does nothing if no process runs.
func (s *ClickHouse) End(signal syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		_ = s.process.Process.Signal(signal)
		_ = s.process.Wait()
		s.process = nil
	}
}
