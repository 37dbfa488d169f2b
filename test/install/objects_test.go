package install

import (
	"context"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubevoltracker/kubevoltracker/exporter"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// rendered calls a test with the objects of each ci/*-values.yaml.
func rendered(t *testing.T, test func(t *testing.T, name string, objects []object)) {
	for name, path := range valuesFiles(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, name, decode(t, template(t, "kubevoltracker", "storage", "--values", path)))
		})
	}
}

// The entry points of the images. A probe can run no other program.
var entryPoints = map[string]string{
	"kubevoltracker":            "/usr/local/bin/kubevoltracker",
	"kubevoltracker-clickhouse": "/usr/local/bin/kubevoltracker-clickhouse",
}

// program returns the program that a container runs.
func program(t *testing.T, c corev1.Container) string {
	t.Helper()
	name := c.Image[strings.LastIndex(c.Image, "/")+1:]
	name, _, _ = strings.Cut(name, "@")
	name, _, _ = strings.Cut(name, ":")
	if entryPoints[name] == "" || len(c.Command) > 0 {
		t.Fatalf("the container %s runs %v of the image %s, and not the entry point of one of the images", c.Name, c.Command, c.Image)
	}
	return name
}

// containers returns all containers of a pod.
func containers(pod corev1.PodSpec) []corev1.Container {
	return slices.Concat(pod.InitContainers, pod.Containers)
}

func TestProbesCanSucceed(t *testing.T) {
	rendered(t, func(t *testing.T, _ string, objects []object) {
		for _, c := range containers(only[*appsv1.StatefulSet](t, objects).Spec.Template.Spec) {
			probes := map[string]*corev1.Probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe}
			for kind, probe := range probes {
				switch {
				case probe == nil:
					if program(t, c) == "kubevoltracker" {
						t.Errorf("the tracker has no %s probe", kind)
					}
				case probe.Exec != nil:
					checkExec(t, c, probe.Exec.Command)
				case probe.HTTPGet == nil || !slices.Contains(probed, probe.HTTPGet.Path) || probe.HTTPGet.Scheme == corev1.URISchemeHTTPS:
					t.Errorf("the %s probe of %s asks %+v, which nobody serves", kind, c.Name, probe.HTTPGet)
				default:
					checkPort(t, c, probe.HTTPGet.Port)
				}
			}
			if program(t, c) == "kubevoltracker-clickhouse" && (c.LivenessProbe == nil || c.LivenessProbe.Exec == nil) {
				t.Error("ClickHouse listens on the pod's loopback, which the kubelet does not reach: its probe has to be a program")
			}
		}
	})
}

// checkPort fails unless the container listens on a port, on more than loopback.
func checkPort(t *testing.T, c corev1.Container, port intstr.IntOrString) {
	t.Helper()
	i := slices.IndexFunc(c.Ports, func(p corev1.ContainerPort) bool {
		return p.Name == port.StrVal && port.StrVal != "" || p.ContainerPort == port.IntVal
	})
	if i < 0 {
		t.Fatalf("a probe asks the port %s, and the container %s has none", port.String(), c.Name)
	}
	listens := ":9790" // the flag's default
	for _, arg := range c.Args {
		if value, ok := strings.CutPrefix(arg, "--web.listen-address="); ok {
			listens = value
		}
	}
	if value := env(c)["KUBEVOLTRACKER_WEB_LISTEN_ADDRESS"]; value != "" {
		listens = value
	}
	if listens != ":"+strconv.Itoa(int(c.Ports[i].ContainerPort)) {
		t.Errorf("a probe asks the port %d, and %s listens on %s", c.Ports[i].ContainerPort, c.Name, listens)
	}
}

// checkExec fails unless a command is the container's own program, asks the address on which that listens, and is one
// that the program knows.
func checkExec(t *testing.T, c corev1.Container, command []string) {
	t.Helper()
	if command[0] != entryPoints[program(t, c)] {
		t.Errorf("%s has no program %s", c.Image, command[0])
	}
	listens := slices.IndexFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, "--listen-address=") })
	if listens < 0 || !slices.Contains(command, c.Args[listens]) {
		t.Errorf("%v does not ask the address on which %s listens", command, c.Name)
	}
}

// probed are the paths that the exporter serves for probes.
var probed = []string{"/livez", "/readyz", "/healthz"}

// TestTheExporterServesTheProbesPaths shows that probed is right, and the tracker's port.
func TestTheExporterServesTheProbesPaths(t *testing.T) {
	t.Parallel()
	options := exporter.ServerOptions{ListenAddresses: []string{"127.0.0.1:0"}, Metrics: http.NotFoundHandler()}
	server, err := exporter.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	listeners, err := exporter.Listen(background, options.ListenAddresses)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(background)
	ended := make(chan error)
	go func() { ended <- server.Serve(ctx, listeners) }()
	for _, path := range probed {
		response, err := http.Get("http://" + listeners[0].Addr().String() + path)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%s: %v, %v", path, response, err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if !strings.Contains(help(t, "kubevoltracker", "run"), `--web.listen-address=:9790`) {
		t.Error("the tracker's default address is not :9790")
	}
}

func help(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(harness.Program(t, program), append(args, "--help")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestTheProgramsKnowTheFlags compares the flags, and the environment variables that stand for flags, of the containers
// and of their probes with what the programs' help says.
func TestTheProgramsKnowTheFlags(t *testing.T) {
	known := map[string]string{
		"kubevoltracker":            help(t, "kubevoltracker", "run"),
		"kubevoltracker-clickhouse": help(t, "kubevoltracker-clickhouse"),
	}
	rendered(t, func(t *testing.T, _ string, objects []object) {
		for _, c := range containers(only[*appsv1.StatefulSet](t, objects).Spec.Template.Spec) {
			flags := slices.Clone(c.Args)
			if c.LivenessProbe.Exec != nil {
				flags = append(flags, c.LivenessProbe.Exec.Command[1:]...)
			}
			for _, flag := range flags {
				flag, _, _ = strings.Cut(flag, "=")
				if strings.HasPrefix(flag, "--") && !knows(known[program(t, c)], flag) {
					t.Errorf("%s does not know %s", program(t, c), flag)
				}
			}
			for name := range env(c) {
				if strings.HasPrefix(name, "KUBEVOLTRACKER_") && !strings.Contains(known["kubevoltracker"], "$"+name+")") {
					t.Errorf("kubevoltracker does not know %s", name)
				}
			}
		}
	})
}

func knows(help, flag string) bool {
	for line := range strings.Lines(help) {
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '=' || r == ',' || r == '\n' }) {
			if strings.Replace(word, "--[no-]", "--", 1) == flag {
				return true
			}
		}
	}
	return false
}

func TestPodsAreRestricted(t *testing.T) {
	rendered(t, func(t *testing.T, _ string, objects []object) {
		pod := only[*appsv1.StatefulSet](t, objects).Spec.Template.Spec
		if *pod.AutomountServiceAccountToken || *pod.SecurityContext.RunAsUser != 65532 || *pod.SecurityContext.FSGroup != 65532 {
			t.Error("the pod is not confined to its user, or all of its containers get the token")
		}
		for _, account := range all[*corev1.ServiceAccount](objects) {
			if *account.AutomountServiceAccountToken {
				t.Errorf("pods get tokens of %s unasked", account.Name)
			}
		}
		for _, c := range containers(pod) {
			if !*c.SecurityContext.ReadOnlyRootFilesystem {
				t.Errorf("%s may write its own files", c.Name)
			}
			token := slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "api-access" })
			if token != (c.Name == "kubevoltracker") {
				t.Errorf("%s: has a token: %v", c.Name, token)
			}
			for _, m := range c.VolumeMounts {
				if !slices.ContainsFunc(volumesOf(objects), func(name string) bool { return name == m.Name }) {
					t.Errorf("%s mounts %s, which is no volume", c.Name, m.Name)
				}
			}
		}
	})
}

// TestFilesOfFlagsAreMounted looks for a volume at each path that a flag, or a variable that stands for one, names.
func TestFilesOfFlagsAreMounted(t *testing.T) {
	var mutex sync.Mutex
	paths := map[string]bool{}
	t.Run("examples", func(t *testing.T) {
		rendered(t, func(t *testing.T, _ string, objects []object) {
			for _, c := range containers(only[*appsv1.StatefulSet](t, objects).Spec.Template.Spec) {
				values := slices.Collect(maps.Values(env(c)))
				for _, arg := range c.Args {
					_, value, _ := strings.Cut(arg, "=")
					values = append(values, value)
				}
				for _, path := range values {
					if !strings.HasPrefix(path, "/") {
						continue
					}
					mutex.Lock()
					paths[path] = true
					mutex.Unlock()
					if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return strings.HasPrefix(path, m.MountPath+"/") }) {
						t.Errorf("%s has no volume with %s", c.Name, path)
					}
				}
			}
		})
	})
	for _, path := range []string{"/data/tracker", "/etc/kubevoltracker/kubelets/ca.crt", "/etc/kubevoltracker/reader/password"} {
		if !paths[path] {
			t.Errorf("no example has a flag with %s", path)
		}
	}
}

// volumesOf returns the names of the volumes of the pod and of its claims.
func volumesOf(objects []object) (names []string) {
	set := all[*appsv1.StatefulSet](objects)[0]
	for _, v := range set.Spec.Template.Spec.Volumes {
		names = append(names, v.Name)
	}
	for _, c := range set.Spec.VolumeClaimTemplates {
		names = append(names, c.Name)
	}
	return names
}

// docs/performance.md has the memory at the largest size that was measured: it has to fit.
func TestResourcesComeFromTheMeasurements(t *testing.T) {
	const peak = "731M"
	c := only[*appsv1.StatefulSet](t, decode(t, template(t, "kubevoltracker", "storage"))).Spec.Template.Spec.Containers[0]
	limit := c.Resources.Limits.Memory()
	if limit.Cmp(resource.MustParse(peak)) < 0 {
		t.Errorf("the limit %s is below the peak %s", limit, peak)
	}
	page, err := os.ReadFile(harness.File(t, "docs/performance.md"))
	if err != nil || !strings.Contains(string(page), "| RSS peak, MB | 2,274 | 2,098 | 731 | 661 |") {
		t.Errorf("docs/performance.md has another peak: change the limit, and the comment in values.yaml (%v)", err)
	}
	for limit, want := range map[string]string{"1Gi": "921MiB", "600Mi": "540MiB", "2G": ""} {
		set := only[*appsv1.StatefulSet](t, decode(t, template(t, "kubevoltracker", "storage", "--set", "resources.limits.memory="+limit)))
		if got := env(set.Spec.Template.Spec.Containers[0])["GOMEMLIMIT"]; got != want {
			t.Errorf("limit %s: GOMEMLIMIT is %q, want %q", limit, got, want)
		}
	}
}

func TestNetworkPolicy(t *testing.T) {
	rendered(t, func(t *testing.T, name string, objects []object) {
		policies := all[*networkingv1.NetworkPolicy](objects)
		if wanted := slices.Contains([]string{"external", "monitoring", "everything-on"}, name); wanted != (len(policies) == 1) {
			t.Fatalf("%d network policies", len(policies))
		} else if !wanted {
			return
		}
		p, pod := policies[0].Spec, only[*appsv1.StatefulSet](t, objects).Spec.Template
		if !selects(t, p.PodSelector, pod.Labels) || len(p.PolicyTypes) != 2 {
			t.Error("the policy is not for the tracker's traffic both ways")
		}
		if len(p.Ingress) != 1 || len(p.Ingress[0].Ports) != 1 || p.Ingress[0].Ports[0].Port.StrVal != pod.Spec.Containers[0].Ports[0].Name {
			t.Errorf("in comes more than the scrape: %+v", p.Ingress)
		}
		want := map[string][]int32{
			"external":      {53, 53, 443, 6443, 10250, 9440},
			"monitoring":    {53, 53, 443, 10250},
			"everything-on": {53, 53, 443, 6443, 10250, 9440},
		}[name]
		var out []int32
		for _, rule := range p.Egress {
			for _, port := range rule.Ports {
				out = append(out, port.Port.IntVal)
			}
		}
		if !slices.Equal(out, want) {
			t.Errorf("out goes to the ports %v, want %v", out, want)
		}
		if name == "monitoring" && (len(p.Ingress[0].From) != 1 || p.Egress[1].To[0].IPBlock.CIDR != "192.0.2.0/24") {
			t.Errorf("the peers of the values are missing: %+v, %+v", p.Ingress, p.Egress)
		}
	})
}

func selects(t *testing.T, selector metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		t.Fatal(err)
	}
	return !s.Empty() && s.Matches(labels.Set(of))
}

func TestDisruptionBudgetAndSpread(t *testing.T) {
	rendered(t, func(t *testing.T, name string, objects []object) {
		set := only[*appsv1.StatefulSet](t, objects)
		budgets := all[*policyv1.PodDisruptionBudget](objects)
		several := *set.Spec.Replicas > 1
		if several != (len(budgets) == 1) || several != (len(set.Spec.Template.Spec.TopologySpreadConstraints) == 1) {
			t.Fatalf("%d replicas, %d budgets, spread by %v", *set.Spec.Replicas, len(budgets), set.Spec.Template.Spec.TopologySpreadConstraints)
		}
		if several != slices.Contains([]string{"leader-election", "everything-on"}, name) {
			t.Errorf("%d replicas", *set.Spec.Replicas)
		}
		if !several {
			return
		}
		// One may go and one stays, so that a drain comes to an end and the metrics go on.
		if b := budgets[0].Spec; b.MaxUnavailable.IntVal != 1 || b.MinAvailable != nil || !selects(t, *b.Selector, set.Spec.Template.Labels) {
			t.Errorf("the budget is %+v", b)
		}
		if s := set.Spec.Template.Spec.TopologySpreadConstraints[0]; !selects(t, *s.LabelSelector, set.Spec.Template.Labels) {
			t.Errorf("the spread is of other pods: %+v", s)
		}
	})
}

func TestServiceLeadsToTheTracker(t *testing.T) {
	rendered(t, func(t *testing.T, _ string, objects []object) {
		set, service := only[*appsv1.StatefulSet](t, objects), only[*corev1.Service](t, objects)
		if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(set.Spec.Template.Labels)) || set.Spec.ServiceName != service.Name {
			t.Error("the service selects no pod of the StatefulSet")
		}
		if service.Spec.Ports[0].TargetPort.StrVal != set.Spec.Template.Spec.Containers[0].Ports[0].Name {
			t.Error("the service's port is none of the pod's")
		}
	})
}

// right is one verb on one resource of one API group, with the names to which it is restricted, and the namespace.
type right struct{ account, namespace, group, resource, name, verb string }

// rights returns what the roles and bindings among the objects grant. Namespaces are replaced by "own".
func rights(t *testing.T, objects []object) map[right]bool {
	t.Helper()
	granted := map[right]bool{}
	grant := func(account, namespace string, rules []rbacv1.PolicyRule) {
		for _, r := range rules {
			names := r.ResourceNames
			if len(names) == 0 {
				names = []string{""}
			}
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					for _, name := range names {
						for _, verb := range r.Verbs {
							granted[right{account, namespace, group, resource, name, verb}] = true
						}
					}
				}
			}
		}
	}
	for _, b := range all[*rbacv1.ClusterRoleBinding](objects) {
		for _, role := range all[*rbacv1.ClusterRole](objects) {
			if role.Name == b.RoleRef.Name {
				grant(b.Subjects[0].Name, "", role.Rules)
			}
		}
	}
	for _, b := range all[*rbacv1.RoleBinding](objects) {
		for _, role := range all[*rbacv1.Role](objects) {
			if role.Name == b.RoleRef.Name && role.Namespace == b.Namespace {
				grant(b.Subjects[0].Name, "own", role.Rules)
			}
		}
	}
	return granted
}

// deploy/rbac.yaml grants what all features together need.
func TestRightsAreThoseOfRBAC(t *testing.T) {
	text, err := os.ReadFile(harness.File(t, "deploy/rbac.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := rights(t, decode(t, string(text)))
	got := rights(t, decode(t, template(t, "kubevoltracker", "kubevoltracker", "--set", external+","+elected)))
	if len(want) < 20 {
		t.Fatalf("deploy/rbac.yaml grants %v", want)
	}
	for r := range want {
		if !got[r] {
			t.Errorf("the chart does not grant %+v", r)
		}
	}
	for r := range got {
		if !want[r] {
			t.Errorf("the chart grants %+v, and deploy/rbac.yaml does not", r)
		}
	}
}

func TestRightsFollowTheFeatures(t *testing.T) {
	everything := rights(t, decode(t, template(t, "kubevoltracker", "storage", "--set", external+","+elected)))
	for values, gone := range map[string]func(right) bool{
		"collector.owners=false":          func(r right) bool { return r.group == "apps" || r.group == "batch" },
		"collector.attachments=false":     func(r right) bool { return r.resource == "volumeattachments" },
		"collector.storageCapacity=false": func(r right) bool { return r.resource == "csistoragecapacities" },
		"kubelet.enabled=false": func(r right) bool {
			return r.resource == "serviceaccounts/token" || r.resource == "nodes/stats" || r.resource == "nodes" && r.verb == "get"
		},
		"leaderElection.enabled=false,replicas=1": func(r right) bool { return r.resource == "leases" },
	} {
		got := rights(t, decode(t, template(t, "kubevoltracker", "storage", "--set", external+","+elected, "--set", values)))
		for r := range everything {
			if got[r] == gone(r) {
				t.Errorf("%s: %+v is granted: %v", values, r, got[r])
			}
		}
		if len(got) >= len(everything) {
			t.Errorf("%s takes no right away", values)
		}
	}
	for r := range everything {
		if strings.ContainsAny(r.resource+r.verb+r.group, "*") || strings.Contains(r.resource, "secrets") || r.resource == "nodes/proxy" {
			t.Errorf("%+v is too much", r)
		}
	}
}
