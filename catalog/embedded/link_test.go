package embedded_test

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// stall leaves requests half done and keeps their connections: rows that do not come,
// results that are not taken.
func stall(t *testing.T, address string) {
	t.Helper()
	for _, request := range []string{
		"POST /?query=INSERT+INTO+FUNCTION+null('a+Int8')+FORMAT+TSV HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n1\n2\n",
		"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nSELECT",
		"GET /?query=SELECT+number,toString(number)+FROM+numbers(1000000000) HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /?query=SELECT+number,toString(number)+FROM+numbers(1000000000)+FORMAT+JSON HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprint(c, request)
	}
	time.Sleep(300 * time.Millisecond)
}

func TestStalledClientsDoNotKeepTheServerFromStopping(t *testing.T) {
	cmd, stdin, url := child(t, t.TempDir())
	stall(t, strings.TrimPrefix(url, "http://"))
	began := time.Now()
	stdin.Close()
	if err := cmd.Wait(); err != nil || time.Since(began) > 20*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestStalledClientsLoseTheirPlaces(t *testing.T) {
	// The directory's name has to be quoted in the configuration and in statements.
	dir := filepath.Join(t.TempDir(), `a & b <c> 'd'`)
	cmd, stdin, url := child(t, dir, "KUBEVOLTRACKER_TEST_PATIENCE=500ms")
	stall(t, strings.TrimPrefix(url, "http://")) // takes all of the child's places
	resp, err := http.Post(url, "", strings.NewReader("SELECT 1 FORMAT JSON"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("no place got free: %s", resp.Status)
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
