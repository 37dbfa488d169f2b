package rbac

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// right is a permission: one verb on one resource.
type right struct{ verb, group, resource string }

func (r right) String() string { return strings.TrimSuffix(r.verb+" "+r.resource+"."+r.group, ".") }

// grants are the service accounts and the rights of a file, in the namespace of these accounts.
type grants struct {
	namespace       string
	suffix          string // of the names of what is in no namespace
	accounts        []corev1.ServiceAccount
	clusterRoles    []rbacv1.ClusterRole
	clusterBindings []rbacv1.ClusterRoleBinding
	roles           []rbacv1.Role
	bindings        []rbacv1.RoleBinding
}

// rulesPath returns a file with what the chart makes where all features are on. RBAC_FILE names another one.
func rulesPath(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("RBAC_FILE"); path != "" {
		return path
	}
	rendered, err := exec.Command(harness.Program(t, "helm"), "template", "kubevoltracker", harness.File(t, "deploy/charts/kubevoltracker"),
		"--namespace", "kubevoltracker", "--values", harness.File(t, "deploy/charts/kubevoltracker/ci/leader-election-values.yaml")).Output()
	if err != nil {
		t.Fatalf("helm template: %v", err)
	}
	path := filepath.Join(t.TempDir(), "chart.yaml")
	if err := os.WriteFile(path, rendered, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// rules reads the service accounts, roles and bindings in a file of YAML documents. It ignores objects of other kinds.
func rules(t *testing.T, path string) *grants {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	g := &grants{}
	documents := yaml.NewDocumentDecoder(file)
	text := make([]byte, 1<<20)
	for {
		n, err := documents.Read(text)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(text[:n], nil, nil)
		if err != nil {
			continue // not of Kubernetes itself, or empty
		}
		switch o := object.(type) {
		case *corev1.ServiceAccount:
			g.accounts, g.namespace = append(g.accounts, *o), o.Namespace
		case *rbacv1.ClusterRole:
			g.clusterRoles = append(g.clusterRoles, *o)
		case *rbacv1.ClusterRoleBinding:
			g.clusterBindings = append(g.clusterBindings, *o)
		case *rbacv1.Role:
			g.roles = append(g.roles, *o)
		case *rbacv1.RoleBinding:
			g.bindings = append(g.bindings, *o)
		}
	}
	if len(g.accounts) != 2 || len(g.clusterRoles) == 0 || len(g.roles) == 0 {
		t.Fatalf("%s has %d service accounts, %d cluster roles and %d roles", path, len(g.accounts), len(g.clusterRoles), len(g.roles))
	}
	return g
}

// account returns the name of the tracker's service account, or that of the kubelets'.
func (g *grants) account(kubelets bool) string {
	i := slices.IndexFunc(g.accounts, func(a corev1.ServiceAccount) bool { return strings.HasSuffix(a.Name, "kubelets") == kubelets })
	return g.accounts[i].Name
}

// allRules calls do with the rules of each role.
func (g *grants) allRules(do func(*[]rbacv1.PolicyRule)) {
	for i := range g.clusterRoles {
		do(&g.clusterRoles[i].Rules)
	}
	for i := range g.roles {
		do(&g.roles[i].Rules)
	}
}

// rights lists each single permission.
func (g *grants) rights() (list []right) {
	g.allRules(func(rules *[]rbacv1.PolicyRule) {
		for _, rule := range *rules {
			for _, r := range single(rule) {
				list = append(list, right{r.Verbs[0], r.APIGroups[0], r.Resources[0]})
			}
		}
	})
	return list
}

// single splits a rule into rules of one verb and one resource.
func single(rule rbacv1.PolicyRule) (list []rbacv1.PolicyRule) {
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				list = append(list, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}, ResourceNames: rule.ResourceNames})
			}
		}
	}
	return list
}

// without returns a copy without the rights for which drop returns true.
func (g *grants) without(drop func(right) bool) *grants {
	less := g.in(g.namespace, g.suffix)
	less.allRules(func(rules *[]rbacv1.PolicyRule) {
		var left []rbacv1.PolicyRule
		for _, rule := range *rules {
			for _, r := range single(rule) {
				if !drop(right{r.Verbs[0], r.APIGroups[0], r.Resources[0]}) {
					left = append(left, r)
				}
			}
		}
		*rules = left
	})
	return less
}

// in returns a copy in another namespace.
func (g *grants) in(namespace, suffix string) *grants {
	moved := &grants{namespace: namespace, suffix: suffix}
	subjects := func(list []rbacv1.Subject) []rbacv1.Subject {
		list = slices.Clone(list)
		for i := range list {
			list[i].Namespace = namespace
		}
		return list
	}
	for i := range g.accounts {
		o := g.accounts[i].DeepCopy()
		o.Namespace = namespace
		moved.accounts = append(moved.accounts, *o)
	}
	named := func(name string) string { return strings.TrimSuffix(name, g.suffix) + suffix }
	for i := range g.clusterRoles {
		o := g.clusterRoles[i].DeepCopy()
		o.Name = named(o.Name)
		moved.clusterRoles = append(moved.clusterRoles, *o)
	}
	for i := range g.clusterBindings {
		o := g.clusterBindings[i].DeepCopy()
		o.Name, o.RoleRef.Name, o.Subjects = named(o.Name), named(o.RoleRef.Name), subjects(o.Subjects)
		moved.clusterBindings = append(moved.clusterBindings, *o)
	}
	for i := range g.roles {
		o := g.roles[i].DeepCopy()
		o.Namespace = namespace
		moved.roles = append(moved.roles, *o)
	}
	for i := range g.bindings {
		o := g.bindings[i].DeepCopy()
		o.Namespace, o.Subjects = namespace, subjects(o.Subjects)
		moved.bindings = append(moved.bindings, *o)
	}
	return moved
}

// apply creates the objects, or updates the roles if they exist.
func (g *grants) apply(t *testing.T, c *harness.LocalCluster) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	_, err := c.Client.CoreV1().Namespaces().Create(background, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: g.namespace}}, metav1.CreateOptions{})
	must(err)
	for i := range g.accounts {
		_, err := c.Client.CoreV1().ServiceAccounts(g.namespace).Create(background, &g.accounts[i], metav1.CreateOptions{})
		must(err)
	}
	rbac := c.Client.RbacV1()
	for i := range g.clusterRoles {
		if _, err := rbac.ClusterRoles().Update(background, &g.clusterRoles[i], metav1.UpdateOptions{}); apierrors.IsNotFound(err) {
			_, err = rbac.ClusterRoles().Create(background, &g.clusterRoles[i], metav1.CreateOptions{})
			must(err)
		} else {
			must(err)
		}
	}
	for i := range g.roles {
		if _, err := rbac.Roles(g.namespace).Update(background, &g.roles[i], metav1.UpdateOptions{}); apierrors.IsNotFound(err) {
			_, err = rbac.Roles(g.namespace).Create(background, &g.roles[i], metav1.CreateOptions{})
			must(err)
		} else {
			must(err)
		}
	}
	for i := range g.clusterBindings {
		_, err := rbac.ClusterRoleBindings().Create(background, &g.clusterBindings[i], metav1.CreateOptions{})
		must(err)
	}
	for i := range g.bindings {
		_, err := rbac.RoleBindings(g.namespace).Create(background, &g.bindings[i], metav1.CreateOptions{})
		must(err)
	}
}

// token returns a token of the tracker's service account.
func (g *grants) token(t *testing.T, c *harness.LocalCluster) string {
	t.Helper()
	token, err := c.Client.CoreV1().ServiceAccounts(g.namespace).CreateToken(background, g.account(false), &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

// kubeconfig returns a kubeconfig file with such a token.
func (g *grants) kubeconfig(t *testing.T, c *harness.LocalCluster) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: g.token(t, c)}
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
