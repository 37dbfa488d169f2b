package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What really happened, by the API server's audit log: every version of every
// object that the catalog tells of, in order. From that follows, by code that
// shares nothing with the inventory, what the catalog has to say.

// auditLog reads the audit log, as it grows.
type auditLog struct {
	file *os.File
	rest []byte // the beginning of a line whose end is not there yet

	namespaces  lives[corev1.Namespace, *corev1.Namespace]
	pods        lives[corev1.Pod, *corev1.Pod]
	claims      lives[corev1.PersistentVolumeClaim, *corev1.PersistentVolumeClaim]
	volumes     lives[corev1.PersistentVolume, *corev1.PersistentVolume]
	attachments lives[storagev1.VolumeAttachment, *storagev1.VolumeAttachment]
}

func openAuditLog(path string) (*auditLog, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &auditLog{
		file:        file,
		namespaces:  lives[corev1.Namespace, *corev1.Namespace]{},
		pods:        lives[corev1.Pod, *corev1.Pod]{},
		claims:      lives[corev1.PersistentVolumeClaim, *corev1.PersistentVolumeClaim]{},
		volumes:     lives[corev1.PersistentVolume, *corev1.PersistentVolume]{},
		attachments: lives[storagev1.VolumeAttachment, *storagev1.VolumeAttachment]{},
	}, nil
}

// auditEvent is a line of the log: a request that was answered.
type auditEvent struct {
	Verb                     string
	RequestReceivedTimestamp metav1.MicroTime
	StageTimestamp           metav1.MicroTime // when it was answered
	ObjectRef                struct{ Resource, Subresource, Namespace, Name string }
	ResponseStatus           struct{ Code int }
	ResponseObject           json.RawMessage
}

func (e *auditEvent) at() time.Time { return e.RequestReceivedTimestamp.Time }

// read takes in what was written since it was last called.
func (a *auditLog) read() error {
	lines := bufio.NewReader(a.file)
	for {
		line, err := lines.ReadBytes('\n')
		a.rest = append(a.rest, line...)
		if errors.Is(err, io.EOF) {
			if again, err := a.next(); err != nil || !again {
				return err
			}
			lines = bufio.NewReader(a.file)
			continue
		}
		if err != nil {
			return err
		}
		var e auditEvent
		if err := json.Unmarshal(a.rest, &e); err != nil {
			return fmt.Errorf("%w in %s", err, a.rest)
		}
		a.rest = a.rest[:0]
		if err := a.take(&e); err != nil {
			return err
		}
	}
}

// next goes on with the next file, if the API server has begun one: it does every
// hundred megabytes, and gives the old one another name.
func (a *auditLog) next() (again bool, err error) {
	present, missing := os.Stat(a.file.Name()) // missing while it is about to begin one
	ours, err := a.file.Stat()
	if err != nil || missing != nil || os.SameFile(ours, present) {
		return false, err
	}
	if n, err := a.file.Seek(0, io.SeekCurrent); err != nil || n < ours.Size() {
		return true, err // something came just before
	}
	_ = a.file.Close()
	a.file, err = os.Open(a.file.Name())
	return err == nil, err
}

func (a *auditLog) take(e *auditEvent) error {
	if e.ResponseStatus.Code >= 300 {
		return nil
	}
	switch e.ObjectRef.Resource {
	case "namespaces":
		return a.namespaces.take(e)
	case "pods":
		return a.pods.take(e)
	case "persistentvolumeclaims":
		return a.claims.take(e)
	case "persistentvolumes":
		return a.volumes.take(e)
	case "volumeattachments":
		return a.attachments.take(e)
	}
	return nil
}

// lives are those of the objects of a kind, by UID.
type lives[T any, P apiObject[T]] map[types.UID]*life[P]

type apiObject[T any] interface {
	*T
	metav1.Object
}

// life is that of one object.
type life[P metav1.Object] struct {
	versions []revision[P] // by resourceVersion
	asked    time.Time     // when its deletion was last asked for

	answered map[time.Time]time.Time // by when the request came; it was done in between
}

// note takes down when a request was answered.
func (l *life[P]) note(e *auditEvent) {
	if l.answered == nil {
		l.answered = map[time.Time]time.Time{}
	}
	l.answered[e.at()] = e.StageTimestamp.Time
}

// observed is the moment that a request changed the object, which can only be seen.
func (l *life[P]) observed(at time.Time) cell {
	c := observed(at)
	if answered := l.answered[at]; answered.After(at) {
		c.to = c.to.Add(answered.Sub(at))
	}
	return c
}

// revision is an object from a write until the next.
type revision[P metav1.Object] struct {
	at     time.Time // when the request came
	number uint64    // the resourceVersion: one order for all kinds
	object P

	// unstored: the update made the object go, because a deletion without grace was under
	// way. Its answer is what would have been written, and nobody has seen that.
	unstored bool
}

func (l lives[T, P]) take(e *auditEvent) error {
	if e.Verb == "deletecollection" { // answers with the list as it was before
		var list struct {
			Items []metav1.PartialObjectMetadata
		}
		if err := json.Unmarshal(e.ResponseObject, &list); err != nil {
			return err
		}
		for i := range list.Items {
			if life := l[list.Items[i].UID]; life != nil {
				life.asked = e.at()
				life.note(e)
			}
		}
		return nil
	}
	var answer metav1.PartialObjectMetadata
	if err := json.Unmarshal(e.ResponseObject, &answer); err != nil {
		return err
	}
	if answer.UID == "" || answer.ResourceVersion == "" { // answers that it is a success, or what would be
		if e.Verb == "delete" || e.ObjectRef.Subresource == "eviction" {
			l.ask(e)
		}
		return nil
	}
	object := P(new(T))
	if err := json.Unmarshal(e.ResponseObject, object); err != nil {
		return fmt.Errorf("%s %s %s/%s: %w", e.Verb, e.ObjectRef.Resource, e.ObjectRef.Namespace, e.ObjectRef.Name, err)
	}
	if answer.ResourceVersion == "" && l[answer.UID] != nil { // it was gone before it could be marked
		l[answer.UID].asked = e.at()
		l[answer.UID].note(e)
		answer.ResourceVersion = strconv.FormatUint(l[answer.UID].last().number, 10)
	}
	number, err := strconv.ParseUint(answer.ResourceVersion, 10, 64)
	if err != nil {
		return fmt.Errorf("%s %s %s/%s: %w in %s", e.Verb, e.ObjectRef.Resource, e.ObjectRef.Namespace, e.ObjectRef.Name, err, e.ResponseObject)
	}
	known := l[answer.UID]
	if known == nil {
		known = &life[P]{}
		l[answer.UID] = known
	}
	if known.note(e); e.Verb == "delete" {
		known.asked = e.at()
	}
	grace := object.GetDeletionGracePeriodSeconds()
	unstored := (e.Verb == "patch" || e.Verb == "update") && object.GetDeletionTimestamp() != nil && !isHeld(object) && grace != nil && *grace == 0
	known.versions = append(known.versions, revision[P]{e.at(), number, object, unstored})
	// Requests end, and are logged, in another order than they write.
	slices.SortStableFunc(known.versions, func(a, b revision[P]) int { return cmp.Compare(a.number, b.number) })
	known.forgetUnstored()
	return nil
}

// forgetUnstored gives a pod's versions that nobody has seen the status of the one before.
func (l *life[P]) forgetUnstored() {
	for i, v := range l.versions {
		if pod, ok := any(v.object).(*corev1.Pod); ok && v.unstored && i > 0 {
			pod.Status = *any(l.versions[i-1].object).(*corev1.Pod).Status.DeepCopy()
		}
	}
}

// ask notes that the deletion of whatever now has a name was asked for.
func (l lives[T, P]) ask(e *auditEvent) {
	for _, life := range l {
		if o := life.last().object; o.GetNamespace() == e.ObjectRef.Namespace && o.GetName() == e.ObjectRef.Name && life.removed().IsZero() {
			life.asked = e.at()
			life.note(e)
		}
	}
}

func (l *life[P]) first() revision[P] { return l.versions[0] }
func (l *life[P]) last() revision[P]  { return l.versions[len(l.versions)-1] }

// removed returns when the request came that made an object go; zero if it is
// there. That is the one that took the last finalizer off an object that was to
// be deleted, or that let its time of grace end; its answer need not show the
// object's last version. Else the object went without being marked.
func (l *life[P]) removed() time.Time {
	for _, v := range l.versions {
		if grace := v.object.GetDeletionGracePeriodSeconds(); v.object.GetDeletionTimestamp() != nil &&
			!isHeld(v.object) && (grace == nil || *grace == 0) {
			return v.at
		}
	}
	if last := l.last(); last.object.GetDeletionTimestamp() == nil && !isHeld(last.object) && !l.asked.Before(last.at) && !graceful(last.object) {
		return l.asked
	}
	return time.Time{}
}

// isHeld tells whether there is a finalizer; those of a namespace are of another
// sort.
func isHeld(o metav1.Object) bool {
	namespace, ok := o.(*corev1.Namespace)
	return len(o.GetFinalizers()) > 0 || (ok && len(namespace.Spec.Finalizers) > 0)
}

// graceful tells whether a deletion waits for a kubelet: it does for a pod that
// has one and has not ended.
func graceful(o metav1.Object) bool {
	pod, ok := o.(*corev1.Pod)
	return ok && pod.Spec.NodeName != "" && !ended(pod)
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// history tells the versions of an object, a line each, for who has to find out why the
// catalog says something else of it.
func (a *auditLog) history(uid string) string {
	var lines strings.Builder
	id := types.UID(strings.TrimSuffix(uid, ":"))
	line := func(at time.Time, number uint64, o metav1.Object, more ...any) {
		fmt.Fprintf(&lines, "\n    %s %d", at.Format("15:04:05.000"), number)
		if deleting := o.GetDeletionTimestamp(); deleting != nil {
			fmt.Fprintf(&lines, " deleting %s", deleting.Format(time.TimeOnly))
			if grace := o.GetDeletionGracePeriodSeconds(); grace != nil {
				fmt.Fprintf(&lines, " grace %d", *grace)
			}
		}
		fmt.Fprintln(&lines, append([]any{" ", o.GetName(), o.GetFinalizers()}, more...)...)
	}
	if l := a.pods[id]; l != nil {
		for _, v := range l.versions {
			line(v.at, v.number, v.object, v.object.Status.Phase)
			for _, s := range v.object.Status.ContainerStatuses {
				fmt.Fprintf(&lines, "      %s %s", s.Name, &s.State)
			}
		}
	}
	if l := a.claims[id]; l != nil {
		for _, v := range l.versions {
			line(v.at, v.number, v.object, v.object.Status.Phase, v.object.Spec.VolumeName, unusedOf(v.object))
		}
	}
	if l := a.volumes[id]; l != nil {
		for _, v := range l.versions {
			line(v.at, v.number, v.object, v.object.Status.Phase, v.object.Spec.ClaimRef, v.object.Status.LastPhaseTransitionTime)
		}
	}
	if l := a.attachments[id]; l != nil {
		for _, v := range l.versions {
			line(v.at, v.number, v.object, v.object.Status.Attached)
		}
	}
	return lines.String()
}

// unusedOf is what the API says by the condition Unused.
func unusedOf(claim *corev1.PersistentVolumeClaim) string {
	for _, c := range claim.Status.Conditions {
		if c.Type == "Unused" {
			return fmt.Sprintf("Unused %s since %s", c.Status, c.LastTransitionTime.UTC().Format(time.TimeOnly))
		}
	}
	return ""
}

// relapses is how often a pod that had ended did not any more: kwok does that now and then
// with one that has its predecessor's name, when it is late to write how that ended.
func (a *auditLog) relapses(pod string) (n int) {
	if l := a.pods[types.UID(pod)]; l != nil {
		for i, v := range l.versions[1:] {
			if ended(l.versions[i].object) && !ended(v.object) {
				n++
			}
		}
	}
	return n
}

// stretch is a claim and a volume bound to each other.
type stretch struct {
	claim, volume types.UID
	number        uint64 // the resourceVersion from which on
	start         time.Time
	end           cell
}

// stretches follows a volume's phase and claimRef.
func stretches(l *life[*corev1.PersistentVolume]) (list []stretch) {
	var open *stretch
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
			list = append(list, stretch{
				claim: holder, volume: v.object.UID, number: v.number, start: v.object.Status.LastPhaseTransitionTime.Time, end: absent,
			})
			open = &list[len(list)-1]
		}
	}
	if open != nil && !l.removed().IsZero() {
		open.end = l.observed(l.removed())
	}
	return list
}

// stay is a container's use of what it mounts.
type stay struct {
	number uint64 // the resourceVersion that first told of its start
	start  time.Time
	end    cell
	exact  cell // whether the end is known exactly; absent while there is none
}

// stayOf returns the use that a container made of its volumes, if it has begun.
func stayOf(l *life[*corev1.Pod], name string) (r stay, begun bool) {
	for _, v := range l.versions {
		s := statusOf(v.object, name)
		if s == nil {
			continue
		}
		for _, started := range startsOf(s) {
			if r.start.IsZero() {
				r.number, r.start = v.number, started
			}
			if started.Before(r.start) {
				r.start = started
			}
		}
	}
	if r.start.IsZero() {
		return stay{}, false
	}
	// A stage of kwok may date a start before the pod was made, as a node's clock that is behind does.
	if created := l.last().object.CreationTimestamp.Time; r.start.Before(created) {
		r.start = created
	}
	r.end, r.exact = endOf(l, name), absent
	if r.end != absent {
		r.exact = text(1)
	}
	return r, true
}

// unreported tells whether nobody can know exactly when a use ended: no kubelet has said so, and
// that the pod was deleted proves nothing: a kubelet that is there says when a container ended
// before it lets the pod go.
func unreported(end cell) bool { return !end.from.IsZero() }

func startsOf(s *corev1.ContainerStatus) (list []time.Time) {
	if s.State.Running != nil {
		list = append(list, s.State.Running.StartedAt.Time)
	}
	for _, state := range []corev1.ContainerState{s.State, s.LastTerminationState} {
		if state.Terminated != nil {
			list = append(list, state.Terminated.StartedAt.Time)
		}
	}
	return list
}

// endOf returns when a container that has started ended for good: as it was told,
// or when its pod was seen to have ended without a word of it.
func endOf(l *life[*corev1.Pod], name string) cell {
	pod := l.last().object
	s := statusOf(pod, name)
	told := s.State.Terminated
	if s.State.Waiting != nil {
		told = s.LastTerminationState.Terminated
	}
	over := firstEnded(l)
	switch {
	case told != nil && (!over.IsZero() || pod.DeletionTimestamp != nil || !restarts(pod, name, told.ExitCode)):
		return exactly(told.FinishedAt.Time)
	case told == nil && !over.IsZero():
		return l.observed(over)
	}
	return absent
}

// firstEnded returns when the request came that made a pod be over; zero if it is
// not.
func firstEnded(l *life[*corev1.Pod]) time.Time {
	for _, v := range l.versions {
		if ended(v.object) {
			return v.at
		}
	}
	return l.removed()
}

// restarts tells whether a kubelet starts a container again that has ended so.
func restarts(pod *corev1.Pod, name string, exitCode int32) bool {
	named := func(c corev1.Container) bool { return c.Name == name }
	if i := slices.IndexFunc(pod.Spec.InitContainers, named); i >= 0 {
		if sidecar := pod.Spec.InitContainers[i].RestartPolicy; sidecar != nil && *sidecar == corev1.ContainerRestartPolicyAlways {
			return true
		}
		return exitCode != 0 && pod.Spec.RestartPolicy != corev1.RestartPolicyNever
	}
	if slices.ContainsFunc(pod.Spec.Containers, named) {
		return pod.Spec.RestartPolicy == corev1.RestartPolicyAlways || (pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && exitCode != 0)
	}
	return false // an ephemeral container
}

func statusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{
		pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses,
	} {
		for i := range list {
			if list[i].Name == container {
				return &list[i]
			}
		}
	}
	return nil
}

// truth is what the catalog has to say.
type truth struct {
	log   *auditLog
	facts facts
	names map[types.UID]string
	bound []stretch
}

// truthOf computes the truth about the objects that belong to the test.
func truthOf(a *auditLog, belongs func(metav1.Object) bool) *truth {
	t := &truth{log: a, facts: facts{}, names: map[types.UID]string{}}
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
		t.tellVolume(life)
	}
	for uid, life := range a.claims {
		if o := life.last().object; belongs(o) {
			t.names[uid] = "claim " + o.Namespace + "/" + o.Name
			t.tellClaim(life)
		}
	}
	for uid, life := range a.pods {
		if o := life.last().object; belongs(o) && slices.ContainsFunc(o.Spec.Volumes, isStorage) {
			t.names[uid] = "pod " + o.Namespace + "/" + o.Name
			t.tellPod(life)
		}
	}
	for uid, life := range a.namespaces {
		if o := life.last().object; belongs(o) {
			t.names[uid] = "namespace " + o.Name
			t.facts.put("namespace", []any{uid}, map[string]cell{
				"name": text(o.Name), "created_at": exactly(o.CreationTimestamp.Time), "deleted_at": life.observed(life.removed()),
			})
		}
	}
	for uid, life := range a.attachments {
		t.tellAttachment(uid, life)
	}
	return t
}

// tellAttachment tells of the attachment of a volume that belongs to the test.
func (t *truth) tellAttachment(uid types.UID, l *life[*storagev1.VolumeAttachment]) {
	name := l.first().object.Spec.Source.PersistentVolumeName
	if name == nil {
		return
	}
	// A volume that is attached is there: of those of its name the youngest.
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
	t.facts.put("attachment", []any{uid}, map[string]cell{
		"volume_uid": text(volume.last().object.UID), "node": text(l.first().object.Spec.NodeName),
		"attached_at": attached, "detached_at": l.observed(l.removed()),
	})
}

func (t *truth) tellVolume(l *life[*corev1.PersistentVolume]) {
	o := l.last().object
	claim := types.UID("")
	if o.Spec.ClaimRef != nil {
		claim = o.Spec.ClaimRef.UID
	}
	t.facts.put("volume", []any{o.UID}, map[string]cell{
		"name": text(o.Name), "phase": text(o.Status.Phase), "phase_changed_at": exactly(o.Status.LastPhaseTransitionTime.Time),
		"claim_uid": text(claim), "capacity_bytes": text(o.Spec.Capacity.Storage().Value()), "source_kind": text(kindOfVolume(o)),
		"created_at": exactly(o.CreationTimestamp.Time), "deleted_at": l.observed(l.removed()),
	})
	had := stretches(l)
	t.bound = append(t.bound, had...)
	times := map[types.UID]int{}
	for _, s := range had {
		ordinal := times[s.claim]
		times[s.claim]++
		t.facts.put("binding", []any{s.claim, s.volume, ordinal}, map[string]cell{
			"bound_at": exactly(s.start), "released_at": s.end, "released_not_before": s.end,
		})
	}
	for i, v := range l.versions[1:] {
		before := l.versions[i].object
		if v.object.Status.Phase != before.Status.Phase {
			t.tellPhase(o.UID, string(v.object.Status.Phase), exactly(v.object.Status.LastPhaseTransitionTime.Time))
		}
		t.tellSize(o.UID, before.Spec.Capacity.Storage(), v.object.Spec.Capacity.Storage(), l.observed(v.at))
	}
}

func (t *truth) tellClaim(l *life[*corev1.PersistentVolumeClaim]) {
	o := l.last().object
	row := map[string]cell{
		"namespace": text(o.Namespace), "name": text(o.Name), "phase": text(o.Status.Phase), "volume_name": text(o.Spec.VolumeName),
		"requested_bytes": text(o.Spec.Resources.Requests.Storage().Value()), "capacity_bytes": text(o.Status.Capacity.Storage().Value()),
		"created_at": exactly(o.CreationTimestamp.Time), "deleted_at": l.observed(l.removed()), "volume_uid": text(""), "bound_at": absent,
		"ephemeral": text(t.isEphemeral(o)),
	}
	if set := o.Labels["app"]; set != "" { // only StatefulSets give their claims labels here
		row["workload_kind"], row["workload_name"] = text("StatefulSet"), text(set)
	}
	if s := t.boundTo(o.UID, math.MaxUint64); s != nil { // its volume may say so later than it went
		row["volume_uid"], row["bound_at"] = text(s.volume), exactly(s.start)
	}
	if v := t.promised(o); v != "" && row["volume_uid"] == text("") {
		row["volume_uid"] = text(v)
	}
	t.facts.put("claim", []any{o.UID}, row)
	for i, v := range l.versions[1:] {
		before := l.versions[i].object
		if v.object.Status.Phase != before.Status.Phase {
			at := l.observed(v.at)
			if s := t.boundTo(o.UID, v.number); s != nil && v.object.Status.Phase == corev1.ClaimBound {
				at = exactly(s.start)
			}
			t.tellPhase(o.UID, string(v.object.Status.Phase), at)
		}
		if v.object.Status.Phase != corev1.ClaimLost { // the controller blanks its capacity, and nothing has shrunk
			t.tellSize(o.UID, before.Status.Capacity.Storage(), v.object.Status.Capacity.Storage(), l.observed(v.at))
		}
	}
}

// promised returns the volume that a claim names in its spec, if that volume's claimRef has had the claim's UID.
// The claim has that volume (rule 2.5), even if the volume was given away before the two were bound.
func (t *truth) promised(claim *corev1.PersistentVolumeClaim) (volume types.UID) {
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

// isEphemeral tells whether a claim was made for a generic ephemeral volume: its controller
// is a pod that has such a volume. A StatefulSet also makes pods the controllers of claims
// that are to go with them.
func (t *truth) isEphemeral(claim *corev1.PersistentVolumeClaim) bool {
	owner := metav1.GetControllerOf(claim)
	if owner == nil || t.log.pods[owner.UID] == nil {
		return false
	}
	pod := t.log.pods[owner.UID].last().object
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Ephemeral != nil && pod.Name+"-"+v.Name == claim.Name
	})
}

// boundTo returns how a claim was bound at a resourceVersion; nil if it had not
// been yet.
func (t *truth) boundTo(claim types.UID, number uint64) (latest *stretch) {
	for i := range t.bound {
		if s := &t.bound[i]; s.claim == claim && s.number <= number && (latest == nil || s.number > latest.number) {
			latest = s
		}
	}
	return latest
}

// tellPhase tells of the n-th time that an object came into a phase.
func (t *truth) tellPhase(uid types.UID, phase string, at cell) {
	n := 1
	for t.facts.has("phase", uid, phase, n) {
		n++
	}
	t.facts.put("phase", []any{uid, phase, n}, map[string]cell{"at": at})
}

func (t *truth) tellSize(uid types.UID, before, now *resource.Quantity, at cell) {
	if !before.IsZero() && before.Cmp(*now) != 0 {
		t.facts.put("size", []any{uid, before.String() + " → " + now.String()}, map[string]cell{"at": at})
	}
}

func (t *truth) tellPod(l *life[*corev1.Pod]) {
	o := l.last().object
	row := map[string]cell{
		"namespace": text(o.Namespace), "name": text(o.Name), "phase": text(o.Status.Phase),
		"created_at": exactly(o.CreationTimestamp.Time), "deleted_at": l.observed(l.removed()), "started_at": absent,
	}
	var started stay // the first of its containers
	for _, c := range containersOf(o) {
		if r, begun := stayOf(l, c.Name); begun && (started.start.IsZero() || r.number < started.number) {
			started = r
			row["started_at"] = exactly(r.start)
		}
	}
	t.facts.put("pod", []any{o.UID}, row)
	for _, c := range containersOf(o) {
		r, begun := stayOf(l, c.Name)
		t.tellContainer(o, &c, r, begun)
		if begun {
			if unreported(r.end) {
				r.exact = text(0)
			}
			t.tellMounts(o, &c, r, started.number)
		}
	}
}

func (t *truth) tellContainer(pod *corev1.Pod, c *corev1.Container, r stay, begun bool) {
	row := map[string]cell{"image": text(c.Image), "started_at": absent, "finished_at": absent, "restarts": text(0)}
	if s := statusOf(pod, c.Name); s != nil {
		row["restarts"] = text(s.RestartCount)
	}
	if begun {
		row["started_at"], row["finished_at"] = exactly(r.start), r.end
	}
	t.facts.put("container", []any{pod.UID, c.Name}, row)
}

// containersOf lists all containers of a pod.
func containersOf(pod *corev1.Pod) []corev1.Container {
	list := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	for i := range pod.Spec.EphemeralContainers {
		list = append(list, corev1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	return list
}

// tellMounts tells what a container uses. Which claim it is was settled when the
// pod started.
func (t *truth) tellMounts(pod *corev1.Pod, c *corev1.Container, r stay, podStarted uint64) {
	tell := func(volume, path string, row map[string]cell) {
		i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == volume })
		if !isStorage(pod.Spec.Volumes[i]) {
			return
		}
		row["started_at"], row["ended_at"], row["ended_not_before"], row["exact"] = exactly(r.start), r.end, r.end, r.exact
		if r.exact == text(0) {
			row["ended_not_before"] = cell{from: r.start, to: r.end.to}
		}
		t.tellSource(pod, &pod.Spec.Volumes[i], row, podStarted)
		t.facts.put("mount", []any{pod.UID, c.Name, volume, path}, row)
	}
	for _, m := range c.VolumeMounts {
		tell(m.Name, m.MountPath, map[string]cell{"read_only": text(m.ReadOnly), "block_device": text(false), "sub_path": text(m.SubPath)})
	}
	for _, d := range c.VolumeDevices {
		tell(d.Name, d.DevicePath, map[string]cell{"read_only": text(false), "block_device": text(true), "sub_path": text("")})
	}
}

// tellSource tells what is behind a pod's volume.
func (t *truth) tellSource(pod *corev1.Pod, volume *corev1.Volume, row map[string]cell, podStarted uint64) {
	kind, readOnly, claimName, claimUID, volumeUID := "", false, "", types.UID(""), types.UID("")
	switch {
	case volume.PersistentVolumeClaim != nil:
		claimName, readOnly = volume.PersistentVolumeClaim.ClaimName, volume.PersistentVolumeClaim.ReadOnly
	case volume.Ephemeral != nil:
		claimName = pod.Name + "-" + volume.Name
	default:
		kind, readOnly = kindInLine(volume)
	}
	if claim := t.claimAt(pod, claimName, podStarted); claim != nil {
		claimUID = claim.UID
		if s := t.boundTo(claimUID, podStarted); s != nil {
			volumeUID = s.volume
			v := t.log.volumes[s.volume].last().object
			kind = kindOfVolume(v)
			readOnly = readOnly || (v.Spec.NFS != nil && v.Spec.NFS.ReadOnly) || (v.Spec.CSI != nil && v.Spec.CSI.ReadOnly)
		}
	}
	row["source_kind"], row["claim_name"], row["claim_uid"], row["volume_uid"] = text(kind), text(claimName), text(claimUID), text(volumeUID)
	if readOnly {
		row["read_only"] = text(true)
	}
}

// claimAt returns the claim that had a name when a pod started: the youngest that
// there was by then.
func (t *truth) claimAt(pod *corev1.Pod, name string, number uint64) *corev1.PersistentVolumeClaim {
	var youngest *life[*corev1.PersistentVolumeClaim]
	for _, l := range t.log.claims {
		if o := l.last().object; o.Namespace == pod.Namespace && o.Name == name && l.first().number < number &&
			(youngest == nil || l.first().number > youngest.first().number) {
			youngest = l
		}
	}
	if youngest == nil {
		return nil
	}
	return youngest.last().object
}

// isStorage is true for all volumes but those that bring configuration.
func isStorage(v corev1.Volume) bool {
	return v.Projected == nil && v.Secret == nil && v.ConfigMap == nil && v.DownwardAPI == nil
}

// kindInLine returns the kind of storage that a pod names itself, of those that
// the test uses, and whether it is mounted read-only whatever the container says.
func kindInLine(v *corev1.Volume) (kind string, readOnly bool) {
	switch {
	case v.EmptyDir != nil:
		return "emptyDir", false
	case v.HostPath != nil:
		return "hostPath", false
	case v.NFS != nil:
		return "nfs", v.NFS.ReadOnly
	case v.ISCSI != nil:
		return "iscsi", v.ISCSI.ReadOnly
	case v.CSI != nil:
		return "csi", v.CSI.ReadOnly != nil && *v.CSI.ReadOnly
	case v.Image != nil:
		return "image", true
	}
	return "?", false
}

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

// latest returns when the last request came that wrote an object of a kind.
func (l lives[T, P]) latest(belongs func(metav1.Object) bool) (at time.Time) {
	for _, life := range l {
		for _, t := range []time.Time{life.last().at, life.asked} {
			if t.After(at) && belongs(life.last().object) {
				at = t
			}
		}
	}
	return at
}

// latest returns when the last request came that wrote an object of any kind.
func (a *auditLog) latest(belongs func(metav1.Object) bool) time.Time {
	return slices.MaxFunc([]time.Time{
		a.namespaces.latest(belongs), a.pods.latest(belongs), a.claims.latest(belongs), a.volumes.latest(belongs), a.attachments.latest(belongs),
	}, time.Time.Compare)
}

// living lists what is there, by the log: resourceVersions by UID.
func (l lives[T, P]) living(belongs func(metav1.Object) bool) map[types.UID]string {
	list := map[types.UID]string{}
	for uid, life := range l {
		if o := life.last().object; belongs(o) && life.removed().IsZero() {
			list[uid] = o.GetResourceVersion()
		}
	}
	return list
}

// cell is what a column has to hold: a text, or a moment between two.
type cell struct {
	text     string
	from, to time.Time
}

const microseconds = "2006-01-02 15:04:05.000000"

// absent is a NULL.
var absent = cell{text: `\N`}

func text(v any) cell { return cell{text: fmt.Sprint(v)} }

// exactly is a moment that the API tells.
func exactly(at time.Time) cell { return cell{text: at.UTC().Format(microseconds)} }

// observed is a moment that can only be seen, as that of a request: the clock of
// whoever sees it is read a little later.
func observed(at time.Time) cell {
	if at.IsZero() {
		return absent
	}
	return cell{from: at.Add(-time.Second), to: at.Add(tardy)}
}

func (c cell) holds(found string) bool {
	if c.from.IsZero() {
		return found == c.text
	}
	at, err := time.Parse(microseconds, found)
	return err == nil && !at.Before(c.from) && !at.After(c.to)
}

func (c cell) String() string {
	if c.from.IsZero() {
		return strconv.Quote(c.text)
	}
	return fmt.Sprintf("%s … %s", c.from.UTC().Format(microseconds), c.to.UTC().Format(microseconds))
}

// facts are rows by table and key.
type facts map[string]map[string]map[string]cell

func factKey(key ...any) string {
	return strings.TrimSuffix(fmt.Sprintln(key...), "\n")
}

func (f facts) has(table string, key ...any) bool {
	_, ok := f[table][factKey(key...)]
	return ok
}

// put adds a row. Two rows of one key are one too many: the catalog cannot hold
// both.
func (f facts) put(table string, key []any, row map[string]cell) {
	if f[table] == nil {
		f[table] = map[string]map[string]cell{}
	}
	k := factKey(key...)
	for n := 2; f[table][k] != nil; n++ {
		k = fmt.Sprint(factKey(key...), " for the ", n, ". time")
	}
	f[table][k] = row
}

// verdict is what came of comparing the truth with the catalog.
type verdict struct{ missing, invented, wrong []string }

// compare compares whole tables: what the catalog lacks, has too much, or has
// otherwise.
func (f facts) compare(table string, found map[string]map[string]string) (v verdict) {
	for _, key := range slices.Sorted(maps.Keys(f[table])) {
		row, ok := found[key]
		if !ok {
			v.missing = append(v.missing, fmt.Sprintf("%s %s: %v", table, key, f[table][key]))
			continue
		}
		for _, column := range slices.Sorted(maps.Keys(f[table][key])) {
			if want := f[table][key][column]; !want.holds(row[column]) {
				v.wrong = append(v.wrong, fmt.Sprintf("%s %s: %s is %q, want %s", table, key, column, row[column], want))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if _, ok := f[table][key]; !ok {
			v.invented = append(v.invented, fmt.Sprintf("%s %s: %v", table, key, found[key]))
		}
	}
	return v
}
