package inventory

import (
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// noteCapacity takes a sample whenever a driver says something new.
func (inv *Inventory) noteCapacity(o *storagev1.CSIStorageCapacity, seen Seen) bool {
	sample := StorageCapacity{
		At: seen.At, UID: string(o.UID), StorageClass: o.StorageClassName, Driver: inv.provisionerOf(o.StorageClassName),
		ResourceVersion: o.ResourceVersion,
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
	return true
}

func (inv *Inventory) dropCapacity(uid string) {
	if inv.capacities[uid] != nil {
		delete(inv.capacities, uid)
		inv.drown(StorageCapacities, uid)
	}
}

func (inv *Inventory) provisionerOf(class string) string {
	for _, c := range inv.classes {
		if c.row.Name == class {
			return c.row.Provisioner
		}
	}
	return ""
}
