package fact

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Snapshot is the saved state of a tracker: its successor restores it and continues from there. The
// journal contains the snapshot of its own tracker. The catalog contains one of all trackers
// together, which a tracker restores that has lost its journal.
type Snapshot struct {
	// Objects are the living objects and those that were not evicted yet; nil if there are none.
	Objects SavedObjects
	// Version is the highest row version that was used.
	Version uint64
	// Positions are the positions up to which each kind was watched. A kind whose position has no
	// resource version is listed again, and the list is compared with the objects.
	Positions map[Kind]Position
	// Watched are the spans in which pods were watched without a miss, oldest first. If the
	// position of Pods has a resource version, the last span continues from there.
	Watched []Span
	// Counters are the records of the exporter's counters by their names; only a journal has them.
	Counters map[string][]byte
}

// LastSeen returns the last moment at which any watch was known to be up; 0 if none was.
func (s *Snapshot) LastSeen() Time {
	var last Time
	for _, p := range s.Positions {
		last = max(last, p.At)
	}
	return last
}

// ObjectSnapshot is the knowledge about an object that the object itself does not contain:
// observations of it, or earlier statements of other objects. Together with the last version of the
// object (see Object) it is all that a new inventory needs to continue. Times that do not concern
// the kind are absent.
type ObjectSnapshot struct {
	Kind Kind
	UID  string
	// Forgotten is true when neither the object nor this snapshot is needed any more.
	Forgotten bool `json:",omitempty"`
	// Deleted and NotBefore are set while the object is gone and not evicted yet.
	Deleted   Time `json:",omitempty"`
	NotBefore Time `json:",omitempty"`

	// Of a volume: its last binding, and when its phase began.
	ClaimUID          string `json:",omitempty"`
	ClaimNamespace    string `json:",omitempty"`
	ClaimName         string `json:",omitempty"`
	PhaseChanged      Time   `json:",omitempty"`
	PhaseNotBefore    Time   `json:",omitempty"`
	ReleasedAt        Time   `json:",omitempty"`
	ReleasedNotBefore Time   `json:",omitempty"`
	// Of a volume and a claim: when they were bound.
	BoundAt Time `json:",omitempty"`
	// Of a volume: the end of its last use by pods that are evicted.
	LastUse        Time              `json:",omitempty"`
	UnseenUse      Time              `json:",omitempty"` // the end of a use that only the condition Unused showed
	BindingOrdinal uint16            `json:",omitempty"`
	Bindings       []BindingSnapshot `json:",omitempty"` // those before the last one
	Status         VolumeStatus      `json:",omitempty"`
	StatusSince    Time              `json:",omitempty"`
	StateTold      uint64            `json:",omitempty"` // a hash of its row of volume_states that was emitted last
	Space          *Space            `json:",omitempty"` // as a kubelet reported last
	Claimant       *Claimant         `json:",omitempty"` // of its last claim, if that is evicted

	// Of a claim: its volume, and whether that is inferred from its name alone; whether it is or
	// was Bound and the change "bound" has not been emitted, or has been emitted before (or the
	// claim was found Lost); whether BoundAt is only the latest moment at which it can have been
	// bound; whether it was in the first list; and the pod for which it was created.
	VolumeUID   string `json:",omitempty"`
	ByName      bool   `json:",omitempty"`
	Unannounced bool   `json:",omitempty"`
	BoundBefore bool   `json:",omitempty"`
	BoundLate   bool   `json:",omitempty"`
	BoundIn     uint32 `json:",omitempty"` // the version that showed it Bound, if the watch of volumes has not reached that version
	Found       bool   `json:",omitempty"`
	PodUID      string `json:",omitempty"`
	// Of a claim: its first and last version; of a pod: the version that showed its start.
	Born uint64 `json:",omitempty"`
	Died uint64 `json:",omitempty"`
	// Of a claim and a pod.
	WorkloadKind string `json:",omitempty"`
	WorkloadName string `json:",omitempty"`
	WorkloadUID  string `json:",omitempty"`

	// Of a pod: its containers that have started, or that its kubelet has reported as waiting.
	Containers []ContainerSnapshot `json:",omitempty"`
	// Of a pod: its Ready condition is False, and its node's clock is off.
	Unready  bool `json:",omitempty"`
	ClockOff bool `json:",omitempty"`
	// Of a node: its conditions have been observed, Ready is not True, and its last heartbeat, by
	// the tracker's clock and by the node's.
	Known     bool `json:",omitempty"`
	Lost      bool `json:",omitempty"`
	Alive     Time `json:",omitempty"`
	Heartbeat Time `json:",omitempty"`
	// Of a node: when it was created or returned after it was lost; and, while it is lost, its last
	// heartbeat before that.
	NodeReturned Time `json:",omitempty"`
	AliveBefore  Time `json:",omitempty"`

	// Of an attachment.
	Attached   bool `json:",omitempty"`
	AttachedAt Time `json:",omitempty"`
}

// Claimant is the owner, groups and labels that a volume still shows after its claim is evicted.
type Claimant struct {
	Owner  string   `json:",omitempty"`
	Groups []string `json:",omitempty"`
	Labels Labels   `json:",omitempty"`
}

// ContainerSnapshot is when a container of a pod was in use.
type ContainerSnapshot struct {
	Name      string
	StartedAt Time
	// StartUnknown is true if the container ran before that, too.
	StartUnknown bool `json:",omitempty"`
	// Alive is when the kubelet last reported it as running, or as yet to start.
	Alive      Time   `json:",omitempty"`
	FinishedAt Time   `json:",omitempty"`
	NotBefore  Time   `json:",omitempty"`
	Reason     string `json:",omitempty"`
	// Unreported is true for an end that no kubelet has reported, after a run whose end one has
	// reported.
	Unreported bool `json:",omitempty"`
}

// BindingSnapshot is when a claim was bound to a volume.
type BindingSnapshot struct {
	ClaimUID          string
	ClaimNamespace    string `json:",omitempty"`
	ClaimName         string `json:",omitempty"`
	Ordinal           uint16 `json:",omitempty"`
	BoundAt           Time   `json:",omitempty"`
	ReleasedAt        Time   `json:",omitempty"`
	ReleasedNotBefore Time   `json:",omitempty"`
	Hearsay           bool   `json:",omitempty"` // known from the claim alone
}

// Saved returns Objects; an empty list if they are nil.
func (s *Snapshot) Saved() SavedObjects {
	if s.Objects == nil {
		return SavedList{}
	}
	return s.Objects
}

// SavedObjects are the objects of a snapshot. An inventory restores them one after another. Those
// of a large cluster take more memory than the inventory itself, so the journal reads each object
// only when Each reaches it.
type SavedObjects interface {
	// Each calls restore with one object after another, in this order: the complete ones before the incomplete ones;
	// of these, by kind in the order of Kinds; of a kind, those that are deleted before those that may have taken
	// their names. An object is valid until restore returns. Each returns the first error of restore, or of reading.
	Each(restore func(*SavedObject) error) error
}

// SavedList is SavedObjects in memory, in any order. Each sorts it.
type SavedList []SavedObject

// Each implements SavedObjects.
func (l SavedList) Each(restore func(*SavedObject) error) error {
	order := map[Kind]int{}
	for i, kind := range Kinds() {
		order[kind] = i
	}
	number := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(l, func(a, b SavedObject) int {
		return cmp.Or(
			cmp.Compare(number(a.Incomplete), number(b.Incomplete)),
			cmp.Compare(order[a.Kind], order[b.Kind]),
			cmp.Compare(number(a.Snapshot.Deleted == 0), number(b.Snapshot.Deleted == 0)),
		)
	})
	for i := range l {
		if err := restore(&l[i]); err != nil {
			return err
		}
	}
	return nil
}

// SavedObject is an object in an earlier inventory's last known version, with its snapshot.
type SavedObject struct {
	Kind Kind
	UID  string
	// Object or Wire is its last version: the catalog stores JSON, the journal protobuf (see
	// fact.Object).
	Object string
	Wire   []byte
	// Decoded is the same, decoded and reduced to what the tracker keeps; nil if nobody has done that yet.
	Decoded metav1.Object
	// ResourceVersion is the object's version, which neither encoding contains; empty if unknown.
	ResourceVersion string
	Snapshot        ObjectSnapshot
	// Incomplete is true if rows of the object may be missing, because not all rows that follow
	// from it reached the catalog.
	Incomplete bool
	// Unredacted is true for all objects of a journal whose tracker kept more of them than this one
	// does: the journal and the catalog are to have them again as they are kept now.
	Unredacted bool
}
