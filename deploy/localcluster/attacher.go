package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/klog/v2"
)

// attacher does what the external-attacher does for a driver that needs no time: a
// VolumeAttachment, which the attach-detach controller creates, becomes attached. It
// takes no finalizer, so a detachment is done when it is asked for.
type attacher struct {
	client      kubernetes.Interface
	attachments storagelisters.VolumeAttachmentLister
}

func (a *attacher) attach(ctx context.Context, name string) error {
	attachment, err := a.attachments.Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	if attachment.Spec.Attacher != csiDriver || attachment.Status.Attached || attachment.DeletionTimestamp != nil {
		return nil
	}
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"attached":true}}`, attachment.UID)
	_, err = a.client.StorageV1().VolumeAttachments().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // detached meanwhile
	}
	return err
}

func logError(part, key string, err error) {
	klog.ErrorS(err, "will try again", "part", part, "object", key)
}
