package truth

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// wait is how sure it is that a pod waits for a volume.
type wait int

const (
	notAwaited   wait = iota
	maybeAwaited      // the pod or its claim is being deleted
	isAwaited
)

// awaited returns the volumes that pods wait for.
func (t *Truth) awaited() map[types.UID]wait {
	list := map[types.UID]wait{}
	for uid, l := range t.log.pods {
		pod := l.last().object
		if t.names[uid] == "" || !l.removed().IsZero() || harness.HasEnded(pod) || mainStarted(l) {
			continue
		}
		for i := range pod.Spec.Volumes {
			claim := t.presentClaim(pod, &pod.Spec.Volumes[i])
			if claim == nil {
				continue
			}
			sure := isAwaited
			if claim.DeletionTimestamp != nil || pod.DeletionTimestamp != nil {
				sure = maybeAwaited
			}
			for volume, life := range t.log.volumes {
				v := life.last().object
				if life.removed().IsZero() && v.Status.Phase == corev1.VolumeBound && v.Spec.ClaimRef != nil && v.Spec.ClaimRef.UID == claim.UID {
					list[volume] = max(list[volume], sure)
				}
			}
		}
	}
	return list
}

// mainStarted reports whether one of a pod's main containers has started.
func mainStarted(l *life[*corev1.Pod]) bool {
	return slices.ContainsFunc(l.last().object.Spec.Containers, func(c corev1.Container) bool {
		_, begun := useOf(l, c.Name)
		return begun
	})
}

// presentClaim returns the claim that a pod's volume names now, and nil if there is none.
func (t *Truth) presentClaim(pod *corev1.Pod, v *corev1.Volume) *corev1.PersistentVolumeClaim {
	var name string
	switch {
	case v.PersistentVolumeClaim != nil:
		name = v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		name = pod.Name + "-" + v.Name
	default:
		return nil
	}
	for _, l := range t.log.claims {
		c := l.last().object
		if c.Namespace == pod.Namespace && c.Name == name && l.removed().IsZero() && (v.Ephemeral == nil || metav1.IsControlledBy(c, pod)) {
			return c
		}
	}
	return nil
}

// setState sets the states that the volume may be in.
func (u *volumeUse) setState(awaited wait) {
	byPhase := func() []string {
		switch u.phase {
		case corev1.VolumeReleased:
			return []string{"released"}
		case corev1.VolumeFailed:
			return []string{"failed"}
		case corev1.VolumeBound:
			switch {
			case u.used:
				return []string{"idle"}
			case u.mayBeUsed:
				return []string{"idle", "never_mounted"}
			}
			return []string{"never_mounted"}
		}
		return []string{"available"}
	}
	if u.mounts.to > 0 {
		u.states = append(u.states, "mounted")
	}
	if u.mounts.from > 0 {
		return
	}
	if awaited != notAwaited {
		u.states = append(u.states, "pending")
	}
	if awaited != isAwaited {
		u.states = append(u.states, byPhase()...)
	}
}

// setIdleSince sets since when a volume is idle of which no use is known: since it was bound, or created.
func (u *volumeUse) setIdleSince(t *Truth, v *corev1.PersistentVolume, away Gaps) {
	created := v.CreationTimestamp.Time
	u.idleSince = span[time.Time]{created, created}
	for i := range t.bound {
		if s := &t.bound[i]; s.volume == v.UID && s.start.After(u.idleSince.to) {
			u.idleSince.to = s.start
		}
	}
	if u.phase == corev1.VolumeBound {
		u.idleSince.from = u.idleSince.to
	}
	if u.mayBeUsed || away.overlaps(created, time.Now()) {
		// A use may be unknown, or the condition Unused may say more than a tracker that was away.
		u.idleSince.to = time.Now().Add(time.Minute)
	}
	if u.mayBeUsed {
		u.idleSince.from = created // the use is known after all, and was that of a former claim
	}
	if u.mayBeUsed || away.losesSome(created, time.Now()) {
		if u.phase == corev1.VolumeBound && slices.Contains(u.states, "never_mounted") && !slices.Contains(u.states, "idle") {
			u.states = append(u.states, "idle") // the condition Unused may say that it was used meanwhile
		}
	}
}
