package harness

import (
	"path/filepath"
	"slices"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ServiceAccount applies deploy/rbac.yaml and returns the kubeconfig of its service account: a tracker with it has
// the rights that users grant.
func (c *LocalCluster) ServiceAccount(t testing.TB) string {
	t.Helper()
	c.GrantRights(t)
	token, err := c.Client.CoreV1().ServiceAccounts("kubevoltracker").CreateToken(background, "kubevoltracker", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(c.Kubeconfig)
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

// GrantRights applies deploy/rbac.yaml. It tries again, as another test may do the same at the same time.
func (c *LocalCluster) GrantRights(t testing.TB) {
	t.Helper()
	Eventually(t, "deploy/rbac.yaml is applied", func() error {
		_, err := c.TryKubectl(t, "apply", "-f", File(t, "deploy/rbac.yaml"))
		return err
	})
}

// Revoke takes the rights to resources out of the roles in deploy/rbac.yaml, until GrantRights. It affects every
// tracker that uses ServiceAccount, so a test that calls it must not run in parallel with others.
func (c *LocalCluster) Revoke(t testing.TB, resources ...string) {
	t.Helper()
	for _, name := range []string{"kubevoltracker", "kubevoltracker-kubelets"} {
		role, err := c.Client.RbacV1().ClusterRoles().Get(background, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range role.Rules {
			role.Rules[i].Resources = slices.DeleteFunc(role.Rules[i].Resources, func(r string) bool { return slices.Contains(resources, r) })
		}
		role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return len(r.Resources) == 0 })
		if _, err := c.Client.RbacV1().ClusterRoles().Update(background, role, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
