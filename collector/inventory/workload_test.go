package inventory

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// metadataOf makes what the API sends of a controller; parent is empty for the
// topmost.
func metadataOf(kind fact.Kind, name, uid string, parentKind fact.Kind, parent, parentUID string) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: string(kind)}, ObjectMeta: objectMeta("shop", name, uid, 0)}
	if parent != "" {
		o.OwnerReferences = []metav1.OwnerReference{{Kind: string(parentKind), Name: parent, UID: types.UID(parentUID), Controller: new(true)}}
	}
	return o
}

func ownedPod(kind, name, uid string) *corev1.Pod {
	o := podOf("pod", "p1", 4, []string{"main"}, "data")
	o.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, UID: types.UID(uid), Controller: new(true)}}
	return o
}

func workloadRow(h *history) workload {
	row := h.pods["p1"]
	return workload{row.WorkloadKind, row.WorkloadName, row.WorkloadUID}
}

func TestWorkloadIsTheTopmostController(t *testing.T) {
	deployment := metadataOf(fact.Deployments, "web", "d1", "", "", "")
	replicaSet := metadataOf(fact.ReplicaSets, "canary-1", "r1", fact.Deployments, "web", "d1")
	bare := metadataOf(fact.ReplicaSets, "canary-1", "r1", "", "", "")
	job := metadataOf(fact.Jobs, "adhoc", "j1", fact.CronJobs, "report", "k1")
	cronJob := metadataOf(fact.CronJobs, "report", "k1", "", "", "")
	for name, test := range map[string]struct {
		events []event
		want   workload
	}{
		"owners first":       {[]event{set(1, deployment), set(1, replicaSet), set(4, ownedPod("ReplicaSet", "canary-1", "r1"))}, workload{"Deployment", "web", "d1"}},
		"owners last":        {[]event{set(4, ownedPod("ReplicaSet", "canary-1", "r1")), set(5, replicaSet), set(5, deployment)}, workload{"Deployment", "web", "d1"}},
		"topmost last":       {[]event{set(1, replicaSet), set(4, ownedPod("ReplicaSet", "canary-1", "r1")), set(5, deployment)}, workload{"Deployment", "web", "d1"}},
		"a job under a name": {[]event{set(1, cronJob), set(1, job), set(4, ownedPod("Job", "adhoc", "j1"))}, workload{"CronJob", "report", "k1"}},
		"owners not known":   {[]event{set(4, ownedPod("Job", "adhoc", "j1"))}, workload{"Job", "adhoc", "j1"}},
		"an unknown kind":    {[]event{set(4, ownedPod("Rollout", "canary", "x1"))}, workload{"Rollout", "canary", "x1"}},
		"adopted before":     {[]event{set(1, deployment), set(1, bare), set(2, replicaSet), set(4, ownedPod("ReplicaSet", "canary-1", "r1"))}, workload{"Deployment", "web", "d1"}},
		"adopted afterwards": {[]event{set(1, deployment), set(1, bare), set(4, ownedPod("ReplicaSet", "canary-1", "r1")), set(5, replicaSet)}, workload{"ReplicaSet", "canary-1", "r1"}},
		"released before":    {[]event{set(1, deployment), set(1, replicaSet), set(2, bare), set(4, ownedPod("ReplicaSet", "canary-1", "r1"))}, workload{"ReplicaSet", "canary-1", "r1"}},
		"owner gone before the pod ends": {[]event{
			set(1, deployment), set(1, replicaSet), set(4, ownedPod("ReplicaSet", "canary-1", "r1")), gone(5, deployment), gone(5, replicaSet),
			set(900, storageClass("fast", "s1")), gone(901, ended(ownedPod("ReplicaSet", "canary-1", "r1"), corev1.PodRunning, 5, 9, 0, "Completed")),
		}, workload{"Deployment", "web", "d1"}},
	} {
		t.Run(name, func(t *testing.T) {
			inv, h := play(t, test.events...)
			expect(t, "workload", workloadRow(h), test.want)
			if len(inv.orphans) != len(inv.orphanOf) {
				t.Errorf("orphans: %v %v", inv.orphans, inv.orphanOf)
			}
		})
	}
}

// A ReplicaSet that a Deployment has adopted is the Deployment's after a restart, too.
func TestWorkloadOfAnAdoptedControllerAfterARestart(t *testing.T) {
	r := track(t)
	r.play(
		set(1, metadataOf(fact.Deployments, "web", "d1", "", "", "")), set(1, metadataOf(fact.ReplicaSets, "canary-1", "r1", "", "", "")),
		set(2, metadataOf(fact.ReplicaSets, "canary-1", "r1", fact.Deployments, "web", "d1")),
	)
	r.restart()
	r.play(set(4, ownedPod("ReplicaSet", "canary-1", "r1")))
	expect(t, "workload", workloadRow(r.history), workload{"Deployment", "web", "d1"})
}

func TestOrphansAreForgotten(t *testing.T) {
	o := ownedPod("Job", "adhoc", "j1")
	inv, _ := play(t, set(4, o), gone(9, o), set(1000, storageClass("a", "s1")), set(2000, storageClass("b", "s2")))
	if len(inv.orphans)+len(inv.orphanOf) != 0 {
		t.Errorf("orphans: %v %v", inv.orphans, inv.orphanOf)
	}
	set1 := metadataOf(fact.Deployments, "web", "d1", "", "", "")
	inv, _ = play(t, set(1, set1), gone(5, set1), set(1000, storageClass("a", "s1")))
	expect(t, "controllers", len(inv.controllers), 0)
}

func statefulSet(name, uid string, templates ...string) *appsv1.StatefulSet {
	o := &appsv1.StatefulSet{ObjectMeta: objectMeta("shop", name, uid, 0)}
	for _, template := range templates {
		o.Spec.VolumeClaimTemplates = append(o.Spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: template}})
	}
	return o
}

func TestClaimOfATemplateIsItsStatefulSets(t *testing.T) {
	db, other := statefulSet("db", "s1", "data-my"), statefulSet("my-db", "s2", "data")
	adopted := other.DeepCopy()
	adopted.OwnerReferences = controlledBy("Database", "my-db")
	claim := pvc("data-my-db-0", "c1", 1, "")
	bound := pvc("data-my-db-0", "c1", 1, "vol")
	for name, test := range map[string]struct {
		events []event
		want   string
	}{
		"set first":                 {[]event{set(0, statefulSet("db", "s1", "logs")), set(0, other), set(1, claim), set(2, bound)}, "StatefulSet/my-db"},
		"claim first":               {[]event{set(1, claim), set(2, other), set(3, bound)}, "StatefulSet/my-db"},
		"by the template's name":    {[]event{set(0, db), set(1, claim)}, "StatefulSet/db"},
		"the set is gone":           {[]event{set(0, other), set(1, claim), gone(2, other), set(2000, storageClass("a", "s")), set(2001, bound)}, "StatefulSet/my-db"},
		"no set of that name":       {[]event{set(0, statefulSet("db", "s1", "data")), set(1, claim)}, "/"},
		"no ordinal":                {[]event{set(0, other), set(1, pvc("data-my-db", "c1", 1, ""))}, "/"},
		"a set without templates":   {[]event{set(0, statefulSet("my-db", "s2")), set(1, claim)}, "/"},
		"a set in another place":    {[]event{set(0, inNamespace(other, "bank")), set(1, claim)}, "/"},
		"the set is adopted":        {[]event{set(0, other), set(0, adopted), set(1, claim)}, "StatefulSet/my-db"},
		"two updates of the set":    {[]event{set(0, other), set(0, other), set(1, claim)}, "StatefulSet/my-db"},
		"nothing new in the update": {[]event{set(0, other), set(1, claim), set(2, claim)}, "StatefulSet/my-db"},
	} {
		t.Run(name, func(t *testing.T) {
			_, h := play(t, test.events...)
			expect(t, "workload", h.claims["c1"].WorkloadKind+"/"+h.claims["c1"].WorkloadName, test.want)
		})
	}
}

func inNamespace(o *appsv1.StatefulSet, namespace string) *appsv1.StatefulSet {
	o = o.DeepCopy()
	o.Namespace = namespace
	return o
}
