package catalog_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// scene is a cluster that an inventory observes: its rows are those that a tracker writes.
type scene struct {
	t   *testing.T
	inv *inventory.Inventory
	now fact.Time
}

func newScene(t *testing.T) *scene { return &scene{t, inventory.New(), day(2, 1)} }

func (s *scene) set(objects ...any) {
	s.t.Helper()
	for _, o := range objects {
		if err := s.inv.Set(o, inventory.Live(s.now)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// facts returns what the inventory emitted, and until March 1st these kinds were watched.
func (s *scene) facts(watched ...fact.Kind) *fact.Facts {
	var u fact.Update
	s.inv.Take(&u)
	for i := range u.Facts.Objects {
		o := &u.Facts.Objects[i]
		text, err := inventory.Document(o.Kind, o.From.Wire())
		if err != nil {
			s.t.Fatal(err)
		}
		o.Object, o.From = text, nil
	}
	for _, kind := range watched {
		u.Facts.Coverage = append(u.Facts.Coverage, fact.Coverage{Version: 1, Instance: "a", Kind: kind, StartedAt: day(1, 1), SeenAt: day(3, 1)})
	}
	return &u.Facts
}

func (s *scene) meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1", CreationTimestamp: s.time()}
}

func (s *scene) time() metav1.Time { return metav1.NewTime(time.UnixMicro(int64(s.now))) }

// claim sets a bound claim and its volume, of CSI unless the name of the claim says "iscsi".
func (s *scene) claim(name string, modes ...corev1.PersistentVolumeAccessMode) *corev1.PersistentVolumeClaim {
	s.t.Helper()
	c := &corev1.PersistentVolumeClaim{ObjectMeta: s.meta("shop", name), Spec: corev1.PersistentVolumeClaimSpec{AccessModes: modes, VolumeName: "pv-" + name, StorageClassName: new("fast")}}
	c.Status.Phase = corev1.ClaimBound
	v := &corev1.PersistentVolume{ObjectMeta: s.meta("", "pv-"+name)}
	v.Spec.AccessModes, v.Spec.ClaimRef = modes, &corev1.ObjectReference{Namespace: "shop", Name: name, UID: c.UID}
	v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: name}
	if name == "iscsi" {
		v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{TargetPortal: "p", IQN: "q"}}
	}
	v.Status.Phase = corev1.VolumeBound
	s.set(c, v)
	return c
}

// pod returns a pod that waits on a node, or for one, and uses claims.
func (s *scene) pod(name, node string, claims ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: s.meta("shop", name), Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: corev1.PodPending}}
	main := corev1.Container{Name: "main"}
	for _, c := range claims {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: c, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c}}})
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: c, MountPath: "/" + c})
	}
	p.Spec.Containers = []corev1.Container{main}
	return p
}

// running returns the pod with its container running, or over, if it has a phase for that.
func (s *scene) running(p *corev1.Pod, phase corev1.PodPhase) *corev1.Pod {
	p.Status.Phase = phase
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: s.time()}}
	if phase != corev1.PodRunning {
		state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: s.time(), FinishedAt: s.time()}}
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: state}}
	return p
}

// attach sets a VolumeAttachment, which waits if attached is false.
func (s *scene) attach(claim, node string, attached bool, failure string) *storagev1.VolumeAttachment {
	a := &storagev1.VolumeAttachment{ObjectMeta: s.meta("", claim+"-"+node), Spec: storagev1.VolumeAttachmentSpec{Attacher: "d", NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("pv-" + claim)}}}
	a.Status.Attached = attached
	if failure != "" {
		a.Status.AttachError = &storagev1.VolumeError{Message: failure}
	}
	return a
}

// blockedPods is a cluster with a pod for each way to wait, or not to.
func blockedPods(t *testing.T) *scene {
	s := newScene(t)
	const once, oncePod, many = corev1.ReadWriteOnce, corev1.ReadWriteOncePod, corev1.ReadWriteMany
	for _, c := range []string{"rwo", "rwo-stale", "rwo-here", "rwo-free", "rwo-failed", "iscsi", "rwo-unattached"} {
		s.claim(c, once)
	}
	s.claim("rwop", oncePod)
	s.claim("rwop-done", oncePod)
	s.claim("rwx", many, once)
	s.claim("own-data", oncePod)
	for _, c := range []string{"rwo", "rwo-stale", "rwo-here", "rwx"} {
		s.set(s.attach(c, "node-1", true, ""))
	}
	s.set(
		s.running(s.pod("holder", "node-1", "rwop", "rwo", "rwx", "rwo-here", "iscsi", "rwo-unattached"), corev1.PodRunning),
		s.running(s.pod("done", "node-1", "rwop-done"), corev1.PodSucceeded))
	s.now = day(2, 20)
	starting := s.pod("starting", "node-3", "own-data")
	s.set(s.attach("rwo-failed", "node-2", false, "no such disk"), s.attach("rwo", "node-2", false, "still attached"),
		s.pod("w-rwop", "", "rwop"), s.pod("w-rwop-done", "", "rwop-done"),
		s.pod("w-rwo", "node-2", "rwo"), s.pod("w-rwo-stale", "node-2", "rwo-stale"), s.pod("w-here", "node-1", "rwo-here"), s.pod("w-free", "node-2", "rwo-free"),
		s.pod("w-unscheduled", "", "rwo"), s.pod("w-failed", "node-2", "rwo-failed"), s.pod("w-rwx", "node-2", "rwx"), s.pod("w-iscsi", "node-2", "iscsi"),
		s.pod("w-unattached", "node-2", "rwo-unattached"), s.pod("w-missing", "node-2", "missing"),
		starting, s.pod("w-starting", "", "own-data"), s.running(s.pod("runs", "node-2", "rwx"), corev1.PodRunning))
	// Two pods waited and are gone, or started.
	gone, started := s.pod("gone", "", "rwop"), s.pod("started", "node-2", "rwx")
	s.set(gone, started)
	if err := s.inv.Delete(gone, inventory.Live(s.now)); err != nil {
		t.Fatal(err)
	}
	s.set(s.running(started, corev1.PodRunning))
	return s
}

func TestBlockedPods(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", blockedPods(t).facts(fact.Pods, fact.VolumeAttachments))
	write(t, c, "west", blockedPods(t).facts(fact.Pods)) // attachments were never watched, or no more
	golden(t, "blocked.txt", report(t, c, "blocked", catalog.TableFormat))
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"blocked", "name", "cluster=east", "w-failed,w-iscsi,w-rwo,w-rwo-stale,w-rwop,w-starting"},
		{"blocked", "holder", "cluster=east", ",holder,holder,,holder,starting"},
		{"blocked", "holder_node", "cluster=east", ",node-1,node-1,node-1,node-1,node-3"},
		{"blocked", "name", "cluster=west", "w-iscsi,w-rwo,w-rwop,w-starting,w-unattached"},
		{"blocked", "name", "cluster=east workload=holder limit=1", "w-iscsi"}, // of who waits, or who has it
		{"blocked", "name", "cluster=east workload=Pod/w-rwop", "w-rwop"},
		{"blocked", "name", "cluster=east storageclass=slow", ""},
		{"blocked", "name", "namespace=lab", ""},
		{"blocked", "name", "owner=nobody", ""},
	})
}

// TestAnAttachmentThatIsDoneCounts has two attachments of a volume to a pod's node, one of which failed: the node has the volume, in
// whatever order their UIDs are.
func TestAnAttachmentThatIsDoneCounts(t *testing.T) {
	c := migrated(t)
	for cluster, uid := range map[string]types.UID{"east": "a", "west": "z"} {
		s := newScene(t)
		s.claim("data", corev1.ReadWriteOnce)
		failed := s.attach("data", "node-2", false, "no such disk")
		failed.Name, failed.UID = "failed", uid
		s.set(s.attach("data", "node-1", true, ""), s.attach("data", "node-2", true, ""), failed, s.pod("waits", "node-2", "data"))
		write(t, c, cluster, s.facts(fact.Pods, fact.VolumeAttachments))
	}
	if got := column(t, c, "blocked", "name"); got != "" {
		t.Errorf("blocked: %s", got)
	}
}

// TestHoldersWithoutAMount has pods that have claims and no mount of them: one whose init container runs, and one whose image is missing.
func TestHoldersWithoutAMount(t *testing.T) {
	c := migrated(t)
	for cluster, watched := range map[string][]fact.Kind{"east": {fact.Pods, fact.VolumeAttachments}, "west": {fact.Pods}} {
		s := newScene(t)
		for _, name := range []string{"data", "image"} {
			s.claim(name, corev1.ReadWriteOnce)
			s.set(s.attach(name, "node-1", true, ""))
		}
		s.claim("alone", corev1.ReadWriteOncePod)
		asked := s.claim("asked", corev1.ReadWriteMany)
		prepares := s.pod("prepares", "node-1", "data", "alone", "asked")
		prepares.Spec.InitContainers = []corev1.Container{{Name: "wait", VolumeMounts: []corev1.VolumeMount{{Name: "asked", MountPath: "/asked"}}}}
		prepares.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "wait", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: s.time()}}}}
		s.set(prepares, s.pod("pulls", "node-1", "image"))
		s.now = day(2, 10)
		asked.DeletionTimestamp, asked.DeletionGracePeriodSeconds, asked.Finalizers = new(s.time()), new(int64(0)), []string{"kubernetes.io/pvc-protection"}
		s.set(asked, s.pod("w-alone", "", "alone"), s.pod("w-data", "node-2", "data"), s.pod("w-image", "node-2", "image"))
		write(t, c, cluster, s.facts(watched...))
	}
	checkCases(t, func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }, []reportCase{
		{"blocked", "name", "cluster=east", "asked,w-alone,w-data,w-image"},
		{"blocked", "reason", "cluster=east", "being deleted,ReadWriteOncePod,attached elsewhere,attached elsewhere"},
		{"blocked", "holder", "cluster=east", "prepares,prepares,prepares,pulls"},
		{"blocked", "held_since", "cluster=east", "2026-02-01T12:00:00Z,,2026-02-01T12:00:00Z,2026-02-01T12:00:00Z"},
		{"blocked", "name", "cluster=west", "asked,w-alone,w-data"}, // nobody knows whether the volume of the pod whose image is missing is attached
		{"blocked", "reason", "cluster=west limit=3", "being deleted,ReadWriteOncePod,presumed: mounted elsewhere"},
	})
}

// TestAttachmentsOfAnUnknownMoment has two attached volumes. To detach them had failed before the tracker came, so it does not know since when they
// are attached.
func TestAttachmentsOfAnUnknownMoment(t *testing.T) {
	c := migrated(t)
	s := newScene(t)
	for _, name := range []string{"data", "own"} {
		s.claim(name, corev1.ReadWriteOnce)
		a := s.attach(name, "node-1", true, "")
		a.Status.DetachError = &storagev1.VolumeError{Message: "the node does not answer"}
		s.set(a)
	}
	s.set(s.pod("waits", "node-2", "data"), s.pod("starts", "node-1", "own"))
	write(t, c, "east", s.facts(fact.Pods, fact.VolumeAttachments))
	checkCases(t, func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }, []reportCase{
		{"blocked", "name", "", "waits"},
		{"blocked", "reason", "", "attached elsewhere"},
		{"blocked", "holder_node", "", "node-1"},
		{"blocked", "held_since", "", ""},
		{"counts", "kind", "", "PersistentVolume,PersistentVolumeClaim,Pod,VolumeAttachment"},
		{"counts", "count", "", "2,2,2,2"},
		{"volume", "event", "volume=pv-data", "attached,bound,exists,exists"},
	})
}

// TestDriversThatAttachNothing has a pod wait beside one on another node, of a driver that needs no attachment.
func TestDriversThatAttachNothing(t *testing.T) {
	c := migrated(t)
	s := newScene(t)
	s.claim("data", corev1.ReadWriteOnce)
	s.set(&storagev1.CSIDriver{ObjectMeta: s.meta("", "d"), Spec: storagev1.CSIDriverSpec{AttachRequired: new(false)}},
		s.running(s.pod("holder", "node-1", "data"), corev1.PodRunning), s.pod("waits", "node-2", "data"))
	write(t, c, "east", s.facts(fact.Pods))
	checkCases(t, func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) },
		[]reportCase{{"blocked", "name", "", ""}})
}

func TestClaimsThatWaitForTheirDeletion(t *testing.T) {
	c := migrated(t)
	s := newScene(t)
	var claims []*corev1.PersistentVolumeClaim
	for _, name := range []string{"used", "completed", "unused", "wanted", "kept"} {
		claims = append(claims, s.claim(name, corev1.ReadWriteMany))
	}
	s.set(s.running(s.pod("user", "node-1", "used", "kept"), corev1.PodRunning), s.running(s.pod("over", "node-1", "completed"), corev1.PodSucceeded),
		s.pod("waits", "", "wanted")) // a pod without a node keeps no claim
	s.now = day(2, 10)
	for _, claim := range claims[:4] {
		claim.DeletionTimestamp, claim.DeletionGracePeriodSeconds, claim.Finalizers = new(s.time()), new(int64(0)), []string{"kubernetes.io/pvc-protection"}
		s.set(claim)
	}
	write(t, c, "east", s.facts(fact.Pods))
	checkCases(t, func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }, []reportCase{
		{"blocked", "name", "", "completed,used"},
		{"blocked", "reason", "", "being deleted,being deleted"},
		{"blocked", "holder", "", "over,user"},
		{"blocked", "waits_since", "", "2026-02-10T12:00:00Z,2026-02-10T12:00:00Z"},
		{"blocked", "held_since", "", "2026-02-01T12:00:00Z,2026-02-01T12:00:00Z"},
		{"blocked", "details", "", "the pod is over,"},
	})
}

// TestAClaimWhoseEndNobodySaw has a second claim of the name that a pod waits for: its end never came to the catalog. The pod is shown once.
func TestAClaimWhoseEndNobodySaw(t *testing.T) {
	c := migrated(t)
	s := newScene(t)
	s.claim("data", corev1.ReadWriteOncePod)
	s.set(s.running(s.pod("holder", "node-1", "data"), corev1.PodRunning), s.pod("waits", "node-2", "data"))
	f := s.facts(fact.Pods)
	former := f.Claims[0]
	former.UID, former.VolumeUID, former.VolumeName = "former", "", ""
	f.Claims = append(f.Claims, former)
	write(t, c, "east", f)
	checkCases(t, func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }, []reportCase{
		{"blocked", "name", "", "waits"},
		{"blocked", "name", "limit=10", "waits"},
	})
}
