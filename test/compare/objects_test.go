package compare

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// What the comparison is made on: object number i of each kind, as a StatefulSet's
// controller, a CSI provisioner and a kubelet leave them. A hundred of them are a namespace.

const (
	benchDriver = "pd.csi.example.com"
	benchClass  = "standard"
)

func benchNamespace(i int) string { return fmt.Sprintf("team-%04d", i/100) }

// benchVolumeName ends in the number, for benchVolumeNumber to find.
func benchVolumeName(i int) string { return fmt.Sprintf("pvc-5c3e1a2b-4f6a-4d0b-8f1e-%012d", i) }

func benchClassObject() *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: benchClass}, Provisioner: benchDriver}
}

func benchSet(namespace string) *appsv1.StatefulSet {
	labels := map[string]string{"app.kubernetes.io/name": "db"}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "db"},
		Spec: appsv1.StatefulSetSpec{
			ServiceName: "db",
			Selector:    &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Image: "registry.example.com/db:16.4"}}},
			},
		},
	}
}

func benchClaim(i int) *corev1.PersistentVolumeClaim {
	class, mode, size := benchClass, corev1.PersistentVolumeFilesystem, corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: benchNamespace(i), Name: fmt.Sprint("data-db-", i),
			Labels: map[string]string{"app.kubernetes.io/name": "db", "app.kubernetes.io/instance": fmt.Sprint("db-", i)},
			Annotations: map[string]string{
				"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes",
				"volume.beta.kubernetes.io/storage-provisioner": benchDriver, "volume.kubernetes.io/storage-provisioner": benchDriver,
			},
			Finalizers: []string{"kubernetes.io/pvc-protection"},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, VolumeName: benchVolumeName(i),
			StorageClassName: &class, VolumeMode: &mode, Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
		Status: corev1.PersistentVolumeClaimStatus{
			Phase: corev1.ClaimBound, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: size,
		},
	}
}

func benchVolume(i int, claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	mode := corev1.PersistentVolumeFilesystem
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name: benchVolumeName(i),
			Annotations: map[string]string{
				"pv.kubernetes.io/provisioned-by":                            benchDriver,
				"volume.kubernetes.io/provisioner-deletion-secret-name":      "",
				"volume.kubernetes.io/provisioner-deletion-secret-namespace": "",
			},
			Finalizers: []string{"external-provisioner.volume.kubernetes.io/finalizer", "kubernetes.io/pv-protection"},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")},
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: benchDriver, VolumeHandle: fmt.Sprintf("projects/example/zones/a/disks/disk-%016x", i), FSType: "ext4",
				VolumeAttributes: map[string]string{"storage.kubernetes.io/csiProvisionerIdentity": "1700000000000-8081-" + benchDriver},
			}},
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID, ResourceVersion: "1",
			},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			StorageClassName:              benchClass,
			VolumeMode:                    &mode,
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"zone-a"}}},
			}}}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}
}

// benchAttachment is what a CSI attacher leaves.
func benchAttachment(i int) *storagev1.VolumeAttachment {
	volume := benchVolumeName(i)
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{
			Name:        fmt.Sprintf("csi-%064x", i),
			Annotations: map[string]string{"csi.alpha.kubernetes.io/node-id": fmt.Sprint("projects/example/zones/a/instances/node-", i%50)},
			Finalizers:  []string{"external-attacher/pd-csi-example-com"},
		},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: benchDriver, NodeName: fmt.Sprint("node-", i%50), Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume},
		},
		Status: storagev1.VolumeAttachmentStatus{Attached: true},
	}
}

// benchPod has two containers that mount the claim, and runs.
func benchPod(i int, owner types.UID) *corev1.Pod {
	container := func(name string, port int32) corev1.Container {
		quantities := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("256Mi")}
		return corev1.Container{
			Name: name, Image: "registry.example.com/" + name + ":16.4", Command: []string{"/usr/bin/" + name},
			Args:           []string{"--config=/etc/" + name + "/config.yaml", "--log-level=info"},
			Ports:          []corev1.ContainerPort{{Name: name, ContainerPort: port, Protocol: corev1.ProtocolTCP}},
			Env:            []corev1.EnvVar{{Name: "DATA", Value: "/var/lib/db"}, {Name: "MODE", Value: "primary"}, {Name: "INSTANCE", Value: fmt.Sprint("db-", i)}},
			Resources:      corev1.ResourceRequirements{Requests: quantities, Limits: quantities},
			VolumeMounts:   []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/db"}},
			ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(port)}}},
		}
	}
	yes := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: benchNamespace(i), Name: fmt.Sprint("db-", i), GenerateName: "db-",
			Labels: map[string]string{
				"app.kubernetes.io/name": "db", "app.kubernetes.io/instance": fmt.Sprint("db-", i),
				"controller-revision-hash": "db-7d9f8c6b5", "statefulset.kubernetes.io/pod-name": fmt.Sprint("db-", i),
			},
			Annotations:     map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "9187"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: owner, Controller: &yes, BlockOwnerDeletion: &yes}},
		},
		Spec: corev1.PodSpec{
			NodeName: fmt.Sprint("node-", i%50), Hostname: fmt.Sprint("db-", i), Subdomain: "db",
			Containers: []corev1.Container{container("db", 5432), container("backup", 9187)},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprint("data-db-", i)},
			}}},
		},
		Status: benchPodStatus(i, time.Now().Add(-time.Hour)),
	}
}

func benchPodStatus(i int, since time.Time) corev1.PodStatus {
	at := metav1.NewTime(since.Truncate(time.Second))
	status := corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &at, QOSClass: corev1.PodQOSGuaranteed, HostIP: "10.64.0.1",
		PodIP: fmt.Sprintf("10.%d.%d.%d", 128+i>>16, i>>8&0xff, i&0xff),
	}
	for _, t := range []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
	for _, name := range []string{"db", "backup"} {
		started := true
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, Ready: true, Started: &started, Image: "registry.example.com/" + name + ":16.4",
			ImageID:     "registry.example.com/" + name + "@sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
			ContainerID: fmt.Sprintf("containerd://%s%060x", name[:2], i),
			State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}},
		})
	}
	return status
}

// flipReadiness is what a kubelet's probe does to a pod: an update that is of no interest
// to storage.
func flipReadiness(p *corev1.Pod) {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
			c.Status = map[bool]corev1.ConditionStatus{true: corev1.ConditionFalse, false: corev1.ConditionTrue}[c.Status == corev1.ConditionTrue]
			c.LastTransitionTime = metav1.Now()
		}
	}
	s := &p.Status.ContainerStatuses[0]
	s.Ready = !s.Ready
}
