package e2e

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// kubeletNode is the node of the local cluster that has a real kubelet.
const kubeletNode = "kubelet-1"

// disk is a local volume on that node, with a claim of the same name, which a pod of that name uses.
type disk struct {
	cluster         *harness.LocalCluster
	namespace, name string
	volume, path    string
}

// newDisk creates the volume, its claim and its pod, and waits until the pod runs.
func newDisk(t testing.TB, c *harness.LocalCluster, namespace, name string) *disk {
	t.Helper()
	// Few others write to this file system.
	path, err := os.MkdirTemp("/dev/shm", "kubevoltracker-test-")
	if err != nil {
		path = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(path) })
	d := &disk{c, namespace, name, namespace + "-" + name, path}
	class, size := "manual", corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	if _, err := c.Client.CoreV1().PersistentVolumes().Create(background, &corev1.PersistentVolume{
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
	if _, err := c.Client.CoreV1().PersistentVolumeClaims(namespace).Create(background, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, VolumeName: d.volume, AccessModes: modes, Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := harness.NewPod(name, 0, name)
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "localcluster.kubevoltracker.io/kubelet", Operator: corev1.TolerationOpExists}}
	c.StartPod(t, namespace, pod)
	c.AwaitPod(t, namespace, name, corev1.PodRunning)
	return d
}

// usedBytes returns what df says.
func (d *disk) usedBytes(t testing.TB) (used, capacity int64) {
	t.Helper()
	var fs syscall.Statfs_t
	if err := syscall.Statfs(d.path, &fs); err != nil {
		t.Fatal(err)
	}
	return int64(fs.Blocks-fs.Bfree) * fs.Bsize, int64(fs.Blocks) * fs.Bsize
}

// fill writes a file of a size.
func (d *disk) fill(t testing.TB, bytes int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.path, "data"), make([]byte, bytes), 0o600); err != nil {
		t.Fatal(err)
	}
}

// awaitUsed waits until the metrics say what df says, within what others write to the file system meanwhile, and
// returns their value.
func (d *disk) awaitUsed(t testing.TB, p *harness.Tracker) (text string) {
	t.Helper()
	harness.Eventually(t, "the metrics have the used space", func() error {
		m := p.Metrics(t)
		text = m[fmt.Sprintf("kubevoltracker_volume_used_bytes{persistentvolume=%q}", d.volume)]
		sum := m[fmt.Sprintf("kubevoltracker_namespace_used_bytes{namespace=%q,storageclass=\"manual\"}", d.namespace)]
		if text == "" || sum != text {
			return fmt.Errorf("volume %q, namespace %q", text, sum)
		}
		const others = 4 << 20
		if err := d.compareRest(t, m, others); err != nil {
			return err
		}
		if used, _ := d.usedBytes(t); mustFloat(t, text) < float64(used-others) || mustFloat(t, text) > float64(used+others) {
			return fmt.Errorf("%s, and df says %d", text, used)
		}
		return nil
	})
	return text
}

// compareRest compares the available space and the inodes in the metrics with what df says, within what others write to
// the file system meanwhile.
func (d *disk) compareRest(t testing.TB, m map[string]string, others float64) error {
	t.Helper()
	var fs syscall.Statfs_t
	if err := syscall.Statfs(d.path, &fs); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct{ value, slack float64 }{
		"available_bytes": {float64(fs.Bavail) * float64(fs.Bsize), others},
		"inodes":          {float64(fs.Files), 0},
		"inodes_used":     {float64(fs.Files - fs.Ffree), 1000},
	} {
		text, ok := m[fmt.Sprintf("kubevoltracker_volume_%s{persistentvolume=%q}", name, d.volume)]
		if fs.Files == 0 && name != "available_bytes" {
			if ok {
				return fmt.Errorf("%s is %s on a file system without inodes", name, text)
			}
			continue
		}
		if !ok || math.Abs(mustFloat(t, text)-want.value) > want.slack {
			return fmt.Errorf("%s is %q, and df says %.0f", name, text, want.value)
		}
	}
	return nil
}

// leave deletes the pod.
func (d *disk) leave(t testing.TB) {
	t.Helper()
	if err := d.cluster.Client.CoreV1().Pods(d.namespace).Delete(background, d.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}
