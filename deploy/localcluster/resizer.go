package main

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// resizer does what the external-resizer and, after it, the kubelet do: the volume of a
// claim that asks for more than it has grows first, and the claim says so second.
type resizer struct {
	client  kubernetes.Interface
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
}

func (r *resizer) resize(ctx context.Context, key string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return err
	}
	claim, err := r.claims.PersistentVolumeClaims(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	wanted, has := claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.Capacity[corev1.ResourceStorage]
	if claim.Status.Phase != corev1.ClaimBound || claim.DeletionTimestamp != nil || wanted.Cmp(has) <= 0 {
		return nil
	}
	volume, err := r.volumes.Get(claim.Spec.VolumeName)
	if err != nil {
		return fmt.Errorf("volume %s: %w", claim.Spec.VolumeName, err)
	}
	if volume.Spec.CSI == nil || volume.Spec.CSI.Driver != csiDriver {
		return nil // not ours, and nobody else's: it stays as it is
	}

	capacity := corev1.ResourceList{corev1.ResourceStorage: wanted}
	if size := volume.Spec.Capacity[corev1.ResourceStorage]; size.Cmp(wanted) < 0 {
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"capacity": capacity}})
		if err != nil {
			return err
		}
		if _, err := r.client.CoreV1().PersistentVolumes().Patch(ctx, volume.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"capacity": capacity, "allocatedResources": capacity}})
	if err != nil {
		return err
	}
	_, err = r.client.CoreV1().PersistentVolumeClaims(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
