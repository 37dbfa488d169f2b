package install

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

var definitions sync.Once

// cluster returns the shared control plane, which knows the Prometheus Operator's kinds.
func cluster(t *testing.T) *harness.LocalCluster {
	t.Helper()
	c := harness.Cluster(t)
	definitions.Do(func() {
		for _, kind := range []string{"prometheusrules", "servicemonitors"} {
			path := harness.File(t, ".cache/crds/"+kind+".yaml")
			if _, err := os.Stat(path); err != nil {
				t.Fatalf("%v: run `make crds`", err)
			}
			c.Kubectl(t, "apply", "--server-side", "-f", path)
			c.Kubectl(t, "wait", "--for=condition=Established", "--timeout=120s", "crd/"+kind+".monitoring.coreos.com")
		}
	})
	return c
}

// restricted makes a namespace that enforces the pod security standard "restricted".
func restricted(t *testing.T, c *harness.LocalCluster, name string) {
	t.Helper()
	labels := map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest"}
	_, err := c.Client.CoreV1().Namespaces().Create(background, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// helm runs helm on the cluster.
func helm(t *testing.T, c *harness.LocalCluster, args ...string) string {
	t.Helper()
	return mustRun(t, "helm", append(args, "--kubeconfig", c.Kubeconfig)...)
}

// The namespaces of the other tests refuse a pod that is not restricted: what they accept is.
func TestTheAPIServerEnforcesRestricted(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	restricted(t, c, "enforced")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "root"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "root", Image: "root"}}},
	}
	harness.Eventually(t, "a pod that may be root is refused", func() error {
		_, err := c.Client.CoreV1().Pods("enforced").Create(background, pod, metav1.CreateOptions{})
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "violates PodSecurity") {
			return fmt.Errorf("want a refusal by PodSecurity: %w", err) // before the namespace has its account, for example
		}
		return nil
	})
}

// TestInstall installs the chart with each of the ci/*-values.yaml, and uninstalls it.
func TestInstall(t *testing.T) {
	c := cluster(t)
	for name, path := range valuesFiles(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace, release := "install-"+name, "kubevoltracker-"+name
			restricted(t, c, namespace)
			file := filepath.Join(t.TempDir(), "objects.yaml")
			if err := os.WriteFile(file, []byte(template(t, release, namespace, "--values", path)), 0o600); err != nil {
				t.Fatal(err)
			}
			// The API server refuses fields that its own OpenAPI schema, and that of the CRDs, does not have.
			c.Kubectl(t, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-n", namespace, "-f", file)
			c.Kubectl(t, "create", "--dry-run=server", "--validate=strict", "-n", namespace, "-f", file)
			notes := helm(t, c, "install", release, chartDir, "--namespace", namespace, "--values", path)
			// The example monitoring has dashboards and an embedded ClickHouse.
			if warned := strings.Contains(notes, "Grafana reaches no ClickHouse"); warned != (name == "monitoring") {
				t.Errorf("a warning of panels without data: %v\n%s", warned, notes)
			}
			awaitPods(t, c, namespace, release)
			claims := awaitClaims(t, c, namespace)
			helm(t, c, "uninstall", release, "--namespace", namespace, "--wait")
			checkRest(t, c, namespace, claims, name == "everything-on")
		})
	}
}

// A field that the API server does not know is refused: TestInstall would find one.
func TestUnknownFieldsAreRefused(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	path, err := filepath.Abs(harness.File(t, chartDir+"/ci/monitoring-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := template(t, "unknown", "default", "--values", path)
	for _, known := range []string{"honorLabels: true", "enableServiceLinks: false", "runbook_url: "} {
		file := filepath.Join(t.TempDir(), "objects.yaml")
		unknown := strings.Replace(text, known, "un"+known, 1)
		if known == "runbook_url: " { // annotations are free, fields of a rule are not
			unknown = strings.Replace(text, "- alert: ", "- alarm: ", 1)
		}
		if err := os.WriteFile(file, []byte(unknown), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := c.TryKubectl(t, "create", "--dry-run=server", "--validate=strict", "-n", "default", "-f", file); err == nil {
			t.Errorf("un%s is accepted:\n%s", known, out)
		}
	}
}

// awaitPods waits until the StatefulSet controller has made all pods, which PodSecurity has let in, and they are ready.
func awaitPods(t *testing.T, c *harness.LocalCluster, namespace, name string) {
	t.Helper()
	harness.Eventually(t, "all pods of "+name+" are ready", func() error {
		set, err := c.Client.AppsV1().StatefulSets(namespace).Get(background, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if s := set.Status; s.ObservedGeneration != set.Generation || s.UpdatedReplicas != *set.Spec.Replicas || s.ReadyReplicas != *set.Spec.Replicas {
			return fmt.Errorf("want %d replicas, status is %+v", *set.Spec.Replicas, s)
		}
		return nil
	})
}

// awaitClaims waits until all claims of a namespace are bound, and returns their names.
func awaitClaims(t *testing.T, c *harness.LocalCluster, namespace string) (names []string) {
	t.Helper()
	harness.Eventually(t, "the claims of "+namespace+" are bound", func() error {
		names = nil
		list, err := c.Client.CoreV1().PersistentVolumeClaims(namespace).List(background, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, claim := range list.Items {
			if claim.Status.Phase != corev1.ClaimBound {
				return fmt.Errorf("%s is %s", claim.Name, claim.Status.Phase)
			}
			names = append(names, claim.Name)
		}
		return nil
	})
	return names
}

// checkRest checks what an uninstalled release leaves: its claims, unless the values delete them.
func checkRest(t *testing.T, c *harness.LocalCluster, namespace string, claims []string, deleted bool) {
	t.Helper()
	if wanted := !strings.HasSuffix(namespace, "-off"); wanted != (len(claims) > 0) {
		t.Fatalf("the release had the claims %v", claims)
	}
	harness.Eventually(t, "what is left of "+namespace, func() error {
		pods, err := c.Client.CoreV1().Pods(namespace).List(background, metav1.ListOptions{})
		if err != nil || len(pods.Items) > 0 {
			return fmt.Errorf("%d pods, %w", len(pods.Items), err)
		}
		left := awaitClaims(t, c, namespace)
		if deleted && len(left) > 0 || !deleted && !slices.Equal(left, claims) {
			return fmt.Errorf("claims were %v and are %v", claims, left)
		}
		return nil
	})
	out := c.Kubectl(t, "get", "all,sa,cm,networkpolicies,pdb,roles,rolebindings,servicemonitors,prometheusrules", "-n", namespace,
		"-l", "app.kubernetes.io/name=kubevoltracker", "-o", "name")
	if strings.TrimSpace(out) != "" {
		t.Errorf("left behind in the namespace:\n%s", out)
	}
}

// TestUpgrade goes through all values that differ in what a StatefulSet can change, in one release and with one claim.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	const namespace, release = "upgraded", "upgraded-kubevoltracker"
	restricted(t, c, namespace)
	files := valuesFiles(t)
	helm(t, c, "install", release, chartDir, "--namespace", namespace, "--values", files["default"])
	awaitPods(t, c, namespace, release)
	before := awaitClaims(t, c, namespace)
	for _, name := range []string{"no-kubelets", "monitoring", "external", "leader-election", "none", "default"} {
		helm(t, c, "upgrade", release, chartDir, "--namespace", namespace, "--reset-values", "--values", files[name])
		awaitPods(t, c, namespace, release)
	}
	after := awaitClaims(t, c, namespace)
	if len(before) != 1 || !slices.Contains(after, before[0]) {
		t.Errorf("the claims were %v and are %v", before, after)
	}
	helm(t, c, "uninstall", release, "--namespace", namespace, "--wait")
	checkRest(t, c, namespace, after, false)
}

// TestKustomizeInstalls runs the commands of docs/install.md's "Kustomize" on the overlay there, and the page's last one, which
// uninstalls it.
func TestKustomizeInstalls(t *testing.T) {
	c := cluster(t) // in a namespace that the README's command uses, too: not in parallel
	c.CreateClass(t, "fast", "standard")
	dir := overlayInTheDocs(t)
	for _, command := range commands(section(t, "docs/install.md", "\n## Kustomize\n", "\n## ")) {
		shell(t, c, dir, command)
	}
	claims := awaitClaims(t, c, "kubevoltracker")
	uninstall := commands(section(t, "docs/install.md", "\nWith kustomize,\n", "\nleaves the claim"))
	if len(uninstall) != 1 {
		t.Fatalf("to uninstall, docs/install.md has the commands %q", uninstall)
	}
	shell(t, c, dir, uninstall[0])
	checkRest(t, c, "kubevoltracker", claims, false)
	c.Kubectl(t, "delete", "namespace", "kubevoltracker", "--wait", "--timeout=120s")
}
