package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestUsedSpaceIsThatOfTheKubelet compares the used space that a real kubelet reports, with the rights of
// deploy/rbac.yaml, with df.
func TestUsedSpaceIsThatOfTheKubelet(t *testing.T) {
	t.Parallel()
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "full")
	d := newDisk(t, c, ns, "disk")
	kubeconfig, dir := c.ServiceAccount(t), t.TempDir()
	run := func() *harness.Tracker {
		return harness.StartTracker(t, kubeconfig, "--data-dir="+dir, "--kubelet.interval=1s")
	}
	p := run()
	d.awaitUsed(t, p)
	d.fill(t, 32<<20)
	d.awaitUsed(t, p)
	_, capacity := d.usedBytes(t)
	p.ExpectRows(t, "SELECT DISTINCT v.name, c.name, u.capacity_bytes FROM usage u JOIN volumes v ON v.uid = u.volume_uid JOIN claims c ON c.uid = u.claim_uid WHERE c.namespace = 'full'",
		fmt.Sprintf("%s\tdisk\t%d", d.volume, capacity))
	p.ExpectRows(t, "SELECT max(used_bytes) - min(used_bytes) >= 30 * 1024 * 1024 FROM usage WHERE claim_uid IN (SELECT uid FROM claims WHERE namespace = 'full')", "1")

	// Without the pod, no kubelet reports the volume. Its last value stays, over a restart and over the loss of the journal.
	d.leave(t)
	idle := fmt.Sprintf(`kubevoltracker_volume_state{persistentvolume=%q,namespace=%q,persistentvolumeclaim="disk",storageclass="manual",state="idle"}`, d.volume, ns)
	harness.Eventually(t, "the volume is idle", func() error {
		if p.Metrics(t)[idle] != "1" {
			return errors.New("it is not")
		}
		return nil
	})
	last := d.awaitUsed(t, p)
	d.fill(t, 0)
	for _, lose := range []func() error{
		func() error { return nil },
		func() error { return os.RemoveAll(filepath.Join(dir, "journal")) },
	} {
		p.Stop(t)
		if err := lose(); err != nil {
			t.Fatal(err)
		}
		p = run()
		harness.Eventually(t, "the volume has its last value", func() error {
			m := p.Metrics(t)
			if got := m[fmt.Sprintf("kubevoltracker_volume_used_bytes{persistentvolume=%q}", d.volume)]; m[idle] != "1" || got != last {
				return fmt.Errorf("used are %q, and were %s", got, last)
			}
			return nil
		})
	}
	for _, report := range []string{"idle", "space"} {
		harness.Eventually(t, "the report "+report+" has the used space", func() error { // the catalog is behind the metrics
			rows := p.Report(t, report)
			if text := fmt.Sprint(rows); !strings.Contains(text, last) && !strings.Contains(text, fmt.Sprintf("%g", mustFloat(t, last))) {
				return fmt.Errorf("it lacks %s: %s", last, text)
			}
			return nil
		})
	}
}

// logsWhyAKubeletRefuses has the tracker distrust the authority of the kubelets' certificates, gives it a token of
// another audience, which no kubelet accepts, and its own, which may not read statistics, and takes that right away.
func logsWhyAKubeletRefuses(t *testing.T, c *harness.LocalCluster) {
	ns := c.CreateNamespace(t, "refused")
	newDisk(t, c, ns, "disk")
	kubeconfig := c.ServiceAccount(t)
	token := func(account string, audiences ...string) string {
		t.Helper()
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}
		answer, err := c.Client.CoreV1().ServiceAccounts("kubevoltracker").CreateToken(t.Context(), account, request, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(answer.Status.Token), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	told := func(want string, args ...string) {
		t.Helper()
		p := harness.StartTracker(t, kubeconfig, append(args, "--catalog.url=none", "--kubelet.interval=1s")...)
		defer p.Stop(t)
		harness.Eventually(t, "the log says what is wrong", func() error {
			for _, line := range p.Lines() {
				// The simulated nodes have no kubelets, and fail for that reason.
				if text := fmt.Sprint(line["err"]); line["msg"] == "a kubelet could not be read" && strings.Contains(text, kubeletNode) {
					if !strings.Contains(text, want) {
						t.Errorf("%q does not say %q", text, want)
					}
					return nil
				}
			}
			return errors.New("it does not")
		})
		if m := p.Metrics(t); m["kubevoltracker_kubelet_failures_total"] == "0" || m["kubevoltracker_kubelet_reads_total"] == "0" {
			t.Errorf("failures %s of %s", m["kubevoltracker_kubelet_failures_total"], m["kubevoltracker_kubelet_reads_total"])
		}
	}
	told("401 Unauthorized: it takes no credentials", "--kubelet.token-file="+token("kubevoltracker-kubelets", "kubevoltracker"))
	told("403 Forbidden: grant nodes/stats", "--kubelet.token-file="+token("kubevoltracker")) // the tracker's own
	told("--kubelet.insecure-tls", "--kubelet.certificate-authority="+filepath.Join(c.Dir, "pki", "etcd-ca.crt"))

	c.Revoke(t, "nodes/stats")
	t.Cleanup(func() { c.GrantRights(t) })
	told("403 Forbidden: grant nodes/stats")
}
