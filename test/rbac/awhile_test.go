package rbac

import (
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// missingForAWhile restarts the tracker, and forbids all that it asks for, as an API server does that has not read the roles yet. A claim
// comes and goes meanwhile. Once the tracker has its rights, it resumes where it was, and sees both.
func missingForAWhile(t *testing.T, c *harness.LocalCluster, g *grants) {
	g.apply(t, c)
	namespace := c.CreateNamespace(t, g.namespace+"-users")
	flags := []string{"--cluster.name=local", "--catalog.url=none", "--data-dir=" + t.TempDir()}
	p := harness.StartTracker(t, g.kubeconfig(t, c), flags...)
	p.ExpectReady(t)
	p.Stop(t)
	g.without(func(right) bool { return true }).apply(t, c)
	p = harness.StartTracker(t, g.kubeconfig(t, c), flags...)
	missing := right{"watch", "", "persistentvolumeclaims"}
	harness.Eventually(t, "the log names the right", func() error {
		if !slices.ContainsFunc(p.Lines(), func(line map[string]any) bool { return names(line, missing) }) {
			return fmt.Errorf("no line names %s", missing)
		}
		return nil
	})
	claims := c.Client.CoreV1().PersistentVolumeClaims(namespace)
	if _, err := claims.Create(background, harness.Namespace(namespace).Claim("brief", "manual"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := claims.Delete(background, "brief", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the claim is gone", func() error {
		if _, err := claims.Get(background, "brief", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there, %w", err)
		}
		return nil
	})
	g.apply(t, c)
	harness.Eventually(t, "the tracker has seen the claim come and go", func() error {
		m := p.Metrics(t)
		for _, action := range []string{"created", "deleted"} {
			series := fmt.Sprintf("kubevoltracker_claims_%s_total{namespace=%q,storageclass=\"manual\"}", action, namespace)
			if m[series] != "1" {
				return fmt.Errorf("%s is %q", series, m[series])
			}
		}
		return nil
	})
}
