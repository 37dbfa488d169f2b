package history

import (
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// resourceVersion is that of what is seen at a moment.
func resourceVersion(at fact.Time) string { return strconv.FormatInt(int64(at/second), 10) }

func apiTime(t fact.Time) metav1.Time { return metav1.NewTime(t.Time()) }

func (w *world) meta(uid, namespace, name string, created fact.Time) metav1.ObjectMeta {
	return metav1.ObjectMeta{UID: types.UID(uid), Namespace: namespace, Name: name, CreationTimestamp: apiTime(created), ResourceVersion: resourceVersion(w.clock)}
}

// annotations name an owner and groups. Both are free text there.
func (w *world) annotations(owner string, groups []string) map[string]string {
	return map[string]string{"kubevoltracker.io/owner": w.annotated[owner], "kubevoltracker.io/groups": strings.Join(groups, ",")}
}

func storage(size int64) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(size, resource.BinarySI)}
}

func (w *world) claimObject(c *claim) *corev1.PersistentVolumeClaim {
	o := &corev1.PersistentVolumeClaim{ObjectMeta: w.meta(c.uid, c.namespace, c.name, c.created)}
	o.Annotations = w.annotations(c.owner, c.groups)
	o.Spec = corev1.PersistentVolumeClaimSpec{StorageClassName: ptr.To(c.class), Resources: corev1.VolumeResourceRequirements{Requests: storage(c.requested)}}
	o.Spec.AccessModes = c.modes
	if c.asked != 0 {
		o.DeletionTimestamp, o.DeletionGracePeriodSeconds, o.Finalizers = ptr.To(apiTime(c.asked)), ptr.To[int64](0), []string{"kubernetes.io/pvc-protection"}
	}
	o.Status.Phase = corev1.PersistentVolumeClaimPhase(c.phase)
	if c.volume != nil {
		o.Spec.VolumeName = c.volume.name
	}
	if c.capacity != 0 {
		o.Status.Capacity = storage(c.capacity)
	}
	if w.saysUnused {
		condition := corev1.PersistentVolumeClaimCondition{Type: "Unused", Status: corev1.ConditionFalse}
		if c.unused != 0 {
			condition.Status, condition.LastTransitionTime = corev1.ConditionTrue, apiTime(c.unused)
		}
		o.Status.Conditions = append(o.Status.Conditions, condition)
	}
	if c.pod != nil {
		o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: c.pod.name, UID: types.UID(c.pod.uid), Controller: ptr.To(true)}}
	}
	return o
}

func (w *world) volumeObject(v *volume) *corev1.PersistentVolume {
	o := &corev1.PersistentVolume{ObjectMeta: w.meta(v.uid, "", v.name, v.created)}
	o.Spec = corev1.PersistentVolumeSpec{
		Capacity: storage(v.size), StorageClassName: v.class, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimPolicy(v.policy),
	}
	switch s := &o.Spec.PersistentVolumeSource; v.source.kind {
	case "csi":
		s.CSI = &corev1.CSIPersistentVolumeSource{Driver: v.source.driver, VolumeHandle: v.source.path}
	case "nfs":
		s.NFS = &corev1.NFSVolumeSource{Server: v.source.server, Path: v.source.path}
	case "local":
		s.Local = &corev1.LocalVolumeSource{Path: v.source.path}
	}
	if c := v.claim; c != nil {
		o.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: c.namespace, Name: c.name, UID: types.UID(c.uid)}
	}
	o.Spec.AccessModes = v.modes
	o.Spec.NodeAffinity = affinityObject(v.affinity)
	o.Status = corev1.PersistentVolumeStatus{Phase: corev1.PersistentVolumePhase(v.phase)}
	if !w.old {
		o.Status.LastPhaseTransitionTime = ptr.To(apiTime(v.phaseAt))
	}
	return o
}

func (w *world) podObject(p *pod) *corev1.Pod {
	o := &corev1.Pod{ObjectMeta: w.meta(p.uid, p.namespace, p.name, p.created)}
	o.Annotations = w.annotations(p.owner, p.groups)
	if p.kind != "" {
		kind, name := p.kind, p.workload
		if kind == "Deployment" {
			kind, name = "ReplicaSet", name+"-5d4"
		}
		o.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, UID: types.UID(kind + p.namespace + name), Controller: ptr.To(true)}}
	}
	if p.asked != 0 {
		o.DeletionTimestamp, o.DeletionGracePeriodSeconds = ptr.To(apiTime(p.asked+30*second)), ptr.To[int64](30)
	}
	o.Spec.NodeName, o.Spec.RestartPolicy = p.node, corev1.RestartPolicyNever
	if p.restarts {
		o.Spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	o.Status.Phase = corev1.PodPhase(p.phase)
	if p.scheduled != 0 {
		o.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: apiTime(p.scheduled)}}
	}
	for _, s := range p.stores {
		o.Spec.Volumes = append(o.Spec.Volumes, corev1.Volume{Name: s.name, VolumeSource: s.object()})
	}
	for _, c := range p.containers {
		spec := corev1.Container{Name: c.name, Image: "image"}
		for _, m := range c.mounts {
			spec.VolumeMounts = append(spec.VolumeMounts, corev1.VolumeMount{Name: p.stores[m.store].name, MountPath: m.path, ReadOnly: m.readOnly})
		}
		if c.kind == "init" {
			o.Spec.InitContainers = append(o.Spec.InitContainers, spec)
			o.Status.InitContainerStatuses = append(o.Status.InitContainerStatuses, c.status())
		} else {
			o.Spec.Containers = append(o.Spec.Containers, spec)
			o.Status.ContainerStatuses = append(o.Status.ContainerStatuses, c.status())
		}
	}
	return o
}

func (s store) object() corev1.VolumeSource {
	switch {
	case s.ephemeral:
		return corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}}}
	case s.claimName != "":
		return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: s.claimName}}
	case s.source.kind == "nfs":
		return corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: s.source.server, Path: s.source.path}}
	case s.source.kind == "hostPath":
		return corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: s.source.path}}
	}
	return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
}

func (c *container) status() corev1.ContainerStatus {
	s := corev1.ContainerStatus{Name: c.name}
	began := c.life.started
	if c.restarted != 0 {
		s.RestartCount = 1
		s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{StartedAt: apiTime(began), FinishedAt: apiTime(c.restarted - second), ExitCode: 1, Reason: "Error"}
		began = c.restarted
	}
	switch l := c.life; {
	case l.started == 0:
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	case l.end.at == 0:
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: apiTime(began)}
	default:
		s.State.Terminated = &corev1.ContainerStateTerminated{StartedAt: apiTime(began), FinishedAt: apiTime(l.end.at), Reason: "Completed"}
		if l.reason != "Completed" {
			s.State.Terminated.Reason, s.State.Terminated.ExitCode = "Error", 137
		}
	}
	return s
}

// listControllers adds the namespaces, the classes and all controllers to lists of objects.
func (w *world) listControllers(lists map[fact.Kind][]any) {
	add := func(kind fact.Kind, o any) { lists[kind] = append(lists[kind], o) }
	for _, class := range w.names.classes {
		if class != "" {
			add(fact.StorageClasses, &storagev1.StorageClass{ObjectMeta: w.meta("class-"+class, "", class, w.born), Provisioner: provisioner})
		}
	}
	controller := func(kind fact.Kind, namespace, name, of string) {
		o := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: string(kind)}, ObjectMeta: w.meta(string(kind)+namespace+name, namespace, name, w.born)}
		if of != "" {
			o.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment", Name: of, UID: types.UID("Deployment" + namespace + of), Controller: ptr.To(true)}}
		}
		add(kind, o)
	}
	for _, n := range w.names.namespaces {
		add(fact.Namespaces, &corev1.Namespace{ObjectMeta: w.meta("namespace-"+n, "", n, w.born)})
		for _, name := range w.names.workloads {
			set := &appsv1.StatefulSet{ObjectMeta: w.meta("StatefulSet"+n+name, n, name, w.born)}
			set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
			add(fact.StatefulSets, set)
			controller(fact.DaemonSets, n, name, "")
			controller(fact.Deployments, n, name, "")
			controller(fact.ReplicaSets, n, name+"-5d4", name)
		}
	}
}
