package fact

import "strconv"

// Update is what one or several events changed: rows for the catalog, and the
// present state of each volume and claim that is now different, for the
// exporter. A volume or claim is in it once at most.
type Update struct {
	Facts   Facts
	Volumes []VolumeState
	Claims  []ClaimState
	// Classes and Capacities are those that are new, changed or gone.
	Classes    []ClassState
	Capacities []CapacityState
	// Snapshots, with the Objects of the Facts, are what another inventory needs to go
	// on from here: see Snapshot.
	Snapshots []ObjectSnapshot
	// Version is the highest row version given so far.
	Version uint64
	// Positions are how far the kinds have been watched that have moved on since the
	// last update; the rest of the update is all that happened up to there.
	Positions []Position
	// Watched are, when they have changed, all the spans in which pods were watched and nothing
	// can have been missed, oldest first and apart from each other; what is between two of them
	// is a gap of coverage. The last one goes on: its To is as of this update, and moves on with
	// the position of Pods. Nil when nothing but that has changed. It is never written to again.
	Watched []Span
}

// Span is a stretch of time, From and To included.
type Span struct{ From, To Time }

// TakeRows moves Facts and Snapshots out of the update: the caller owns the lists that it returns, and the update is
// left without any.
func (u *Update) TakeRows() (Facts, []ObjectSnapshot) {
	facts, snapshots := u.Facts, u.Snapshots
	u.Facts, u.Snapshots = Facts{}, nil
	return facts, snapshots
}

// Position is how far a kind has been watched.
type Position struct {
	Kind            Kind
	ResourceVersion string // up to which all is known
	EventVersion    string // of the last event or list; empty if none has come since the start
	Since           Time   // from when on nothing can have been missed
	At              Time   // the last moment at which the watch was known to be up
}

// Empty reports whether nothing changed.
func (u *Update) Empty() bool {
	return u.Facts.Len() == 0 && len(u.Volumes) == 0 && len(u.Claims) == 0 && len(u.Classes) == 0 && len(u.Capacities) == 0 &&
		len(u.Snapshots) == 0 && len(u.Positions) == 0 && u.Watched == nil
}

// VersionNumber reads a resource version: all objects of a cluster that are in the same
// etcd count together, and those of one kind compare so; Kubernetes promises that since
// 1.35, and it was so before. It is 0 if the text is no number.
func VersionNumber(resourceVersion string) uint64 {
	version, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return version
}
