package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/go-kit/log"

	"github.com/kubevoltracker/kubevoltracker/catalog/embedded"
	"github.com/kubevoltracker/kubevoltracker/catalog/listen"
)

// address is where the one server of these tests answers. A second process on the same
// library cannot share this process, so everything runs against this one; tests that
// need to kill a server run one of their own as a child (see crash_test.go).
var address string

func library() string {
	if path := os.Getenv(embedded.LibraryEnv); path != "" {
		return path
	}
	return "../../.cache/lib/libchdb.so"
}

func TestMain(m *testing.M) {
	if os.Getenv("KUBEVOLTRACKER_TEST_SERVE") != "" {
		os.Exit(serveAsChild())
	}
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintf(os.Stderr, "catalog/embedded: %v\n", err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (int, error) {
	if _, err := os.Stat(library()); err != nil {
		return 1, fmt.Errorf("these tests need the real library: run `make libchdb` (%w)", err)
	}
	dir, err := os.MkdirTemp("", "embedded-test-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	server, err := start("127.0.0.1:0", embedded.Options{
		DataDir: dir, Library: library(), WriterPassword: writerPassword, MaxConcurrentQueries: 12,
		MaxMemory: 2 << 30, Grace: 2 * time.Second, Logger: log.NewNopLogger(),
	})
	if err != nil {
		return 1, err
	}
	address = server.URL()[len("http://"):]
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	code := m.Run()
	stop()
	return code, errors.Join(<-ended)
}

// The writer's password, and the login by it in a URL.
const (
	writerPassword = "test"
	asWriter       = "user=" + embedded.WriterUser + "&password=" + writerPassword
)

// start starts a server at an address.
func start(address string, o embedded.Options) (_ *embedded.Server, err error) {
	if o.Listener, err = listen.Open(address, o.ReaderPassword != ""); err != nil {
		return nil, err
	}
	return embedded.Start(o)
}

// open connects as the tracker does; change adapts the options.
func open(t *testing.T, change ...func(*clickhouse.Options)) clickhouse.Conn {
	t.Helper()
	o := &clickhouse.Options{Addr: []string{address}, Protocol: clickhouse.HTTP, DialTimeout: 5 * time.Second, MaxOpenConns: 8,
		Auth: clickhouse.Auth{Username: embedded.WriterUser, Password: writerPassword}}
	for _, c := range change {
		c(o)
	}
	conn, err := clickhouse.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func exec(t *testing.T, conn clickhouse.Conn, query string, args ...any) {
	t.Helper()
	if err := conn.Exec(t.Context(), query, args...); err != nil {
		t.Fatalf("%.100s: %v", query, err)
	}
}

// awaitRunning waits until the server executes a statement that matches a pattern of LIKE, or none any more.
func awaitRunning(t *testing.T, conn clickhouse.Conn, like string, want bool) {
	t.Helper()
	var running bool
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		err := conn.QueryRow(t.Context(), "SELECT count() > 0 FROM system.processes WHERE query LIKE $1 AND query NOT LIKE '%processes%'", like).Scan(&running)
		if err != nil {
			t.Fatal(err)
		}
		if running == want {
			return
		}
	}
	t.Fatalf("within a minute: %s runs: %v, want %v", like, running, want)
}
