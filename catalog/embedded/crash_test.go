package embedded_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/go-kit/log"

	"github.com/kubevoltracker/kubevoltracker/catalog/embedded"
)

// serveAsChild is this test binary as a server of its own, to be killed.
func serveAsChild() int {
	if grant := os.Getenv("KUBEVOLTRACKER_TEST_GRANT"); grant != "" {
		embedded.SetWriterGrant(grant)
	}
	patience, _ := time.ParseDuration(os.Getenv("KUBEVOLTRACKER_TEST_PATIENCE"))
	o := embedded.Options{
		DataDir: os.Getenv("KUBEVOLTRACKER_TEST_SERVE"), Library: library(), WriterPassword: writerPassword,
		MaxConcurrentQueries: 6, MaxMemory: 1 << 30, Grace: time.Second, Logger: log.NewNopLogger(),
	}
	var limits struct {
		AnswerFile, Temporary, KeepFree int64
		ReaderTimeout                   time.Duration
	}
	if text := os.Getenv("KUBEVOLTRACKER_TEST_LIMITS"); text != "" {
		if err := json.Unmarshal([]byte(text), &limits); err != nil {
			fmt.Println("error:", err)
			return 1
		}
	}
	o.ReaderTimeout = limits.ReaderTimeout
	o.Limit(patience, limits.AnswerFile, limits.Temporary, limits.KeepFree)
	server, err := start(cmp.Or(os.Getenv("KUBEVOLTRACKER_TEST_LISTEN"), "127.0.0.1:0"), o)
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	fmt.Println("url:", server.URL())
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	if err := server.Run(ctx); err != nil {
		fmt.Println("error:", err)
		return 1
	}
	return 0
}

// child starts such a server and returns its first line without the label.
func child(t *testing.T, dir string, env ...string) (cmd *osexec.Cmd, stdin io.Closer, line string) {
	t.Helper()
	cmd = osexec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "KUBEVOLTRACKER_TEST_SERVE="+dir), env...)
	stdin, _ = cmd.StdinPipe()
	stdout, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the child said nothing: %v", err)
	}
	_, line, _ = strings.Cut(strings.TrimSpace(line), ": ")
	return cmd, stdin, line
}

func TestSurvivesSIGKILLInMidInsert(t *testing.T) {
	dir := t.TempDir()
	var sent uint64
	for round := range 3 {
		cmd, stdin, url := child(t, dir)
		conn := open(t, func(o *clickhouse.Options) { o.Addr = []string{strings.TrimPrefix(url, "http://")} })
		exec(t, conn, "CREATE TABLE IF NOT EXISTS crash (n UInt64, s String) ENGINE = MergeTree ORDER BY n SETTINGS fsync_after_insert = 1")
		var n, distinct uint64
		if err := conn.QueryRow(t.Context(), "SELECT count(), uniqExact(n) FROM crash").Scan(&n, &distinct); err != nil {
			t.Fatal(err)
		}
		if n < sent || n != distinct || n%1000 != 0 {
			t.Fatalf("round %d: %d rows (%d distinct), %d were acknowledged", round, n, distinct, sent)
		}
		sent = n
		if round == 2 {
			stdin.Close()
			if err := cmd.Wait(); err != nil {
				t.Fatalf("a graceful stop: %v", err)
			}
			return
		}
		time.AfterFunc(400*time.Millisecond, func() { cmd.Process.Kill() })
		for {
			batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO crash")
			if err != nil {
				break
			}
			for i := range uint64(1000) {
				batch.Append(sent+i, "some text that takes a little room")
			}
			if batch.Send() != nil {
				break
			}
			sent += 1000
		}
		cmd.Wait()
	}
}

func TestASecondProcessOnTheDirectoryIsRefused(t *testing.T) {
	dir := t.TempDir()
	cmd, _, url := child(t, dir)
	_, _, line := child(t, dir)
	if want := fmt.Sprintf("the data directory %s is in use by another process (pid %d)", dir, cmd.Process.Pid); line != want {
		t.Errorf("%q, want %q", line, want)
	}
	busy := strings.TrimPrefix(url, "http://")
	if _, _, line = child(t, t.TempDir(), "KUBEVOLTRACKER_TEST_LISTEN="+busy); !strings.Contains(line, busy+" is in use by another process") {
		t.Errorf("busy port: %q", line)
	}
}

func TestStartRefusesWithOneClearLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, []byte("not a library"), 0o600)
	wrongArch := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 57)...)
	binary.LittleEndian.PutUint16(wrongArch[16:], 3) // a shared object
	binary.LittleEndian.PutUint16(wrongArch[18:], 8) // of MIPS
	binary.LittleEndian.PutUint32(wrongArch[20:], 1)
	binary.LittleEndian.PutUint16(wrongArch[52:], 64)
	arch := filepath.Join(t.TempDir(), "mips.so")
	os.WriteFile(arch, wrongArch, 0o600)
	pipe := filepath.Join(t.TempDir(), "pipe.so")
	syscall.Mkfifo(pipe, 0o600)
	good := embedded.Options{DataDir: t.TempDir(), Library: library(), Logger: log.NewNopLogger()}
	address := "127.0.0.1:0"
	for name, c := range map[string]struct {
		change func(*embedded.Options, *string)
		want   []string
	}{
		"missing library": {func(o *embedded.Options, _ *string) { o.Library = "/nosuch/libchdb.so" }, []string{"/nosuch/libchdb.so", "no such file", "make libchdb"}},
		"not a library":   {func(o *embedded.Options, _ *string) { o.Library = file }, []string{file, "not an ELF", "make libchdb"}},
		"a pipe":          {func(o *embedded.Options, _ *string) { o.Library = pipe }, []string{pipe, "not a regular file"}},
		"other machine's": {func(o *embedded.Options, _ *string) { o.Library = arch }, []string{arch, "EM_MIPS", "make libchdb"}},
		"other library":   {func(o *embedded.Options, _ *string) { o.Library = "/proc/self/exe" }, []string{"/proc/self/exe", "make libchdb"}},
		"open to others":  {func(_ *embedded.Options, a *string) { *a = "0.0.0.0:0" }, []string{"0.0.0.0:0", "--reader-password-file"}},
		"no address":      {func(_ *embedded.Options, a *string) { *a = "nonsense" }, []string{"nonsense", "host:port"}},
		"unwritable":      {func(o *embedded.Options, _ *string) { o.DataDir = "/proc/nosuch" }, []string{"/proc/nosuch", "cannot be created"}},
		"a file":          {func(o *embedded.Options, _ *string) { o.DataDir = file }, []string{file, "not a directory"}},
	} {
		t.Run(name, func(t *testing.T) {
			o, at := good, address
			c.change(&o, &at)
			_, err := start(at, o)
			if err == nil {
				t.Fatal("started")
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q lacks %q", err, w)
				}
			}
		})
	}
}

func TestAnInsertThatIsCutOffCommitsNothing(t *testing.T) {
	conn := open(t)
	exec(t, conn, "CREATE TABLE cut (n UInt64) ENGINE = MergeTree ORDER BY n")
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	rows := strings.Repeat("1\n", 2<<20) // more than the server reads before it begins the insert, and than it passes to the engine at a time
	fmt.Fprintf(c, "POST /?query=INSERT+INTO+cut+FORMAT+TSV&"+asWriter+" HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", address, len(rows)+1, rows)
	awaitRunning(t, conn, "INSERT INTO cut%", true)
	c.Close()
	awaitRunning(t, conn, "INSERT INTO cut%", false)
	var n uint64
	if err := conn.QueryRow(t.Context(), "SELECT count() FROM cut").Scan(&n); err != nil || n != 0 {
		t.Fatalf("%d rows, %v", n, err)
	}
	resp, err := http.Post("http://"+address+"/?query=INSERT+INTO+cut+FORMAT+Native&decompress=1&"+asWriter, "", bytes.NewReader(make([]byte, 10)))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a torn compressed block: %s", resp.Status)
	}
}
