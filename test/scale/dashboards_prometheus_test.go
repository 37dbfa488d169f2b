package scale

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/exporter"
	"github.com/kubevoltracker/kubevoltracker/test/grafana"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

const (
	// scrapes are how often Prometheus scrapes before it is asked; at 100,000 volumes it needs some seconds for each.
	scrapes        = 5
	scrapeInterval = 15 * time.Second
	// pointsOfGraph are how many points a graph has on a screen.
	pointsOfGraph = 240
)

// TestDashboardsOfPrometheus has a real Prometheus scrape an exporter with as many volumes as asked for, and prints how long the queries
// of the dashboards take: instant ones at the end, graphs with 240 points over the time that was scraped.
func TestDashboardsOfPrometheus(t *testing.T) {
	volumes, _ := strconv.Atoi(os.Getenv("BENCH_DASHBOARDS_VOLUMES"))
	if volumes == 0 {
		t.Skip("it takes minutes: make bench-dashboards")
	}
	e := exporter.New(exporter.Options{Registry: prometheus.NewRegistry(), PerVolume: true})
	e.Apply(manyVolumes(volumes))
	tracker := httptest.NewServer(e.Handler())
	defer tracker.Close()
	address := scrapedBy(t, tracker.Listener.Addr().String())
	began := time.Now()
	var took, series float64
	for {
		time.Sleep(scrapeInterval / 3)
		n, err := count(address, `count_over_time(up{job="kubevoltracker"}[1h])`)
		if err != nil {
			t.Fatal(err)
		}
		if n >= scrapes {
			break
		}
	}
	took, _ = count(address, `max(scrape_duration_seconds{job="kubevoltracker"})`)
	series, _ = count(address, `max(scrape_samples_scraped{job="kubevoltracker"})`)
	always := map[string][]string{"volume": {"pv-000007"}, "workload": {"Deployment/none"}}
	few := map[string][]string{"volume": always["volume"], "workload": always["workload"], "cluster": {"test"}, "namespace": {"team-007"}}
	var all []panelTime
	for name, d := range grafana.Dashboards(t) {
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				if q.Expr == "" {
					continue
				}
				m := panelTime{where: fmt.Sprintf("%s: %s %s", name, p.Title, q.RefID)}
				for i, chosen := range []map[string][]string{always, few} {
					v := grafana.View{From: began, To: time.Now(), Chosen: d.In("test", chosen)}
					m.took[i] = time.Hour
					for range attempts {
						at := time.Now()
						n, err := evaluate(address, v.PromQL(d, q.Expr), q.Instant, v)
						m.took[i], m.rows[i] = min(m.took[i], time.Since(at)), n
						if err != nil {
							m.err = err.Error()
						}
					}
				}
				all = append(all, m)
			}
		}
	}
	t.Logf("\n%d volumes, %.0f series, a scrape takes %.1f s, Prometheus\n%s", volumes, series, took, panelTable(all))
}

// slowest sorts by the longer one of the two times, descending.
func slowest(all []panelTime) {
	slices.SortFunc(all, func(a, b panelTime) int { return int(max(b.took[0], b.took[1]) - max(a.took[0], a.took[1])) })
}

// manyVolumes are volumes of 500 namespaces and five classes; of seven, four are mounted, one is idle, one never mounted, and one released.
func manyVolumes(n int) *fact.Update {
	u := &fact.Update{}
	now := fact.Time(time.Now().UnixMicro())
	day := fact.Time(24 * time.Hour / time.Microsecond)
	for c := range 5 {
		u.Classes = append(u.Classes, fact.ClassState{Name: fmt.Sprint("class-", c), Provisioner: "csi.example"})
		u.Capacities = append(u.Capacities, fact.CapacityState{UID: fmt.Sprint("capacity-", c), StorageClass: fmt.Sprint("class-", c), Driver: "csi.example", CapacityBytes: 1 << 40})
	}
	for i := range n {
		v := fact.VolumeState{
			UID: fmt.Sprint("volume-", i), Name: fmt.Sprintf("pv-%06d", i), StorageClass: fmt.Sprint("class-", i%5), SourceKind: "csi", Driver: "csi.example",
			ReclaimPolicy: "Delete", CapacityBytes: int64(1+i%100) << 30, UsedBytes: int64(1+i%50) << 29, AvailableBytes: 1 << 30, Inodes: 1 << 20, InodesUsed: int64(i % 1000),
			Measured: true, Used: true, Namespace: fmt.Sprintf("team-%03d", i%namespaces), Claim: fmt.Sprint("data-", i), ClaimClass: fmt.Sprint("class-", i%5), Owner: fmt.Sprint("owner-", i%100),
			Status: fact.VolumeMounted, Mounts: 1, ChangedAt: now - day,
		}
		switch i % 7 {
		case 4:
			v.Status, v.LastUsed, v.IdleSince, v.Mounts = fact.VolumeIdle, now-day*fact.Time(i%100), now-day*fact.Time(i%100), 0
		case 5:
			v.Status, v.IdleSince, v.Mounts, v.Used = fact.VolumeNeverMounted, now-day*fact.Time(i%100), 0, false
		case 6:
			v.Status, v.IdleSince, v.Mounts = fact.VolumeReleased, now-day*fact.Time(i%100), 0
		}
		u.Volumes = append(u.Volumes, v)
		u.Claims = append(u.Claims, fact.ClaimState{
			UID: fmt.Sprint("claim-", i), Namespace: v.Namespace, StorageClass: v.StorageClass, Phase: "Bound",
			RequestedBytes: v.CapacityBytes, CapacityBytes: v.CapacityBytes, BoundAt: now - day,
		})
	}
	return u
}

// scrapedBy starts a Prometheus that scrapes a tracker until the test ends, and returns its address.
func scrapedBy(t *testing.T, target string) string {
	t.Helper()
	dir := t.TempDir()
	config := fmt.Sprintf(`
global: {scrape_interval: %[1]s, scrape_timeout: %[1]s}
scrape_configs:
  - job_name: kubevoltracker
    honor_labels: true
    static_configs: [{targets: [%[2]q], labels: {cluster: test, instance: a}}]
`, scrapeInterval, target)
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	address := "127.0.0.1:" + harness.FreePort(t)
	server := exec.Command(harness.Program(t, "prometheus"), "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait()
	})
	harness.Eventually(t, "Prometheus answers", func() error {
		_, err := count(address, "vector(1)")
		return err
	})
	return address
}

// answered is an answer of Prometheus' API.
type answered struct {
	Status, Error string
	Data          struct {
		Result []struct {
			Value []any
		}
	}
}

func askPrometheus(address, path string, form url.Values) (a answered, err error) {
	r, err := http.PostForm("http://"+address+path, form)
	if err != nil {
		return a, err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return a, fmt.Errorf("%w in %s", err, body)
	}
	if a.Status != "success" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// count returns the only value of an expression, or 0.
func count(address, expr string) (n float64, err error) {
	a, err := askPrometheus(address, "/api/v1/query", url.Values{"query": {expr}})
	if err != nil || len(a.Data.Result) == 0 {
		return 0, err
	}
	return strconv.ParseFloat(fmt.Sprint(a.Data.Result[0].Value[1]), 64)
}

// evaluate asks as a panel does, and returns the number of series.
func evaluate(address, expr string, instant bool, v grafana.View) (int, error) {
	path, form := "/api/v1/query", url.Values{"query": {expr}}
	if !instant {
		path = "/api/v1/query_range"
		form.Set("start", fmt.Sprint(float64(v.From.UnixMilli())/1e3))
		form.Set("end", fmt.Sprint(float64(v.To.UnixMilli())/1e3))
		form.Set("step", fmt.Sprint(v.To.Sub(v.From).Seconds()/pointsOfGraph))
	}
	a, err := askPrometheus(address, path, form)
	return len(a.Data.Result), err
}
