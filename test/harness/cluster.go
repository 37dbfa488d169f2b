package harness

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// LocalCluster is a running control plane of deploy/localcluster: all of Kubernetes in one program.
type LocalCluster struct {
	Dir        string // with the audit log, the certificates, and the pid files of the components
	Kubeconfig string
	Client     *kubernetes.Clientset
	process    *exec.Cmd
}

// shared is the control plane of the test process. Cluster starts it, Main stops it.
var shared struct {
	once    sync.Once
	cluster *LocalCluster
	err     error
}

// Main runs the tests of a package, stops the shared cluster and returns the exit code. Up to parallel tests run at once,
// unless -parallel says otherwise: most of them wait for controllers, so there may be more of them than cores.
func Main(m *testing.M, parallel int) int {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(parallel)); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if shared.cluster != nil {
		shared.cluster.Stop()
	}
	return code
}

// Cluster returns the control plane that all tests of the package share, with a real kubelet on one of its nodes. The
// first test that asks starts it, in about ten seconds.
func Cluster(t testing.TB) *LocalCluster {
	t.Helper()
	path := Program(t, "localcluster")
	shared.once.Do(func() { shared.cluster, shared.err = StartCluster(path, "--kubelet") })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

// OwnCluster starts a control plane like that of Cluster for one test, and stops it when the test ends. A test needs it
// that restarts components, changes rights, or looks at all of a cluster.
func OwnCluster(t testing.TB) *LocalCluster {
	t.Helper()
	c, err := StartCluster(Program(t, "localcluster"), "--kubelet")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// StartCluster starts a control plane by the program at path, and waits until it is ready. The caller stops it.
func StartCluster(path string, args ...string) (*LocalCluster, error) {
	dir, err := os.MkdirTemp("", "kubevoltracker-test-")
	if err != nil {
		return nil, err
	}
	args = append([]string{"up", "--dir", dir, "--exit-with-parent"}, args...)
	c := &LocalCluster{Dir: dir, process: exec.Command(path, args...)}
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
	c.Kubeconfig = filepath.Join(dir, "kubeconfig")
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	c.Client, err = kubernetes.NewForConfig(config)
	return c, err
}

// Stop ends the control plane and removes its directory.
func (c *LocalCluster) Stop() {
	_ = c.process.Process.Signal(syscall.SIGTERM)
	_ = c.process.Wait()
	_ = os.RemoveAll(c.Dir)
}

// Restart restarts a component. The arguments are those of `localcluster restart`: --down=3s keeps it away for a while,
// --kill ends it by SIGKILL, --feature-gates changes its gates.
func (c *LocalCluster) Restart(component string, args ...string) error {
	cmd := exec.Command(c.process.Path, append([]string{"restart", component, "--dir", c.Dir}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("restart %s: %w\n%s", component, err, out)
	}
	return nil
}

// AwaitAPI waits until the API server answers.
func (c *LocalCluster) AwaitAPI(t testing.TB) {
	t.Helper()
	Eventually(t, "the API server answers", func() error {
		_, err := c.Client.Discovery().ServerVersion()
		return err
	})
}

// Kubectl runs the cluster's own kubectl and returns its output.
func (c *LocalCluster) Kubectl(t testing.TB, args ...string) string {
	t.Helper()
	out, err := c.TryKubectl(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TryKubectl is Kubectl for commands that may fail.
func (c *LocalCluster) TryKubectl(t testing.TB, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(Program(t, "localcluster"), append([]string{"kubectl"}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}
