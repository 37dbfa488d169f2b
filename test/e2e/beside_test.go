package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// besideEngine is the embedded ClickHouse as a process of its own beside the tracker, as a pod has it in a second container:
// both read the password in one file.
type besideEngine struct {
	t                       *testing.T
	address, data, password string
	process                 *exec.Cmd
}

func (e *besideEngine) start() {
	e.t.Helper()
	e.process = exec.Command(harness.Program(e.t, "kubevoltracker-clickhouse"),
		"--listen-address="+e.address, "--data-dir="+e.data, "--writer-password-file="+e.password, "--writer-password-create")
	if err := e.process.Start(); err != nil {
		e.t.Fatal(err)
	}
}

func (e *besideEngine) kill() {
	if e.process != nil {
		_ = e.process.Process.Kill()
		_ = e.process.Wait()
		e.process = nil
	}
}

// ping runs the program as a probe does.
func (e *besideEngine) ping() error {
	out, err := exec.Command(harness.Program(e.t, "kubevoltracker-clickhouse"), "--ping", "--listen-address="+e.address).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// put writes the file of the password.
func (e *besideEngine) put(password string) {
	e.t.Helper()
	if err := os.WriteFile(e.password, []byte(password), 0o600); err != nil {
		e.t.Fatal(err)
	}
}

func (e *besideEngine) awaitPing() {
	e.t.Helper()
	harness.Eventually(e.t, "the engine answers", e.ping)
}

// checkFirstStart checks what the tracker says of the engine's sandbox, and who can read the engine's password.
func (e *besideEngine) checkFirstStart(p *harness.Tracker) {
	e.t.Helper()
	if confined := p.Metrics(e.t)["kubevoltracker_catalog_sandboxed"]; confined != "0" && confined != "1" { // as the kernel is
		e.t.Errorf("the metric says %q of the engine's sandbox", confined)
	}
	if info, err := os.Stat(e.password); err != nil || info.Mode().Perm() != 0o600 {
		e.t.Errorf("the password's file has mode %v, %v", info.Mode(), err)
	}
}

// TestTheEngineBesideTheTracker starts the tracker before the engine and before its password, and then has the engine
// stopped, killed, given a new password, and emptied. No row is lost that the catalog can have.
func TestTheEngineBesideTheTracker(t *testing.T) {
	t.Parallel()
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "beside")
	dir := t.TempDir()
	e := &besideEngine{t: t, address: "127.0.0.1:" + harness.FreePort(t), data: filepath.Join(dir, "data"), password: filepath.Join(dir, "writer-password")}
	t.Cleanup(e.kill)
	if err := e.ping(); err == nil || !strings.Contains(err.Error(), "exit status 1") || !strings.Contains(err.Error(), e.address) {
		t.Errorf("the probe of an engine that is not there: %v", err)
	}
	data := filepath.Join(dir, "tracker")
	run := func() *harness.Tracker {
		p := harness.StartTracker(t, c.Kubeconfig, "--data-dir="+data, "--catalog.url=http://"+e.address+"/kubevoltracker",
			"--catalog.username=kubevoltracker", "--catalog.password-file="+e.password)
		p.Catalog = "http://" + e.address + "/kubevoltracker"
		return p
	}
	p := run()
	waits := func(reason string) {
		t.Helper()
		harness.Eventually(t, "/readyz says what the tracker waits for", func() error {
			status, body, err := p.Get("/readyz?verbose")
			if err == nil && (status != 200 || !strings.Contains(body, reason)) {
				err = fmt.Errorf("it answers %d %q, and not %q", status, body, reason)
			}
			return err
		})
	}
	claims := 0
	arrives := func() {
		t.Helper()
		claims++
		c.CreateBoundClaim(t, ns, fmt.Sprint("claim-", claims), "standard")
	}
	all := func() {
		t.Helper()
		p.ExpectRows(t, "SELECT uniqExact(name) FROM claims WHERE namespace = 'beside'", fmt.Sprint(claims))
	}

	arrives()
	waits(e.password + " does not exist")
	e.put("")
	waits(e.password + " is empty")
	e.put("half")
	waits("cannot be reached")
	if err := os.Remove(e.password); err != nil {
		t.Fatal(err)
	}
	e.start()
	e.awaitPing()
	all()
	e.checkFirstStart(p)

	e.kill() // and the tracker does not notice its new password before the engine is back
	arrives()
	e.put("another password\n")
	e.start()
	e.awaitPing()
	all()

	e.kill()
	arrives()
	p.Kill(t)
	p = run()
	e.start()
	all()

	e.put("the engine has not read this one\n")
	arrives()
	waits("login")
	p.Kill(t) // a start waits for the right password for some seconds
	started := make(chan struct{})
	go func() {
		defer close(started)
		e.kill()
		e.start()
	}()
	p = run()
	<-started
	all()

	e.kill()
	if err := errors.Join(os.RemoveAll(e.data), os.Remove(e.password)); err != nil {
		t.Fatal(err)
	}
	e.start()
	arrives()
	p.ExpectRows(t, fmt.Sprintf("SELECT count() > 0 FROM claims WHERE namespace = 'beside' AND name = 'claim-%d'", claims), "1")
	if err := e.process.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := e.ping(); err == nil || !strings.Contains(err.Error(), "does not answer in time") {
		t.Errorf("the probe of an engine that hangs: %v", err)
	}
	if err := e.process.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	e.awaitPing()
}
