package ingest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// clusterRows is n rows as a cluster makes them.
func clusterRows(n int) *fact.Facts {
	f := &fact.Facts{}
	at := fact.Time(1767225600000000)
	for i := range n / 4 {
		at += fact.Time(rand.IntN(1_000_000))
		pod, claim, volume := uuid.NewString(), uuid.NewString(), uuid.NewString()
		team, app := fmt.Sprint("team-", rand.IntN(200)), fmt.Sprint("app-", rand.IntN(1000))
		version := uint64(at)
		f.Claims = append(f.Claims, fact.Claim{Version: version, UID: claim, Namespace: team, Name: fmt.Sprint("data-", app, "-", i), StorageClass: "fast", VolumeUID: volume, VolumeName: "pvc-" + claim, CapacityBytes: 10 << 30, AccessModes: []string{"ReadWriteOnce"}, VolumeMode: "Filesystem", Phase: "Bound", Owner: app, Labels: fact.Labels{"app.kubernetes.io/name": app}, CreatedAt: at, BoundAt: at})
		f.Containers = append(f.Containers, fact.Container{Version: version, PodUID: pod, Name: "main", Kind: fact.MainContainer, Image: "registry.example.com/" + app + ":v1.2.3", Command: "/bin/server", StartedAt: at})
		f.Mounts = append(f.Mounts, fact.Mount{Version: version, Namespace: team, PodUID: pod, Container: "main", Volume: "data", MountPath: "/var/lib/data", SourceKind: "csi", SourceID: volume, ClaimUID: claim, ClaimName: fmt.Sprint("data-", app, "-", i), VolumeUID: volume, StartedAt: at})
		f.Changes = append(f.Changes, fact.Change{At: at, Kind: "Pod", UID: pod, Namespace: team, Name: app, Action: fact.Mounted, Details: "data", Actor: "kubelet"})
	}
	return f
}

// BenchmarkEncodeFacts and BenchmarkDecodeFacts are of 1,000 rows.
func BenchmarkEncodeFacts(b *testing.B) {
	facts := clusterRows(1000)
	var data []byte
	var scratch bytes.Buffer
	for b.Loop() {
		var err error
		if data, err = encodeFacts(facts, &scratch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(data))/1000, "B/row")
}

func BenchmarkDecodeFacts(b *testing.B) {
	data, err := encodeFacts(clusterRows(1000), new(bytes.Buffer))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var facts fact.Facts
		if err := decodeFacts(data, &facts); err != nil {
			b.Fatal(err)
		}
	}
}
