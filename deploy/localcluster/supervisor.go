package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// grace is how long a component may take to end before it is killed. They end within a
// second; an API server whose clients hold on to their watches may take longer.
const grace = 4 * time.Second

// supervisor keeps the components of one cluster as child processes.
//
// Each child holds the read end of a pipe whose only write end is here, and ends when it
// closes. That the kernel does however the supervisor goes, SIGKILL included, on every
// Unix; so no way to die leaves a component behind.
type supervisor struct {
	layout   layout
	lifeline *os.File // what the children hold
	hold     *os.File // what keeps them alive
	died     chan *child

	mu       sync.Mutex
	children []*child // in the order of their start
	stopping bool
}

// child is one component's process.
type child struct {
	name   string
	args   []string
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has ended
}

func newSupervisor(l layout) (*supervisor, error) {
	lifeline, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &supervisor{layout: l, lifeline: lifeline, hold: hold, died: make(chan *child, 8)}, nil
}

func (s *supervisor) pidFile(name string) string { return s.layout.path("run", name+".pid") }
func (s *supervisor) logFile(name string) string { return s.layout.path("logs", name+".log") }

// start starts a component, and reports on s.died if it ends and nobody has stopped it.
func (s *supervisor) start(name string, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(s.logFile(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()

	c := &child{name: name, args: args, exited: make(chan struct{})}
	c.cmd = exec.Command(self, append([]string{componentCommand, name}, args...)...)
	c.cmd.Stdout, c.cmd.Stderr = log, log
	c.cmd.ExtraFiles = []*os.File{s.lifeline} // becomes lifelineFD
	// A process group of its own: Ctrl-C reaches the supervisor alone, which then stops
	// the components in order.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return nil
	}
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", name, err)
	}
	if err := os.WriteFile(s.pidFile(name), []byte(strconv.Itoa(c.cmd.Process.Pid)+"\n"), 0o600); err != nil {
		return err
	}
	s.replace(c)
	go func() {
		_ = c.cmd.Wait()
		close(c.exited)
		s.mu.Lock()
		stopping := s.stopping
		s.mu.Unlock()
		if !stopping {
			s.died <- c
		}
	}()
	return nil
}

// replace lists c in the place of an earlier process of the same component.
func (s *supervisor) replace(c *child) {
	for i, old := range s.children {
		if old.name == c.name {
			s.children[i] = c
			return
		}
	}
	s.children = append(s.children, c)
}

// watch returns when a component has ended by itself, and says which and why. One that
// `localcluster restart` asked for comes back instead.
func (s *supervisor) watch(stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		case c := <-s.died:
			down, gates, asked := takeRestartRequest(s.layout, c.name)
			if !asked {
				return s.obituary(c)
			}
			select {
			case <-stop:
				return nil
			case <-time.After(down):
			}
			if err := s.start(c.name, withGates(c.args, gates)); err != nil {
				return err
			}
		}
	}
}

// obituary says how a component ended, with the end of its log.
func (s *supervisor) obituary(c *child) error {
	tail := lastLines(s.logFile(c.name), 5)
	return fmt.Errorf("%s ended by itself (%v); the end of %s:\n%s", c.name, c.cmd.ProcessState, s.logFile(c.name), tail)
}

// stop ends all components, those that use another before that one.
func (s *supervisor) stop() {
	s.mu.Lock()
	s.stopping = true
	running := make(map[string]*child, len(s.children))
	for _, c := range s.children {
		running[c.name] = c
	}
	s.mu.Unlock()

	for _, names := range [][]string{
		{kubeScheduler, kubeControllerManager, kwokController, storageDriver, kubelet},
		{kubeAPIServer},
		{etcd},
	} {
		var wg sync.WaitGroup
		for _, name := range names {
			if c := running[name]; c != nil {
				wg.Go(c.end)
			}
		}
		wg.Wait()
		for _, name := range names {
			_ = os.Remove(s.pidFile(name))
		}
	}
	_ = s.hold.Close()
	_ = s.lifeline.Close()
}

// end asks the process to end, and makes it after the grace.
func (c *child) end() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.exited:
	case <-time.After(grace):
		_ = c.cmd.Process.Kill()
		<-c.exited
	}
}

// lastLines returns the end of a log, indented, for a message.
func lastLines(path string, n int) string {
	data, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return "    " + err.Error()
	}
	lines := strings.Split(string(bytes.TrimSpace(data)), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return "    " + strings.Join(lines, "\n    ")
}
