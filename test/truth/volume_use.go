package truth

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// volumeUse is the truth about one PersistentVolume that exists: its present state, and
// who used it last until when. It follows from the audit log by these rules:
//
//   - A pod uses the volume to which its claim was bound when the pod's first container
//     started. Nothing that happens to the claim or to the volume's claimRef afterwards
//     changes that.
//   - A volume is mounted while such a container has begun its use and not ended it.
//     Otherwise it is pending while a pod awaits it: one of which no main container has
//     started yet, and whose claim is bound to the volume now. Otherwise the volume's phase
//     decides, and for a bound volume whether any container has ever used it.
//   - Its last use is the end of the last of these uses. A pod that never started has none.
type volumeUse struct {
	name   string
	phase  corev1.PersistentVolumePhase
	states []string // any of them is right
	mounts span[int]

	used      bool            // by a use that has ended, and that must be known
	mayBeUsed bool            // by a use that has ended, and that need not be known
	last      span[time.Time] // end of the last use
	users     []string        // namespace/name of the pods that may have been the last ones
	idleSince span[time.Time]

	namespace, claim, owner string // of the claim that has the volume, or had it when it was released
	hasClaim                bool
	anyOwner                bool // the claim that had it need not be known
}

// span is a range in which a value has to be, both ends included.
type span[T any] struct{ from, to T }

// volumeUses returns the truth about each volume that exists, by its name.
func (t *Truth) volumeUses(away Gaps) map[string]*volumeUse {
	uses := map[string]*volumeUse{}
	awaited := t.awaited()
	byVolume := map[types.UID][]string{} // keys of mounts
	for key, mount := range t.Facts["mount"] {
		uid := types.UID(mount["volume_uid"].text)
		byVolume[uid] = append(byVolume[uid], key)
	}
	for uid := range t.Facts["volume"] {
		l := t.log.volumes[types.UID(uid)]
		if !l.removed().IsZero() {
			continue
		}
		v := l.last().object
		u := &volumeUse{name: v.Name, phase: v.Status.Phase}
		u.setClaim(t, v, away)
		running, sure := u.setUses(t, byVolume[v.UID], away)
		u.mounts = span[int]{sure, running}
		u.setState(awaited[v.UID])
		if !u.used {
			u.setIdleSince(t, v, away)
		}
		uses[v.Name] = u
	}
	return uses
}

// setClaim sets the claim that has the volume, or had it when the volume was released.
func (u *volumeUse) setClaim(t *Truth, v *corev1.PersistentVolume, away Gaps) {
	ref := v.Spec.ClaimRef
	if ref == nil || ref.UID == "" {
		return
	}
	u.hasClaim, u.namespace, u.claim = true, ref.Namespace, ref.Name
	if l := t.log.claims[ref.UID]; l != nil {
		u.owner = l.last().object.Labels["owner"]
		claim := string(ref.UID)
		u.anyOwner = t.lost(scopeTable{from: "created_at", to: "deleted_at"}, claim, t.Facts["claim"][claim], away)
	}
}

// pastUse is a use that has ended.
type pastUse struct {
	end   span[time.Time]
	known bool     // nobody can have missed it
	pods  []string // what the report may call its pod: namespace/name
}

// setUses sets the last use, and returns how many containers use the volume now. Of those, only the ones that nobody
// can have missed are sure.
func (u *volumeUse) setUses(t *Truth, mounts []string, away Gaps) (running, sure int) {
	containers := map[string]bool{} // by pod and name; true if it is sure
	var ended []pastUse
	for _, key := range mounts {
		row := t.Facts["mount"][key]
		unknown := t.unknownUse(key, row, away)
		part := strings.Fields(key)
		if row["ended_at"] == absent {
			containers[part[0]+" "+part[1]] = !unknown
			continue
		}
		ended = append(ended, pastUse{away.endSpan(row["ended_at"]), !unknown, t.podNames(part[0], away)})
	}
	for _, isSure := range containers {
		if running++; isSure {
			sure++
		}
	}
	u.setLastUse(ended)
	if u.idleSince = u.last; u.used && away.losesSome(u.last.from, time.Now()) {
		u.idleSince.to = time.Now().Add(time.Minute) // the condition Unused may say more
	}
	return running, sure
}

// setLastUse sets the end of the last of the uses that have ended, and the pods that may have been the last users.
func (u *volumeUse) setLastUse(ended []pastUse) {
	for _, p := range ended {
		u.used, u.mayBeUsed = u.used || p.known, u.mayBeUsed || !p.known
		if p.known && p.end.from.After(u.last.from) {
			u.last.from = p.end.from
		}
		if p.end.to.After(u.last.to) {
			u.last.to = p.end.to
		}
	}
	for _, p := range ended {
		if !p.end.to.Before(u.last.from) {
			u.users = append(u.users, p.pods...)
		}
	}
}

// podNames returns what the report may call a pod: its namespace and name. The name may be missing if the pod came and
// went within a lossy gap: of a batch whose writer was killed, the mount may have been written and the pod not, and the
// journal with the rest was lost.
func (t *Truth) podNames(uid string, away Gaps) []string {
	pod := t.log.pods[types.UID(uid)].last().object
	names := []string{pod.Namespace + "/" + pod.Name}
	if t.lost(scopeTable{from: "created_at", to: "deleted_at"}, uid, t.Facts["pod"][uid], away) {
		names = append(names, pod.Namespace+"/")
	}
	return names
}

// unknownUse reports whether nobody can know that a use was one of this volume: the use, its claim or its binding
// came and went within a lossy gap.
func (t *Truth) unknownUse(key string, mount map[string]cell, away Gaps) bool {
	table := scopeTable{Table: Table{Name: "mount"}, from: "started_at", to: "ended_at"}
	return t.lost(table, key, mount, away) || t.nameless(table, mount, "volume_uid", away)
}
