package harness

import (
	"path/filepath"
	"slices"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// serviceAccount returns the kubeconfig of the service account of
// deploy/rbac.yaml: the tracker has to do with what that grants.
func (c *LocalCluster) ServiceAccount(t testing.TB) string {
	t.Helper()
	c.Kubectl(t, "apply", "-f", File(t, "deploy/rbac.yaml"))
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

// revoke takes rights to resources out of deploy/rbac.yaml's role, until that is applied again.
func (c *LocalCluster) Revoke(t testing.TB, resources ...string) {
	t.Helper()
	role, err := c.Client.RbacV1().ClusterRoles().Get(background, "kubevoltracker", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range role.Rules {
		role.Rules[i].Resources = slices.DeleteFunc(role.Rules[i].Resources, func(r string) bool { return slices.Contains(resources, r) })
	}
	if _, err := c.Client.RbacV1().ClusterRoles().Update(background, role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
