package fact

import "strconv"

// Update is the changes of one or several events: rows for the catalog, and the new present state
// of each volume and claim that has changed, for the exporter. A volume or claim is in it once at
// most.
type Update struct {
	// At is the moment of the last event, by the tracker's clock.
	At      Time
	Facts   Facts
	Volumes []VolumeState
	Claims  []ClaimState
	// Classes and Capacities are the new, changed and deleted ones.
	Classes    []ClassState
	Capacities []CapacityState
	// Attachments are those that have begun or ceased to wait.
	Attachments []AttachmentState
	// Rendered are the texts of kube-state-metrics' families of new, changed and deleted objects. For
	// the kinds in Relisted they are the texts of all objects there are.
	Rendered []Rendered
	Relisted []Kind
	// Snapshots, with the Objects of the Facts, are all that another inventory needs to continue
	// from here: see Snapshot.
	Snapshots []ObjectSnapshot
	// Version is the highest row version used so far.
	Version uint64
	// Positions are the new positions of the kinds whose watches have advanced since the last
	// update. All changes up to them are in this update and the ones before it.
	Positions []Position
	// Watched, if not nil, are all the spans in which pods were watched without a miss, oldest
	// first and disjoint; a gap of coverage lies between two of them. The last span continues: its
	// To is the moment of this update, and advances with the position of Pods. Watched is nil if
	// nothing but that has changed. It is never written to again.
	Watched []Span
	// Unprompted is true if neither an event nor a list caused the rows: the inventory's clock or the restore of an earlier state emitted them. Another
	// tracker that has seen the same events may not have them.
	Unprompted bool
	// Resumed marks the end of a restore: earlier updates had states from the journal, later ones have what has happened
	// since. It comes once, in an update of its own, for the exporter.
	Resumed bool
}

// Rendered is the text of kube-state-metrics' families of one object. Package exporter/statemetrics
// makes and reads it.
type Rendered struct {
	Kind Kind
	UID  string
	Text string
	Gone bool // the object was deleted
}

// Span is a stretch of time, From and To included.
type Span struct{ From, To Time }

// TakeRows moves Facts and Snapshots out of the update: the caller owns the lists that it returns,
// and the update no longer has any.
func (u *Update) TakeRows() (Facts, []ObjectSnapshot) {
	facts, snapshots := u.Facts, u.Snapshots
	u.Facts, u.Snapshots = Facts{}, nil
	return facts, snapshots
}

// Position is how far a kind has been watched.
type Position struct {
	Kind            Kind
	ResourceVersion string // all events up to this version are taken
	EventVersion    string // of the last event or list, or where the watch resumed after a restart if none has come since
	Since           Time   // from then on nothing can have been missed
	At              Time   // the last moment at which the watch was known to be up
}

// Empty reports whether nothing changed.
func (u *Update) Empty() bool {
	return u.Facts.Len() == 0 && len(u.Volumes) == 0 && len(u.Claims) == 0 && len(u.Classes) == 0 && len(u.Capacities) == 0 && len(u.Attachments) == 0 &&
		len(u.Rendered) == 0 && len(u.Relisted) == 0 && len(u.Snapshots) == 0 && len(u.Positions) == 0 && u.Watched == nil
}

// VersionNumber parses a resource version. The objects in one etcd share a counter, and versions of
// one kind compare as numbers: Kubernetes guarantees that since 1.35, and it was the case before.
// It returns 0 if the text is not a number.
func VersionNumber(resourceVersion string) uint64 {
	version, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return version
}
