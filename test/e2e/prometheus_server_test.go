package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// prometheusServer is a real Prometheus that scrapes a tracker.
type prometheusServer struct {
	promv1.API
	client api.Client
}

// startPrometheus runs a Prometheus with our alerts until the test ends. It scrapes the tracker each second under
// two names, as if there were two of them, and adds the labels that a service discovery would.
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
	process := exec.Command(harness.Program(t, "prometheus"), "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0", "--log.format=json",
		"--scrape.discovery-reload-interval=100ms")
	return runPrometheus(t, process)
}

// startListening starts a program that logs where it listens, returns that address, and stops the program when the test ends.
func startListening(t testing.TB, process *exec.Cmd) string {
	t.Helper()
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // ends it if the test process is killed
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
	return listensOn(t, bufio.NewScanner(log))
}

// runPrometheus starts a Prometheus and stops it when the test ends.
func runPrometheus(t testing.TB, process *exec.Cmd) *prometheusServer {
	t.Helper()
	client, err := api.NewClient(api.Config{Address: "http://" + startListening(t, process)})
	if err != nil {
		t.Fatal(err)
	}
	return &prometheusServer{promv1.NewAPI(client), client}
}

// listensOn reads Prometheus' log up to its address, and drops the rest.
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

// query evaluates an expression now. An annotation is an error; the library's client drops those of level info.
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

// value returns the only value of an expression.
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
	harness.Eventually(t, "the next scrape", func() error {
		last, err := s.value(`min(timestamp(up)) and count(up == 1) == 2`)
		if err == nil && last <= now {
			err = fmt.Errorf("the last one was %.1f s before", now-last)
		}
		return err
	})
}

// samples returns the samples of a series in the last minute.
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
