package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// The month's namespaces; the last is deleted with all that is in it. Volumes made
// by hand have the label.
const (
	monthNamespace     = "month-a"
	monthOtherName     = "month-b"
	monthGoneNamespace = "month-gone"
	monthLabel         = "month"

	initSeconds = "localcluster.kubevoltracker.io/init-seconds"
	exitCode    = "localcluster.kubevoltracker.io/exit-code"
	stopSeconds = "localcluster.kubevoltracker.io/stop-seconds"

	hold = "kubevoltracker.io/hold" // a finalizer of ours
)

func ofTheMonth(o metav1.Object) bool {
	namespace := o.GetNamespace()
	switch o := o.(type) {
	case *corev1.PersistentVolume:
		if o.Spec.ClaimRef != nil {
			namespace = o.Spec.ClaimRef.Namespace
		}
	case *corev1.Namespace:
		namespace = o.Name
	}
	return isOfTheMonth(namespace) || o.GetLabels()[monthLabel] != ""
}

// TestMonth lives through a month of storage in a minute, and compares all that
// the catalog says of it with what the API server's audit log does.
func TestMonth(t *testing.T) {
	c := cluster(t)
	log, err := openAuditLog(filepath.Join(c.dir, "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{monthNamespace, monthOtherName, monthGoneNamespace} {
		c.namespace(t, namespace)
	}
	t.Cleanup(func() { endMonth(t, c) })
	kubeconfig, dir := c.serviceAccount(t), t.TempDir()
	start := func() *tracker { return startTracker(t, kubeconfig, "--data-dir="+dir) }
	p := start()
	if path := os.Getenv("KUBEVOLTRACKER_RECORD"); path != "" {
		stop := startRecording(t, objects)
		defer func() { stop(path) }()
	}

	t.Run("before the gate", func(t *testing.T) {
		beforeTheGate(t, &story{t: t, c: c, objects: objects, namespace: monthNamespace})
	})
	if t.Failed() {
		return
	}

	// Each chapter is a test of its own, so that it can fail on its own; they run all
	// at once, however many tests may run in parallel: they only wait.
	var chapters sync.WaitGroup
	for name, chapter := range monthChapters {
		chapters.Go(func() {
			t.Run(name, func(t *testing.T) {
				start := time.Now()
				chapter(&story{t: t, c: c, objects: objects, namespace: monthNamespace})
				t.Logf("took %.1f s", time.Since(start).Seconds())
			})
		})
	}
	chapters.Wait()
	if t.Failed() {
		return
	}
	expectTruth(t, c, p, log, nil, "live")

	// A restart, with the journal and without it, changes nothing of what the reports say. By now the tracker
	// has forgotten most of the pods that are gone.
	afterwards := func(name string, away gaps) {
		t.Run(name, func(t *testing.T) {
			waitInVain(&story{t: t, c: c, objects: objects, namespace: monthNamespace}, strings.ReplaceAll(name, " ", "-"))
		})
		expectTruth(t, c, p, log, away, name)
	}
	p.stop(t)
	p = start()
	afterwards("from the journal", nil)
	p.stop(t)
	stopped := time.Now()
	if err := os.RemoveAll(filepath.Join(dir, "journal")); err != nil {
		t.Fatal(err)
	}
	p = start()
	p.expectReady(t)
	afterwards("from the catalog", gaps{{from: stopped, to: time.Now(), lossy: true}})
}

// endMonth takes away what would be in other tests' way.
func endMonth(t *testing.T, c *localCluster) {
	_, err := c.client.CoreV1().PersistentVolumeClaims(monthNamespace).Patch(background, keptBack, types.MergePatchType, []byte(letGo), metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
	for _, namespace := range []string{monthNamespace, monthOtherName, monthGoneNamespace} {
		err := c.client.CoreV1().Namespaces().Delete(background, namespace, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	}
	err = c.client.CoreV1().PersistentVolumes().DeleteCollection(background, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: monthLabel})
	if err != nil {
		t.Error(err)
	}
}

// expectTruth waits until the catalog says what the audit log does. What is still
// on its way, in the cluster or to the catalog, is given some time. Nothing happened while
// the tracker was away, which it cannot know.
func expectTruth(t *testing.T, c *localCluster, p *tracker, log *auditLog, away gaps, when string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(500 * time.Millisecond) {
		if err := log.read(); err != nil {
			t.Fatal(err)
		}
		err := logIsComplete(c, log, ofTheMonth)
		if err == nil {
			truth := truthOf(log, ofTheMonth)
			rows, different := compareAll(truth, p)
			uses, wrong, failed := truth.compareUses(t, p, away)
			if err = errors.Join(different, failed, truth.explain(wrong)); err == nil {
				t.Logf("%s: %s; volumes: %s", when, rows, uses)
				return
			}
		}
		if time.Now().After(deadline) {
			t.Errorf("%s: %v", when, err)
			return
		}
	}
}

// logIsComplete holds the truth against the API server: what is there by the log
// is what is there, in the same version.
func logIsComplete(c *localCluster, log *auditLog, belongs func(metav1.Object) bool) error {
	pods, err := c.client.CoreV1().Pods("").List(background, metav1.ListOptions{})
	if err != nil {
		return err
	}
	claims, err := c.client.CoreV1().PersistentVolumeClaims("").List(background, metav1.ListOptions{})
	if err != nil {
		return err
	}
	volumes, err := c.client.CoreV1().PersistentVolumes().List(background, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for what, both := range map[string]struct {
		log  map[types.UID]string
		list runtime.Object
	}{
		"pods": {log.pods.living(belongs), pods}, "claims": {log.claims.living(belongs), claims}, "volumes": {log.volumes.living(belongs), volumes},
	} {
		there := map[types.UID]string{}
		err := meta.EachListItem(both.list, func(item runtime.Object) error {
			if o := item.(metav1.Object); belongs(o) {
				there[o.GetUID()] = o.GetResourceVersion()
			}
			return nil
		})
		if err != nil {
			return err
		}
		for uid, number := range there {
			if both.log[uid] != number {
				return fmt.Errorf("of the %s, the API server has %s in version %s, the audit log in %q", what, uid, number, both.log[uid])
			}
		}
		for uid, number := range both.log {
			if there[uid] == "" {
				return fmt.Errorf("of the %s, the API server lacks %s, which by the audit log is there in version %s", what, uid, number)
			}
		}
	}
	return nil
}

// monthTable is what is compared of the catalog: rows of the month, by a key of so
// many columns.
type monthTable struct {
	name string
	key  int
	sql  string
}

// monthTables ask for everything that could be of the month: by namespace, by
// label, and by what refers to it.
func monthTables(volumes []string) []monthTable {
	const (
		ours   = "startsWith(namespace, 'month-')"
		claims = "(SELECT uid FROM claims WHERE " + ours + ")"
	)
	isVolume := "(mapContains(labels, 'month') OR claim_uid IN " + claims + " OR uid IN ('" + strings.Join(volumes, "', '") + "'))"
	both := "(uid IN " + claims + " OR uid IN (SELECT uid FROM volumes WHERE " + isVolume + "))"
	return []monthTable{
		{"mount", 4, `SELECT pod_uid, container, volume, mount_path, sub_path, read_only, block_device, source_kind, claim_uid, claim_name, volume_uid,
			started_at, ended_at, ended_not_before, ended_at = ended_not_before AS exact FROM mounts WHERE ` + ours},
		{"binding", 3, `SELECT claim_uid, volume_uid, ordinal, bound_at, released_at, released_not_before FROM bindings
			WHERE claim_uid IN ` + claims + ` OR volume_uid IN (SELECT uid FROM volumes WHERE ` + isVolume + `)`},
		{"phase", 3, `SELECT uid, multiIf(action = 'bound', 'Bound', action = 'released', 'Released', splitByString(' → ', details)[2]) AS phase,
			row_number() OVER (PARTITION BY uid, phase ORDER BY at) AS n, at
			FROM changes WHERE action IN ('bound', 'phase', 'released') AND ` + both},
		{"size", 2, `SELECT uid, details, at FROM changes WHERE action = 'resized' AND ` + both},
		{"modification", 2, `SELECT uid, details, at FROM changes WHERE action = 'modified' AND ` + both},
		{"volume", 1, `SELECT uid, name, phase, phase_changed_at, claim_uid, capacity_bytes, source_kind, created_at, deleted_at FROM volumes WHERE ` + isVolume},
		{"claim", 1, `SELECT uid, namespace, name, phase, volume_name, volume_uid, requested_bytes, capacity_bytes, created_at, bound_at, deleted_at,
			ephemeral, workload_kind, workload_name FROM claims WHERE ` + ours},
		{"container", 2, `SELECT pod_uid, name, image, started_at, finished_at, restarts FROM containers
			WHERE pod_uid IN (SELECT uid FROM pods WHERE ` + ours + `)`},
		{"namespace", 1, `SELECT uid, name, created_at, deleted_at FROM namespaces WHERE startsWith(name, 'month-')`},
		{"attachment", 1, `SELECT uid, volume_uid, node, attached_at, detached_at FROM attachments
			WHERE volume_uid IN (SELECT uid FROM volumes WHERE ` + isVolume + `)`},
		{"pod", 1, `SELECT uid, namespace, name, phase, created_at, started_at, deleted_at FROM pods WHERE ` + ours},
	}
}

// compareAll compares the catalog with the truth; the error lists all that differs.
func compareAll(truth *truth, p *tracker) (summary string, err error) {
	var all verdict
	var expected []string
	rows := 0
	for _, table := range monthTables(slices.Sorted(maps.Keys(truth.facts["volume"]))) {
		found, err := p.rows(table)
		if err != nil {
			return "", err
		}
		rows += len(found)
		expected = append(expected, fmt.Sprintf("%d %ss", len(truth.facts[table.name]), table.name))
		v := truth.facts.compare(table.name, found)
		all.missing = append(all.missing, v.missing...)
		all.invented = append(all.invented, v.invented...)
		all.wrong = append(all.wrong, v.wrong...)
	}
	summary = fmt.Sprintf("%s expected, %d found, %d missing, %d invented, %d wrong",
		strings.Join(expected, ", "), rows, len(all.missing), len(all.invented), len(all.wrong))
	if len(all.missing)+len(all.invented)+len(all.wrong) == 0 {
		return summary, nil
	}
	var text strings.Builder
	for _, list := range []struct {
		title string
		lines []string
	}{{"missing", all.missing}, {"invented", all.invented}, {"wrong", all.wrong}} {
		for _, line := range list.lines {
			fmt.Fprintf(&text, "\n%s: %s", list.title, line)
		}
	}
	return summary, errors.New(summary + truth.named(text.String()))
}

// explain lists what is wrong, and the beginning of it with what the audit log says.
func (t *truth) explain(wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d states and last uses are wrong", len(wrong))
	for i, line := range wrong {
		text.WriteString("\nwrong: " + line)
		if i < 5 {
			text.WriteString(t.log.history(uidIn.FindString(line)))
		}
	}
	return errors.New(t.named(text.String()))
}

var uidIn = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// rows asks the catalog for a table.
func (p *tracker) rows(table monthTable) (map[string]map[string]string, error) {
	lines, err := p.query(table.sql + " FORMAT TSVWithNames")
	if err != nil {
		return nil, err
	}
	columns := strings.Split(lines[0], "\t")
	rows := map[string]map[string]string{}
	for _, line := range lines[1:] {
		values := strings.Split(line, "\t")
		row := map[string]string{}
		for i, column := range columns {
			row[column] = values[i]
		}
		rows[strings.Join(values[:table.key], " ")] = row
	}
	return rows, nil
}

// named puts the names behind the UIDs.
func (t *truth) named(text string) string {
	var pairs []string
	for uid, name := range t.names {
		pairs = append(pairs, string(uid), name+" ("+string(uid)+")")
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// story is what a chapter is told with.
type story struct {
	t         *testing.T
	c         *localCluster
	objects   dynamic.Interface
	namespace string
}

type object interface {
	runtime.Object
	metav1.Object
}

// client returns the client for an object.
func (s *story) client(o object) dynamic.ResourceInterface {
	s.t.Helper()
	kinds, _, err := scheme.Scheme.ObjectKinds(o)
	if err != nil {
		s.t.Fatal(err)
	}
	plural, _ := meta.UnsafeGuessKindToResource(kinds[0])
	return s.objects.Resource(plural).Namespace(o.GetNamespace())
}

func (s *story) fill(o object, got *unstructured.Unstructured) {
	s.t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(got.Object, o); err != nil {
		s.t.Fatal(err)
	}
}

// create creates objects.
func (s *story) create(list ...object) {
	s.t.Helper()
	for _, o := range list {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			s.t.Fatal(err)
		}
		kinds, _, err := scheme.Scheme.ObjectKinds(o)
		if err != nil {
			s.t.Fatal(err)
		}
		u := &unstructured.Unstructured{Object: fields}
		u.SetGroupVersionKind(kinds[0])
		got, err := s.client(o).Create(background, u, metav1.CreateOptions{})
		if err != nil {
			s.t.Fatalf("create %s %s: %v", kinds[0].Kind, o.GetName(), err)
		}
		s.fill(o, got)
	}
}

// patch changes an object.
func (s *story) patch(o object, patch string, subresource ...string) {
	s.t.Helper()
	got, err := s.client(o).Patch(background, o.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresource...)
	if err != nil {
		s.t.Fatalf("patch %s with %s: %v", o.GetName(), patch, err)
	}
	s.fill(o, got)
}

// ask asks for the deletion of objects, as kubectl does, and does not wait for it.
func (s *story) ask(list ...object) {
	s.t.Helper()
	for _, o := range list {
		policy := metav1.DeletePropagationBackground
		if err := s.client(o).Delete(background, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
			s.t.Fatalf("delete %s: %v", o.GetName(), err)
		}
	}
}

// force deletes a pod without waiting for its kubelet.
func (s *story) force(pod *corev1.Pod) {
	s.t.Helper()
	if err := s.client(pod).Delete(background, pod.Name, *metav1.NewDeleteOptions(0)); err != nil {
		s.t.Fatal(err)
	}
}

// gone waits until objects are not there any more; one that is only described is
// known by its name.
func (s *story) gone(list ...object) {
	s.t.Helper()
	for _, o := range list {
		eventually(s.t, o.GetName()+" is gone", func() error {
			got, err := s.client(o).Get(background, o.GetName(), metav1.GetOptions{})
			if apierrors.IsNotFound(err) || (err == nil && o.GetUID() != "" && got.GetUID() != o.GetUID()) {
				return nil
			}
			return fmt.Errorf("it is there: %w", err)
		})
	}
}

// remove deletes objects and waits until they are gone.
func (s *story) remove(list ...object) {
	s.t.Helper()
	s.ask(list...)
	s.gone(list...)
}

// until waits until an object, which is read anew, is as it should be.
func (s *story) until(what string, o object, holds func() bool) {
	s.t.Helper()
	eventually(s.t, o.GetName()+" "+what, func() error {
		got, err := s.client(o).Get(background, o.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		s.fill(o, got)
		if !holds() {
			status, _ := json.Marshal(got.Object["status"])
			return fmt.Errorf("its status is %s", status)
		}
		return nil
	})
}

func (s *story) running(pods ...*corev1.Pod) {
	s.t.Helper()
	for _, pod := range pods {
		s.until("runs", pod, func() bool { return pod.Status.Phase == corev1.PodRunning })
	}
}

func (s *story) completed(pods ...*corev1.Pod) {
	s.t.Helper()
	for _, pod := range pods {
		s.until("has ended", pod, func() bool { return ended(pod) })
	}
}

func (s *story) unschedulable(pod *corev1.Pod) {
	s.t.Helper()
	s.until("cannot be scheduled", pod, func() bool {
		return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
		})
	})
}

// bound waits until a claim is bound, and returns its volume.
func (s *story) bound(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	s.t.Helper()
	s.until("is bound", claim, func() bool { return claim.Status.Phase == corev1.ClaimBound })
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName}}
	s.inPhase(volume, corev1.VolumeBound)
	return volume
}

func (s *story) inPhase(volume *corev1.PersistentVolume, phase corev1.PersistentVolumePhase) {
	s.t.Helper()
	s.until("is "+string(phase), volume, func() bool { return volume.Status.Phase == phase })
}

// pods lists the pods with a label app, as a workload has them.
func (s *story) pods(app string) []corev1.Pod {
	s.t.Helper()
	list, err := s.c.client.CoreV1().Pods(s.namespace).List(background, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		s.t.Fatal(err)
	}
	return list.Items
}

// settled waits until a workload has so many pods, all of which run.
func (s *story) settled(app string, n int) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("%s has %d pods", app, n), func() error {
		pods := s.pods(app)
		for i := range pods {
			if pods[i].Status.Phase != corev1.PodRunning || pods[i].DeletionTimestamp != nil {
				return fmt.Errorf("%s is %s", pods[i].Name, pods[i].Status.Phase)
			}
		}
		if len(pods) != n {
			return fmt.Errorf("it has %d", len(pods))
		}
		return nil
	})
}

// claim describes a claim of a class.
func (s *story) claim(name, class string) *corev1.PersistentVolumeClaim {
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	if class == "nfs" {
		modes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	}
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.namespace},
		Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: modes, Resources: requesting("1Gi")},
	}
}

// claimFor describes a claim that asks for a volume by its name.
func (s *story) claimFor(name string, volume *corev1.PersistentVolume) *corev1.PersistentVolumeClaim {
	claim := s.claim(name, volume.Spec.StorageClassName)
	claim.Spec.AccessModes = volume.Spec.AccessModes
	claim.Spec.VolumeName = volume.Name
	return claim
}

func requesting(size string) corev1.VolumeResourceRequirements {
	return corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}}
}

// ownClass makes a storage class for a chapter in which a volume becomes available:
// no claim of another chapter is to get it. Its volumes are kept.
func (s *story) ownClass(name string) *storagev1.StorageClass {
	s.t.Helper()
	class, err := s.c.client.StorageV1().StorageClasses().Get(background, "standard-retain", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	class.ObjectMeta = metav1.ObjectMeta{Name: name}
	s.create(class)
	return class
}

// volume describes a volume made by hand: on an NFS export, and kept.
func (s *story) volume(name, export string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "month-" + name, Labels: map[string]string{monthLabel: name}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "filer", Path: export}},
		},
	}
}

// pod describes a pod that mounts volumes at their names and runs until it is
// deleted.
func (s *story) pod(name string, volumes ...corev1.Volume) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.namespace, Annotations: map[string]string{}}, Spec: podSpec(volumes...)}
}

// task describes a pod that comes to an end.
func (s *story) task(name, seconds string, volumes ...corev1.Volume) *corev1.Pod {
	pod := s.pod(name, volumes...)
	pod.Annotations[runSeconds] = seconds
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	return pod
}

func podSpec(volumes ...corev1.Volume) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{mounting("main", volumes...)}, Volumes: volumes}
}

// mounting describes a container that mounts volumes at their names.
func mounting(name string, volumes ...corev1.Volume) corev1.Container {
	c := corev1.Container{Name: name, Image: name + ":1"}
	for _, v := range volumes {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name})
	}
	return c
}

// of describes a pod's volume that is a claim's.
func of(claim string) corev1.Volume {
	return inLine(claim, corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}})
}

func inLine(name string, source corev1.VolumeSource) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: source}
}

// ephemeral describes a generic ephemeral volume.
func (s *story) ephemeral(name, class string) corev1.Volume {
	return inLine(name, corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: s.claim("", class).Spec},
	}})
}

func template(app string, spec corev1.PodSpec) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}, Annotations: map[string]string{}}, Spec: spec}
}

func selecting(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

// statefulSet describes one whose claims are called data.
func (s *story) statefulSet(name, class string, replicas int32, spec corev1.PodSpec) *appsv1.StatefulSet {
	claim := s.claim("data", class)
	claim.Namespace = ""
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.namespace},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, ServiceName: name, Selector: selecting(name), Template: template(name, spec),
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{*claim},
		},
	}
}

func (s *story) deployment(name string, replicas int32, spec corev1.PodSpec) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.namespace},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: selecting(name), Template: template(name, spec)},
	}
}

func (s *story) job(name string, spec corev1.PodSpec) *batchv1.Job {
	if spec.RestartPolicy == "" {
		spec.RestartPolicy = corev1.RestartPolicyNever
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.namespace},
		Spec:       batchv1.JobSpec{Template: template(name, spec)},
	}
}

// finished waits until a job has come to its end.
func (s *story) finished(job *batchv1.Job) {
	s.t.Helper()
	s.until("has finished", job, func() bool {
		return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
			return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
		})
	})
}

const (
	letGo    = `{"metadata":{"finalizers":null}}`
	newImage = `{"spec":{"template":{"metadata":{"annotations":{"release":"2"}}}}}`
)

func replicas(n int) string { return fmt.Sprintf(`{"spec":{"replicas":%d}}`, n) }
func request(s string) string {
	return fmt.Sprintf(`{"spec":{"resources":{"requests":{"storage":%q}}}}`, s)
}
func annotate(k, v string) string { return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, k, v) }

// monthChapters are what happens in the month.
var monthChapters = map[string]func(*story){
	"databases":         databases,
	"brokers":           brokers,
	"web":               web,
	"jobs":              jobs,
	"retried job":       retriedJob,
	"failed job":        failedJob,
	"cron job":          cronJob,
	"daemon set":        daemonSet,
	"ephemeral":         ephemeral,
	"ephemeral late":    ephemeralLate,
	"growth":            growth,
	"retained":          retained,
	"reclaimed":         reclaimed,
	"held":              held,
	"lost":              lost,
	"by hand":           byHand,
	"one export":        oneExport,
	"late":              late,
	"all kinds":         allKinds,
	"block":             block,
	"debugged":          debugged,
	"same names":        sameNames,
	"same name, held":   sameNameHeld,
	"forced":            forced,
	"haste":             haste,
	"unbound":           unboundByMistake,
	"crash loop":        crashLoop,
	"evicted":           evicted,
	"preempted":         preempted,
	"tainted":           tainted,
	"left by the node":  leftByTheNode,
	"never used":        neverUsed,
	"never started":     neverStarted,
	"rejected":          rejected,
	"lost node":         lostNode,
	"given away":        givenAway,
	"given away, ended": givenAwayAndEnded,
	"pulled away":       pulledAway,
	"cleared":           cleared,
	"made again":        madeAgain,
	"swapped":           swapped,
	"scaled down":       scaledDown,
	"namespace deleted": namespaceDeleted,
}

// databases: a StatefulSet with init container and sidecar goes up, down and up
// again, is rolled and deleted. Its claims stay.
func databases(s *story) {
	always := corev1.ContainerRestartPolicyAlways
	data := inLine("data", corev1.VolumeSource{})
	spec := corev1.PodSpec{
		InitContainers: []corev1.Container{mounting("init", data), mounting("sidecar", data)},
		Containers:     []corev1.Container{mounting("db", data), mounting("backup", data), {Name: "exporter", Image: "exporter:1"}},
	}
	spec.InitContainers[1].RestartPolicy = &always
	spec.Containers[1].VolumeMounts[0].ReadOnly = true
	db := s.statefulSet("db", "standard", 2, spec)
	s.create(db)
	s.settled("db", 2)
	s.patch(db, replicas(3))
	s.settled("db", 3)
	s.patch(db, replicas(1))
	s.settled("db", 1)
	s.patch(db, replicas(2))
	s.settled("db", 2)
	s.patch(db, newImage)
	s.until("is rolled", db, func() bool {
		return db.Status.UpdatedReplicas == 2 && db.Status.CurrentRevision == db.Status.UpdateRevision
	})
	s.settled("db", 2)
	s.remove(db)
	s.settled("db", 0)
	s.remove(s.claim("data-db-2", ""))
}

// brokers: a StatefulSet whose claims go with its pods.
func brokers(s *story) {
	mq := s.statefulSet("mq", "late", 3, podSpec(inLine("data", corev1.VolumeSource{})))
	mq.Spec.Template.Spec.Volumes = nil
	mq.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	mq.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType, WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
	}
	s.create(mq)
	s.settled("mq", 3)
	s.patch(mq, replicas(1))
	s.settled("mq", 1)
	s.gone(s.claim("data-mq-1", ""), s.claim("data-mq-2", ""))
	s.patch(mq, replicas(2))
	s.settled("mq", 2)
	s.remove(mq)
	s.gone(s.claim("data-mq-0", ""), s.claim("data-mq-1", ""))
}

// web: a Deployment on a shared volume is rolled out anew, and taken back; one of
// its pods is evicted.
func web(s *story) {
	s.create(s.claim("media", "nfs"))
	spec := podSpec(of("media"), inLine("cache", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}))
	mounts := &spec.Containers[0].VolumeMounts
	*mounts = append(*mounts, corev1.VolumeMount{Name: "media", MountPath: "/thumbnails", SubPath: "thumbnails", ReadOnly: true})
	front := s.deployment("web", 2, spec)
	s.create(front)
	s.settled("web", 2)
	s.patch(front, newImage)
	s.until("is rolled out", front, func() bool {
		return front.Status.ObservedGeneration == front.Generation && front.Status.UpdatedReplicas == 2 && front.Status.Replicas == 2
	})
	s.settled("web", 2)
	s.evict(&s.pods("web")[0])
	s.settled("web", 2)
	s.patch(front, `{"spec":{"template":{"metadata":{"annotations":{"release":null}}}}}`)
	s.until("is taken back", front, func() bool {
		return front.Status.ObservedGeneration == front.Generation && front.Status.UpdatedReplicas == 2 && front.Status.Replicas == 2
	})
	s.settled("web", 2) // and they run on
}

// evict asks for the eviction of a pod, as a drain of its node does.
func (s *story) evict(pod *corev1.Pod) {
	s.t.Helper()
	err := s.c.client.PolicyV1().Evictions(pod.Namespace).Evict(background, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.gone(pod)
}

// jobs: a Job with several pods on one claim, and one that is swept away once it
// has ended.
func jobs(s *story) {
	s.create(s.claim("batch", "nfs"))
	two, none := int32(2), int32(0)
	reindex := s.job("reindex", podSpec(of("batch")))
	reindex.Spec.Completions, reindex.Spec.Parallelism = &two, &two
	swept := s.job("swept", podSpec(of("batch")))
	swept.Spec.TTLSecondsAfterFinished = &none
	s.create(reindex, swept)
	s.gone(swept)
	s.finished(reindex)
	paused := s.job("paused", podSpec(of("batch")))
	paused.Spec.Template.Annotations = map[string]string{runSeconds: "2"}
	s.create(paused)
	s.settled("paused", 1)
	s.patch(paused, `{"spec":{"suspend":true}}`)
	s.settled("paused", 0)
	s.patch(paused, `{"spec":{"suspend":false}}`)
	s.finished(paused)
	again := s.job("again", podSpec(of("batch")))
	s.create(again)
	s.finished(again)
	s.remove(again)
}

// retriedJob: its container fails and is started again in its pod, until it succeeds.
func retriedJob(s *story) {
	s.create(s.claim("retry", "standard"))
	job := s.job("retried", podSpec(of("retry")))
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	job.Spec.Template.Annotations = map[string]string{runSeconds: "1", exitCode: "1"}
	s.create(job)
	eventually(s.t, "restarted", func() error {
		for _, pod := range s.pods("retried") {
			if len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].RestartCount > 0 {
				s.patch(&pod, annotate(exitCode, "0"))
				return nil
			}
		}
		return errors.New("not yet")
	})
	s.finished(job)
}

// failedJob: its pods fail, one after another, and are kept.
func failedJob(s *story) {
	s.create(s.claim("broken", "standard"))
	job := s.job("failed", podSpec(of("broken")))
	one := int32(1)
	job.Spec.BackoffLimit = &one
	job.Spec.Template.Annotations = map[string]string{runSeconds: "1", exitCode: "1"}
	s.create(job)
	s.finished(job)
}

// cronJob: it is told that it last ran a while ago, and makes up for it.
func cronJob(s *story) {
	s.create(s.claim("reports", "standard"))
	cron := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: "report", Namespace: s.namespace},
		Spec:       batchv1.CronJobSpec{Schedule: "* * * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: s.job("", podSpec(of("reports"))).Spec}},
	}
	cron.Spec.JobTemplate.Spec.Template.Labels = map[string]string{"app": "report"}
	s.create(cron)
	ago := time.Now().Add(-2 * time.Minute).UTC().Format(time.RFC3339)
	s.patch(cron, fmt.Sprintf(`{"status":{"lastScheduleTime":%q}}`, ago), "status")
	s.until("has run", cron, func() bool { return cron.Status.LastSuccessfulTime != nil })
	s.patch(cron, `{"spec":{"suspend":true}}`)
	byHand := s.job("report-by-hand", cron.Spec.JobTemplate.Spec.Template.Spec)
	byHand.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cron, batchv1.SchemeGroupVersion.WithKind("CronJob"))}
	s.create(byHand)
	s.finished(byHand)
}

// daemonSet: a pod on each node, on a directory of it.
func daemonSet(s *story) {
	logs := inLine("logs", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/log"}})
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "shipper", Namespace: s.namespace},
		Spec:       appsv1.DaemonSetSpec{Selector: selecting("shipper"), Template: template("shipper", podSpec(logs))},
	}
	s.create(set)
	s.until("is everywhere", set, func() bool {
		return set.Status.NumberReady > 0 && set.Status.NumberReady == set.Status.DesiredNumberScheduled
	})
	s.remove(set)
	s.settled("shipper", 0)
}

// ephemeral: a pod whose generic ephemeral volume has a name that is taken has to
// wait until it is free, and has a claim of its own then.
func ephemeral(s *story) {
	taken := s.claim("runner-scratch", "standard")
	other := s.pod("tenant", of(taken.Name))
	s.create(taken, other)
	s.running(other)
	runner := s.pod("runner", s.ephemeral("scratch", "standard"))
	s.create(runner)
	s.unschedulable(runner)
	s.ask(taken) // held by the pod that uses it
	s.remove(other)
	s.gone(taken)
	s.running(runner)
	s.remove(runner)
	s.gone(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: taken.Name, Namespace: s.namespace}})
}

// ephemeralLate: its claim is bound when the pod is placed; the pod ends by itself,
// and its claim stays until it is deleted.
func ephemeralLate(s *story) {
	build := s.task("build", "1", s.ephemeral("work", "late"), s.ephemeral("cache", "late-retain"))
	s.create(build)
	s.completed(build)
	work := s.claim("build-work", "")
	volume := s.bound(work)
	s.remove(build)
	s.gone(work, volume)
}

// growth: a claim grows while it is used, and twice; one of NFS asks in vain.
func growth(s *story) {
	claim, shared := s.claim("growing", "standard"), s.claim("archive", "standard-retain")
	user := s.pod("grower", of(claim.Name), of(shared.Name))
	s.create(claim, shared, user)
	s.running(user)
	for _, size := range []string{"3Gi", "7Gi"} {
		s.patch(claim, request(size))
		s.until("has grown", claim, func() bool { return claim.Status.Capacity.Storage().String() == size })
	}
	s.patch(shared, request("2Gi"))
	s.until("has grown", shared, func() bool { return shared.Status.Capacity.Storage().String() == "2Gi" })
}

// retained: a volume outlives its claim, is given to another one, and to a third.
func retained(s *story) {
	class := s.ownClass("month-archive")
	defer s.remove(class)
	first := s.claim("ledger", class.Name)
	user := s.task("accountant", "1", of(first.Name))
	s.create(first, user)
	s.completed(user)
	volume := s.bound(first)
	s.remove(user, first)
	s.inPhase(volume, corev1.VolumeReleased)
	s.patch(volume, `{"spec":{"claimRef":null}}`)
	s.inPhase(volume, corev1.VolumeAvailable)

	second := s.claimFor("ledger", volume) // of the same name, too
	auditor := s.pod("auditor", of(second.Name))
	s.create(second, auditor)
	s.running(auditor)
	s.remove(auditor, second)
	s.inPhase(volume, corev1.VolumeReleased)

	// The administrator has it for somebody in particular.
	s.patch(volume, fmt.Sprintf(`{"spec":{"claimRef":{"namespace":%q,"name":"heirloom","uid":null,"resourceVersion":null}}}`, monthOtherName))
	s.inPhase(volume, corev1.VolumeAvailable)
	third := s.claimFor("heirloom", volume)
	third.Namespace = monthOtherName
	heir := s.pod("heir", of(third.Name))
	heir.Namespace = monthOtherName
	s.create(third, heir)
	s.running(heir)
}

// reclaimed: a volume is released, and its policy is changed to Delete.
func reclaimed(s *story) {
	claim := s.claim("draft", "late-retain")
	user := s.task("writer", "1", of(claim.Name))
	s.create(claim, user)
	s.completed(user)
	volume := s.bound(claim)
	s.remove(user, claim)
	s.inPhase(volume, corev1.VolumeReleased)
	s.patch(volume, `{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}`)
	s.gone(volume)
}

// held: finalizers hold back the deletion of a claim, of a volume and of a pod.
func held(s *story) {
	claim := s.claim("precious", "standard")
	user := s.pod("holder", of(claim.Name))
	user.Finalizers = []string{hold}
	s.create(claim, user)
	s.running(user)
	volume := s.bound(claim)
	s.ask(claim)
	s.until("is to be deleted", claim, func() bool { return claim.DeletionTimestamp != nil })
	s.ask(volume)
	s.until("is to be deleted", volume, func() bool { return volume.DeletionTimestamp != nil })
	s.ask(user)
	s.completed(user)
	s.patch(user, letGo)
	s.gone(user, claim, volume)
}

// lost: a bound claim loses its volume, and finds another one under its name.
func lost(s *story) {
	volume := s.volume("lost", "/lost")
	claim := s.claimFor("lost", volume)
	before := s.task("before-the-loss", "1", of(claim.Name))
	during := s.pod("during-the-loss", of(claim.Name))
	s.create(volume, claim, before, during)
	s.completed(before)
	s.running(during)
	s.ask(volume)
	s.patch(volume, letGo)
	s.gone(volume)
	s.until("is lost", claim, func() bool { return claim.Status.Phase == corev1.ClaimLost })
	s.remove(during)
	found := s.volume("lost", "/found")
	s.create(found)
	s.bound(claim)
	after := s.task("after-the-loss", "1", of(claim.Name))
	s.create(after)
	s.completed(after)
}

// byHand: volumes made by hand are bound to whom they are reserved for, fail where
// nobody can delete them, or are never bound.
func byHand(s *story) {
	reserved := s.volume("reserved", "/reserved")
	reserved.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: s.namespace, Name: "reserved"}
	reserved.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
	reserved.Spec.NFS.ReadOnly = true
	spare := s.volume("spare", "/spare")
	spare.Spec.StorageClassName = "month-nobody" // is looked for by nobody
	s.create(reserved, spare)
	s.inPhase(reserved, corev1.VolumeAvailable)
	s.inPhase(spare, corev1.VolumeAvailable)

	claim := s.claimFor("reserved", reserved)
	user := s.pod("guest", of(claim.Name))
	s.create(claim, user)
	s.running(user)
	s.remove(user, claim)
	s.inPhase(reserved, corev1.VolumeFailed)
	s.remove(reserved, spare)
}

// oneExport: two volumes are one directory.
func oneExport(s *story) {
	var users []*corev1.Pod
	for _, name := range []string{"left", "right"} {
		volume := s.volume(name, "/export")
		claim := s.claimFor(name, volume)
		user := s.pod(name, of(name))
		s.create(volume, claim, user)
		users = append(users, user)
	}
	s.running(users...)
	s.remove(users[0])
}

// late: a claim waits for a pod that can be placed.
func late(s *story) {
	claim := s.claim("late", "late")
	misfit := s.pod("misfit", of(claim.Name))
	misfit.Spec.NodeSelector = map[string]string{"no": "where"}
	s.create(claim, misfit)
	s.unschedulable(misfit)
	s.remove(misfit)
	user := s.task("latecomer", "1", of(claim.Name))
	s.create(user)
	s.completed(user)
	volume := s.bound(claim)
	s.remove(user, claim)
	s.gone(volume)
}

// allKinds: a pod with every kind of volume that needs no volume object, and with
// those that are not storage.
func allKinds(s *story) {
	s.create(s.claim("kinds-a", "standard"), s.claim("kinds-b", "nfs"))
	csi := &corev1.CSIVolumeSource{Driver: "csi.localcluster.kubevoltracker.io", VolumeAttributes: map[string]string{"share": "inline"}}
	readOnlyClaim := of("kinds-b")
	readOnlyClaim.PersistentVolumeClaim.ReadOnly = true
	optional := true
	pod := s.pod("kinds", of("kinds-a"), readOnlyClaim,
		inLine("scratch", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}),
		inLine("host", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/srv"}}),
		inLine("csi", corev1.VolumeSource{CSI: csi}),
		inLine("nfs", corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "filer", Path: "/inline"}}),
		inLine("nfs-ro", corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "filer", Path: "/inline", ReadOnly: true}}),
		inLine("iscsi", corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{TargetPortal: "san:3260", IQN: "iqn.2016-06.example:month", Lun: 3}}),
		inLine("image", corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "models:1"}}),
		inLine("secret", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "absent", Optional: &optional}}),
		inLine("downward", corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{}}),
	)
	pod.Spec.Volumes = append(pod.Spec.Volumes, inLine("unused", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}))
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "reader", Image: "reader:1", VolumeMounts: []corev1.VolumeMount{
		{Name: "kinds-a", MountPath: "/a", ReadOnly: true}, {Name: "kinds-b", MountPath: "/b"},
	}})
	s.create(pod)
	s.running(pod)
}

// block: a container uses a volume as a device.
func block(s *story) {
	claim := s.claim("device", "standard")
	mode := corev1.PersistentVolumeBlock
	claim.Spec.VolumeMode = &mode
	pod := s.pod("san", of(claim.Name))
	pod.Spec.Containers[0].VolumeMounts = nil
	pod.Spec.Containers[0].VolumeDevices = []corev1.VolumeDevice{{Name: claim.Name, DevicePath: "/dev/san"}}
	s.create(claim, pod)
	s.running(pod)
	s.remove(pod)
}

// debugged: a container joins a pod that runs, and mounts its volume.
func debugged(s *story) {
	claim := s.claim("puzzle", "standard")
	pod := s.pod("puzzled", of(claim.Name))
	s.create(claim, pod)
	s.running(pod)
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon(mounting("debugger", of(claim.Name)))}}
	if _, err := s.c.client.CoreV1().Pods(s.namespace).UpdateEphemeralContainers(background, pod.Name, pod, metav1.UpdateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.until("is looked into", pod, func() bool { return len(pod.Status.EphemeralContainerStatuses) > 0 })
	s.remove(pod)
}

// sameNames: a pod and its claim are deleted and made again under their names.
func sameNames(s *story) {
	for range 2 {
		claim := s.claim("phoenix", "standard")
		s.create(claim)
		for range 2 {
			pod := s.pod("phoenix", of(claim.Name))
			s.create(pod)
			s.running(pod)
			s.remove(pod)
		}
		s.remove(claim)
	}
	// One that has ended and is still there holds its claim, too.
	claim := s.claim("ash", "standard")
	pod := s.task("ash", "1", of(claim.Name))
	s.create(claim, pod)
	s.completed(pod)
	s.ask(claim)
	s.remove(pod)
	s.gone(claim)
	next := s.claim("ash", "standard")
	s.create(next)
	s.bound(next)
}

// haste: a pod and its claim go as soon as it has started, and the next claim of
// the name is there before the second is over that the API tells times in. It may
// take a few tries to be that fast.
func haste(s *story) {
	for range 8 {
		claim := s.claim("hasty", "standard")
		pod := s.pod("hasty", of(claim.Name))
		s.create(claim, pod)
		s.running(pod)
		s.force(pod)
		s.remove(claim)
		next := s.claim("hasty", "standard")
		s.create(next)
		if next.CreationTimestamp.Equal(&pod.Status.ContainerStatuses[0].State.Running.StartedAt) {
			return
		}
		s.remove(next)
	}
}

// unboundByMistake: an administrator takes a volume's claim away, though it is
// there. It gets the volume back.
func unboundByMistake(s *story) {
	class := s.ownClass("month-mistake")
	defer s.remove(class)
	claim := s.claim("robbed", class.Name)
	pod := s.pod("robbed", of(claim.Name))
	s.create(claim, pod)
	s.running(pod)
	volume := s.bound(claim)
	s.patch(volume, `{"spec":{"claimRef":null}}`)
	s.until("is bound again", volume, func() bool {
		return volume.Spec.ClaimRef != nil && volume.Spec.ClaimRef.UID == claim.UID && volume.Status.Phase == corev1.VolumeBound
	})
}

// sameNameHeld: the next pod of a name comes while the claim of its predecessor is
// being deleted, and has to wait for the next claim of that name.
func sameNameHeld(s *story) {
	claim := s.claim("heir", "standard-retain")
	claim.Finalizers = []string{hold}
	pod := s.pod("heir", of(claim.Name))
	s.create(claim, pod)
	s.running(pod)
	s.ask(claim)
	s.remove(pod)
	next := s.pod("heir", of(claim.Name))
	s.create(next)
	s.unschedulable(next)
	s.patch(claim, letGo)
	s.gone(claim)
	s.create(s.claim("heir", "standard"))
	s.running(next)
}

// forced: a pod goes before its kubelet has said how it ended, and another one has
// its name at once.
func forced(s *story) {
	claim := s.claim("torn", "nfs")
	pod := s.pod("stuck", of(claim.Name))
	pod.Annotations[stopSeconds] = "60"
	s.create(claim, pod)
	s.running(pod)
	s.ask(pod)
	s.force(pod)
	next := s.pod("stuck", of(claim.Name))
	s.gone(pod)
	s.create(next)
	s.running(next)
	s.force(next)
	s.gone(next)
}

// crashLoop: a container crashes and is started again, which is one use; its pod
// is deleted while it waits.
func crashLoop(s *story) {
	claim := s.claim("fragile", "standard")
	pod := s.pod("fragile", of(claim.Name))
	pod.Annotations[runSeconds], pod.Annotations[exitCode] = "1", "1"
	slow := s.pod("slow-start", of(claim.Name))
	slow.Annotations[initSeconds] = "60"
	slow.Spec.InitContainers = []corev1.Container{mounting("slow", of(claim.Name))}
	s.create(claim, pod, slow)
	s.until("has crashed twice", pod, func() bool {
		return len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].RestartCount == 1 && pod.Status.ContainerStatuses[0].State.Waiting != nil
	})
	s.remove(pod, slow) // and this one has never started
}

// evicted: a kubelet short of space ends a pod, which stays, failed.
func evicted(s *story) {
	claim := s.claim("greedy", "standard")
	pod := s.pod("greedy", of(claim.Name))
	s.create(claim, pod)
	s.running(pod)
	status := pod.Status.DeepCopy()
	now := metav1.Now()
	status.Phase, status.Reason = corev1.PodFailed, "Evicted"
	state := &status.ContainerStatuses[0].State
	state.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error", StartedAt: state.Running.StartedAt, FinishedAt: now}
	state.Running = nil
	s.setStatus(pod, status)
	s.remove(pod)
}

// leftByTheNode: what the collector of orphaned pods writes when a node is gone.
// Nobody says when the container ended.
func leftByTheNode(s *story) {
	node := s.node("month-vanishing")
	claim := s.claim("orphaned", "standard")
	pod := s.pod("orphan", of(claim.Name))
	settleOn(node, pod)
	s.create(claim, pod)
	s.running(pod)
	s.remove(node)
	status := pod.Status.DeepCopy()
	status.Phase = corev1.PodFailed
	status.Conditions = append(status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByPodGC", LastTransitionTime: metav1.Now(),
	})
	s.setStatus(pod, status)
	s.force(pod)
	s.gone(pod)
}

func (s *story) setStatus(pod *corev1.Pod, status *corev1.PodStatus) {
	s.t.Helper()
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		s.t.Fatal(err)
	}
	s.patch(pod, string(patch), "status")
}

// preempted: an urgent pod takes the place of another one.
func preempted(s *story) {
	urgent := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "month-urgent"}, Value: 1000}
	s.create(urgent)
	defer s.remove(urgent)
	claim := s.claim("cheap", "nfs")
	large := func(name string) *corev1.Pod {
		pod := s.pod(name, of(claim.Name))
		pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "node-1"}
		// More than half of a node; nothing else here asks for any.
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200")}
		return pod
	}
	victim, winner := large("victim"), large("winner")
	winner.Spec.PriorityClassName = urgent.Name
	s.create(claim, victim)
	s.running(victim)
	s.create(winner)
	s.gone(victim)
	s.running(winner)
	s.remove(winner)
}

// node makes a node for the pods that settleOn puts there, and for no other.
func (s *story) node(name string) *corev1.Node {
	s.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname: name, corev1.LabelInstanceTypeStable: "kwok", // who looks after it
	}}}
	node.Spec.Taints = []corev1.Taint{{Key: monthLabel, Effect: corev1.TaintEffectNoSchedule}}
	node.Status.Capacity = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("100")}
	s.create(node)
	return node
}

func settleOn(node *corev1.Node, pod *corev1.Pod) {
	pod.Spec.NodeSelector = node.Labels
	pod.Spec.Tolerations = []corev1.Toleration{{Key: monthLabel, Effect: corev1.TaintEffectNoSchedule}}
}

// tainted: a node sends its pods away.
func tainted(s *story) {
	node := s.node("month-node")
	defer s.remove(node)
	claim := s.claim("nomad", "nfs")
	pod := s.pod("nomad", of(claim.Name))
	settleOn(node, pod)
	s.create(claim, pod)
	s.running(pod)
	s.patch(node, fmt.Sprintf(`{"spec":{"taints":[{"key":%q,"effect":"NoExecute"}]}}`, monthLabel))
	s.gone(pod)
}

// neverUsed: claims that nobody uses, or that are never bound.
func neverUsed(s *story) {
	idle, waiting, hopeless := s.claim("idle", "standard"), s.claim("waiting", "late"), s.claim("hopeless", "month-no-such-class")
	hopeful := s.pod("hopeful", of(hopeless.Name))
	s.create(idle, waiting, hopeless, hopeful)
	s.unschedulable(hopeful)
	s.bound(idle)
	s.remove(hopeful, hopeless, waiting)
}

// namespaceDeleted: with all that is in it, in every state.
func namespaceDeleted(s *story) {
	s.namespace = monthGoneNamespace
	kept, lost := s.claim("kept", "standard-retain"), s.claim("lost", "standard")
	kept.Labels = map[string]string{"owner": "anna"}
	users := []*corev1.Pod{s.pod("runs", of(kept.Name), of(lost.Name)), s.pod("runs-too", s.ephemeral("own", "late"))}
	done, waits := s.task("done", "1", of(lost.Name)), s.pod("waits", of("nothing"))
	set := s.statefulSet("set", "late", 2, podSpec(inLine("data", corev1.VolumeSource{})))
	set.Spec.Template.Spec.Volumes = nil
	s.create(kept, lost, users[0], users[1], done, waits, set)
	s.running(users...)
	s.completed(done)
	s.settled("set", 2)
	volume := s.bound(kept)
	s.remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}})
	s.inPhase(volume, corev1.VolumeReleased)
	s.patch(volume, annotate("month", "over")) // and whose it was is still known
}

// recordedKinds are what the tracker watches, by the resources to be watched.
var recordedKinds = map[fact.Kind]schema.GroupVersionResource{
	fact.Namespaces:        corev1.SchemeGroupVersion.WithResource("namespaces"),
	fact.StorageClasses:    storagev1.SchemeGroupVersion.WithResource("storageclasses"),
	fact.Volumes:           corev1.SchemeGroupVersion.WithResource("persistentvolumes"),
	fact.StatefulSets:      appsv1.SchemeGroupVersion.WithResource("statefulsets"),
	fact.DaemonSets:        appsv1.SchemeGroupVersion.WithResource("daemonsets"),
	fact.Deployments:       appsv1.SchemeGroupVersion.WithResource("deployments"),
	fact.ReplicaSets:       appsv1.SchemeGroupVersion.WithResource("replicasets"),
	fact.CronJobs:          batchv1.SchemeGroupVersion.WithResource("cronjobs"),
	fact.Jobs:              batchv1.SchemeGroupVersion.WithResource("jobs"),
	fact.Claims:            corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"),
	fact.VolumeAttachments: storagev1.SchemeGroupVersion.WithResource("volumeattachments"),
	fact.Pods:              corev1.SchemeGroupVersion.WithResource("pods"),
}

// recording is what the watches told, in the order in which it arrived.
type recording struct {
	mu     sync.Mutex
	events []recordedEvent
}

type recordedEvent struct {
	At     string          `json:"at"`
	Kind   fact.Kind       `json:"kind"`
	Type   watch.EventType `json:"type"`
	Object recordedObject  `json:"object"`
}

// recordedObject is written without the kind and version that an object of the API
// has to have.
type recordedObject struct{ *unstructured.Unstructured }

func (o recordedObject) MarshalJSON() ([]byte, error) { return json.Marshal(o.Object) }

// startRecording notes what the watches tell. The function that it returns ends
// that, and writes to a file what is the month's.
func startRecording(t *testing.T, objects dynamic.Interface) (stop func(path string)) {
	ctx, cancel := context.WithCancel(background)
	var r recording
	var watches sync.WaitGroup
	for kind, resource := range recordedKinds {
		events, err := objects.Resource(resource).Watch(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		watches.Go(func() {
			for event := range events.ResultChan() {
				r.take(kind, event)
			}
			if ctx.Err() == nil {
				t.Errorf("the watch of %s ended", kind)
			}
		})
	}
	return func(path string) {
		cancel()
		watches.Wait()
		if err := r.write(path); err != nil {
			t.Error(err)
		}
	}
}

func (r *recording) take(kind fact.Kind, event watch.Event) {
	o, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		return // bookmarks are not asked for, and an error ends the watch
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, recordedEvent{time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), kind, event.Type, recordedObject{o}})
}

// write writes the events of the month, and no more of their objects than tells
// who uses what: a change of anything else is no event.
func (r *recording) write(path string) error {
	volumes := map[string]bool{} // by name
	for _, e := range r.events {
		labelled := e.Object.GetLabels()[monthLabel] != ""
		namespace, _, _ := unstructured.NestedString(e.Object.Object, "spec", "claimRef", "namespace")
		if e.Kind == fact.Volumes && (labelled || isOfTheMonth(namespace)) {
			volumes[e.Object.GetName()] = true
		}
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := json.NewEncoder(file)
	last := map[types.UID]map[string]any{}
	for _, e := range r.events {
		if !e.isOfTheMonth(volumes) {
			continue
		}
		slim(e.Kind, e.Object.Object)
		same := equality.Semantic.DeepEqual(last[e.Object.GetUID()], withoutVersion(e.Object))
		last[e.Object.GetUID()] = withoutVersion(e.Object)
		if same && e.Type == watch.Modified {
			continue
		}
		if err := lines.Encode(e); err != nil {
			return err
		}
	}
	return file.Close()
}

func isOfTheMonth(namespace string) bool { return strings.HasPrefix(namespace, "month-") }

func (e *recordedEvent) isOfTheMonth(volumes map[string]bool) bool {
	switch e.Kind {
	case fact.StorageClasses:
		return true
	case fact.Namespaces:
		return isOfTheMonth(e.Object.GetName())
	case fact.Volumes:
		return volumes[e.Object.GetName()]
	case fact.VolumeAttachments:
		volume, _, _ := unstructured.NestedString(e.Object.Object, "spec", "source", "persistentVolumeName")
		return volumes[volume]
	default:
		return isOfTheMonth(e.Object.GetNamespace())
	}
}

func withoutVersion(o recordedObject) map[string]any {
	fields := maps.Clone(o.Object)
	fields["metadata"] = maps.Clone(inner(fields, "metadata"))
	delete(inner(fields, "metadata"), "resourceVersion")
	return fields
}

// slim leaves of an object what is recorded of it.
func slim(kind fact.Kind, o map[string]any) {
	metadata := inner(o, "metadata")
	keep(metadata, "namespace", "name", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
		"finalizers", "ownerReferences", "labels")
	keep(inner(metadata, "labels"), "app", monthLabel)
	for _, owner := range items(metadata, "ownerReferences") {
		keep(owner, "kind", "name", "uid", "controller")
	}
	switch kind {
	case fact.Pods:
		slimPod(o)
	case fact.Claims:
		for _, condition := range items(inner(o, "status"), "conditions") {
			keep(condition, "type", "status", "lastTransitionTime")
		}
	case fact.Volumes:
		keep(inner(inner(o, "spec"), "claimRef"), "namespace", "name", "uid")
		keep(inner(inner(o, "spec"), "csi"), "driver", "volumeHandle")
	case fact.StatefulSets:
		keep(inner(o, "spec"), "volumeClaimTemplates")
		for _, claim := range items(inner(o, "spec"), "volumeClaimTemplates") {
			keep(claim, "metadata")
		}
		keep(o, "metadata", "spec")
	case fact.Deployments, fact.ReplicaSets, fact.DaemonSets, fact.CronJobs, fact.Jobs:
		keep(o, "metadata")
	}
	delete(o, "apiVersion")
	delete(o, "kind")
}

func slimPod(o map[string]any) {
	spec, status := inner(o, "spec"), inner(o, "status")
	keep(spec, "nodeName", "serviceAccountName", "restartPolicy", "volumes", "initContainers", "containers", "ephemeralContainers")
	keep(status, "phase", "reason", "conditions", "initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
	dropFrom(spec, "volumes", isToken)
	for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for _, c := range items(spec, list) {
			keep(c, "name", "image", "command", "restartPolicy", "restartPolicyRules", "volumeMounts", "volumeDevices")
			dropFrom(c, "volumeMounts", isToken)
		}
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"} {
		for _, c := range items(status, list) {
			keep(c, "name", "restartCount", "state", "lastState")
			if len(inner(c, "lastState")) == 0 {
				delete(c, "lastState")
			}
		}
		dropFrom(status, list, func(c map[string]any) bool { return inner(c, "state")["waiting"] != nil && c["lastState"] == nil })
	}
	dropFrom(status, "conditions", func(c map[string]any) bool {
		return c["type"] != string(corev1.PodScheduled) && c["type"] != string(corev1.DisruptionTarget) && c["type"] != string(corev1.PodReady)
	})
	for _, condition := range items(status, "conditions") {
		keep(condition, "type", "status", "reason", "lastTransitionTime")
	}
}

// isToken is true for the volume that every pod is given, and for its mounts.
func isToken(v map[string]any) bool {
	return strings.HasPrefix(fmt.Sprint(v["name"]), "kube-api-access-")
}

func keep(o map[string]any, fields ...string) {
	maps.DeleteFunc(o, func(field string, _ any) bool { return !slices.Contains(fields, field) })
}

func inner(o map[string]any, field string) map[string]any {
	m, _ := o[field].(map[string]any)
	return m
}

func items(o map[string]any, field string) (list []map[string]any) {
	all, _ := o[field].([]any)
	for _, item := range all {
		if m, ok := item.(map[string]any); ok {
			list = append(list, m)
		}
	}
	return list
}

func dropFrom(o map[string]any, field string, drop func(map[string]any) bool) {
	var left []any
	for _, item := range items(o, field) {
		if !drop(item) {
			left = append(left, item)
		}
	}
	if delete(o, field); left != nil {
		o[field] = left
	}
}
