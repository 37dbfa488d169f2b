package loadgen

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/cmd/kubevoltracker/loadgen"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestAKilledTrackerHasBounds kills a tracker in the middle of a load, and starts it again some seconds later. Verify
// is content, and says that moments have bounds.
func TestAKilledTrackerHasBounds(t *testing.T) {
	t.Parallel()
	c := marked(t)
	server := harness.StartClickHouse(t)
	args := []string{"--data-dir=" + t.TempDir(), "--catalog.url=" + server.URL("kubevoltracker")}
	tracker := harness.StartTracker(t, c.Kubeconfig, args...)
	file := filepath.Join(t.ArtifactDir(), "account.jsonl")
	// However slow the machine is: some pods run when the tracker is killed, and some are deleted before it starts again. Then the load is
	// ended by an interrupt.
	load := command(t, "--kube.kubeconfig="+c.Kubeconfig, "--rate=40", "--claims=12", "--pods=12", "--volumes=6", "--profile=chaos", "--duration=5m", "--output="+file)
	var said bytes.Buffer
	load.Stderr = &said
	if err := load.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = load.Process.Kill() }) // if the test fails before it ends
	awaitLines(t, file, 5, `"kind":"Pod"`, `"phase":"Running"`)
	time.Sleep(time.Second)
	gone := countLines(file, `"kind":"Pod"`, `"gone":true`)
	tracker.Kill(t)
	time.Sleep(7 * time.Second) // verify calls bounds of a few seconds exact
	awaitLines(t, file, gone+5, `"kind":"Pod"`, `"gone":true`)
	harness.StartTracker(t, c.Kubeconfig, args...)
	time.Sleep(5 * time.Second) // it also sees some of the load happen
	if err := load.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := load.Wait(); err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
	out, _, err := run(t, "verify", "--file="+file, args[1])
	if err != nil || !strings.Contains(out, "moments have bounds of up to ") || !strings.HasSuffix(out, "\n0 missing, 0 duplicated, 0 wrong\n") {
		t.Errorf("%v\n%s%s", err, out, wrongInAccount(file, err))
	}
	if _, _, err := run(t, "verify", "--exact", "--file="+file, args[1]); err == nil || !strings.Contains(err.Error(), "--exact") {
		t.Errorf("--exact is content with bounds: %v", err)
	}
	checkUses(t, server.URL("kubevoltracker"), catalogtest.Password)
}

// wrongInAccount returns the lines of an account on the objects that an error of verify calls wrong.
func wrongInAccount(file string, err error) string {
	wrong := regexp.MustCompile(`wrong: \w+ (\S+)`).FindAllStringSubmatch(fmt.Sprint(err), -1)
	var out strings.Builder
	data, _ := os.ReadFile(file)
	for line := range strings.Lines(string(data)) {
		if slices.ContainsFunc(wrong, func(match []string) bool { return strings.Contains(line, match[1]) }) {
			out.WriteString(line)
		}
	}
	return out.String()
}

// countLines counts the lines of an account that have all texts.
func countLines(file string, texts ...string) (n int) {
	data, _ := os.ReadFile(file)
	for line := range strings.Lines(string(data)) {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			n++
		}
	}
	return n
}

func awaitLines(t *testing.T, file string, atLeast int, texts ...string) {
	t.Helper()
	harness.Eventually(t, fmt.Sprint("lines with ", texts), func() error {
		if n := countLines(file, texts...); n < atLeast {
			return fmt.Errorf("%d of %d", n, atLeast)
		}
		return nil
	})
}

// account makes load for a duration, and returns the file of its account once it has ended.
func account(t *testing.T, c *harness.LocalCluster, name, profile, duration string, seed int) (file string, wait func() error) {
	t.Helper()
	file = filepath.Join(t.ArtifactDir(), name+".jsonl")
	done := make(chan error, 1)
	go func() {
		_, _, err := run(t, "--kube.kubeconfig="+c.Kubeconfig, "--rate=40", "--claims=24", "--pods=24", "--volumes=6", "--profile="+profile,
			"--duration="+duration, "--output="+file, fmt.Sprintf("--seed=%d", seed))
		done <- err
	}()
	return file, func() error { return <-done }
}

// proved expects that verify finds nothing wrong in an account.
func proved(t *testing.T, file string, args ...string) {
	t.Helper()
	out, _, err := run(t, append([]string{"verify", "--file=" + file}, args...)...)
	if err != nil || !strings.HasSuffix(out, "\n0 missing, 0 duplicated, 0 wrong\n") {
		t.Errorf("%s: %v\n%s", filepath.Base(file), err, out)
	}
}

// TestRunsAtOnce makes three loads at once: each is in the catalog as if it had been alone.
func TestRunsAtOnce(t *testing.T) {
	t.Parallel()
	c := marked(t)
	server := harness.StartClickHouse(t)
	url := "--catalog.url=" + server.URL("kubevoltracker")
	harness.StartTracker(t, c.Kubeconfig, "--data-dir="+t.TempDir(), url)
	var files []string
	var waits []func() error
	for i, profile := range []string{"chaos", "batch", "chaos"} {
		file, wait := account(t, c, fmt.Sprintf("%s-%d", profile, i), profile, "12s", i+1)
		files, waits = append(files, file), append(waits, wait)
	}
	for _, wait := range waits {
		if err := wait(); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		proved(t, file, url)
	}
}

// TestLeadersKilledInTurn kills the one of two trackers that leads, twice, and starts it again: it leads again, or the other
// one takes over.
func TestLeadersKilledInTurn(t *testing.T) {
	t.Parallel()
	c := marked(t)
	server := harness.StartClickHouse(t)
	url := "--catalog.url=" + server.URL("kubevoltracker")
	lease := strings.ToLower(t.Name())
	var pair [2]*harness.Tracker
	var args [2][]string
	for i := range pair {
		args[i] = []string{"--data-dir=" + t.TempDir(), url, "--leader-election", "--leader-election.namespace=default", "--leader-election.lease=" + lease}
		pair[i] = harness.StartTracker(t, c.Kubeconfig, args[i]...)
	}
	// awaitLeader returns the tracker that leads.
	awaitLeader := func() (leader int) {
		harness.Eventually(t, "one of the two leads", func() error {
			for leader = range pair {
				if pair[leader].Metrics(t)["kubevoltracker_leader"] == "1" {
					return nil
				}
			}
			return errors.New("none does")
		})
		return leader
	}
	file, wait := account(t, c, "chaos", "chaos", "50s", 1)
	for range 2 {
		time.Sleep(4 * time.Second)
		leader := awaitLeader()
		pair[leader].Kill(t)
		time.Sleep(2 * time.Second)
		pair[leader] = harness.StartTracker(t, c.Kubeconfig, args[leader]...)
		awaitLeader() // 19 seconds later at most
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	proved(t, file, url)
	checkUses(t, server.URL("kubevoltracker"), catalogtest.Password)
}

// TestCleanFindsRunsWithoutTheirOwner deletes the ConfigMap of a run that was left. Garbage collection deletes what is in
// the namespace, and clean the rest.
func TestCleanFindsRunsWithoutTheirOwner(t *testing.T) {
	t.Parallel()
	c := marked(t)
	const id = "ownerless"
	o := options(c, id, io.Discard)
	o.Cleanup = false
	if err := loadgen.Run(background, background, o); err != nil {
		t.Fatal(err)
	}
	if err := c.Client.CoreV1().ConfigMaps(loadgen.Namespace).Delete(background, "lg-"+id+"-owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if rest := left(t, c, id); !strings.Contains(strings.Join(rest, " "), "persistentvolume/") {
		t.Fatalf("no volume is left to clean: %v", rest)
	}
	out, _, err := run(t, "clean", "--run="+id, "--kube.kubeconfig="+c.Kubeconfig)
	if err != nil || out != "run "+id+": 0 objects left\n" {
		t.Errorf("%q, %v", out, err)
	}
	if rest := left(t, c, id); len(rest) > 0 {
		t.Errorf("left: %v", rest)
	}
}

// TestAFailedStartLeavesNothing starts a run with an account that may not list volumes.
func TestAFailedStartLeavesNothing(t *testing.T) {
	t.Parallel()
	c := marked(t)
	const id = "denied"
	var account bytes.Buffer
	o := options(c, id, &account)
	o.Kubeconfig = deniedVolumes(t, c)
	if err := loadgen.Run(background, background, o); err == nil || !strings.Contains(err.Error(), "persistentvolumes is forbidden") {
		t.Errorf("it began nevertheless: %v", err)
	}
	if rest := left(t, c, id); len(rest) > 0 {
		t.Errorf("left: %v", rest)
	}
}

// deniedVolumes returns a kubeconfig of an account with all rights that a run needs, but those to volumes.
func deniedVolumes(t *testing.T, c *harness.LocalCluster) string {
	t.Helper()
	const name = "loadgen-denied"
	meta := metav1.ObjectMeta{Name: name}
	all := []string{"*"}
	_, err := c.Client.CoreV1().ServiceAccounts("default").Create(background, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Client.RbacV1().ClusterRoles().Create(background, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Verbs: all, Resources: []string{"namespaces", "nodes", "serviceaccounts", "configmaps", "pods", "persistentvolumeclaims"}},
		{APIGroups: []string{"storage.k8s.io"}, Verbs: all, Resources: all},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Client.RbacV1().ClusterRoleBindings().Create(background, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: "default"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	token, err := c.Client.CoreV1().ServiceAccounts("default").CreateToken(background, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for user := range config.AuthInfos {
		config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
