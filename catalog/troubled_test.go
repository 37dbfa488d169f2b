package catalog_test

import (
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// troubles are the reports whose samples are of the cluster in trouble.
var troubles = []string{"same-store", "blocked", "stranded"}

// troubled returns a catalog of a cluster with a case of each trouble that reports name.
func troubled(t *testing.T) *catalog.Catalog {
	t.Helper()
	c := catalogtest.Open(t, sharedAddress, t.Name()+"Troubled")
	if err := c.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := &fact.Facts{}
	shareAnExport(f)
	loseANode(f)
	blockAPod(f)
	write(t, c, "east", f)
	return c
}

// shareAnExport adds two volumes on one export, whose pods wrote to it at the same time for a week.
func shareAnExport(f *fact.Facts) {
	f.VolumeSources = append(f.VolumeSources, fact.VolumeSource{Version: 1, ID: "nfs:1", Kind: "nfs", Server: "nfs.example.com", Path: "/export/logs"})
	f.Volumes = append(f.Volumes, volumeOf("logs", "", "nfs:1", "claim-logs", "Bound", 100), volumeOf("logs-copy", "", "nfs:1", "claim-logs-copy", "Bound", 100))
	f.Claims = append(f.Claims, claimOf("logs", "", "logs", 100), claimOf("logs-copy", "", "logs-copy", 100))
	f.Pods = append(f.Pods, podOf("shop", "logger-1", "DaemonSet", "logger"), podOf("shop", "audit-1", "Deployment", "audit"))
	f.Mounts = append(f.Mounts,
		endedMount(mountOf("logger-1", "logs", "logs", "nfs:1", "logs", day(1, 3)), day(1, 31), day(1, 31), "Deleted"),
		mountOf("audit-1", "logs", "logs-copy", "nfs:1", "logs-copy", day(1, 24)))
}

// loseANode adds a node that was taken away with a disk in it.
func loseANode(f *fact.Facts) {
	f.VolumeSources = append(f.VolumeSources, fact.VolumeSource{Version: 1, ID: "local:1", Kind: "local", Path: "/disks/1"})
	f.Volumes = append(f.Volumes, volumeOf("disk-1", "local", "local:1", "claim-disk-1", "Bound", 400), volumeOf("disk-2", "local", "local:1", "", "Available", 400))
	f.Claims = append(f.Claims, claimOf("disk-1", "local", "disk-1", 400))
	f.Pods = append(f.Pods, podOf("shop", "mongo-0", "StatefulSet", "mongo"))
	f.Mounts = append(f.Mounts, endedMount(mountOf("mongo-0", "disk", "disk-1", "local:1", "disk-1", day(1, 3)), day(2, 14), day(2, 14), "Deleted"))
	reachedFrom(f.Volumes, map[string]string{"disk-1": onNode("node-1"), "disk-2": onNode("node-2")})
	f.Objects = append(f.Objects, nodeVersion("node-1", "node-1", day(1, 1)), nodeVersion("node-2", "node-2", day(1, 1)))
	f.Changes = append(f.Changes, fact.Change{At: day(2, 14), Kind: "Node", UID: "node-1", Name: "node-1", Action: fact.Deleted})
	for _, kind := range []fact.Kind{fact.Pods, fact.Nodes, fact.Volumes} {
		f.Coverage = append(f.Coverage, fact.Coverage{Version: 1, Instance: "a", Kind: kind, StartedAt: day(1, 1), SeenAt: day(3, 1)})
	}
}

// blockAPod adds a pod that waits for a claim of one pod, and a claim whose deletion waits for the pod.
func blockAPod(f *fact.Facts) {
	f.Volumes = append(f.Volumes, volumeOf("ledger", "fast", "csi:9", "claim-ledger", "Bound", 20))
	ledger := claimOf("ledger", "fast", "ledger", 20)
	ledger.AccessModes = []string{"ReadWriteOncePod"}
	f.Claims = append(f.Claims, ledger)
	holder, waiting := podOf("shop", "ledger-1", "Deployment", "ledger"), podOf("shop", "ledger-2", "Deployment", "ledger")
	holder.Node, waiting.Phase, waiting.CreatedAt, waiting.StartedAt = "node-2", "Pending", day(2, 27), 0
	f.Pods = append(f.Pods, holder, waiting)
	f.Mounts = append(f.Mounts, mountOf("ledger-1", "ledger", "ledger", "csi:9", "ledger", day(1, 3)))
	f.Objects = append(f.Objects, fact.Object{Kind: fact.Pods, UID: waiting.UID, Namespace: "shop", Name: waiting.Name, ResourceVersion: "1", ObservedAt: day(2, 27),
		Object: `{"spec":{"volumes":[{"name":"ledger","persistentVolumeClaim":{"claimName":"ledger"}}]}}`})
	f.Changes = append(f.Changes, fact.Change{At: day(2, 28), Kind: "PersistentVolumeClaim", UID: ledger.UID, Namespace: "shop", Name: "ledger", Action: fact.Deleting})
}
