package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const runSeconds = "localcluster.kubevoltracker.io/run-seconds"

// namespace makes a namespace for one test.
func (c *localCluster) namespace(t testing.TB, name string) string {
	t.Helper()
	_, err := c.client.CoreV1().Namespaces().Create(background, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// No pod is admitted before its service account is there.
	eventually(t, "service account of "+name, func() error {
		_, err := c.client.CoreV1().ServiceAccounts(name).Get(background, "default", metav1.GetOptions{})
		return err
	})
	return name
}

// claim makes a claim of 1Gi.
func (c *localCluster) claim(t testing.TB, namespace, name, class string) *corev1.PersistentVolumeClaim {
	t.Helper()
	claim, err := c.client.CoreV1().PersistentVolumeClaims(namespace).Create(background, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"owner": "dana"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

// pod makes a pod with one container that mounts the claims at /NAME. With
// seconds it runs that long and completes.
func (c *localCluster) pod(t testing.TB, namespace, name string, seconds int, claims ...string) *corev1.Pod {
	t.Helper()
	return c.start(t, namespace, newPod(name, seconds, claims...))
}

func newPod(name string, seconds int, claims ...string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{Name: "main", Image: "app:1", Command: []string{"app", "--password=secret"},
				Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "secret"}}}},
		},
	}
	if seconds > 0 {
		pod.Annotations = map[string]string{runSeconds: strconv.Itoa(seconds)}
	}
	for _, claim := range claims {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: claim, MountPath: "/" + claim})
	}
	return pod
}

func (c *localCluster) start(t testing.TB, namespace string, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	pod, err := c.client.CoreV1().Pods(namespace).Create(background, pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// await waits until a pod is in a phase, and returns it.
func (c *localCluster) await(t testing.TB, namespace, name string, phase corev1.PodPhase) (pod *corev1.Pod) {
	t.Helper()
	eventually(t, "pod "+name+" is "+string(phase), func() (err error) {
		if pod, err = c.client.CoreV1().Pods(namespace).Get(background, name, metav1.GetOptions{}); err == nil && pod.Status.Phase != phase {
			err = fmt.Errorf("it is %s: %+v", pod.Status.Phase, pod.Status.Conditions)
		}
		return err
	})
	return pod
}

func (c *localCluster) awaitBound(t testing.TB, namespace, name string) (claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) {
	t.Helper()
	eventually(t, "claim "+name+" is bound", func() (err error) {
		if claim, err = c.client.CoreV1().PersistentVolumeClaims(namespace).Get(background, name, metav1.GetOptions{}); err != nil {
			return err
		}
		if claim.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("it is %s", claim.Status.Phase)
		}
		volume, err = c.client.CoreV1().PersistentVolumes().Get(background, claim.Spec.VolumeName, metav1.GetOptions{})
		return err
	})
	return claim, volume
}

// serviceAccount returns the kubeconfig of the service account of
// deploy/rbac.yaml: the tracker has to do with what that grants.
func (c *localCluster) serviceAccount(t testing.TB) string {
	t.Helper()
	c.kubectl(t, "apply", "-f", "../../deploy/rbac.yaml")
	token, err := c.client.CoreV1().ServiceAccounts("kubevoltracker").CreateToken(background, "kubevoltracker", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(c.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// revoke takes rights to resources out of deploy/rbac.yaml's role, until that is applied again.
func (c *localCluster) revoke(t testing.TB, resources ...string) {
	t.Helper()
	role, err := c.client.RbacV1().ClusterRoles().Get(background, "kubevoltracker", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range role.Rules {
		role.Rules[i].Resources = slices.DeleteFunc(role.Rules[i].Resources, func(r string) bool { return slices.Contains(resources, r) })
	}
	if _, err := c.client.RbacV1().ClusterRoles().Update(background, role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func seconds(at metav1.Time) string { return at.UTC().Format("2006-01-02 15:04:05") }

// TestTracksStorage runs a tracker with the rights of deploy/rbac.yaml through
// the lives of some volumes, and compares what it tells with what the API says.
func TestTracksStorage(t *testing.T) {
	c := cluster(t)
	ns := c.namespace(t, "tracks")
	core := c.client.CoreV1()

	// Some are there before the tracker comes, some come after.
	c.claim(t, ns, "before", "standard")
	c.pod(t, ns, "early", 0, "before")
	early := c.await(t, ns, "early", corev1.PodRunning)
	p := startTracker(t, c.serviceAccount(t), "--cluster.name=test")
	eventually(t, "ready", func() error {
		if status, body, err := p.get("/readyz?verbose"); err != nil || status != http.StatusOK {
			return fmt.Errorf("%d %s %w", status, body, err)
		}
		return nil
	})
	created := func(class, source string) float64 {
		n, _ := strconv.ParseFloat(p.metrics(t)[fmt.Sprintf(`kubevoltracker_volumes_created_total{source=%q,storageclass=%q}`, source, class)], 64)
		return n
	}
	createdBefore := created("standard-retain", "csi")

	c.claim(t, ns, "unused", "standard")
	c.claim(t, ns, "late", "late")
	c.claim(t, ns, "kept", "standard-retain")
	c.pod(t, ns, "reader", 0, "late", "before")
	c.pod(t, ns, "job", 1, "kept")
	reader := c.await(t, ns, "reader", corev1.PodRunning)
	job := c.await(t, ns, "job", corev1.PodSucceeded)

	t.Run("each mount is the API's", func(t *testing.T) {
		var want []string
		for _, use := range []struct {
			pod   *corev1.Pod
			claim string
		}{{early, "before"}, {job, "kept"}, {reader, "before"}, {reader, "late"}} {
			claim, volume := c.awaitBound(t, ns, use.claim)
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
		p.expectRows(t, `SELECT m.pod_uid, m.container, m.claim_name, m.mount_path, c.uid, v.uid, s.kind, s.path,
				toDateTime(m.started_at, 'UTC'), toDateTime(m.ended_at, 'UTC'), toDateTime(m.ended_not_before, 'UTC')
			FROM mounts m JOIN claims c ON c.uid = m.claim_uid JOIN volumes v ON v.uid = c.volume_uid JOIN volume_sources s ON s.id = v.source_id
			WHERE m.cluster = 'test' AND m.namespace = 'tracks' ORDER BY m.started_at, m.claim_name, m.pod_uid`, sortMounts(want)...)
	})

	t.Run("a claim that is deleted leaves its volume released", func(t *testing.T) {
		claim, volume := c.awaitBound(t, ns, "kept")
		for _, err := range []error{
			core.Pods(ns).Delete(background, "job", metav1.DeleteOptions{}),
			core.PersistentVolumeClaims(ns).Delete(background, "kept", metav1.DeleteOptions{}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "released", func() (err error) {
			if volume, err = core.PersistentVolumes().Get(background, volume.Name, metav1.GetOptions{}); err == nil && volume.Status.Phase != corev1.VolumeReleased {
				err = fmt.Errorf("it is %s", volume.Status.Phase)
			}
			return err
		})
		finished := job.Status.ContainerStatuses[0].State.Terminated.FinishedAt
		p.expectRows(t, fmt.Sprintf(`SELECT toDateTime(released_at, 'UTC') FROM bindings WHERE claim_uid = '%s' AND volume_uid = '%s'`, claim.UID, volume.UID),
			seconds(*volume.Status.LastPhaseTransitionTime))
		p.expectRows(t, fmt.Sprintf(`SELECT phase, deleted_at IS NULL FROM volumes WHERE uid = '%s'`, volume.UID), "Released\t1")
		p.expectRows(t, fmt.Sprintf(`SELECT deleted_at IS NULL FROM claims WHERE uid = '%s'`, claim.UID), "0")
		var idle map[string]any
		for _, row := range p.report(t, "idle") {
			if row["volume"] == volume.Name {
				idle = row
			}
		}
		if idle == nil || idle["state"] != "released" || idle["last_pod"] != "job" || idle["idle_since"] != finished.UTC().Format(time.RFC3339) {
			t.Errorf("report idle: %v, want released, last used by job until %s", idle, finished.UTC())
		}
		before := time.Since(finished.Time).Seconds()
		m := p.metrics(t)
		if n, err := strconv.ParseFloat(m[metricOf(m, "kubevoltracker_volume_idle_seconds", volume.Name)], 64); err != nil ||
			n < before-3 || n > time.Since(finished.Time).Seconds()+3 {
			t.Errorf("idle for %v s, finished %s ago", n, time.Since(finished.Time))
		}
		if n := created("standard-retain", "csi") - createdBefore; n != 1 {
			t.Errorf("%v volumes were created, want 1", n)
		}
	})

	t.Run("a claim that nobody uses is idle", func(t *testing.T) {
		_, volume := c.awaitBound(t, ns, "unused")
		eventually(t, "never mounted", func() error {
			if m := p.metrics(t); !strings.Contains(metricOf(m, "kubevoltracker_volume_state", volume.Name), `state="never_mounted"`) {
				return fmt.Errorf("%q", metricOf(m, "kubevoltracker_volume_state", volume.Name))
			}
			return nil
		})
		eventually(t, "the report has it", func() error { // the catalog is a second behind the metrics
			idle := p.report(t, "idle", "--namespace="+ns)
			if !slices.ContainsFunc(idle, func(row map[string]any) bool { return row["claim"] == "unused" }) {
				return fmt.Errorf("report idle: %v", idle)
			}
			return nil
		})
	})

	t.Run("a resize is told", func(t *testing.T) {
		claim, _ := c.awaitBound(t, ns, "before")
		_, err := core.PersistentVolumeClaims(ns).Patch(background, "before", types.MergePatchType, []byte(`{"spec":{"resources":{"requests":{"storage":"3Gi"}}}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p.expectRows(t, fmt.Sprintf(`SELECT requested_bytes, capacity_bytes FROM claims WHERE uid = '%s'`, claim.UID), fmt.Sprint(3<<30, "\t", 3<<30))
		p.expectRows(t, fmt.Sprintf(`SELECT name, details FROM changes WHERE uid = '%s' AND action = 'resized'`, claim.UID), "before\t1Gi → 3Gi")
	})

	t.Run("space adds up", func(t *testing.T) {
		eventually(t, "space", func() error {
			for _, row := range p.report(t, "space", "--by=namespace") {
				if row["namespace"] == ns && row["claims"] == 3.0 && row["bound_volumes"] == 3.0 && row["released_volumes"] == 1.0 && row["requested_bytes"] == float64(5<<30) {
					return nil
				}
			}
			return fmt.Errorf("%v", p.report(t, "space"))
		})
		m := p.metrics(t)
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
		p.expectRows(t, fmt.Sprintf(`SELECT count(), countIf(ended_at IS NULL), countIf(ended_not_before != ended_at) FROM mounts WHERE pod_uid = '%s'`, reader.UID), "2\t0\t0")
		running := p.report(t, "mounts", "--running", "--namespace="+ns)
		if len(running) != 1 || running[0]["pod"] != "early" {
			t.Errorf("report mounts --running: %v", running)
		}
		if ended := p.report(t, "mounts", "--ended", "--namespace="+ns); len(ended) != 3 {
			t.Errorf("report mounts --ended: %v", ended)
		}
	})

	t.Run("an attachment is the API's", func(t *testing.T) {
		_, volume := c.awaitBound(t, ns, "before")
		var attached storagev1.VolumeAttachment
		eventually(t, "volume "+volume.Name+" is attached", func() error {
			list, err := c.client.StorageV1().VolumeAttachments().List(background, metav1.ListOptions{})
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
		p.expectRows(t, fmt.Sprintf(`SELECT volume_uid, node, attacher, attached_at >= toDateTime64('%s', 6, 'UTC'), detached_at IS NULL FROM attachments WHERE uid = '%s'`,
			seconds(attached.CreationTimestamp), attached.UID), fmt.Sprintf("%s\t%s\t%s\t1\t1", volume.UID, attached.Spec.NodeName, attached.Spec.Attacher))
	})

	t.Run("the namespace is there", func(t *testing.T) {
		p.expectRows(t, `SELECT name, deleted_at IS NULL FROM namespaces WHERE name = 'tracks'`, "tracks\t1")
	})

	t.Run("no secret gets into the catalog", func(t *testing.T) {
		p.expectRows(t, fmt.Sprintf(`SELECT command FROM containers WHERE pod_uid = '%s'`, early.UID), "app")
	})

	t.Run("the exposition is clean", func(t *testing.T) {
		_, body, err := p.get("/metrics")
		if err != nil {
			t.Fatal(err)
		}
		check := exec.Command(program(t, "promtool"), "check", "metrics")
		check.Stdin = strings.NewReader(body)
		if out, err := check.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
			t.Errorf("promtool check metrics: %v\n%s", err, out)
		}
	})

	t.Run("the questions in the docs can be asked", func(t *testing.T) {
		for _, file := range []string{"../../README.md", "../../docs/catalog.md"} {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			questions := strings.Split(string(text), "```sql\n")[1:]
			for _, question := range questions {
				question, _, _ = strings.Cut(question, "```")
				if _, err := p.query(question); err != nil {
					t.Errorf("%s: %v in\n%s", file, err, question)
				}
			}
			if len(questions) == 0 {
				t.Errorf("%s asks nothing", file)
			}
		}
	})

	t.Run("every metric is in the docs", func(t *testing.T) {
		docs, err := os.ReadFile("../../docs/metrics.md")
		if err != nil {
			t.Fatal(err)
		}
		_, body, err := p.get("/metrics")
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
		out, err := exec.Command(program(t, "kubevoltracker"), "sql", "--catalog.url="+p.catalog, "-o", "csv", "--param=ns="+ns,
			"SELECT name, count() AS n FROM claims WHERE namespace = {ns:String} GROUP BY name ORDER BY name").CombinedOutput()
		if want := "name,n\nbefore,1\nkept,1\nlate,1\nunused,1\n"; err != nil || string(out) != want {
			t.Errorf("%v\n got %q\nwant %q", err, out, want)
		}
	})

	t.Run("the schema is in place, and stays on a second start", func(t *testing.T) {
		out, err := exec.Command(program(t, "kubevoltracker"), "schema", "migrate", "--catalog.url="+p.catalog).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "0 migrations applied") {
			t.Errorf("%v %s", err, out)
		}
	})

	t.Run("the landing page links", func(t *testing.T) {
		if _, body, err := p.get("/"); err != nil || !strings.Contains(body, `/metrics`) || !strings.Contains(body, "kubevoltracker") {
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

// TestDemoWorkloadIsTracked runs the demo's company, and looks for each kind of
// use in it.
func TestDemoWorkloadIsTracked(t *testing.T) {
	c := cluster(t)
	p := startTracker(t, c.kubeconfig)
	eventually(t, "the company is applied", func() error { // pods wait for the service accounts of their namespaces
		_, err := c.tryKubectl(t, "apply", "-f", "../../deploy/demo/company.yaml")
		return err
	})
	t.Cleanup(func() { c.kubectl(t, "delete", "--wait=false", "-f", "../../deploy/demo/company.yaml") })
	p.expectRows(t, `SELECT m.namespace, p.workload_kind, p.workload_name, k.kind, m.container, m.claim_name, m.source_kind, m.mount_path, uniqExact(m.pod_uid)
		FROM mounts m JOIN pods p ON p.uid = m.pod_uid JOIN containers k ON k.pod_uid = m.pod_uid AND k.name = m.container
		WHERE m.namespace IN ('shop', 'ci', 'legacy') AND p.workload_name != 'migration' GROUP BY ALL ORDER BY ALL`,
		"ci\t\t\tmain\tbuild\trunner-scratch\tcsi\t/go\t1",
		"legacy\tStatefulSet\terp\tmain\terp\terp-data\tiscsi\t/srv/erp\t1",
		"legacy\tStatefulSet\terp\tmain\terp\terp-index\tlocal\t/srv/index\t1",
		"shop\tDeployment\tweb\tmain\tnginx\t\temptyDir\t/var/cache/nginx\t3",
		"shop\tDeployment\tweb\tmain\tnginx\tmedia\tnfs\t/usr/share/nginx/media\t3",
		"shop\tStatefulSet\tmysql\tinit\tinit\tdata-mysql-0\tcsi\t/var/lib/mysql\t1",
		"shop\tStatefulSet\tmysql\tinit\tinit\tdata-mysql-1\tcsi\t/var/lib/mysql\t1",
		"shop\tStatefulSet\tmysql\tmain\tbackup\tdata-mysql-0\tcsi\t/var/lib/mysql\t1",
		"shop\tStatefulSet\tmysql\tmain\tbackup\tdata-mysql-1\tcsi\t/var/lib/mysql\t1",
		"shop\tStatefulSet\tmysql\tmain\tmysql\tdata-mysql-0\tcsi\t/var/lib/mysql\t1",
		"shop\tStatefulSet\tmysql\tmain\tmysql\tdata-mysql-1\tcsi\t/var/lib/mysql\t1",
	)
	p.expectRows(t, `SELECT server, path FROM volume_sources WHERE kind = 'iscsi'`, "san.example:3260\tiqn.2016-06.example:erp/7")
	p.expectRows(t, `SELECT ephemeral, p.name FROM claims c JOIN pods p ON p.uid = c.pod_uid WHERE c.name = 'runner-scratch'`, "true\trunner")
}

// TestWorkloadIsFollowedToTheTop runs a CronJob's Job under a name of its own:
// only the chain of owners tells whose it is.
func TestWorkloadIsFollowedToTheTop(t *testing.T) {
	c := cluster(t)
	ns := c.namespace(t, "chain")
	p := startTracker(t, c.serviceAccount(t))
	c.claim(t, ns, "data", "standard")
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
	if _, err := c.client.BatchV1().CronJobs(ns).Create(background, cronJob, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.kubectl(t, "-n", ns, "create", "job", "--from=cronjob/report", "adhoc")
	p.expectRows(t, `SELECT p.workload_kind, p.workload_name, m.claim_name FROM mounts m JOIN pods p ON p.uid = m.pod_uid WHERE m.namespace = 'chain'`,
		"CronJob\treport\tdata")
}

// TestGoesWithoutWhatItMayNotSee takes some of the rights of deploy/rbac.yaml away.
func TestGoesWithoutWhatItMayNotSee(t *testing.T) {
	c := cluster(t)
	ns := c.namespace(t, "without")
	kubeconfig := c.serviceAccount(t)
	c.revoke(t, "volumeattachments", "replicasets")
	p := startTracker(t, kubeconfig)
	c.claim(t, ns, "data", "standard")
	c.awaitBound(t, ns, "data")
	p.expectRows(t, "SELECT phase FROM claims WHERE namespace = 'without'", "Bound")
	m := p.metrics(t)
	for kind, want := range map[string]string{"VolumeAttachment": "0", "ReplicaSet": "0", "Pod": "1", "PersistentVolumeClaim": "1"} {
		if got := m[`kubevoltracker_watch_available{kind="`+kind+`"}`]; got != want {
			t.Errorf("%s is available: %s, want %s", kind, got, want)
		}
	}
	c.kubectl(t, "apply", "-f", "../../deploy/rbac.yaml")
	eventually(t, "it is shown again", func() error {
		if got := p.metrics(t)[`kubevoltracker_watch_available{kind="VolumeAttachment"}`]; got != "1" {
			return fmt.Errorf("available: %s", got)
		}
		return nil
	})
}

// TestDemoScriptsParse is what can be had of the demo in a test: the rest takes
// minutes, and is `make demo`.
func TestDemoScriptsParse(t *testing.T) {
	for _, script := range []string{"../../deploy/demo/demo.sh", "../../deploy/demo/churn.sh", "../../deploy/fetch-libchdb.sh"} {
		if out, err := exec.Command("bash", "-n", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", script, out)
		}
		if info, err := os.Stat(script); err != nil || info.Mode()&0o100 == 0 {
			t.Errorf("%s cannot be run: %v", script, err)
		}
	}
}
