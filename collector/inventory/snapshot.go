package inventory

import (
	"slices"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// subject is an object that has a snapshot (rule 6.3).
type subject interface {
	snapshot(inv *Inventory) fact.ObjectSnapshot
}

// queued marks a subject whose snapshot the next Take emits: once, however often it has changed by
// then.
type queued struct{ listed bool }

func (q *queued) list() *bool { return &q.listed }

// markSnapshot queues a subject's snapshot for the next Take.
func (inv *Inventory) markSnapshot(s interface {
	subject
	list() *bool
}) {
	if listed := s.list(); !*listed {
		*listed = true
		inv.snapshotQueue = append(inv.snapshotQueue, s)
	}
}

// forgetSnapshot emits that the stored snapshot and object can be removed.
func (inv *Inventory) forgetSnapshot(kind fact.Kind, uid string) {
	inv.snapshotQueue = append(inv.snapshotQueue, forgotten{kind, uid})
}

type forgotten struct {
	kind fact.Kind
	uid  string
}

func (f forgotten) snapshot(*Inventory) fact.ObjectSnapshot {
	return fact.ObjectSnapshot{Kind: f.kind, UID: f.uid, Forgotten: true}
}

// departed is a controller that is gone, but still referred to.
type departed struct {
	kind fact.Kind
	uid  string
	at   fact.Time
}

func (d departed) snapshot(*Inventory) fact.ObjectSnapshot {
	return fact.ObjectSnapshot{Kind: d.kind, UID: d.uid, Deleted: d.at}
}

// takeSnapshots moves the queued snapshots into u, and reports whether there are more: with SetPart it moves partSnapshots
// at most. Of one object, the last snapshot counts.
func (inv *Inventory) takeSnapshots(u *fact.Update) (more bool) {
	queue := inv.snapshotQueue
	if inv.part != nil {
		queue = queue[:min(len(queue), partSnapshots)]
	}
	u.Snapshots = slices.Grow(u.Snapshots[:0], len(queue))
	for _, s := range queue {
		if v, ok := s.(*volume); ok {
			inv.emitState(v)
		}
		u.Snapshots = append(u.Snapshots, s.snapshot(inv))
	}
	unqueue(queue)
	if more = len(queue) < len(inv.snapshotQueue); more {
		inv.snapshotQueue = inv.snapshotQueue[len(queue):]
	} else {
		inv.snapshotQueue = emptied(inv.snapshotQueue)
	}
	return more
}

// keepForgotten empties the queue after a restore, as an earlier inventory emitted the snapshots in it. It keeps the
// objects that were evicted since, whose records nobody else deletes, and the volumes that have become the only ones to
// know of an evicted claim.
func (inv *Inventory) keepForgotten() {
	var kept, dropped []subject
	for _, s := range inv.snapshotQueue {
		_, keep := s.(forgotten)
		if v, ok := s.(*volume); ok {
			_, keep = inv.claimants[v]
		}
		if keep {
			kept = append(kept, s)
		} else {
			dropped = append(dropped, s)
		}
	}
	unqueue(dropped)
	inv.snapshotQueue = kept
}

func unqueue(subjects []subject) {
	for _, s := range subjects {
		if s, ok := s.(interface{ list() *bool }); ok {
			*s.list() = false
		}
	}
}

func (v *volume) snapshot(inv *Inventory) fact.ObjectSnapshot {
	s := fact.ObjectSnapshot{
		Kind: fact.Volumes, UID: v.uid, Deleted: v.deleted, NotBefore: v.notBefore,
		ClaimUID: v.binding.claimUID, ClaimNamespace: v.binding.claim.namespace, ClaimName: v.binding.claim.name,
		BoundAt: v.binding.bound, ReleasedAt: v.binding.released, ReleasedNotBefore: v.binding.notBefore,
		PhaseChanged: v.phaseChanged, PhaseNotBefore: v.phaseNotBefore, LastUse: v.savedUse, UnseenUse: v.unseenUse, BindingOrdinal: v.ordinal,
		Status: v.status, StatusSince: v.statusSince, StateTold: v.emittedRow,
	}
	if m, ok := inv.spaces[v]; ok {
		s.Space = &m.Space
	}
	if c, ok := inv.claimants[v]; ok {
		s.Claimant = &fact.Claimant{Owner: c.owner, Groups: intern.Split(c.groups), Labels: c.labels.Unpack()}
	}
	for _, b := range inv.past[v] {
		s.Bindings = append(s.Bindings, fact.BindingSnapshot{
			ClaimUID: b.claimUID, ClaimNamespace: b.claim.namespace, ClaimName: b.claim.name, Ordinal: b.ordinal,
			BoundAt: b.bound, ReleasedAt: b.released, ReleasedNotBefore: b.notBefore, Hearsay: b.hearsay,
		})
	}
	return s
}

func (c *claim) snapshot(inv *Inventory) fact.ObjectSnapshot {
	traits, life := c.traits.Value(), inv.lives[c]
	return fact.ObjectSnapshot{
		Kind: fact.Claims, UID: c.uid, Deleted: c.deleted, NotBefore: c.noBefore, BoundAt: c.boundAt, VolumeUID: c.volumeUID(), ByName: c.byName,
		Unannounced: c.unannounced, BoundBefore: c.boundBefore, BoundLate: c.boundLate, BoundIn: c.boundIn, Found: c.found, PodUID: intern.Text(c.podUID),
		Born: life.born, Died: life.died, WorkloadKind: traits.workloadKind, WorkloadName: traits.workloadName,
	}
}

func (p *pod) snapshot(*Inventory) fact.ObjectSnapshot {
	w := p.traits.Value().workload
	s := fact.ObjectSnapshot{
		Kind: fact.Pods, UID: p.uid, Deleted: p.deleted, NotBefore: p.notBefore, Born: uint64(p.startedIn), Unready: p.unready, ClockOff: p.clockOff,
		WorkloadKind: w.kind, WorkloadName: w.name, WorkloadUID: w.uid,
	}
	if p.started != 0 {
		s.Containers = make([]fact.ContainerSnapshot, 0, len(p.containers))
	}
	for i := range p.containers {
		if c := &p.containers[i]; c.started != 0 || c.vouched != 0 {
			s.Containers = append(s.Containers, fact.ContainerSnapshot{
				Name: c.traits.Value().name, StartedAt: c.started, StartUnknown: c.startUnknown, Alive: c.vouched, FinishedAt: c.finished,
				NotBefore: c.notBefore, Reason: intern.Text(c.reason), Unreported: c.finished != 0 && c.run.over && !c.run.dated,
			})
		}
	}
	return s
}

func (a *attachment) snapshot(*Inventory) fact.ObjectSnapshot {
	s := fact.ObjectSnapshot{Kind: fact.VolumeAttachments, UID: a.row.UID, Deleted: a.row.DetachedAt, Attached: a.row.Attached, AttachedAt: a.row.AttachedAt}
	s.Forgotten = s.Deleted != 0 && (a.row.VolumeUID != "" || a.volume == "") // its volume is not yet to arrive
	return s
}
