package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// The tests run the programs that `make test` builds, against a real control
// plane, which is started once for all of them.

// program returns the path of a program that was built, and fails the test if it
// was not.
func program(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", ".cache", "bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is not built: run `make build localcluster libchdb promtool prometheus`, or make test", name)
	}
	return path
}

// localCluster is the control plane that the tests share.
type localCluster struct {
	dir, kubeconfig string
	client          *kubernetes.Clientset
	process         *exec.Cmd
}

var shared struct {
	once    sync.Once
	cluster *localCluster
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if c := shared.cluster; c != nil {
		c.stop()
	}
	os.Exit(code)
}

func cluster(t testing.TB) *localCluster {
	t.Helper()
	path := program(t, "localcluster")
	shared.once.Do(func() { shared.cluster, shared.err = startCluster(path, "--kubelet") })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

func startCluster(path string, args ...string) (*localCluster, error) {
	dir, err := os.MkdirTemp("", "kubevoltracker-test-")
	if err != nil {
		return nil, err
	}
	args = append([]string{"up", "--dir", dir, "--exit-with-parent"}, args...)
	c := &localCluster{dir: dir, process: exec.Command(path, args...)}
	c.process.Stderr = os.Stderr
	out, err := c.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.process.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready ") {
		return nil, fmt.Errorf("the local cluster did not come up: %q, %w", line, err)
	}
	c.kubeconfig = filepath.Join(dir, "kubeconfig")
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	c.client, err = kubernetes.NewForConfig(config)
	return c, err
}

func (c *localCluster) stop() {
	_ = c.process.Process.Signal(syscall.SIGTERM)
	_ = c.process.Wait()
	_ = os.RemoveAll(c.dir)
}

// kubectl runs the cluster's own kubectl.
func (c *localCluster) kubectl(t testing.TB, args ...string) string {
	t.Helper()
	out, err := c.tryKubectl(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (c *localCluster) tryKubectl(t testing.TB, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(program(t, "localcluster"), append([]string{"kubectl"}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}

// tracker is a running `kubevoltracker run`.
type tracker struct {
	process *exec.Cmd
	web     string // host:port
	catalog string // URL of the embedded ClickHouse, empty if there is none
	exited  chan error

	mu  sync.Mutex
	log []map[string]any
}

// runArgs completes the arguments of run with a directory and free ports, where
// they name none.
func runArgs(t testing.TB, args ...string) []string {
	for _, standard := range []string{
		"--data-dir=" + t.TempDir(), "--web.listen-address=127.0.0.1:0", "--catalog.embedded-listen-address=127.0.0.1:0",
		"--kubelet.interval=0s", // kwok's nodes have none
	} {
		flag := strings.SplitAfter(standard, "=")[0]
		if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, flag) }) {
			args = append(args, standard)
		}
	}
	return append([]string{"run"}, args...)
}

// startTracker runs a tracker of the shared cluster until the test ends, and
// waits until it serves.
func startTracker(t testing.TB, kubeconfig string, args ...string) *tracker {
	t.Helper()
	p := launchTracker(t, kubeconfig, args...)
	t.Cleanup(func() {
		p.stop(t)
		if t.Failed() {
			p.mu.Lock()
			defer p.mu.Unlock()
			for _, line := range p.log[max(0, len(p.log)-40):] {
				t.Log(line)
			}
		}
	})
	p.awaitServing(t)
	return p
}

// launchTracker starts a tracker, which the caller has to end.
func launchTracker(t testing.TB, kubeconfig string, args ...string) *tracker {
	t.Helper()
	args = runArgs(t, append(args, "--kube.kubeconfig="+kubeconfig, "--log.format=json", "--log.level=debug")...)
	p := &tracker{process: exec.Command(program(t, "kubevoltracker"), args...), exited: make(chan error, 1)}
	out, err := p.process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.process.Start(); err != nil {
		t.Fatal(err)
	}
	go p.read(out)
	return p
}

// awaitServing waits until a tracker serves, and notes where.
func (p *tracker) awaitServing(t testing.TB) {
	t.Helper()
	eventually(t, "the tracker serves", func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, line := range p.log {
			switch line["msg"] {
			case "serving":
				p.web = fmt.Sprint(line["address"])
			case "serving ClickHouse":
				p.catalog = fmt.Sprint(line["url"]) + "/kubevoltracker"
			}
		}
		if p.web == "" {
			return fmt.Errorf("it does not serve yet: %v", p.log)
		}
		return nil
	})
}

func (p *tracker) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := map[string]any{}
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			line["msg"] = lines.Text()
		}
		p.mu.Lock()
		p.log = append(p.log, line)
		p.mu.Unlock()
	}
	p.exited <- p.process.Wait()
}

// stop asks the tracker to stop, once.
func (p *tracker) stop(t testing.TB) {
	t.Helper()
	if p.process.ProcessState != nil {
		return
	}
	_ = p.process.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-p.exited:
		p.exited <- err
		if err != nil && !errors.Is(err, errKilled) {
			t.Errorf("the tracker ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the tracker did not stop within 30 s of SIGTERM")
		_ = p.process.Process.Kill()
	}
}

// logged reports whether a message was logged.
func (p *tracker) logged(msg string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.log, func(line map[string]any) bool { return line["msg"] == msg })
}

func (p *tracker) get(path string) (status int, body string, err error) {
	r, err := http.Get("http://" + p.web + path)
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return r.StatusCode, string(b), err
}

// metrics scrapes the tracker: values by series, as the text format writes them.
func (p *tracker) metrics(t testing.TB) map[string]string {
	t.Helper()
	_, body, err := p.get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]string{}
	for line := range strings.Lines(body) {
		if i := strings.LastIndexByte(strings.TrimSpace(line), ' '); i > 0 && line[0] != '#' {
			series[line[:i]] = strings.TrimSpace(line[i:])
		}
	}
	return series
}

// query asks the catalog over plain HTTP, as curl would, and returns the rows as
// text, columns parted by tabs.
func (p *tracker) query(sql string) ([]string, error) {
	server, database := path.Split(p.catalog)
	r, err := http.Post(server+"?final=1&database="+database, "text/plain", strings.NewReader(sql))
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if r.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", r.Status, b)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n"), nil
}

// expectRows waits until a query returns the wanted rows.
func (p *tracker) expectRows(t testing.TB, sql string, want ...string) {
	t.Helper()
	eventually(t, sql, func() error {
		got, err := p.query(sql)
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("\n got %q\nwant %q", got, want)
		}
		return err
	})
}

// report runs a report and returns its rows.
func (p *tracker) report(t testing.TB, args ...string) []map[string]any {
	t.Helper()
	out, err := exec.Command(program(t, "kubevoltracker"),
		append(append([]string{"report"}, args...), "-o", "json", "--catalog.url="+p.catalog)...).Output()
	if err != nil {
		t.Fatalf("report %v: %v", args, err)
	}
	var rows []map[string]any
	if err := json.Unmarshal(out, &rows); err != nil {
		t.Fatalf("report %v: %v in %s", args, err, out)
	}
	return rows
}

// eventually tries until there is no error, for a minute: what it waits for is
// done by controllers that share two cores with other tests.
func eventually(t testing.TB, what string, try func() error) {
	t.Helper()
	var err error
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(100 * time.Millisecond) {
		if err = try(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

var background = context.Background()
