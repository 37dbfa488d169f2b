package collector

import (
	"slices"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// Features says which optional parts of the collector are on. Each of them needs rights of its own.
//
// The kinds of a feature that is off are neither listed nor watched. Objects of these kinds that an earlier run has
// saved stay as they were: the tracker does not learn that they change or go. When the feature is on again, the
// collector compares them with a list, and dates what changed meanwhile with bounds.
type Features struct {
	Owners          bool // the chain of owners that ends in a pod's workload
	Attachments     bool // VolumeAttachments
	StorageCapacity bool // CSIStorageCapacities
}

// kinds returns the kinds to watch with these features, in the order of fact.Kinds.
func (f Features) kinds() []fact.Kind {
	return slices.DeleteFunc(fact.Kinds(), func(kind fact.Kind) bool {
		_, on := f.of(kind)
		return !on
	})
}

// of reports whether the feature of a kind is on, and returns the flag that switches it off. A kind that is of no feature
// is always on.
func (f Features) of(kind fact.Kind) (switchOff string, on bool) {
	switch kind {
	case fact.StatefulSets, fact.DaemonSets, fact.Deployments, fact.ReplicaSets, fact.CronJobs, fact.Jobs:
		return "--no-collector.owners", f.Owners
	case fact.VolumeAttachments:
		return "--no-collector.attachments", f.Attachments
	case fact.StorageCapacities:
		return "--no-collector.storage-capacity", f.StorageCapacity
	}
	return "", true
}

// essential reports whether the tracker is not ready without a kind. Without all pods, claims and volumes, volumes in
// use would look idle.
func essential(kind fact.Kind) bool {
	return kind == fact.Pods || kind == fact.Claims || kind == fact.Volumes
}
