package rbac

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestRights tests the rights on one cluster, as to start one takes longer than most of the tests.
func TestRights(t *testing.T) {
	c := harness.OwnCluster(t)
	auditReads(t, c)
	makeUsers(t, c)
	g := rules(t, rulesPath(t))
	t.Run("are enough for everything, and all are used", func(t *testing.T) { allFeatures(t, c, g) })
	t.Run("allow nothing else", func(t *testing.T) { nothingElse(t, c, g) })
	t.Run("of a feature that is off are not needed", func(t *testing.T) {
		for name, f := range features {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				featureOff(t, c, g, name, f)
			})
		}
	})
	t.Run("that are missing are named, until they are granted", func(t *testing.T) {
		for i, r := range g.rights() {
			t.Run(r.String(), func(t *testing.T) {
				t.Parallel()
				oneMissing(t, c, g.in(fmt.Sprint("missing-", i), fmt.Sprint("-missing-", i)), r)
			})
		}
	})
	t.Run("to a kind of kube-state-metrics' families cost no other kind", func(t *testing.T) {
		for resource, absent := range map[string]string{"volumeattachments": "kube_volumeattachment_info", "storageclasses": "kube_storageclass_info"} {
			t.Run(resource, func(t *testing.T) {
				t.Parallel()
				familiesWithout(t, c, g.in("families-"+resource, "-families-"+resource), resource, absent)
			})
		}
	})
	t.Run("to list a kind cost no other kind's families", func(t *testing.T) {
		resumedWithoutListing(t, c, g.in("families-list", "-families-list"))
	})
	t.Run("that are missing for a while cost no event", func(t *testing.T) { missingForAWhile(t, c, g.in("awhile", "-awhile")) })
	t.Run("to list namespaces, or a name for the cluster", func(t *testing.T) { unnamedCluster(t, c, g) })
}

const (
	users       = "users"
	kubeletNode = "kubelet-1" // the node of the local cluster that has a real kubelet
)

// makeUsers makes a pod whose kubelet reports its volume, a Deployment with an attached volume, and a driver's report of
// its capacity.
func makeUsers(t *testing.T, c *harness.LocalCluster) {
	t.Helper()
	ns := harness.Namespace(c.CreateNamespace(t, users))
	volume := harness.NFSVolume("disk", "")
	volume.Spec.StorageClassName, volume.Spec.AccessModes = "manual", []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	volume.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: t.TempDir()}}
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{kubeletNode}}},
	}}}}
	if _, err := c.Client.CoreV1().PersistentVolumes().Create(background, volume, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Client.CoreV1().PersistentVolumeClaims(users).Create(background, ns.ClaimFor("disk", volume), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := harness.NewPod("disk", 0, "disk")
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "localcluster.kubevoltracker.io/kubelet", Operator: corev1.TolerationOpExists}}
	c.StartPod(t, users, pod)
	c.CreateBoundClaim(t, users, "data", "standard")
	if _, err := c.Client.AppsV1().Deployments(users).Create(background, ns.Deployment("web", 1, harness.PodSpec(harness.ClaimVolume("data"))), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	left := resource.MustParse("7Gi")
	if _, err := c.Client.StorageV1().CSIStorageCapacities(users).Create(background, &storagev1.CSIStorageCapacity{
		ObjectMeta: metav1.ObjectMeta{Name: "left"}, StorageClassName: "standard", Capacity: &left,
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.AwaitPod(t, users, "disk", corev1.PodRunning)
}

// feature is a part of the tracker that can be switched off.
type feature struct {
	off    string             // the flag
	needs  func(r right) bool // reports whether only this feature needs a right
	series []string           // metrics that are absent without it begin with these
}

var features = map[string]feature{
	"owners": {"--no-collector.owners", func(r right) bool { return r.group == "apps" || r.group == "batch" },
		[]string{`kubevoltracker_inventory_objects{kind="Deployment"}`, `kubevoltracker_watch_available{kind="Job"}`}},
	"attachments": {"--no-collector.attachments", func(r right) bool { return r.resource == "volumeattachments" },
		[]string{`kubevoltracker_inventory_objects{kind="VolumeAttachment"}`}},
	"storage-capacity": {"--no-collector.storage-capacity", func(r right) bool { return r.resource == "csistoragecapacities" },
		[]string{"kubevoltracker_storage_capacity_bytes", `kubevoltracker_inventory_objects{kind="CSIStorageCapacity"}`}},
	"kubelets": {"--kubelet.interval=0s", func(r right) bool { return r.resource == "serviceaccounts/token" || r.resource == "nodes/stats" },
		[]string{"kubevoltracker_volume_used_bytes"}},
	"leader-election": {"--no-leader-election", func(r right) bool { return r.resource == "leases" }, nil},
}

// allOn are the flags with which the tracker uses all of its rights.
func allOn(g *grants) []string {
	return []string{
		"--cluster.name=local", "--leader-election", "--leader-election.namespace=" + g.namespace, "--kubelet.interval=1s",
		"--kubelet.service-account=" + g.namespace + "/" + g.account(true), "--catalog.url=http://127.0.0.1:1/absent",
	}
}

// allFeatures runs the tracker as a pod with the service account does, and looks for facts of each feature. Then no
// request was denied, and each right was used.
func allFeatures(t *testing.T, c *harness.LocalCluster, g *grants) {
	g.apply(t, c)
	server := harness.StartClickHouse(t)
	p := c.LaunchInPod(t, g.namespace, g.token(t, c), "--leader-election", "--kubelet.interval=1s", "--catalog.url="+server.URL("kubevoltracker"))
	p.ShowLogOfFailure(t)
	p.AwaitServing(t)
	p.Catalog = server.URL("kubevoltracker")
	p.ExpectReady(t)
	p.ExpectRows(t, "SELECT workload_kind, workload_name FROM pods WHERE namespace = 'users' AND name != 'disk'", "Deployment\tweb")
	p.ExpectRows(t, "SELECT count() > 0 FROM attachments WHERE attached_at IS NOT NULL", "1")
	p.ExpectRows(t, "SELECT count() > 0 FROM storage_capacity", "1")
	p.ExpectRows(t, "SELECT count() > 0 FROM usage", "1")
	p.ExpectRows(t, "SELECT count() FROM mounts WHERE namespace = 'users' AND ended_at IS NULL", "2")
	harness.Eventually(t, "all metrics are there", func() error {
		m := p.Metrics(t)
		for _, prefix := range []string{`kubevoltracker_volume_used_bytes{persistentvolume="disk"}`, "kubevoltracker_storage_capacity_bytes", "kubevoltracker_leader 1"} {
			name, value, _ := strings.Cut(prefix, " ")
			if !has(m, name) || value != "" && m[name] != value {
				return fmt.Errorf("no %s", prefix)
			}
		}
		if has(m, "kubevoltracker_missing_rights") {
			return fmt.Errorf("rights are missing")
		}
		return nil
	})
	p.Stop(t) // the watches end, and are in the audit log then
	count := used(t, c, g.namespace)
	for _, r := range g.rights() {
		// A kubelet asks the API server about nodes/stats; that the figures arrive shows that it is needed.
		if count[r] == 0 && r.resource != "nodes/stats" {
			t.Errorf("the right to %s was not used; take it out", r)
		}
	}
	t.Logf("%d rights, each used, and no denial", len(g.rights()))
}

func has(m map[string]string, prefix string) bool {
	for series := range m {
		if strings.HasPrefix(series, prefix) {
			return true
		}
	}
	return false
}

// featureOff runs the tracker without a feature and without its rights: nothing is denied.
func featureOff(t *testing.T, c *harness.LocalCluster, g *grants, name string, f feature) {
	less := g.in("off-"+name, "-off-"+name).without(f.needs)
	if len(less.rights()) == len(g.rights()) {
		t.Fatal("no right is of this feature")
	}
	less.apply(t, c)
	flags := slices.DeleteFunc(allOn(less), func(flag string) bool { return strings.HasPrefix(f.off, strings.SplitAfter(flag, "=")[0]) })
	if name == "leader-election" {
		flags = slices.DeleteFunc(flags, func(flag string) bool { return strings.HasPrefix(flag, "--leader-election") })
	}
	p := harness.StartTracker(t, less.kubeconfig(t, c), append(flags, f.off)...)
	p.ExpectReady(t)
	harness.Eventually(t, "the volumes are there", func() error {
		if !has(p.Metrics(t), `kubevoltracker_volume_mounts{persistentvolume="disk"}`) {
			return fmt.Errorf("they are not")
		}
		return nil
	})
	m := p.Metrics(t)
	for _, prefix := range append(f.series, "kubevoltracker_missing_rights") {
		if has(m, prefix) {
			t.Errorf("there is %s", prefix)
		}
	}
	p.Stop(t)
	if count := used(t, c, less.namespace); count[right{"list", "", "pods"}] == 0 {
		t.Error("the audit log does not have the tracker's requests")
	}
}

// oneMissing runs the tracker without one right, and then grants it.
func oneMissing(t *testing.T, c *harness.LocalCluster, g *grants, missing right) {
	g.without(func(r right) bool { return r == missing }).apply(t, c)
	p := harness.StartTracker(t, g.kubeconfig(t, c), allOn(g)...)
	harness.Eventually(t, "the log names the right", func() error {
		if !slices.ContainsFunc(p.Lines(), func(line map[string]any) bool { return names(line, missing) }) {
			return fmt.Errorf("no line names %s", missing)
		}
		return nil
	})
	series := missing.series()
	awaitLivingOn(t, p, missing)
	g.apply(t, c)
	p.ExpectReady(t)
	harness.Eventually(t, "the tracker uses the right that it was granted", func() error {
		m := p.Metrics(t)
		switch {
		case m[series] != "":
			return fmt.Errorf("it is missing still")
		case m["kubevoltracker_leader"] != "1":
			return fmt.Errorf("it does not lead")
		case !has(m, `kubevoltracker_volume_used_bytes{persistentvolume="disk"}`):
			return fmt.Errorf("it has no used space")
		}
		for name, value := range m {
			if strings.HasPrefix(name, "kubevoltracker_watch_available") && value != "1" {
				return fmt.Errorf("%s is %s", name, value)
			}
		}
		return nil
	})
}

// series is the metric that says that the right is missing.
func (r right) series() string {
	return fmt.Sprintf("kubevoltracker_missing_rights{api_group=%q,resource=%q,verb=%q}", r.group, r.resource, r.verb)
}

// awaitLivingOn waits until the tracker serves without a right, and says that it is missing. It is ready, unless it
// cannot know the state of the volumes.
func awaitLivingOn(t *testing.T, p *harness.Tracker, missing right) {
	t.Helper()
	blind := missing.verb == "watch" && slices.Contains([]string{"pods", "persistentvolumes", "persistentvolumeclaims"}, missing.resource)
	harness.Eventually(t, "the tracker lives on", func() error {
		status, body, err := p.Get("/readyz?verbose")
		switch {
		case err != nil:
			return err
		case blind && (status != 503 || !strings.Contains(body, missing.String()) || !strings.Contains(body, granted)), !blind && status != 200:
			return fmt.Errorf("/readyz answers %d: %s", status, body)
		case missing.resource == "leases":
			return nil
		case p.Metrics(t)[missing.series()] != "1" || !strings.Contains(body, missing.String()):
			return fmt.Errorf("no series %s, or not in %s", missing.series(), body)
		}
		return nil
	})
}

// granted is the cure for a right that is missing, with deploy/rbac.yaml and for a Helm release.
const granted = "as deploy/rbac.yaml or `helm upgrade` with the chart's values does"

// names reports whether a line of the log says which right is missing, and the cure.
func names(line map[string]any, r right) bool {
	if hint := fmt.Sprint(line["hint"]); !strings.Contains(hint, granted) {
		return false
	}
	if r.resource == "leases" {
		return strings.Contains(fmt.Sprint(line["err"]), fmt.Sprintf("cannot %s resource %q in API group %q", r.verb, r.resource, r.group))
	}
	return strings.HasPrefix(fmt.Sprint(line["msg"]), "a right is missing") &&
		line["verb"] == r.verb && line["resource"] == r.resource && line["api_group"] == r.group
}

// unnamedCluster starts the tracker without a name for the cluster and without the right to list namespaces, which it needs
// to make one. The tracker names the right, and starts once it is granted.
func unnamedCluster(t *testing.T, c *harness.LocalCluster, g *grants) {
	missing := right{"list", "", "namespaces"}
	g = g.in("unnamed", "-unnamed")
	g.without(func(r right) bool { return r == missing }).apply(t, c)
	p := harness.LaunchTracker(t, g.kubeconfig(t, c), "--catalog.url=none")
	p.ShowLogOfFailure(t)
	harness.Eventually(t, "the log names the right", func() error {
		if !slices.ContainsFunc(p.Lines(), func(line map[string]any) bool {
			return names(line, missing) && strings.Contains(fmt.Sprint(line["hint"]), "--cluster.name")
		}) {
			return fmt.Errorf("no line names %s", missing)
		}
		return nil
	})
	g.apply(t, c)
	p.AwaitServing(t)
	p.ExpectReady(t)
}
