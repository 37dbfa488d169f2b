package fact

// VolumeStatus is the present status of a PersistentVolume, in the words of the metric
// volume_state.
type VolumeStatus string

// The volume states. A bound volume is mounted, pending, idle or never_mounted;
// one that is not bound is available, released or failed, unless a container
// still uses it.
const (
	VolumeMounted      VolumeStatus = "mounted"       // a container uses it
	VolumePending      VolumeStatus = "pending"       // a pod that has not started awaits it
	VolumeIdle         VolumeStatus = "idle"          // used before, not now
	VolumeNeverMounted VolumeStatus = "never_mounted" // bound, and no use is known
	VolumeAvailable    VolumeStatus = "available"     // waits for a claim (the API's phases Pending and Available)
	VolumeReleased     VolumeStatus = "released"      // its claim is gone
	VolumeFailed       VolumeStatus = "failed"        // its reclamation failed
	VolumeDeleted      VolumeStatus = "deleted"       // it is gone: in the catalog alone, the metrics do not have it
)

// VolumeState is the present state of a PersistentVolume, with the inferences about its use.
type VolumeState struct {
	UID             string
	Name            string
	StorageClass    string
	SourceKind      string
	Driver          string
	ReclaimPolicy   string
	CapacityBytes   int64
	UsedBytes       int64 // as a kubelet last reported; AvailableBytes, Inodes and InodesUsed as well
	AvailableBytes  int64
	Inodes          int64 // 0 if the file system has none
	InodesUsed      int64
	Measured        bool   // a kubelet has reported
	Block           bool   // a block device, which kubelets do not measure
	Used            bool   // a container uses it, or an earlier use is known
	Namespace       string // of its claim, or of the claim from which it was released
	Claim           string
	ClaimClass      string   // under which metrics show its claim, which can differ from that of a volume that was reserved for it; StorageClass without a claim
	Owner           string   // of its claim
	ClaimLabels     LabelSet // of its claim
	NamespaceLabels LabelSet // of its claim's namespace
	Status          VolumeStatus
	ChangedAt       Time // when it came into this status
	Mounts          int  // containers that use it now
	LastUsed        Time // end of its last use; absent while in use or if none is known
	IdleSince       Time // since when nobody uses or awaits it; absent while someone does
	// UnusedSince is the time of its claim's condition Unused (KEP-5541) while that is True: the
	// API vouches that no pod has referred to the claim since. Absent otherwise.
	UnusedSince Time
	// KeepUntil is the end of the time for which an annotation keeps the volume, though nobody uses it. Absent if there is none.
	KeepUntil      Time
	KeepUnreadable string // the text of such an annotation that cannot be read
	Gone           bool   // it was deleted; the other fields have their last values
	// DeletedNotBefore is the earliest moment at which it can have been deleted; absent unless it is gone, and if that is unknown:
	// its row then has the creation, from which the metrics would take back all that they have counted.
	DeletedNotBefore Time
}

// UnknownClass stands, in the metrics, for each class that a claim names and that no StorageClass or PersistentVolume has
// had since the tracker started. Who may create claims can invent any number of classes. It is no valid name of a class.
const UnknownClass = "_unknown"

// ClaimState is the present state of a PersistentVolumeClaim.
type ClaimState struct {
	UID            string
	Namespace      string
	StorageClass   string // that the claim names, or UnknownClass
	Phase          string
	RequestedBytes int64
	CapacityBytes  int64 // the size of its volume, as VolumeState has it; that in the claim's status while the volume is unknown
	BoundAt        Time  // absent until it is bound
	AwaitsVolume   bool  // nobody has observed yet that its volume, which shows when it was bound, is bound to it
	BoundBefore    bool  // it has been observed to be bound, by an earlier run perhaps, or was found Lost
	PendingSince   Time  // since when it waits to be bound; absent while waiting is expected (WaitForFirstConsumer without a pod)
	Gone           bool
	// DeletedNotBefore is the earliest moment at which it can have been deleted, as in VolumeState.
	DeletedNotBefore Time
}

// ClassState is the present state of a StorageClass.
type ClassState struct {
	Name          string
	Provisioner   string
	ReclaimPolicy string
	BindingMode   string // Immediate or WaitForFirstConsumer
	Gone          bool
}

// CapacityState is how much a storage class can still provision for a part of the cluster, as a
// CSIStorageCapacity reports now.
type CapacityState struct {
	UID           string
	StorageClass  string
	Driver        string // the class's provisioner
	Topology      string // selector of the nodes that can reach it
	CapacityBytes int64
	Gone          bool // it was deleted, or its driver no longer reports an amount
}

// The operations for which an attacher waits, as AttachmentState.Operation.
const (
	Attaching = "attach"
	Detaching = "detach"
)

// AttachmentState is what a VolumeAttachment waits for now; a deleted one waits for nothing.
type AttachmentState struct {
	UID       string
	Volume    string // name of the PersistentVolume
	Node      string
	Attacher  string // the CSI driver
	Operation string // Attaching or Detaching; empty while it waits for neither
	Since     Time   // since when it has waited; absent while it does not
}
