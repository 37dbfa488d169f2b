package inventory

import (
	"fmt"
	"hash/maphash"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// name is a namespace and a name in it.
type name struct{ namespace, name string }

// byName is a map for each namespace. From about four names in a namespace on, this takes less
// memory than one map whose keys have both.
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

// Inventory is the state of storage usage. Use New. It has one owner: its
// methods must not be called at the same time.
type Inventory struct {
	namespaces  byUID[*namespace]
	classes     byUID[*class]
	capacities  byUID[*capacity]
	volumes     byUID[*volume]
	controllers byUID[*controller] // also those that are gone, for a while
	claims      byUID[*claim]
	attachments byUID[*attachment]
	pods        byUID[*pod]
	others      map[fact.Kind]byUID[*other] // Drivers and Nodes
	nodes       map[string]*node            // by name; also those that are gone, for a while

	namespaceNames map[string]*namespace
	relabelled     map[string]struct{} // names of namespaces whose volumes are not touched yet
	watched        []fact.Span         // see SetWatched
	podsObserved   bool                // the last of them goes on: pods have been observed since the start

	volumeAnnotations, claimAnnotations intern.Unpacker

	living    map[fact.Kind]int // of the controllers, those that are not gone
	podNames  byName[*pod]
	templates map[name]*controller // StatefulSets, by what their claims are called but for the ordinal
	orphans   map[string][]*pod    // by the UID of a controller that is not known yet
	orphanOf  map[*pod]workload    // that controller

	unattached map[string][]*attachment // by the name of a volume that is not known yet

	volumeNames map[string]*volume   // those that are there
	goneVolumes map[string][]*volume // by name: those that are remembered
	early       []early
	volumesAt   uint32               // the version that showed the last volume, its last 32 bits
	claimants   map[*volume]claimant // of volumes whose claimRef names a claim that is not remembered any more
	volumeOf    map[string]*volume   // by the claim's UID: the volume that says it is its claim's
	formers     map[string][]*volume // by the claim's UID: what it had before its volume
	awaited     map[string][]*claim  // by the name of a volume that is not known yet: claims that are bound to it
	past        map[*volume][]pastBinding
	spaces      map[*volume]fact.Space // as kubelets said last
	unbound     map[*volume][]*claim   // claims that are bound to it by their own word alone
	lives       map[*claim]life
	claimNames  byName[*claimName]
	sources     map[[16]byte]*source // by id

	dirtyVolumes []*volume
	dirtyClaims  []*claim
	dirtyPods    []*pod
	staleVolumes []*volume // whose VolumeState may differ from the last one given out
	staleClaims  []*claim

	doubted map[*claim]fact.Time // claims of which the API says the opposite of us, and since when
	doubts  []doubt              // the same in the order of their times

	dead          map[subjectID]*tombstone // what is gone and remembered
	tombstones    []*tombstone             // the same, oldest first, without those in podTombstones
	podTombstones []*tombstone             // those of pods all of whose volumes are known, oldest first
	snapshotQueue []subject

	seed        maphash.Seed
	restoring   bool      // in Restore: what is noted did not happen now
	began       fact.Time // when the first list was found
	listed      map[fact.Kind]bool
	now         fact.Time   // of the last event
	serverTime  fact.Time   // the API server's clock is at least there: the latest creation
	kind        fact.Kind   // of the event in work; none in a Tick
	observation Observation // of that event
	version     uint64
	update      fact.Update
	part        func() // see SetPart

	// Of what came in lists.
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
		namespaceNames: map[string]*namespace{},
		relabelled:     map[string]struct{}{},
		classes:        byUID[*class]{},
		capacities:     byUID[*capacity]{},
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
		spaces:         map[*volume]fact.Space{},
		unbound:        map[*volume][]*claim{},
		lives:          map[*claim]life{},
		claimNames:     byName[*claimName]{},
		sources:        map[[16]byte]*source{},
		doubted:        map[*claim]fact.Time{},
		seed:           maphash.MakeSeed(),
	}
}

// hashOf lets a caller compare a state with the one that was emitted last and keep 8 bytes of that instead
// of two hundred. If two successive states had the same hash, once in 2^64, one update of the metrics or
// one row of mounts would be missing.
func hashOf[T comparable](inv *Inventory, state T) uint64 { return maphash.Comparable(inv.seed, state) }

// Set takes an object that was added or changed. An object of a kind that the
// inventory does not take is an error, and changes nothing.
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

// Delete takes an object that is gone, in its last known state.
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

// Replace takes a whole list of one kind: its objects, which may be Packed, are, and
// those it lacks are gone. It is one event: Take shows all of it or nothing.
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
	// A successor bounds the end of what had its name before (rule 1.4), so what is there comes
	// before what is gone.
	for i, object := range objects {
		inv.note(kind, object, obs)
		if inv.part != nil {
			objects[i] = nil // its memory is free once its rows are
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

// sync infers anew what depends on what was noted, from the backing store up.
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

// partRows and partSnapshots bound what is emitted at once of a large event: about 15 MB each.
const (
	partRows      = 50_000
	partSnapshots = 20_000
)

// SetPart has emit be called within an event whenever the event has emitted partRows rows, for emit to take them with
// TakePart; nil, as at first, collects all rows of an event. The rows of the first lists take more memory than the
// inventory itself.
func (inv *Inventory) SetPart(emit func()) { inv.part = emit }

func (inv *Inventory) emitPart() {
	if inv.part != nil && inv.update.Facts.Len() >= partRows {
		inv.part()
	}
}

// TakePart moves the rows that the event in work has emitted so far into u, and nothing else: states and snapshots
// follow with Take, at the end of the event.
func (inv *Inventory) TakePart(u *fact.Update) {
	*u = fact.Update{Facts: inv.update.Facts, Version: inv.version}
	inv.update.Facts = fact.Facts{}
}

// Take moves what changed since the last Take into u, whose memory is reused. It reports whether there are more
// snapshots than it moves at once: then Take has to be called again for the next ones.
func (inv *Inventory) Take(u *fact.Update) (more bool) {
	inv.markRelabelled()
	u.Volumes, u.Claims = slices.Grow(u.Volumes[:0], len(inv.staleVolumes)), slices.Grow(u.Claims[:0], len(inv.staleClaims))
	for _, v := range inv.staleVolumes {
		v.stale = false
		state := inv.volumeState(v)
		if v.status != state.Status || v.statusSince != state.ChangedAt {
			v.status, v.statusSince = state.Status, state.ChangedAt
			inv.markSnapshot(v)
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
	u.Version = inv.version
	u.Facts, inv.update.Facts = inv.update.Facts, u.Facts
	inv.update.Facts.Reset()
	return more
}

// Tick moves the clock while nothing happens: what has been gone for long enough is
// evicted.
func (inv *Inventory) Tick(now fact.Time) {
	inv.begin("", "", Live(now))
	inv.sync(Live(now))
}

// SetWatched takes the spans in which pods were watched and nothing can have been missed,
// oldest first and apart from each other; the last one goes on. The list is not written to.
func (inv *Inventory) SetWatched(spans []fact.Span) {
	inv.watched = spans
	inv.reviewUnused() // rule 5.5 asks when somebody watched
}

// Raise has the row versions go on from the given one, if it is higher: rows that another
// inventory has emitted meanwhile are replaced by those to come.
func (inv *Inventory) Raise(version uint64) { inv.version = max(inv.version, version) }

// nextVersion returns a row version: the moment of observation in microseconds,
// and always more than the one before, so that a clock set back keeps order.
func (inv *Inventory) nextVersion(at fact.Time) uint64 {
	inv.version = max(inv.version+1, uint64(at))
	return inv.version
}

// versioned gives the changes that emit makes the version in which they were observed.
func (inv *Inventory) versioned(o metav1.Object, emit func()) {
	from := len(inv.update.Facts.Changes)
	emit()
	for i := range inv.update.Facts.Changes[from:] {
		inv.update.Facts.Changes[from+i].ResourceVersion = o.GetResourceVersion()
	}
}

// begin notes which event is in work.
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

// change emits a change. One that is dated by the moment at which this tracker observed it
// has the version that showed it: that is the same for all trackers.
func (inv *Inventory) change(c fact.Change) {
	observed := c.At == inv.observation.At || c.Action == fact.Deleted || c.Action == fact.Detached
	if c.ResourceVersion == "" && observed && c.EventKind() == inv.kind {
		c.ResourceVersion = inv.observation.Version
	}
	inv.update.Facts.Changes = append(inv.update.Facts.Changes, c)
}

// emptied is a list without its elements, to be used again.
func emptied[T any](list []T) []T {
	if cap(list) > 2*fact.KeepLength {
		return nil
	}
	clear(list)
	return list[:0]
}
