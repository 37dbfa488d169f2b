package redact

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// podSpec keeps the volumes that are storage, and which containers mount them where. It returns the
// names of these volumes as well.
func podSpec(s *corev1.PodSpec) (corev1.PodSpec, volumeNames) {
	s.Volumes = slices.DeleteFunc(s.Volumes, configuration)
	for i := range s.Volumes {
		podVolume(&s.Volumes[i])
	}
	kept := namesOf(s.Volumes)
	for i := range s.InitContainers {
		container(&s.InitContainers[i], kept)
	}
	for i := range s.Containers {
		container(&s.Containers[i], kept)
	}
	for i := range s.EphemeralContainers {
		c := corev1.Container(s.EphemeralContainers[i].EphemeralContainerCommon)
		container(&c, kept)
		s.EphemeralContainers[i] = corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon(c)}
	}
	return corev1.PodSpec{
		Volumes: s.Volumes, InitContainers: s.InitContainers, Containers: s.Containers, EphemeralContainers: s.EphemeralContainers,
		RestartPolicy: s.RestartPolicy, ServiceAccountName: s.ServiceAccountName, NodeName: s.NodeName,
	}, kept
}

// configuration reports whether a volume brings configuration into a pod. Its source names Secrets
// and ConfigMaps, and its own name often repeats theirs.
func configuration(v corev1.Volume) bool {
	return v.Secret != nil || v.ConfigMap != nil || v.Projected != nil || v.DownwardAPI != nil
}

func podVolume(v *corev1.Volume) {
	switch {
	case v.PersistentVolumeClaim != nil:
		c := v.PersistentVolumeClaim
		cutNames(&c.ClaimName)
		*c = corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.ClaimName, ReadOnly: c.ReadOnly}
		*v = corev1.Volume{Name: v.Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: c}}
	case v.Ephemeral != nil:
		e := v.Ephemeral
		if t := e.VolumeClaimTemplate; t != nil {
			*t = corev1.PersistentVolumeClaimTemplate{Spec: claimSpec(&t.Spec)}
		}
		*e = corev1.EphemeralVolumeSource{VolumeClaimTemplate: e.VolumeClaimTemplate}
		*v = corev1.Volume{Name: v.Name, VolumeSource: corev1.VolumeSource{Ephemeral: e}}
	default:
		source(&v.VolumeSource)
		*v = corev1.Volume{Name: v.Name, VolumeSource: v.VolumeSource}
	}
}

// container keeps the mounts of the volumes, and of the command its first word alone.
func container(c *corev1.Container, kept volumeNames) {
	c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return !kept.has(m.Name) })
	for i := range c.VolumeMounts {
		m := &c.VolumeMounts[i]
		*m = corev1.VolumeMount{
			Name: m.Name, ReadOnly: m.ReadOnly, RecursiveReadOnly: m.RecursiveReadOnly, MountPath: Text(m.MountPath),
			SubPath: Text(m.SubPath), SubPathExpr: Text(m.SubPathExpr),
		}
	}
	c.VolumeDevices = slices.DeleteFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool { return !kept.has(d.Name) })
	for i := range c.VolumeDevices {
		d := &c.VolumeDevices[i]
		*d = corev1.VolumeDevice{Name: d.Name, DevicePath: Text(d.DevicePath)}
	}
	for i := range c.RestartPolicyRules {
		r := &c.RestartPolicyRules[i]
		if codes := r.ExitCodes; codes != nil {
			*codes = corev1.ContainerRestartRuleOnExitCodes{Operator: codes.Operator, Values: codes.Values}
		}
		*r = corev1.ContainerRestartRule{Action: r.Action, ExitCodes: r.ExitCodes}
	}
	*c = corev1.Container{
		Name: c.Name, Image: Text(c.Image), Command: program(c.Command), RestartPolicy: c.RestartPolicy,
		RestartPolicyRules: c.RestartPolicyRules, VolumeMounts: c.VolumeMounts, VolumeDevices: c.VolumeDevices,
	}
}

// fewVolumes is the number of volumes up to which a scan finds a name as fast as a map does. Nearly all
// pods have fewer, so that no map is made for them at each event.
const fewVolumes = 16

// volumeNames are the names of a pod's volumes. A pod can have ten thousand volumes and as many mounts:
// a scan of all volumes for each mount would take 0.3 s at each of its events.
type volumeNames struct {
	volumes []corev1.Volume
	set     map[string]struct{} // nil if there are at most fewVolumes
}

func namesOf(volumes []corev1.Volume) volumeNames {
	names := volumeNames{volumes: volumes}
	if len(volumes) > fewVolumes {
		names.set = make(map[string]struct{}, len(volumes))
		for i := range volumes {
			names.set[volumes[i].Name] = struct{}{}
		}
	}
	return names
}

func (n volumeNames) has(name string) bool {
	if n.set != nil {
		_, ok := n.set[name]
		return ok
	}
	for i := range n.volumes {
		if n.volumes[i].Name == name {
			return true
		}
	}
	return false
}

// program keeps of a command the program, and neither its arguments nor what stands in its place: a
// whole command line in one text, or an assignment before the program.
func program(command []string) []string {
	if len(command) == 0 {
		return nil
	}
	clear(command[1:]) // the array stays in memory
	if command[0] = Program(command[0]); command[0] == "" {
		return nil
	}
	return command[:1:1]
}

// Program returns the program of a command's first text; empty if that is no program.
func Program(first string) string {
	if end := strings.IndexAny(first, " \t\r\n"); end >= 0 {
		first = first[:end]
	}
	if strings.HasPrefix(first, "-") || strings.IndexByte(first, '=') >= 0 {
		return ""
	}
	return Text(first)
}

// podStatus keeps what dates a pod's beginning and end, without messages, which have the last lines
// of a container's log in them or name other pods.
func podStatus(s *corev1.PodStatus, kept volumeNames) corev1.PodStatus {
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c corev1.PodCondition) bool {
		return c.Type != corev1.PodScheduled && c.Type != corev1.DisruptionTarget && c.Type != corev1.PodReady
	})
	for i := range s.Conditions {
		c := &s.Conditions[i]
		*c = corev1.PodCondition{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime, Reason: Text(c.Reason)}
	}
	return corev1.PodStatus{
		Phase: s.Phase, Reason: Text(s.Reason), StartTime: s.StartTime, Conditions: s.Conditions,
		InitContainerStatuses: statuses(s.InitContainerStatuses, kept), ContainerStatuses: statuses(s.ContainerStatuses, kept),
		EphemeralContainerStatuses: statuses(s.EphemeralContainerStatuses, kept),
	}
}

// statuses keeps the times at which containers ran, and how.
func statuses(list []corev1.ContainerStatus, kept volumeNames) []corev1.ContainerStatus {
	for i := range list {
		s := &list[i]
		s.VolumeMounts = slices.DeleteFunc(s.VolumeMounts, func(m corev1.VolumeMountStatus) bool { return !kept.has(m.Name) })
		for j := range s.VolumeMounts {
			m := &s.VolumeMounts[j]
			*m = corev1.VolumeMountStatus{Name: m.Name, MountPath: Text(m.MountPath), ReadOnly: m.ReadOnly, RecursiveReadOnly: m.RecursiveReadOnly}
		}
		*s = corev1.ContainerStatus{
			Name: s.Name, State: state(s.State), LastTerminationState: state(s.LastTerminationState), RestartCount: s.RestartCount,
			VolumeMounts: s.VolumeMounts,
		}
	}
	return list
}

func state(s corev1.ContainerState) corev1.ContainerState {
	if w := s.Waiting; w != nil {
		*w = corev1.ContainerStateWaiting{Reason: Text(w.Reason)}
	}
	if r := s.Running; r != nil {
		*r = corev1.ContainerStateRunning{StartedAt: r.StartedAt}
	}
	if t := s.Terminated; t != nil {
		*t = corev1.ContainerStateTerminated{ExitCode: t.ExitCode, Signal: t.Signal, Reason: Text(t.Reason), StartedAt: t.StartedAt, FinishedAt: t.FinishedAt}
	}
	return corev1.ContainerState{Waiting: s.Waiting, Running: s.Running, Terminated: s.Terminated}
}
