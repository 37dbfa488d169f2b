package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// subject is what has a memory.
type subject interface {
	snapshot(inv *Inventory) fact.Snapshot
}

// memorable is a subject whose memory goes out with the next Take: once, however often it
// has changed by then.
type memorable struct{ listed bool }

func (m *memorable) list() *bool { return &m.listed }

// memorize has what is known of a subject given out anew.
func (inv *Inventory) markSnapshot(s interface {
	subject
	list() *bool
}) {
	if listed := s.list(); !*listed {
		*listed = true
		inv.snapshotQueue = append(inv.snapshotQueue, s)
	}
}

// drown lets go of what was remembered of an object.
func (inv *Inventory) forgetSnapshot(kind fact.Kind, uid string) {
	inv.snapshotQueue = append(inv.snapshotQueue, forgotten{kind, uid})
}

type forgotten struct {
	kind fact.Kind
	uid  string
}

func (d forgotten) snapshot(*Inventory) fact.Snapshot {
	return fact.Snapshot{Kind: d.kind, UID: d.uid, Forgotten: true}
}

// departed is a controller that is gone, but still spoken of.
type departed struct {
	kind fact.Kind
	uid  string
	at   fact.Time
}

func (d departed) snapshot(*Inventory) fact.Snapshot {
	return fact.Snapshot{Kind: d.kind, UID: d.uid, Deleted: d.at}
}

// takeMemories moves what is to be remembered anew into u; of one object, the last
// one counts.
func (inv *Inventory) takeSnapshots(u *fact.Update) {
	u.Snapshots = slices.Grow(u.Snapshots[:0], len(inv.snapshotQueue))
	for _, s := range inv.snapshotQueue {
		u.Snapshots = append(u.Snapshots, s.snapshot(inv))
	}
	inv.clearSnapshotQueue()
}

func (inv *Inventory) clearSnapshotQueue() {
	for _, s := range inv.snapshotQueue {
		if s, ok := s.(interface{ list() *bool }); ok {
			*s.list() = false
		}
	}
	inv.snapshotQueue = emptied(inv.snapshotQueue)
}

func (v *volume) snapshot(inv *Inventory) fact.Snapshot {
	m := fact.Snapshot{
		Kind: fact.Volumes, UID: v.uid, Deleted: v.deleted, NotBefore: v.notBefore, ClaimUID: v.binding.claimUID,
		BoundAt: v.binding.bound, ReleasedAt: v.binding.released, ReleasedNotBefore: v.binding.notBefore,
		PhaseChanged: v.phaseChanged, LastUsed: v.lastUsed, BindingOrdinal: v.ordinal,
		Status: v.status, StatusSince: v.statusSince,
	}
	if space, ok := inv.spaces[v]; ok {
		m.Space = &space
	}
	for _, b := range inv.past[v] {
		m.Bindings = append(m.Bindings, fact.BindingSnapshot{
			ClaimUID: b.claimUID, Ordinal: b.ordinal, BoundAt: b.bound, ReleasedAt: b.released, ReleasedNotBefore: b.notBefore, Hearsay: b.hearsay,
		})
	}
	return m
}

func (v *volume) restore(inv *Inventory, m *fact.Snapshot) {
	v.deleted, v.notBefore = m.Deleted, m.NotBefore
	v.phaseChanged = cmp.Or(v.phaseChanged, m.PhaseChanged)
	v.lastUsed = latest(v.lastUsed, m.LastUsed)
	if _, ok := inv.spaces[v]; !ok && m.Space != nil {
		inv.spaces[v] = *m.Space
	}
	if m.Status != "" {
		v.status, v.statusSince = m.Status, m.StatusSince
	}
	for _, b := range m.Bindings {
		inv.past[v] = append(inv.past[v], pastBinding{binding{b.ClaimUID, b.BoundAt, b.ReleasedAt, b.ReleasedNotBefore}, b.Ordinal, b.Hearsay})
	}
	// What was told may be ahead of the version that we have.
	phase := v.phase.Value()
	early := m.ReleasedAt == 0 && (phase == string(corev1.VolumePending) || phase == string(corev1.VolumeAvailable))
	if b := &v.binding; m.ClaimUID != "" && !early && (b.claimUID == "" || b.claimUID == m.ClaimUID) {
		*b = binding{
			claimUID: m.ClaimUID, bound: cmp.Or(b.bound, m.BoundAt), released: cmp.Or(b.released, m.ReleasedAt),
			notBefore: cmp.Or(b.notBefore, m.ReleasedNotBefore),
		}
		v.ordinal = max(v.ordinal, m.BindingOrdinal)
		if phase == string(corev1.VolumeBound) {
			b.released, b.notBefore = 0, 0
		}
	}
}

func (c *claim) snapshot(inv *Inventory) fact.Snapshot {
	traits := c.traits.Value()
	return fact.Snapshot{
		Kind: fact.Claims, UID: c.uid, Deleted: c.deleted, NotBefore: c.noBefore, BoundAt: c.boundAt, LastUsed: c.lastUsed,
		Born: inv.lives[c].born, Died: inv.lives[c].died, WorkloadKind: traits.workloadKind, WorkloadName: traits.workloadName,
	}
}

func (c *claim) restore(inv *Inventory, m *fact.Snapshot) {
	c.deleted, c.noBefore = m.Deleted, m.NotBefore
	c.boundAt = cmp.Or(c.boundAt, m.BoundAt)
	c.lastUsed = latest(c.lastUsed, m.LastUsed)
	if l := (life{m.Born, m.Died}); l != (life{}) {
		inv.lives[c] = l
	}
	if traits := c.traits.Value(); traits.workloadKind == "" && m.WorkloadKind != "" {
		traits.workloadKind, traits.workloadName = m.WorkloadKind, m.WorkloadName
		c.traits = unique.Make(traits)
	}
}

func (p *pod) snapshot(*Inventory) fact.Snapshot {
	w := p.traits.Value().workload
	m := fact.Snapshot{
		Kind: fact.Pods, UID: p.uid, Deleted: p.deleted, NotBefore: p.notBefore, Born: uint64(p.startedIn),
		WorkloadKind: w.kind, WorkloadName: w.name, WorkloadUID: w.uid,
	}
	for i := range p.containers {
		if c := &p.containers[i]; c.started != 0 {
			m.Containers = append(m.Containers, fact.ContainerSnapshot{
				Name: c.traits.Value().name, StartedAt: c.started, FinishedAt: c.finished, NotBefore: c.notBefore, Reason: intern.Text(c.reason),
			})
		}
	}
	return m
}

func (p *pod) restore(m *fact.Snapshot) {
	p.deleted, p.notBefore, p.gone, p.startedIn = m.Deleted, m.NotBefore, m.Deleted != 0, uint32(m.Born)
	if traits := p.traits.Value(); m.WorkloadKind != "" {
		traits.workload = workload{m.WorkloadKind, m.WorkloadName, m.WorkloadUID}
		p.traits = unique.Make(traits)
	}
	for i := range p.containers {
		c := &p.containers[i]
		for _, had := range m.Containers {
			if had.Name != c.traits.Value().name {
				continue
			}
			c.started = earliest(c.started, had.StartedAt)
			if c.run.at == 0 && had.FinishedAt != 0 && p.over() {
				c.finished, c.notBefore, c.reason = had.FinishedAt, had.NotBefore, unique.Make(had.Reason)
			}
		}
	}
	p.started, p.finished = p.times(p.over())
}

func (a *attachment) snapshot(*Inventory) fact.Snapshot {
	m := fact.Snapshot{Kind: fact.VolumeAttachments, UID: a.row.UID, Deleted: a.row.DetachedAt, AttachedAt: a.row.AttachedAt}
	m.Forgotten = m.Deleted != 0 && (a.row.VolumeUID != "" || a.volume == "") // its volume is not on its way
	return m
}

func (a *attachment) restore(m *fact.Snapshot) {
	a.row.AttachedAt, a.row.DetachedAt = cmp.Or(m.AttachedAt, a.row.AttachedAt), m.Deleted
}

// Recall takes what an earlier inventory held, as Update gave it out: the last
// version of each object that is not forgotten, and its memory. An inventory that is
// empty goes on where the other one ended, and has nothing to tell but the present
// states. One that has been given objects already completes what it knows of those,
// and holds the others as living, until Delete or Replace says otherwise. What was not
// told to the end is told as if it was found now. Version is the highest one that was
// given out, now the moment.
//
// It is an error if an object is of no kind that the inventory takes; the others
// are taken.
func (inv *Inventory) Restore(list []fact.Restored, version uint64, now fact.Time) (err error) {
	empty := inv.version == 0
	inv.version, inv.now = max(inv.version, version), now
	inv.begin("", "", Observation{At: now, Found: true})
	inv.restoring, inv.listing = true, true
	defer func() { inv.restoring, inv.listing = false, false }()
	order := map[fact.Kind]int{}
	for i, kind := range fact.Kinds() {
		order[kind] = i
	}
	// What is gone comes first, as it did: it may have left its name to another.
	slices.SortStableFunc(list, func(a, b fact.Restored) int {
		return cmp.Or(cmp.Compare(order[a.Kind], order[b.Kind]), cmp.Compare(b2i(a.Snapshot.Deleted == 0), b2i(b.Snapshot.Deleted == 0)))
	})
	had := len(inv.update.Facts.Changes)
	take := func(untold bool) {
		for i := range list {
			if list[i].Incomplete != untold {
				continue
			}
			if failure := inv.restoreOne(&list[i]); failure != nil {
				err = failure
			}
		}
		inv.sync(Observation{At: inv.now, Found: true})
	}
	take(false)
	inv.update.Facts.Changes = inv.update.Facts.Changes[:had] // that was news once
	if empty {
		inv.update.Facts = fact.Facts{}
		inv.clearSnapshotQueue()
	}
	take(true)
	return err
}

// Reconcile is Recall for what has been given its first lists meanwhile: what the
// earlier inventory held and the lists lacked is gone, since its kind was last seen.
func (inv *Inventory) Reconcile(list []fact.Restored, version uint64, now fact.Time, lastSeen map[fact.Kind]fact.Time) error {
	var gone []fact.Restored
	for _, r := range list {
		if !inv.index(r.Kind).has(r.UID) {
			gone = append(gone, r)
		}
	}
	err := inv.Restore(list, version, now)
	for _, r := range gone {
		inv.drop(r.Kind, r.UID, Observation{At: now, NotBefore: lastSeen[r.Kind]})
	}
	inv.sync(Live(now))
	return err
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// recall takes one object: noted as found, unless it is held already, and completed
// by its memory.
func (inv *Inventory) restoreOne(r *fact.Restored) error {
	kind, uid := r.Kind, r.UID
	if !slices.Contains(fact.Kinds(), kind) {
		return fmt.Errorf("the inventory takes no kind %q", kind)
	}
	if !inv.index(kind).has(uid) {
		object, err := readObject(kind, []byte(r.Object))
		if err != nil {
			return err
		}
		inv.note(kind, object, Observation{At: inv.now, Found: true})
	}
	if r.Snapshot.UID != uid {
		return nil // nothing is remembered of it
	}
	switch m := &r.Snapshot; kind {
	case fact.Volumes:
		v := inv.volumes[uid]
		v.restore(inv, m)
		v.fresh = true
		inv.markVolume(v)
		if v.deleted != 0 {
			delete(inv.volumes, uid)
			inv.tombstones = append(inv.tombstones, tombstone{at: v.deleted, volume: v})
		}
	case fact.Claims:
		c := inv.claims[uid]
		c.restore(inv, m)
		c.fresh = true
		inv.markClaim(c)
		if c.deleted != 0 {
			delete(inv.claims, uid)
			inv.tombstones = append(inv.tombstones, tombstone{at: c.deleted, claim: c})
		}
	case fact.Pods:
		if p := inv.pods[uid]; p != nil {
			p.restore(m)
			p.fresh = true
			inv.markPod(p)
			if p.gone {
				inv.unlist(p)
			}
		}
	case fact.VolumeAttachments:
		a := inv.attachments[uid]
		a.restore(m)
		if m.Deleted != 0 {
			delete(inv.attachments, uid)
			inv.tombstones = append(inv.tombstones, tombstone{at: m.Deleted, attachment: a})
		}
		inv.emitAttachment(a, Observation{At: inv.now})
	default:
		if m.Deleted != 0 {
			inv.dropController(uid, Observation{At: m.Deleted})
		}
	}
	return nil
}
