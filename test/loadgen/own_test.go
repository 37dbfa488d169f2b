package loadgen

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/cmd/kubevoltracker/loadgen"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestRefusesClustersWithoutTheMarker asks for load in a cluster without the namespace, then without its label. Nothing is
// made, and the account of an earlier run stays.
func TestRefusesClustersWithoutTheMarker(t *testing.T) {
	t.Parallel()
	c := harness.OwnCluster(t)
	former := filepath.Join(t.TempDir(), "account.jsonl")
	if err := os.WriteFile(former, []byte("former\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--kube.kubeconfig=" + c.Kubeconfig, "--duration=1s", "--output=" + former}
	if _, _, err := run(t, args...); err == nil || !strings.Contains(err.Error(), "kubectl create namespace "+loadgen.Namespace) {
		t.Errorf("without the namespace: %v", err)
	}
	c.CreateNamespace(t, loadgen.Namespace)
	if _, _, err := run(t, args...); err == nil || !strings.Contains(err.Error(), "kubectl label namespace "+loadgen.Namespace+" "+loadgen.Marker+"=true") {
		t.Errorf("without the label: %v", err)
	}
	if _, _, err := run(t, "clean", args[0]); err == nil {
		t.Error("clean works without the label")
	}
	if text, err := os.ReadFile(former); err != nil || string(text) != "former\n" {
		t.Errorf("the account of an earlier run is %q, %v", text, err)
	}
	made := c.Kubectl(t, "get", "pods,persistentvolumeclaims,persistentvolumes,configmaps", "-A", "-o", "name", "-l", loadgen.Label)
	if strings.Contains(made, "/") {
		t.Errorf("something was made: %s", made)
	}
}

// options of a small run in this process.
func options(c *harness.LocalCluster, run string, account io.Writer) loadgen.Options {
	return loadgen.Options{
		Kubeconfig: c.Kubeconfig, Run: run, Volumes: 4, Claims: 8, Pods: 8, Duration: 3 * time.Second, Rate: 60, Seed: 5,
		Kinds: loadgen.Kinds(), Profile: "chaos", Cleanup: true, Account: account, Progress: io.Discard,
	}
}

// TestTouchesNothingThatItDidNotMake puts objects in the way of a run: with names that the run will want, and with its
// label but without its owner. They survive as they are.
func TestTouchesNothingThatItDidNotMake(t *testing.T) {
	t.Parallel()
	c := marked(t)
	const id = "foreign"
	core := c.Client.CoreV1()
	foreign := []struct {
		name   string
		labels map[string]string
	}{
		{"lg-" + id + "-0-claim", nil},
		{"lg-" + id + "-1-claim", map[string]string{loadgen.Label: "another"}},
		{"somebodys", map[string]string{loadgen.Label: id}},
	}
	mine := map[string]bool{} // UIDs
	for _, f := range foreign {
		claim := harness.Namespace(loadgen.Namespace).Claim(f.name, "nobodys")
		claim.Labels = f.labels
		claim, err := core.PersistentVolumeClaims(loadgen.Namespace).Create(background, claim, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pod, err := core.Pods(loadgen.Namespace).Create(background, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: strings.Replace(f.name, "claim", "pod-0", 1), Labels: f.labels},
			Spec:       corev1.PodSpec{NodeName: "nowhere", Containers: []corev1.Container{{Name: "main", Image: "app:1"}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		mine[string(claim.UID)], mine[string(pod.UID)] = true, true
		t.Cleanup(func() { // pod GC removes the pod once its node is known to be missing, and not within this test
			_ = core.Pods(loadgen.Namespace).Delete(background, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
			_ = core.PersistentVolumeClaims(loadgen.Namespace).Delete(background, claim.Name, metav1.DeleteOptions{})
		})
	}
	var account bytes.Buffer
	if err := loadgen.Run(background, background, options(c, id, &account)); err != nil {
		t.Error(err)
	}
	for _, f := range foreign {
		claim, err := core.PersistentVolumeClaims(loadgen.Namespace).Get(background, f.name, metav1.GetOptions{})
		expectUntouched(t, mine, "claim "+f.name, claim, err)
		name := strings.Replace(f.name, "claim", "pod-0", 1)
		pod, err := core.Pods(loadgen.Namespace).Get(background, name, metav1.GetOptions{})
		expectUntouched(t, mine, "pod "+name, pod, err)
	}
	expectNoRequests(t, mine, account.Bytes())
}

// expectUntouched wants that an object is one of those in mine, as it was made.
func expectUntouched(t *testing.T, mine map[string]bool, name string, object metav1.Object, err error) {
	t.Helper()
	if err != nil || !mine[string(object.GetUID())] || object.GetDeletionTimestamp() != nil || object.GetLabels()["owner"] != "" {
		t.Errorf("the %s was touched: %v", name, err)
	}
}

// expectNoRequests wants that an account has requests, and none about the objects in mine.
func expectNoRequests(t *testing.T, mine map[string]bool, account []byte) {
	t.Helper()
	requests := 0
	for line := range bytes.Lines(account) {
		var l loadgen.Line
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		if l.Answered != nil {
			requests++
		}
		if l.Answered != nil && mine[l.UID] {
			t.Errorf("the run asked to %s %s", l.Action, l.Name)
		}
	}
	if requests < 10 {
		t.Errorf("the run has made only %d requests", requests)
	}
}

// interrupted starts a run, sends it SIGINT once it has made something, and waits until it has begun to clean up. What it
// prints after that comes from stderr.
func interrupted(t *testing.T, c *harness.LocalCluster) (cmd *exec.Cmd, id string, stderr *bufio.Reader) {
	t.Helper()
	cmd = command(t, "--kube.kubeconfig="+c.Kubeconfig, "--duration=10m", "--rate=100", "--claims=60", "--pods=60", "--volumes=10")
	progress, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr = bufio.NewReader(progress)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(out)
	for n := 0; n < 150; n++ {
		var l loadgen.Line
		if err := lines.Decode(&l); err != nil {
			t.Fatal(err)
		}
		if l.Plan != nil {
			id = l.Plan.Run
		}
	}
	go func() { _, _ = io.Copy(io.Discard, io.MultiReader(lines.Buffered(), out)) }()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := stderr.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "deleting what was made\n" {
			return cmd, id, stderr
		}
	}
}

func TestInterruptCleansUp(t *testing.T) {
	t.Parallel()
	c := marked(t)
	cmd, id, stderr := interrupted(t, c)
	rest, _ := io.ReadAll(stderr)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, rest)
	}
	if rest := left(t, c, id); len(rest) > 0 {
		t.Errorf("left: %v", rest)
	}
}

// TestSecondInterruptEndsAtOnce also runs the command that its error names.
func TestSecondInterruptEndsAtOnce(t *testing.T) {
	t.Parallel()
	c := marked(t)
	cmd, id, stderr := interrupted(t, c)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	hint := "kubevoltracker loadgen clean --run=" + id
	said, _ := io.ReadAll(stderr)
	if err := cmd.Wait(); err == nil || !strings.Contains(string(said), hint) {
		t.Errorf("it ended with %v and does not name %q: %s", err, hint, said)
	}
	if rest := left(t, c, id); len(rest) == 0 {
		t.Error("nothing is left: the second interrupt came too late to test anything")
	}
	if _, _, err := run(t, "clean", "--run="+id, "--kube.kubeconfig="+c.Kubeconfig); err != nil {
		t.Error(err)
	}
	if rest := left(t, c, id); len(rest) > 0 {
		t.Errorf("clean has left: %v", rest)
	}
}

// TestCleanLeavesAForeignConfigMap gives a ConfigMap of somebody else the label of a run, whose own ConfigMap is named after
// the run.
func TestCleanLeavesAForeignConfigMap(t *testing.T) {
	t.Parallel()
	c := marked(t)
	const id = "foreign-config"
	maps := c.Client.CoreV1().ConfigMaps(loadgen.Namespace)
	foreign, err := maps.Create(background, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "somebodys-config", Labels: map[string]string{loadgen.Label: id}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = maps.Delete(background, foreign.Name, metav1.DeleteOptions{}) })
	if err := loadgen.Clean(background, c.Kubeconfig, "", id, io.Discard); err != nil {
		t.Error(err)
	}
	after, err := maps.Get(background, foreign.Name, metav1.GetOptions{})
	if err != nil || after.UID != foreign.UID || after.DeletionTimestamp != nil {
		t.Errorf("the ConfigMap was touched: %v", err)
	}
}

// TestAClosedOutputCleansUp reads one line of a run and closes its standard output, as head -1 does. The run ends by itself.
func TestAClosedOutputCleansUp(t *testing.T) {
	t.Parallel()
	c := marked(t)
	cmd := command(t, "--kube.kubeconfig="+c.Kubeconfig, "--duration=10m", "--rate=100", "--claims=60", "--pods=60", "--volumes=10")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var first loadgen.Line
	if err := json.NewDecoder(out).Decode(&first); err != nil || first.Plan == nil {
		t.Fatalf("the first line is %+v, %v", first, err)
	}
	if len(left(t, c, first.Plan.Run)) == 0 {
		t.Error("the run has made nothing yet that it had to delete")
	}
	out.Close()
	waited := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(waited, &exit) || exit.ExitCode() != 1 || !strings.Contains(stderr.String(), "write the account: ") {
		t.Errorf("it ended with %v, and says: %s", waited, &stderr)
	}
	if rest := left(t, c, first.Plan.Run); len(rest) > 0 {
		t.Errorf("left: %v", rest)
	}
}
