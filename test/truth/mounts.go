package truth

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// addPod adds the rows of a pod, its containers and its mounts.
func (t *Truth) addPod(l *life[*corev1.Pod]) {
	o := l.last().object
	row := map[string]cell{
		"namespace": text(o.Namespace), "name": text(o.Name), "phase": text(o.Status.Phase),
		"created_at": exactly(o.CreationTimestamp.Time), "deleted_at": l.observed(l.removed()), "started_at": absent,
	}
	var started containerUse // of the container that started first
	for _, c := range containersOf(o) {
		if r, begun := useOf(l, c.Name); begun && (started.start.IsZero() || r.number < started.number) {
			started = r
			row["started_at"] = exactly(r.start)
		}
	}
	t.Facts.put("pod", []any{o.UID}, row)
	for _, c := range containersOf(o) {
		r, begun := useOf(l, c.Name)
		t.addContainer(o, &c, r, begun)
		if begun {
			if unreported(r.end) {
				r.exact = text(0)
			}
			t.addMounts(o, &c, r, started.number)
		}
	}
}

// addContainer adds the row of a container.
func (t *Truth) addContainer(pod *corev1.Pod, c *corev1.Container, r containerUse, begun bool) {
	row := map[string]cell{"image": text(c.Image), "started_at": absent, "finished_at": absent, "restarts": text(0)}
	if s := statusOf(pod, c.Name); s != nil {
		row["restarts"] = text(s.RestartCount)
	}
	if begun {
		row["started_at"], row["finished_at"] = exactly(r.start), r.end
	}
	t.Facts.put("container", []any{pod.UID, c.Name}, row)
}

// addMounts adds the rows of what a container mounts. The pod's first start decides which claim that is.
func (t *Truth) addMounts(pod *corev1.Pod, c *corev1.Container, r containerUse, podStarted uint64) {
	add := func(volume, path string, row map[string]cell) {
		i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == volume })
		if !isStorage(pod.Spec.Volumes[i]) {
			return
		}
		row["started_at"], row["ended_at"], row["ended_not_before"], row["exact"] = exactly(r.start), r.end, r.end, r.exact
		if r.exact == text(0) {
			row["ended_not_before"] = cell{from: r.start, to: r.end.to}
		}
		t.addSource(pod, &pod.Spec.Volumes[i], row, podStarted)
		t.Facts.put("mount", []any{pod.UID, c.Name, volume, path}, row)
	}
	for _, m := range c.VolumeMounts {
		add(m.Name, m.MountPath, map[string]cell{"read_only": text(m.ReadOnly), "block_device": text(false), "sub_path": text(m.SubPath)})
	}
	for _, d := range c.VolumeDevices {
		add(d.Name, d.DevicePath, map[string]cell{"read_only": text(false), "block_device": text(true), "sub_path": text("")})
	}
}

// addSource fills in what is behind a pod's volume: the claim, its volume and the kind of storage.
func (t *Truth) addSource(pod *corev1.Pod, volume *corev1.Volume, row map[string]cell, podStarted uint64) {
	kind, readOnly, claimName, claimUID, volumeUID := "", false, "", types.UID(""), types.UID("")
	switch {
	case volume.PersistentVolumeClaim != nil:
		claimName, readOnly = volume.PersistentVolumeClaim.ClaimName, volume.PersistentVolumeClaim.ReadOnly
	case volume.Ephemeral != nil:
		claimName = pod.Name + "-" + volume.Name
	default:
		kind, readOnly = kindInLine(volume)
	}
	if claim := t.claimAt(pod, claimName, podStarted); claim != nil {
		claimUID = claim.UID
		if s := t.boundTo(claimUID, podStarted); s != nil {
			volumeUID = s.volume
			v := t.log.volumes[s.volume].last().object
			kind = kindOfVolume(v)
			readOnly = readOnly || (v.Spec.NFS != nil && v.Spec.NFS.ReadOnly) || (v.Spec.CSI != nil && v.Spec.CSI.ReadOnly)
		}
	}
	row["source_kind"], row["claim_name"], row["claim_uid"], row["volume_uid"] = text(kind), text(claimName), text(claimUID), text(volumeUID)
	if readOnly {
		row["read_only"] = text(true)
	}
}

// claimAt returns the claim that had a name when a pod started: the youngest that had been created by then.
func (t *Truth) claimAt(pod *corev1.Pod, name string, number uint64) *corev1.PersistentVolumeClaim {
	var youngest *life[*corev1.PersistentVolumeClaim]
	for _, l := range t.log.claims {
		if o := l.last().object; o.Namespace == pod.Namespace && o.Name == name && l.first().number < number &&
			(youngest == nil || l.first().number > youngest.first().number) {
			youngest = l
		}
	}
	if youngest == nil {
		return nil
	}
	return youngest.last().object
}

// isStorage is true for all volumes but those of configuration.
func isStorage(v corev1.Volume) bool {
	return v.Projected == nil && v.Secret == nil && v.ConfigMap == nil && v.DownwardAPI == nil
}

// kindInLine returns the kind of a volume's storage that the pod itself names, of the kinds that the tests use, and
// whether it is read-only whatever the container says.
func kindInLine(v *corev1.Volume) (kind string, readOnly bool) {
	switch {
	case v.EmptyDir != nil:
		return "emptyDir", false
	case v.HostPath != nil:
		return "hostPath", false
	case v.NFS != nil:
		return "nfs", v.NFS.ReadOnly
	case v.ISCSI != nil:
		return "iscsi", v.ISCSI.ReadOnly
	case v.CSI != nil:
		return "csi", v.CSI.ReadOnly != nil && *v.CSI.ReadOnly
	case v.Image != nil:
		return "image", true
	}
	return "?", false
}
