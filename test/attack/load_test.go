package attack

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-faster/city"

	"github.com/kubevoltracker/kubevoltracker/catalog/engine"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// gzipped returns so many zeros, compressed.
func gzipped(t *testing.T, size int64) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.CopyN(z, zeros{}, size); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

const zstdMagic = "\x28\xb5\x2f\xfd"

// zstdBlock returns a block as clients of ClickHouse send it, which claims to have 100 bytes of data. It has a Zstandard frame
// of a header and content.
func zstdBlock(content string, header ...byte) string {
	frame := zstdMagic + string(header) + content
	block := binary.LittleEndian.AppendUint32([]byte{0x90}, uint32(9+len(frame)))
	block = append(binary.LittleEndian.AppendUint32(block, 100), frame...)
	sum := city.CH128(block)
	checksum := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, sum.Low), sum.High)
	return string(checksum) + string(block)
}

// manyParts returns a form in which the statement has 2 GiB, in parts of 1 MiB.
func manyParts(t *testing.T) request {
	t.Helper()
	r := form()
	const part = "------b\r\nContent-Disposition: form-data; name=\"query\"\r\n\r\n"
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for range 2 << 10 {
		if _, err := io.WriteString(z, part+strings.Repeat(" ", 1<<20)+"\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	r.body, r.headers = b.String(), append(r.headers, "Content-Encoding", "gzip")
	return r
}

// slowTables returns a form with tables whose structures take the engine 15 seconds and more, and behind them one without a
// structure.
func slowTables() request {
	parameters, body := []string{"query", "SELECT 1"}, ""
	for i := range 301 {
		name := fmt.Sprintf("t%d", i)
		if i < 300 {
			parameters = append(parameters, name+"_structure", "a Int8, b UInt64 DEFAULT arraySum(arrayMap(x -> sipHash64(x), range(2000000)))")
		}
		body += "------b\r\nContent-Disposition: form-data; name=\"" + name + "\"; filename=\"x\"\r\n\r\n1\t2\n\r\n"
	}
	r := form(parameters...)
	r.body = body + "------b--\r\n"
	return r
}

// bombs are requests that cost the engine far more than the attacker.
func bombs(t *testing.T) []attempt {
	nested := func(open, end string, n int) string {
		return "SELECT " + strings.Repeat(open, n) + "1" + strings.Repeat(end, n)
	}
	var words strings.Builder // 0.9 MiB of $aaa$ $aab$ …
	words.WriteString("SELECT ")
	for i := range 130_000 {
		fmt.Fprintf(&words, "$%x$,", i)
	}
	return []attempt{
		{"fill the memory at once", nobody, sql("SELECT length(groupArray(materialize(repeat('x', 1000000)))) FROM numbers(1000000000)"), "MEMORY_LIMIT_EXCEEDED", theLimits},
		// The memory of the whole engine may be full before this reader's share is. Then the engine waits up to five seconds
		// (memory_usage_overcommit_max_wait_microseconds) for other statements to end, and the time limit comes first.
		{"fill the memory bit by bit", nobody, sql("SELECT length(groupArray(number)) FROM numbers(1000000000)"), "", theLimits},
		{"fill the memory without being counted", nobody, sql("SELECT length(groupArray(number)) FROM numbers(1000000000) SETTINGS max_untracked_memory = 1000000000000, memory_profiler_step = 1000000000000"), "SETTING_CONSTRAINT_VIOLATION", theList},
		{"fill the memory by a string", nobody, sql("SELECT length(repeat(repeat('x', 1000000), 100000))"), "TOO_LARGE_STRING_SIZE", theLimits},
		{"fill the disk by sorting", nobody, sql("SELECT number FROM numbers(1000000000) ORDER BY sipHash64(number) LIMIT 1 OFFSET 500000000"), "", theLimits},
		{"return more than anybody reads", nobody, sql("SELECT number FROM numbers(1000000000) FORMAT Null"), "TOO_MANY_ROWS_OR_BYTES", theLimits},
		{"compute for ever", nobody, sql("SELECT count() FROM numbers(1e15) WHERE sipHash64(number) = 0"), "TIMEOUT_EXCEEDED", theLimits},
		{"sleep for ever", nobody, sql("SELECT sum(sleepEachRow(0.001)) FROM numbers(100000) SETTINGS max_block_size = 1000"), "", theLimits},
		{"nest brackets", nobody, sql(nested("(", ")", 120_000)), "TOO_DEEP_RECURSION", "the parser's depth is bounded"},
		{"nest arrays", nobody, sql(nested("[", "]", 120_000)), "TOO_DEEP_RECURSION", "the parser's depth is bounded"},
		{"nest queries", nobody, sql(nested("(SELECT ", ")", 25_000)), "TOO_DEEP_RECURSION", "the parser's depth is bounded"},
		{"negate without end", nobody, sql("SELECT " + strings.Repeat(" -", 120_000) + "1"), "", "the parser's depth is bounded"},
		{"nest comments", nobody, sql(strings.Repeat("/*", 400_000)), "SYNTAX_ERROR", "comments are read without recursion"},
		{"a statement that never ends", nobody, sql("SELECT 1 /*" + strings.Repeat("x", 8<<20)), "", "a statement has at most 1 MiB; then the connection is closed"},
		{"a statement of compressed zeros", nobody, request{body: gzipped(t, 1<<30), headers: []string{"Content-Encoding", "gzip"}}, "", "a statement has at most 1 MiB, also when it was compressed"},
		{"a block that claims to be huge", nobody, request{path: "/?decompress=1", body: strings.Repeat("\x00", 16) + "\x82\xff\xff\xff\x7f\xff\xff\xff\x7f"}, "it may have 1048576", "a block has at most 1 MiB"},
		{"a block of more than it claims", nobody, request{path: "/?decompress=1", body: zstdBlock(strings.Repeat("\x02\x00\x10x", 16<<10), 0x00, 0x68)}, "INCORRECT_DATA", "no more is decoded than a block claims"},
		{"a block whose frame claims 60 GiB", nobody, request{path: "/?decompress=1", body: zstdBlock("\x03\x00\x10x", 0xc0, 0x68, 0, 0, 0, 0, 15, 0, 0, 0)}, "INCORRECT_DATA", "no more is decoded than a block claims"},
		{"a window of 512 MiB", nobody, request{body: zstdMagic + "\x00\x98\x03\x00\x10x", headers: []string{"Content-Encoding", "zstd"}}, "window size exceeded", "a window has at most 8 MiB"},
		{"a statement of many parts", nobody, manyParts(t), "Max query size exceeded", "all parts together have at most 1 MiB"},
		{"tuples without end", nobody, sql("SELECT " + strings.Repeat("values((", 100_000)), "", theGate},
		{"a name of many parts", nobody, sql("SELECT " + strings.Repeat("settings.", 60_000) + "x SETTINGS max_query_size = 1000000"), "", theGate},
		{"tables that take too long", nobody, slowTables(), "TIMEOUT_EXCEEDED", theLimits},
		{"a header without end", nobody, request{body: "SELECT 1", headers: []string{"X-Long", strings.Repeat("x", 4<<20)}}, "", "headers have at most 64 KiB"},
		{"words that begin a heredoc", nobody, sql(words.String()), "words begin with $", "the parser looks for the end of few heredocs"},
		{"an expression of strings without end", nobody, sql("SELECT '" + strings.Repeat("\\'", 400_000)), "Max query size exceeded", "the engine reads 256 KiB of a statement, rows aside, and by max_query_size 1 MiB"},
	}
}

// TestBombsDoNotStopTheEngine sends requests that cost much, and looks whether the engine still serves, and lives within
// its memory.
func TestBombsDoNotStopTheEngine(t *testing.T) {
	at := newTarget(t, "--max-memory=1GiB", "--reader-timeout=3s")
	for _, a := range bombs(t) {
		at.withstand(t, a)
	}
	if peak := peakMemory(t, at.engine); peak > 2<<30 {
		t.Errorf("the engine took %d MiB of memory; it may take 1024 for its data", peak>>20)
	}
}

// TestAnswersThatNobodyReadsDoNotTakeAllMemory asks for large rows by all places of readers, and reads no more of each answer than its
// beginning. The rows wait in the engine's memory, where its limit counts them, until the readers' time is over.
func TestAnswersThatNobodyReadsDoNotTakeAllMemory(t *testing.T) {
	at := newTarget(t, "--max-memory=1GiB", "--reader-timeout=20s")
	const row, noise = "SELECT repeat(repeat('x', 1000), 40000) FORMAT ", "SELECT randomString(60000000) FORMAT "
	for _, c := range []struct{ parameters, statement, headers string }{
		{"", row + "TabSeparated", ""},
		{"", row + "JSON", ""},
		{"", row + "RowBinary", ""},
		{"client_protocol_version=54460", "SELECT repeat(repeat('x', 1000), 40000) FORMAT Native", ""},
		{"compress=1", noise + "TabSeparated", ""},
		{"enable_http_compression=1", noise + "TabSeparated", "Accept-Encoding: gzip\r\n"},
		{"enable_http_compression=1", noise + "TabSeparated", "Accept-Encoding: br\r\n"},
	} {
		answered := 0
		var open []net.Conn
		for range 12 {
			conn, err := net.Dial("tcp", at.engine.Address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			open = append(open, conn)
			fmt.Fprintf(conn, "POST /?%s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n%s", c.parameters, c.headers, len(c.statement), c.statement)
			line, err := bufio.NewReader(conn).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(line, " 200 ") {
				answered++
			}
		}
		if answered == 0 {
			t.Errorf("%s %s: no answer begins", c.statement, c.headers)
		}
		if status, answer := at.send(t, programmer, sql("INSERT INTO kubevoltracker.victim VALUES (8, 'written')")); status != http.StatusOK {
			t.Errorf("%s %s: the writer was kept out: %d %s", c.statement, c.headers, status, answer)
		}
		for _, conn := range open {
			conn.Close()
		}
		at.awaitStatements(t, "query LIKE 'SELECT r%'", 0)
	}
	if peak := peakMemory(t, at.engine); peak > 2<<30 {
		t.Errorf("the engine took %d MiB of memory; it may take 1024 for its data", peak>>20)
	}
}

// TestConnectionsDoNotTakeAllMemory sends as much as a request may have by most of the connections at once, while all places of
// readers are taken. The engine keeps a little of each request until there is a place for it.
func TestConnectionsDoNotTakeAllMemory(t *testing.T) {
	at := newTarget(t, "--max-memory=1GiB", "--reader-timeout=20s")
	head := "POST /?param_x=" + strings.Repeat("x", 50<<10) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
	statement := "SELECT 1 /*" + strings.Repeat("x", 1<<20-100) + "*/"
	var fields strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&fields, "%x:\n", i+1<<20)
	}
	for _, c := range []struct {
		name        string
		connections int
		sent, want  string
	}{
		{"statements", 400, fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(statement), statement), "HTTP/1.1 5"}, // no place
		{"headers", 100, head + fields.String() + "\r\n", "HTTP/1.1 431"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := peakMemory(t, at.engine)
			leave := at.takePlaces(t)
			var all sync.WaitGroup
			var other atomic.Int64
			for range c.connections {
				all.Go(func() {
					if got := at.raw(t, c.sent); !strings.HasPrefix(got, c.want) {
						other.Add(1)
					}
				})
			}
			all.Wait()
			leave()
			if n := other.Load(); n > 0 {
				t.Errorf("%d of %d answers do not begin with %q", n, c.connections, c.want)
			}
			if took := peakMemory(t, at.engine) - before; took > 400<<20 {
				t.Errorf("%d requests took %d MiB", c.connections, took>>20)
			}
		})
	}
}

// takePlaces takes all places of readers until the returned function is called.
func (at *target) takePlaces(t *testing.T) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var sleeping sync.WaitGroup
	for range 12 {
		sleeping.Go(func() {
			statement := "SELECT sum(sleepEachRow(0.1)) FROM numbers(1000) SETTINGS max_block_size = 1"
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+at.engine.Address, strings.NewReader(statement))
			if err != nil {
				return
			}
			if answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r); err == nil {
				_ = answer.Body.Close()
			}
		})
	}
	at.awaitStatements(t, "query LIKE '%sleepEachRow(0.1)%'", 13) // with the one that asks
	return func() { cancel(); sleeping.Wait() }
}

// awaitStatements waits until so many statements run that match a condition.
func (at *target) awaitStatements(t *testing.T, condition string, want int) {
	t.Helper()
	harness.Eventually(t, fmt.Sprintf("%d statements run", want), func() error {
		if _, n := at.send(t, programmer, sql("SELECT count() FROM system.processes WHERE "+condition)); n != fmt.Sprintf("%d\n", want) {
			return fmt.Errorf("%s statements run", n)
		}
		return nil
	})
}

// raw sends the bytes of a request, and returns the answer.
func (at *target) raw(t *testing.T, sent string) string {
	t.Helper()
	c, err := net.Dial("tcp", at.engine.Address)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	_, _ = io.WriteString(c, sent) // the engine may answer before it has read all
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	answer, _ := io.ReadAll(c)
	return string(answer)
}

// peakMemory returns the engine's highest RSS so far, in bytes.
func peakMemory(t *testing.T, engine *harness.ClickHouse) (peak int64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", engine.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &peak); err == nil {
			return peak << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

// TestAStatementThatCannotBeStoppedEndsTheEngine reads a pipe of the engine's own: the kernel cannot forbid that, and the
// engine cannot interrupt it. The engine's process ends, and is started again.
func TestAStatementThatCannotBeStoppedEndsTheEngine(t *testing.T) {
	t.Setenv("KUBEVOLTRACKER_CLICKHOUSE_READER_TIMEOUT", "1s")
	e, err := engine.Start(t.Context(), engine.Options{
		Binary: harness.Program(t, "kubevoltracker-clickhouse"), DataDir: t.TempDir(), ListenAddress: "127.0.0.1:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Stop()
	at := &target{engine: &harness.ClickHouse{Address: strings.TrimPrefix(e.URL(), "http://")}}
	if _, answer := at.send(t, nobody, sql("SELECT * APPLY file FROM (SELECT '/proc/self/fd/0')")); !strings.Contains(answer, "No such device") {
		t.Errorf("its standard input is not a socket: %s", answer)
	}
	before := e.Pid()
	if status, answer := at.send(t, nobody, sql("SELECT * APPLY file FROM (SELECT '/proc/self/fd/"+pipeOf(t, before)+"')")); status == http.StatusOK {
		t.Fatal(answer)
	}
	harness.Eventually(t, "it is started again", func() error {
		status, answer := at.send(t, nobody, sql("SELECT 1"))
		if now := e.Pid(); now == 0 || now == before || status != http.StatusOK {
			return fmt.Errorf("pid %d, before %d; %d %s", now, before, status, answer)
		}
		return nil
	})
}

// pipeOf returns the number of a pipe from which a process reads.
func pipeOf(t *testing.T, pid int) string {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		leads, _ := os.Readlink(dir + "/" + f.Name())
		if info, err := os.Lstat(dir + "/" + f.Name()); err == nil && strings.HasPrefix(leads, "pipe:") && info.Mode().Perm()&0o400 != 0 {
			return f.Name()
		}
	}
	t.Fatal("it has no pipe")
	return ""
}

// TestIdleClientsDoNotStopTheWriter opens connections that do nothing, or next to nothing, as whoever reaches the port.
func TestIdleClientsDoNotStopTheWriter(t *testing.T) {
	at := newTarget(t, "--max-concurrent-queries=8")
	for _, halfSaid := range []string{
		"", // nothing
		"POST / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
		"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nSELECT",
		"POST /?query=INSERT+INTO+kubevoltracker.victim+FORMAT+TSV HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n",
		"POST /?query=SELECT+1&x_structure=a+Int8 HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 100000\r\n\r\n--b\r\nContent-Disposition: form-data; name=\"x\"; filename=\"x\"\r\n\r\n1\n",
		"GET /?query=SELECT+number,toString(number)+FROM+numbers(9000000)+FORMAT+JSON HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /?query=SELECT+count()+FROM+numbers(1000000000000000)+WHERE+sipHash64(number)=0 HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		for range 16 {
			c, err := net.Dial("tcp", at.engine.Address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			if _, err := io.WriteString(c, halfSaid); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 20 {
		if status, answer := at.send(t, programmer, sql(fmt.Sprintf("INSERT INTO kubevoltracker.victim VALUES (%d, 'written')", 100+i))); status != http.StatusOK {
			t.Fatalf("the writer was kept out: %d %s", status, answer)
		}
	}
}
