package inventory

import (
	"fmt"
	"hash/maphash"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// name is a namespace and a name within it.
type name struct{ namespace, name string }

// byName is one map per namespace. From about four names in a namespace on, this takes less memory
// than one map whose keys contain both.
type byName[V any] map[string]map[string]V

func (m byName[V]) get(n name) V { return m[n.namespace][n.name] }

func (m byName[V]) put(n name, v V) {
	if m[n.namespace] == nil {
		m[n.namespace] = map[string]V{}
	}
	m[n.namespace][n.name] = v
}

func (m byName[V]) drop(n name) {
	if delete(m[n.namespace], n.name); len(m[n.namespace]) == 0 {
		delete(m, n.namespace)
	}
}

// Inventory is the state of storage usage. Use New. It has one owner: its methods must not be
// called concurrently.
type Inventory struct {
	namespaces  byUID[*namespace]
	classes     byUID[*class]
	capacities  byUID[*fact.StorageCapacity] // the last sample of each
	volumes     byUID[*volume]
	controllers byUID[*controller] // including, for a while, those that are gone
	claims      byUID[*claim]
	attachments byUID[*attachment]
	pods        byUID[*pod]
	others      map[fact.Kind]byUID[*other] // Drivers and Nodes
	nodes       map[string]*node            // by name; including, for a while, those that are gone
	nodesHidden bool                        // the API server does not show nodes now

	knownClasses   map[string]struct{} // names of the classes that a StorageClass or a volume has, or had
	namespaceNames map[string]*namespace
	relabelled     map[string]struct{} // names of namespaces whose volumes are not marked yet
	watched        []fact.Span         // see SetWatched
	podsObserved   bool                // pods have been observed since the start, so the last span of watched continues

	volumeAnnotations, claimAnnotations intern.Unpacker

	living    map[fact.Kind]int // number of controllers by kind, without those that are gone
	podNames  byName[*pod]
	templates map[name]*controller // StatefulSets, by the names of their claims without the ordinal
	orphans   map[string][]*pod    // by the UID of a controller that is not known yet
	orphanOf  map[*pod]workload    // the controller under which orphans lists the pod

	unattached map[string][]*attachment // by the name of a volume that is not known yet

	volumeNames map[string]*volume   // living volumes
	goneVolumes map[string][]*volume // by name: those that are gone and not evicted
	early       []early
	volumesAt   uint32               // the version that showed the last volume, its lowest 32 bits
	claimants   map[*volume]claimant // of volumes whose claimRef names a claim that is evicted
	volumeOf    map[string]*volume   // by the claim's UID: the volume whose claimRef names the claim
	formers     map[string][]*volume // by the claim's UID: the claim's earlier volumes
	awaited     map[string][]*claim  // by the name of a volume that is not known yet: the claims that are bound to it
	past        map[*volume][]pastBinding
	spaces      map[*volume]measurement // as kubelets last reported
	unbound     map[*volume][]*claim    // claims that are bound to the volume only by the claim's own status
	lives       map[*claim]life
	claimNames  byName[*claimName]
	sources     map[[16]byte]*source // by id

	dirtyVolumes []*volume
	dirtyClaims  []*claim
	dirtyPods    []*pod
	staleVolumes []*volume // whose VolumeState may differ from the last one emitted
	staleClaims  []*claim

	doubted map[*claim]fact.Time // claims on which the API and the inventory disagree, and since when
	doubts  []doubt              // the same, ordered by time

	dead          map[subjectID]*tombstone // objects that are gone and not evicted
	tombstones    []*tombstone             // the same, oldest first, without those in podTombstones
	podTombstones []*tombstone             // those of pods whose volumes are all known, oldest first
	snapshotQueue []subject

	seed        maphash.Seed
	restoring   bool      // in Restore: the objects did not change now
	began       fact.Time // when the first list was found
	listed      map[fact.Kind]bool
	now         fact.Time   // of the last event
	serverTime  fact.Time   // the API server's clock has reached this moment: the latest creation
	kind        fact.Kind   // of the event in progress; none in a Tick
	observation Observation // of that event
	version     uint64
	update      fact.Update
	used        bool   // it has emitted a row, or was restored
	part        func() // see SetPart
	discarding  bool   // in Restore: the rows of the event in progress are in the catalog already
	trim        func(fact.Kind, metav1.Object)

	// The memory of objects that came in lists.
	listing    bool // in Replace and Restore
	names      intern.Arena
	containers intern.Slab[container]
	podVolumes intern.Slab[podVolume]
	mounts     intern.Slab[mount]
	slots      intern.Slab[claimName]
	backing    intern.Slab[source]
}

// New returns an empty inventory.
func New() *Inventory {
	return &Inventory{
		namespaces:     byUID[*namespace]{},
		knownClasses:   map[string]struct{}{},
		namespaceNames: map[string]*namespace{},
		relabelled:     map[string]struct{}{},
		classes:        byUID[*class]{},
		capacities:     byUID[*fact.StorageCapacity]{},
		volumes:        byUID[*volume]{},
		controllers:    byUID[*controller]{},
		claims:         byUID[*claim]{},
		attachments:    byUID[*attachment]{},
		pods:           byUID[*pod]{},
		others:         map[fact.Kind]byUID[*other]{fact.Drivers: {}, fact.Nodes: {}},
		living:         map[fact.Kind]int{},
		podNames:       byName[*pod]{},
		templates:      map[name]*controller{},
		orphans:        map[string][]*pod{},
		orphanOf:       map[*pod]workload{},
		unattached:     map[string][]*attachment{},
		nodes:          map[string]*node{},
		volumeNames:    map[string]*volume{},
		goneVolumes:    map[string][]*volume{},
		claimants:      map[*volume]claimant{},
		dead:           map[subjectID]*tombstone{},
		listed:         map[fact.Kind]bool{},
		volumeOf:       map[string]*volume{},
		formers:        map[string][]*volume{},
		awaited:        map[string][]*claim{},
		past:           map[*volume][]pastBinding{},
		spaces:         map[*volume]measurement{},
		unbound:        map[*volume][]*claim{},
		lives:          map[*claim]life{},
		claimNames:     byName[*claimName]{},
		sources:        map[[16]byte]*source{},
		doubted:        map[*claim]fact.Time{},
		seed:           maphash.MakeSeed(),
		trim:           func(fact.Kind, metav1.Object) {},
	}
}

// hashOf lets a caller compare a state with the last one that was emitted, and keep 8 bytes of that
// instead of 200. If two successive states had the same hash, which happens once in 2^64, one
// update of the metrics or one row of mounts would be missing.
func hashOf[T comparable](inv *Inventory, state T) uint64 { return maphash.Comparable(inv.seed, state) }

// Set takes an object that was added or changed. It returns an error for an object of an unknown
// kind, and then changes nothing.
func (inv *Inventory) Set(object any, obs Observation) error {
	kind, _, err := identify(object)
	if err != nil {
		return err
	}
	inv.begin(kind, versionText(object), obs)
	inv.note(kind, object, obs)
	inv.sync(obs)
	return nil
}

// Delete takes an object that was deleted, in its last known state.
func (inv *Inventory) Delete(object any, obs Observation) error {
	kind, uid, err := identify(object)
	if err != nil {
		return err
	}
	inv.begin(kind, versionText(object), obs)
	inv.note(kind, object, obs)
	if c := inv.claims[uid]; c != nil && kind == fact.Claims {
		l := inv.lives[c]
		l.died = versionOf(object.(metav1.Object))
		inv.lives[c] = l
	}
	inv.drop(kind, uid, obs)
	inv.sync(obs)
	return nil
}

// Replace takes a whole list of one kind: the objects in it, which may be Packed, exist, and all
// others of the kind are gone. It is one event, whose rows can be taken in parts (SetPart); Replace
// then clears the elements of objects as it goes, so that their memory can be freed.
func (inv *Inventory) Replace(kind fact.Kind, objects []any, obs Observation) error {
	if !slices.Contains(fact.Kinds(), kind) {
		return fmt.Errorf("the inventory takes no kind %q", kind)
	}
	present := make(map[string]struct{}, len(objects))
	for _, object := range objects {
		of, uid, err := identifyListed(object)
		if err != nil {
			return err
		}
		if of != kind {
			return fmt.Errorf("a list of %s holds a %s", kind, of)
		}
		present[uid] = struct{}{}
	}
	inv.begin(kind, obs.Version, obs)
	inv.listing = true
	defer func() { inv.listing = false }()
	// A successor bounds the end of its predecessor of the same name (rule 1.4), so Replace notes
	// the listed objects before it drops the missing ones.
	for i, object := range objects {
		inv.note(kind, object, obs)
		if inv.part != nil {
			objects[i] = nil // the garbage collector can free the object once its rows are freed
			inv.emitPart()
		}
	}
	gone := obs
	gone.Found = false
	for _, uid := range inv.index(kind).uids() {
		if _, ok := present[uid]; !ok {
			inv.drop(kind, uid, gone)
		}
	}
	if first := !inv.listed[kind]; first && kind == fact.Claims { // rule 2.8
		for _, v := range inv.volumes {
			if v.foundReleased {
				inv.markVolume(v)
			}
		}
	}
	inv.listed[kind] = true
	inv.sync(obs)
	return nil
}

// sync infers again everything that depends on the noted objects, from the backing stores up.
func (inv *Inventory) sync(obs Observation) {
	inv.syncEarly(obs.At)
	for len(inv.dirtyVolumes) > 0 || len(inv.dirtyClaims) > 0 || len(inv.dirtyPods) > 0 {
		for i := 0; i < len(inv.dirtyVolumes); i++ {
			inv.syncVolume(inv.dirtyVolumes[i], obs)
			inv.emitPart()
		}
		inv.dirtyVolumes = emptied(inv.dirtyVolumes)
		for i := 0; i < len(inv.dirtyClaims); i++ {
			inv.syncClaim(inv.dirtyClaims[i], obs)
			inv.emitPart()
		}
		inv.dirtyClaims = emptied(inv.dirtyClaims)
		for i := 0; i < len(inv.dirtyPods); i++ {
			inv.syncPod(inv.dirtyPods[i], obs)
			inv.emitPart()
		}
		inv.dirtyPods = emptied(inv.dirtyPods)
	}
	inv.dispute(obs)
	inv.evict(obs.At)
}

const (
	// partRows and partSnapshots bound each part in which a large event is emitted: about 8 MB each.
	partRows      = 25_000
	partSnapshots = 10_000
	// discardRows bounds the rows that wait to be discarded: few enough for Facts.Reset to keep the memory of their
	// lists for the next ones. They also refer to the objects that they come from.
	discardRows = fact.KeepLength / 2
)

// SetPart sets a function that the inventory calls within an event each time the event has emitted
// partRows rows. The function takes the rows with TakePart. With nil, the default, all rows of an
// event collect until Take. The rows of the first lists take more memory than the inventory itself.
func (inv *Inventory) SetPart(emit func()) { inv.part = emit }

// SetTrim sets a function that the inventory calls with each saved object that it decodes: an older
// tracker may have saved fields that this one drops.
func (inv *Inventory) SetTrim(trim func(fact.Kind, metav1.Object)) { inv.trim = trim }

func (inv *Inventory) emitPart() {
	switch rows := inv.update.Facts.Len(); {
	case inv.discarding && rows >= discardRows:
		inv.update.Facts.Reset()
	case inv.part != nil && rows >= partRows:
		inv.part()
	}
}

// TakePart moves the rows that the event in progress has emitted so far into u, and nothing else:
// states and snapshots follow with Take, at the end of the event.
func (inv *Inventory) TakePart(u *fact.Update) {
	*u = fact.Update{Facts: inv.update.Facts, Version: inv.version}
	inv.update.Facts = fact.Facts{}
}

// Take moves the changes since the last Take into u, whose memory is reused. It moves partSnapshots
// snapshots at most, and reports whether there are more: then the caller must call Take again.
func (inv *Inventory) Take(u *fact.Update) (more bool) {
	inv.markRelabelled()
	u.Volumes, u.Claims = slices.Grow(u.Volumes[:0], len(inv.staleVolumes)), slices.Grow(u.Claims[:0], len(inv.staleClaims))
	for _, v := range inv.staleVolumes {
		v.stale = false
		state := inv.volumeState(v)
		changed := v.status != state.Status || v.statusSince != state.ChangedAt
		v.status, v.statusSince = state.Status, state.ChangedAt
		if row := inv.stateRow(v, &state); changed || fingerprint(&row) != v.emittedRow {
			if inv.volumes[v.uid] == v || inv.dead[subjectID{fact.Volumes, v.uid}] != nil { // else its snapshot is forgotten
				inv.markSnapshot(v)
			}
		}
		if hash := hashOf(inv, state); hash != v.emitted {
			v.emitted = hash
			u.Volumes = append(u.Volumes, state)
		}
	}
	for _, c := range inv.staleClaims {
		c.stale = false
		inv.doubt(c)
		state := inv.claimState(c)
		if hash := hashOf(inv, state); hash != c.emitted {
			c.emitted = hash
			u.Claims = append(u.Claims, state)
		}
	}
	inv.staleVolumes, inv.staleClaims = emptied(inv.staleVolumes), emptied(inv.staleClaims)
	more = inv.takeSnapshots(u)
	u.Classes, inv.update.Classes = inv.update.Classes, u.Classes[:0]
	u.Capacities, inv.update.Capacities = inv.update.Capacities, u.Capacities[:0]
	u.Attachments, inv.update.Attachments = inv.update.Attachments, u.Attachments[:0]
	u.Version, u.At = inv.version, inv.now
	u.Facts, inv.update.Facts = inv.update.Facts, u.Facts
	inv.update.Facts.Reset()
	return more
}

// Tick advances the clock while no events arrive, and evicts objects that have been gone for long
// enough.
func (inv *Inventory) Tick(now fact.Time) {
	inv.begin("", "", Live(now))
	inv.sync(Live(now))
}

// SetWatched sets the spans in which pods were watched without a miss, oldest first and disjoint;
// the last one continues. The inventory does not write to the list.
func (inv *Inventory) SetWatched(spans []fact.Span) {
	inv.watched = spans
	inv.reviewUnused() // rule 5.5 depends on when pods were watched
}

// Raise makes the row versions continue from version, if it is higher: new rows then replace the
// rows that another inventory has emitted meanwhile.
func (inv *Inventory) Raise(version uint64) { inv.version = max(inv.version, version) }

// nextVersion returns a row version: the moment of observation in microseconds, cut to milliseconds, and always more
// than the previous version, so that the order survives a clock that is set back. A clock before
// 1970 counts as 1970. The last three digits would be chance, which does not compress: 1.2 bytes of each row. Two
// trackers can give two rows of an object the same version then, as they could before; the next row of either has a higher one.
func (inv *Inventory) nextVersion(at fact.Time) uint64 {
	inv.version, inv.used = max(inv.version+1, uint64(max(at, 0))/1000*1000), true
	return inv.version
}

// versioned sets, in the changes that emit emits, the object's version in which they were observed. The object itself says when
// its deletion was requested, so that change is the same in each version.
func (inv *Inventory) versioned(o metav1.Object, emit func()) {
	from := len(inv.update.Facts.Changes)
	emit()
	for i := range inv.update.Facts.Changes[from:] {
		if c := &inv.update.Facts.Changes[from+i]; c.Action != fact.Deleting {
			c.ResourceVersion = o.GetResourceVersion()
		}
	}
}

// begin records which event is in progress.
func (inv *Inventory) begin(kind fact.Kind, version string, obs Observation) {
	obs.Version = version
	inv.kind, inv.observation = kind, obs
	if kind == fact.Pods && !inv.podsObserved {
		inv.podsObserved = true
		inv.reviewUnused()
	}
	if kind == fact.Volumes {
		inv.volumesAt = uint32(fact.VersionNumber(version))
	}
	if obs.Found && inv.began == 0 {
		inv.began = obs.At
	}
}

// change emits a change. If the tracker dates the change by its own observation, the change gets
// the resource version that showed it, which is the same for all trackers.
func (inv *Inventory) change(c fact.Change) {
	c.StorageClass = inv.shownClass(c.StorageClass)
	observed := c.At == inv.observation.At || c.Action == fact.Deleted || c.Action == fact.Detached
	if c.ResourceVersion == "" && observed && c.EventKind() == inv.kind {
		c.ResourceVersion = inv.observation.Version
	}
	inv.update.Facts.Changes = append(inv.update.Facts.Changes, c)
}

// emptied returns a list without its elements, to reuse its memory up to 2 x fact.KeepLength.
func emptied[T any](list []T) []T {
	if cap(list) > 2*fact.KeepLength {
		return nil
	}
	clear(list)
	return list[:0]
}
