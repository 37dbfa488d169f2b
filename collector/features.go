package collector

import (
	"slices"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// Features are parts of the collector that users can switch off, with the rights that only they need.
//
// The kinds of a feature that is off are neither listed nor watched. Objects of these kinds that an earlier run has
// saved stay as they were: the tracker does not learn that they change or go. When the feature is on again, the
// collector compares them with a list, and dates what changed meanwhile with bounds.
type Features struct {
	Owners          bool // the chain of owners that ends in a pod's workload
	Attachments     bool // VolumeAttachments
	StorageCapacity bool // CSIStorageCapacities
}

// kinds returns the kinds to watch without these features, in the order of fact.Kinds.
func (without Features) kinds() []fact.Kind {
	return slices.DeleteFunc(fact.Kinds(), func(kind fact.Kind) bool {
		switch kind {
		case fact.StatefulSets, fact.DaemonSets, fact.Deployments, fact.ReplicaSets, fact.CronJobs, fact.Jobs:
			return without.Owners
		case fact.VolumeAttachments:
			return without.Attachments
		case fact.StorageCapacities:
			return without.StorageCapacity
		}
		return false
	})
}

// switchOff returns the flag that switches the feature of a kind off; empty if there is none.
func switchOff(kind fact.Kind) string {
	for flag, without := range map[string]Features{
		"--no-collector.owners":           {Owners: true},
		"--no-collector.attachments":      {Attachments: true},
		"--no-collector.storage-capacity": {StorageCapacity: true},
	} {
		if !slices.Contains(without.kinds(), kind) {
			return flag
		}
	}
	return ""
}

// essential reports whether the tracker is not ready without a kind. Without all pods, claims and volumes, volumes in
// use would look idle.
func essential(kind fact.Kind) bool {
	return kind == fact.Pods || kind == fact.Claims || kind == fact.Volumes
}
