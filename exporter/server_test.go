package exporter

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/net/http2"
)

// serve starts a server on two free ports and returns their addresses, and a
// function that stops it and returns what Serve did.
func serve(t *testing.T, o ServerOptions) (addresses []string, stop func() error) {
	t.Helper()
	o.ListenAddresses = []string{"127.0.0.1:0", "127.0.0.1:0"}
	if o.Metrics == nil {
		o.Metrics = fullExporter().Handler()
	}
	s, err := NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	listeners, err := Listen(ctx, o.ListenAddresses)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range listeners {
		addresses = append(addresses, l.Addr().String())
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listeners) }()
	var result error
	stopped := false
	stop = func() error {
		if !stopped {
			stopped = true
			cancel()
			result = <-ended
		}
		return result
	}
	t.Cleanup(func() { _ = stop() })
	return addresses, stop
}

func do(t *testing.T, method, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// dialFrom connects from an address of this machine.
func dialFrom(t *testing.T, from, to string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestConnectionsAreShared(t *testing.T) {
	addresses, _ := serve(t, ServerOptions{})
	probe := func(conn net.Conn) error {
		_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: tracker\r\n\r\n")
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
		}
		return err
	}
	var conns []net.Conn
	for range maxConnections {
		conns = append(conns, dialFrom(t, "127.0.0.2", addresses[0]))
		if err := probe(conns[len(conns)-1]); err != nil {
			t.Fatal(err)
		}
	}
	if code, _ := do(t, "GET", "http://"+addresses[0]+"/healthz"); code != http.StatusOK {
		t.Errorf("another client was answered %d", code)
	}
	if err := probe(conns[0]); err == nil {
		t.Errorf("there are more than %d connections", maxConnections)
	}
	if err := probe(conns[1]); err != nil {
		t.Errorf("more than the oldest connection ended: %v", err)
	}
	for _, conn := range conns[1:] {
		_ = conn.Close()
	}
	if err := probe(dialFrom(t, "127.0.0.2", addresses[0])); err != nil {
		t.Errorf("after connections have ended: %v", err)
	}
}

func TestStreamsAreFew(t *testing.T) {
	s, err := NewServer(ServerOptions{ListenAddresses: []string{"127.0.0.1:0"}, Metrics: http.NotFoundHandler()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(nil)
	server.Config, server.EnableHTTP2 = s.httpServer(), true
	server.StartTLS()
	defer server.Close()
	conn, err := tls.Dial("tcp", server.Listener.Addr().String(), &tls.Config{NextProtos: []string{"h2"}, InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	frame, err := framer.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	if streams, _ := frame.(*http2.SettingsFrame).Value(http2.SettingMaxConcurrentStreams); streams != maxStreams {
		t.Errorf("the server allows %d streams", streams)
	}
}

func TestServer(t *testing.T) {
	addresses, stop := serve(t, ServerOptions{TelemetryPath: "/m"})
	for _, address := range addresses {
		for _, tc := range []struct {
			method, path string
			code         int
			contains     string
		}{
			{"GET", "/m", 200, "\nkubevoltracker_volume_state{"},
			{"HEAD", "/m", 200, ""},
			{"POST", "/m", 405, ""},
			{"GET", "/", 200, `href="/m"`},
			{"GET", "/healthz", 200, "ok"},
			{"GET", "/metrics", 404, ""},
			{"GET", "/debug/pprof/", 404, ""},
		} {
			code, body := do(t, tc.method, "http://"+address+tc.path)
			if code != tc.code || !strings.Contains(body, tc.contains) {
				t.Errorf("%s %s answered %d, want %d with %q in:\n%.2000s", tc.method, tc.path, code, tc.code, tc.contains, body)
			}
		}
	}
	if err := stop(); err != nil {
		t.Errorf("stopped by its context, Serve returned %v", err)
	}
	if _, err := net.DialTimeout("tcp", addresses[0], time.Second); err == nil {
		t.Error("still listening after Serve has returned")
	}
}

func TestProfilesAreServedWhenAskedFor(t *testing.T) {
	addresses, _ := serve(t, ServerOptions{Pprof: true})
	for path, contains := range map[string]string{"/debug/pprof/": "goroutine", "/debug/pprof/heap?debug=1": "heap profile", "/debug/pprof/cmdline": "exporter", "/": "debug/pprof"} {
		if code, body := do(t, "GET", "http://"+addresses[0]+path); code != 200 || !strings.Contains(body, contains) {
			t.Errorf("%s answered %d without %q", path, code, contains)
		}
	}
}

func TestHealth(t *testing.T) {
	var catalog error
	addresses, _ := serve(t, ServerOptions{
		Live: []Check{{Name: "loop", Check: func() error { return nil }}},
		Ready: []Check{
			{Name: "lists", Check: func() error { return nil }, Note: func() string { return "one kind is skipped" }},
			{Name: "catalog", Check: func() error { return catalog }, Note: func() string { return "" }},
		},
	})
	want := func(path string, code int, body string) {
		t.Helper()
		if gotCode, got := do(t, "GET", "http://"+addresses[0]+path); gotCode != code || got != body {
			t.Errorf("%s answered %d:\n%s\nwant %d:\n%s", path, gotCode, got, code, body)
		}
	}
	want("/readyz", 200, "ok")
	want("/readyz?verbose", 200, "[+]lists ok: one kind is skipped\n[+]catalog ok\nreadyz check passed\n")
	catalog = errors.New("schema is not migrated yet")
	want("/readyz", 503, "[+]lists ok: one kind is skipped\n[-]catalog failed: schema is not migrated yet\nreadyz check failed\n")
	want("/livez", 200, "ok")
	want("/healthz?verbose", 200, "[+]loop ok\nhealthz check passed\n")
}

func TestBusyPortIsOneErrorThatNamesTheFlag(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = free.Close()

	_, err = Listen(t.Context(), []string{free.Addr().String(), busy.Addr().String()})
	want := fmt.Sprintf("--web.listen-address %[1]s: listen tcp %[1]s: bind: address already in use", busy.Addr())
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	// Listen has closed the first address again.
	again, err := net.Listen("tcp", free.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}

func TestBadOptionsNameTheFlag(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "web.yml")
	if err := os.WriteFile(bad, []byte("tls_server_confg: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address := []string{"127.0.0.1:0"}
	for _, tc := range []struct {
		options ServerOptions
		want    string
	}{
		{ServerOptions{ListenAddresses: address, WebConfigFile: bad}, "--web.config.file " + bad + ": "},
		{ServerOptions{ListenAddresses: address, WebConfigFile: "/no/such"}, "--web.config.file /no/such: "},
		{ServerOptions{ListenAddresses: address, TelemetryPath: "metrics"}, `--web.telemetry-path: "metrics" is not a plain path`},
		{ServerOptions{ListenAddresses: address, TelemetryPath: "/{x}"}, `--web.telemetry-path: "/{x}" is not a plain path`},
		{ServerOptions{ListenAddresses: address, TelemetryPath: "/readyz"}, "--web.telemetry-path: /readyz is taken"},
		{ServerOptions{ListenAddresses: address, TelemetryPath: "/debug/pprof"}, "--web.telemetry-path: /debug/pprof is taken"},
		{ServerOptions{}, "--web.listen-address: no address"},
	} {
		err := tc.options.Check()
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %q, want one line that begins with %q", err, tc.want)
		}
	}
}

func TestBasicAuth(t *testing.T) {
	config := filepath.Join(t.TempDir(), "web.yml")
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	users := fmt.Sprintf("basic_auth_users:\n  bob: %s\n", hash)
	if err := os.WriteFile(config, []byte(users), 0o600); err != nil {
		t.Fatal(err)
	}
	var logged strings.Builder
	addresses, stop := serve(t, ServerOptions{WebConfigFile: config, Logger: log.NewLogfmtLogger(log.NewSyncWriter(&logged))})
	for _, address := range addresses {
		for _, tc := range []struct {
			login string
			code  int
		}{{"", 401}, {"bob:wrong@", 401}, {"bob:secret@", 200}} {
			if code, _ := do(t, "GET", "http://"+tc.login+address+"/metrics"); code != tc.code {
				t.Errorf("as %q: answered %d, want %d", tc.login, code, tc.code)
			}
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if want := `msg="TLS is disabled." http2=false address=` + addresses[0]; !strings.Contains(logged.String(), want) {
		t.Errorf("no %s in the log:\n%s", want, logged.String())
	}
}
