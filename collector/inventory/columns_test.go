package inventory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

func controlledBy(kind, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{Kind: kind, Name: name, UID: "owner", Controller: new(true)}}
}

func TestWorkloadIsGuessedFromThePod(t *testing.T) {
	for name, test := range map[string]struct {
		owners []metav1.OwnerReference
		labels fact.Labels
		want   workload
	}{
		"nobody":                       {nil, nil, workload{}},
		"StatefulSet":                  {controlledBy("StatefulSet", "db"), nil, workload{"StatefulSet", "db", "owner"}},
		"Deployment's ReplicaSet":      {controlledBy("ReplicaSet", "web-7d4b9"), fact.Labels{"pod-template-hash": "7d4b9"}, workload{"Deployment", "web", ""}},
		"ReplicaSet of its own":        {controlledBy("ReplicaSet", "web"), nil, workload{"ReplicaSet", "web", "owner"}},
		"ReplicaSet of its own, label": {controlledBy("ReplicaSet", "web"), fact.Labels{"pod-template-hash": "7d4b9"}, workload{"ReplicaSet", "web", "owner"}},
		"CronJob's Job":                {controlledBy("Job", "report-29453760"), nil, workload{"CronJob", "report", ""}}, // 2026-01-01 00:00
		"CronJob's Job, 20 days late":  {controlledBy("Job", "report-29425440"), nil, workload{"CronJob", "report", ""}},
		"Job with a date":              {controlledBy("Job", "import-20260101"), nil, workload{"Job", "import-20260101", "owner"}},
		"Job with a number":            {controlledBy("Job", "report-29384712"), nil, workload{"Job", "report-29384712", "owner"}},
		"Job of its own":               {controlledBy("Job", "report-2938471x"), nil, workload{"Job", "report-2938471x", "owner"}},
		"Job with a short number":      {controlledBy("Job", "report-1"), nil, workload{"Job", "report-1", "owner"}},
		"unknown kind":                 {controlledBy("Rollout", "canary"), nil, workload{"Rollout", "canary", "owner"}},
	} {
		o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: test.owners, Labels: test.labels, CreationTimestamp: second(5)}}
		expect(t, name, guessWorkload(o, controllerOf(o)), test.want)
	}
}

func TestOwnerAndGroups(t *testing.T) {
	expect(t, "label", ownerOf(fact.Labels{"owner": "dana"}, fact.Labels{"owner": "kim"}), "dana")
	expect(t, "annotation", ownerOf(nil, fact.Labels{"owner": "kim"}), "kim")
	expect(t, "own key first", ownerOf(fact.Labels{"owner": "dana"}, fact.Labels{"kubevoltracker.io/owner": "otto"}), "otto")
	if !NamesOwner("owner") || !NamesOwner("team") || NamesOwner("app") {
		t.Error("which keys name an owner")
	}
	if got := groupsOf(fact.Labels{"team": "web"}, nil); !slices.Equal(got, []string{"web"}) {
		t.Errorf("team: %q", got)
	}
	if got := groupsOf(nil, fact.Labels{"groups": "web, data,ops"}); !slices.Equal(got, []string{"web", "data", "ops"}) {
		t.Errorf("groups: %q", got)
	}
	long := strings.Repeat("é", 100_000)
	expect(t, "a long owner is cut", ownerOf(nil, fact.Labels{"owner": "a" + long}), "a"+long[:mostLineBytes-2])
	references := metav1.ObjectMeta{OwnerReferences: controlledBy(long, long)}
	_, maker := claimOwner(&corev1.PersistentVolumeClaim{ObjectMeta: references})
	for of, got := range map[string]workload{"pod": controllerOf(&corev1.Pod{ObjectMeta: references}), "claim": maker} {
		expect(t, "a long controller of a "+of+" is cut", got, workload{long[:longestKind-1], long[:longestName-1], "owner"})
	}
	all, whole := strings.Repeat("ops, web, ", 10_000), strings.Repeat("x", mostLineBytes-4)
	for value, want := range map[string][]string{
		all:                   {"ops", "web"}, // each once
		"ops," + whole:        {"ops", whole},
		"ops," + whole + ",y": {"ops", whole},
		"ops," + whole + "y":  {"ops"},
		whole + "12345":       {},
	} {
		if got := groupsOf(nil, fact.Labels{"groups": value}); !slices.Equal(got, want) {
			t.Errorf("of a list of %d bytes: got %d groups, want %d", len(value), len(got), len(want))
		}
	}
	const hostile = "\n'it\\s'\t\"日本\"\x00\u0085\u2028\xffx\u200d"
	const harmless = ` 'it\s' "日本"   x` + "\u200d"
	expect(t, "an owner is one line", ownerOf(nil, fact.Labels{"owner": hostile}), harmless)
	references = metav1.ObjectMeta{OwnerReferences: controlledBy(hostile, hostile)}
	expect(t, "a controller is one line", controllerOf(&corev1.Pod{ObjectMeta: references}), workload{harmless, harmless, "owner"})
	if got := groupsOf(nil, fact.Labels{"groups": hostile + "\nops\tweb"}); !slices.Equal(got, []string{`'it\s'`, `"日本"`, "x\u200d", "ops", "web"}) {
		t.Errorf("groups on several lines: %q", got)
	}
	if got := groupsOf(nil, nil); got != nil {
		t.Errorf("none: %q", got)
	}
}

func TestClassColumns(t *testing.T) {
	_, h := play(t, set(1, storageClass("fast", "s1")))
	row := h.classes["s1"]
	expect(t, "defaults", row.ReclaimPolicy+" "+row.BindingMode, "Delete Immediate")

	o := storageClass("fast", "s1")
	o.ReclaimPolicy, o.VolumeBindingMode = new(corev1.PersistentVolumeReclaimRetain), new(storagev1.VolumeBindingWaitForFirstConsumer)
	o.AllowVolumeExpansion, o.Parameters = new(true), map[string]string{"pool": "ssd"}
	_, h = play(t, set(1, o), gone(5, o))
	row = h.classes["s1"]
	expect(t, "columns", row.ReclaimPolicy+" "+row.BindingMode+" "+row.Parameters["pool"], "Retain WaitForFirstConsumer ssd")
	expect(t, "expansion", row.Expansion, true)
	expect(t, "deleted", row.DeletedAt, at(5))
}

func TestClaimColumns(t *testing.T) {
	o := pvc("data", "c1", 1, "")
	o.Spec.StorageClassName = nil
	o.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "VolumeSnapshot", Name: "nightly"}
	o.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
	o.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: "db", UID: "s"}}
	o.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "kubectl", Time: new(second(1))}, {Manager: "kube-controller-manager", Time: new(second(2))},
	}
	_, h := play(t, set(2, o))
	row := h.claims["c1"]
	expect(t, "no class", row.StorageClass, "")
	expect(t, "data source", row.DataSourceKind+"/"+row.DataSourceName, "VolumeSnapshot/nightly")
	expect(t, "mode", row.VolumeMode, "Block")
	expect(t, "workload", row.WorkloadKind+"/"+row.WorkloadName, "StatefulSet/db")
	for _, c := range h.changes {
		expect(t, "actor", c.Actor, "kube-controller-manager")
	}

	o = pvc("data", "c1", 1, "")
	o.Annotations = map[string]string{"volume.beta.kubernetes.io/storage-class": "old"}
	o.Spec.DataSourceRef = &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "template"}
	o.Status.Phase = corev1.ClaimLost
	_, h = play(t, set(1, pvc("data", "c1", 1, "")), set(2, o))
	expect(t, "class by annotation", h.claims["c1"].StorageClass, "old")
	expect(t, "data source", h.claims["c1"].DataSourceKind, "PersistentVolumeClaim")
	if !slices.ContainsFunc(changesOf(h), func(c fact.Change) bool { return c.Action == fact.Phase && c.Details == "Pending → Lost" }) {
		t.Errorf("changes: %v", changesOf(h))
	}
}

func changesOf(h *history) (list []fact.Change) {
	for _, c := range h.changes {
		list = append(list, c)
	}
	return list
}

func TestVolumeColumns(t *testing.T) {
	o := pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 1)
	o.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example", VolumeHandle: "h-1"}}
	term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"a", `b"`}}}}
	o.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}}
	grown := o.DeepCopy()
	grown.Spec.Capacity[corev1.ResourceStorage] = *grown.Spec.Capacity.Storage()
	grown.Status.Phase, grown.Status.LastPhaseTransitionTime = corev1.VolumeFailed, nil
	_, h := play(t, set(1, o), set(9, grown), set(12, grown))
	row := h.volumes["v1"]
	expect(t, "driver", row.Driver+" "+row.VolumeHandle+" "+row.SourceKind, "csi.example h-1 csi")
	expect(t, "node affinity", row.NodeAffinity, `[{"matchExpressions":[{"key":"zone","operator":"In","values":["a","b\""]}]}]`)
	expect(t, "without a time from the API, that of the observation", row.PhaseChangedAt, at(9))
	expect(t, "status", h.states["v1"].Status, fact.VolumeFailed)
	expect(t, "since", h.states["v1"].ChangedAt, at(9))
}

func TestMountColumns(t *testing.T) {
	o := podOf("db-0", "p1", 1, []string{"db"}, "data", "raw")
	o.Spec.Volumes[1].PersistentVolumeClaim.ReadOnly = true
	o.Spec.Volumes = append(o.Spec.Volumes,
		corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		corev1.Volume{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}})
	c := &o.Spec.Containers[0]
	c.VolumeMounts = []corev1.VolumeMount{
		{Name: "vol-0", MountPath: "/data", SubPath: "a", ReadOnly: true},
		{Name: "vol-0", MountPath: "/logs", SubPathExpr: "$(POD)"},
		{Name: "tmp", MountPath: "/tmp"},
		{Name: "config", MountPath: "/etc/app"},
	}
	c.VolumeDevices = []corev1.VolumeDevice{{Name: "vol-1", DevicePath: "/dev/raw"}}
	claim := pvc("data", "c1", 0, "vol")
	_, h := play(t, set(0, claim), set(1, pv("vol", "v1", 0, claim, corev1.VolumeBound, 1)), set(3, running(o, 2)))
	expect(t, "containers that use it, however often they mount it", h.states["v1"].Mounts, 1)
	got := map[string]fact.Mount{}
	for _, m := range h.mounts {
		got[m.MountPath] = m
	}
	expect(t, "mounts; configuration is none", len(got), 4)
	expect(t, "sub path", got["/data"].SubPath, "a")
	expect(t, "read-only", got["/data"].ReadOnly, true)
	expect(t, "sub path's expression", got["/logs"].SubPath, "$(POD)")
	expect(t, "read-write", got["/logs"].ReadOnly, false)
	expect(t, "device", got["/dev/raw"].BlockDevice, true)
	expect(t, "device of a read-only claim", got["/dev/raw"].ReadOnly, true)
	expect(t, "source", got["/tmp"].SourceKind, "emptyDir")
	for path, m := range got {
		expect(t, path+": volumes of claims in the spec", m.ClaimVolumes, 2)
		expect(t, path+": volumes of its own in the spec", m.InlineVolumes, 1)
	}
	expect(t, "row of it", h.sources[got["/tmp"].SourceID].Kind, "emptyDir")
}

func TestMountsSayWhoseTheyAre(t *testing.T) {
	claim := pvc("data", "c1", 0, "vol")
	alone := running(podOf("db-0", "p1", 1, []string{"db"}, "data"), 2)
	named := alone.DeepCopy()
	named.Labels = map[string]string{"owner": "ann", "team": "db,ops"}
	_, h := play(t, set(0, claim), set(1, pv("vol", "v1", 0, claim, corev1.VolumeBound, 1)), set(3, alone))
	for _, m := range h.mounts {
		expect(t, "a pod without a controller", m.WorkloadKind+"/"+m.WorkloadName, "Pod/db-0")
		expect(t, "nobody's", m.Owner+m.Groups, "")
	}
	_, h = play(t, set(0, claim), set(1, pv("vol", "v1", 0, claim, corev1.VolumeBound, 1)), set(3, alone), set(5, named))
	expect(t, "mounts", len(h.mounts), 1)
	for _, m := range h.mounts {
		expect(t, "owner, as the labels say later", m.Owner, "ann")
		expect(t, "groups", m.Groups, "db,ops")
		expect(t, "the use goes on", m.StartedAt, at(2))
	}
}

func TestPodThatMountsNoStorageIsNotKept(t *testing.T) {
	inv, h := play(t, set(1, podOf("web", "p1", 1, []string{"web"})))
	expect(t, "pods", inv.Count(fact.Pods), 0)
	expect(t, "rows", h.rows, 0)
}

func TestVolumeIsAwaitedUntilItsOwnContainerStarts(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	o := podOf("db-0", "p1", 4, []string{"db"}, "data")
	o.Spec.InitContainers = []corev1.Container{{Name: "init"}} // does not mount it
	o.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", State: terminated(5, 6, 0, "Completed")}}
	_, h := play(t, set(1, claim), set(3, pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)), set(6, o))
	expect(t, "status", h.states["v1"].Status, fact.VolumePending)
}

// tookOf returns how long the changes of an action took, in seconds; "?" for one whose duration is unknown.
func tookOf(h *history, action fact.Action) (list []string) {
	for _, c := range slices.SortedFunc(slices.Values(changesOf(h)), func(a, b fact.Change) int { return int(a.At - b.At) }) {
		switch {
		case c.Action != action:
		case c.Measured:
			list = append(list, fmt.Sprint(c.Took.Seconds()))
		default:
			list = append(list, "?")
		}
	}
	return list
}

// The API's times are whole seconds, so a duration of zero is a short one. An unknown one is none.
func TestPodTimesForStorageWait(t *testing.T) {
	o := scheduledTo(podOf("db-0", "p1", 4, []string{"db"}, "data"), "node-1", 20)
	again := running(o, 28)
	again.Status.ContainerStatuses[0].RestartCount = 3
	lost := o.DeepCopy()
	lost.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "db", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{Reason: "ContainerStatusUnknown", ExitCode: 137},
	}}}
	for name, test := range map[string]struct {
		events []event
		want   string
	}{
		"three seconds":                      {[]event{set(20, o), set(24, running(o, 23))}, "[3]"},
		"within a second":                    {[]event{set(20, o), set(21, running(o, 20))}, "[0]"},
		"a node's clock is a little behind":  {[]event{set(20, o), set(21, running(o, 18))}, "[0]"},
		"a node's clock is off":              {[]event{set(20, o), set(21, running(o, 10))}, "[?]"},
		"not scheduled":                      {[]event{set(4, running(podOf("db-0", "p1", 4, []string{"db"}, "data"), 4))}, "[?]"},
		"it has restarted more often":        {[]event{set(20, o), set(30, again)}, "[?]"},
		"its only status does not say since": {[]event{set(30, lost)}, "[?]"},
	} {
		t.Run(name, func(t *testing.T) {
			_, h := play(t, test.events...)
			expect(t, "scheduled to started", fmt.Sprint(tookOf(h, fact.Started)), test.want)
		})
	}
}

// A claim that is bound in the second in which it is created takes zero seconds, which is known.
func TestTimeUntilAClaimIsBound(t *testing.T) {
	claim, pending := pvc("data", "c1", 1, "vol"), pvc("data", "c1", 1, "")
	bound := func(second int) []event {
		return []event{set(1, pending), set(second, pv("vol", "v1", 1, claim, corev1.VolumeBound, second)), set(second, claim)}
	}
	lost := claim.DeepCopy()
	lost.Status.Phase, lost.Status.Capacity = corev1.ClaimLost, nil
	again := []event{
		gone(100, pv("vol", "v1", 1, claim, corev1.VolumeBound, 4)), set(101, lost),
		set(200, pv("vol", "v2", 200, claim, corev1.VolumeBound, 201)), set(201, claim),
	}
	for name, test := range map[string]struct {
		events []event
		want   string
	}{
		"three seconds":                       {bound(4), "[3]"},
		"within a second":                     {bound(1), "[0]"},
		"bound again":                         {append(bound(4), again...), "[3 ?]"},
		"found Lost, and bound again":         {again[1:], "[?]"},
		"Lost before it was seen to be bound": {append([]event{set(1, pending)}, again[1:]...), "[?]"},
		"Lost before its volume is known":     {[]event{set(1, pending), set(4, claim), set(5, lost), set(6, pv("vol", "v1", 1, claim, corev1.VolumeBound, 4))}, "[3]"},
	} {
		t.Run(name, func(t *testing.T) {
			for name, restarts := range map[string]bool{"created to bound": false, "with restarts": true} {
				h := interrupted(t, recordedOf(t, test.events), func(int) bool { return restarts })
				expect(t, name, fmt.Sprint(tookOf(h, fact.Bound)), test.want)
			}
		})
	}
}

// A volume that was reserved for a claim has no class, and the claim got the default one: metrics count it for the claim's class.
func TestVolumeOfAnotherClassThanItsClaims(t *testing.T) {
	claim := pvc("data", "c1", 2, "vol")
	volume := pv("vol", "v1", 1, claim, corev1.VolumeBound, 3)
	volume.Spec.StorageClassName = ""
	_, h := play(t, set(1, storageClass("fast", "s1")), set(3, volume), set(4, claim))
	expect(t, "class", h.states["v1"].StorageClass, "")
	expect(t, "class of its claim", h.states["v1"].ClaimClass, "fast")
	_, h = play(t, set(1, storageClass("fast", "s1")), set(3, volume), set(4, claim), gone(5, claim)) // the volume is not Released yet
	expect(t, "class of its claim that is gone", h.states["v1"].ClaimClass, "fast")
}
