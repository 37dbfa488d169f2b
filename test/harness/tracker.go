package harness

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Tracker is a running `kubevoltracker run`.
type Tracker struct {
	process *exec.Cmd
	Web     string // host:port
	Catalog string // URL of the embedded ClickHouse, empty if there is none
	exited  chan error

	mu  sync.Mutex
	log []map[string]any
}

// RunArgs completes the arguments of `kubevoltracker run` by a data directory and free ports, where they name none.
func RunArgs(t testing.TB, args ...string) []string {
	for _, standard := range []string{
		"--data-dir=" + t.TempDir(), "--web.listen-address=127.0.0.1:0", "--catalog.embedded-listen-address=127.0.0.1:0",
		"--kubelet.interval=0s", // kwok's nodes have none
		"--kubelet.port=0",      // the one real kubelet's port is any that was free; its Node names it
	} {
		flag := strings.SplitAfter(standard, "=")[0]
		if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, flag) }) {
			args = append(args, standard)
		}
	}
	return append([]string{"run"}, args...)
}

// StartTracker starts a tracker, waits until it serves, and stops it when the test ends.
func StartTracker(t testing.TB, kubeconfig string, args ...string) *Tracker {
	t.Helper()
	p := LaunchTracker(t, kubeconfig, args...)
	p.ShowLogOfFailure(t)
	p.AwaitServing(t)
	return p
}

// ShowLogOfFailure stops the tracker when the test ends, and shows its log if the test has failed.
func (p *Tracker) ShowLogOfFailure(t testing.TB) {
	t.Cleanup(func() {
		p.Stop(t)
		if t.Failed() {
			p.ShowLog(t)
		}
	})
}

// ShowLog copies the last lines of the tracker's log into the test's, without those about lists. They are few, as CI
// shows only the end of a long output.
func (p *Tracker) ShowLog(t testing.TB) {
	lines := slices.DeleteFunc(p.Lines(), func(line map[string]any) bool {
		return strings.HasPrefix(fmt.Sprint(line["msg"]), "listed") || line["level"] == "debug"
	})
	for _, line := range lines[max(0, len(lines)-12):] {
		t.Log(line)
	}
}

// LaunchTracker starts a tracker and does not wait for it. It is stopped when the test ends.
func LaunchTracker(t testing.TB, kubeconfig string, args ...string) *Tracker {
	t.Helper()
	args = RunArgs(t, append(args, "--kube.kubeconfig="+kubeconfig, "--log.format=json", "--log.level=debug")...)
	return launch(t, exec.Command(Program(t, "kubevoltracker"), args...))
}

func launch(t testing.TB, command *exec.Cmd) *Tracker {
	t.Helper()
	p := &Tracker{process: command, exited: make(chan error, 1)}
	out, err := p.process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.process.Start(); err != nil {
		t.Fatal(err)
	}
	go p.read(out)
	t.Cleanup(func() { p.Stop(t) })
	return p
}

// AwaitServing waits until the tracker serves, and sets Web and Catalog to the addresses that it logs.
func (p *Tracker) AwaitServing(t testing.TB) {
	t.Helper()
	Eventually(t, "the tracker serves", func() error {
		for _, line := range p.Lines() {
			switch line["msg"] {
			case "serving":
				p.Web = fmt.Sprint(line["address"])
			case "serving ClickHouse":
				p.Catalog = fmt.Sprint(line["url"]) + "/kubevoltracker"
			}
		}
		if p.Web == "" {
			return fmt.Errorf("it does not serve yet: %v", p.Lines())
		}
		return nil
	})
}

func (p *Tracker) read(out io.Reader) {
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

// Stop ends the tracker by SIGTERM, and fails the test if it takes more than 30 s or exits with an error. A second
// call does nothing.
func (p *Tracker) Stop(t testing.TB) {
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
		p.Kill(t)
	}
}

// Logged reports whether the tracker has logged a message.
func (p *Tracker) Logged(msg string) bool {
	return slices.ContainsFunc(p.Lines(), func(line map[string]any) bool { return line["msg"] == msg })
}

// Lines returns the log up to now: the keys and values of each line.
func (p *Tracker) Lines() []map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log)
}

// Signal sends a signal to the tracker's process.
func (p *Tracker) Signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.process.Process.Signal(s); err != nil {
		t.Errorf("%s to the tracker: %v", s, err)
	}
}

// PID returns the id of the tracker's process.
func (p *Tracker) PID() int { return p.process.Process.Pid }

// Kill ends the tracker by SIGKILL. Its ClickHouse ends with it.
func (p *Tracker) Kill(t testing.TB) {
	t.Helper()
	p.Signal(t, syscall.SIGKILL)
	_ = p.Wait()
}

// Wait waits until the tracker's process has ended, and returns its error. Stop accepts that end afterwards.
func (p *Tracker) Wait() error {
	err := <-p.exited
	p.exited <- errors.Join(err, errKilled)
	return err
}

// Ended reports whether the tracker's process has ended by now, and its error.
func (p *Tracker) Ended() (bool, error) {
	select {
	case err := <-p.exited:
		p.exited <- err
		return true, err
	default:
		return false, nil
	}
}

// errKilled marks the end of a tracker that a test has ended otherwise than by Stop.
var errKilled = errors.New("ended by the test")
