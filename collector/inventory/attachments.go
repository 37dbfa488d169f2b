package inventory

import (
	"slices"

	storagev1 "k8s.io/api/storage/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// attachment is a VolumeAttachment. The API dates neither attaching nor detaching. The closest to
// the first is the time at which its status was last written, or at which it was observed to become
// attached; the second is the moment at which its deletion was observed.
type attachment struct {
	row    fact.Attachment
	volume string // the volume's name
	waits  wait   // as it was emitted last
	queued
}

// wait is what an attachment waits for, and since when; zero while it does not wait.
type wait struct {
	operation string
	since     fact.Time
}

func (inv *Inventory) noteAttachment(o *storagev1.VolumeAttachment, obs Observation) bool {
	a := inv.attachments[string(o.UID)]
	if a == nil {
		inv.revive(fact.VolumeAttachments, string(o.UID))
		a = &attachment{row: fact.Attachment{UID: string(o.UID), Node: o.Spec.NodeName, Attacher: o.Spec.Attacher, CreatedAt: apiTime(o.CreationTimestamp)}}
		inv.attachments[a.row.UID] = a
		if o.Spec.Source.PersistentVolumeName != nil {
			a.volume = *o.Spec.Source.PersistentVolumeName
		}
	}
	old := a.row
	a.row.Error = ""
	for _, e := range []*storagev1.VolumeError{o.Status.AttachError, o.Status.DetachError} {
		if e != nil {
			a.row.Error = e.Message
		}
	}
	if o.Status.Attached && !old.Attached {
		a.row.AttachedAt = whenAttached(o, obs)
	}
	a.row.Attached = old.Attached || o.Status.Attached // the attacher takes it back before the object is deleted
	inv.resolveAttachment(a)
	waits := inv.emitAttachmentState(a, waitOf(o))
	if a.row == old {
		return waits
	}
	inv.emitAttachment(a, obs)
	if old.AttachedAt == 0 && a.row.AttachedAt != 0 {
		inv.change(a.change(fact.Change{At: a.row.AttachedAt, Action: fact.Attached, Details: "to node " + a.row.Node, Found: obs.Found}))
	}
	return true
}

// waitOf returns what an attachment waits for. The attacher sets Attached once it has attached the volume; once it has detached
// the volume, it takes that back, and removes its finalizer: the API server deletes the object.
func waitOf(o *storagev1.VolumeAttachment) wait {
	switch asked := deletionAsked(o); {
	case asked != 0:
		return wait{fact.Detaching, asked}
	case !o.Status.Attached:
		return wait{fact.Attaching, apiTime(o.CreationTimestamp)}
	}
	return wait{}
}

// emitAttachmentState emits what an attachment waits for, if that has changed. Most attachments in the first list do not wait,
// and are not emitted.
func (inv *Inventory) emitAttachmentState(a *attachment, w wait) (changed bool) {
	if a.waits == w {
		return false
	}
	a.waits = w
	inv.update.Attachments = append(inv.update.Attachments, fact.AttachmentState{
		UID: a.row.UID, Volume: a.volume, Node: a.row.Node, Attacher: a.row.Attacher, Operation: w.operation, Since: w.since,
	})
	return true
}

// whenAttached returns when an attachment was attached that is observed to be attached for the first time: when its status
// was last written, according to managedFields, or else at the observation. Only the attacher writes the status: after it
// has attached or failed to attach, each time it has failed to detach, and once it has detached. After such a failure the moment is unknown, as
// that of an attachment that was found attached and has no managedFields: then whenAttached returns 0.
func whenAttached(o *storagev1.VolumeAttachment, obs Observation) (at fact.Time) {
	if o.Status.DetachError != nil {
		return 0
	}
	for i := range o.ManagedFields {
		if entry := &o.ManagedFields[i]; entry.Subresource == "status" {
			at = latest(at, apiTimePtr(entry.Time))
		}
	}
	if at == 0 && !obs.Found {
		at = obs.At
	}
	return at
}

// resolveAttachment finds the attachment's volume: the one of its name that existed when the
// attachment was created (rule 2.6). If that volume is not known yet, resolveAttachment registers
// the attachment in inv.unattached.
func (inv *Inventory) resolveAttachment(a *attachment) {
	if a.row.VolumeUID != "" || a.volume == "" {
		return
	}
	v := inv.volumeNamed(a.volume, func(v *volume) bool {
		return a.row.CreatedAt == 0 || v.existed(a.row.CreatedAt, a.row.CreatedAt)
	})
	switch {
	case v != nil:
		a.row.VolumeUID = v.uid
	case !slices.Contains(inv.unattached[a.volume], a):
		inv.unattached[a.volume] = append(inv.unattached[a.volume], a)
	}
}

// attachmentsOf completes the attachments that arrived before their volume.
func (inv *Inventory) attachmentsOf(volume string, obs Observation) {
	waiting := inv.unattached[volume]
	delete(inv.unattached, volume)
	for _, a := range waiting {
		if inv.resolveAttachment(a); a.row.VolumeUID != "" {
			inv.emitAttachment(a, obs)
		}
	}
}

// reattach resolves again the attachments that were attributed to a predecessor of v with the same
// name, because their watch was ahead of the watch of volumes. It scans all attachments; few
// volumes have a predecessor.
func (inv *Inventory) reattach(v *volume, obs Observation) {
	for _, a := range inv.attachments {
		if a.volume != v.name || a.row.VolumeUID == "" {
			continue
		}
		had := a.row.VolumeUID
		a.row.VolumeUID = ""
		inv.resolveAttachment(a)
		switch a.row.VolumeUID {
		case had:
		case "": // the predecessor is evicted
			a.row.VolumeUID = had
			remove(inv.unattached, a.volume, a)
		default:
			inv.emitAttachment(a, obs)
		}
	}
}

func (inv *Inventory) dropAttachment(uid string, obs Observation) {
	a := inv.attachments[uid]
	if a == nil {
		return
	}
	delete(inv.attachments, uid)
	inv.emitAttachmentState(a, wait{})
	if a.row.VolumeUID == "" && a.volume != "" { // its volume may still arrive
		inv.entomb(fact.VolumeAttachments, uid, obs.At, a)
	}
	_, a.row.DetachedAt = obs.bounds(a.row.CreatedAt, a.row.AttachedAt)
	inv.emitAttachment(a, obs)
	inv.change(a.change(fact.Change{At: a.row.DetachedAt, Action: fact.Detached, Details: "from node " + a.row.Node}))
}

func (inv *Inventory) evictAttachment(a *attachment) {
	remove(inv.unattached, a.volume, a)
	inv.forgetSnapshot(fact.VolumeAttachments, a.row.UID)
}

func (a *attachment) change(c fact.Change) fact.Change {
	c.Kind, c.UID, c.Name = string(fact.Volumes), a.row.VolumeUID, a.volume
	return c
}

func (inv *Inventory) emitAttachment(a *attachment, obs Observation) {
	inv.markSnapshot(a)
	a.row.Version = inv.nextVersion(obs.At)
	inv.update.Facts.Attachments = append(inv.update.Facts.Attachments, a.row)
}
