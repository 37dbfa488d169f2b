package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// archive returns what `make image` has built for this machine.
func archive(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("IMAGES")
	if dir == "" {
		dir = "../../.cache/image"
	}
	path := archiveName(dir, name, "amd64")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; build the images first: make image", err)
	}
	return path
}

// container returns a command that runs in an image's file system, as a container engine would run it: user 65532,
// read-only root, its own /proc; only data is writable.
func container(t *testing.T, image, data string, args ...string) *exec.Cmd {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount and change the root directory")
	}
	root := filepath.Join(t.TempDir(), "root")
	if err := unpack(archive(t, image), root); err != nil {
		t.Fatal(err)
	}
	k, err := kindNamed(image)
	if err != nil {
		t.Fatal(err)
	}
	const script = `set -e
		mount --bind "$1" "$1"
		mount -t proc proc "$1/proc" 2>/dev/null || mount --rbind /proc "$1/proc"
		mount --bind "$2" "$1$3"
		mount -o remount,bind,ro "$1"
		root=$1; shift 3
		exec env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"`
	config := k.config(&source{})
	command := append([]string{"--mount", "--propagation=private", "sh", "-c", script, "sh", root, data, k.dataDir}, config.Env[1:]...)
	command = append(command, "chroot", "--userspec="+config.User, root, config.Entrypoint[0])
	return exec.Command("unshare", append(command, args...)...)
}

// dataDirectory returns a directory that the programs' user may write.
func dataDirectory(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chown(dir, user, user); err != nil {
		t.Skip("only root can give a directory to another user")
	}
	return dir
}

// TestEachProgramRunsFromItsImage compares the version that each program prints with the version of its image.
func TestEachProgramRunsFromItsImage(t *testing.T) {
	for _, k := range kinds {
		out, err := container(t, k.name, dataDirectory(t), "--version").CombinedOutput()
		want := k.name + ", version " + versionOf(t, k) + " ("
		if err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("%v: %q does not begin with %q", err, out, want)
		}
	}
}

// versionOf returns the version that an image's label says.
func versionOf(t *testing.T, k kind) string {
	t.Helper()
	image, err := tarball.ImageFromPath(archive(t, k.name), nil)
	if err != nil {
		t.Fatal(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	return file.Config.Labels["org.opencontainers.image.version"]
}

// TestTheEngineServesFromItsImage writes a table into the mounted directory, and reads it: the C library, libchdb and
// the kernel's confinement work in the image's file system.
func TestTheEngineServesFromItsImage(t *testing.T) {
	data := dataDirectory(t)
	if err := os.WriteFile(filepath.Join(data, "password"), []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(data, "password"), user, user); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	cmd := container(t, "kubevoltracker-clickhouse", data, "--listen-address="+address,
		"--data-dir=/var/lib/kubevoltracker-clickhouse/data", "--writer-password-file=/var/lib/kubevoltracker-clickhouse/password")
	logs := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = logs, logs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			_ = cmd.Process.Signal(syscall.SIGTERM)
			if err := <-ended; err != nil {
				t.Errorf("the engine stopped with %v", err)
			}
		}
	}
	defer stop()
	awaitPing(t, address, ended, logs, &stopped)
	if got := ask(t, address, "SELECT uniqExact(number) FROM numbers(1000) WHERE toTimeZone(now(), 'Europe/Berlin') > 0"); got != "1000\n" {
		t.Errorf("the engine answers %q", got)
	}
	ask(t, address, "CREATE DATABASE d")
	ask(t, address, "CREATE TABLE d.t (n UInt64) ENGINE = MergeTree ORDER BY n")
	ask(t, address, "INSERT INTO d.t SELECT number FROM numbers(10)")
	if got := ask(t, address, "SELECT sum(n) FROM d.t"); got != "45\n" {
		t.Errorf("the table has %q", got)
	}
	stop()
	if !strings.Contains(logs.String(), "landlock") {
		t.Errorf("the kernel did not confine the engine:\n%s", logs)
	}
}

// awaitPing waits until the engine answers, or has ended.
func awaitPing(t *testing.T, address string, ended chan error, logs *strings.Builder, stopped *bool) {
	t.Helper()
	for range 1200 {
		select {
		case err := <-ended:
			*stopped = true
			t.Fatalf("the engine ended: %v\n%s", err, logs)
		case <-time.After(100 * time.Millisecond):
		}
		if r, err := http.Get("http://" + address + "/ping"); err == nil {
			r.Body.Close()
			return
		}
	}
	t.Fatal("the engine does not answer")
}

// ask has the engine run a statement as the writer, and returns the answer.
func ask(t *testing.T, address, statement string) string {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, "http://"+address+"/", strings.NewReader(statement))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("kubevoltracker", "secret")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %v: %s", statement, answer.Status, err, text)
	}
	return string(text)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
