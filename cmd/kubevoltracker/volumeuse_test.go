package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	name, storageClass string
	phase              corev1.PersistentVolumePhase
	states             []string // one of them is right
	mounts             span[int]

	used      bool            // a use is known that has ended
	mayBeUsed bool            // a use has ended that perhaps nobody could know of
	last      span[time.Time] // the end of the last use
	users     []string        // namespace/name of the pods that may have been the last ones
	idleSince span[time.Time]

	namespace, claim, owner string // of the claim that has the volume, or had it when it was released
	hasClaim                bool
	anyOwner                bool // nobody need know the claim that had it
}

// span is the range in which a value has to be, both ends included.
type span[T any] struct{ from, to T }

// endSpan returns the moments that may be given for the end of a use: an API time as it is,
// and one that had to be observed when a watcher saw it.
func (g gaps) endSpan(end cell) (s span[time.Time]) {
	at, _ := end.moment()
	s = span[time.Time]{at, at}
	if !end.from.IsZero() {
		s = span[time.Time]{end.from, end.to}
	}
	if until := g.until(end.latest()); g.overlaps(at.Add(-time.Second), at.Add(2*time.Second)) && until.After(s.to) {
		s.to = until
	}
	return s
}

// someLost tells whether nobody can tell what happened at some moment of a span.
func (g gaps) someLost(from, to time.Time) bool {
	return slices.ContainsFunc(g, func(one gap) bool { return one.lossy && !one.from.After(to) && !one.to.Before(from) })
}

// volumeUses returns the truth about each volume that exists, by its name.
func (t *truth) volumeUses(away gaps) map[string]*volumeUse {
	uses := map[string]*volumeUse{}
	awaited := t.awaited()
	byVolume := map[types.UID][]string{} // keys of mounts
	for key, mount := range t.facts["mount"] {
		uid := types.UID(mount["volume_uid"].text)
		byVolume[uid] = append(byVolume[uid], key)
	}
	for uid := range t.facts["volume"] {
		l := t.log.volumes[types.UID(uid)]
		if !l.removed().IsZero() {
			continue
		}
		v := l.last().object
		u := &volumeUse{name: v.Name, storageClass: v.Spec.StorageClassName, phase: v.Status.Phase}
		u.tellClaim(t, v, away)
		running, sure := t.tellUses(u, byVolume[v.UID], away)
		u.mounts = span[int]{sure, running}
		u.tellState(awaited[v.UID])
		if !u.used {
			u.tellIdleSince(t, v, away)
		}
		uses[v.Name] = u
	}
	return uses
}

// tellClaim says whose the volume is, or was when it was released.
func (u *volumeUse) tellClaim(t *truth, v *corev1.PersistentVolume, away gaps) {
	ref := v.Spec.ClaimRef
	if ref == nil || ref.UID == "" {
		return
	}
	u.hasClaim, u.namespace, u.claim = true, ref.Namespace, ref.Name
	if l := t.log.claims[ref.UID]; l != nil {
		u.owner = l.last().object.Labels["owner"]
		claim := string(ref.UID)
		u.anyOwner = t.lost(scopeTable{from: "created_at", to: "deleted_at"}, claim, t.facts["claim"][claim], away)
	}
}

// tellUses says how often the volume is used now, and when and by whom it was used last.
// Of the uses that go on, only those count as sure that nobody can have missed.
func (t *truth) tellUses(u *volumeUse, mounts []string, away gaps) (running, sure int) {
	type past struct {
		end   span[time.Time]
		known bool
		pod   string
	}
	containers := map[string]bool{} // by pod and name: whether it is sure
	var ended []past
	for _, key := range mounts {
		row := t.facts["mount"][key]
		unknown := t.unknownUse(key, row, away)
		part := strings.Fields(key)
		if row["ended_at"] == absent {
			containers[part[0]+" "+part[1]] = !unknown
			continue
		}
		pod := t.log.pods[types.UID(part[0])].last().object
		ended = append(ended, past{away.endSpan(row["ended_at"]), !unknown, pod.Namespace + "/" + pod.Name})
	}
	for _, isSure := range containers {
		if running++; isSure {
			sure++
		}
	}
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
		if !p.end.to.Before(u.last.from) && !slices.Contains(u.users, p.pod) {
			u.users = append(u.users, p.pod)
		}
	}
	if u.idleSince = u.last; u.used && away.someLost(u.last.from, time.Now()) {
		u.idleSince.to = time.Now().Add(time.Minute) // by the condition Unused
	}
	return running, sure
}

// unknownUse tells whether nobody can know of a use that it was one of this volume: it came
// and went within a lossy gap, or its claim or its binding did.
func (t *truth) unknownUse(key string, mount map[string]cell, away gaps) bool {
	table := scopeTable{monthTable: monthTable{name: "mount"}, from: "started_at", to: "ended_at"}
	return t.lost(table, key, mount, away) || t.nameless(table, mount, "volume_uid", away)
}

// wait is how sure it is that a volume is awaited.
type wait int

const (
	notAwaited   wait = iota
	maybeAwaited      // the pod or its claim is about to go
	isAwaited
)

// awaited returns the volumes that pods await.
func (t *truth) awaited() map[types.UID]wait {
	list := map[types.UID]wait{}
	for uid, l := range t.log.pods {
		pod := l.last().object
		if t.names[uid] == "" || !l.removed().IsZero() || ended(pod) || mainStarted(l) {
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

// mainStarted tells whether one of a pod's main containers has started.
func mainStarted(l *life[*corev1.Pod]) bool {
	return slices.ContainsFunc(l.last().object.Spec.Containers, func(c corev1.Container) bool {
		_, begun := stayOf(l, c.Name)
		return begun
	})
}

// presentClaim returns the claim that a pod's volume names now; nil if there is none.
func (t *truth) presentClaim(pod *corev1.Pod, v *corev1.Volume) *corev1.PersistentVolumeClaim {
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

func (u *volumeUse) tellState(awaited wait) {
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

// tellIdleSince says since when a volume is idle of which no use is known: since it was
// bound, or created.
func (u *volumeUse) tellIdleSince(t *truth, v *corev1.PersistentVolume, away gaps) {
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
		// A use that perhaps nobody knows of; or the condition Unused says more than who was away.
		u.idleSince.to = time.Now().Add(time.Minute)
	}
	if u.mayBeUsed {
		u.idleSince.from = created // it is known after all, and was by a former claim
	}
	if u.mayBeUsed || away.someLost(created, time.Now()) {
		if u.phase == corev1.VolumeBound && slices.Contains(u.states, "never_mounted") && !slices.Contains(u.states, "idle") {
			u.states = append(u.states, "idle") // by the condition Unused, somebody used it meanwhile
		}
	}
}

// volumeSample is a series of a family of /metrics with a series a volume.
type volumeSample struct {
	labels map[string]string
	value  float64
}

var labelPair = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)

// volumeSamples picks the families with a series a volume out of a scrape: by family and
// volume. Two series of one volume in one family are an error.
func volumeSamples(metrics map[string]string) (map[string]map[string]volumeSample, error) {
	families := map[string]map[string]volumeSample{}
	for series, text := range metrics {
		family, labels, _ := strings.Cut(series, "{")
		if !strings.HasPrefix(family, "kubevoltracker_volume_") {
			continue
		}
		sample := volumeSample{labels: map[string]string{}}
		for _, pair := range labelPair.FindAllStringSubmatch(labels, -1) {
			sample.labels[pair[1]] = pair[2]
		}
		var err error
		if sample.value, err = strconv.ParseFloat(text, 64); err != nil {
			return nil, fmt.Errorf("%s: %w", series, err)
		}
		name := sample.labels["persistentvolume"]
		family = strings.TrimPrefix(family, "kubevoltracker_volume_")
		if families[family] == nil {
			families[family] = map[string]volumeSample{}
		}
		if _, twice := families[family][name]; twice {
			return nil, fmt.Errorf("volume %s has two series of volume_%s", name, family)
		}
		families[family][name] = sample
	}
	return families, nil
}

// compareUses compares what /metrics and the report of idle volumes say of each volume with
// the truth, and returns all that differs.
func (t *truth) compareUses(test testing.TB, p *tracker, away gaps) (summary string, wrong []string, err error) {
	test.Helper()
	uses := t.volumeUses(away)
	families, err := volumeSamples(p.metrics(test))
	scraped := time.Now()
	if err != nil {
		return "", nil, err
	}
	count := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		u := uses[name]
		count[u.states[0]]++
		for _, problem := range u.compareMetrics(families, scraped) {
			wrong = append(wrong, "metrics "+t.volumeUID(name)+": "+problem)
		}
	}
	for uid := range t.facts["volume"] {
		name := t.log.volumes[types.UID(uid)].last().object.Name
		for _, family := range slices.Sorted(maps.Keys(families)) {
			if _, shown := families[family][name]; shown && uses[name] == nil {
				wrong = append(wrong, fmt.Sprintf("metrics %s: there is a series of volume_%s, though the volume is gone", uid, family))
			}
		}
	}
	rows := map[string]map[string]any{}
	for _, row := range p.report(test, "idle") {
		rows[fmt.Sprint(row["volume"])] = row
	}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		for _, problem := range uses[name].compareReport(rows[name]) {
			wrong = append(wrong, "report idle "+t.volumeUID(name)+": "+problem)
		}
	}
	var states []string
	for _, state := range slices.Sorted(maps.Keys(count)) {
		states = append(states, fmt.Sprintf("%d %s", count[state], state))
	}
	return strings.Join(states, ", "), wrong, nil
}

// volumeUID returns the UID of the volume that has a name now.
func (t *truth) volumeUID(name string) string {
	for uid, l := range t.log.volumes {
		if l.last().object.Name == name && l.removed().IsZero() {
			return string(uid)
		}
	}
	return name
}

func (u *volumeUse) compareMetrics(families map[string]map[string]volumeSample, scraped time.Time) (problems []string) {
	differs := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	state, ok := families["state"][u.name]
	if !ok {
		return []string{"there is no volume_state"}
	}
	said := state.labels["state"]
	if !slices.Contains(u.states, said) {
		differs("volume_state is %s, want %s", said, strings.Join(u.states, " or "))
	}
	if n := int(families["mounts"][u.name].value); n < u.mounts.from || n > u.mounts.to {
		differs("volume_mounts is %d, want %s", n, rangeText(u.mounts.from, u.mounts.to))
	}
	info := families["info"][u.name]
	if u.hasClaim && !(state.labels["namespace"] == u.namespace && state.labels["persistentvolumeclaim"] == u.claim && (info.labels["owner"] == u.owner || u.anyOwner)) {
		differs("its claim is %s/%s, owned by %q, want %s/%s, owned by %q",
			state.labels["namespace"], state.labels["persistentvolumeclaim"], info.labels["owner"], u.namespace, u.claim, u.owner)
	}

	used := slices.Contains([]string{"mounted", "pending"}, u.states[0])
	last, ok := families["last_used_timestamp_seconds"][u.name]
	switch {
	case u.states[0] == "mounted" && len(u.states) == 1:
		if ok {
			differs("volume_last_used_timestamp_seconds is %s, want none while it is mounted", clock(secondsAt(last.value)))
		}
	case !ok && u.used:
		differs("volume_last_used_timestamp_seconds is missing, want %s", timeRange(u.last))
	case ok && !u.used && !u.mayBeUsed:
		differs("volume_last_used_timestamp_seconds is %s, want none: nobody has used it", clock(secondsAt(last.value)))
	case ok && !within(secondsAt(last.value), u.last):
		differs("volume_last_used_timestamp_seconds is %s, want %s", clock(secondsAt(last.value)), timeRange(u.last))
	}

	idle := families["idle_seconds"][u.name].value
	since := scraped.Add(-time.Duration(idle * float64(time.Second)))
	switch {
	case used && len(u.states) == 1:
		if idle != 0 {
			differs("volume_idle_seconds is %v, want 0 while it is %s", idle, u.states[0])
		}
	case used || len(u.states) > 1 && idle == 0:
	case since.Before(u.idleSince.from.Add(-2*time.Second)) || since.Add(-2*time.Second).After(u.idleSince.to):
		differs("volume_idle_seconds is %v, which is since %s, want since %s", idle, clock(since), timeRange(u.idleSince))
	}
	return problems
}

// compareReport compares the volume's row of the report of idle volumes, which are those that
// are bound or released and nobody uses. Whether one that is awaited is among them is open.
func (u *volumeUse) compareReport(row map[string]any) (problems []string) {
	differs := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	listed := u.phase == corev1.VolumeBound || u.phase == corev1.VolumeReleased
	switch {
	case row == nil && listed && u.mounts.to == 0 && !slices.Contains(u.states, "pending"):
		return []string{"it is not listed"}
	case row == nil:
		return nil
	case !listed || u.mounts.from > 0:
		return []string{fmt.Sprintf("it is listed, though it is %s and has %d mounts", u.phase, u.mounts.from)}
	}
	if said := fmt.Sprint(row["state"]); !slices.Contains(u.states, said) && !slices.Contains(u.states, "pending") {
		differs("state is %s, want %s", said, strings.Join(u.states, " or "))
	}
	last, known := reportTime(row["last_used_at"])
	pod := fmt.Sprintf("%v/%v", row["last_namespace"], row["last_pod"])
	switch {
	case !known && u.used:
		differs("last_used_at is missing, want %s", timeRange(u.last))
	case known && !u.used && !u.mayBeUsed:
		differs("last_used_at is %s, want none: nobody has used it", clock(last))
	case known && !within(last, u.last):
		differs("last_used_at is %s, want %s", clock(last), timeRange(u.last))
	case known && !slices.Contains(u.users, pod):
		differs("the last user is %s, want %s", pod, strings.Join(u.users, " or "))
	}
	if since, _ := reportTime(row["idle_since"]); !slices.Contains(u.states, "pending") && !within(since, u.idleSince) {
		differs("idle_since is %s, want %s", clock(since), timeRange(u.idleSince))
	}
	return problems
}

// within tells whether a moment, of which a report or a metric may have cut off what is less
// than a second, is in a span.
func within(at time.Time, s span[time.Time]) bool {
	return !at.Before(s.from.Add(-time.Second)) && !at.After(s.to.Add(time.Millisecond))
}

func reportTime(v any) (at time.Time, ok bool) {
	text, _ := v.(string)
	at, err := time.Parse(time.RFC3339Nano, text)
	return at, err == nil
}

func secondsAt(v float64) time.Time { return time.UnixMicro(int64(v * 1e6)) }

func clock(at time.Time) string { return at.UTC().Format("15:04:05.000") }

func timeRange(s span[time.Time]) string { return rangeText(clock(s.from), clock(s.to)) }

func rangeText[T comparable](from, to T) string {
	if from == to {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%v … %v", from, to)
}
