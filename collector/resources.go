package collector

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// resource is a kind to watch.
type resource struct {
	kind      fact.Kind
	example   runtime.Object
	listWatch *cache.ListWatch
	resource  schema.GroupResource // for which rights are needed
}

// resources returns all kinds to watch. Kinds that only create pods are watched as metadata, which
// is enough for the chain of owners.
func (c *Client) resources() []resource {
	core, storage, apps := c.core.RESTClient(), c.storage.RESTClient(), c.apps.RESTClient()
	return []resource{
		whole(fact.Namespaces, &corev1.Namespace{}, core, "namespaces"),
		whole(fact.Nodes, &corev1.Node{}, core, "nodes"),
		whole(fact.Drivers, &storagev1.CSIDriver{}, storage, "csidrivers"),
		whole(fact.StorageClasses, &storagev1.StorageClass{}, storage, "storageclasses"),
		whole(fact.StorageCapacities, &storagev1.CSIStorageCapacity{}, storage, "csistoragecapacities"),
		whole(fact.Volumes, &corev1.PersistentVolume{}, core, "persistentvolumes"),
		whole(fact.StatefulSets, &appsv1.StatefulSet{}, apps, "statefulsets"),
		c.metadataOf(fact.DaemonSets, appsv1.SchemeGroupVersion.WithResource("daemonsets")),
		c.metadataOf(fact.Deployments, appsv1.SchemeGroupVersion.WithResource("deployments")),
		c.metadataOf(fact.ReplicaSets, appsv1.SchemeGroupVersion.WithResource("replicasets")),
		c.metadataOf(fact.CronJobs, batchv1.SchemeGroupVersion.WithResource("cronjobs")),
		c.metadataOf(fact.Jobs, batchv1.SchemeGroupVersion.WithResource("jobs")),
		whole(fact.Claims, &corev1.PersistentVolumeClaim{}, core, "persistentvolumeclaims"),
		whole(fact.VolumeAttachments, &storagev1.VolumeAttachment{}, storage, "volumeattachments"),
		whole(fact.Pods, &corev1.Pod{}, c.pods, "pods"),
	}
}

// CurrentVersion returns the resource version of the API server now, by a list of one object of a kind; zero if the answer has none.
func (c *Client) CurrentVersion(ctx context.Context, kind fact.Kind) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	for _, r := range c.resources() {
		if r.kind == kind {
			return currentVersion(ctx, r.listWatch)
		}
	}
	return 0, fmt.Errorf("the kind %s is not watched", kind)
}

func whole(kind fact.Kind, example runtime.Object, client rest.Interface, plural string) resource {
	group := client.APIVersion().WithResource(plural).GroupResource()
	return resource{kind, example, cache.NewListWatchFromClient(client, plural, metav1.NamespaceAll, fields.Everything()), group}
}

func (c *Client) metadataOf(kind fact.Kind, gvr schema.GroupVersionResource) resource {
	client := c.metadata.Resource(gvr)
	return resource{kind, &metav1.PartialObjectMetadata{}, &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, options)
		},
	}, gvr.GroupResource()}
}
