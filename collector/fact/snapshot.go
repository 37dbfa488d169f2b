package fact

// Snapshot is what is known of an object and the object does not say itself: what
// was seen of it, or was once said by others. With the last version of the object
// (see Object) it is all that a new inventory needs to go on where another one
// ended. Times that do not concern the kind are absent.
type Snapshot struct {
	Kind Kind
	UID  string
	// Forgotten is true when neither the object nor this is of use any more.
	Forgotten bool `json:",omitempty"`
	// Deleted and NotBefore are set while it is gone, but still spoken of.
	Deleted   Time `json:",omitempty"`
	NotBefore Time `json:",omitempty"`

	// Of a volume: its last binding, and when it came into its phase.
	ClaimUID          string `json:",omitempty"`
	PhaseChanged      Time   `json:",omitempty"`
	ReleasedAt        Time   `json:",omitempty"`
	ReleasedNotBefore Time   `json:",omitempty"`
	// Of a volume and a claim: its binding, and its last use.
	BoundAt  Time `json:",omitempty"`
	LastUsed Time `json:",omitempty"`

	BindingOrdinal uint16            `json:",omitempty"`
	Bindings       []BindingSnapshot `json:",omitempty"` // those before it
	Status         VolumeStatus      `json:",omitempty"`
	StatusSince    Time              `json:",omitempty"`
	Space          *Space            `json:",omitempty"` // as a kubelet said last
	// Of a claim: its first and last version; of a pod: the one that showed its start.
	Born uint64 `json:",omitempty"`
	Died uint64 `json:",omitempty"`
	// Of a claim and a pod.
	WorkloadKind string `json:",omitempty"`
	WorkloadName string `json:",omitempty"`
	WorkloadUID  string `json:",omitempty"`

	// Of a pod: those that have started.
	Containers []ContainerSnapshot `json:",omitempty"`

	// Of an attachment.
	AttachedAt Time `json:",omitempty"`
}

// ContainerSnapshot is when a container of a pod was in use.
type ContainerSnapshot struct {
	Name       string
	StartedAt  Time
	FinishedAt Time   `json:",omitempty"`
	NotBefore  Time   `json:",omitempty"`
	Reason     string `json:",omitempty"`
}

// BindingSnapshot is when a claim had a volume.
type BindingSnapshot struct {
	ClaimUID          string
	Ordinal           uint16 `json:",omitempty"`
	BoundAt           Time   `json:",omitempty"`
	ReleasedAt        Time   `json:",omitempty"`
	ReleasedNotBefore Time   `json:",omitempty"`
	Hearsay           bool   `json:",omitempty"` // by the claim alone
}

// Restored is an object as an earlier inventory held it.
type Restored struct {
	Kind Kind
	UID  string
	// Object is its last version, as JSON (see Object).
	Object   string
	Snapshot Snapshot
	// Incomplete is true when rows of it may be missing: not all of what followed from it
	// reached the catalog.
	Incomplete bool
}
