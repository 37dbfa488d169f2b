package inventory

import (
	"cmp"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// noteCapacity takes a sample whenever a driver reports a new amount, or stops to report one.
func (inv *Inventory) noteCapacity(o *storagev1.CSIStorageCapacity, obs Observation) bool {
	sample := fact.StorageCapacity{
		At: obs.At, UID: string(o.UID), StorageClass: o.StorageClassName, Driver: inv.provisionerOf(o.StorageClassName),
		Gone: o.Capacity == nil, ResourceVersion: o.ResourceVersion,
	}
	if o.NodeTopology != nil {
		sample.Topology = metav1.FormatLabelSelector(o.NodeTopology)
	}
	if o.Capacity != nil {
		sample.CapacityBytes = o.Capacity.Value()
	}
	if o.MaximumVolumeSize != nil {
		sample.MaximumVolumeBytes = o.MaximumVolumeSize.Value()
	}
	if last := inv.capacities[sample.UID]; last != nil {
		said := *last
		said.At, said.ResourceVersion = sample.At, sample.ResourceVersion
		if sample == said {
			return false
		}
	}
	inv.capacities[sample.UID] = &sample
	inv.update.Facts.StorageCapacity = append(inv.update.Facts.StorageCapacity, sample)
	inv.emitCapacity(&sample)
	return true
}

// dropCapacity takes the last sample of an object that is gone, unless the sample before says so already.
func (inv *Inventory) dropCapacity(uid string, obs Observation) {
	c := inv.capacities[uid]
	if c == nil {
		return
	}
	if !c.Gone {
		_, c.At = obs.bounds(c.At)
		c.CapacityBytes, c.MaximumVolumeBytes, c.Gone, c.ResourceVersion = 0, 0, true, inv.observation.Version
		inv.update.Facts.StorageCapacity = append(inv.update.Facts.StorageCapacity, *c)
	}
	inv.emitCapacity(c)
	delete(inv.capacities, uid)
	inv.forgetSnapshot(fact.StorageCapacities, uid)
}

func (inv *Inventory) provisionerOf(class string) string {
	if c := inv.classOf(class); c != nil {
		return c.row.Provisioner
	}
	return ""
}

// emitCapacity emits the present state.
func (inv *Inventory) emitCapacity(c *fact.StorageCapacity) {
	inv.update.Capacities = append(inv.update.Capacities, fact.CapacityState{
		UID: c.UID, StorageClass: c.StorageClass, Driver: cmp.Or(inv.provisionerOf(c.StorageClass), c.Driver), Topology: c.Topology,
		CapacityBytes: c.CapacityBytes, Gone: c.Gone,
	})
}
