package exporter

import (
	"testing"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

func TestStorageCapacity(t *testing.T) {
	e := newTestExporter()
	capacity := func(uid, class, topology string, bytes int64) fact.CapacityState {
		return fact.CapacityState{UID: uid, StorageClass: class, Driver: "csi.example", Topology: topology, CapacityBytes: bytes}
	}
	e.Apply(&fact.Update{Capacities: []fact.CapacityState{
		capacity("k1", "slow", "zone=a", 1), capacity("k2", "fast", "zone=b", 0), capacity("k3", "fast", "zone=a", 3), capacity("left-behind", "fast", "zone=a", 2),
	}})
	wantText(t, samples(t, e, capacityName), `
kubevoltracker_storage_capacity_bytes{storageclass="fast",driver="csi.example",topology="zone=a"} 3
kubevoltracker_storage_capacity_bytes{storageclass="fast",driver="csi.example",topology="zone=b"} 0
kubevoltracker_storage_capacity_bytes{storageclass="slow",driver="csi.example",topology="zone=a"} 1
`)
	gone := capacity("k3", "fast", "zone=a", 3)
	gone.Gone = true
	e.Apply(&fact.Update{Capacities: []fact.CapacityState{gone, capacity("k2", "fast", "zone=b", 9)}})
	wantText(t, samples(t, e, capacityName), `
kubevoltracker_storage_capacity_bytes{storageclass="fast",driver="csi.example",topology="zone=a"} 2
kubevoltracker_storage_capacity_bytes{storageclass="fast",driver="csi.example",topology="zone=b"} 9
kubevoltracker_storage_capacity_bytes{storageclass="slow",driver="csi.example",topology="zone=a"} 1
`)
}

// A class's counters are there before its first volume is, or increase() would not see
// that one.
func TestCountersOfAClassStartBeforeItsFirstVolume(t *testing.T) {
	e := newTestExporter()
	nfs := testVolume() // of class fast, on nfs
	e.Apply(&fact.Update{
		Classes: []fact.ClassState{
			{Name: "block", Provisioner: "csi.example"}, {Name: "by-hand", Provisioner: "kubernetes.io/no-provisioner"},
			{Name: "ebs", Provisioner: "kubernetes.io/aws-ebs"}, {Name: "rbd", Provisioner: "kubernetes.io/rbd"},
			{Name: "fast", Provisioner: "nfs.example"},
		},
		Volumes: []fact.VolumeState{nfs},
	})
	e.Apply(&fact.Update{Classes: []fact.ClassState{
		{Name: "fast", Provisioner: "nfs.example", Gone: true}, {Name: "slow", Provisioner: "nfs.example"}, // as its other volumes
	}})
	wantText(t, samples(t, e, "kubevoltracker_volumes_created"), `
kubevoltracker_volumes_created_total{source="awsElasticBlockStore",storageclass="ebs"} 0
kubevoltracker_volumes_created_total{source="csi",storageclass="block"} 0
kubevoltracker_volumes_created_total{source="csi",storageclass="fast"} 0
kubevoltracker_volumes_created_total{source="local",storageclass="by-hand"} 0
kubevoltracker_volumes_created_total{source="nfs",storageclass="fast"} 0
kubevoltracker_volumes_created_total{source="nfs",storageclass="slow"} 0
kubevoltracker_volumes_created_total{source="rbd",storageclass="rbd"} 0
`)
}
