package truth

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// boundSpan is the time during which a claim and a volume are bound to each other.
type boundSpan struct {
	claim, volume types.UID
	ref           corev1.ObjectReference // names the claim
	number        uint64                 // the resource version at its start
	start         time.Time
	end           cell
}

// boundSpans follows a volume's phase and claimRef.
func boundSpans(l *life[*corev1.PersistentVolume]) (list []boundSpan) {
	var open *boundSpan
	for _, v := range l.versions {
		holder := types.UID("")
		if ref := v.object.Spec.ClaimRef; ref != nil && v.object.Status.Phase == corev1.VolumeBound {
			holder = ref.UID
		}
		if open != nil && open.claim != holder {
			open.end = l.observed(v.at)
			if v.object.Status.Phase == corev1.VolumeReleased {
				open.end = exactly(v.object.Status.LastPhaseTransitionTime.Time)
			}
			open = nil
		}
		if open == nil && holder != "" {
			list = append(list, boundSpan{
				claim: holder, volume: v.object.UID, ref: *v.object.Spec.ClaimRef, number: v.number,
				start: v.object.Status.LastPhaseTransitionTime.Time, end: absent,
			})
			open = &list[len(list)-1]
		}
	}
	if open != nil && !l.removed().IsZero() {
		open.end = l.observed(l.removed())
	}
	return list
}

// promised returns the volume that a claim names in its spec, if that volume's claimRef has had the claim's UID. The
// claim has that volume (rule 2.5), even if the volume was given away before the two were bound.
func (t *Truth) promised(claim *corev1.PersistentVolumeClaim) (volume types.UID) {
	for uid, l := range t.log.volumes {
		named := l.last().object.Name == claim.Spec.VolumeName
		if named && slices.ContainsFunc(l.versions, func(v revision[*corev1.PersistentVolume]) bool {
			return v.object.Spec.ClaimRef != nil && v.object.Spec.ClaimRef.UID == claim.UID
		}) {
			volume = uid
		}
	}
	return volume
}

// boundTo returns how a claim was bound at a resource version, and nil if it had not been bound by then.
func (t *Truth) boundTo(claim types.UID, number uint64) (latest *boundSpan) {
	for i := range t.bound {
		if s := &t.bound[i]; s.claim == claim && s.number <= number && (latest == nil || s.number > latest.number) {
			latest = s
		}
	}
	return latest
}
