package rbac

import (
	"fmt"
	"slices"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// nothingElse asks the API server what a token of the tracker's account may do, and tries what it may not.
func nothingElse(t *testing.T, c *harness.LocalCluster, g *grants) {
	config, err := clientcmd.BuildConfigFromFlags("", g.kubeconfig(t, c))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{g.namespace, users, "kube-system"} {
		allowedOnly(t, client, g, namespace)
	}
	attempts(t, c, client, g)
}

// everyone is what the API server allows to each account: to ask about itself.
var everyone = []string{"authentication.k8s.io/selfsubjectreviews", "authorization.k8s.io/selfsubjectaccessreviews", "authorization.k8s.io/selfsubjectrulesreviews"}

// allowedOnly compares the API server's list of what the account may do in a namespace with the rules.
func allowedOnly(t *testing.T, client *kubernetes.Clientset, g *grants, namespace string) {
	t.Helper()
	review, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(background,
		&authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if review.Status.Incomplete || len(review.Status.ResourceRules) == 0 {
		t.Fatalf("the API server does not know: %+v", review.Status)
	}
	for _, rule := range review.Status.ResourceRules {
		for _, one := range single(rbacv1.PolicyRule{APIGroups: rule.APIGroups, Resources: rule.Resources, Verbs: rule.Verbs, ResourceNames: rule.ResourceNames}) {
			if r := (right{one.Verbs[0], one.APIGroups[0], one.Resources[0]}); !g.mayHave(r, one.ResourceNames, namespace) {
				t.Errorf("in %s the account may %s %v", namespace, r, one.ResourceNames)
			}
		}
	}
}

// mayHave reports whether the account may have a right in a namespace, on the objects of some names or on all.
func (g *grants) mayHave(r right, names []string, namespace string) bool {
	if slices.Contains(everyone, r.group+"/"+r.resource) || namespaced(names, r.resource) && namespace == g.namespace {
		return true
	}
	reads := r.verb == "list" || r.verb == "watch"
	creates := namespace == g.namespace && r.verb == "create" && r.resource == "leases"
	return slices.Contains(g.rights(), r) && (reads || creates)
}

// namespaced reports whether a rule is about one object that the account may use in its own namespace.
func namespaced(names []string, resource string) bool {
	return len(names) == 1 && (resource == "leases" || resource == "serviceaccounts/token")
}

// attempts tries what the account may not do. The API server refuses each as forbidden.
func attempts(t *testing.T, c *harness.LocalCluster, client *kubernetes.Clientset, g *grants) {
	ns, core := users, client.CoreV1()
	if _, err := c.Client.CoreV1().Secrets(ns).Create(background, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Client.CoordinationV1().Leases(g.namespace).Create(background, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "another"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	patch := []byte(`{"metadata":{"labels":{"a":"b"}}}`)
	type attempt func() error
	one := func(_ any, err error) error { return err }
	forbidden := map[string]attempt{
		"read a secret":    func() error { return one(core.Secrets(ns).Get(background, "s", metav1.GetOptions{})) },
		"list secrets":     func() error { return one(core.Secrets("").List(background, metav1.ListOptions{})) },
		"list config maps": func() error { return one(core.ConfigMaps("").List(background, metav1.ListOptions{})) },
		"read logs":        func() error { return one(core.Pods(ns).GetLogs("disk", &corev1.PodLogOptions{}).DoRaw(background)) },
		"exec": func() error {
			return core.RESTClient().Post().Namespace(ns).Resource("pods").Name("disk").SubResource("exec").Param("command", "id").Param("stdout", "true").Do(background).Error()
		},
		"exec by get": func() error {
			return core.RESTClient().Get().Namespace(ns).Resource("pods").Name("disk").SubResource("exec").Param("command", "id").Do(background).Error()
		},
		"reach a node through": func() error {
			return core.RESTClient().Get().Resource("nodes").Name(kubeletNode).SubResource("proxy").Suffix("stats/summary").Do(background).Error()
		},
		"get a node": func() error { return one(core.Nodes().Get(background, kubeletNode, metav1.GetOptions{})) },
		"make a pod": func() error {
			return one(core.Pods(ns).Create(background, harness.NewPod("new", 0), metav1.CreateOptions{}))
		},
		"delete a pod": func() error { return core.Pods(ns).Delete(background, "disk", metav1.DeleteOptions{}) },
		"patch a claim": func() error {
			return one(core.PersistentVolumeClaims(ns).Patch(background, "disk", "application/merge-patch+json", patch, metav1.PatchOptions{}))
		},
		"delete a claim": func() error {
			return core.PersistentVolumeClaims(ns).Delete(background, "disk", metav1.DeleteOptions{})
		},
		"delete a volume": func() error { return core.PersistentVolumes().Delete(background, "disk", metav1.DeleteOptions{}) },
		"patch a namespace": func() error {
			return one(core.Namespaces().Patch(background, ns, "application/merge-patch+json", patch, metav1.PatchOptions{}))
		},
		"a token of its own account": func() error { return token(client, g.namespace, g.account(false)) },
		"a token of another account": func() error { return token(client, "kube-system", "default") },
		"read another lease": func() error {
			return one(client.CoordinationV1().Leases(g.namespace).Get(background, "another", metav1.GetOptions{}))
		},
		"change another lease": func() error {
			return one(client.CoordinationV1().Leases(g.namespace).Update(background, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "another"}}, metav1.UpdateOptions{}))
		},
		"delete its lease": func() error {
			return client.CoordinationV1().Leases(g.namespace).Delete(background, "kubevoltracker", metav1.DeleteOptions{})
		},
		"a lease elsewhere": func() error {
			return one(client.CoordinationV1().Leases("kube-system").Create(background, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{}))
		},
		"read roles": func() error { return one(client.RbacV1().ClusterRoles().List(background, metav1.ListOptions{})) },
		"patch roles": func() error {
			return one(client.RbacV1().ClusterRoles().Patch(background, "kubevoltracker", "application/merge-patch+json", patch, metav1.PatchOptions{}))
		},
	}
	for what, try := range forbidden {
		if err := try(); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := token(client, g.namespace, g.account(true)); err != nil {
		t.Errorf("a token of the kubelets' account: %v", err)
	}
	if pods, err := core.Pods(ns).List(background, metav1.ListOptions{}); err != nil || len(pods.Items) == 0 {
		t.Errorf("the token lists %v, %v", pods, err)
	}
	t.Log(fmt.Sprint(len(forbidden), " attempts, each refused"))
}

func token(client *kubernetes.Clientset, namespace, account string) error {
	_, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(background, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	return err
}
