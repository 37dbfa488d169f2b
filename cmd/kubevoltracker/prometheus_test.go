package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What users install: alerts/*.yaml with a *_test.yaml each, and dashboards/*.json.
const (
	alertsDir     = "../../alerts"
	dashboardsDir = "../../dashboards"
)

// ruleFiles returns the rule files and their tests, each with an absolute path.
func ruleFiles(t testing.TB) (rules, tests []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(alertsDir, "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no alerts in %s: %v", alertsDir, err)
	}
	for _, path := range paths {
		path, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, "_test.yaml") {
			tests = append(tests, path)
		} else {
			rules = append(rules, path)
		}
	}
	return rules, tests
}

// TestAlertsFireAndStayQuiet runs promtool's own tests of the rules.
func TestAlertsFireAndStayQuiet(t *testing.T) {
	rules, tests := ruleFiles(t)
	for _, args := range [][]string{
		append([]string{"check", "rules", "--lint=all", "--lint-fatal"}, rules...),
		append([]string{"test", "rules"}, tests...),
	} {
		if out, err := exec.Command(program(t, "promtool"), args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args[:2], " "), err, out)
		}
	}
	for _, path := range rules {
		if !slices.Contains(tests, strings.TrimSuffix(path, ".yaml")+"_test.yaml") {
			t.Errorf("%s has no tests", path)
		}
	}
}

// dashboard is what the tests look at in a Grafana dashboard.
type dashboard struct {
	UID, Title, Description string
	Templating              struct {
		List []struct {
			Name, Type, Definition string
		}
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               datasource
	FieldConfig              struct {
		Defaults struct{ Unit string }
	}
	Targets []struct {
		RefID, Expr string
		Datasource  datasource
	}
}

type datasource struct{ Type, UID string }

// dashboards reads the dashboards, by file name.
func dashboards(t testing.TB) map[string]dashboard {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dashboardsDir, "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no dashboards in %s: %v", dashboardsDir, err)
	}
	all := map[string]dashboard{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[filepath.Base(path)] = d
		sameForm(t, path, text)
	}
	return all
}

// sameForm holds that a dashboard is written as `jq -S .` writes it, whoever
// exported it from Grafana, so that a diff shows what changed.
func sameForm(t testing.TB, path string, text []byte) {
	t.Helper()
	var parsed map[string]any
	if err := json.Unmarshal(text, &parsed); err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(parsed); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, want.Bytes()) {
		t.Errorf("%s is not in the common form: jq -S . %[1]s", path)
	}
	if bytes.Contains(text, []byte(": null")) {
		t.Errorf("%s has nulls: leave such keys out", path)
	}
}

// fixedRange finds a rate that does not follow the panel's resolution.
var fixedRange = regexp.MustCompile(`(?:rate|increase)\([^\[]*\[(?:[^$]|\$__[^r])`)

// TestDashboardsSayWhatTheyShow holds what each panel has to have.
func TestDashboardsSayWhatTheyShow(t *testing.T) {
	uids := map[string]string{}
	for file, d := range dashboards(t) {
		if other, taken := uids[d.UID]; taken || !strings.HasPrefix(d.UID, "kubevoltracker-") || d.Title == "" || d.Description == "" {
			t.Errorf("%s: uid %q (also of %q), title %q, description %q", file, d.UID, other, d.Title, d.Description)
		}
		uids[d.UID] = file
		ids := map[int]bool{}
		for _, p := range d.Panels {
			if ids[p.ID] || p.Title == "" {
				t.Errorf("%s: panel %d is there twice, or has no title", file, p.ID)
			}
			ids[p.ID] = true
			if p.Type == "row" {
				continue
			}
			if p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
				t.Errorf("%s, panel %q lacks a description, a unit or a query", file, p.Title)
			}
			for _, target := range p.Targets {
				chosen := datasource{"prometheus", "${datasource}"}
				if p.Datasource != chosen || target.Datasource != chosen {
					t.Errorf("%s, panel %q: its data source is not the one that the user chooses", file, p.Title)
				}
				if fixedRange.MatchString(target.Expr) {
					t.Errorf("%s, panel %q: a rate over anything but $__rate_interval: %s", file, p.Title, target.Expr)
				}
			}
		}
	}
}

// prometheusServer is a real Prometheus that scrapes a tracker.
type prometheusServer struct {
	promv1.API
	client api.Client
}

// startPrometheus runs a Prometheus with our alerts until the test ends. It
// scrapes the tracker each second under two names, as if there were a pair of
// them, and adds the labels that a Kubernetes service discovery would.
func startPrometheus(t testing.TB, tracker string) *prometheusServer {
	t.Helper()
	rules, _ := ruleFiles(t)
	dir := t.TempDir()
	files, err := json.Marshal(rules)
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: %s
scrape_configs:
  - job_name: kubevoltracker
    honor_labels: true
    static_configs:
      - {targets: [%q], labels: {cluster: test, namespace: storage, pod: tracker-0, instance: a}}
      - {targets: [%q], labels: {cluster: test, namespace: storage, pod: tracker-1, instance: b}}
`, files, tracker, tracker)
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	process := exec.Command(program(t, "prometheus"), "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0", "--log.format=json",
		"--scrape.discovery-reload-interval=100ms")
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // should the tests die
	log, err := process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Signal(syscall.SIGTERM)
		_ = process.Wait()
	})
	client, err := api.NewClient(api.Config{Address: "http://" + listensOn(t, bufio.NewScanner(log))})
	if err != nil {
		t.Fatal(err)
	}
	return &prometheusServer{promv1.NewAPI(client), client}
}

// listensOn reads Prometheus' log up to where it tells its address, and lets
// the rest pass.
func listensOn(t testing.TB, log *bufio.Scanner) string {
	t.Helper()
	var seen []string
	for log.Scan() {
		var line struct{ Msg, Address string }
		seen = append(seen, log.Text())
		if json.Unmarshal(log.Bytes(), &line) == nil && line.Msg == "Listening on" {
			go func() {
				for log.Scan() {
				}
			}()
			return line.Address
		}
	}
	t.Fatalf("Prometheus did not come up:\n%s", strings.Join(seen, "\n"))
	return ""
}

// query evaluates an expression now. Unlike the client's own it takes an
// annotation, of which the client drops those of level info, for an error.
func (s *prometheusServer) query(expr string) (model.Vector, error) {
	request, err := http.NewRequest(http.MethodPost, s.client.URL("/api/v1/query", nil).String(), strings.NewReader(url.Values{"query": {expr}}.Encode()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	_, body, err := s.client.Do(background, request)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Status, Error   string
		Warnings, Infos []string
		Data            struct{ Result model.Vector }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("%w in %s", err, body)
	}
	if notes := slices.Concat(answer.Warnings, answer.Infos); answer.Status != "success" || len(notes) > 0 {
		return nil, fmt.Errorf("%s %s %q", answer.Status, answer.Error, notes)
	}
	return answer.Data.Result, nil
}

// value is the only value of an expression.
func (s *prometheusServer) value(expr string) (float64, error) {
	v, err := s.query(expr)
	if err == nil && len(v) != 1 {
		err = fmt.Errorf("%s: %d values, want one: %v", expr, len(v), v)
	}
	if err != nil {
		return 0, err
	}
	return float64(v[0].Value), nil
}

// awaitScrape waits until each target has been scraped after now.
func (s *prometheusServer) awaitScrape(t testing.TB) {
	t.Helper()
	now := float64(time.Now().UnixMilli()) / 1e3
	eventually(t, "the next scrape", func() error {
		last, err := s.value(`min(timestamp(up)) and count(up == 1) == 2`)
		if err == nil && last <= now {
			err = fmt.Errorf("the last one was %.1f s before", now-last)
		}
		return err
	})
}

// samples are the raw samples of the last minute of a series.
func (s *prometheusServer) samples(t testing.TB, series string) []model.SamplePair {
	t.Helper()
	value, _, err := s.Query(background, series+"[1m]", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	matrix, ok := value.(model.Matrix)
	if !ok || len(matrix) != 1 {
		t.Fatalf("%s: want one series: %v", series, value)
	}
	return matrix[0].Values
}

// TestPrometheusScrapesTheTracker lets a real Prometheus scrape a tracker, and
// asks it all that our alerts and dashboards ask.
func TestPrometheusScrapesTheTracker(t *testing.T) {
	c := cluster(t)
	ns := c.namespace(t, "scraped")
	p := startTracker(t, c.kubeconfig, "--kubelet.interval=1s")
	for claim, class := range map[string]string{"used": "standard", "unused": "standard", "goes": "standard", "kept": "standard-retain", "first": "nfs"} {
		c.claim(t, ns, claim, class)
	}
	c.pod(t, ns, "user", 0, "used")
	c.storageCapacity(t, ns)
	d := c.disk(t, ns, "disk")
	d.awaitUsed(t, p)
	d.leave(t)
	s := startPrometheus(t, p.web)
	c.await(t, ns, "user", corev1.PodRunning)
	for _, claim := range []string{"unused", "goes", "kept", "first"} {
		c.awaitBound(t, ns, claim)
	}

	t.Run("up", func(t *testing.T) {
		s.awaitScrape(t)
		if up, err := s.value(`sum(up{job="kubevoltracker"})`); err != nil || up != 2 {
			t.Errorf("%v of 2 targets are up: %v", up, err)
		}
	})
	t.Run("a counter grows by what was created", func(t *testing.T) { counterGrows(t, c, p, s, ns) })
	t.Run("series of a deleted claim's volume end with the next scrape", func(t *testing.T) { seriesEnd(t, c, p, s, ns) })
	t.Run("a released volume is told", func(t *testing.T) {
		_, volume := c.awaitBound(t, ns, "kept")
		deleteClaim(t, c, ns, "kept")
		eventually(t, "released", func() error {
			_, err := s.value(fmt.Sprintf(`max by (state) (kubevoltracker_volume_state{persistentvolume=%q, namespace=%q, state="released"})`, volume.Name, ns))
			return err
		})
	})
	t.Run("every query of the dashboards has an answer", func(t *testing.T) {
		for file, d := range dashboards(t) {
			t.Run(file, func(t *testing.T) { d.ask(t, s, ns) })
		}
	})
	t.Run("every question of the metrics' page can be asked", func(t *testing.T) { askMetricsPage(t, s) })
	t.Run("every alert can be evaluated", func(t *testing.T) { rulesWork(t, s) })
	t.Run("a pair of trackers counts once", func(t *testing.T) { pairCountsOnce(t, c, s, ns) })
}

// storageCapacity says what the class standard can still provision, as a CSI driver does.
func (c *localCluster) storageCapacity(t testing.TB, namespace string) {
	t.Helper()
	capacity := resource.MustParse("100Gi")
	capacities := c.client.StorageV1().CSIStorageCapacities(namespace)
	if _, err := capacities.Create(background, &storagev1.CSIStorageCapacity{
		ObjectMeta: metav1.ObjectMeta{Name: "everywhere"}, StorageClassName: "standard", Capacity: &capacity, NodeTopology: &metav1.LabelSelector{},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = capacities.Delete(background, "everywhere", metav1.DeleteOptions{}) })
}

func deleteClaim(t testing.TB, c *localCluster, namespace, name string) {
	t.Helper()
	if err := c.client.CoreV1().PersistentVolumeClaims(namespace).Delete(background, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// counterGrows compares volumes_created_total, as scraped, with what is created.
// Its series is there already: its first step would not be seen otherwise.
func counterGrows(t *testing.T, c *localCluster, p *tracker, s *prometheusServer, ns string) {
	const (
		created = 5
		counter = `kubevoltracker_volumes_created_total{instance="a", storageclass="nfs", source="nfs"}`
		shown   = `kubevoltracker_volumes_created_total{source="nfs",storageclass="nfs"}`
	)
	before, beforeShown := s.samples(t, counter), p.metrics(t)[shown]
	for i := range created {
		c.claim(t, ns, fmt.Sprint("more-", i), "nfs")
	}
	for i := range created {
		c.awaitBound(t, ns, fmt.Sprint("more-", i))
	}
	eventually(t, "the tracker has seen them", func() error {
		if now := p.metrics(t)[shown]; now != fmt.Sprint(mustFloat(t, beforeShown)+created) {
			return fmt.Errorf("%s, before %s", now, beforeShown)
		}
		return nil
	})
	s.awaitScrape(t)
	after := s.samples(t, counter)
	first, last := before[len(before)-1], after[len(after)-1]
	if grown := last.Value - first.Value; grown != created {
		t.Errorf("it grew by %v, want %d", grown, created)
	}
	// A range extrapolates to its ends: this one ends with a sample, and begins
	// right before one, as the range itself does not hold its beginning.
	length := last.Timestamp - first.Timestamp + 1
	window := fmt.Sprintf("(%s[%dms] @ %s)", counter, length, last.Timestamp)
	if increase, err := s.value("increase" + window); err != nil || math.Abs(increase-created) > 0.01 {
		t.Errorf("increase() is %v, want %d: %v", increase, created, err)
	}
	if rate, err := s.value("rate" + window); err != nil || math.Abs(rate*float64(length)/1000-created) > 0.01 {
		t.Errorf("rate() is %v, want %d in %d ms: %v", rate, created, length, err)
	}
}

func mustFloat(t testing.TB, text string) (f float64) {
	t.Helper()
	if _, err := fmt.Sscan(text, &f); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return f
}

// seriesEnd deletes a claim, and with it its volume.
func seriesEnd(t *testing.T, c *localCluster, p *tracker, s *prometheusServer, ns string) {
	_, volume := c.awaitBound(t, ns, "goes")
	all := fmt.Sprintf(`{__name__=~"kubevoltracker_.+", persistentvolume=%q}`, volume.Name)
	s.awaitScrape(t)
	if v, err := s.query(all); err != nil || len(v) == 0 {
		t.Fatalf("no series before: %v", err)
	}
	deleteClaim(t, c, ns, "goes")
	eventually(t, "the tracker lets go of it", func() error {
		if series := metricOf(p.metrics(t), "kubevoltracker_volume_info", volume.Name); series != "" {
			return fmt.Errorf("%s", series)
		}
		return nil
	})
	s.awaitScrape(t)
	if v, err := s.query(all); err != nil || len(v) > 0 {
		t.Errorf("series after the next scrape: %v %v", v, err)
	}
}

// ask asks every query of a dashboard: with all that can be chosen, where each
// must have data, and with one namespace and class.
func (d dashboard) ask(t *testing.T, s *prometheusServer, ns string) {
	all := strings.NewReplacer("$__rate_interval", "1m", "$cluster", ".*", "$namespace", ".*", "$storageclass", ".*")
	one := strings.NewReplacer("$__rate_interval", "1m", "$cluster", "test", "$namespace", "("+ns+"|other)", "$storageclass", "standard")
	for _, variable := range d.Templating.List {
		if variable.Type == "query" {
			askVariable(t, s, variable.Name, all.Replace(variable.Definition))
		}
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			expr := all.Replace(target.Expr)
			if v, err := s.query(expr); err != nil || len(v) == 0 {
				t.Errorf("panel %q, query %s: %d series, %v\n%s", p.Title, target.RefID, len(v), err, expr)
			}
			if _, err := s.query(one.Replace(target.Expr)); err != nil {
				t.Errorf("panel %q, query %s: %v\n%s", p.Title, target.RefID, err, one.Replace(target.Expr))
			}
		}
	}
}

var labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)

// askVariable asks for a variable's values as Grafana does.
func askVariable(t *testing.T, s *prometheusServer, name, definition string) {
	t.Helper()
	m := labelValues.FindStringSubmatch(definition)
	if m == nil {
		t.Errorf("variable %s: %s is no label_values(series, label)", name, definition)
		return
	}
	values, warnings, err := s.LabelValues(background, m[2], []string{m[1]}, time.Now().Add(-time.Hour), time.Now())
	if err != nil || len(warnings) > 0 || len(values) == 0 {
		t.Errorf("variable %s: values %v, warnings %v, %v", name, values, warnings, err)
	}
}

// rulesWork holds that Prometheus evaluates each alert without a complaint, that
// each has what its reader needs, and that none of the tracker's own is about to
// fire.
func rulesWork(t *testing.T, s *prometheusServer) {
	text, err := os.ReadFile(filepath.Join(alertsDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	runbook := string(text)
	var result promv1.RulesResult
	eventually(t, "all rules are evaluated", func() (err error) {
		if result, err = s.Rules(background, nil); err != nil {
			return err
		}
		for _, group := range result.Groups {
			for _, rule := range group.Rules {
				if alert, ok := rule.(promv1.AlertingRule); !ok || alert.Health != promv1.RuleHealthGood {
					return fmt.Errorf("%+v", rule)
				}
			}
		}
		return nil
	})
	for _, group := range result.Groups {
		for _, rule := range group.Rules {
			alert := rule.(promv1.AlertingRule)
			if _, err := s.query(alert.Query); err != nil {
				t.Errorf("%s: %v", alert.Name, err)
			}
			kwok := alert.Name == "KubevoltrackerKubeletsFailing" // has no kubelets, so that is true
			if strings.HasSuffix(group.File, "tracker.yaml") && !kwok && alert.State != string(promv1.AlertStateInactive) {
				t.Errorf("%s is %s though all is well: %v", alert.Name, alert.State, alert.Alerts)
			}
			alertIsWhole(t, alert, runbook)
		}
	}
}

func alertIsWhole(t *testing.T, alert promv1.AlertingRule, runbook string) {
	t.Helper()
	if severity := string(alert.Labels["severity"]); !slices.Contains([]string{"info", "warning", "critical"}, severity) {
		t.Errorf("%s: severity %q", alert.Name, severity)
	}
	if alert.Duration == 0 || alert.Annotations["summary"] == "" || alert.Annotations["description"] == "" {
		t.Errorf("%s lacks `for`, a summary or a description", alert.Name)
	}
	if !strings.HasSuffix(string(alert.Annotations["runbook_url"]), "/alerts/README.md#"+strings.ToLower(alert.Name)) ||
		!strings.Contains(runbook, "\n### "+alert.Name+"\n") {
		t.Errorf("%s has no section in alerts/README.md, or does not name it", alert.Name)
	}
}

// pairCountsOnce compares a stat of the overview with the API: both targets are
// the same cluster's, and its volumes must not count twice.
func pairCountsOnce(t *testing.T, c *localCluster, s *prometheusServer, ns string) {
	for _, p := range dashboards(t)["overview.json"].Panels {
		if p.Title != "Claimed space" {
			continue
		}
		expr := strings.NewReplacer("$cluster", ".*", "$namespace", ns, "$storageclass", "standard|nfs|manual").Replace(p.Targets[0].Expr)
		claims, err := c.client.CoreV1().PersistentVolumeClaims(ns).List(background, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.value(expr); err != nil || got != float64(len(claims.Items)<<30) {
			t.Errorf("%v bytes, want %d claims of 1Gi: %v", got, len(claims.Items), err)
		}
		return
	}
	t.Error("the overview has no panel \"Claimed space\"")
}
