package catalog_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
)

// TestSandboxed asks the embedded engine, which says what confines it, and a server, which does not.
func TestSandboxed(t *testing.T) {
	c := catalogtest.Open(t, sharedAddress, "sandboxed")
	if _, known := c.Sandboxed(); known {
		t.Error("it is known before the first answer")
	}
	answer, err := http.Get("http://" + sharedAddress + "/ping")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	said := answer.Header.Get("X-Kubevoltracker-Sandbox")
	_ = c.Ping(t.Context()) // the database is missing
	if confined, known := c.Sandboxed(); said == "" || !known || confined != (said != "none") {
		t.Errorf("the engine says %q: confined %v, known %v", said, confined, known)
	}

	for said, want := range map[string][2]bool{"": {false, false}, "none": {false, true}, "landlock-7": {true, true}} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if said != "" {
				w.Header().Set("X-Kubevoltracker-Sandbox", said)
			}
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		c := catalogtest.Open(t, server.Listener.Addr().String(), "sandboxed")
		if err := c.Ping(t.Context()); err == nil {
			t.Error("a server that does not work answers")
		}
		if confined, known := c.Sandboxed(); confined != want[0] || known != want[1] {
			t.Errorf("%q: confined %v, known %v", said, confined, known)
		}
		server.Close()
	}
}
