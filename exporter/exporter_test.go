package exporter

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// testNow is the moment of all scrapes in the tests: 2026-01-02 03:04:05 UTC.
const testNow = fact.Time(1767323045 * 1e6)

const (
	acceptText        = "text/plain;version=0.0.4"
	acceptOpenMetrics = "application/openmetrics-text;version=1.0.0"
	acceptProto       = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
)

// ago is the moment d before testNow.
func ago(d time.Duration) fact.Time { return testNow - fact.Time(d.Microseconds()) }

func newTestExporter() *Exporter {
	return New(Options{
		Registry:          prometheus.NewRegistry(),
		PerVolume:         true,
		CreatedTimestamps: true,
		Now:               testNow.Time,
	})
}

func get(h http.Handler, accept string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// scrapeText returns the lines of the text exposition that begin with one of the
// prefixes, or are the comments of such a family.
func scrapeText(t *testing.T, e *Exporter, prefixes ...string) string {
	t.Helper()
	w := get(e.Handler(), acceptText)
	if w.Code != http.StatusOK {
		t.Fatalf("scrape answered %d: %s", w.Code, w.Body)
	}
	var b strings.Builder
	for line := range strings.Lines(w.Body.String()) {
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// samples is scrapeText without comments.
func samples(t *testing.T, e *Exporter, prefixes ...string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(scrapeText(t, e, prefixes...)) {
		if !strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// gauges is samples without counters.
func gauges(t *testing.T, e *Exporter, prefixes ...string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(samples(t, e, prefixes...)) {
		if name, _, _ := strings.Cut(line, "{"); !strings.HasSuffix(name, "_total") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func wantText(t *testing.T, got, want string) {
	t.Helper()
	want = strings.TrimLeft(want, "\n")
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// testVolume is a bound NFS volume that mysql has mounted for an hour.
func testVolume() fact.VolumeState {
	return fact.VolumeState{
		UID: "u1", Name: "pv-1", StorageClass: "fast", ClaimClass: "fast", SourceKind: "nfs", ReclaimPolicy: "Retain",
		CapacityBytes: 10 << 30, Namespace: "shop", Claim: "data-mysql-0", Owner: "anna",
		Status: fact.VolumeMounted, ChangedAt: ago(time.Hour), Mounts: 2, Used: true,
	}
}

func testClaim() fact.ClaimState {
	return fact.ClaimState{
		UID: "c1", Namespace: "shop", StorageClass: "fast", Phase: "Bound",
		RequestedBytes: 5 << 30, CapacityBytes: 10 << 30,
	}
}

func volumesUpdate(vs ...fact.VolumeState) *fact.Update {
	return &fact.Update{Volumes: vs}
}

func claimsUpdate(cs ...fact.ClaimState) *fact.Update {
	return &fact.Update{Claims: cs}
}

func changesUpdate(cs ...fact.Change) *fact.Update {
	return &fact.Update{Facts: fact.Facts{Changes: cs}}
}
