package loadgen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// Label is on all that a run makes. Its value is the ID of the run.
const Label = "kubevoltracker.io/loadgen"

// runSeconds makes the pods of deploy/localcluster end after so many seconds. A real container ends by its command.
const runSeconds = "localcluster.kubevoltracker.io/run-seconds"

// image has a shell that sleeps. Where kubelets are played, nobody fetches it.
const image = "busybox:1.37"

// names of one run.
type names string

func (n names) prefix() string { return "lg-" + string(n) + "-" }

// full returns the name of a planned object in the cluster.
func (n names) full(name string) string {
	if rest, ok := strings.CutPrefix(name, templatePrefix); ok {
		return templatePrefix + n.prefix() + rest
	}
	return n.prefix() + name
}

// has reports whether a name is one of the run's.
func (n names) has(name string) bool {
	return strings.HasPrefix(strings.TrimPrefix(name, templatePrefix), n.prefix())
}

// ofTemplate reports whether a claim was made from the template of one of the run's StatefulSets. Such a claim has no
// owner, but a name that begins with the set's.
func (n names) ofTemplate(kind string, object metav1.Object) bool {
	return kind == ClaimKind && len(object.GetOwnerReferences()) == 0 && strings.HasPrefix(object.GetName(), templatePrefix+n.prefix())
}

// ownedByName reports whether an object belongs to one with a name of the run.
func (n names) ownedByName(object metav1.Object) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return n.has(r.Name) })
}

// maker describes the objects of a run.
type maker struct {
	names
	namespace string
	owner     metav1.OwnerReference // of what is in the namespace
	root      metav1.OwnerReference // of volumes: the namespace
	class     string                // StorageClass that makes volumes for claims; empty if there is none
	driver    string                // of CSI volumes made by hand
	nodes     []string              // for local volumes
}

func (m *maker) labels() map[string]string { return map[string]string{Label: string(m.names)} }

func (m *maker) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: m.full(name), Namespace: m.namespace, Labels: m.labels(), OwnerReferences: []metav1.OwnerReference{m.owner}}
}

// object describes what a step creates.
func (m *maker) object(s *Step) runtime.Object {
	switch s.Kind {
	case VolumeKind:
		return m.volume(s)
	case ClaimKind:
		return m.claim(s)
	case JobKind:
		return m.job(s)
	case SetKind:
		return m.set(s)
	}
	return m.pod(s)
}

// classOf is the class of a cell's volumes: no StorageClass has that name, so that volumes and claims of the cell find
// each other, and nobody else.
func (m *maker) classOf(cell int) string { return m.full(strconv.Itoa(cell)) }

func storage(gib int) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(int64(gib)<<30, resource.BinarySI)}
}

func (m *maker) volume(s *Step) *corev1.PersistentVolume {
	meta := m.meta(s.Name)
	meta.Namespace, meta.OwnerReferences = "", []metav1.OwnerReference{m.root}
	v := &corev1.PersistentVolume{ObjectMeta: meta, Spec: corev1.PersistentVolumeSpec{
		Capacity:                      storage(s.GiB),
		AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		StorageClassName:              m.classOf(s.Cell),
	}}
	switch s.Source {
	case NFS:
		v.Spec.NFS = &corev1.NFSVolumeSource{Server: "nfs.loadgen.invalid", Path: "/exports/" + meta.Name}
	case ISCSI:
		v.Spec.ISCSI = &corev1.ISCSIPersistentVolumeSource{TargetPortal: "iscsi.loadgen.invalid:3260", IQN: "iqn.2026-01.invalid.loadgen:" + meta.Name, Lun: 1, FSType: "ext4"}
	case CSI:
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: m.driver, VolumeHandle: meta.Name, FSType: "ext4"}
	case Local:
		v.Spec.Local = &corev1.LocalVolumeSource{Path: "/mnt/" + meta.Name}
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{m.nodes[s.Cell%len(m.nodes)]}}},
		}}}}
	}
	return v
}

func (m *maker) claimSpec(s *Step) corev1.PersistentVolumeClaimSpec {
	class := m.classOf(s.Cell)
	if s.Dynamic {
		class = m.class
	}
	spec := corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class,
		AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:        corev1.VolumeResourceRequirements{Requests: storage(max(1, s.GiB))},
	}
	if s.Volume != "" {
		spec.VolumeName = m.full(s.Volume)
	}
	return spec
}

func (m *maker) claim(s *Step) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: m.meta(s.Name), Spec: m.claimSpec(s)}
}

func (m *maker) podSpec(s *Step) corev1.PodSpec {
	command := "sleep infinity"
	if s.Seconds > 0 {
		command = fmt.Sprintf("sleep %d", s.Seconds)
	}
	spec := corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		AutomountServiceAccountToken:  ptr.To(false),
		TerminationGracePeriodSeconds: ptr.To[int64](1),
		Containers: []corev1.Container{{
			Name: "main", Image: image, Command: []string{"sh", "-c", "exec " + command},
		}},
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	spec.Containers[0].SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	return spec
}

// addVolume adds a volume and its mount to a pod.
func addVolume(spec *corev1.PodSpec, name string, source corev1.VolumeSource) {
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	mount := corev1.VolumeMount{Name: name, MountPath: "/" + name}
	spec.Containers[0].VolumeMounts = append(spec.Containers[0].VolumeMounts, mount)
}

func (m *maker) podTemplate(s *Step) corev1.PodSpec {
	spec := m.podSpec(s)
	if s.Claim != "" {
		addVolume(&spec, "data", corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: m.full(s.Claim)}})
	}
	if s.Scratch {
		claim := m.claimSpec(&Step{Dynamic: true, GiB: 1})
		template := &corev1.PersistentVolumeClaimTemplate{ObjectMeta: metav1.ObjectMeta{Labels: m.labels()}, Spec: claim}
		addVolume(&spec, "scratch", corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: template}})
	}
	if len(spec.Volumes) == 0 {
		addVolume(&spec, "tmp", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	}
	return spec
}

func (m *maker) annotations(s *Step) map[string]string {
	if s.Seconds == 0 {
		return nil
	}
	return map[string]string{runSeconds: strconv.Itoa(s.Seconds)}
}

func (m *maker) pod(s *Step) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: m.meta(s.Name), Spec: m.podTemplate(s)}
	pod.Annotations = m.annotations(s)
	return pod
}

func (m *maker) job(s *Step) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: m.meta(s.Name), Spec: batchv1.JobSpec{
		BackoffLimit: ptr.To[int32](0),
		Template:     corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: m.labels(), Annotations: m.annotations(s)}, Spec: m.podTemplate(s)},
	}}
}

func (m *maker) set(s *Step) *appsv1.StatefulSet {
	selector := m.labels()
	selector["set"] = m.full(s.Name)
	spec := m.podSpec(s)
	spec.RestartPolicy = corev1.RestartPolicyAlways
	spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	retention := appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	if s.Reap {
		retention = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	return &appsv1.StatefulSet{ObjectMeta: m.meta(s.Name), Spec: appsv1.StatefulSetSpec{
		Replicas:             ptr.To(int32(s.Replicas)),
		ServiceName:          m.full(s.Name),
		PodManagementPolicy:  appsv1.ParallelPodManagement,
		Selector:             &metav1.LabelSelector{MatchLabels: selector},
		Template:             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector}, Spec: spec},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data", Labels: selector}, Spec: m.claimSpec(s)}},
		PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: retention, WhenScaled: retention,
		},
	}}
}
