package inventory

import (
	"cmp"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// capacity is the last sample of a CSIStorageCapacity.
type capacity struct {
	fact.StorageCapacity
	known bool // its driver reports an amount
}

// noteCapacity takes a sample whenever a driver reports a new amount.
func (inv *Inventory) noteCapacity(o *storagev1.CSIStorageCapacity, obs Observation) bool {
	sample := capacity{known: o.Capacity != nil, StorageCapacity: fact.StorageCapacity{
		At: obs.At, UID: string(o.UID), StorageClass: o.StorageClassName, Driver: inv.provisionerOf(o.StorageClassName),
		ResourceVersion: o.ResourceVersion,
	}}
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
	inv.update.Facts.StorageCapacity = append(inv.update.Facts.StorageCapacity, sample.StorageCapacity)
	inv.emitCapacity(&sample)
	return true
}

func (inv *Inventory) dropCapacity(uid string) {
	if c := inv.capacities[uid]; c != nil {
		c.known = false
		inv.emitCapacity(c)
		delete(inv.capacities, uid)
		inv.forgetSnapshot(fact.StorageCapacities, uid)
	}
}

func (inv *Inventory) provisionerOf(class string) string {
	if c := inv.classOf(class); c != nil {
		return c.row.Provisioner
	}
	return ""
}

// emitCapacity emits the present state.
func (inv *Inventory) emitCapacity(c *capacity) {
	inv.update.Capacities = append(inv.update.Capacities, fact.CapacityState{
		UID: c.UID, StorageClass: c.StorageClass, Driver: cmp.Or(inv.provisionerOf(c.StorageClass), c.Driver), Topology: c.Topology,
		CapacityBytes: c.CapacityBytes, Gone: !c.known,
	})
}
