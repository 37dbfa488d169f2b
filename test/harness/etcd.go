package harness

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Etcd is the etcd of a local cluster, reached by its JSON gateway.
type Etcd struct {
	PID    int
	url    string
	client http.Client
}

// EtcdOf reads where a cluster's etcd listens, and which certificates it accepts.
func EtcdOf(t testing.TB, c *LocalCluster) *Etcd {
	t.Helper()
	read := func(parts ...string) []byte {
		data, err := os.ReadFile(filepath.Join(parts...))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	pid := strings.TrimSpace(string(read(c.Dir, "run", "etcd.pid")))
	e := &Etcd{}
	var err error
	if e.PID, err = strconv.Atoi(pid); err != nil {
		t.Fatal(err)
	}
	for _, arg := range strings.Split(string(read("/proc", pid, "cmdline")), "\x00") {
		if url, ok := strings.CutPrefix(arg, "--listen-client-urls="); ok {
			e.url = url
		}
	}
	certificate, err := tls.LoadX509KeyPair(filepath.Join(c.Dir, "pki", "etcd-client.crt"), filepath.Join(c.Dir, "pki", "etcd-client.key"))
	if err != nil {
		t.Fatal(err)
	}
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(read(c.Dir, "pki", "etcd-ca.crt"))
	e.client.Transport = &http.Transport{
		TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: authority}, MaxIdleConnsPerHost: 32,
	}
	return e
}

// Compact drops the history before the present revision, as the API server does every five minutes. A watch that
// resumes from an older version gets a 410.
func (e *Etcd) Compact(t testing.TB) {
	t.Helper()
	var header struct {
		Header struct{ Revision string }
	}
	if err := e.Call("/v3/kv/range", `{"key": "AA=="}`, &header); err != nil {
		t.Fatal(err)
	}
	if err := e.Call("/v3/kv/compaction", fmt.Sprintf(`{"revision": %q, "physical": true}`, header.Header.Revision), nil); err != nil {
		t.Fatal(err)
	}
}

// Call posts a JSON request to a path of the gateway, and decodes the answer if that is not nil.
func (e *Etcd) Call(path, body string, answer any) error {
	response, err := e.client.Post(e.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("etcd: %s: %s %s", path, response.Status, text)
	}
	if err == nil && answer != nil {
		err = json.Unmarshal(text, answer)
	}
	return err
}
