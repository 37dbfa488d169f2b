package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestAFeatureThatIsOffEndsNothing attaches a volume and detaches it while attachments are not watched, over a restart
// from the journal and one from the catalog. The attachment ends when they are watched again.
func TestAFeatureThatIsOffEndsNothing(t *testing.T) {
	t.Parallel()
	c := harness.Cluster(t)
	ns, dir := c.CreateNamespace(t, "feature"), t.TempDir()
	server := harness.StartClickHouse(t)
	run := func(args ...string) *harness.Tracker {
		p := harness.StartTracker(t, c.Kubeconfig, append(args, "--data-dir="+dir, "--catalog.url="+server.URL("kubevoltracker"))...)
		p.Catalog = server.URL("kubevoltracker")
		p.ExpectReady(t)
		return p
	}
	_, volume := c.CreateBoundClaim(t, ns, "data", "standard")
	c.CreatePod(t, ns, "user", 0, "data")
	attachment := fmt.Sprintf("SELECT detached_at IS NULL FROM attachments WHERE volume_uid = '%s'", volume.UID)
	p := run()
	p.ExpectRows(t, attachment, "1")
	p.Stop(t)

	off := []string{"--no-collector.attachments", "--no-collector.owners", "--no-collector.storage-capacity"}
	p = run(off...)
	if err := c.Client.CoreV1().Pods(ns).Delete(background, "user", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the volume is detached", func() error {
		list, err := c.Client.StorageV1().VolumeAttachments().List(background, metav1.ListOptions{})
		for i := range list.Items {
			if name := list.Items[i].Spec.Source.PersistentVolumeName; name != nil && *name == volume.Name {
				return fmt.Errorf("it is attached")
			}
		}
		return err
	})
	p.ExpectRows(t, "SELECT count() FROM pods WHERE namespace = 'feature' AND deleted_at IS NOT NULL", "1")
	p.ExpectRows(t, attachment, "1")
	p.Stop(t)

	if err := os.RemoveAll(filepath.Join(dir, "journal")); err != nil { // the catalog restores the state
		t.Fatal(err)
	}
	p = run(off...)
	c.CreateClaim(t, ns, "later", "standard")
	p.ExpectRows(t, "SELECT count() FROM claims WHERE namespace = 'feature' AND name = 'later'", "1")
	p.ExpectRows(t, attachment, "1")
	p.Stop(t)

	p = run()
	p.ExpectRows(t, attachment+" AND detached_at IS NOT NULL", "0")
}
