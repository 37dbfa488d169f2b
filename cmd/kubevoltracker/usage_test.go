package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kubeletNode is the node of the local cluster that has a real kubelet.
const kubeletNode = "kubelet-1"

// disk is a directory that is a volume of that node, with its claim of the same name, which a
// pod of that name uses.
type disk struct {
	cluster         *localCluster
	namespace, name string
	volume, path    string
}

func (c *localCluster) disk(t testing.TB, namespace, name string) *disk {
	t.Helper()
	// A file system that few others write to, where there is one.
	path, err := os.MkdirTemp("/dev/shm", "kubevoltracker-test-")
	if err != nil {
		path = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(path) })
	d := &disk{c, namespace, name, namespace + "-" + name, path}
	class, size := "manual", corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	if _, err := c.client.CoreV1().PersistentVolumes().Create(background, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: d.volume},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, StorageClassName: class,
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{kubeletNode}}},
			}}}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.client.CoreV1().PersistentVolumeClaims(namespace).Create(background, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, VolumeName: d.volume, AccessModes: modes, Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := newPod(name, 0, name)
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "localcluster.kubevoltracker.io/kubelet", Operator: corev1.TolerationOpExists}}
	c.start(t, namespace, pod)
	c.await(t, namespace, name, corev1.PodRunning)
	return d
}

// usedBytes is what df says.
func (d *disk) usedBytes(t testing.TB) (used, capacity int64) {
	t.Helper()
	var fs syscall.Statfs_t
	if err := syscall.Statfs(d.path, &fs); err != nil {
		t.Fatal(err)
	}
	return int64(fs.Blocks-fs.Bfree) * fs.Bsize, int64(fs.Blocks) * fs.Bsize
}

// fill writes a file.
func (d *disk) fill(t testing.TB, bytes int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.path, "data"), make([]byte, bytes), 0o600); err != nil {
		t.Fatal(err)
	}
}

// awaitUsed waits until the tracker's metrics say what df says, but for what others write
// meanwhile, and returns what they say.
func (d *disk) awaitUsed(t testing.TB, p *tracker) (text string) {
	t.Helper()
	eventually(t, "the space that is used is told", func() error {
		m := p.metrics(t)
		text = m[fmt.Sprintf("kubevoltracker_volume_used_bytes{persistentvolume=%q}", d.volume)]
		sum := m[fmt.Sprintf("kubevoltracker_namespace_used_bytes{namespace=%q,storageclass=\"manual\"}", d.namespace)]
		if text == "" || sum != text {
			return fmt.Errorf("volume %q, namespace %q", text, sum)
		}
		const others = 4 << 20
		if used, _ := d.usedBytes(t); mustFloat(t, text) < float64(used-others) || mustFloat(t, text) > float64(used+others) {
			return fmt.Errorf("%s, and df says %d", text, used)
		}
		return nil
	})
	return text
}

// leave deletes the pod.
func (d *disk) leave(t testing.TB) {
	t.Helper()
	if err := d.cluster.client.CoreV1().Pods(d.namespace).Delete(background, d.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestHowFullVolumesAre asks a real kubelet, with the rights of deploy/rbac.yaml.
func TestHowFullVolumesAre(t *testing.T) {
	c := cluster(t)
	ns := c.namespace(t, "full")
	d := c.disk(t, ns, "disk")
	kubeconfig, dir := c.serviceAccount(t), t.TempDir()
	run := func() *tracker {
		return startTracker(t, kubeconfig, "--data-dir="+dir, "--kubelet.interval=1s")
	}
	p := run()
	d.awaitUsed(t, p)
	d.fill(t, 32<<20)
	d.awaitUsed(t, p)
	_, capacity := d.usedBytes(t)
	p.expectRows(t, "SELECT DISTINCT v.name, c.name, u.capacity_bytes FROM usage u JOIN volumes v ON v.uid = u.volume_uid JOIN claims c ON c.uid = u.claim_uid",
		fmt.Sprintf("%s\tdisk\t%d", d.volume, capacity))
	p.expectRows(t, "SELECT max(used_bytes) - min(used_bytes) >= 30 * 1024 * 1024 FROM usage", "1")

	// The pod goes, and nobody can tell any more: what was known stays, over a restart and
	// over the loss of the journal.
	d.leave(t)
	idle := fmt.Sprintf(`kubevoltracker_volume_state{persistentvolume=%q,namespace=%q,persistentvolumeclaim="disk",storageclass="manual",state="idle"}`, d.volume, ns)
	eventually(t, "the volume is idle", func() error {
		if p.metrics(t)[idle] != "1" {
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
		p.stop(t)
		if err := lose(); err != nil {
			t.Fatal(err)
		}
		p = run()
		eventually(t, "the volume is told", func() error {
			m := p.metrics(t)
			if got := m[fmt.Sprintf("kubevoltracker_volume_used_bytes{persistentvolume=%q}", d.volume)]; m[idle] != "1" || got != last {
				return fmt.Errorf("used are %q, and were %s", got, last)
			}
			return nil
		})
	}
	for _, report := range []string{"idle", "space"} {
		rows := p.report(t, report)
		if text := fmt.Sprint(rows); !strings.Contains(text, last) && !strings.Contains(text, fmt.Sprintf("%g", mustFloat(t, last))) {
			t.Errorf("report %s does not tell %s: %s", report, last, text)
		}
	}
}

// TestKubeletsThatRefuse takes the right to the statistics away, and the trust in who signs.
func TestKubeletsThatRefuse(t *testing.T) {
	c := cluster(t)
	ns := c.namespace(t, "refused")
	c.disk(t, ns, "disk")
	kubeconfig := c.serviceAccount(t)
	told := func(want string, args ...string) {
		t.Helper()
		p := startTracker(t, kubeconfig, append(args, "--catalog.url=none", "--kubelet.interval=1s")...)
		defer p.stop(t)
		eventually(t, "the log says what is wrong", func() error {
			p.mu.Lock()
			defer p.mu.Unlock()
			for _, line := range p.log {
				// Others' nodes, of other tests, have no kubelets.
				if text := fmt.Sprint(line["err"]); line["msg"] == "a kubelet does not tell" && strings.Contains(text, kubeletNode) {
					if !strings.Contains(text, want) {
						t.Errorf("%q does not say %q", text, want)
					}
					return nil
				}
			}
			return errors.New("it does not")
		})
		if m := p.metrics(t); m["kubevoltracker_kubelet_failures_total"] == "0" || m["kubevoltracker_kubelet_reads_total"] == "0" {
			t.Errorf("failures %s of %s", m["kubevoltracker_kubelet_failures_total"], m["kubevoltracker_kubelet_reads_total"])
		}
	}
	told("--kubelet.insecure-tls", "--kubelet.certificate-authority="+filepath.Join(c.dir, "pki", "etcd-ca.crt"))

	c.revoke(t, "nodes/stats")
	t.Cleanup(func() { c.kubectl(t, "apply", "-f", "../../deploy/rbac.yaml") })
	told("403 Forbidden: grant nodes/stats")
}
