package catalog_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
)

// TestARetentionWaitsForALongMerge has merges that take longer than ReadTimeout.
func TestARetentionWaitsForALongMerge(t *testing.T) {
	const readTimeout = 500 * time.Millisecond
	direct := migrated(t)
	slow := httptest.NewServer(slowMerges(t, 3*readTimeout))
	defer slow.Close()
	c := catalogtest.Open(t, slow.Listener.Addr().String(), direct.Database())
	if err := c.SetReadTimeout(readTimeout); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		rows(t, direct, `INSERT INTO mounts (cluster, namespace, pod_created_at, pod_uid, container, volume, started_at, version)
			VALUES ('east', 'shop', '2026-01-02 00:00:00', 'pod', 'main', 'data', '2026-01-02 00:00:00', 1)`)
	}
	const merge = "OPTIMIZE TABLE mounts FINAL"
	if _, err := c.Run(t.Context(), merge, nil); !catalog.IsReason(err, catalog.Unreachable) {
		t.Errorf("without a deadline: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	changes, err := c.Retain(ctx, catalog.Retention{"mounts": 400 * aDay})
	if err != nil || len(changes) != 2 {
		t.Errorf("%v, %v", changes, err)
	}
	short, cancel := context.WithTimeout(t.Context(), 2*readTimeout)
	defer cancel()
	if _, err := c.Run(short, merge, nil); !catalog.IsReason(err, catalog.Unreachable) {
		t.Errorf("with a deadline before the end: %v", err)
	}
}

// slowMerges returns a proxy to the engine in which each merge takes so much longer.
func slowMerges(t *testing.T, longer time.Duration) http.Handler {
	t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: sharedAddress})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		statement, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if strings.HasPrefix(string(statement), "OPTIMIZE") {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(longer):
			}
		}
		r.Body = io.NopCloser(strings.NewReader(string(statement)))
		proxy.ServeHTTP(w, r)
	})
}
