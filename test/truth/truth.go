package truth

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Truth is what the catalog has to say of the objects that belong to a test.
type Truth struct {
	Facts facts // the wanted rows

	log   *Log
	names map[types.UID]string // for messages
	bound []boundSpan
}

// Of computes the truth about the objects that belong to a test.
func Of(a *Log, belongs func(metav1.Object) bool) *Truth {
	t := &Truth{log: a, Facts: facts{}, names: map[types.UID]string{}}
	for uid, life := range a.volumes {
		if !slices.ContainsFunc(life.versions, func(v revision[*corev1.PersistentVolume]) bool { return belongs(v.object) }) {
			continue
		}
		t.names[uid] = "volume " + life.last().object.Name
		for _, v := range slices.Backward(life.versions) {
			if ref := v.object.Spec.ClaimRef; ref != nil {
				t.names[uid] += " of " + ref.Namespace + "/" + ref.Name
				break
			}
		}
		t.addVolume(life)
	}
	for uid, life := range a.claims {
		if o := life.last().object; belongs(o) {
			t.names[uid] = "claim " + o.Namespace + "/" + o.Name
			t.addClaim(life)
		}
	}
	for uid, life := range a.pods {
		if o := life.last().object; belongs(o) && slices.ContainsFunc(o.Spec.Volumes, isStorage) {
			t.names[uid] = "pod " + o.Namespace + "/" + o.Name
			t.addPod(life)
		}
	}
	for uid, life := range a.namespaces {
		if o := life.last().object; belongs(o) {
			t.names[uid] = "namespace " + o.Name
			t.Facts.put("namespace", []any{uid}, map[string]cell{
				"name": text(o.Name), "created_at": exactly(o.CreationTimestamp.Time), "deleted_at": life.observed(life.removed()),
			})
		}
	}
	for uid, life := range a.attachments {
		t.addAttachment(uid, life)
	}
	return t
}

// addAttachment adds the row of an attachment of a volume that belongs to the test.
func (t *Truth) addAttachment(uid types.UID, l *life[*storagev1.VolumeAttachment]) {
	name := l.first().object.Spec.Source.PersistentVolumeName
	if name == nil {
		return
	}
	// The volume of that name that existed when it was attached is the youngest that was created before.
	var volume *life[*corev1.PersistentVolume]
	for _, v := range t.log.volumes {
		if v.last().object.Name == *name && v.first().number < l.first().number && (volume == nil || v.first().number > volume.first().number) {
			volume = v
		}
	}
	if volume == nil || t.names[volume.last().object.UID] == "" {
		return
	}
	attached := absent
	for _, v := range slices.Backward(l.versions) {
		if v.object.Status.Attached {
			attached = l.observed(v.at)
		}
	}
	t.names[uid] = "attachment of " + *name
	t.Facts.put("attachment", []any{uid}, map[string]cell{
		"volume_uid": text(volume.last().object.UID), "node": text(l.first().object.Spec.NodeName),
		"attached_at": attached, "detached_at": l.observed(l.removed()),
	})
}

// addVolume adds the rows of a volume, of its bindings, and of its changes of phase and size.
func (t *Truth) addVolume(l *life[*corev1.PersistentVolume]) {
	o := l.last().object
	claim := types.UID("")
	if o.Spec.ClaimRef != nil {
		claim = o.Spec.ClaimRef.UID
	}
	t.Facts.put("volume", []any{o.UID}, map[string]cell{
		"name": text(o.Name), "phase": text(o.Status.Phase), "phase_changed_at": exactly(o.Status.LastPhaseTransitionTime.Time),
		"claim_uid": text(claim), "capacity_bytes": text(o.Spec.Capacity.Storage().Value()), "source_kind": text(kindOfVolume(o)),
		"created_at": exactly(o.CreationTimestamp.Time), "deleted_at": l.observed(l.removed()),
	})
	had := boundSpans(l)
	t.bound = append(t.bound, had...)
	times := map[types.UID]int{}
	for _, s := range had {
		ordinal := times[s.claim]
		times[s.claim]++
		t.Facts.put("binding", []any{s.claim, s.volume, ordinal}, map[string]cell{
			"namespace": text(s.ref.Namespace), "claim_name": text(s.ref.Name), "bound_at": exactly(s.start), "released_at": s.end, "released_not_before": s.end,
		})
	}
	for i, v := range l.versions[1:] {
		before := l.versions[i].object
		if v.object.Status.Phase != before.Status.Phase {
			t.addPhase(o.UID, string(v.object.Status.Phase), exactly(v.object.Status.LastPhaseTransitionTime.Time))
		}
		t.addSize(o.UID, before.Spec.Capacity.Storage(), v.object.Spec.Capacity.Storage(), l.observed(v.at))
	}
}

// addClaim adds the rows of a claim, and of its changes of phase and size.
func (t *Truth) addClaim(l *life[*corev1.PersistentVolumeClaim]) {
	o := l.last().object
	row := map[string]cell{
		"namespace": text(o.Namespace), "name": text(o.Name), "phase": text(o.Status.Phase), "volume_name": text(o.Spec.VolumeName),
		"requested_bytes": text(o.Spec.Resources.Requests.Storage().Value()), "capacity_bytes": text(o.Status.Capacity.Storage().Value()),
		"created_at": exactly(o.CreationTimestamp.Time), "deleted_at": l.observed(l.removed()), "volume_uid": text(""), "bound_at": absent,
		"ephemeral": text(t.isEphemeral(o)),
	}
	if set := o.Labels["app"]; set != "" { // in these tests, only StatefulSets label their claims
		row["workload_kind"], row["workload_name"] = text("StatefulSet"), text(set)
	}
	if s := t.boundTo(o.UID, math.MaxUint64); s != nil { // the volume may become Bound after the claim was removed
		row["volume_uid"], row["bound_at"] = text(s.volume), exactly(s.start)
	}
	if v := t.promised(o); v != "" && row["volume_uid"] == text("") {
		row["volume_uid"] = text(v)
	}
	t.Facts.put("claim", []any{o.UID}, row)
	for i, v := range l.versions[1:] {
		before := l.versions[i].object
		if v.object.Status.Phase != before.Status.Phase {
			at := l.observed(v.at)
			if s := t.boundTo(o.UID, v.number); s != nil && v.object.Status.Phase == corev1.ClaimBound {
				at = exactly(s.start)
			}
			t.addPhase(o.UID, string(v.object.Status.Phase), at)
		}
		if v.object.Status.Phase != corev1.ClaimLost { // the controller clears its capacity, which is no change of size
			t.addSize(o.UID, before.Status.Capacity.Storage(), v.object.Status.Capacity.Storage(), l.observed(v.at))
		}
	}
}

// isEphemeral reports whether a claim was created for a generic ephemeral volume: its controller is a pod that has
// such a volume. A StatefulSet makes pods the controllers of claims, too, which are to be deleted with them.
func (t *Truth) isEphemeral(claim *corev1.PersistentVolumeClaim) bool {
	owner := metav1.GetControllerOf(claim)
	if owner == nil || t.log.pods[owner.UID] == nil {
		return false
	}
	pod := t.log.pods[owner.UID].last().object
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Ephemeral != nil && pod.Name+"-"+v.Name == claim.Name
	})
}

// addPhase adds the change by which an object came into a phase. The key numbers the changes to one phase.
func (t *Truth) addPhase(uid types.UID, phase string, at cell) {
	n := 1
	for t.Facts.has("phase", uid, phase, n) {
		n++
	}
	t.Facts.put("phase", []any{uid, phase, n}, map[string]cell{"at": at})
}

// addSize adds a change of size, if there is one.
func (t *Truth) addSize(uid types.UID, before, now *resource.Quantity, at cell) {
	if !before.IsZero() && before.Cmp(*now) != 0 {
		t.Facts.put("size", []any{uid, before.String() + " → " + now.String()}, map[string]cell{"at": at})
	}
}

// kindOfVolume returns the kind of a volume's storage.
func kindOfVolume(v *corev1.PersistentVolume) string {
	switch {
	case v.Spec.CSI != nil:
		return "csi"
	case v.Spec.NFS != nil:
		return "nfs"
	case v.Spec.ISCSI != nil:
		return "iscsi"
	case v.Spec.HostPath != nil:
		return "hostPath"
	}
	return "?"
}
