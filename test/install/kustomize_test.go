package install

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/yaml"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

const (
	kustomizeDir = "deploy/kustomize"
	externalURL  = "catalog.external.url=clickhouse://clickhouse.example.com:9440/kubevoltracker?secure=true"
)

// combinations are sets of components, with the values of the chart that say the same.
var combinations = map[string]struct {
	components []string
	values     []string
}{
	"base":                          {nil, []string{"catalog.mode=none", "kubelet.enabled=false"}},
	"embedded":                      {[]string{"embedded"}, []string{"kubelet.enabled=false"}},
	"kubelets":                      {[]string{"kubelets"}, []string{"catalog.mode=none"}},
	"embedded, kubelets":            {[]string{"embedded", "kubelets"}, nil},
	"embedded, kubelets, monitored": {[]string{"embedded", "kubelets", "monitoring"}, []string{monitored}},
	"monitored":                     {[]string{"monitoring"}, []string{"catalog.mode=none", "kubelet.enabled=false", monitored}},
	"external":                      {[]string{"external"}, []string{external, "kubelet.enabled=false"}},
	"external, kubelets":            {[]string{"external", "kubelets"}, []string{external}},
	"leader election":               {[]string{"external", "leader-election"}, []string{external, elected, "kubelet.enabled=false"}},
	"leader election, kubelets, monitored": {[]string{"monitoring", "leader-election", "kubelets", "external"},
		[]string{external, elected, monitored}},
}

const (
	monitored = "monitoring.serviceMonitor.enabled=true,monitoring.prometheusRule.enabled=true,monitoring.dashboards.enabled=true"
	external  = "catalog.mode=external,catalog.external.passwordSecret.name=clickhouse," + externalURL
	elected   = "replicas=2,leaderElection.enabled=true"
)

func TestChartAndKustomizeRenderTheSameObjects(t *testing.T) {
	for name, c := range combinations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var args []string
			for _, v := range c.values {
				args = append(args, "--set", v)
			}
			compare(t, template(t, "kubevoltracker", "kubevoltracker", args...), overlay(t, c.components))
		})
	}
	t.Run("deploy/kustomize/default", func(t *testing.T) {
		compare(t, template(t, "kubevoltracker", "kubevoltracker"), mustRun(t, "kustomize", "build", kustomizeDir+"/default"))
	})
}

// overlay builds a kustomization of the base and components, as a user writes one.
func overlay(t *testing.T, components []string) string {
	t.Helper()
	dir := t.TempDir()
	root := harness.File(t, kustomizeDir)
	relative := func(name string) string {
		path, err := filepath.Rel(dir, filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	kustomization := map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
		"namespace": "kubevoltracker", "resources": []string{relative("base")},
	}
	var paths []string
	for _, c := range components {
		paths = append(paths, relative("components/"+c))
	}
	kustomization["components"] = paths
	text, err := yaml.Marshal(kustomization)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return mustRun(t, "kustomize", "build", dir)
}

func compare(t *testing.T, chart, kustomization string) {
	t.Helper()
	charted, kustomized := meanings(t, chart), meanings(t, kustomization)
	if len(charted) < 5 {
		t.Errorf("the chart renders %d objects", len(charted))
	}
	for name, object := range charted {
		switch other, ok := kustomized[name]; {
		case !ok:
			t.Errorf("kustomize has no %s", name)
		case other != object:
			t.Errorf("%s differs. Helm:\n%s\nkustomize:\n%s", name, object, other)
		}
	}
	for name := range kustomized {
		if _, ok := charted[name]; !ok {
			t.Errorf("the chart has no %s", name)
		}
	}
}

// meanings returns what each object means, by kind, namespace and name. Left out are the labels that only Helm sets, the
// order of lists whose order has no meaning, and the Namespace, which helm makes by --create-namespace.
func meanings(t *testing.T, documents string) map[string]string {
	t.Helper()
	byName := map[string]string{}
	for _, o := range decode(t, documents) {
		if _, ok := o.(*corev1.Namespace); ok {
			continue
		}
		m, err := meta.Accessor(o)
		if err != nil {
			t.Fatal(err)
		}
		labels := m.GetLabels()
		for _, key := range []string{"helm.sh/chart", "app.kubernetes.io/managed-by", "app.kubernetes.io/version"} {
			delete(labels, key)
		}
		m.SetLabels(labels)
		normalize(o)
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.Join([]string{o.GetObjectKind().GroupVersionKind().Kind, m.GetNamespace(), m.GetName()}, "/")
		if _, twice := byName[name]; twice {
			t.Errorf("there are two %s", name)
		}
		byName[name] = string(text)
	}
	return byName
}

func normalize(o object) {
	switch o := o.(type) {
	case *rbacv1.ClusterRole:
		slices.SortFunc(o.Rules, func(a, b rbacv1.PolicyRule) int { return cmp.Compare(a.String(), b.String()) })
	case *appsv1.StatefulSet:
		pod := &o.Spec.Template.Spec
		slices.SortFunc(pod.Volumes, func(a, b corev1.Volume) int { return cmp.Compare(a.Name, b.Name) })
		for _, list := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
			for i := range list {
				slices.SortFunc(list[i].Env, func(a, b corev1.EnvVar) int { return cmp.Compare(a.Name, b.Name) })
				slices.SortFunc(list[i].VolumeMounts, func(a, b corev1.VolumeMount) int { return cmp.Compare(a.MountPath, b.MountPath) })
			}
		}
	}
}

// TestKustomizeAlerts compares the alerts of the component monitoring with the files in alerts/; -update writes them.
// Kustomize cannot make a file's content the spec of an object.
func TestKustomizeAlerts(t *testing.T) {
	rendered := "# Made of the files in alerts/ by `go test ./test/install -run KustomizeAlerts -update`.\n"
	for _, name := range []string{"claims", "growth", "tracker", "volumes"} {
		alerts, err := os.ReadFile(harness.File(t, "alerts/"+name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		rendered += "---\napiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: kubevoltracker-" + name +
			"\n  labels:\n    app.kubernetes.io/name: kubevoltracker\n    app.kubernetes.io/instance: kubevoltracker\nspec:\n" + indented(string(alerts))
	}
	upToDate(t, kustomizeDir+"/components/monitoring/prometheusrules.yaml", rendered)
}

func indented(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			out.WriteString("  ")
		}
		out.WriteString(line)
	}
	return out.String()
}

// upToDate fails unless a file has this content; -update writes it.
func upToDate(t *testing.T, name, content string) {
	t.Helper()
	path := harness.File(t, name)
	if *update {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if is, err := os.ReadFile(path); err != nil || string(is) != content {
		t.Errorf("%s is out of date (%v): run `go test ./test/install -update`", name, err)
	}
}
