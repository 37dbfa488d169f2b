package fact

import (
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// Labels are the labels or annotations of an object, as in the API. The maps are shared and never
// written to.
type Labels = map[string]string

// Facts are rows for the catalog, by table, in the order in which the inventory emitted them. Each row is complete: of
// two rows with the same key, the one with the higher Version replaces the other.
type Facts struct {
	Namespaces      []Namespace
	StorageClasses  []StorageClass
	VolumeSources   []VolumeSource
	Volumes         []Volume
	Claims          []Claim
	Pods            []Pod
	Containers      []Container
	Mounts          []Mount
	VolumeUses      []VolumeUse
	VolumeStates    []VolumeStateRow
	Bindings        []Binding
	Attachments     []Attachment
	StorageCapacity []StorageCapacity
	Usage           []Usage
	Changes         []Change
	Objects         []Object
	Coverage        []Coverage
	Checkpoints     []Checkpoint
}

// Len returns the number of rows in all tables.
func (f *Facts) Len() int {
	return len(f.Namespaces) + len(f.StorageClasses) + len(f.VolumeSources) + len(f.Volumes) + len(f.Claims) + len(f.Pods) +
		len(f.Containers) + len(f.Mounts) + len(f.VolumeUses) + len(f.VolumeStates) + len(f.Bindings) + len(f.Attachments) + len(f.StorageCapacity) + len(f.Usage) +
		len(f.Changes) + len(f.Objects) + len(f.Coverage) + len(f.Checkpoints)
}

// Namespace is a row of namespaces; its key is UID. A deleted namespace and its successor have the same
// Name, and the row of the successor comes last.
type Namespace struct {
	Version   uint64
	UID       string
	Name      string
	Labels    Labels
	Owner     string // see collector/inventory/owner.go
	Groups    []string
	CreatedAt Time
	DeletedAt Time
}

// StorageClass is a row of storage_classes; its key is UID.
type StorageClass struct {
	Version       uint64
	UID           string
	Name          string
	Provisioner   string
	ReclaimPolicy string // Delete, Retain
	BindingMode   string // Immediate, WaitForFirstConsumer
	Expansion     bool   // allowVolumeExpansion
	Parameters    Labels
	CreatedAt     Time
	DeletedAt     Time
}

// VolumeSource is a row of volume_sources: a backing store that a volume names. Its key is ID, a
// hash of Kind and Attributes, so that two volumes on the same backing store share the row.
type VolumeSource struct {
	Version    uint64
	ID         string
	Kind       string            // the API's field name: nfs, iscsi, csi, emptyDir, ...
	Driver     string            // of csi and flexVolume
	Server     string            // host, portal, monitors: where the store is, if known
	Path       string            // export, LUN, handle, directory: the part of the store, if known
	Attributes map[string]string // every field, flattened with dots; no secret references
}

// Volume is a row of volumes: a PersistentVolume. Its key is UID.
type Volume struct {
	Version          uint64
	UID              string
	Name             string
	StorageClass     string
	AttributesClass  string // the VolumeAttributesClass in force
	SourceKind       string
	SourceID         string
	Driver           string
	VolumeHandle     string
	CapacityBytes    int64
	AccessModes      []string // ReadWriteOnce, ...
	VolumeMode       string   // Filesystem, Block
	ReclaimPolicy    string   // Delete, Retain, Recycle
	NodeAffinity     string   // spec.nodeAffinity.required.nodeSelectorTerms as JSON; empty if none
	Phase            string   // Pending, Available, Bound, Released, Failed
	PhaseChangedAt   Time
	UnseenUseAt      Time   // end of the last use that nobody observed and only an earlier condition Unused showed
	ClaimUID         string // of spec.claimRef; empty while merely reserved
	ClaimNamespace   string // of spec.claimRef, as ClaimName; the API keeps it when the claim is gone
	ClaimName        string
	Labels           Labels
	Annotations      Labels
	CreatedAt        Time
	DeletedAt        Time
	DeletedNotBefore Time // equal to DeletedAt when that is exact
}

// Claim is a row of claims: a PersistentVolumeClaim. Its key is UID.
type Claim struct {
	Version                uint64
	UID                    string
	Namespace              string
	Name                   string
	StorageClass           string
	VolumeUID              string // of the volume it is bound to, once that is known
	VolumeName             string
	RequestedBytes         int64
	CapacityBytes          int64 // 0 until bound
	AccessModes            []string
	VolumeMode             string
	Phase                  string // Pending, Bound, Lost
	Owner                  string // see collector/inventory/owner.go
	Groups                 []string
	Ephemeral              bool   // made for a pod's generic ephemeral volume
	PodUID                 string // of that pod
	WorkloadKind           string
	WorkloadName           string
	DataSourceKind         string // VolumeSnapshot, PersistentVolumeClaim, ...
	DataSourceName         string
	AttributesClass        string   // the requested VolumeAttributesClass
	CurrentAttributesClass string   // the one in force
	Conditions             []string // those that are true (FileSystemResizePending, ModifyingVolume, …), and the progress of a resize
	SelectedNode           string   // by the scheduler, where binding waits for the first pod
	UnusedSince            Time     // KEP-5541's condition Unused, while it is True
	Labels                 Labels
	Annotations            Labels
	CreatedAt              Time
	BoundAt                Time
	DeletedAt              Time
	DeletedNotBefore       Time
}

// Pod is a row of pods: a pod that mounts storage. Its key is UID.
type Pod struct {
	Version          uint64
	UID              string
	Namespace        string
	Name             string
	Node             string
	ServiceAccount   string
	Owner            string
	Groups           []string
	WorkloadKind     string
	WorkloadName     string
	WorkloadUID      string
	Phase            string
	Reason           string // of the pod's status: Evicted, NodeLost, ...
	Labels           Labels
	CreatedAt        Time
	StartedAt        Time // first start of any of its containers
	FinishedAt       Time // last end of its containers, once all have ended
	DeletedAt        Time
	DeletedNotBefore Time
}

// ContainerKind is one of the four roles that a container has in a pod.
type ContainerKind string

// The container kinds. A sidecar is an init container that is always restarted
// (KEP-753).
const (
	InitContainer      ContainerKind = "init"
	SidecarContainer   ContainerKind = "sidecar"
	MainContainer      ContainerKind = "main"
	EphemeralContainer ContainerKind = "ephemeral"
)

// Container is a row of containers. Its key is PodUID and Name, with what never changes of its pod.
type Container struct {
	Version      uint64
	Namespace    string
	PodCreatedAt Time
	PodUID       string
	Name         string
	Kind         ContainerKind
	Image        string
	Command      string // the command's first word, never its arguments, which may contain secrets
	StartedAt    Time   // first start
	FinishedAt   Time   // last end; absent while it runs or will be restarted
	Restarts     int32
}

// Mount is a row of mounts: one container's use of one volume of its pod, from
// the container's first start to its last end. Its key is PodUID, Container,
// Volume and MountPath, with what never changes of the pod and its volume: Namespace, ClaimName and PodCreatedAt.
type Mount struct {
	Version           uint64
	Namespace         string
	PodCreatedAt      Time
	PodUID            string
	Node              string // that the pod runs on
	Container         string
	Volume            string // the volume's name in the pod
	MountPath         string // of a block device, its device path
	SubPath           string
	ReadOnly          bool
	RecursiveReadOnly bool // the mounts below it are read-only as well (KEP-3857)
	BlockDevice       bool
	SourceKind        string // of the backing store, once it is known
	SourceID          string
	ClaimUID          string // empty if the pod names a backing store itself
	ClaimName         string
	VolumeUID         string
	ClaimVolumes      uint16 // how many volumes of the pod's spec are claims
	InlineVolumes     uint16 // how many volumes of the pod's spec are storage that it names itself: hostPath, emptyDir, nfs, ...
	Owner             string // of the pod, as what follows, so that the history of mounts says whose it is
	Groups            string // separated by commas: a Mount can be compared
	WorkloadKind      string // "Pod" if the pod has no controller
	WorkloadName      string // the pod's own name if it has no controller
	StartedAt         Time   // the latest moment at which it can have begun
	StartedNotBefore  Time   // the earliest; equal to StartedAt when that is exact
	EndedAt           Time   // absent while in use; else the latest moment at which it can have ended
	EndedNotBefore    Time   // the earliest; equal to EndedAt when that is exact
	EndReason         string // Completed, Error, OOMKilled, Evicted, Deleted, ...
}

// GroupList returns the groups of a mount one by one; nil if there are none.
func (m *Mount) GroupList() []string { return intern.Split(m.Groups) }

// VolumeUse is a row of volume_uses: whether containers use a volume now, or else the end of its last use, and whose
// that was. It sums up the volume's mounts, so that the present can be asked without all of the history. Its key is
// VolumeUID.
type VolumeUse struct {
	Version            uint64
	VolumeUID          string
	InUse              bool
	LastEndedAt        Time // the latest moment at which the last use can have ended; absent while in use, or if none is known
	LastEndedNotBefore Time // the earliest; equal to LastEndedAt when that is exact
	LastNamespace      string
	LastPodUID         string // of the pod whose use was the last to end; empty, as what follows, while in use or if it is not known
	LastPod            string
	LastWorkloadKind   string
	LastWorkloadName   string
}

// VolumeStateRow is a row of volume_states: the present state of a volume and since when, as the metrics show it, and whose
// the volume is. Its key is VolumeUID.
type VolumeStateRow struct {
	Version        uint64
	VolumeUID      string
	Name           string
	Phase          string
	Status         VolumeStatus
	StatusSince    Time // absent if it is not known
	IdleSince      Time // since when nobody uses or awaits it; absent while someone does, and of a volume that is deleted
	UnusedSince    Time // the claim's condition Unused while that is True: the API vouches for the time since
	ClaimUID       string
	ClaimNamespace string
	ClaimName      string
	Owner          string // of the claim
	Groups         []string
	StorageClass   string
	ReclaimPolicy  string
	CapacityBytes  int64
	KeepUntil      Time   // the end of the time for which an annotation keeps it, though nobody uses it; absent if there is none
	KeepReason     string // why, as that annotation says
	KeepUnreadable string // the text of such an annotation that cannot be read
}

// Binding is a row of bindings: a claim is or was bound to a volume. Its key is Namespace, ClaimUID,
// VolumeUID and Ordinal; a claim never changes its namespace. A binding names its claim, which may have been gone before the first tracker came.
type Binding struct {
	Version           uint64
	Namespace         string // of the claim
	ClaimName         string
	ClaimUID          string
	VolumeUID         string
	Ordinal           uint16 // 0 for the first binding of this claim and volume, 1 for the next, ...
	BoundAt           Time
	ReleasedAt        Time
	ReleasedNotBefore Time
}

// Attachment is a row of attachments: a VolumeAttachment, which makes a volume
// reachable from a node. Its key is UID.
type Attachment struct {
	Version    uint64
	UID        string
	VolumeUID  string // empty for a volume in line in a pod, and until the volume is known
	Node       string
	Attacher   string // the CSI driver
	CreatedAt  Time
	Attached   bool   // it is attached, or was
	AttachedAt Time   // absent until the attacher reports it, and if nobody knows when it did
	DetachedAt Time   // when the deletion of the VolumeAttachment was observed
	Error      string // the last error of attaching or detaching, while it lasts
}

// StorageCapacity is a row of storage_capacity: how much a storage class could still provision for
// a part of the cluster, as its CSI driver reported at a moment, or that it no longer did.
type StorageCapacity struct {
	At                 Time
	UID                string // of the CSIStorageCapacity
	StorageClass       string
	Driver             string // the class's provisioner
	Topology           string // selector of the nodes that can reach it
	CapacityBytes      int64
	MaximumVolumeBytes int64 // 0 if the driver does not report it
	ResourceVersion    string
	Gone               bool // CapacityBytes is absent: the object was deleted, or its driver does not report it
}

// Usage is a row of usage: how full a volume was when a kubelet that has it mounted measured it. A
// row is emitted only if it differs from the volume's previous row. Its key is Namespace, VolumeUID and At.
type Usage struct {
	At        Time
	Namespace string // of the claim
	ClaimUID  string
	VolumeUID string
	Space
}

// Action is the event that a Change records.
type Action string

// The actions.
const (
	Created   Action = "created"
	Bound     Action = "bound"
	Resized   Action = "resized"
	Phase     Action = "phase"
	Scheduled Action = "scheduled"
	Started   Action = "started"  // a pod's first container
	Finished  Action = "finished" // a pod, by itself or not
	Mounted   Action = "mounted"
	Unmounted Action = "unmounted"
	Released  Action = "released"
	Deleted   Action = "deleted"
	Attached  Action = "attached"
	Detached  Action = "detached"

	// Requests, and steps that may finish later or never.
	ResizeRequested Action = "resize_requested"
	ModifyRequested Action = "modify_requested" // another attributes class
	Modified        Action = "modified"
	NodeSelected    Action = "node_selected" // for a claim that is bound late
	Provisioning    Action = "provisioning"  // a volume is being created for a claim
	Deleting        Action = "deleting"      // deletion was requested, and finalizers delay it

	// Disputed is not an event of the cluster: the API calls a claim unused although pods refer to
	// it, or used although none does.
	Disputed Action = "disputed"
)

// Change is a row of changes: an event of an object, for a person to read. Its key is all columns,
// so writing the same change again has no effect. The fields after ResourceVersion are not columns:
// only the metrics use them.
type Change struct {
	At        Time
	Kind      string // PersistentVolume, PersistentVolumeClaim, Pod, StorageClass
	UID       string
	Namespace string
	Name      string
	Action    Action
	Details   string // "10Gi → 20Gi"
	Actor     string // the field manager that made the change, if the object names it
	// ResourceVersion is the version of the object that showed a change of state, the version of
	// its deletion, or the version of the list that lacked it. It distinguishes two changes that
	// are equal in all other columns, and identifies a change that two trackers date each by its
	// own clock. It is empty if the object itself gives the time.
	ResourceVersion string

	// Found is true if the change happened before the first list showed it. Counters leave it out.
	Found        bool
	StorageClass string // of a volume, or that a claim names, or UnknownClass
	SourceKind   string
	// Took is the time from a claim's creation until it was Bound, or from a pod's scheduling until its first
	// container Started, if Measured says that it is known. The API's times are whole seconds: zero is less than one.
	Took     time.Duration
	Measured bool
}

// EventKind returns the kind of the object whose event showed the change; ResourceVersion is of
// that kind.
func (c *Change) EventKind() Kind {
	if c.Action == Attached || c.Action == Detached {
		return VolumeAttachments
	}
	return Kind(c.Kind)
}

// Object is a row of objects: a version of an object, reduced to the fields that storage questions
// need. Its key is Kind, UID and ResourceVersion.
type Object struct {
	Kind            Kind
	UID             string
	Namespace       string
	Name            string
	ResourceVersion string
	ObservedAt      Time
	Object          string `cbor:",omitempty"` // in JSON, in the API's own fields; set by the writer of the catalog

	Wire []byte  `cbor:",omitempty" json:"-"` // the same as protobuf, once Encode has been called
	From Encoder `cbor:"-" json:"-"`          // the source of Wire; nil once it is encoded
}

// Coverage is a row of coverage: a span in which a kind was watched without a miss. Its key is
// Instance, Kind and StartedAt.
type Coverage struct {
	Version   uint64
	Instance  string // of the tracker: the ID of its journal
	Kind      Kind
	StartedAt Time
	SeenAt    Time // the last moment at which the watch was known to be up
	EndedAt   Time // absent until the span is known to have ended
}

// Checkpoint is a row of checkpoints: the position up to which a kind's rows have been written. Its
// key is Instance and Kind.
type Checkpoint struct {
	Instance        string
	Kind            Kind
	ResourceVersion string
	EventVersion    string // of the last event or list, or where the watch resumed; a bookmark may have followed
	At              Time
	// Unprompted is true if no event caused some of the rows before it: see Update.Unprompted. It is in the journal only.
	Unprompted bool
}

// Reset removes the rows and keeps their memory for the next event, up to KeepLength.
func (f *Facts) Reset() {
	if f.Len() > KeepLength {
		*f = Facts{}
		return
	}
	f.Namespaces = f.Namespaces[:0]
	f.StorageClasses = f.StorageClasses[:0]
	f.VolumeSources = f.VolumeSources[:0]
	f.Volumes = f.Volumes[:0]
	f.Claims = f.Claims[:0]
	f.Pods = f.Pods[:0]
	f.Containers = f.Containers[:0]
	f.Mounts = f.Mounts[:0]
	f.VolumeUses = f.VolumeUses[:0]
	f.VolumeStates = f.VolumeStates[:0]
	f.Bindings = f.Bindings[:0]
	f.Attachments = f.Attachments[:0]
	f.StorageCapacity = f.StorageCapacity[:0]
	f.Usage = f.Usage[:0]
	f.Changes = f.Changes[:0]
	clear(f.Objects) // drops the references to the API's objects
	f.Objects = f.Objects[:0]
}

// LabelSet is a set of labels that compares with ==.
type LabelSet = intern.Labels

// Encode encodes the object as protobuf. That may take as long as the inventory's work on it, so the
// Recorder calls it, outside the inventory's lock.
func (o *Object) Encode() {
	if o.From != nil {
		o.Wire, o.From = o.From.Wire(), nil
	}
}

// Encoder is an object that has not been encoded yet.
type Encoder interface {
	// Wire returns the object as protobuf, without the fields that change with every write and carry
	// no information.
	Wire() []byte
	// Size returns how many bytes the object has in the form in which it is in memory.
	Size() int
}

// KeepLength is the capacity up to which a list's memory is reused for the next event: 1,024
// elements. The memory of a first list of a hundred thousand objects is freed.
const KeepLength = 1024
