package loadgen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Namespace is where runs make what has a namespace. With the label Marker it marks a cluster as one for tests.
const Namespace = "kubevoltracker-loadgen"

// Marker is the label of Namespace, with the value "true".
const Marker = "kubevoltracker.io/test-cluster"

// labelHint and markHint say how to mark a test cluster.
const (
	labelHint = "kubectl label namespace " + Namespace + " " + Marker + "=true"
	markHint  = "If it is a test cluster, whose storage may be churned: kubectl create namespace " + Namespace + " && " + labelHint
)

// guard returns the marker namespace, and refuses a cluster without it. It only reads.
func guard(ctx context.Context, client kubernetes.Interface, host string) (*corev1.Namespace, error) {
	ns, err := client.CoreV1().Namespaces().Get(ctx, Namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("the cluster at %s has no namespace %s, which marks a test cluster; nothing was made. %s", host, Namespace, markHint)
	case err != nil:
		return nil, fmt.Errorf("read the namespace %s of the cluster at %s: %w", Namespace, host, err)
	case ns.Labels[Marker] != "true":
		return nil, fmt.Errorf("the namespace %s of the cluster at %s lacks the label %s=true, which marks a test cluster; nothing was made. If it is one, whose storage may be churned: %s", Namespace, host, Marker, labelHint)
	case ns.DeletionTimestamp != nil:
		return nil, fmt.Errorf("the namespace %s of the cluster at %s is being deleted; nothing was made. Wait until it is gone. %s", Namespace, host, markHint)
	}
	return ns, nil
}

// defaultClassKey marks the default StorageClass.
const defaultClassKey = "storageclass.kubernetes.io/is-default-class"

// survey finds out what the cluster offers: the class for dynamic volumes, a CSI driver, nodes for local volumes.
func (r *runner) survey(ctx context.Context) error {
	classes, err := r.client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list storage classes: %w", err)
	}
	for _, class := range classes.Items {
		if class.Annotations[defaultClassKey] == "true" && (class.ReclaimPolicy == nil || *class.ReclaimPolicy == corev1.PersistentVolumeReclaimDelete) &&
			(class.VolumeBindingMode == nil || *class.VolumeBindingMode == storagev1.VolumeBindingImmediate) {
			r.maker.class = class.Name
			r.planned.dynamic = true
			r.planned.expands = class.AllowVolumeExpansion != nil && *class.AllowVolumeExpansion
		}
	}
	if o := &r.planned.Options; !r.planned.dynamic && o.Claims > o.Volumes {
		return fmt.Errorf("--claims=%d is more than --volumes=%d, and the cluster has no default StorageClass that binds at once and deletes its volumes, for the rest of them: use --claims=%d, or mark such a class as the default", o.Claims, o.Volumes, o.Volumes)
	}
	if err := r.surveyNodes(ctx); err != nil {
		return err
	}
	r.maker.driver = "csi.loadgen.invalid"
	drivers, err := r.client.StorageV1().CSIDrivers().List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("list CSI drivers: %w", err)
	}
	for _, driver := range drivers.Items {
		r.maker.driver = driver.Name
	}
	return r.awaitAccount(ctx)
}

// surveyNodes finds the nodes that take any pod.
func (r *runner) surveyNodes(ctx context.Context) error {
	if !slices.Contains(r.planned.Kinds, Local) {
		return nil
	}
	nodes, err := r.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for _, node := range nodes.Items {
		if host := node.Labels[corev1.LabelHostname]; host != "" && !node.Spec.Unschedulable && len(node.Spec.Taints) == 0 {
			r.maker.nodes = append(r.maker.nodes, host)
		}
	}
	if len(r.maker.nodes) == 0 {
		return errors.New("--kinds has local, and the cluster has no node without taints: leave local out")
	}
	return nil
}

// awaitAccount waits until a new namespace has its service account: no pod is admitted before.
func (r *runner) awaitAccount(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		_, err := r.client.CoreV1().ServiceAccounts(Namespace).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the namespace %s has no service account: %w", Namespace, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
