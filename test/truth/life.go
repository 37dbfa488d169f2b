package truth

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// lives has the objects of a kind by UID.
type lives[T any, P apiObject[T]] map[types.UID]*life[P]

type apiObject[T any] interface {
	*T
	metav1.Object
}

// life is what the log says of one object.
type life[P metav1.Object] struct {
	versions []revision[P] // by resourceVersion
	asked    time.Time     // when its deletion was last asked for

	answered map[time.Time]time.Time // when each request was answered, by when it came
}

// note keeps when a request was answered.
func (l *life[P]) note(e *auditEvent) {
	if l.answered == nil {
		l.answered = map[time.Time]time.Time{}
	}
	l.answered[e.at()] = e.StageTimestamp.Time
}

// observed returns the moments at which a watcher may see what a request changed, if the API does not date the
// change.
func (l *life[P]) observed(at time.Time) cell {
	c := observed(at)
	if answered := l.answered[at]; answered.After(at) {
		c.to = c.to.Add(answered.Sub(at))
	}
	return c
}

// revision is a version of an object.
type revision[P metav1.Object] struct {
	at     time.Time // when the request came
	number uint64    // the resourceVersion: one order for all kinds
	object P

	// unstored: the update removed the object, because its deletion without grace was under way. The answer is what
	// would have been written, and no watcher has seen it.
	unstored bool
}

// take adds the version in an event's answer to the life of its object.
func (l lives[T, P]) take(e *auditEvent) error {
	if e.Verb == "deletecollection" {
		return l.takeCollection(e)
	}
	var answer metav1.PartialObjectMetadata
	if err := json.Unmarshal(e.ResponseObject, &answer); err != nil {
		return err
	}
	if answer.UID == "" || answer.ResourceVersion == "" { // the answer is a Status, or an object that was not written
		if e.Verb == "delete" || e.ObjectRef.Subresource == "eviction" {
			l.ask(e)
		}
		return nil
	}
	object := P(new(T))
	if err := json.Unmarshal(e.ResponseObject, object); err != nil {
		return fmt.Errorf("%s %s %s/%s: %w", e.Verb, e.ObjectRef.Resource, e.ObjectRef.Namespace, e.ObjectRef.Name, err)
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
	known.add(revision[P]{e.at(), number, object, neverStored(e.Verb, object)})
	return nil
}

// takeCollection notes that the deletion of each object in a collection was requested. The answer of the API server is
// the list before the deletion.
func (l lives[T, P]) takeCollection(e *auditEvent) error {
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

// neverStored reports whether a request removed the object that it seems to have updated: see revision.unstored.
func neverStored(verb string, object metav1.Object) bool {
	grace := object.GetDeletionGracePeriodSeconds()
	return (verb == "patch" || verb == "update") && object.GetDeletionTimestamp() != nil && !hasFinalizers(object) && grace != nil && *grace == 0
}

// add adds a version, and keeps the versions in order: requests end, and are logged, in another order than that of
// their writes.
func (l *life[P]) add(v revision[P]) {
	l.versions = append(l.versions, v)
	slices.SortStableFunc(l.versions, func(a, b revision[P]) int { return cmp.Compare(a.number, b.number) })
	l.forgetUnstored()
}

// forgetUnstored replaces the status of a pod's unstored versions by that of the version before.
func (l *life[P]) forgetUnstored() {
	for i, v := range l.versions {
		if pod, ok := any(v.object).(*corev1.Pod); ok && v.unstored && i > 0 {
			pod.Status = *any(l.versions[i-1].object).(*corev1.Pod).Status.DeepCopy()
		}
	}
}

// ask notes that the deletion of the object that now has a name was requested.
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

// removed returns when the request came that removed the object, and zero if the object exists.
//
// That is the request that took the last finalizer off an object that was to be deleted, or that ended its grace
// period. Its answer need not show the object's last version. An object without either was removed by the request to
// delete it.
func (l *life[P]) removed() time.Time {
	for _, v := range l.versions {
		if grace := v.object.GetDeletionGracePeriodSeconds(); v.object.GetDeletionTimestamp() != nil &&
			!hasFinalizers(v.object) && (grace == nil || *grace == 0) {
			return v.at
		}
	}
	if last := l.last(); last.object.GetDeletionTimestamp() == nil && !hasFinalizers(last.object) && !l.asked.Before(last.at) && !graceful(last.object) {
		return l.asked
	}
	return time.Time{}
}

// hasFinalizers reports whether an object has finalizers. Those of a namespace are in its spec.
func hasFinalizers(o metav1.Object) bool {
	namespace, ok := o.(*corev1.Namespace)
	return len(o.GetFinalizers()) > 0 || (ok && len(namespace.Spec.Finalizers) > 0)
}

// graceful reports whether a deletion waits for a kubelet: for a pod that has a node and has not ended.
func graceful(o metav1.Object) bool {
	pod, ok := o.(*corev1.Pod)
	return ok && pod.Spec.NodeName != "" && !harness.HasEnded(pod)
}

// latest returns when the last request came that wrote an object of the kind.
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

// version is what an object's last version is called, and when the request came that wrote it.
type version struct {
	number string // the resourceVersion
	at     time.Time
}

// living returns the last versions of the objects that exist by the log, by UID.
func (l lives[T, P]) living(belongs func(metav1.Object) bool) map[types.UID]version {
	list := map[types.UID]version{}
	for uid, life := range l {
		if last := life.last(); belongs(last.object) && life.removed().IsZero() {
			list[uid] = version{last.object.GetResourceVersion(), last.at}
		}
	}
	return list
}
