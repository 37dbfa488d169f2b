package e2e

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// recordedKinds are the kinds that the tracker watches, with the resources to be recorded.
var recordedKinds = map[fact.Kind]schema.GroupVersionResource{
	fact.Namespaces:        corev1.SchemeGroupVersion.WithResource("namespaces"),
	fact.StorageClasses:    storagev1.SchemeGroupVersion.WithResource("storageclasses"),
	fact.Volumes:           corev1.SchemeGroupVersion.WithResource("persistentvolumes"),
	fact.StatefulSets:      appsv1.SchemeGroupVersion.WithResource("statefulsets"),
	fact.DaemonSets:        appsv1.SchemeGroupVersion.WithResource("daemonsets"),
	fact.Deployments:       appsv1.SchemeGroupVersion.WithResource("deployments"),
	fact.ReplicaSets:       appsv1.SchemeGroupVersion.WithResource("replicasets"),
	fact.CronJobs:          batchv1.SchemeGroupVersion.WithResource("cronjobs"),
	fact.Jobs:              batchv1.SchemeGroupVersion.WithResource("jobs"),
	fact.Claims:            corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"),
	fact.VolumeAttachments: storagev1.SchemeGroupVersion.WithResource("volumeattachments"),
	fact.Pods:              corev1.SchemeGroupVersion.WithResource("pods"),
}

// recording has the events of all watches in the order in which they arrived.
type recording struct {
	mu     sync.Mutex
	events []recordedEvent
}

type recordedEvent struct {
	At     string          `json:"at"`
	Kind   fact.Kind       `json:"kind"`
	Type   watch.EventType `json:"type"`
	Object recordedObject  `json:"object"`
}

// recordedObject is written without apiVersion and kind, which an object of the API has to have.
type recordedObject struct{ *unstructured.Unstructured }

func (o recordedObject) MarshalJSON() ([]byte, error) { return json.Marshal(o.Object) }

// startRecording records what the watches send. The function that it returns ends that, and writes the events of the
// month to a file.
func startRecording(t *testing.T, objects dynamic.Interface) (stop func(path string)) {
	ctx, cancel := context.WithCancel(background)
	var r recording
	var watches sync.WaitGroup
	for kind, resource := range recordedKinds {
		events, err := objects.Resource(resource).Watch(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		watches.Go(func() {
			for event := range events.ResultChan() {
				r.take(kind, event)
			}
			if ctx.Err() == nil {
				t.Errorf("the watch of %s ended", kind)
			}
		})
	}
	return func(path string) {
		cancel()
		watches.Wait()
		if err := r.write(path); err != nil {
			t.Error(err)
		}
	}
}

func (r *recording) take(kind fact.Kind, event watch.Event) {
	o, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		return // no bookmarks were requested, and an error ends the watch
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, recordedEvent{time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), kind, event.Type, recordedObject{o}})
}

// write writes the events of the month, with the part of their objects that decides who uses what. A change of
// anything else is no event.
func (r *recording) write(path string) error {
	volumes := map[string]bool{} // by name
	for _, e := range r.events {
		labelled := e.Object.GetLabels()[monthLabel] != ""
		namespace, _, _ := unstructured.NestedString(e.Object.Object, "spec", "claimRef", "namespace")
		if e.Kind == fact.Volumes && (labelled || isOfTheMonth(namespace)) {
			volumes[e.Object.GetName()] = true
		}
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := json.NewEncoder(file)
	last := map[types.UID]map[string]any{}
	for _, e := range r.events {
		if !e.isOfTheMonth(volumes) {
			continue
		}
		slim(e.Kind, e.Object.Object)
		same := equality.Semantic.DeepEqual(last[e.Object.GetUID()], withoutVersion(e.Object))
		last[e.Object.GetUID()] = withoutVersion(e.Object)
		if same && e.Type == watch.Modified {
			continue
		}
		if err := lines.Encode(e); err != nil {
			return err
		}
	}
	return file.Close()
}

func isOfTheMonth(namespace string) bool { return strings.HasPrefix(namespace, "month-") }

func (e *recordedEvent) isOfTheMonth(volumes map[string]bool) bool {
	switch e.Kind {
	case fact.StorageClasses:
		return true
	case fact.Namespaces:
		return isOfTheMonth(e.Object.GetName())
	case fact.Volumes:
		return volumes[e.Object.GetName()]
	case fact.VolumeAttachments:
		volume, _, _ := unstructured.NestedString(e.Object.Object, "spec", "source", "persistentVolumeName")
		return volumes[volume]
	default:
		return isOfTheMonth(e.Object.GetNamespace())
	}
}

func withoutVersion(o recordedObject) map[string]any {
	fields := maps.Clone(o.Object)
	fields["metadata"] = maps.Clone(inner(fields, "metadata"))
	delete(inner(fields, "metadata"), "resourceVersion")
	return fields
}
