package exporter

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file in testdata, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what is served (-update writes it anew):\n%s", path, got)
	}
}

// smallCluster is a volume in each state, claims that wait, classes, capacities, and
// something that happened.
func smallCluster() *fact.Update {
	u := &fact.Update{
		Watched: []fact.Span{watchedAgo(3*time.Hour, 100*time.Minute), watchedAgo(50*time.Minute, 0)}, // and a gap
		Classes: []fact.ClassState{
			{Name: "fast", Provisioner: "csi.example", BindingMode: "WaitForFirstConsumer", ReclaimPolicy: "Delete"},
			{Name: "slow", Provisioner: "nfs.example", BindingMode: "Immediate", ReclaimPolicy: "Retain"},
		},
		Attachments: []fact.AttachmentState{
			{UID: "a1", Volume: "pv-pending", Node: "node-1", Attacher: "csi.example", Operation: fact.Attaching, Since: ago(7 * time.Minute)},
			{UID: "a2", Volume: "pv-idle", Node: "node-2", Attacher: "csi.example", Operation: fact.Detaching, Since: ago(time.Minute)},
		},
		Capacities: []fact.CapacityState{
			{UID: "k1", StorageClass: "fast", Driver: "csi.example", Topology: "zone=a", CapacityBytes: 1 << 40},
			{UID: "k2", StorageClass: "fast", Driver: "csi.example", Topology: "zone=b", CapacityBytes: 0},
		},
	}
	for i, status := range []fact.VolumeStatus{
		fact.VolumeMounted, fact.VolumePending, fact.VolumeIdle, fact.VolumeNeverMounted,
		fact.VolumeAvailable, fact.VolumeReleased, fact.VolumeFailed,
	} {
		v := fact.VolumeState{
			UID: string(status), Name: "pv-" + string(status), StorageClass: "fast", SourceKind: "csi", Driver: "csi.example", ReclaimPolicy: "Delete",
			CapacityBytes: int64(i+1) << 30, Namespace: "shop", Claim: "data-" + string(status), Owner: "anna", Status: status, ChangedAt: ago(time.Hour),
			ClaimLabels: intern.Pack(map[string]string{"team": "red"}), NamespaceLabels: intern.Pack(map[string]string{"cost-center": "42"}),
		}
		switch status {
		case fact.VolumeMounted:
			v.Mounts, v.UsedBytes, v.Measured, v.Used = 2, 700<<20, true, true
			v.AvailableBytes, v.Inodes, v.InodesUsed = 324<<20, 65536, 1234
		case fact.VolumePending:
			v.LastUsed = ago(time.Hour)
			v.UsedBytes, v.AvailableBytes, v.Measured, v.Used = 100<<20, 1948<<20, true, true
		case fact.VolumeIdle:
			v.LastUsed, v.IdleSince = ago(time.Hour), ago(time.Hour)
			v.UsedBytes, v.AvailableBytes, v.Measured, v.Used = 0, 3<<30, true, true // there is nothing on it
		case fact.VolumeNeverMounted:
			v.IdleSince, v.UnusedSince = ago(time.Hour), ago(55*time.Minute)
			v.KeepUntil = ago(-30 * 24 * time.Hour)
		case fact.VolumeAvailable:
			v.StorageClass, v.SourceKind, v.Driver, v.ReclaimPolicy = "slow", "nfs", "", "Retain"
			v.Namespace, v.Claim, v.Owner, v.IdleSince = "", "", "", ago(time.Hour)
			v.ClaimLabels, v.NamespaceLabels = fact.LabelSet{}, fact.LabelSet{}
		case fact.VolumeReleased:
			v.ChangedAt, v.LastUsed, v.IdleSince = 0, ago(2*time.Hour), ago(2*time.Hour) // found so before 1.28
			v.UsedBytes, v.AvailableBytes, v.Measured, v.Used = 1<<30, 5<<30, true, true
			v.KeepUnreadable = "for ever"
		default:
			v.IdleSince = ago(time.Hour)
		}
		v.ClaimClass = v.StorageClass
		u.Volumes = append(u.Volumes, v)
		if i < 4 {
			u.Claims = append(u.Claims, fact.ClaimState{
				UID: v.UID, Namespace: v.Namespace, StorageClass: v.StorageClass, Phase: "Bound",
				RequestedBytes: 1 << 30, CapacityBytes: v.CapacityBytes,
			})
		}
	}
	u.Claims = append(u.Claims,
		fact.ClaimState{UID: "waits", Namespace: "shop", StorageClass: "fast", Phase: "Pending", RequestedBytes: 1 << 30, PendingSince: ago(20 * time.Minute)},
		fact.ClaimState{UID: "by-right", Namespace: "lab", StorageClass: "slow", Phase: "Pending", RequestedBytes: 1 << 30},
		fact.ClaimState{UID: "lost", Namespace: "lab", StorageClass: "slow", Phase: "Lost", RequestedBytes: 1 << 30},
	)
	u.At = ago(10 * time.Minute)
	bound := claimChange(fact.Bound)
	bound.Took, bound.Measured = 3*time.Second, true
	u.Facts.Changes = append(everyChange(), bound, fact.Change{Kind: "Pod", Namespace: "shop", Action: fact.Started, Took: 7 * time.Second, Measured: true})
	return u
}

// TestGoldenScrape holds all that is served of a cluster, for a review to read.
func TestGoldenScrape(t *testing.T) {
	e := New(Options{
		Registry: prometheus.NewRegistry(), PerVolume: true, Now: testNow.Time, MaxVolumes: 6,
		ClaimLabels: LabelKeys{"team"}, NamespaceLabels: LabelKeys{"cost-center"},
	})
	e.Apply(smallCluster())
	var b strings.Builder
	for line := range strings.Lines(get(http.HandlerFunc(e.scrape), acceptText).Body.String()) {
		if strings.Contains(line, "kubevoltracker_") && !strings.Contains(line, "kubevoltracker_build_info") {
			b.WriteString(line)
		}
	}
	golden(t, "scrape.txt", b.String())
}
