package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

func seconds(at metav1.Time) string { return at.UTC().Format("2006-01-02 15:04:05") }

// TestTracksStorage runs a tracker with the rights of deploy/rbac.yaml through
// the lives of some volumes, and compares what it tells with what the API says.
func TestTracksStorage(t *testing.T) {
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "tracks")
	core := c.Client.CoreV1()

	// Some are there before the tracker comes, some come after.
	c.CreateClaim(t, ns, "before", "standard")
	c.CreatePod(t, ns, "early", 0, "before")
	early := c.AwaitPod(t, ns, "early", corev1.PodRunning)
	p := harness.StartTracker(t, c.ServiceAccount(t), "--cluster.name=test")
	harness.Eventually(t, "ready", func() error {
		if status, body, err := p.Get("/readyz?verbose"); err != nil || status != http.StatusOK {
			return fmt.Errorf("%d %s %w", status, body, err)
		}
		return nil
	})
	created := func(class, source string) float64 {
		n, _ := strconv.ParseFloat(p.Metrics(t)[fmt.Sprintf(`kubevoltracker_volumes_created_total{source=%q,storageclass=%q}`, source, class)], 64)
		return n
	}
	createdBefore := created("standard-retain", "csi")

	c.CreateClaim(t, ns, "unused", "standard")
	c.CreateClaim(t, ns, "late", "late")
	c.CreateClaim(t, ns, "kept", "standard-retain")
	c.CreatePod(t, ns, "reader", 0, "late", "before")
	c.CreatePod(t, ns, "job", 1, "kept")
	reader := c.AwaitPod(t, ns, "reader", corev1.PodRunning)
	job := c.AwaitPod(t, ns, "job", corev1.PodSucceeded)

	t.Run("each mount is the API's", func(t *testing.T) {
		var want []string
		for _, use := range []struct {
			pod   *corev1.Pod
			claim string
		}{{early, "before"}, {job, "kept"}, {reader, "before"}, {reader, "late"}} {
			claim, volume := c.AwaitBound(t, ns, use.claim)
			end := `\N`
			state := use.pod.Status.ContainerStatuses[0].State
			started := state.Running
			if state.Terminated != nil {
				end = seconds(state.Terminated.FinishedAt)
				started = &corev1.ContainerStateRunning{StartedAt: state.Terminated.StartedAt}
			}
			want = append(want, strings.Join([]string{
				string(use.pod.UID), "main", use.claim, "/" + use.claim, string(claim.UID), string(volume.UID), "csi",
				volume.Spec.CSI.VolumeHandle, seconds(started.StartedAt), end, end,
			}, "\t"))
		}
		p.ExpectRows(t, `SELECT m.pod_uid, m.container, m.claim_name, m.mount_path, c.uid, v.uid, s.kind, s.path,
				toDateTime(m.started_at, 'UTC'), toDateTime(m.ended_at, 'UTC'), toDateTime(m.ended_not_before, 'UTC')
			FROM mounts m JOIN claims c ON c.uid = m.claim_uid JOIN volumes v ON v.uid = c.volume_uid JOIN volume_sources s ON s.id = v.source_id
			WHERE m.cluster = 'test' AND m.namespace = 'tracks' ORDER BY m.started_at, m.claim_name, m.pod_uid`, sortMounts(want)...)
	})

	t.Run("a claim that is deleted leaves its volume released", func(t *testing.T) {
		claim, volume := c.AwaitBound(t, ns, "kept")
		for _, err := range []error{
			core.Pods(ns).Delete(background, "job", metav1.DeleteOptions{}),
			core.PersistentVolumeClaims(ns).Delete(background, "kept", metav1.DeleteOptions{}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		harness.Eventually(t, "released", func() (err error) {
			if volume, err = core.PersistentVolumes().Get(background, volume.Name, metav1.GetOptions{}); err == nil && volume.Status.Phase != corev1.VolumeReleased {
				err = fmt.Errorf("it is %s", volume.Status.Phase)
			}
			return err
		})
		finished := job.Status.ContainerStatuses[0].State.Terminated.FinishedAt
		p.ExpectRows(t, fmt.Sprintf(`SELECT toDateTime(released_at, 'UTC') FROM bindings WHERE claim_uid = '%s' AND volume_uid = '%s'`, claim.UID, volume.UID),
			seconds(*volume.Status.LastPhaseTransitionTime))
		p.ExpectRows(t, fmt.Sprintf(`SELECT phase, deleted_at IS NULL FROM volumes WHERE uid = '%s'`, volume.UID), "Released\t1")
		p.ExpectRows(t, fmt.Sprintf(`SELECT deleted_at IS NULL FROM claims WHERE uid = '%s'`, claim.UID), "0")
		var idle map[string]any
		for _, row := range p.Report(t, "idle") {
			if row["volume"] == volume.Name {
				idle = row
			}
		}
		if idle == nil || idle["state"] != "released" || idle["last_pod"] != "job" || idle["idle_since"] != finished.UTC().Format(time.RFC3339) {
			t.Errorf("report idle: %v, want released, last used by job until %s", idle, finished.UTC())
		}
		before := time.Since(finished.Time).Seconds()
		m := p.Metrics(t)
		if n, err := strconv.ParseFloat(m[metricOf(m, "kubevoltracker_volume_idle_seconds", volume.Name)], 64); err != nil ||
			n < before-3 || n > time.Since(finished.Time).Seconds()+3 {
			t.Errorf("idle for %v s, finished %s ago", n, time.Since(finished.Time))
		}
		if n := created("standard-retain", "csi") - createdBefore; n != 1 {
			t.Errorf("%v volumes were created, want 1", n)
		}
	})

	t.Run("a claim that nobody uses is idle", func(t *testing.T) {
		_, volume := c.AwaitBound(t, ns, "unused")
		harness.Eventually(t, "never mounted", func() error {
			if m := p.Metrics(t); !strings.Contains(metricOf(m, "kubevoltracker_volume_state", volume.Name), `state="never_mounted"`) {
				return fmt.Errorf("%q", metricOf(m, "kubevoltracker_volume_state", volume.Name))
			}
			return nil
		})
		harness.Eventually(t, "the report has it", func() error { // the catalog is a second behind the metrics
			idle := p.Report(t, "idle", "--namespace="+ns)
			if !slices.ContainsFunc(idle, func(row map[string]any) bool { return row["claim"] == "unused" }) {
				return fmt.Errorf("report idle: %v", idle)
			}
			return nil
		})
	})

	t.Run("a resize is told", func(t *testing.T) {
		claim, _ := c.AwaitBound(t, ns, "before")
		_, err := core.PersistentVolumeClaims(ns).Patch(background, "before", types.MergePatchType, []byte(`{"spec":{"resources":{"requests":{"storage":"3Gi"}}}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p.ExpectRows(t, fmt.Sprintf(`SELECT requested_bytes, capacity_bytes FROM claims WHERE uid = '%s'`, claim.UID), fmt.Sprint(3<<30, "\t", 3<<30))
		p.ExpectRows(t, fmt.Sprintf(`SELECT name, details FROM changes WHERE uid = '%s' AND action = 'resized'`, claim.UID), "before\t1Gi → 3Gi")
	})

	t.Run("space adds up", func(t *testing.T) {
		harness.Eventually(t, "space", func() error {
			for _, row := range p.Report(t, "space", "--by=namespace") {
				if row["namespace"] == ns && row["claims"] == 3.0 && row["bound_volumes"] == 3.0 && row["released_volumes"] == 1.0 && row["requested_bytes"] == float64(5<<30) {
					return nil
				}
			}
			return fmt.Errorf("%v", p.Report(t, "space"))
		})
		m := p.Metrics(t)
		for series, want := range map[string]float64{
			`kubevoltracker_namespace_bound_volumes{namespace="tracks",storageclass="standard"}`:   2,
			`kubevoltracker_namespace_bound_volumes{namespace="tracks",storageclass="late"}`:       1,
			`kubevoltracker_namespace_requested_bytes{namespace="tracks",storageclass="standard"}`: 4 << 30,
			`kubevoltracker_namespace_idle_volumes{namespace="tracks",storageclass="standard"}`:    1,
		} {
			if got, err := strconv.ParseFloat(m[series], 64); err != nil || got != want {
				t.Errorf("%s is %q, want %v", series, m[series], want)
			}
		}
	})

	t.Run("a pod that is deleted ends its mounts", func(t *testing.T) {
		if err := core.Pods(ns).Delete(background, "reader", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		p.ExpectRows(t, fmt.Sprintf(`SELECT count(), countIf(ended_at IS NULL), countIf(ended_not_before != ended_at) FROM mounts WHERE pod_uid = '%s'`, reader.UID), "2\t0\t0")
		running := p.Report(t, "mounts", "--running", "--namespace="+ns)
		if len(running) != 1 || running[0]["pod"] != "early" {
			t.Errorf("report mounts --running: %v", running)
		}
		if ended := p.Report(t, "mounts", "--ended", "--namespace="+ns); len(ended) != 3 {
			t.Errorf("report mounts --ended: %v", ended)
		}
	})

	t.Run("an attachment is the API's", func(t *testing.T) {
		_, volume := c.AwaitBound(t, ns, "before")
		var attached storagev1.VolumeAttachment
		harness.Eventually(t, "volume "+volume.Name+" is attached", func() error {
			list, err := c.Client.StorageV1().VolumeAttachments().List(background, metav1.ListOptions{})
			if err != nil {
				return err
			}
			for _, a := range list.Items {
				if name := a.Spec.Source.PersistentVolumeName; name != nil && *name == volume.Name && a.Status.Attached {
					attached = a
					return nil
				}
			}
			return fmt.Errorf("no attachment of it says so")
		})
		p.ExpectRows(t, fmt.Sprintf(`SELECT volume_uid, node, attacher, attached_at >= toDateTime64('%s', 6, 'UTC'), detached_at IS NULL FROM attachments WHERE uid = '%s'`,
			seconds(attached.CreationTimestamp), attached.UID), fmt.Sprintf("%s\t%s\t%s\t1\t1", volume.UID, attached.Spec.NodeName, attached.Spec.Attacher))
	})

	t.Run("the namespace is there", func(t *testing.T) {
		p.ExpectRows(t, `SELECT name, deleted_at IS NULL FROM namespaces WHERE name = 'tracks'`, "tracks\t1")
	})

	t.Run("no secret gets into the catalog", func(t *testing.T) {
		p.ExpectRows(t, fmt.Sprintf(`SELECT command FROM containers WHERE pod_uid = '%s'`, early.UID), "app")
	})

	t.Run("the exposition is clean", func(t *testing.T) {
		_, body, err := p.Get("/metrics")
		if err != nil {
			t.Fatal(err)
		}
		check := exec.Command(harness.Program(t, "promtool"), "check", "metrics")
		check.Stdin = strings.NewReader(body)
		if out, err := check.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
			t.Errorf("promtool check metrics: %v\n%s", err, out)
		}
	})

	t.Run("the questions in the docs can be asked", func(t *testing.T) {
		for _, page := range []string{"README.md", "docs/catalog.md"} {
			text, err := os.ReadFile(harness.File(t, page))
			if err != nil {
				t.Fatal(err)
			}
			questions := strings.Split(string(text), "```sql\n")[1:]
			for _, question := range questions {
				question, _, _ = strings.Cut(question, "```")
				if _, err := p.Query(question); err != nil {
					t.Errorf("%s: %v in\n%s", page, err, question)
				}
			}
			if len(questions) == 0 {
				t.Errorf("%s asks nothing", page)
			}
		}
	})

	t.Run("every metric is in the docs", func(t *testing.T) {
		docs, err := os.ReadFile(harness.File(t, "docs/metrics.md"))
		if err != nil {
			t.Fatal(err)
		}
		_, body, err := p.Get("/metrics")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(body) {
			if name, ok := strings.CutPrefix(line, "# TYPE kubevoltracker_"); ok {
				if name = strings.Fields(name)[0]; !bytes.Contains(docs, []byte("`"+name+"`")) {
					t.Errorf("docs/metrics.md lacks %s", name)
				}
			}
		}
	})

	t.Run("the sql command reads what was replaced only once", func(t *testing.T) {
		out, err := exec.Command(harness.Program(t, "kubevoltracker"), "sql", "--catalog.url="+p.Catalog, "-o", "csv", "--param=ns="+ns,
			"SELECT name, count() AS n FROM claims WHERE namespace = {ns:String} GROUP BY name ORDER BY name").CombinedOutput()
		if want := "name,n\nbefore,1\nkept,1\nlate,1\nunused,1\n"; err != nil || string(out) != want {
			t.Errorf("%v\n got %q\nwant %q", err, out, want)
		}
	})

	t.Run("the schema is in place, and stays on a second start", func(t *testing.T) {
		out, err := exec.Command(harness.Program(t, "kubevoltracker"), "schema", "migrate", "--catalog.url="+p.Catalog).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "0 migrations applied") {
			t.Errorf("%v %s", err, out)
		}
	})

	t.Run("the landing page links", func(t *testing.T) {
		if _, body, err := p.Get("/"); err != nil || !strings.Contains(body, `/metrics`) || !strings.Contains(body, "kubevoltracker") {
			t.Errorf("%v %s", err, body)
		}
	})
}

// metricOf finds the series of a family that is about a volume.
func metricOf(m map[string]string, family, volume string) string {
	for series := range m {
		if strings.HasPrefix(series, family+"{") && strings.Contains(series, `persistentvolume="`+volume+`"`) {
			return series
		}
	}
	return ""
}

// sortMounts orders rows as the query does: by start, claim and pod.
func sortMounts(rows []string) []string {
	slices.SortFunc(rows, func(a, b string) int {
		x, y := strings.Split(a, "\t"), strings.Split(b, "\t")
		return strings.Compare(x[8]+x[2]+x[0], y[8]+y[2]+y[0])
	})
	return rows
}

// TestWorkloadIsFollowedToTheTop runs a CronJob's Job under a name of its own:
// only the chain of owners tells whose it is.
func TestWorkloadIsFollowedToTheTop(t *testing.T) {
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "chain")
	p := harness.StartTracker(t, c.ServiceAccount(t))
	c.CreateClaim(t, ns, "data", "standard")
	cronJob := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: "report"},
		Spec: batchv1.CronJobSpec{Schedule: "0 0 1 1 *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "main", Image: "app:1", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}}},
				Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}},
			}}}}},
	}
	if _, err := c.Client.BatchV1().CronJobs(ns).Create(background, cronJob, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Kubectl(t, "-n", ns, "create", "job", "--from=cronjob/report", "adhoc")
	p.ExpectRows(t, `SELECT p.workload_kind, p.workload_name, m.claim_name FROM mounts m JOIN pods p ON p.uid = m.pod_uid WHERE m.namespace = 'chain'`,
		"CronJob\treport\tdata")
}

// TestGoesWithoutWhatItMayNotSee takes some of the rights of deploy/rbac.yaml away.
func TestGoesWithoutWhatItMayNotSee(t *testing.T) {
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "without")
	kubeconfig := c.ServiceAccount(t)
	c.Revoke(t, "volumeattachments", "replicasets")
	p := harness.StartTracker(t, kubeconfig)
	c.CreateClaim(t, ns, "data", "standard")
	c.AwaitBound(t, ns, "data")
	p.ExpectRows(t, "SELECT phase FROM claims WHERE namespace = 'without'", "Bound")
	m := p.Metrics(t)
	for kind, want := range map[string]string{"VolumeAttachment": "0", "ReplicaSet": "0", "Pod": "1", "PersistentVolumeClaim": "1"} {
		if got := m[`kubevoltracker_watch_available{kind="`+kind+`"}`]; got != want {
			t.Errorf("%s is available: %s, want %s", kind, got, want)
		}
	}
	c.Kubectl(t, "apply", "-f", harness.File(t, "deploy/rbac.yaml"))
	harness.Eventually(t, "it is shown again", func() error {
		if got := p.Metrics(t)[`kubevoltracker_watch_available{kind="VolumeAttachment"}`]; got != "1" {
			return fmt.Errorf("available: %s", got)
		}
		return nil
	})
}
