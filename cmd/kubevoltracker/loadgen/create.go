package loadgen

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// create creates an object.
func (c *cluster) create(ctx context.Context, object runtime.Object) (metav1.Object, error) {
	none := metav1.CreateOptions{}
	core := c.client.CoreV1()
	switch x := object.(type) {
	case *corev1.PersistentVolume:
		return core.PersistentVolumes().Create(ctx, x, none)
	case *corev1.PersistentVolumeClaim:
		return core.PersistentVolumeClaims(Namespace).Create(ctx, x, none)
	case *corev1.Pod:
		return core.Pods(Namespace).Create(ctx, x, none)
	case *batchv1.Job:
		return c.client.BatchV1().Jobs(Namespace).Create(ctx, x, none)
	case *appsv1.StatefulSet:
		return c.client.AppsV1().StatefulSets(Namespace).Create(ctx, x, none)
	}
	return nil, fmt.Errorf("no request creates a %T", object)
}

func setPod(set string, i int) string { return fmt.Sprintf("%s-%d", set, i) }
