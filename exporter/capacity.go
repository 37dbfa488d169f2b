package exporter

import (
	"cmp"
	"iter"
	"slices"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

const (
	capacityName = prefix + "_storage_capacity_bytes"
	capacityHelp = "How much a storage class can still provision for a part of the cluster, as its CSI driver says in a CSIStorageCapacity. The topology is the selector of the nodes that can reach it. Absent where the driver does not publish it, and with --no-collector.storage-capacity."
)

// capacitySeries turns copied capacities into a family. Of two objects for the same class
// and part of the cluster (a driver may leave one behind) the larger counts, as it does
// for the scheduler.
func capacitySeries(states []fact.CapacityState) family {
	slices.SortFunc(states, func(a, b fact.CapacityState) int {
		return cmp.Or(cmp.Compare(a.StorageClass, b.StorageClass), cmp.Compare(a.Driver, b.Driver),
			cmp.Compare(a.Topology, b.Topology), cmp.Compare(b.CapacityBytes, a.CapacityBytes))
	})
	states = slices.CompactFunc(states, func(a, b fact.CapacityState) bool {
		return a.StorageClass == b.StorageClass && a.Driver == b.Driver && a.Topology == b.Topology
	})
	return family{name: capacityName, help: capacityHelp, lines: capacityLines(states)}
}

func capacityLines(states []fact.CapacityState) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var b []byte
		for i := range states {
			c := &states[i]
			b = appendLabel(append(b[:0], '{'), "storageclass", c.StorageClass)
			b = appendLabel(append(b, ','), "driver", c.Driver)
			b = appendLabel(append(b, ','), "topology", c.Topology)
			b = appendValue(b, c.CapacityBytes)
			if !yield(b) {
				return
			}
		}
	}
}
