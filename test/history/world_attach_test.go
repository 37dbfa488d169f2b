package history

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// attachment is a VolumeAttachment, with what a tracker has seen of it.
type attachment struct {
	uid, node, failure string
	volume             *volume
	created, at        fact.Time // at is when it was attached
	existing           bool

	known, seenAttached bool
	seenFailure         string
	gone                fact.Time // as a tracker observed
}

func (w *world) accessModes() []corev1.PersistentVolumeAccessMode {
	return pick(w, [][]corev1.PersistentVolumeAccessMode{
		nil, {corev1.ReadWriteOnce}, {corev1.ReadWriteOnce}, {corev1.ReadWriteOncePod}, {corev1.ReadWriteOncePod}, {corev1.ReadWriteMany}, {corev1.ReadWriteOnce, corev1.ReadOnlyMany},
	})
}

// seenDeletion is when the deletion of a claim was requested, if a tracker knows that.
func (c *claim) seenDeletion() fact.Time {
	if c.seenAsked {
		return c.asked
	}
	return 0
}

// askClaim requests the deletion of a claim that a pod uses: it stays until the pods are over.
func (w *world) askClaim() bool {
	c := any1(w, w.claims, func(c *claim) bool { return c.pod == nil && c.asked == 0 && w.deletable(c) && w.inUse(c) })
	if c == nil {
		return false
	}
	c.asked = w.tick()
	w.showClaim(c)
	return true
}

// attachmentOf returns the one of a volume on a node that is there, or nil.
func (w *world) attachmentOf(v *volume, node string) *attachment {
	for _, a := range w.attached {
		if a.existing && a.volume == v && a.node == node {
			return a
		}
	}
	return nil
}

// attach attaches what a pod uses to its node, as the controller does before its containers start.
func (w *world) attach(p *pod) {
	for _, s := range p.stores {
		if s.claim == nil || s.claim.volume == nil || s.claim.volume.source.kind != "csi" {
			continue
		}
		a := w.attachmentOf(s.claim.volume, p.node)
		if a == nil {
			a = w.addAttachment(s.claim.volume, p.node)
			w.showAttachment(a)
		}
		if a.at == 0 {
			a.at, a.failure = w.tick(), ""
			w.showAttachment(a)
		}
	}
}

func (w *world) addAttachment(v *volume, node string) *attachment {
	a := &attachment{uid: w.uid("attachment"), node: node, volume: v, created: w.tick(), existing: true}
	w.attached = append(w.attached, a)
	return a
}

// failToAttach lets a try to attach a volume for a pod that has not started fail.
func (w *world) failToAttach() bool {
	p := any1(w, w.pods, func(p *pod) bool { return p.existing && p.phase == "Pending" })
	if p == nil {
		return false
	}
	s := pick(w, p.stores)
	if s.claim == nil || s.claim.volume == nil || s.claim.phase != "Bound" || s.claim.volume.source.kind != "csi" || w.attachmentOf(s.claim.volume, p.node) != nil {
		return false
	}
	a := w.addAttachment(s.claim.volume, p.node)
	a.failure = pick(w, hostile)
	w.showAttachment(a)
	return true
}

// detach detaches a volume from a node on which no pod uses it any more.
func (w *world) detach() bool {
	used := func(a *attachment) bool {
		return slices.ContainsFunc(w.pods, func(p *pod) bool {
			return p.existing && p.phase == "Running" && p.node == a.node && slices.ContainsFunc(p.stores, func(s store) bool { return s.claim != nil && s.claim.volume == a.volume })
		})
	}
	a := any1(w, w.attached, func(a *attachment) bool { return a.existing && !used(a) })
	if a == nil {
		return false
	}
	w.detachAll(func(o *attachment) bool { return o == a })
	return true
}

func (w *world) detachAll(chosen func(*attachment) bool) {
	for _, a := range w.attached {
		if !a.existing || !chosen(a) {
			continue
		}
		w.tick()
		a.existing = false
		if w.watched {
			a.gone = w.clock
			w.tracker.delete(w.attachmentObject(a), w.clock)
		}
	}
}

func (w *world) showAttachment(a *attachment) {
	if w.watched {
		w.seeAttachment(a)
		w.tracker.set(w.attachmentObject(a), w.clock)
	}
}

func (w *world) seeAttachment(a *attachment) {
	a.known, a.seenAttached, a.seenFailure = true, a.at != 0, a.failure
}

func (w *world) listAttachments(lists map[fact.Kind][]any) {
	for _, a := range w.attached {
		switch {
		case a.existing:
			w.seeAttachment(a)
			lists[fact.VolumeAttachments] = append(lists[fact.VolumeAttachments], w.attachmentObject(a))
		case a.known && a.gone == 0:
			a.gone = w.clock
		}
	}
}

func (w *world) attachmentObject(a *attachment) *storagev1.VolumeAttachment {
	o := &storagev1.VolumeAttachment{ObjectMeta: w.meta(a.uid, "", a.uid, a.created)}
	o.Spec = storagev1.VolumeAttachmentSpec{Attacher: a.volume.source.driver, NodeName: a.node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &a.volume.name}}
	if a.failure != "" {
		o.Status.AttachError = &storagev1.VolumeError{Message: a.failure}
	}
	if a.at != 0 {
		o.Status.Attached = true
		o.ManagedFields = []metav1.ManagedFieldsEntry{{Subresource: "status", Time: ptr.To(apiTime(a.at))}}
	}
	return o
}
