package harness

import (
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// PodUser is the user and the group of the images, which the chart's pods have.
const PodUser = 65532

// accountDir is where a pod has the files of its service account.
const accountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// Image unpacks an image that `make image` has built for this machine. Only root can run a program in it; for others
// the test is skipped.
func Image(t testing.TB, name string) (root string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run a program in an image's file system")
	}
	archive := File(t, ".cache/image/"+name+"-amd64.tar")
	if _, err := os.Stat(archive); err != nil {
		t.Fatalf("%v: run `make image`, or make test", err)
	}
	root = filepath.Join(t.TempDir(), "root")
	if out, err := exec.Command(Program(t, "image"), "unpack", archive, root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return root
}

// inImage runs a program in the file system $1, with the pairs of a directory and its place there, until --, mounted.
// Only these can be written, as far as PodUser may.
const inImage = `set -e
root=$1; shift
mount --bind "$root" "$root"
mount -t proc none "$root/proc"
while [ "$1" != -- ]; do mkdir -p "$root$2"; mount --bind "$1" "$root$2"; shift 2; done
shift
mount -o remount,bind,ro "$root"
exec env "$@"`

// InImage returns a command that runs a program as a container engine does: in an image's file system, which is
// read-only, as PodUser, with directories mounted at places, and without the environment of the tests.
func InImage(root string, mounts map[string]string, environment []string, program string, args ...string) *exec.Cmd {
	command := []string{"--mount", "--propagation=private", "sh", "-c", inImage, "sh", root}
	for _, place := range slices.Sorted(maps.Keys(mounts)) {
		command = append(command, mounts[place], place)
	}
	command = append(command, "--", "-i", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	command = append(command, environment...)
	command = append(command, "chroot", "--userspec=65532:65532", root, program)
	return exec.Command("unshare", append(command, args...)...)
}

// PodAccount returns what a pod has of its service account: a directory with the token, the API server's authority and
// the namespace, by its place; and the API server's address, as environment.
func (c *LocalCluster) PodAccount(t testing.TB, namespace, token string) (mounts map[string]string, environment []string) {
	t.Helper()
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
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{accountDir: dir}, []string{"KUBERNETES_SERVICE_HOST=" + server.Hostname(), "KUBERNETES_SERVICE_PORT=" + server.Port()}
}

// LaunchInPod starts the tracker of the image as a pod of a service account does; only its data directory can be
// written. The tracker is stopped when the test ends.
func (c *LocalCluster) LaunchInPod(t testing.TB, namespace, token string, args ...string) *Tracker {
	t.Helper()
	root := Image(t, "kubevoltracker")
	mounts, environment := c.PodAccount(t, namespace, token)
	data := t.TempDir()
	if err := os.Chown(data, PodUser, PodUser); err != nil {
		t.Fatal(err)
	}
	mounts["/data"] = data
	environment = append(environment, "KUBEVOLTRACKER_CATALOG_PASSWORD="+os.Getenv("KUBEVOLTRACKER_CATALOG_PASSWORD"))
	args = append(RunArgs(t, append(args, "--data-dir=/data")...), "--log.format=json", "--log.level=debug")
	return launch(t, InImage(root, mounts, environment, "/usr/local/bin/kubevoltracker", args...))
}
