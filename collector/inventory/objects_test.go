package inventory

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// The tests' clock counts seconds from here.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func second(n int) metav1.Time { return metav1.NewTime(epoch.Add(time.Duration(n) * time.Second)) }
func at(n int) fact.Time       { return apiTime(second(n)) }

func objectMeta(namespace, name, uid string, created int) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid), CreationTimestamp: second(created)}
}

// pvc makes a claim; volume is the name of its volume, empty while it is Pending.
func pvc(name, uid string, created int, volume string) *corev1.PersistentVolumeClaim {
	o := &corev1.PersistentVolumeClaim{
		ObjectMeta: objectMeta("shop", name, uid, created),
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: new("fast"),
			VolumeName:       volume,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")},
			},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
	if volume != "" {
		o.Status.Phase = corev1.ClaimBound
		o.Status.Capacity = o.Spec.Resources.Requests
	}
	return o
}

// pv makes a volume on NFS; phases change at the given second.
func pv(name, uid string, created int, claim *corev1.PersistentVolumeClaim, phase corev1.PersistentVolumePhase, changed int) *corev1.PersistentVolume {
	changedAt := second(changed)
	o := &corev1.PersistentVolume{
		ObjectMeta: objectMeta("", name, uid, created),
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName:              "fast",
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				NFS: &corev1.NFSVolumeSource{Server: "filer.example", Path: "/exports/" + name},
			},
		},
		Status: corev1.PersistentVolumeStatus{Phase: phase, LastPhaseTransitionTime: &changedAt},
	}
	if claim != nil {
		o.Spec.ClaimRef = &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
	}
	return o
}

// podOf makes a pod whose containers each mount all the claims at /NAME.
func podOf(name, uid string, created int, containers []string, claims ...string) *corev1.Pod {
	o := &corev1.Pod{
		ObjectMeta: objectMeta("shop", name, uid, created),
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways, NodeName: "node-1"},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
	var mounts []corev1.VolumeMount
	for i, claim := range claims {
		volume := fmt.Sprintf("vol-%d", i)
		o.Spec.Volumes = append(o.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
		mounts = append(mounts, corev1.VolumeMount{Name: volume, MountPath: "/" + claim})
	}
	for _, c := range containers {
		o.Spec.Containers = append(o.Spec.Containers, corev1.Container{Name: c, Image: "img:1", VolumeMounts: mounts})
	}
	return o
}

// running returns a copy of a pod whose containers all run since the given
// second.
func running(o *corev1.Pod, since int) *corev1.Pod {
	o = o.DeepCopy()
	o.Status.Phase = corev1.PodRunning
	o.Status.ContainerStatuses = nil
	for _, c := range o.Spec.Containers {
		o.Status.ContainerStatuses = append(o.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: second(since)}},
		})
	}
	return o
}

// ended returns a copy of a pod whose containers all ended at the given second.
func ended(o *corev1.Pod, phase corev1.PodPhase, since, until int, exitCode int32, reason string) *corev1.Pod {
	o = running(o, since)
	o.Status.Phase = phase
	for i := range o.Status.ContainerStatuses {
		o.Status.ContainerStatuses[i].State = terminated(since, until, exitCode, reason)
	}
	return o
}

func terminated(since, until int, exitCode int32, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		StartedAt: second(since), FinishedAt: second(until), ExitCode: exitCode, Reason: reason,
	}}
}

func storageClass(name, uid string) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: objectMeta("", name, uid, 0), Provisioner: "nfs.example"}
}

// history is what the catalog would hold: the last row of each key.
type history struct {
	classes    map[string]fact.StorageClass
	sources    map[string]fact.VolumeSource
	volumes    map[string]fact.Volume
	claims     map[string]fact.Claim
	pods       map[string]fact.Pod
	containers map[[2]string]fact.Container
	mounts     map[[4]string]fact.Mount
	uses       map[string]fact.VolumeUse
	rowsOf     map[string]fact.VolumeStateRow // by volume
	bindings   map[[2]string]fact.Binding
	changes    map[string]fact.Change
	states     map[string]fact.VolumeState
	claimState map[string]fact.ClaimState

	namespaces  map[string]fact.Namespace
	attachments map[string]fact.Attachment
	waits       map[string]fact.AttachmentState
	capacities  []fact.StorageCapacity
	objects     []fact.Object
	rows        int
}

func newHistory() *history {
	return &history{
		classes: map[string]fact.StorageClass{}, sources: map[string]fact.VolumeSource{}, volumes: map[string]fact.Volume{},
		claims: map[string]fact.Claim{}, pods: map[string]fact.Pod{}, containers: map[[2]string]fact.Container{}, mounts: map[[4]string]fact.Mount{},
		uses: map[string]fact.VolumeUse{}, rowsOf: map[string]fact.VolumeStateRow{}, bindings: map[[2]string]fact.Binding{}, changes: map[string]fact.Change{}, states: map[string]fact.VolumeState{},
		claimState: map[string]fact.ClaimState{}, namespaces: map[string]fact.Namespace{}, attachments: map[string]fact.Attachment{},
		waits: map[string]fact.AttachmentState{},
	}
}

// take adds what an inventory has to tell, without the versions: they differ
// with the order of events.
func (h *history) take(inv *Inventory) {
	var u fact.Update
	inv.Take(&u)
	h.add(&u)
}

func (h *history) add(u *fact.Update) {
	f := &u.Facts
	h.rows += f.Len()
	for _, r := range f.Namespaces {
		r.Version = 0
		h.namespaces[r.UID] = r
	}
	for _, r := range f.Attachments {
		r.Version = 0
		h.attachments[r.UID] = r
	}
	h.capacities = append(h.capacities, f.StorageCapacity...)
	h.objects = append(h.objects, f.Objects...)
	for _, r := range f.StorageClasses {
		r.Version = 0
		h.classes[r.UID] = r
	}
	for _, r := range f.VolumeSources {
		r.Version = 0
		h.sources[r.ID] = r
	}
	for _, r := range f.Volumes {
		r.Version = 0
		h.volumes[r.UID] = r
	}
	for _, r := range f.Claims {
		r.Version = 0
		h.claims[r.UID] = r
	}
	for _, r := range f.Pods {
		r.Version = 0
		h.pods[r.UID] = r
	}
	for _, r := range f.Containers {
		r.Version = 0
		h.containers[[2]string{r.PodUID, r.Name}] = r
	}
	for _, r := range f.Mounts {
		r.Version = 0
		h.mounts[[4]string{r.PodUID, r.Container, r.Volume, r.MountPath}] = r
	}
	h.addUses(f.VolumeUses)
	h.addStates(f.VolumeStates)
	for _, r := range f.Bindings {
		r.Version = 0
		key := [2]string{r.ClaimUID, r.VolumeUID}
		if r.Ordinal > 0 {
			key[1] += fmt.Sprint("/", r.Ordinal)
		}
		h.bindings[key] = r
	}
	for _, r := range f.Changes {
		h.changes[fmt.Sprint(r.Kind, r.UID, r.At, r.Action, r.Details)] = r
	}
	h.addPresent(u)
}

// addPresent adds the present states.
func (h *history) addPresent(u *fact.Update) {
	for _, s := range u.Attachments {
		h.waits[s.UID] = s
	}
	for _, s := range u.Volumes {
		h.states[s.UID] = s
	}
	for _, s := range u.Claims {
		h.claimState[s.UID] = s
	}
}

// mount returns the mount of a container as text, for tables: claim@volume start-end reason, in seconds; empty if there is none.
func (h *history) mount(pod, container, path string) string {
	for key, m := range h.mounts {
		if key[0] != pod || key[1] != container || m.MountPath != path {
			continue
		}
		s := fmt.Sprintf("%s@%s %d-", m.ClaimUID, m.VolumeUID, int(m.StartedAt-at(0))/1e6)
		if m.EndedAt != 0 {
			s += fmt.Sprint(int(m.EndedAt-at(0)) / 1e6)
			if m.EndedNotBefore != m.EndedAt {
				s += fmt.Sprintf("(from %d)", int(m.EndedNotBefore-at(0))/1e6)
			}
			s += " " + m.EndReason
		}
		return s
	}
	return ""
}

func (h *history) addUses(rows []fact.VolumeUse) {
	for _, r := range rows {
		r.Version = 0
		h.uses[r.VolumeUID] = r
	}
}

func (h *history) addStates(rows []fact.VolumeStateRow) {
	for _, r := range rows {
		r.Version = 0
		h.rowsOf[r.VolumeUID] = r
	}
}

// checkStates compares the rows of volume_states with the states of the metrics.
func (h *history) checkStates(t *testing.T) {
	t.Helper()
	for uid, s := range h.states {
		v := h.volumes[uid]
		want := fact.VolumeStateRow{
			VolumeUID: uid, Name: v.Name, Phase: v.Phase, Status: s.Status, StatusSince: s.ChangedAt, IdleSince: s.IdleSince, UnusedSince: s.UnusedSince, ClaimUID: v.ClaimUID,
			ClaimNamespace: v.ClaimNamespace, ClaimName: v.ClaimName, Owner: s.Owner, Groups: h.claims[v.ClaimUID].Groups, StorageClass: v.StorageClass, ReclaimPolicy: v.ReclaimPolicy, CapacityBytes: v.CapacityBytes,
		}
		if v.DeletedAt != 0 {
			want.Status, want.StatusSince, want.IdleSince, want.UnusedSince = fact.VolumeDeleted, v.DeletedAt, 0, 0
		}
		expect(t, "state of "+uid, fmt.Sprintf("%+v", h.rowsOf[uid]), fmt.Sprintf("%+v", want))
	}
	for uid, r := range h.rowsOf {
		if _, known := h.states[uid]; !known && r.Status != fact.VolumeDeleted {
			t.Errorf("%s is not known: %+v", uid, r)
		}
	}
}

// checkUses compares the rows of volume_uses with the mounts of the volumes.
func (h *history) checkUses(t *testing.T) {
	t.Helper()
	wanted := map[string]fact.VolumeUse{}
	last := map[string]fact.Mount{}
	for _, m := range h.mounts {
		if m.VolumeUID == "" {
			continue
		}
		w := wanted[m.VolumeUID]
		w.VolumeUID, w.InUse = m.VolumeUID, w.InUse || m.EndedAt == 0
		wanted[m.VolumeUID] = w
		l, ended := last[m.VolumeUID]
		if m.EndedAt != 0 && (!ended || cmp.Or(cmp.Compare(m.EndedAt, l.EndedAt), cmp.Compare(m.StartedAt, l.StartedAt), cmp.Compare(m.PodUID, l.PodUID)) > 0) {
			last[m.VolumeUID] = m
		}
	}
	for uid, w := range wanted {
		if l := last[uid]; !w.InUse {
			p := h.pods[l.PodUID]
			w.LastEndedAt, w.LastEndedNotBefore, w.LastNamespace, w.LastPodUID, w.LastPod = l.EndedAt, l.EndedNotBefore, l.Namespace, l.PodUID, p.Name
			w.LastWorkloadKind, w.LastWorkloadName = p.WorkloadKind, p.WorkloadName
		}
		expect(t, "use of "+uid, h.uses[uid], w)
	}
	for uid, u := range h.uses {
		if _, ok := wanted[uid]; !ok && (u.InUse || u.LastEndedAt != 0) {
			t.Errorf("%s was never used: %+v", uid, u)
		}
	}
}
