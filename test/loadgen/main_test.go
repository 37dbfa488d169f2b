package loadgen

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/cmd/kubevoltracker/loadgen"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m, 4)) }

// background is the context of requests that no test cuts short.
var background = context.Background()

var marking sync.Mutex

// marked returns the shared cluster, which carries the marker.
func marked(t testing.TB) *harness.LocalCluster {
	t.Helper()
	marking.Lock()
	defer marking.Unlock()
	c := harness.Cluster(t)
	_, err := c.Client.CoreV1().Namespaces().Create(background, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: loadgen.Namespace, Labels: map[string]string{loadgen.Marker: "true"}}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	return c
}

// command is `kubevoltracker loadgen` with arguments.
func command(t testing.TB, args ...string) *exec.Cmd {
	return exec.Command(harness.Program(t, "kubevoltracker"), append([]string{"loadgen"}, args...)...)
}

// run runs the command, and returns what it printed, and its last line.
func run(t testing.TB, args ...string) (out, last string, err error) {
	t.Helper()
	cmd := command(t, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return stdout.String(), lines[len(lines)-1], err
}

// load makes load for a duration; without one, for as long as this machine needs until a pod has started and a claim is
// bound. It returns the account's file, the lines on the standard output, and the last line about the progress.
func load(t testing.TB, duration string, args ...string) (file, out, last string) {
	t.Helper()
	durations := []string{"3s", "10s", "40s"}
	if duration != "" {
		durations = []string{duration}
	}
	for i, duration := range durations {
		file = filepath.Join(t.ArtifactDir(), fmt.Sprintf("account-%d.jsonl", i))
		var err error
		if out, last, err = run(t, append(slices.Clone(args), "--duration="+duration, "--output="+file)...); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out, `"started":`) && strings.Contains(out, `"phase":"Bound"`) {
			break
		}
	}
	return file, out, last
}

// left lists the names of what has a run's label.
func left(t testing.TB, c *harness.LocalCluster, run string) []string {
	t.Helper()
	out := c.Kubectl(t, "-n", loadgen.Namespace, "get", "pods,jobs,statefulsets,persistentvolumeclaims,persistentvolumes,configmaps", "-o", "name", "-l", loadgen.Label+"="+run)
	return strings.Fields(out)
}
