package fact

// Kind is a kind of object that the inventory takes.
type Kind string

// The kinds, by their names in the API.
const (
	Namespaces        Kind = "Namespace"
	StorageClasses    Kind = "StorageClass"
	StorageCapacities Kind = "CSIStorageCapacity"
	Drivers           Kind = "CSIDriver"
	Nodes             Kind = "Node"
	Volumes           Kind = "PersistentVolume"
	StatefulSets      Kind = "StatefulSet"
	DaemonSets        Kind = "DaemonSet"
	Deployments       Kind = "Deployment"
	ReplicaSets       Kind = "ReplicaSet"
	CronJobs          Kind = "CronJob"
	Jobs              Kind = "Job"
	Claims            Kind = "PersistentVolumeClaim"
	VolumeAttachments Kind = "VolumeAttachment"
	Pods              Kind = "Pod"
)

// Kinds lists the kinds in dependency order: a kind comes after the kinds that it refers to.
func Kinds() []Kind {
	return []Kind{
		Namespaces, Nodes, Drivers, StorageClasses, StorageCapacities, Volumes, StatefulSets, DaemonSets, Deployments, ReplicaSets,
		CronJobs, Jobs, Claims, VolumeAttachments, Pods,
	}
}
