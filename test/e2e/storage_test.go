package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// tracked is a tracker with the rights of deploy/rbac.yaml, which several tests ask about storage in namespaces of their
// own.
type tracked struct {
	c *harness.LocalCluster
	p *harness.Tracker
	// early ran in the namespace "tracks" before the tracker started.
	early *corev1.Pod
}

// TestTracksStorage runs one tracker through the lives of some volumes, and compares its catalog, reports and metrics with
// the API. The subtests run at once, each in a namespace of its own.
func TestTracksStorage(t *testing.T) {
	t.Parallel()
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "tracks")
	c.CreateClaim(t, ns, "before", "standard")
	c.CreatePod(t, ns, "early", 0, "before")
	s := &tracked{c: c, early: c.AwaitPod(t, ns, "early", corev1.PodRunning)}
	s.p = harness.StartTracker(t, c.ServiceAccount(t), "--cluster.name=test")
	s.p.ExpectReady(t)
	for name, test := range map[string]func(*testing.T){
		"each mount has the times and the volume that the API tells": s.mounts,
		"a claim that is deleted leaves its volume released":         s.released,
		"a claim that nobody uses is idle":                           s.unused,
		"a resize is a change":                                       s.resized,
		"space adds up":                                              s.space,
		"a pod that is deleted ends its mounts":                      s.podDeleted,
		"an attachment is recorded":                                  s.attached,
		"a namespace is recorded":                                    s.namespaceRow,
		"no secret gets into the catalog":                            s.noSecret,
		"the exposition passes promtool":                             s.exposition,
		"the queries in the docs can be asked":                       s.queriesInDocs,
		"every metric is in the docs":                                s.metricsInDocs,
		"the sql command reads replaced rows once":                   s.sqlCommand,
		"a second migration has nothing to do":                       s.secondMigration,
		"the landing page links to the metrics":                      s.landingPage,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

func (s *tracked) mounts(t *testing.T) {
	const ns = "tracks"
	s.c.CreateClaim(t, ns, "late", "late")
	s.c.CreateClaim(t, ns, "kept", "standard-retain")
	s.c.CreatePod(t, ns, "reader", 0, "late", "before")
	s.c.CreatePod(t, ns, "job", 1, "kept")
	reader := s.c.AwaitPod(t, ns, "reader", corev1.PodRunning)
	job := s.c.AwaitPod(t, ns, "job", corev1.PodSucceeded)
	var want []string
	for _, use := range []struct {
		pod   *corev1.Pod
		claim string
	}{{s.early, "before"}, {job, "kept"}, {reader, "before"}, {reader, "late"}} {
		claim, volume := s.c.AwaitBound(t, ns, use.claim)
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
	s.p.ExpectRows(t, `SELECT m.pod_uid, m.container, m.claim_name, m.mount_path, c.uid, v.uid, s.kind, s.path,
			toDateTime(m.started_at, 'UTC'), toDateTime(m.ended_at, 'UTC'), toDateTime(m.ended_not_before, 'UTC')
		FROM mounts m JOIN claims c ON c.uid = m.claim_uid JOIN volumes v ON v.uid = c.volume_uid JOIN volume_sources s ON s.id = v.source_id
		WHERE m.cluster = 'test' AND m.namespace = 'tracks' ORDER BY m.started_at, m.claim_name, m.pod_uid`, sortMounts(want)...)
}

// sortMounts orders rows as the query in mounts does: by start, claim and pod.
func sortMounts(rows []string) []string {
	slices.SortFunc(rows, func(a, b string) int {
		x, y := strings.Split(a, "\t"), strings.Split(b, "\t")
		return strings.Compare(x[8]+x[2]+x[0], y[8]+y[2]+y[0])
	})
	return rows
}

func (s *tracked) released(t *testing.T) {
	core := s.c.Client.CoreV1()
	ns, class := s.c.CreateNamespace(t, "releases"), s.c.CreateClass(t, "releases", "standard-retain")
	created := func() float64 {
		n, _ := strconv.ParseFloat(s.p.Metrics(t)[fmt.Sprintf(`kubevoltracker_volumes_created_total{source="csi",storageclass=%q}`, class)], 64)
		return n
	}
	createdBefore := created()
	s.c.CreateClaim(t, ns, "kept", class)
	s.c.CreatePod(t, ns, "job", 1, "kept")
	job := s.c.AwaitPod(t, ns, "job", corev1.PodSucceeded)
	claim, volume := s.c.AwaitBound(t, ns, "kept")
	for _, err := range []error{
		core.Pods(ns).Delete(background, "job", metav1.DeleteOptions{}),
		core.PersistentVolumeClaims(ns).Delete(background, "kept", metav1.DeleteOptions{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	volume = s.c.AwaitVolume(t, volume.Name, corev1.VolumeReleased)
	finished := job.Status.ContainerStatuses[0].State.Terminated.FinishedAt
	s.p.ExpectRows(t, fmt.Sprintf(`SELECT toDateTime(released_at, 'UTC') FROM bindings WHERE claim_uid = '%s' AND volume_uid = '%s'`, claim.UID, volume.UID),
		seconds(*volume.Status.LastPhaseTransitionTime))
	s.p.ExpectRows(t, fmt.Sprintf(`SELECT phase, deleted_at IS NULL FROM volumes WHERE uid = '%s'`, volume.UID), "Released\t1")
	s.p.ExpectRows(t, fmt.Sprintf(`SELECT deleted_at IS NULL FROM claims WHERE uid = '%s'`, claim.UID), "0")
	harness.Eventually(t, "the report idle has it", func() error {
		rows := s.p.Report(t, "idle")
		i := slices.IndexFunc(rows, func(row map[string]any) bool { return row["volume"] == volume.Name })
		if i < 0 || rows[i]["state"] != "released" || rows[i]["last_pod"] != "job" || rows[i]["idle_since"] != finished.UTC().Format(time.RFC3339) {
			return fmt.Errorf("%v, want %s released, last used by job until %s", rows, volume.Name, finished.UTC())
		}
		return nil
	})
	before := time.Since(finished.Time).Seconds()
	m := s.p.Metrics(t)
	if n, err := strconv.ParseFloat(m[metricOf(m, "kubevoltracker_volume_idle_seconds", volume.Name)], 64); err != nil ||
		n < before-3 || n > time.Since(finished.Time).Seconds()+3 {
		t.Errorf("idle for %v s, finished %s ago", n, time.Since(finished.Time))
	}
	if n := created() - createdBefore; n != 1 {
		t.Errorf("%v volumes were created, want 1", n)
	}
}

func (s *tracked) unused(t *testing.T) {
	ns := s.c.CreateNamespace(t, "unused")
	s.c.CreateClaim(t, ns, "unused", "standard")
	_, volume := s.c.AwaitBound(t, ns, "unused")
	harness.Eventually(t, "never mounted", func() error {
		if m := s.p.Metrics(t); !strings.Contains(metricOf(m, "kubevoltracker_volume_state", volume.Name), `state="never_mounted"`) {
			return fmt.Errorf("%q", metricOf(m, "kubevoltracker_volume_state", volume.Name))
		}
		return nil
	})
	harness.Eventually(t, "the report lists it", func() error { // the catalog is a second behind the metrics
		idle := s.p.Report(t, "idle", "--namespace="+ns)
		if !slices.ContainsFunc(idle, func(row map[string]any) bool { return row["claim"] == "unused" }) {
			return fmt.Errorf("report idle: %v", idle)
		}
		return nil
	})
}

func (s *tracked) resized(t *testing.T) {
	ns := s.c.CreateNamespace(t, "resized")
	s.c.CreateClaim(t, ns, "data", "standard")
	s.c.CreatePod(t, ns, "user", 0, "data")
	s.c.AwaitPod(t, ns, "user", corev1.PodRunning)
	claim, _ := s.c.AwaitBound(t, ns, "data")
	s.resize(t, ns, "data", "3Gi")
	s.p.ExpectRows(t, fmt.Sprintf(`SELECT requested_bytes, capacity_bytes FROM claims WHERE uid = '%s'`, claim.UID), fmt.Sprint(3<<30, "\t", 3<<30))
	s.p.ExpectRows(t, fmt.Sprintf(`SELECT name, details FROM changes WHERE uid = '%s' AND action = 'resized'`, claim.UID), "data\t1Gi → 3Gi")
}

// resize asks for another size of a claim.
func (s *tracked) resize(t *testing.T, ns, claim, size string) {
	t.Helper()
	_, err := s.c.Client.CoreV1().PersistentVolumeClaims(ns).Patch(background, claim, types.MergePatchType, []byte(harness.RequestSize(size)), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// space adds up a namespace with a volume that is in use, one that is idle, one that waited for its pod, and one that is
// released.
func (s *tracked) space(t *testing.T) {
	ns := s.c.CreateNamespace(t, "space")
	for claim, class := range map[string]string{"used": "standard", "unused": "standard", "late": "late", "kept": "standard-retain"} {
		s.c.CreateClaim(t, ns, claim, class)
	}
	s.c.CreatePod(t, ns, "user", 0, "used", "late")
	s.c.AwaitPod(t, ns, "user", corev1.PodRunning)
	s.resize(t, ns, "used", "3Gi")
	_, kept := s.c.AwaitBound(t, ns, "kept")
	deleteClaim(t, s.c, ns, "kept")
	s.c.AwaitVolume(t, kept.Name, corev1.VolumeReleased)
	harness.Eventually(t, "the report adds up", func() error {
		rows := s.p.Report(t, "space", "--by=namespace")
		for _, row := range rows {
			if row["namespace"] == ns && row["claims"] == 3.0 && row["bound_volumes"] == 3.0 && row["released_volumes"] == 1.0 && row["requested_bytes"] == float64(5<<30) {
				return nil
			}
		}
		return fmt.Errorf("%v", rows)
	})
	m := s.p.Metrics(t)
	for series, want := range map[string]float64{
		`kubevoltracker_namespace_bound_volumes{namespace="space",storageclass="standard"}`:   2,
		`kubevoltracker_namespace_bound_volumes{namespace="space",storageclass="late"}`:       1,
		`kubevoltracker_namespace_requested_bytes{namespace="space",storageclass="standard"}`: 4 << 30,
		`kubevoltracker_namespace_idle_volumes{namespace="space",storageclass="standard"}`:    1,
	} {
		if got, err := strconv.ParseFloat(m[series], 64); err != nil || got != want {
			t.Errorf("%s is %q, want %v", series, m[series], want)
		}
	}
}

func (s *tracked) podDeleted(t *testing.T) {
	ns := s.c.CreateNamespace(t, "ends")
	for _, claim := range []string{"shared", "own", "batch"} {
		s.c.CreateClaim(t, ns, claim, "standard")
	}
	s.c.CreatePod(t, ns, "stays", 0, "shared")
	s.c.CreatePod(t, ns, "goes", 0, "shared", "own")
	s.c.CreatePod(t, ns, "job", 1, "batch")
	s.c.AwaitPod(t, ns, "stays", corev1.PodRunning)
	goes := s.c.AwaitPod(t, ns, "goes", corev1.PodRunning)
	job := s.c.AwaitPod(t, ns, "job", corev1.PodSucceeded)
	if err := s.c.Client.CoreV1().Pods(ns).Delete(background, "goes", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	const ends = `SELECT count(), countIf(ended_at IS NULL), countIf(ended_not_before != ended_at) FROM mounts WHERE pod_uid = '%s'`
	s.p.ExpectRows(t, fmt.Sprintf(ends, goes.UID), "2\t0\t0")
	s.p.ExpectRows(t, fmt.Sprintf(ends, job.UID), "1\t0\t0")
	harness.Eventually(t, "the reports have it", func() error { // a batch reaches the table mounts before the table pods
		running, ended := s.p.Report(t, "mounts", "--running", "--namespace="+ns), s.p.Report(t, "mounts", "--ended", "--namespace="+ns)
		if len(running) != 1 || running[0]["pod"] != "stays" || len(ended) != 3 {
			return fmt.Errorf("running %v, ended %v", running, ended)
		}
		return nil
	})
}

func (s *tracked) attached(t *testing.T) {
	_, volume := s.c.AwaitBound(t, "tracks", "before")
	var attached storagev1.VolumeAttachment
	harness.Eventually(t, "volume "+volume.Name+" is attached", func() error {
		list, err := s.c.Client.StorageV1().VolumeAttachments().List(background, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, a := range list.Items {
			if name := a.Spec.Source.PersistentVolumeName; name != nil && *name == volume.Name && a.Spec.NodeName == s.early.Spec.NodeName && a.Status.Attached {
				attached = a
				return nil
			}
		}
		return fmt.Errorf("no attachment of it says so")
	})
	s.p.ExpectRows(t, fmt.Sprintf(`SELECT volume_uid, node, attacher, attached_at >= toDateTime64('%s', 6, 'UTC'), detached_at IS NULL FROM attachments WHERE uid = '%s'`,
		seconds(attached.CreationTimestamp), attached.UID), fmt.Sprintf("%s\t%s\t%s\t1\t1", volume.UID, attached.Spec.NodeName, attached.Spec.Attacher))
}

func (s *tracked) namespaceRow(t *testing.T) {
	s.p.ExpectRows(t, `SELECT name, deleted_at IS NULL FROM namespaces WHERE name = 'tracks'`, "tracks\t1")
}

func (s *tracked) noSecret(t *testing.T) {
	s.p.ExpectRows(t, fmt.Sprintf(`SELECT command FROM containers WHERE pod_uid = '%s'`, s.early.UID), "app")
}

// metricOf finds the series of a family that is about a volume, and returns "" if there is none.
func metricOf(m map[string]string, family, volume string) string {
	for series := range m {
		if strings.HasPrefix(series, family+"{") && strings.Contains(series, `persistentvolume="`+volume+`"`) {
			return series
		}
	}
	return ""
}

// seconds formats a time of the API as the catalog's toDateTime does.
func seconds(at metav1.Time) string { return at.UTC().Format("2006-01-02 15:04:05") }
