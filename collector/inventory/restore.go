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

// Restore takes the state of an earlier inventory (rule 6.3), as its Updates emitted it: the last
// version of each object that is not forgotten, and the object's snapshot. An empty inventory
// continues where the earlier one ended, and emits only the present states. An inventory that has
// objects already completes them, and takes the others as living until Delete or Replace says
// otherwise. For objects marked Incomplete or Unredacted it emits all rows again, as from a first
// list, but of the latter no changes: the catalog has them, with what managedFields said. version
// is the highest row version used so far; now is the current time.
//
// unread is set if an object is of an unknown kind or cannot be decoded; the others are restored.
// err is the error of objects.Each.
func (inv *Inventory) Restore(objects fact.SavedObjects, version uint64, now fact.Time) (unread, err error) {
	empty := !inv.used
	inv.used = true
	inv.version, inv.now = max(inv.version, version), now
	inv.began = earliest(inv.began, now)
	inv.begin("", "", Observation{At: now, Found: true})
	inv.restoring, inv.listing = true, true
	defer func() { inv.restoring, inv.listing = false, false }()
	had, incomplete, unredacted := len(inv.update.Facts.Changes), false, false
	if empty {
		defer inv.SetPart(inv.part)
		inv.SetPart(nil)
		inv.discarding = true
	}
	completeDone := func() {
		inv.sync(Observation{At: inv.now, Found: true})
		inv.update.Facts.Changes = inv.update.Facts.Changes[:min(had, len(inv.update.Facts.Changes))] // an earlier inventory emitted these changes
		if empty {
			inv.update.Facts = fact.Facts{}
			inv.keepForgotten()
			inv.discarding = false
		}
	}
	err = objects.Each(func(o *fact.SavedObject) error {
		unredacted = unredacted || o.Unredacted
		if (o.Incomplete || o.Unredacted) && !incomplete {
			incomplete = true
			completeDone()
		}
		if err := inv.restoreOne(o); err != nil {
			unread = err
		}
		inv.emitPart()
		return nil
	})
	if !incomplete {
		completeDone()
	}
	inv.sync(Observation{At: inv.now, Found: true})
	if unredacted {
		inv.update.Facts.Changes = nil
	}
	return unread, err
}

// Reconcile is Restore for an inventory that has taken its first lists meanwhile: objects that the
// earlier inventory had and the lists lack were deleted after their kind was last watched. Objects of a kind that is not
// in lastSeen stay: it is unknown whether they still exist.
//
// taken has the resource versions up to which the inventory has taken the events of each kind. An object that the lists lack
// and whose version is above that is newer, as another tracker has written it meanwhile: Reconcile leaves it out, and the watch
// brings it. Versions that are no numbers do not compare: such an object counts as deleted. After etcd was restored from a
// backup, a deleted object can look newer, too. Its rows then stay as they are until a tracker starts with a new journal.
func (inv *Inventory) Reconcile(
	objects fact.SavedObjects, version uint64, now fact.Time, lastSeen map[fact.Kind]fact.Time, taken map[fact.Kind]uint64,
) (unread, err error) {
	var gone []subjectID
	newer := map[subjectID]bool{}
	err = objects.Each(func(o *fact.SavedObject) error {
		id, reached := subjectID{o.Kind, o.UID}, taken[o.Kind]
		switch _, shown := lastSeen[o.Kind]; {
		case !shown || inv.index(o.Kind).has(o.UID):
		case reached > 0 && fact.VersionNumber(o.ResourceVersion) > reached:
			newer[id] = true
		default:
			gone = append(gone, id)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	unread, err = inv.Restore(without{objects, newer}, version, now)
	for _, id := range gone {
		inv.drop(id.kind, id.uid, Observation{At: now, NotBefore: lastSeen[id.kind]})
	}
	inv.sync(Live(now))
	return unread, err
}

// without leaves some objects out.
type without struct {
	objects fact.SavedObjects
	left    map[subjectID]bool
}

func (w without) Each(restore func(*fact.SavedObject) error) error {
	return w.objects.Each(func(o *fact.SavedObject) error {
		if w.left[subjectID{o.Kind, o.UID}] {
			return nil
		}
		return restore(o)
	})
}

// restoreOne restores one object: it notes the object as found, unless it lives in the inventory already, and
// completes it with its snapshot. Of a living object the inventory has observed more than a catalog knows.
func (inv *Inventory) restoreOne(r *fact.SavedObject) error {
	kind, uid := r.Kind, r.UID
	if !slices.Contains(fact.Kinds(), kind) {
		return fmt.Errorf("the inventory takes no kind %q", kind)
	}
	if inv.dead[subjectID{kind, uid}] != nil {
		return nil // it was deleted after the earlier inventory saw it
	}
	lives := inv.index(kind).has(uid)
	if !lives {
		object := r.Decoded
		if object == nil {
			var err error
			if object, err = Decode(kind, r.Object, r.Wire); err != nil {
				return err
			}
			inv.trim(kind, object)
		}
		if object.GetResourceVersion() == "" {
			object.SetResourceVersion(r.ResourceVersion)
		}
		inv.note(kind, object, Observation{At: inv.now, Found: true})
	}
	if r.Snapshot.UID == uid { // otherwise there is no snapshot
		inv.restoreSnapshot(kind, uid, r.Snapshot, lives)
	}
	return nil
}

func (inv *Inventory) restoreSnapshot(kind fact.Kind, uid string, snapshot fact.ObjectSnapshot, lives bool) {
	s := &snapshot
	if lives { // also if it was gone once (rule 6.4)
		s.Deleted, s.NotBefore = 0, 0
	}
	switch kind {
	case fact.Volumes:
		if v := inv.volumes[uid]; v != nil {
			inv.restoreVolume(v, s)
		}
	case fact.Claims:
		if c := inv.claims[uid]; c != nil {
			inv.restoreClaim(c, s, lives)
		}
	case fact.Pods:
		if p := inv.pods[uid]; p != nil {
			inv.restorePod(p, s)
		}
	case fact.VolumeAttachments:
		if a := inv.attachments[uid]; a != nil {
			inv.restoreAttachment(a, s)
		}
	case fact.Nodes:
		for _, n := range inv.nodes {
			if n.uid == uid && !lives { // a catalog does not say when nodes were alive
				n.restore(s)
			}
		}
	default:
		if s.Deleted != 0 {
			inv.dropController(uid, Observation{At: s.Deleted})
		}
	}
}

func (inv *Inventory) restoreVolume(v *volume, s *fact.ObjectSnapshot) {
	v.deleted, v.notBefore = s.Deleted, s.NotBefore
	if v.phaseChanged == 0 {
		v.phaseNotBefore, v.phaseChanged = s.PhaseNotBefore, s.PhaseChanged
	}
	v.savedUse = latest(v.savedUse, s.LastUse)
	v.lastUse = latest(v.lastUse, v.savedUse)
	v.unseenUse = latest(v.unseenUse, s.UnseenUse)
	if _, ok := inv.spaces[v]; !ok && s.Space != nil && s.Space.CapacityBytes > 0 && !v.block() { // else a former build took it
		inv.spaces[v] = measurement{Space: *s.Space}
	}
	if s.Claimant != nil && v.user == nil {
		inv.claimants[v] = claimant{s.Claimant.Owner, intern.Join(s.Claimant.Groups), intern.Pack(s.Claimant.Labels)}
	}
	if s.Status != "" {
		v.status, v.statusSince = s.Status, s.StatusSince
	}
	v.emittedRow = cmp.Or(s.StateTold, v.emittedRow)
	for _, b := range s.Bindings {
		inv.past[v] = append(inv.past[v], pastBinding{binding{b.ClaimUID, name{b.ClaimNamespace, b.ClaimName}, b.BoundAt, b.ReleasedAt, b.ReleasedNotBefore}, b.Ordinal, b.Hearsay})
	}
	inv.restoreBinding(v, s)
	v.fresh = true
	inv.markVolume(v)
	if v.deleted != 0 {
		inv.entombVolume(v, v.deleted)
	}
}

// restoreBinding restores the last binding. The binding may be newer than the stored version of the
// volume: then it is kept until the list or the watch shows the volume Bound.
func (inv *Inventory) restoreBinding(v *volume, s *fact.ObjectSnapshot) {
	b, phase, claim := &v.binding, v.phase.Value(), name{s.ClaimNamespace, s.ClaimName}
	others := b.claimUID != "" && b.claimUID != s.ClaimUID
	if s.ClaimUID == "" || others {
		return
	}
	if s.ClaimUID == v.claimUID {
		claim = v.claim // one copy of the strings is enough
	}
	if v.precedes(s) {
		inv.past[v] = append(inv.past[v], pastBinding{binding{claimUID: s.ClaimUID, claim: claim, bound: s.BoundAt}, s.BindingOrdinal, true})
		return
	}
	*b = binding{
		claimUID: s.ClaimUID, claim: claim, bound: cmp.Or(b.bound, s.BoundAt), released: cmp.Or(b.released, s.ReleasedAt),
		notBefore: cmp.Or(b.notBefore, s.ReleasedNotBefore),
	}
	v.ordinal = max(v.ordinal, s.BindingOrdinal)
	if phase == string(corev1.VolumeBound) {
		b.released, b.notBefore = 0, 0
	}
}

// precedes reports whether the stored version of a volume is older than the binding in its
// snapshot.
func (v *volume) precedes(s *fact.ObjectSnapshot) bool {
	phase, same := v.phase.Value(), v.claimUID == s.ClaimUID
	switch {
	case s.ReleasedAt != 0 || same && phase != string(corev1.VolumePending) && phase != string(corev1.VolumeAvailable):
		return false // it was Bound
	case s.BoundAt == 0 || v.phaseChanged == 0: // no times: a volume is Pending or Available before it is bound
		return phase == string(corev1.VolumePending) || phase == string(corev1.VolumeAvailable)
	default:
		return v.phaseChanged <= s.BoundAt
	}
}

func (inv *Inventory) restoreClaim(c *claim, s *fact.ObjectSnapshot, lives bool) {
	c.deleted, c.noBefore = s.Deleted, s.NotBefore
	c.boundBefore = s.BoundBefore || c.boundBefore && !s.Unannounced // a Lost claim may have a first binding that is unannounced
	if !lives {
		c.found = s.Found
		inv.awaitVolumes(c, s.BoundIn, inv.now)
	}
	if !lives || c.boundAt == 0 && s.BoundAt != 0 {
		c.boundAt, c.boundLate, c.unannounced = s.BoundAt, s.BoundLate, s.Unannounced
	}
	if s.PodUID != "" {
		c.podUID = unique.Make(s.PodUID)
	}
	if v := inv.volumeByUID(s.VolumeUID); v != nil && c.volume == nil {
		inv.setVolume(c, v)
		c.byName = s.ByName
	}
	if l := (life{s.Born, s.Died}); l != (life{}) {
		inv.lives[c] = l
	}
	if traits := c.traits.Value(); traits.workloadKind == "" && s.WorkloadKind != "" {
		traits.workloadKind, traits.workloadName = s.WorkloadKind, s.WorkloadName
		c.traits = unique.Make(traits)
	}
	c.fresh = true
	inv.markClaim(c)
	inv.markPods(inv.slot(c.name))
	if c.deleted != 0 {
		delete(inv.claims, c.uid)
		inv.entomb(fact.Claims, c.uid, c.deleted, c)
	}
}

func (inv *Inventory) restorePod(p *pod, s *fact.ObjectSnapshot) {
	p.deleted, p.notBefore, p.gone, p.startedIn = s.Deleted, s.NotBefore, s.Deleted != 0, cmp.Or(p.startedIn, uint32(s.Born))
	p.unready, p.clockOff = p.unready || s.Unready, p.clockOff || s.ClockOff
	if traits := p.traits.Value(); s.WorkloadKind != "" {
		traits.workload = workload{s.WorkloadKind, s.WorkloadName, s.WorkloadUID}
		p.traits = unique.Make(traits)
	}
	for i := range s.Containers {
		if c := p.container(s.Containers[i].Name); c != nil {
			c.restore(&s.Containers[i], p)
		}
	}
	p.started, p.finished = p.times(p.over())
	p.fresh = true
	inv.markPod(p)
	if p.gone {
		inv.unlist(p)
	}
}

// restore restores when a container was in use. If its use has ended, the end is the one that was
// inferred when it was observed.
func (c *container) restore(s *fact.ContainerSnapshot, p *pod) {
	c.vouched = latest(c.vouched, s.Alive)
	worse := s.StartUnknown && c.started != 0 && c.started < s.StartedAt && !p.clockOff
	if s.StartedAt != 0 && !worse {
		c.started, c.startUnknown = s.StartedAt, s.StartUnknown
	}
	if s.FinishedAt != 0 && (c.run.over || p.over()) {
		c.finished, c.notBefore, c.reason = s.FinishedAt, s.NotBefore, unique.Make(s.Reason)
		c.run.dated = !s.Unreported
	}
}

func (inv *Inventory) restoreAttachment(a *attachment, s *fact.ObjectSnapshot) {
	a.row.DetachedAt = s.Deleted
	if s.Attached { // nobody knows since when if AttachedAt is zero
		a.row.Attached, a.row.AttachedAt = true, s.AttachedAt
	}
	if s.Deleted != 0 {
		delete(inv.attachments, a.row.UID)
		inv.entomb(fact.VolumeAttachments, a.row.UID, s.Deleted, a)
		inv.emitAttachmentState(a, wait{}) // noteAttachment has emitted that it waits
	}
	inv.emitAttachment(a, Observation{At: inv.now})
}
