package fact

import (
	"cmp"
	"slices"
)

// Snapshot is what a tracker knows of a cluster: its successor restores it and goes on from there. The
// journal keeps the snapshot of the tracker that it belongs to. The catalog keeps one of all trackers
// together, which a tracker restores that has lost its journal.
type Snapshot struct {
	// Objects are those that were there, or were remembered; nil if there are none.
	Objects SavedObjects
	// Version is the highest row version that was given to a row.
	Version uint64
	// Positions are how far each kind was watched. A kind whose position has no resource version is listed
	// again, and compared with the objects.
	Positions map[Kind]Position
	// Watched are the spans in which pods were watched and nothing can have been missed, oldest first. If
	// the position of Pods has a resource version, the last span is the one that goes on from there.
	Watched []Span
	// Counters are the records of the exporter's counters by their names; only a journal has them.
	Counters map[string][]byte
}

// LastSeen is the last moment at which any watch was known to be up; 0 if none was.
func (s *Snapshot) LastSeen() Time {
	var last Time
	for _, p := range s.Positions {
		last = max(last, p.At)
	}
	return last
}

// ObjectSnapshot is what is known of an object and the object does not say itself: what was observed of
// it, or once said by others. With the last version of the object (see Object) it is all that a
// new inventory needs to go on where another one ended. Times that do not concern the kind are
// absent.
type ObjectSnapshot struct {
	Kind Kind
	UID  string
	// Forgotten is true when neither the object nor this is of use any more.
	Forgotten bool `json:",omitempty"`
	// Deleted and NotBefore are set while it is gone, and remembered.
	Deleted   Time `json:",omitempty"`
	NotBefore Time `json:",omitempty"`

	// Of a volume: its last binding, and when it came into its phase.
	ClaimUID          string `json:",omitempty"`
	PhaseChanged      Time   `json:",omitempty"`
	PhaseNotBefore    Time   `json:",omitempty"`
	ReleasedAt        Time   `json:",omitempty"`
	ReleasedNotBefore Time   `json:",omitempty"`
	// Of a volume and a claim: when they were bound.
	BoundAt Time `json:",omitempty"`
	// Of a volume: the end of its last use by pods that are not remembered any more.
	LastUse        Time              `json:",omitempty"`
	UnseenUse      Time              `json:",omitempty"` // the end of a use that only the condition Unused showed
	BindingOrdinal uint16            `json:",omitempty"`
	Bindings       []BindingSnapshot `json:",omitempty"` // those before the last one
	Status         VolumeStatus      `json:",omitempty"`
	StatusSince    Time              `json:",omitempty"`
	Space          *Space            `json:",omitempty"` // as a kubelet reported last
	Claimant       *Claimant         `json:",omitempty"` // of its last claim, when that is not remembered any more

	// Of a claim: its volume, and whether that is inferred from its name alone; whether it is or was
	// Bound and the change "bound" has not gone out, or has gone out before; whether BoundAt is only
	// the latest that it can have been bound; whether it was there when the tracker came; and the
	// pod that it was made for.
	VolumeUID   string `json:",omitempty"`
	ByName      bool   `json:",omitempty"`
	Unannounced bool   `json:",omitempty"`
	BoundBefore bool   `json:",omitempty"`
	BoundLate   bool   `json:",omitempty"`
	BoundIn     uint32 `json:",omitempty"` // the version that showed it Bound, if the volumes are not as far
	Found       bool   `json:",omitempty"`
	PodUID      string `json:",omitempty"`
	// Of a claim: its first and last version; of a pod: the one that showed its start.
	Born uint64 `json:",omitempty"`
	Died uint64 `json:",omitempty"`
	// Of a claim and a pod.
	WorkloadKind string `json:",omitempty"`
	WorkloadName string `json:",omitempty"`
	WorkloadUID  string `json:",omitempty"`

	// Of a pod: its containers that have started, or that its kubelet has reported to wait.
	Containers []ContainerSnapshot `json:",omitempty"`
	// Of a pod: its Ready condition is False, and its node's clock is off.
	Unready  bool `json:",omitempty"`
	ClockOff bool `json:",omitempty"`
	// Of a node: its conditions have been observed, Ready is not True, and its last heartbeat, by
	// our clock and by its own.
	Known     bool `json:",omitempty"`
	Lost      bool `json:",omitempty"`
	Alive     Time `json:",omitempty"`
	Heartbeat Time `json:",omitempty"`
	// Of a node: when it was made or is back after it was lost; and while it is lost its last heartbeat before.
	NodeReturned Time `json:",omitempty"`
	AliveBefore  Time `json:",omitempty"`

	// Of an attachment.
	AttachedAt Time `json:",omitempty"`
}

// Claimant is what a Released volume keeps of its last claim, beside its namespace and name.
type Claimant struct {
	Owner  string `json:",omitempty"`
	Labels Labels `json:",omitempty"`
}

// ContainerSnapshot is when a container of a pod was in use.
type ContainerSnapshot struct {
	Name      string
	StartedAt Time
	// StartUnknown is true if the container ran before that, too.
	StartUnknown bool `json:",omitempty"`
	// Alive is when the kubelet last said that it runs, or is yet to start.
	Alive      Time   `json:",omitempty"`
	FinishedAt Time   `json:",omitempty"`
	NotBefore  Time   `json:",omitempty"`
	Reason     string `json:",omitempty"`
	// Unreported is true of an end that no kubelet has reported, after a run that one has.
	Unreported bool `json:",omitempty"`
}

// BindingSnapshot is when a claim was bound to a volume.
type BindingSnapshot struct {
	ClaimUID          string
	Ordinal           uint16 `json:",omitempty"`
	BoundAt           Time   `json:",omitempty"`
	ReleasedAt        Time   `json:",omitempty"`
	ReleasedNotBefore Time   `json:",omitempty"`
	Hearsay           bool   `json:",omitempty"` // by the claim alone
}

// SavedObjects are the objects of a snapshot. An inventory restores them one after another: those of a large cluster
// take more memory than the inventory itself, so the journal reads them as they are asked for.
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

// SavedObject is an object as an earlier inventory knew it.
type SavedObject struct {
	Kind Kind
	UID  string
	// Object or Wire is its last version: the catalog has it as JSON, the journal as protobuf (see fact.Object).
	Object string
	Wire   []byte
	// ResourceVersion is that of the object, which neither has; empty if it is not known.
	ResourceVersion string
	Snapshot        ObjectSnapshot
	// Incomplete is true when rows of it may be missing: not all of what followed from it
	// reached the catalog.
	Incomplete bool
}
