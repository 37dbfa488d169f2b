package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// errKilled is how a tracker ends that a test has killed.
var errKilled = errors.New("killed by the test")

// TestWaitsForClickHouse starts a tracker whose ClickHouse is not there yet: it
// serves, and writes all it has seen once ClickHouse comes.
func TestWaitsForClickHouse(t *testing.T) {
	c := cluster(t)
	ns := c.namespace(t, "waits")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	p := startTracker(t, c.kubeconfig, "--catalog.url=http://"+address+"/kubevoltracker")
	eventually(t, "ready without ClickHouse", func() error {
		if status, body, err := p.get("/readyz"); err != nil || status != 200 {
			return fmt.Errorf("%d %s %w", status, body, err)
		}
		return nil
	})
	c.claim(t, ns, "data", "standard")
	c.awaitBound(t, ns, "data")
	if up := p.metrics(t)["kubevoltracker_catalog_up"]; up != "0" {
		t.Errorf("catalog_up is %s", up)
	}

	p.catalog = "http://" + address + "/kubevoltracker"
	server := exec.Command(program(t, "kubevoltracker-clickhouse"), "--data-dir="+t.TempDir(), "--listen-address="+address)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	p.expectRows(t, "SELECT name, phase FROM claims WHERE namespace = 'waits'", "data\tBound")
	t.Cleanup(func() { p.stop(t) }) // before its ClickHouse
}

// TestEngineCrashCostsNothing kills the embedded ClickHouse under the tracker.
func TestEngineCrashCostsNothing(t *testing.T) {
	c := cluster(t)
	ns := c.namespace(t, "crash")
	p := startTracker(t, c.kubeconfig)
	p.expectRows(t, "SELECT count() > 0 FROM storage_classes", "1")
	if err := syscall.Kill(engineOf(t, p.process.Process.Pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.claim(t, ns, "data", "standard")
	c.awaitBound(t, ns, "data")
	p.expectRows(t, "SELECT name, phase FROM claims WHERE namespace = 'crash'", "data\tBound")
}

// engineOf finds the child of a tracker.
func engineOf(t testing.TB, parent int) int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state ppid …
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if fields[1] == strconv.Itoa(parent) && fields[0] != "Z" {
			pid, err := strconv.Atoi(strings.Fields(string(text))[0])
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("process %d has no child", parent)
	return 0
}

// TestWaitsForTheAPIServer takes the API server away and back.
func TestWaitsForTheAPIServer(t *testing.T) {
	c := cluster(t)
	ns := c.namespace(t, "restart")
	c.claim(t, ns, "before", "standard")
	c.awaitBound(t, ns, "before")
	p := startTracker(t, c.kubeconfig)
	p.expectRows(t, "SELECT name FROM claims WHERE namespace = 'restart'", "before")

	out, err := exec.Command(program(t, "localcluster"), "restart", "kube-apiserver", "--dir", c.dir, "--down=3s").CombinedOutput()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if status, _, err := p.get("/livez"); err != nil || status != 200 {
		t.Errorf("not alive: %d %v", status, err)
	}
	eventually(t, "the API takes a claim", func() error {
		_, err := c.client.Discovery().ServerVersion()
		return err
	})
	c.claim(t, ns, "after", "standard")
	c.pod(t, ns, "user", 0, "before", "after")
	c.await(t, ns, "user", corev1.PodRunning)
	p.expectRows(t, "SELECT claim_name FROM mounts WHERE namespace = 'restart' ORDER BY claim_name", "after", "before")
	if failures := p.metrics(t)[`kubevoltracker_watch_failures_total{kind="Pod"}`]; failures == "0" {
		t.Error("no failure of the watch was counted")
	}
}

// TestStopsInOrder holds that what was seen is written before the tracker ends,
// and that nothing is left behind.
func TestStopsInOrder(t *testing.T) {
	c := cluster(t)
	ns := c.namespace(t, "stops")
	c.claim(t, ns, "data", "standard")
	c.awaitBound(t, ns, "data")
	dir := t.TempDir()
	p := startTracker(t, c.kubeconfig, "--data-dir="+dir)
	eventually(t, "listed", func() error {
		if !p.logged("listed") {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	engine := engineOf(t, p.process.Process.Pid)
	p.stop(t)
	if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", engine)); err == nil && !strings.Contains(string(state), ") Z ") {
		t.Error("the engine is left behind")
	}
	again := startTracker(t, c.kubeconfig, "--data-dir="+dir, "--kube.context=")
	again.expectRows(t, "SELECT count() FROM claims WHERE namespace = 'stops'", "1")
}

// TestKilledTrackerLeavesNothingBehind holds that the engine ends with its tracker,
// whatever ends that, and that the next tracker gets at the data.
func TestKilledTrackerLeavesNothingBehind(t *testing.T) {
	c := cluster(t)
	ns := c.namespace(t, "killed")
	c.claim(t, ns, "data", "standard")
	c.awaitBound(t, ns, "data")
	dir := t.TempDir()
	p := startTracker(t, c.kubeconfig, "--data-dir="+dir)
	p.expectRows(t, "SELECT phase FROM claims WHERE namespace = 'killed'", "Bound")
	engine := engineOf(t, p.process.Process.Pid)
	if err := p.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.exited <- errors.Join(<-p.exited, errKilled)
	eventually(t, "the engine ends", func() error {
		if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", engine)); err == nil && !strings.Contains(string(state), ") Z ") {
			return fmt.Errorf("process %d is left behind", engine)
		}
		return nil
	})
	again := startTracker(t, c.kubeconfig, "--data-dir="+dir)
	again.expectRows(t, "SELECT phase FROM claims WHERE namespace = 'killed'", "Bound")
}

// TestASecondSignalStopsAtOnce stops a tracker whose rows cannot be written now: it tries
// for a while, unless it is told again. Either way they are written later.
func TestASecondSignalStopsAtOnce(t *testing.T) {
	c := cluster(t)
	ns := c.namespace(t, "hurried")
	proxy := startFaultProxy(t, ownClickHouse(t))
	dir, url := t.TempDir(), "http://"+proxy.address+"/hurried"
	p := startTracker(t, c.kubeconfig, "--data-dir="+dir, "--catalog.url="+url)
	p.catalog = url
	p.expectRows(t, "SELECT count() FROM namespaces WHERE name = 'hurried'", "1")
	proxy.set(fault{name: "hangs", do: func(_ *faultProxy, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }})
	c.claim(t, ns, "data", "standard")
	eventually(t, "rows wait", func() error {
		if p.metrics(t)["kubevoltracker_journal_facts"] == "0" {
			return errors.New("none waits")
		}
		return nil
	})
	first := time.Now()
	for range 2 {
		if err := p.process.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatalf("it did not wait for its rows: %v", err)
		}
		time.Sleep(500 * time.Millisecond)
	}
	err := <-p.exited
	p.exited <- errors.Join(err, errKilled)
	if took := time.Since(first); took > 4500*time.Millisecond {
		t.Errorf("it ended after %s: %v", took, err)
	}
	proxy.set(fault{})
	p = startTracker(t, c.kubeconfig, "--data-dir="+dir, "--catalog.url="+url)
	p.catalog = url
	p.expectRows(t, "SELECT name FROM claims WHERE namespace = 'hurried'", "data")
}
