package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	texttemplate "text/template"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/kubevoltracker/kubevoltracker/catalog/ingest"
	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector"
	"github.com/kubevoltracker/kubevoltracker/collector/election"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/exporter"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

var update = flag.Bool("update", false, "write docs/metrics.md and the golden files anew")

const (
	metricsPage  = "docs/metrics.md"
	metricPrefix = "kubevoltracker_"
)

// allMetrics returns a scrape of a tracker that has a series in each family, by family.
func allMetrics(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Options{Path: filepath.Join(t.TempDir(), "journal")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	registry := prometheus.NewRegistry()
	e := exporter.New(exporter.Options{Registry: registry, PerVolume: true})
	refuseAll(t, collector.Options{Registerer: registry, Features: collector.Features{Owners: true, Attachments: true, StorageCapacity: true}})
	if _, err := ingest.NewRecorder(ingest.RecorderOptions{Journal: j, Registerer: registry}); err != nil {
		t.Fatal(err)
	}
	ingest.NewWriter(nil, ingest.WriterOptions{Journal: j, Registerer: registry})
	election.Register(registry, nil)
	exporter.RegisterReady(registry, nil)
	ingest.RegisterSandbox(registry, func() (confined, known bool) { return true, true })
	e.Apply(&fact.Update{
		Classes:     []fact.ClassState{{Name: "fast", Provisioner: "csi.example"}},
		Capacities:  []fact.CapacityState{{UID: "k1"}},
		Attachments: []fact.AttachmentState{{UID: "a1", Volume: "pv-1", Operation: fact.Attaching, Since: 1}},
		Watched:     []fact.Span{{From: 1, To: 2}},
		Claims:      []fact.ClaimState{{UID: "c1", Namespace: "shop", Phase: "Bound", CapacityBytes: 1}},
		Volumes: []fact.VolumeState{
			{UID: "v1", Name: "pv-1", Status: fact.VolumeIdle, ChangedAt: 1, LastUsed: 1, Namespace: "shop", Measured: true, Inodes: 1, KeepUntil: 1, KeepUnreadable: "for ever"},
		},
	})
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	w := httptest.NewRecorder()
	e.Handler().ServeHTTP(w, r)
	families := map[string]*dto.MetricFamily{}
	body := bufio.NewReader(w.Body)
	for {
		f := &dto.MetricFamily{}
		if err := protodelim.UnmarshalFrom(body, f); errors.Is(err, io.EOF) {
			return families
		} else if err != nil {
			t.Fatal(err)
		}
		if name, ok := strings.CutPrefix(f.GetName(), metricPrefix); ok {
			families[name] = f
		}
	}
}

// refuseAll runs a collector until an API server has refused it a right.
func refuseAll(t *testing.T, o collector.Options) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`)
	}))
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c"}}],
		"clusters": [{"name": "c", "cluster": {"server": %q}}]}`, server.URL)
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := collector.NewClient(collector.ClientOptions{Kubeconfig: path})
	if err != nil {
		t.Fatal(err)
	}
	o.Client, o.Logger = client, log.NewNopLogger()
	c := collector.New(o)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	harness.Eventually(t, "a right is missing", func() error {
		if c.MissingRights() == "" {
			return errors.New("none is")
		}
		return nil
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestMetricsPageListsEveryMetric makes docs/metrics.md from what is served and from testdata/metrics.md.tmpl, which
// has the prose and the example queries, and compares. -update writes the page.
func TestMetricsPageListsEveryMetric(t *testing.T) {
	t.Parallel()
	families := allMetrics(t)
	table := func(args ...string) (string, error) {
		var b strings.Builder
		b.WriteString("| name | type | labels | meaning | for example |\n|---|---|---|---|---|\n")
		for i := 0; i < len(args); i += 2 {
			f := families[args[i]]
			if f == nil {
				return "", fmt.Errorf("%s is not served, or twice on the page", args[i])
			}
			delete(families, args[i])
			var labels []string
			for _, l := range f.GetMetric()[0].GetLabel() {
				labels = append(labels, "`"+l.GetName()+"`")
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | `%s` |\n", args[i], strings.ToLower(f.GetType().String()),
				strings.Join(labels, ", "), f.GetHelp(), strings.ReplaceAll(args[i+1], "@", metricPrefix))
		}
		return strings.TrimSuffix(b.String(), "\n"), nil
	}
	page, err := texttemplate.New("metrics.md.tmpl").Funcs(texttemplate.FuncMap{"metrics": table}).ParseFiles("testdata/metrics.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := page.Execute(&got, nil); err != nil {
		t.Fatal(err)
	}
	for name := range families {
		t.Errorf("%s is served, and not in testdata/metrics.md.tmpl", name)
	}
	if *update {
		if err := os.WriteFile(harness.File(t, metricsPage), got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(harness.File(t, metricsPage))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s is out of date: go test ./test/e2e -run MetricsPage -update", metricsPage)
	}
}

var question = regexp.MustCompile("(?m)^\\| `\\w+` \\|.*\\| `(.+)` \\|$")

// askQueriesOfMetricsPage runs the example queries of the page.
func askQueriesOfMetricsPage(t *testing.T, s *prometheusServer) {
	t.Helper()
	page, err := os.ReadFile(harness.File(t, metricsPage))
	if err != nil {
		t.Fatal(err)
	}
	questions := question.FindAllStringSubmatch(string(page), -1)
	if len(questions) < 40 {
		t.Errorf("only %d questions are found", len(questions))
	}
	for _, q := range questions {
		if _, err := s.query(q[1]); err != nil {
			// Both targets of the test are one tracker, so that a join finds two series.
			if !strings.Contains(err.Error(), "many-to-many") {
				t.Errorf("%s: %v", q[1], err)
			}
		}
	}
}

// TestScrapeWithLabelsPassesPromtool lets promtool read the scrape of a tracker that copies labels, and the golden
// scrape.
func TestScrapeWithLabelsPassesPromtool(t *testing.T) {
	t.Parallel()
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "linted")
	_, volume := c.CreateBoundClaim(t, ns, "data", "standard")
	p := harness.StartTracker(t, c.Kubeconfig, "--catalog.url=none", "--metrics.namespace-labels=kubernetes.io/metadata.name", "--metrics.namespace-allowlist="+ns,
		"--metrics.namespace-denylist=kube-.*", "--web.enable-pprof")
	var scrape string
	harness.Eventually(t, "the volume is served", func() (err error) {
		_, scrape, err = p.Get("/metrics")
		if err == nil && (!strings.Contains(scrape, volume.Name) || !strings.Contains(scrape, `namespace_label_kubernetes_io_metadata_name="linted"`)) {
			err = errors.New("it is not, or its namespace's label is not")
		}
		return err
	})
	golden, err := os.ReadFile(harness.File(t, "exporter/testdata/scrape.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a tracker's": scrape, "the golden": string(golden)} {
		check := exec.Command(harness.Program(t, "promtool"), "check", "metrics")
		check.Stdin = strings.NewReader(text)
		if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: promtool check metrics: %v\n%s", name, err, out)
		}
	}
	seen := regexp.MustCompile(`kubevoltracker_watch_last_seen_timestamp_seconds\{kind="Pod"\} (\S+)`).FindStringSubmatch(scrape)
	if seen == nil || time.Since(time.Unix(int64(mustFloat(t, seen[1])), 0)) > time.Minute {
		t.Errorf("the watch was last seen at %v", seen)
	}
	if status, body, err := p.Get("/debug/pprof/"); err != nil || status != http.StatusOK || !strings.Contains(body, "goroutine") {
		t.Errorf("profiles: %d, %v", status, err)
	}
}
