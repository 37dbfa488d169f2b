package e2e

import (
	"fmt"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// skipsKindsThatItMayNotList takes some of the rights of deploy/rbac.yaml away, and gives them back.
func skipsKindsThatItMayNotList(t *testing.T, c *harness.LocalCluster) {
	ns := c.CreateNamespace(t, "without")
	kubeconfig := c.ServiceAccount(t)
	c.Revoke(t, "volumeattachments", "replicasets")
	p := harness.StartTracker(t, kubeconfig)
	c.CreateBoundClaim(t, ns, "data", "standard")
	p.ExpectRows(t, "SELECT phase FROM claims WHERE namespace = 'without'", "Bound")
	m := p.Metrics(t)
	for kind, want := range map[string]string{"VolumeAttachment": "0", "ReplicaSet": "0", "Pod": "1", "PersistentVolumeClaim": "1"} {
		if got := m[`kubevoltracker_watch_available{kind="`+kind+`"}`]; got != want {
			t.Errorf("%s is available: %s, want %s", kind, got, want)
		}
	}
	c.GrantRights(t)
	harness.Eventually(t, "it is shown again", func() error {
		if got := p.Metrics(t)[`kubevoltracker_watch_available{kind="VolumeAttachment"}`]; got != "1" {
			return fmt.Errorf("available: %s", got)
		}
		return nil
	})
}
