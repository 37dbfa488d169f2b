package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
)

//go:embed objects/*.yaml
var objects embed.FS

// createRoles gives kwok and the storage process their rights, before they start.
func createRoles(ctx context.Context, client kubernetes.Interface) error {
	return createObjects(ctx, client, "objects/roles.yaml")
}

// createClasses creates the storage classes and the CSI driver behind them.
func createClasses(ctx context.Context, client kubernetes.Interface) error {
	return createObjects(ctx, client, "objects/classes.yaml")
}

// createObjects creates those objects of an embedded file that are not there yet: in a
// resumed cluster they are, and may have been changed on purpose.
func createObjects(ctx context.Context, client kubernetes.Interface, file string) error {
	data, err := objects.ReadFile(file)
	if err != nil {
		return err
	}
	for _, document := range bytes.Split(data, []byte("\n---\n")) {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := create(ctx, client, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func create(ctx context.Context, client kubernetes.Interface, object runtime.Object) (err error) {
	options := metav1.CreateOptions{FieldManager: "localcluster"}
	switch o := object.(type) {
	case *corev1.Node:
		_, err = client.CoreV1().Nodes().Create(ctx, o, options)
	case *rbacv1.ClusterRole:
		_, err = client.RbacV1().ClusterRoles().Create(ctx, o, options)
	case *rbacv1.ClusterRoleBinding:
		_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, o, options)
	case *storagev1.StorageClass:
		_, err = client.StorageV1().StorageClasses().Create(ctx, o, options)
	case *storagev1.CSIDriver:
		_, err = client.StorageV1().CSIDrivers().Create(ctx, o, options)
	case *storagev1.CSINode:
		_, err = client.StorageV1().CSINodes().Create(ctx, o, options)
	default:
		err = fmt.Errorf("no way to create a %T", object)
	}
	return err
}

// createNodes registers node-1 to node-n, spread over three zones of one region, as
// their kubelets would: with the CSI driver on each of them.
func createNodes(ctx context.Context, client kubernetes.Interface, n int) error {
	for i := 1; i <= n; i++ {
		name := fmt.Sprintf("node-%d", i)
		zone := fmt.Sprintf("zone-%c", 'a'+(i-1)%3)
		for _, object := range []runtime.Object{newNode(name, zone), newCSINode(name)} {
			if err := create(ctx, client, object); err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("node %s: %w", name, err)
			}
		}
	}
	return nil
}

// kwokInstanceType is the instance type of the nodes that kwok looks after.
const kwokInstanceType = "kwok"

func newNode(name, zone string) *corev1.Node {
	// Room for every pod that a test makes; storage is what is looked at here.
	room := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("256"),
		corev1.ResourceMemory:           resource.MustParse("1Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("10Ti"),
		corev1.ResourcePods:             resource.MustParse("10000"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:           name,
				corev1.LabelOSStable:           "linux",
				corev1.LabelArchStable:         "amd64",
				corev1.LabelTopologyZone:       zone,
				corev1.LabelTopologyRegion:     "local",
				corev1.LabelInstanceTypeStable: kwokInstanceType,
			},
			Annotations: map[string]string{
				// Without it the attach-detach controller leaves a node alone.
				"volumes.kubernetes.io/controller-managed-attach-detach": "true",
			},
		},
		Status: corev1.NodeStatus{
			Capacity:    room,
			Allocatable: room,
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion:  kubernetesVersion(),
				OperatingSystem: "linux",
				Architecture:    "amd64",
			},
		},
	}
}

// createKubeletNode registers the node of the real kubelet. A kubelet that registers
// itself finds an address for its node, and refuses a loopback address; one
// with --cloud-provider=external takes the node, and the address, as they are.
func createKubeletNode(ctx context.Context, client kubernetes.Interface) error {
	node := newNode(kubeletNode, "zone-a")
	node.Labels[corev1.LabelInstanceTypeStable] = "kubelet"
	// Its pods are those that ask for it: what runs there never ends by itself.
	node.Spec.Taints = []corev1.Taint{{Key: kubeletTaint, Effect: corev1.TaintEffectNoSchedule}}
	node.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: "127.0.0.1"},
		{Type: corev1.NodeHostName, Address: kubeletNode},
	}
	if err := create(ctx, client, node); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("node %s: %w", kubeletNode, err)
	}
	return nil
}

func newCSINode(name string) *storagev1.CSINode {
	return &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
			Name:         csiDriver,
			NodeID:       name,
			TopologyKeys: []string{corev1.LabelTopologyZone},
		}}},
	}
}
