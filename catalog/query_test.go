package catalog_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
)

// TestAConnectionThatEndsIsAnError: an answer without rows is no error, and the end of a connection is. So a statement that never arrived does not
// seem to have run.
func TestAConnectionThatEndsIsAnError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.Close()
		}
	}))
	defer server.Close()
	c := catalogtest.Open(t, strings.TrimPrefix(server.URL, "http://"), "default")
	for name, ask := range map[string]func() (*catalog.Result, error){
		"read":  func() (*catalog.Result, error) { return c.Query(t.Context(), "SELECT 1", nil) },
		"write": func() (*catalog.Result, error) { return c.Run(t.Context(), "SELECT 1", nil) },
	} {
		if result, err := ask(); err == nil {
			result.Close()
			t.Errorf("%s: no error", name)
		}
	}
}
