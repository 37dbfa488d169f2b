package install

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

func TestHelmLint(t *testing.T) {
	for name, path := range valuesFiles(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustRun(t, "helm", "lint", "--strict", chartDir, "--values", path)
		})
	}
}

// packaged packages the chart as `make chart` does, and returns the package.
func packaged(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.Command(harness.File(t, "deploy/charts/package.sh"), harness.Program(t, "helm"), harness.File(t, chartDir), dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(strings.TrimSpace(string(out)))
	if err != nil || filepath.Base(strings.TrimSpace(string(out))) != "kubevoltracker-0.1.0.tgz" {
		t.Fatalf("package.sh printed %q, and no more than the package's path is expected: %v", out, err)
	}
	return text
}

func TestPackageIsReproducible(t *testing.T) {
	t.Parallel()
	if !bytes.Equal(packaged(t), packaged(t)) {
		t.Error("two packages of the same chart differ")
	}
}

// The chart has symbolic links to alerts/ and dashboards/. The package has what they point to.
func TestPackageHasTheAlertsAndDashboards(t *testing.T) {
	t.Parallel()
	files := untar(t, packaged(t))
	for _, kind := range []string{"alerts/*[a-z].yaml", "dashboards/*.json"} {
		paths, err := filepath.Glob(harness.File(t, kind))
		if err != nil || len(paths) == 0 {
			t.Fatal(kind, err)
		}
		for _, path := range paths {
			name := filepath.Base(filepath.Dir(path)) + "/" + filepath.Base(path)
			if strings.HasSuffix(name, "_test.yaml") || strings.HasSuffix(name, "/kustomization.yaml") {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if files["kubevoltracker/files/"+name] != string(text) {
				t.Errorf("the package's files/%s is not %s: link it in %s/files", name, name, chartDir)
			}
		}
	}
}

func untar(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeSymlink {
			t.Errorf("%s is a symbolic link", header.Name)
		}
		files[header.Name] = string(text)
	}
}

// TestTheJobOfTheServiceMonitor checks that the alert KubevoltrackerDown finds the targets, whatever the objects' names.
func TestTheJobOfTheServiceMonitor(t *testing.T) {
	for _, values := range []string{"", ",nameOverride=volumes,clusterName=eu", ",fullnameOverride=volumes"} {
		objects := decode(t, template(t, "storage", "monitoring", "--set", "monitoring.serviceMonitor.enabled=true"+values))
		monitor := only[*unstructured.Unstructured](t, objects)
		endpoints, _, err := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
		if err != nil || len(endpoints) != 1 {
			t.Fatalf("%q: %v in %v", values, err, monitor)
		}
		relabelings, _ := endpoints[0].(map[string]any)["relabelings"].([]any)
		if want := map[string]any{"action": "replace", "targetLabel": "job", "replacement": "kubevoltracker"}; len(relabelings) == 0 || !reflect.DeepEqual(relabelings[0], want) {
			t.Errorf("%q: the endpoint has the relabelings %v, want %v first", values, relabelings, want)
		}
	}
}

func TestRefusalsNameTheCure(t *testing.T) {
	for values, want := range map[string]string{
		"replicas=2":            `Set replicas=1; or catalog\.mode=external with leaderElection\.enabled=true`,
		"catalog.mode=external": `set catalog\.external\.url to your ClickHouse, such as clickhouse://`,
		"catalog.mode=external,catalog.external.url=clickhouse://u:p@h:9000/d":                         `Set catalog\.external\.username, and catalog\.external\.passwordSecret\.name`,
		"catalog.mode=external,catalog.external.url=clickhouse://h:9000/d,replicas=2":                  `Set leaderElection\.enabled=true`,
		"catalog.mode=external,catalog.external.url=http://h:8123/d,catalog.external.caSecret.name=ca": `Add secure=true to catalog\.external\.url`,
		"catalog.mode=external,catalog.external.url=https://h:8443/d?username=u&password=p":            `Set catalog\.external\.username, and catalog\.external\.passwordSecret\.name`,
		"extraArgs={--web.config.file=/x}":                                                             `extraArgs: --web.config.file=.x: .* Leave it out`,
		"extraEnv[0].name=KUBEVOLTRACKER_DATA_DIR":                                                     `extraEnv: KUBEVOLTRACKER_DATA_DIR: .* Leave it out`,
		"clusterName=y,extraArgs={--cluster.name=x}":                                                   `extraArgs: --cluster\.name=x: .* Set clusterName`,
		"extraEnv[0].name=KUBEVOLTRACKER_CLUSTER_NAME":                                                 `extraEnv: KUBEVOLTRACKER_CLUSTER_NAME: .* Set clusterName`,
		"extraArgs={--catalog.url,none}":                                                               `extraArgs: --catalog\.url: .* Set catalog\.mode and catalog\.external\.url`,
		"extraEnv[0].name=KUBEVOLTRACKER_CATALOG_URL":                                                  `extraEnv: KUBEVOLTRACKER_CATALOG_URL: .* Set catalog\.mode and catalog\.external\.url`,
		"extraArgs={--log.level=debug,--no-leader-election}":                                           `extraArgs: --no-leader-election: .* Set leaderElection\.enabled`,
		"extraArgs={--leader-election.lease=z}":                                                        `extraArgs: --leader-election\.lease=z: .* Leave it out`,
		"extraEnv[0].name=KUBEVOLTRACKER_LEADER_ELECTION_NAMESPACE":                                    `extraEnv: KUBEVOLTRACKER_LEADER_ELECTION_NAMESPACE: .* Leave it out`,
		"kubelet.enabled=false,extraArgs={--kubelet.interval=5m}":                                      `extraArgs: --kubelet\.interval=5m: .* Set kubelet\.enabled and kubelet\.interval`,
		"extraArgs={--no-collector.owners}":                                                            `extraArgs: --no-collector\.owners: .* Set collector\.owners`,
		"extraArgs={--catalog.username=x}":                                                             `extraArgs: --catalog\.username=x: .* Leave it out`,
		external + ",extraArgs={--catalog.username=x}":                                                 `extraArgs: --catalog\.username=x: .* Set catalog\.external\.username`,
		"extraArgs={--catalog.reader-password-file=/x}":                                                `extraArgs: --catalog\.reader-password-file=.x: .* catalog\.embedded\.extraArgs`,
		"catalog.embedded.extraArgs={--no-writer-password-create}":                                     `the chart has set it\. Leave it out`,
		"catalog.embedded.extraArgs={--max-memory=1GiB}":                                               `catalog.embedded.maxMemory and log are values`,
		"fullnameOverride=Foo_Bar":                                                                     `fullnameOverride.*does not match pattern`,
		"leaderElection.enabled=true":                                                                  `Set catalog\.mode=external`,
		"leaderElection.enabled=true,catalog.mode=none":                                                `Set catalog\.mode=external`,
		"catalog.mode=none,replicas=2,persistence.existingClaim=x":                                     `Leave it empty, and the chart makes a claim for each`,
		"catalog.mode=internal":                                                                        `(?s)catalog.mode.*must be one of.*'embedded', 'external', 'none'`,
		"catalog.mod=none":                                                                             `additional properties 'mod' not allowed`,
		"catalog.mode=external,catalog.external.url=clickhouse.example":                                `catalog.external.url.*clickhouse\|http\|https`,
		"persistence.whenDeleted=Keep":                                                                 `'Retain', 'Delete'`,
		"kubelet.interval=5":                                                                           `kubelet.interval`,
		"image.digest=latest":                                                                          `image.digest`,
		"catalog.embedded.maxMemory=2Gi":                                                               `catalog.embedded.maxMemory`,
		"networkPolicy.apiServer.ports={https}":                                                        `networkPolicy.apiServer.ports`,
	} {
		t.Run(values, func(t *testing.T) {
			t.Parallel()
			_, err := run(t, "helm", "template", "kubevoltracker", chartDir, "--set", values)
			if err == nil || !regexp.MustCompile(want).MatchString(strings.ReplaceAll(err.Error(), "/", ".")) && !regexp.MustCompile(want).MatchString(err.Error()) {
				t.Errorf("want %s in\n%v", want, err)
			}
		})
	}
}

// TestFlagsThatTheChartSetsAreRefused gives each flag once more that the chart sets in one of its examples.
func TestFlagsThatTheChartSetsAreRefused(t *testing.T) {
	set := map[string]bool{}
	for _, path := range valuesFiles(t) {
		pod := only[*appsv1.StatefulSet](t, decode(t, template(t, "kubevoltracker", "storage", "--values", path))).Spec.Template.Spec
		for name := range env(pod.Containers[0]) {
			set[name] = strings.HasPrefix(name, "KUBEVOLTRACKER_")
		}
	}
	refused := 0
	for _, m := range regexp.MustCompile(`(?m)^ +--(?:\[no-\])?([a-z.-]+)`).FindAllStringSubmatch(help(t, "kubevoltracker", "run"), -1) {
		flag, variable := "--"+m[1]+"=x", "KUBEVOLTRACKER_"+strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(m[1]))
		if !set[variable] {
			continue
		}
		refused++
		for values, want := range map[string]string{"extraArgs={" + flag + "}": "extraArgs: " + flag + ": ", "extraEnv[0].name=" + variable: "extraEnv: " + variable + ": "} {
			t.Run(values, func(t *testing.T) {
				t.Parallel()
				if _, err := run(t, "helm", "template", "kubevoltracker", chartDir, "--set", values); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in\n%v", want, err)
				}
			})
		}
	}
	if refused < 15 {
		t.Errorf("only %d flags of the chart are found among %v", refused, set)
	}
}

// TestNamesOfReleases renders releases whose names are awkward, or used twice.
func TestNamesOfReleases(t *testing.T) {
	t.Parallel()
	roles := map[string]bool{}
	for _, release := range [][2]string{{"kv.prod", "a"}, {"12345", "a"}, {"true", "a"}, {"kv", "a"}, {"kv", "b"}} {
		objects := decode(t, template(t, release[0], release[1]))
		for _, role := range all[*rbacv1.ClusterRole](objects) {
			if roles[role.Name] {
				t.Errorf("%s in %s makes the cluster role %s, which another release has", release[0], release[1], role.Name)
			}
			roles[role.Name] = true
		}
		set := only[*appsv1.StatefulSet](t, objects)
		if strings.Contains(set.Name, ".") || set.Spec.Template.Labels["app.kubernetes.io/instance"] != release[0] {
			t.Errorf("%s is the StatefulSet %s with the labels %v", release[0], set.Name, set.Spec.Template.Labels)
		}
	}
}

// TestNamesStayStrings renders names that are numbers or nothing in YAML. The API server wants strings: decode refuses others.
func TestNamesStayStrings(t *testing.T) {
	t.Parallel()
	for namespace, values := range map[string][2]string{
		"2024": {"serviceAccount.name=123,persistence.existingClaim=1e3,image.repository=1,image.tag=30,catalog.embedded.image.repository=2,catalog.embedded.image.tag=30", monitored},
		"null": {"fullnameOverride=null,serviceAccount.name=0x1f,persistence.storageClass=123,priorityClassName=1e3,catalog.external.passwordSecret.name=123,catalog.external.passwordSecret.key=1," +
			"catalog.external.caSecret.name=1e3,catalog.external.caSecret.key=2", external + "," + elected + "," + monitored},
	} {
		objects := decode(t, template(t, "1", namespace, "--set-string", values[0], "--set", values[1]))
		for _, o := range objects {
			m, err := meta.Accessor(o)
			if err != nil {
				t.Fatal(err)
			}
			if clusters := strings.HasPrefix(o.GetObjectKind().GroupVersionKind().Kind, "ClusterRole"); m.GetName() == "" || (m.GetNamespace() == namespace) == clusters {
				t.Errorf("%s: %s/%s", o.GetObjectKind().GroupVersionKind().Kind, m.GetNamespace(), m.GetName())
			}
		}
		pod := only[*appsv1.StatefulSet](t, objects).Spec.Template.Spec
		if lease := env(pod.Containers[0])["KUBEVOLTRACKER_LEADER_ELECTION_LEASE"]; namespace == "null" && lease != "null" {
			t.Errorf("the lease is %q", lease)
		}
	}
}

// TestExtraEnvReplacesTheChartsOwn sets the one variable of the chart that is no flag: the API server takes each once.
func TestExtraEnvReplacesTheChartsOwn(t *testing.T) {
	t.Parallel()
	objects := decode(t, template(t, "kubevoltracker", "a", "--set", "extraEnv[0].name=GOMEMLIMIT,extraEnv[0].value=1GiB"))
	var values []string
	for _, v := range only[*appsv1.StatefulSet](t, objects).Spec.Template.Spec.Containers[0].Env {
		if v.Name == "GOMEMLIMIT" {
			values = append(values, v.Value)
		}
	}
	if len(values) != 1 || values[0] != "1GiB" {
		t.Errorf("it has the values %v", values)
	}
}

// notes returns what the chart prints at the end of an installation. Without a cluster, helm prints it for its own version of Kubernetes
// alone: here a chart with the same values renders it as a document.
func notes(t *testing.T, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "templates"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Chart.yaml", "values.yaml", "values.schema.json", "templates/_helpers.tpl"} {
		if err := os.Symlink(harness.File(t, chartDir+"/"+name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(harness.File(t, chartDir+"/templates/NOTES.txt"))
	if err != nil {
		t.Fatal(err)
	}
	document := `{{ define "notes" }}` + string(text) + `{{ end }}notes: {{ include "notes" . | quote }}`
	if err := os.WriteFile(filepath.Join(dir, "templates/notes.yaml"), []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	var rendered struct{ Notes string }
	if err := yaml.Unmarshal([]byte(mustRun(t, "helm", append([]string{"template", "kubevoltracker", dir}, args...)...)), &rendered); err != nil {
		t.Fatal(err)
	}
	return rendered.Notes
}

func TestNotesWarnOfWhatIsMissing(t *testing.T) {
	const (
		unnamed  = "WARNING: clusterName is empty"
		kubelets = "some kubelets did not report"
		claim    = "kubectl delete pvc --namespace default -l app.kubernetes.io/instance=kubevoltracker,app.kubernetes.io/name=kubevoltracker"
	)
	for _, test := range []struct {
		args []string
		want map[string]bool
	}{
		{nil, map[string]bool{unnamed: false, claim: true, kubelets: true}},
		{[]string{"--set", "kubelet.enabled=false"}, map[string]bool{kubelets: false}},
		{[]string{"--set", "kubelet.insecureTLS=true"}, map[string]bool{kubelets: false, "WARNING: kubelet.insecureTLS": true}},
		{[]string{"--set", "monitoring.serviceMonitor.enabled=true"}, map[string]bool{unnamed: true}},
		{[]string{"--set", "monitoring.dashboards.enabled=true"}, map[string]bool{unnamed: true}},
		{[]string{"--set", monitored + ",clusterName=production"}, map[string]bool{unnamed: false}},
		{[]string{"--set", "persistence.whenDeleted=Delete", "--kube-version", "1.27.0-gke.1"}, map[string]bool{claim: false}},
		// The API server drops the field, whose feature is alpha and off.
		{[]string{"--set", "persistence.whenDeleted=Delete", "--kube-version", "1.26.15"}, map[string]bool{claim: true}},
		{[]string{"--set", "persistence.existingClaim=mine", "--kube-version", "1.26.15"}, map[string]bool{claim: false}},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			t.Parallel()
			text := notes(t, test.args...)
			for part, want := range test.want {
				if strings.Contains(text, part) != want {
					t.Errorf("want %q: %v, in\n%s", part, want, text)
				}
			}
		})
	}
}

func TestSidecarNeedsKubernetes129(t *testing.T) {
	t.Parallel()
	_, err := run(t, "helm", "template", "kubevoltracker", chartDir, "--kube-version", "1.28.9")
	if err == nil || !strings.Contains(err.Error(), "from version 1.29 on, and this is v1.28.9. Set catalog.mode=external or catalog.mode=none") {
		t.Errorf("Kubernetes 1.28: %v", err)
	}
	for _, args := range [][]string{{"--kube-version", "1.29.0-gke.1"}, {"--kube-version", "1.24.17", "--set", "catalog.mode=none"}} {
		if _, err := run(t, "helm", append([]string{"template", "kubevoltracker", chartDir}, args...)...); err != nil {
			t.Error(err)
		}
	}
}
