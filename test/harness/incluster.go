package harness

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// inPod runs a program that sees the files of a directory as a pod sees those of its service account.
const inPod = `mount -t tmpfs tmpfs /run && mkdir -p /run/secrets/kubernetes.io && cp -r "$0" /run/secrets/kubernetes.io/serviceaccount && exec "$@"`

// LaunchInPod starts a tracker with the configuration that a pod of a service account has: its token, authority and
// namespace as files, and the API server's address in the environment. The files are in a mount namespace of the
// tracker's own, which only root can make; the test is skipped for others. The caller ends the tracker.
func (c *LocalCluster) LaunchInPod(t testing.TB, namespace, token string, args ...string) *Tracker {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give the tracker the files of a pod")
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	authority := config.CAData
	if len(authority) == 0 {
		if authority, err = os.ReadFile(config.CAFile); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	for name, content := range map[string][]byte{"token": []byte(token), "ca.crt": authority, "namespace": []byte(namespace)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	args = append(RunArgs(t, args...), "--log.format=json", "--log.level=debug")
	command := exec.Command("unshare", append([]string{"--mount", "sh", "-c", inPod, dir, Program(t, "kubevoltracker")}, args...)...)
	command.Env = append(os.Environ(), "KUBERNETES_SERVICE_HOST="+server.Hostname(), "KUBERNETES_SERVICE_PORT="+server.Port(), "KUBECONFIG=")
	return launch(t, command)
}
