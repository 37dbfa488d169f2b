package truth

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// Log reads the API server's audit log as it grows, and keeps every version of every object that the catalog
// records.
type Log struct {
	// Adopted is how many versions AgreesWith has taken from the API server.
	Adopted int

	file *os.File
	rest []byte // the beginning of a line that is not complete yet

	// unanswered has the last request on each object that ended with an error of the server. That may have carried it
	// out all the same: if the client went away meanwhile, for one.
	unanswered map[objectRef]auditEvent
	missing    map[types.UID]string // the versions that AgreesWith last found to be missing

	namespaces  lives[corev1.Namespace, *corev1.Namespace]
	pods        lives[corev1.Pod, *corev1.Pod]
	claims      lives[corev1.PersistentVolumeClaim, *corev1.PersistentVolumeClaim]
	volumes     lives[corev1.PersistentVolume, *corev1.PersistentVolume]
	attachments lives[storagev1.VolumeAttachment, *storagev1.VolumeAttachment]
}

// OpenLog opens an audit log. Read takes its lines in.
func OpenLog(path string) (*Log, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &Log{
		file:        file,
		unanswered:  map[objectRef]auditEvent{},
		missing:     map[types.UID]string{},
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
	ObjectRef                struct {
		objectRef
		Subresource string
	}
	ResponseStatus struct{ Code int }
	ResponseObject json.RawMessage
}

// objectRef is what the log calls an object.
type objectRef struct{ Resource, Namespace, Name string }

// at returns when the request came.
func (e *auditEvent) at() time.Time { return e.RequestReceivedTimestamp.Time }

// Read takes in the lines that were written since the last call.
func (a *Log) Read() error {
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

// next opens the next file, if the API server has begun one. It begins one every hundred megabytes, and renames the
// one before.
func (a *Log) next() (again bool, err error) {
	present, missing := os.Stat(a.file.Name()) // missing while the API server renames it
	ours, err := a.file.Stat()
	if err != nil || missing != nil || os.SameFile(ours, present) {
		return false, err
	}
	if n, err := a.file.Seek(0, io.SeekCurrent); err != nil || n < ours.Size() {
		return true, err // lines came just before it was renamed
	}
	_ = a.file.Close()
	a.file, err = os.Open(a.file.Name())
	return err == nil, err
}

// take takes one event in. Requests that were refused changed nothing.
func (a *Log) take(e *auditEvent) error {
	switch ref := e.ObjectRef.objectRef; {
	case e.ResponseStatus.Code >= http.StatusInternalServerError:
		a.unanswered[ref] = *e
		return nil
	case e.ResponseStatus.Code >= http.StatusMultipleChoices:
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

// Latest returns when the last request came that wrote an object that belongs to the test.
func (a *Log) Latest(belongs func(metav1.Object) bool) time.Time {
	return slices.MaxFunc([]time.Time{
		a.namespaces.latest(belongs), a.pods.latest(belongs), a.claims.latest(belongs), a.volumes.latest(belongs), a.attachments.latest(belongs),
	}, time.Time.Compare)
}

// AgreesWith returns an error unless the API server has the objects that exist by the log, in the same versions. A
// log that lags behind does not agree. If the last request to create an object by its name, or to change it, was carried
// out and not answered, the log takes its version from the API server, when it is asked the second time: Read in between.
func (a *Log) AgreesWith(c *harness.LocalCluster, belongs func(metav1.Object) bool) error {
	pods, err := c.Client.CoreV1().Pods("").List(background, metav1.ListOptions{})
	if err != nil {
		return err
	}
	claims, err := c.Client.CoreV1().PersistentVolumeClaims("").List(background, metav1.ListOptions{})
	if err != nil {
		return err
	}
	volumes, err := c.Client.CoreV1().PersistentVolumes().List(background, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for resource, both := range map[string]struct {
		log  map[types.UID]version
		list runtime.Object
	}{
		"pods":                   {a.pods.living(belongs), pods},
		"persistentvolumeclaims": {a.claims.living(belongs), claims},
		"persistentvolumes":      {a.volumes.living(belongs), volumes},
	} {
		there := map[types.UID]bool{}
		err := meta.EachListItem(both.list, func(item runtime.Object) error {
			o := item.(metav1.Object)
			if !belongs(o) {
				return nil
			}
			there[o.GetUID()] = true
			if known := both.log[o.GetUID()]; known.number != o.GetResourceVersion() {
				return a.adopt(resource, o, known)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for uid, known := range both.log {
			if !there[uid] {
				return fmt.Errorf("of the %s, the API server lacks %s, which by the audit log is there in version %s", resource, uid, known.number)
			}
		}
	}
	return nil
}

// adopt takes an object's version from the API server, if a request that was not answered can have written it, and the
// log has lacked that version before.
func (a *Log) adopt(resource string, o metav1.Object, known version) error {
	ref, before := objectRef{resource, o.GetNamespace(), o.GetName()}, a.missing[o.GetUID()]
	a.missing[o.GetUID()] = o.GetResourceVersion()
	e, ok := a.unanswered[ref]
	if !ok || e.StageTimestamp.Time.Before(known.at) || before != o.GetResourceVersion() {
		return fmt.Errorf("of the %s, the API server has %s in version %s, the audit log in %q", resource, o.GetUID(), o.GetResourceVersion(), known.number)
	}
	object, err := json.Marshal(o)
	if err != nil {
		return err
	}
	a.Adopted++
	delete(a.unanswered, ref)
	e.ResponseStatus.Code, e.ResponseObject = http.StatusOK, object
	return a.take(&e)
}
