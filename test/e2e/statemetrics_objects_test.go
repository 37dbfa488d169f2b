package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// oddObjects are volumes of all sources, claims, classes and attachments in all states that kube-state-metrics'
// families tell apart, with labels and annotations that need escaping or whose names collide.
type oddObjects struct {
	c  *harness.LocalCluster
	ns string
}

func newOddObjects(t *testing.T, c *harness.LocalCluster) *oddObjects {
	return &oddObjects{c, c.CreateNamespace(t, "odd")}
}

var oddLabels = map[string]string{"app": "db", "team-a": "x", "a.b": "1", "a-b": "2", "a_b": "3", "camelCase": "y", "excluded_from_alerts": "true"}

var oddAnnotations = map[string]string{"note": "a \"quoted\" \\ back\nslash, ü", "other.example/thing": "1"}

func oddMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: oddLabels, Annotations: oddAnnotations}
}

// create creates all objects.
func (o *oddObjects) create(t *testing.T) {
	for name, source := range oddSources() {
		o.volume(t, "odd-"+name, source)
	}
	o.classes(t)
	o.claims(t)
	o.attachments(t)
}

// oddSources has one source of each kind that kube_persistentvolume_info tells apart, and some others.
func oddSources() map[string]corev1.PersistentVolumeSource {
	secret := &corev1.SecretReference{Name: "s", Namespace: "default"}
	return map[string]corev1.PersistentVolumeSource{
		"nfs":      {NFS: &corev1.NFSVolumeSource{Server: "nfs.example", Path: "/a \"b\" \\c"}},
		"hostpath": {HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/x", Type: ptr.To(corev1.HostPathDirectory)}},
		"local":    {Local: &corev1.LocalVolumeSource{Path: "/mnt/disk", FSType: ptr.To("xfs")}},
		"csi": {CSI: &corev1.CSIPersistentVolumeSource{
			Driver: "csi.example", VolumeHandle: "handle-1", FSType: "ext4", VolumeAttributes: map[string]string{"storage": "fast"}, NodePublishSecretRef: secret,
		}},
		"iscsi": {ISCSI: &corev1.ISCSIPersistentVolumeSource{
			TargetPortal: "10.0.0.1:3260", IQN: "iqn.2001-04.com.example:storage", Lun: 3, InitiatorName: ptr.To("iqn.2001-04.com.example:me"),
		}},
		"fc":        {FC: &corev1.FCVolumeSource{TargetWWNs: []string{"500a0982991b8dc5", "500a0982891b8dc5"}, Lun: ptr.To(int32(2))}},
		"fcwwids":   {FC: &corev1.FCVolumeSource{WWIDs: []string{"3600508b400105e210000900000490000"}}},
		"ebs":       {AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "aws://eu-west-1a/vol-1", FSType: "ext4"}},
		"gce":       {GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "pd-1"}},
		"azuredisk": {AzureDisk: &corev1.AzureDiskVolumeSource{DiskName: "disk-1", DataDiskURI: "https://blob.example/disk-1.vhd"}},
		"azurefile": {AzureFile: &corev1.AzureFilePersistentVolumeSource{SecretName: "s", ShareName: "share", SecretNamespace: ptr.To("default")}},
		"cephfs":    {CephFS: &corev1.CephFSPersistentVolumeSource{Monitors: []string{"10.0.0.2:6789"}, SecretRef: secret}},
		"rbd":       {RBD: &corev1.RBDPersistentVolumeSource{CephMonitors: []string{"10.0.0.2:6789"}, RBDImage: "image"}},
		"flex":      {FlexVolume: &corev1.FlexPersistentVolumeSource{Driver: "example/flex"}},
	}
}

func (o *oddObjects) volume(t *testing.T, name string, source corev1.PersistentVolumeSource) {
	t.Helper()
	spec := corev1.PersistentVolumeSpec{
		PersistentVolumeSource: source, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1536Mi")},
		AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadOnlyMany},
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain, StorageClassName: "odd-none",
	}
	if source.Local != nil {
		spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpIn, Values: []string{"n"}}},
		}}}}
	}
	if source.ISCSI != nil {
		spec.VolumeMode = ptr.To(corev1.PersistentVolumeBlock)
	}
	if source.RBD != nil { // released: its claim does not exist
		spec.ClaimRef = &corev1.ObjectReference{Namespace: o.ns, Name: "gone", UID: types.UID("00000000-0000-0000-0000-000000000001"), Kind: "PersistentVolumeClaim", APIVersion: "v1"}
	}
	v := &corev1.PersistentVolume{ObjectMeta: oddMeta(name), Spec: spec}
	if source.FlexVolume != nil { // a deletion waits for the finalizer
		v.Finalizers = []string{"odd.example/wait"}
	}
	if _, err := o.c.Client.CoreV1().PersistentVolumes().Create(background, v, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if source.FlexVolume != nil {
		if err := o.c.Client.CoreV1().PersistentVolumes().Delete(background, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func (o *oddObjects) classes(t *testing.T) {
	t.Helper()
	for name, mode := range map[string]*storagev1.VolumeBindingMode{"odd-immediate": nil, "odd-late": ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)} {
		class := &storagev1.StorageClass{ObjectMeta: oddMeta(name), Provisioner: "odd.example/none", VolumeBindingMode: mode}
		class.Labels = map[string]string{"tier": "gold", "app": "db"}
		class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "false", "note": "x"}
		if _, err := o.c.Client.StorageV1().StorageClasses().Create(background, class, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func (o *oddObjects) claims(t *testing.T) {
	t.Helper()
	o.c.CreateClaim(t, o.ns, "bound", "standard")
	o.c.CreateClaim(t, o.ns, "doomed", "standard")
	o.c.AwaitBound(t, o.ns, "bound")
	o.c.AwaitBound(t, o.ns, "doomed")
	for name, change := range map[string]func(*corev1.PersistentVolumeClaim){
		"pending": func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = ptr.To("odd-late") },
		"beta": func(c *corev1.PersistentVolumeClaim) {
			c.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: "odd-immediate", "note": "x"}
		},
		"block": func(c *corev1.PersistentVolumeClaim) {
			c.Spec.StorageClassName, c.Spec.VolumeMode = ptr.To(""), ptr.To(corev1.PersistentVolumeBlock)
		},
		"lost": func(c *corev1.PersistentVolumeClaim) {
			c.Spec.StorageClassName, c.Spec.VolumeName = ptr.To("odd-none"), "odd-none-such"
			c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		},
		"leaving": func(c *corev1.PersistentVolumeClaim) {
			c.Spec.StorageClassName, c.Finalizers = ptr.To(""), []string{"odd.example/wait"}
		},
	} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: oddMeta(name), Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany, corev1.ReadOnlyMany},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("12345678901")}},
		}}
		change(claim)
		claims := o.c.Client.CoreV1().PersistentVolumeClaims(o.ns)
		if _, err := claims.Create(background, claim, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		// A patch, not an update: the controller manager writes these claims' status meanwhile, and an update would conflict.
		if _, err := claims.Patch(background, name, types.MergePatchType, []byte(`{"status":{"conditions":[{"type":"Resizing","status":"True"}]}}`), metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.c.Client.CoreV1().PersistentVolumeClaims(o.ns).Delete(background, "leaving", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (o *oddObjects) attachments(t *testing.T) {
	t.Helper()
	attachments := o.c.Client.StorageV1().VolumeAttachments()
	for name, status := range map[string]storagev1.VolumeAttachmentStatus{
		"odd-attached": {Attached: true, AttachmentMetadata: map[string]string{"devicePath": "/dev/sdb", "disk.id": "1"}},
		"odd-failed":   {AttachError: &storagev1.VolumeError{Message: "no such \"disk\""}},
		"odd-stuck":    {Attached: true, DetachError: &storagev1.VolumeError{Message: "busy"}},
	} {
		a, err := attachments.Create(background, &storagev1.VolumeAttachment{ObjectMeta: oddMeta(name), Spec: storagev1.VolumeAttachmentSpec{
			Attacher: "odd.example", NodeName: "n", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To("odd-csi")},
		}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		a.Status = status
		if _, err := attachments.UpdateStatus(background, a, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// change changes fields that the tracker itself keeps, and fields that it does not.
func (o *oddObjects) change(t *testing.T) {
	t.Helper()
	o.patchVolume(t, "odd-nfs", `{"metadata":{"labels":{"app":"changed","new":"label"},"annotations":{"note":null}}}`)
	o.patchVolume(t, "odd-csi", `{"spec":{"capacity":{"storage":"3Gi"}}}`)
	if _, err := o.c.Client.CoreV1().PersistentVolumeClaims(o.ns).Patch(background, "pending", types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"odd":"annotation"},"labels":{"team-b":"y"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := o.c.Client.StorageV1().StorageClasses().Patch(background, "odd-late", types.MergePatchType, []byte(`{"metadata":{"labels":{"tier":"lead"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := o.c.Client.StorageV1().VolumeAttachments().Patch(background, "odd-attached", types.MergePatchType, []byte(`{"status":{"attached":false,"attachmentMetadata":null}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

func (o *oddObjects) patchVolume(t *testing.T, name, patch string) {
	t.Helper()
	if _, err := o.c.Client.CoreV1().PersistentVolumes().Patch(background, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// remove deletes one object of each kind.
func (o *oddObjects) remove(t *testing.T) {
	t.Helper()
	deleteClaim(t, o.c, o.ns, "doomed")
	for name, remove := range map[string]func() error{
		"a volume": func() error {
			return o.c.Client.CoreV1().PersistentVolumes().Delete(background, "odd-gce", metav1.DeleteOptions{})
		},
		"a class": func() error {
			return o.c.Client.StorageV1().StorageClasses().Delete(background, "odd-immediate", metav1.DeleteOptions{})
		},
		"an attachment": func() error {
			return o.c.Client.StorageV1().VolumeAttachments().Delete(background, "odd-failed", metav1.DeleteOptions{})
		},
	} {
		if err := remove(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	o.patchVolume(t, "odd-flex", `{"metadata":{"finalizers":null}}`)
}

// changeAway creates, changes and deletes volumes of a name of their own. One volume comes and goes.
func (o *oddObjects) changeAway(t *testing.T, name string) {
	t.Helper()
	o.volume(t, "brief-"+name, oddSources()["nfs"])
	o.volume(t, "stays-"+name, oddSources()["csi"])
	o.patchVolume(t, "odd-fc", fmt.Sprintf(`{"metadata":{"labels":{"app":%q}}}`, name))
	o.patchVolume(t, "stays-"+name, `{"metadata":{"labels":{"app":"late"}}}`)
	if err := o.c.Client.CoreV1().PersistentVolumes().Delete(background, "brief-"+name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := o.c.Client.CoreV1().PersistentVolumes().Delete(background, map[string]string{"stopped": "odd-ebs", "again": "odd-cephfs", "killed": "odd-azuredisk", "restarted": "odd-hostpath", "paged": "odd-azurefile"}[name], metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}
