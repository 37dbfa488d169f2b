package main

import (
	"context"
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// provisioner makes and unmakes the volumes of all storage classes. The library around
// it, that of the real provisioners, decides for which claims and volumes, and when.
type provisioner struct {
	attachments storagelisters.VolumeAttachmentLister
}

// Provision returns the volume for a claim, of the kind that the claim's class is for.
func (p *provisioner) Provision(_ context.Context, options controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	claim, class := options.PVC, options.StorageClass
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *class.ReclaimPolicy,
			AccessModes:                   claim.Spec.AccessModes,
			MountOptions:                  class.MountOptions,
			VolumeMode:                    claim.Spec.VolumeMode,
			Capacity: corev1.ResourceList{
				corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage],
			},
		},
	}
	switch class.Provisioner {
	case csiDriver:
		volume.Spec.CSI = csiSource(options)
	case nfsProvisioner:
		volume.Spec.NFS = &corev1.NFSVolumeSource{
			Server: class.Parameters["server"],
			Path:   path.Join(class.Parameters["export"], fmt.Sprintf("%s-%s-%s", claim.Namespace, claim.Name, options.PVName)),
		}
	default:
		return nil, controller.ProvisioningFinished, fmt.Errorf("class %s: no volumes of provisioner %s here", class.Name, class.Provisioner)
	}
	return volume, controller.ProvisioningFinished, nil
}

func csiSource(options controller.ProvisionOptions) *corev1.CSIPersistentVolumeSource {
	source := &corev1.CSIPersistentVolumeSource{
		Driver:       csiDriver,
		VolumeHandle: "vol-" + string(options.PVC.UID),
		VolumeAttributes: map[string]string{
			"storage.kubernetes.io/csiProvisionerIdentity": "localcluster-" + csiDriver,
		},
	}
	for key, value := range options.StorageClass.Parameters {
		source.VolumeAttributes[key] = value
	}
	if mode := options.PVC.Spec.VolumeMode; mode == nil || *mode == corev1.PersistentVolumeFilesystem {
		source.FSType = "ext4"
	}
	return source
}

// Delete refuses, as real provisioners do, while a node still holds the volume; the
// library tries again.
func (p *provisioner) Delete(_ context.Context, volume *corev1.PersistentVolume) error {
	attachments, err := p.attachments.List(labels.Everything())
	if err != nil {
		return err
	}
	for _, a := range attachments {
		if name := a.Spec.Source.PersistentVolumeName; name != nil && *name == volume.Name {
			return fmt.Errorf("volume %s is still attached to node %s", volume.Name, a.Spec.NodeName)
		}
	}
	return nil
}

// SupportsBlock: the CSI driver's volumes may be raw devices.
func (p *provisioner) SupportsBlock(context.Context) bool { return true }
