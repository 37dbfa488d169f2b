package harness

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespace describes objects that are in it. It creates none.
type Namespace string

// Claim describes a claim of 1Gi. Those of the class nfs may be mounted by many nodes.
func (n Namespace) Claim(name, class string) *corev1.PersistentVolumeClaim {
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	if class == "nfs" {
		modes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	}
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: string(n)},
		Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: modes, Resources: Requesting("1Gi")},
	}
}

// ClaimFor describes a claim that asks for a volume by its name.
func (n Namespace) ClaimFor(name string, volume *corev1.PersistentVolume) *corev1.PersistentVolumeClaim {
	claim := n.Claim(name, volume.Spec.StorageClassName)
	claim.Spec.AccessModes = volume.Spec.AccessModes
	claim.Spec.VolumeName = volume.Name
	return claim
}

// Requesting returns the resources of a claim that requests a size.
func Requesting(size string) corev1.VolumeResourceRequirements {
	return corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}}
}

// NFSVolume describes a volume of 5Gi on an NFS export, as an administrator makes it by hand. It is retained.
func NFSVolume(name, export string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "filer", Path: export}},
		},
	}
}

// Pod describes a pod that mounts volumes at /NAME and runs until it is deleted.
func (n Namespace) Pod(name string, volumes ...corev1.Volume) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: string(n), Annotations: map[string]string{}}, Spec: PodSpec(volumes...)}
}

// Task describes a pod that runs for some seconds and completes.
func (n Namespace) Task(name, seconds string, volumes ...corev1.Volume) *corev1.Pod {
	pod := n.Pod(name, volumes...)
	pod.Annotations[RunSeconds] = seconds
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	return pod
}

// PodSpec describes the pod of one container that mounts volumes at /NAME.
func PodSpec(volumes ...corev1.Volume) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{Container("main", volumes...)}, Volumes: volumes}
}

// Container describes a container that mounts volumes at /NAME.
func Container(name string, volumes ...corev1.Volume) corev1.Container {
	c := corev1.Container{Name: name, Image: name + ":1"}
	for _, v := range volumes {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name})
	}
	return c
}

// ClaimVolume describes a pod's volume that is backed by a claim. The volume has the claim's name.
func ClaimVolume(claim string) corev1.Volume {
	return InlineVolume(claim, corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}})
}

// InlineVolume describes a pod's volume of any source.
func InlineVolume(name string, source corev1.VolumeSource) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: source}
}

// Ephemeral describes a pod's generic ephemeral volume.
func (n Namespace) Ephemeral(name, class string) corev1.Volume {
	return InlineVolume(name, corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: n.Claim("", class).Spec},
	}})
}

// PodTemplate describes the pods of a workload. They have the label app.
func PodTemplate(app string, spec corev1.PodSpec) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}, Annotations: map[string]string{}}, Spec: spec}
}

// Selector selects the pods of PodTemplate.
func Selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

// StatefulSet describes a StatefulSet whose claims are named data.
func (n Namespace) StatefulSet(name, class string, replicas int32, spec corev1.PodSpec) *appsv1.StatefulSet {
	claim := n.Claim("data", class)
	claim.Namespace = ""
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: string(n)},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, ServiceName: name, Selector: Selector(name), Template: PodTemplate(name, spec),
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{*claim},
		},
	}
}

// Deployment describes a Deployment.
func (n Namespace) Deployment(name string, replicas int32, spec corev1.PodSpec) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: string(n)},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: Selector(name), Template: PodTemplate(name, spec)},
	}
}

// Job describes a Job.
func (n Namespace) Job(name string, spec corev1.PodSpec) *batchv1.Job {
	if spec.RestartPolicy == "" {
		spec.RestartPolicy = corev1.RestartPolicyNever
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: string(n)},
		Spec:       batchv1.JobSpec{Template: PodTemplate(name, spec)},
	}
}

// Unplaced describes a pod that fits no node.
func (n Namespace) Unplaced(name string, volumes ...corev1.Volume) *corev1.Pod {
	pod := n.Pod(name, volumes...)
	pod.Spec.NodeSelector = map[string]string{"no": "where"}
	return pod
}

// Slow describes a pod that gets a node, and whose containers do not start within ten minutes.
func (n Namespace) Slow(name string, volumes ...corev1.Volume) *corev1.Pod {
	pod := n.Pod(name, volumes...)
	pod.Annotations[startSeconds] = "600"
	return pod
}
