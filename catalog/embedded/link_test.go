package embedded_test

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// stall leaves requests to a child half done and keeps their connections: a statement whose text does not come, two of
// readers whose results are not taken, and three of the writer whose rows do not come. The readers' two places are taken
// then, and three of the writer's four: by the last one stall asks what runs. It returns the connection that asks.
func stall(t *testing.T, url string) clickhouse.Conn {
	t.Helper()
	address := strings.TrimPrefix(url, "http://")
	send := func(request string) {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprint(c, request)
	}
	send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nSELECT")
	send("GET /?query=SELECT+'streamed',number+FROM+numbers(1000000000) HTTP/1.1\r\nHost: localhost\r\n\r\n")
	rest := strings.Repeat("x", 100) // of a text with the name of a pipe, ClickHouse shows the beginning of a long one alone
	send("GET /?query=SELECT+'piped',number+FROM+numbers(1000000000)+WHERE+toString(number)!='" + rest + "'+FORMAT+JSON HTTP/1.1\r\nHost: localhost\r\n\r\n")
	started := []string{"%streamed%", "%piped%"}
	rows := strings.Repeat("1\n", 2<<20) // more than the server reads before it begins the insert, and than it passes to the engine at a time
	for _, column := range []string{"first", "second", "third"} {
		send(fmt.Sprintf("POST /?%s&query=INSERT+INTO+FUNCTION+null('%s+Int8')+FORMAT+TSV HTTP/1.1\r\n"+
			"Host: localhost\r\nContent-Length: %d\r\n\r\n%s", asWriter, column, len(rows)+1, rows))
		started = append(started, "INSERT%"+column+"%")
	}
	conn := open(t, func(o *clickhouse.Options) { o.Addr = []string{address} })
	for _, like := range started {
		awaitRunning(t, conn, like, true)
	}
	return conn
}

func TestStalledClientsDoNotKeepTheServerFromStopping(t *testing.T) {
	cmd, stdin, url := child(t, t.TempDir())
	stall(t, url)
	stdin.Close()
	if err := cmd.Wait(); err != nil { // one that a statement keeps from stopping ends with an error
		t.Error(err)
	}
}

func TestStalledClientsLoseTheirPlaces(t *testing.T) {
	// The directory's name has to be quoted in the configuration and in statements.
	dir := filepath.Join(t.TempDir(), `a & b <c> 'd'`)
	cmd, stdin, url := child(t, dir, "KUBEVOLTRACKER_TEST_PATIENCE=5s")
	conn := stall(t, url)
	resp, err := http.Post(url, "", strings.NewReader("SELECT 1 FORMAT JSON"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("no place of readers got free: %s", resp.Status)
	}
	awaitRunning(t, conn, "INSERT%", false)
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
