package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/kubevoltracker/kubevoltracker/catalog/engine"
)

var binary string

// TestMain builds the real program once; as a child it plays a tracker that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("KUBEVOLTRACKER_TEST_TRACKER"); dir != "" {
		os.Exit(tracker(dir))
	}
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintf(os.Stderr, "catalog/engine: %v\n", err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (int, error) {
	lib, _ := filepath.Abs("../../.cache/lib/libchdb.so")
	if env := os.Getenv("KUBEVOLTRACKER_CHDB_LIBRARY"); env != "" {
		lib = env
	}
	if _, err := os.Stat(lib); err != nil {
		return 1, fmt.Errorf("these tests need the real library: run `make libchdb` (%w)", err)
	}
	os.Setenv("KUBEVOLTRACKER_CHDB_LIBRARY", lib)
	if binary = os.Getenv("KUBEVOLTRACKER_TEST_BINARY"); binary == "" {
		dir, err := os.MkdirTemp("", "engine-test-")
		if err != nil {
			return 1, err
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, engine.BinaryName)
		build := exec.Command("go", "build", "-o", binary, "../../cmd/"+engine.BinaryName)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("build: %w\n%s", err, out)
		}
		os.Setenv("KUBEVOLTRACKER_TEST_BINARY", binary)
	}
	return m.Run(), nil
}

// tracker starts the engine, says its child's pid and URL, and waits to be killed.
func tracker(dir string) int {
	e, err := engine.Start(context.Background(), engine.Options{Binary: os.Getenv("KUBEVOLTRACKER_TEST_BINARY"), DataDir: dir, ListenAddress: "127.0.0.1:0"})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println(e.Pid(), e.URL())
	select {}
}

type logBuffer struct {
	mutex sync.Mutex
	bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.Buffer.Write(p)
}

func (l *logBuffer) text() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.String()
}

func ask(url, query string) (string, error) {
	resp, err := http.Post(url, "", strings.NewReader(query))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	return strings.TrimSpace(string(out)), err
}

func gone(pid int) bool { return syscall.Kill(pid, 0) != nil }

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within a minute: %s", what)
}

func TestStartsRestartsAndStops(t *testing.T) {
	logs := &logBuffer{}
	t.Setenv("KUBEVOLTRACKER_CLICKHOUSE_MAX_MEMORY", "1GiB")
	e, err := engine.Start(t.Context(), engine.Options{Binary: binary, DataDir: t.TempDir(), ListenAddress: "127.0.0.1:0", LogLevel: "debug", Logger: log.NewLogfmtLogger(logs)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ask(e.URL(), "SELECT 1"); got != "1" {
		t.Fatal(got, err)
	}
	if !strings.Contains(logs.text(), `msg="serving ClickHouse"`) || !strings.Contains(logs.text(), "component=clickhouse") {
		t.Errorf("the child's log is not passed on: %s", logs.text())
	}
	if got, err := ask(e.URL(), "SELECT value FROM system.server_settings WHERE name = 'max_server_memory_usage'"); got != strconv.Itoa(1<<30) {
		t.Error(got, err)
	}
	ask(e.URL(), "SELEKT")
	eventually(t, "its debug messages are passed on", func() bool {
		return strings.Contains(logs.text(), `level=debug component=clickhouse msg="query failed"`)
	})
	writing := strings.Replace(e.URL(), "http://", "http://"+engine.User+":"+e.Password()+"@", 1)
	ask(writing, "CREATE TABLE kept (a Int8) ENGINE = MergeTree ORDER BY a")
	ask(writing, "INSERT INTO kept VALUES (7)")
	before := e.Pid()
	syscall.Kill(before, syscall.SIGKILL)
	eventually(t, "another child answers", func() bool {
		got, _ := ask(e.URL(), "SELECT a FROM kept")
		pid := e.Pid() // 0 until the supervisor, too, has seen that it answers
		return got == "7" && pid != 0 && pid != before
	})
	if n := strings.Count(logs.text(), `msg="the embedded ClickHouse died, starting it again"`); n != 1 {
		t.Errorf("the log says %d times that a child died", n)
	}
	pid := e.Pid()
	e.Stop()
	if !gone(pid) {
		t.Error("the child outlives Stop")
	}
}

// TestNobodyElseBindsThePortBetweenChildren tries to bind the engine's address from before its child is killed until the
// next child answers: whoever could would receive the writer's password.
func TestNobodyElseBindsThePortBetweenChildren(t *testing.T) {
	e, err := engine.Start(t.Context(), engine.Options{Binary: binary, DataDir: t.TempDir(), ListenAddress: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	url, before := e.URL(), e.Pid()
	address := strings.TrimPrefix(url, "http://")
	syscall.Kill(before, syscall.SIGKILL)
	tries := 0
	eventually(t, "another child runs", func() bool {
		tries++
		if other, err := net.Listen("tcp", address); !errors.Is(err, syscall.EADDRINUSE) {
			if err == nil {
				other.Close()
			}
			t.Fatalf("another process can bind the address while no child runs: %v", err)
		}
		pid := e.Pid()
		return pid != 0 && pid != before
	})
	if tries < 5 {
		t.Errorf("only %d tries to bind the address", tries)
	}
	if got, err := ask(url, "SELECT 1"); got != "1" || e.URL() != url {
		t.Errorf("the next child at %s: %q %v, at %s", url, got, err, e.URL())
	}
	e.Stop()
	free, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("the port outlives the engine: %v", err)
	}
	free.Close()
}

func TestAQuietChildIsReadyToo(t *testing.T) {
	t.Setenv("KUBEVOLTRACKER_CLICKHOUSE_LOG_LEVEL", "error")
	t.Setenv("KUBEVOLTRACKER_CLICKHOUSE_LOG_FORMAT", "json")
	e, err := engine.Start(t.Context(), engine.Options{Binary: binary, DataDir: t.TempDir(), ListenAddress: "127.0.0.1:0", LogLevel: "warn"})
	if err != nil {
		t.Fatal(err)
	}
	e.Stop()
}

func TestTheChildNeverOutlivesAKilledTracker(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "KUBEVOLTRACKER_TEST_TRACKER="+dir)
	stdout, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	pid, err := strconv.Atoi(strings.Fields(line + " x")[0])
	if err != nil {
		t.Fatalf("%q", line)
	}
	url := strings.Fields(line)[1]
	go ask(url, "SELECT count() FROM numbers(1e15) WHERE sipHash64(number) = 1") // ends with the child
	eventually(t, "the child is busy", func() bool {
		running, err := ask(url, "SELECT count() FROM system.processes WHERE query LIKE '%numbers(1e15)%' AND query NOT LIKE '%processes%'")
		return err == nil && running == "1"
	})
	cmd.Process.Kill()
	cmd.Wait()
	// A new tracker at once: it waits until the orphan has given the directory free.
	e, err := engine.Start(t.Context(), engine.Options{Binary: binary, DataDir: dir, ListenAddress: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Stop()
	eventually(t, "the orphan is gone", func() bool { return gone(pid) })
}

func TestAFailedStartIsTheChildsOwnLine(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for name, c := range map[string]struct {
		change func(*engine.Options)
		want   string
	}{
		"no binary":  {func(o *engine.Options) { o.Binary = "/nosuch/program" }, "/nosuch/program"},
		"no library": {func(o *engine.Options) { o.Library = "/nosuch/lib.so" }, "/nosuch/lib.so cannot be used: no such file or directory; get it with `make libchdb`"},
		"unwritable": {func(o *engine.Options) { o.DataDir = "/proc/nosuch" }, "/proc/nosuch cannot be created"},
		"open":       {func(o *engine.Options) { o.ListenAddress = "0.0.0.0:8123" }, "needs a password"},
	} {
		t.Run(name, func(t *testing.T) {
			o := engine.Options{Binary: binary, DataDir: t.TempDir(), ListenAddress: "127.0.0.1:0"}
			c.change(&o)
			e, err := engine.Start(t.Context(), o)
			if err == nil {
				e.Stop()
				t.Fatal("started")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q, want %q", err, c.want)
			}
		})
	}
	if _, err := engine.Start(t.Context(), engine.Options{Binary: binary, DataDir: t.TempDir(), ListenAddress: busy.Addr().String()}); err == nil || !strings.Contains(err.Error(), busy.Addr().String()+" is in use") {
		t.Errorf("a busy port: %v", err)
	}
}

// TestTheURLIsOfThisMachine has an engine for all addresses: clients would ask the proxy of the environment, with the writer's password, for
// http://0.0.0.0.
func TestTheURLIsOfThisMachine(t *testing.T) {
	readers := filepath.Join(t.TempDir(), "readers")
	if err := os.WriteFile(readers, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := engine.Start(t.Context(), engine.Options{Binary: binary, DataDir: t.TempDir(), ListenAddress: "0.0.0.0:0", ReaderPasswordFile: readers})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Stop()
	if !strings.HasPrefix(e.URL(), "http://127.0.0.1:") {
		t.Errorf("the engine is at %s", e.URL())
	}
}
