package install

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// pod runs the containers of a rendered pod as a container engine does: in the file systems of the images, as their user,
// with the arguments, environments and probes of the chart, and on directories that are made as a kubelet makes volumes.
// Only addresses are others.
type pod struct {
	t           *testing.T
	dir         string
	roots       map[string]string // by container
	account     map[string]string // mounts of the tracker's container
	environment []string
	substitute  *strings.Replacer
	web         string
}

func newPod(t *testing.T, c *harness.LocalCluster, namespace, account string) *pod {
	t.Helper()
	p := &pod{t: t, web: "127.0.0.1:" + harness.FreePort(t), roots: map[string]string{
		"kubevoltracker": harness.Image(t, "kubevoltracker"), "clickhouse": harness.Image(t, "kubevoltracker-clickhouse"),
	}}
	dir, err := os.MkdirTemp("", "kubevoltracker-pod-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p.dir, p.substitute = dir, strings.NewReplacer("127.0.0.1:8123", "127.0.0.1:"+harness.FreePort(t))
	p.must(os.Chmod(dir, 0o755))
	// A volume is root's, with the pod's group, group-writable, and the group goes on to what is made in it.
	for name, mode := range map[string]fs.FileMode{"data": 0o775, "run": 0o777} {
		path := filepath.Join(dir, name)
		p.must(os.Mkdir(path, 0o755))
		p.must(os.Chown(path, 0, harness.PodUser))
		p.must(os.Chmod(path, mode|fs.ModeSetgid))
	}
	token, err := c.Client.CoreV1().ServiceAccounts(namespace).CreateToken(background, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	p.must(err)
	p.account, p.environment = c.PodAccount(t, namespace, token.Status.Token)
	return p
}

func (p *pod) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// command is a program in a container. Each of its mounts must be one of the pod's.
func (p *pod) command(c corev1.Container, args ...string) *exec.Cmd {
	p.t.Helper()
	mounts := map[string]string{}
	for _, m := range c.VolumeMounts {
		switch m.Name {
		case "data", "run":
			mounts[m.MountPath] = filepath.Join(p.dir, m.Name)
		case "api-access":
			mounts[m.MountPath] = p.account[m.MountPath]
		default:
			p.t.Fatalf("what is the volume %s of %s?", m.Name, c.Name)
		}
	}
	environment := append([]string{"KUBEVOLTRACKER_WEB_LISTEN_ADDRESS=" + p.web}, p.environment...)
	for _, v := range c.Env {
		environment = append(environment, v.Name+"="+p.substitute.Replace(v.Value))
	}
	for i := range args {
		args[i] = p.substitute.Replace(args[i])
	}
	return harness.InImage(p.roots[c.Name], mounts, environment, "/usr/local/bin/"+program(p.t, c), args...)
}

// start starts a container, and stops it when the test ends. The returned function stops it earlier.
func (p *pod) start(c corev1.Container) (stop func()) {
	p.t.Helper()
	log, err := os.Create(filepath.Join(p.t.TempDir(), c.Name+".log"))
	p.must(err)
	cmd := p.command(c, slices.Clone(c.Args)...)
	cmd.Stdout, cmd.Stderr = log, log
	p.must(cmd.Start())
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		_ = cmd.Process.Signal(syscall.SIGTERM)
		err := cmd.Wait()
		if _ = log.Close(); err != nil || p.t.Failed() {
			text, _ := os.ReadFile(log.Name())
			p.t.Errorf("%s ended with %v:\n%s", c.Name, err, text)
		}
	}
	p.t.Cleanup(stop)
	return stop
}

// awaitProbe waits until a container's probe succeeds.
func (p *pod) awaitProbe(c corev1.Container, probe *corev1.Probe) {
	p.t.Helper()
	harness.Eventually(p.t, "a probe of "+c.Name+" succeeds", func() error { return p.probe(c, probe) })
}

func (p *pod) probe(c corev1.Container, probe *corev1.Probe) error {
	if probe.Exec != nil {
		out, err := p.command(c, slices.Clone(probe.Exec.Command[1:])...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	response, err := (&http.Client{Timeout: time.Minute}).Get("http://" + p.web + probe.HTTPGet.Path)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", probe.HTTPGet.Path, response.Status)
	}
	return nil
}

// lend does what a kubelet does when it mounts a volume for a pod with a group: all that is in it becomes the group's,
// which may read and write it.
func (p *pod) lend() {
	p.t.Helper()
	p.must(filepath.WalkDir(filepath.Join(p.dir, "data"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if err := os.Lchown(path, -1, harness.PodUser); err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, info.Mode().Perm()|0o770|fs.ModeSetgid)
		}
		return os.Chmod(path, info.Mode().Perm()|0o660)
	}))
}

// checkPrivate fails if others than the user may use the directories and the password.
func (p *pod) checkPrivate() {
	p.t.Helper()
	for _, name := range []string{"data/tracker", "data/tracker/journal", "data/clickhouse", "run/writer-password"} {
		info, err := os.Stat(filepath.Join(p.dir, name))
		p.must(err)
		if owner := info.Sys().(*syscall.Stat_t).Uid; info.Mode().Perm()&0o077 != 0 || owner != harness.PodUser {
			p.t.Errorf("%s has the mode %v and the owner %d", name, info.Mode(), owner)
		}
	}
}

// TestTheContainersRun runs tracker and ClickHouse as the chart's pod does, from their images, with the chart's service account. The tracker
// comes first, and waits for ClickHouse; reports find the catalog by the environment; and both come again on the volume
// that a kubelet has lent once more.
func TestTheContainersRun(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	const namespace, release = "contained", "contained-kubevoltracker"
	restricted(t, c, namespace)
	helm(t, c, "install", release, chartDir, "--namespace", namespace, "--set", "kubelet.enabled=false")
	awaitPods(t, c, namespace, release)
	spec := only[*appsv1.StatefulSet](t, decode(t, template(t, release, namespace, "--set", "kubelet.enabled=false"))).Spec.Template.Spec
	engine, tracker := spec.InitContainers[0], spec.Containers[0]
	p := newPod(t, c, namespace, release)

	if err := p.probe(engine, engine.LivenessProbe); err == nil {
		t.Error("the probe of an engine that does not run succeeds")
	}
	var since []string
	for range 2 {
		p.lend()
		stopTracker := p.start(tracker)
		stopEngine := p.start(engine)
		p.awaitProbe(engine, engine.LivenessProbe)
		p.awaitProbe(tracker, tracker.StartupProbe)
		p.awaitProbe(tracker, tracker.LivenessProbe)
		p.awaitProbe(tracker, tracker.ReadinessProbe)
		p.checkPrivate()
		since = append(since, p.awaitHistory(tracker))
		stopTracker()
		stopEngine()
	}
	if since[0] != since[1] {
		t.Errorf("the history begins at %s, and after a restart at %s", since[0], since[1])
	}
	helm(t, c, "uninstall", release, "--namespace", namespace)
}

// awaitHistory runs a report in the tracker's container, and waits until the catalog says since when a tracker has been
// watching pods.
func (p *pod) awaitHistory(tracker corev1.Container) (since string) {
	p.t.Helper()
	if out, err := p.command(tracker, "report", "mounts", "--running").CombinedOutput(); err != nil {
		p.t.Errorf("report: %v\n%s", err, out)
	}
	harness.Eventually(p.t, "the catalog has this run", func() error {
		out, err := p.command(tracker, "sql", "-o", "csv", "SELECT min(started_at) FROM coverage WHERE kind = 'Pod' HAVING count() > 0").CombinedOutput()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		if len(lines) != 2 {
			return fmt.Errorf("no coverage yet: %s", out)
		}
		since = lines[1]
		return nil
	})
	return since
}
