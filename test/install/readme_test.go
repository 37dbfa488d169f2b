package install

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubevoltracker/kubevoltracker/test/docs"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestPagesInstall runs the commands of README's "Running it on your cluster", up to those of a laptop, and of docs/install.md's
// "Helm" as they are written, in a directory with the project's deploy/ and the page's values, with the programs helm and kubectl.
// Those that need a running container are left out, as nodes are kwok's: of them it checks that pod and container are there.
func TestPagesInstall(t *testing.T) {
	c := cluster(t)
	c.CreateClass(t, "fast", "standard")
	for _, test := range []struct{ page, begins, ends, programs string }{
		{"README.md", "\n## Running it on your cluster\n", "\nFrom a laptop", "helm kubectl"},
		{"docs/install.md", "\n## Helm\n", "\n## ", "helm"},
	} {
		t.Run(test.page, func(t *testing.T) {
			text := section(t, test.page, test.begins, test.ends)
			dir := t.TempDir()
			if err := os.Symlink(harness.File(t, "deploy"), filepath.Join(dir, "deploy")); err != nil {
				t.Fatal(err)
			}
			if values := valuesBlock.FindStringSubmatch(text); values != nil {
				if err := os.WriteFile(filepath.Join(dir, values[1]), []byte(values[2]), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var ran []string
			for _, command := range commands(text) {
				program := strings.Fields(command)[0]
				if words := strings.Fields(command); program == "kubectl" && words[1] == "exec" {
					checkTarget(t, c, command)
					continue
				}
				shell(t, c, dir, command)
				ran = append(ran, program)
			}
			if strings.Join(ran, " ") != test.programs {
				t.Errorf("ran %v, and %s are expected", ran, test.programs)
			}
			awaitClaims(t, c, "kubevoltracker")
			shell(t, c, dir, "helm uninstall kubevoltracker --namespace kubevoltracker --wait")
			c.Kubectl(t, "delete", "namespace", "kubevoltracker", "--wait", "--timeout=120s")
		})
	}
}

// section returns what is on a page between two texts.
func section(t *testing.T, page, begins, ends string) string {
	t.Helper()
	text, err := os.ReadFile(harness.File(t, page))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), begins)
	within, _, ended := strings.Cut(rest, ends)
	if !ended {
		t.Fatalf("%s has no section from %q to %q", page, begins, ends)
	}
	return within
}

var (
	// valuesBlock matches a block of values whose first line names its file.
	valuesBlock = regexp.MustCompile("(?s)```yaml\n# (\\S+)\n(.*?)```")
	shellBlock  = regexp.MustCompile("(?s)```sh\n(.*?)\n```")
)

// commands returns the commands of a section, each in one line.
func commands(section string) (lines []string) {
	for _, block := range shellBlock.FindAllStringSubmatch(section, -1) {
		lines = append(lines, strings.Split(strings.ReplaceAll(block[1], "\\\n", ""), "\n")...)
	}
	return lines
}

// shell runs a command in a directory as a user does, with helm and kubectl on the path.
func shell(t *testing.T, c *harness.LocalCluster, dir, command string) {
	t.Helper()
	bin := t.TempDir()
	kubectl := fmt.Sprintf("#!/bin/sh\nexec '%s' kubectl \"$@\"\n", harness.Program(t, "localcluster"))
	if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte(kubectl), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(harness.Program(t, "helm"), filepath.Join(bin, "helm")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-euc", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "KUBECONFIG="+c.Kubeconfig,
		"HELM_CACHE_HOME="+bin, "HELM_CONFIG_HOME="+bin, "HELM_DATA_HOME="+bin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	t.Logf("$ %s\n%s", command, out)
}

var execution = regexp.MustCompile(`^kubectl exec --namespace (\S+) (\S+) -c (\S+) -- (.*)$`)

// checkTarget checks that pod and container of a `kubectl exec` are there, and that the command is one of the tracker's
// own, which connects to the catalog by the container's environment.
func checkTarget(t *testing.T, c *harness.LocalCluster, command string) {
	t.Helper()
	part := execution.FindStringSubmatch(command)
	if part == nil {
		t.Fatalf("%s: want %s", command, execution)
	}
	containers := c.Kubectl(t, "get", "pod", "--namespace", part[1], part[2], "-o", "jsonpath={.spec.containers[*].name}")
	if strings.TrimSpace(containers) != part[3] {
		t.Errorf("%s: the pod has the containers %s", command, containers)
	}
	words := strings.Fields(part[4])
	if words[0] != "kubevoltracker" {
		t.Errorf("%s: the image has no program %s", command, words[0])
	}
	if out, err := exec.Command(harness.Program(t, words[0]), words[1], "--help").CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
}

// block returns the block of YAML on a page that has a line.
func block(t *testing.T, page, line string) string {
	t.Helper()
	for _, b := range docs.Find(t, page).Blocks {
		if b.Lang == "yaml" && strings.Contains("\n"+b.Text, "\n"+line+"\n") {
			return b.Text
		}
	}
	t.Fatalf("%s has no block with %q", page, line)
	return ""
}

// overlayInTheDocs returns a directory with the kustomization of docs/install.md.
func overlayInTheDocs(t *testing.T) (dir string) {
	t.Helper()
	text := block(t, "docs/install.md", "kind: Kustomization")
	dir = t.TempDir()
	root, err := filepath.Rel(dir, harness.File(t, "."))
	if err != nil {
		t.Fatal(err)
	}
	text = strings.ReplaceAll(text, "- ../kubevoltracker/", "- "+root+"/")
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTheOverlayInTheDocs(t *testing.T) {
	t.Parallel()
	objects := decode(t, mustRun(t, "kustomize", "build", overlayInTheDocs(t)))
	set := only[*appsv1.StatefulSet](t, objects)
	claim, variables := set.Spec.VolumeClaimTemplates[0], env(set.Spec.Template.Spec.Containers[0])
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if *claim.Spec.StorageClassName != "fast" || size.String() != "50Gi" || claim.Labels["app.kubernetes.io/name"] != "kubevoltracker" {
		t.Errorf("the claim is %+v", claim)
	}
	if variables["KUBEVOLTRACKER_CLUSTER_NAME"] != clusterInTheDocs(t) || variables["KUBEVOLTRACKER_CATALOG_URL"] != "http://127.0.0.1:8123/kubevoltracker" {
		t.Errorf("the variables are %v", variables)
	}
	monitors := 0
	for _, o := range all[*unstructured.Unstructured](objects) {
		if o.GetLabels()["release"] != "prometheus" {
			t.Errorf("Prometheus ignores the %s %s, which has the labels %v", o.GetKind(), o.GetName(), o.GetLabels())
		}
		if o.GetKind() == "ServiceMonitor" {
			monitors++
			endpoints, _, _ := unstructured.NestedSlice(o.Object, "spec", "endpoints")
			relabelings, _ := endpoints[0].(map[string]any)["relabelings"].([]any)
			added := map[string]any{"targetLabel": "cluster", "replacement": clusterInTheDocs(t)}
			if len(relabelings) != 2 || !reflect.DeepEqual(relabelings[1], added) {
				t.Errorf("the relabelings are %v", relabelings)
			}
		}
	}
	if monitors != 1 {
		t.Errorf("the overlay has %d ServiceMonitors", monitors)
	}
}

// clusterInTheDocs returns the cluster's name in docs/install.md, which is that of the catalog.
func clusterInTheDocs(t *testing.T) string {
	t.Helper()
	var values struct {
		ClusterName string `yaml:"clusterName"`
	}
	if err := yaml.Unmarshal([]byte(block(t, "docs/install.md", "# storage.yaml")), &values); err != nil || values.ClusterName == "" {
		t.Fatalf("docs/install.md names no cluster: %v", err)
	}
	return values.ClusterName
}

// TestTheHelperInTheDocs compares the pod of docs/operate.md that has the tracker's volume with the pod that the chart makes.
func TestTheHelperInTheDocs(t *testing.T) {
	t.Parallel()
	helper := only[*corev1.Pod](t, decode(t, block(t, "docs/operate.md", "# helper.yaml")))
	set := only[*appsv1.StatefulSet](t, decode(t, template(t, "kubevoltracker", "kubevoltracker")))
	theirs, ours := helper.Spec.Containers[0], set.Spec.Template.Spec.Containers[0]
	if !reflect.DeepEqual(helper.Spec.SecurityContext, set.Spec.Template.Spec.SecurityContext) || !reflect.DeepEqual(theirs.SecurityContext, ours.SecurityContext) {
		t.Error("the helper is another user than the tracker, or is confined less")
	}
	claim := set.Spec.VolumeClaimTemplates[0].Name + "-" + set.Name + "-0"
	if v := helper.Spec.Volumes[0].PersistentVolumeClaim; helper.Namespace != set.Namespace || v == nil || v.ClaimName != claim || theirs.VolumeMounts[0].MountPath != ours.VolumeMounts[0].MountPath {
		t.Errorf("the helper does not mount %s in %s", claim, ours.VolumeMounts[0].MountPath)
	}
}

const (
	tableBegins = "<!-- The table is made of the comments in values.yaml by `go test ./test/install -run ChartReadme -update`. -->\n"
	tableEnds   = "<!-- end of the table -->\n"
)

// TestChartReadme compares the table of values in the chart's README with the comments in values.yaml.
func TestChartReadme(t *testing.T) {
	text, err := os.ReadFile(harness.File(t, chartDir+"/values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values yaml.Node
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(harness.File(t, chartDir+"/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(page), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		t.Fatalf("the chart's README.md has no table between %q and %q", tableBegins, tableEnds)
	}
	table := tableBegins + "\n| value | default | |\n|---|---|---|\n" + strings.Join(rows(t, "", values.Content[0]), "") + "\n" + tableEnds
	upToDate(t, chartDir+"/README.md", before+table+after)
}

// rows describes the values of a mapping. One without a comment of its own has to be a mapping of some that have.
func rows(t *testing.T, prefix string, mapping *yaml.Node) (lines []string) {
	t.Helper()
	for i := 0; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		name := prefix + key.Value
		comment := key.HeadComment
		if at := strings.LastIndex(comment, "\n\n"); at >= 0 { // what belongs to the file, or to what stands before
			comment = comment[at:]
		}
		comment = strings.Join(strings.Fields(strings.ReplaceAll(comment, "#", " ")), " ")
		if value.Kind == yaml.MappingNode && len(value.Content) > 0 && (comment == "" || mappingOfComments(value)) {
			if comment != "" {
				lines = append(lines, fmt.Sprintf("| `%s` | | %s |\n", name, cell(comment)))
			}
			lines = append(lines, rows(t, name+".", value)...)
			continue
		}
		if comment == "" {
			t.Errorf("%s has no comment in values.yaml", name)
		}
		lines = append(lines, fmt.Sprintf("| `%s` | `%s` | %s |\n", name, flow(t, value), cell(comment)))
	}
	return lines
}

// mappingOfComments reports whether the values of a mapping have comments of their own.
func mappingOfComments(mapping *yaml.Node) bool {
	for i := 0; i < len(mapping.Content); i += 2 {
		value := mapping.Content[i+1]
		if mapping.Content[i].HeadComment != "" || value.Kind == yaml.MappingNode && mappingOfComments(value) {
			return true
		}
	}
	return false
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// flow renders a value in one line.
func flow(t *testing.T, value *yaml.Node) string {
	t.Helper()
	one := *value
	one.Style, one.HeadComment, one.LineComment, one.FootComment = yaml.FlowStyle, "", "", ""
	if one.Kind == yaml.ScalarNode {
		one.Style = value.Style
	}
	text, err := yaml.Marshal(&one)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// TestTheScrapeJobInTheDocs has promtool check the job of docs/install.md. The local one is built without service
// discovery, so that a static one takes its place.
func TestTheScrapeJobInTheDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(harness.File(t, "docs/install.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, job, found := strings.Cut(string(page), "```yaml\nscrape_configs:\n")
	job, _, _ = strings.Cut(job, "```")
	if !found || !strings.Contains(job, "honor_labels: true") {
		t.Fatal("docs/install.md has no scrape job with honor_labels")
	}
	dynamic := regexp.MustCompile(`(?m)^    kubernetes_sd_configs:\n(      .*\n)+`)
	if !dynamic.MatchString(job) {
		t.Error("the job discovers no pods")
	}
	job = dynamic.ReplaceAllString(job, "    static_configs: [{targets: ['127.0.0.1:9790']}]\n")
	job = strings.ReplaceAll(job, "- kubevoltracker/alerts/", "- "+harness.File(t, "alerts")+"/")
	path := filepath.Join(t.TempDir(), "prometheus.yml")
	if err := os.WriteFile(path, []byte("scrape_configs:\n"+job), 0o600); err != nil {
		t.Fatal(err)
	}
	out := mustRun(t, "promtool", "check", "config", path)
	if strings.Count(out, "SUCCESS") < 3 {
		t.Errorf("promtool says\n%s", out)
	}
}

// TestTheJobsInTheDocsNameTheCluster looks for the label by which links lead from the catalog to the series.
func TestTheJobsInTheDocsNameTheCluster(t *testing.T) {
	t.Parallel()
	type relabeling struct {
		Target      string `yaml:"target_label"`
		Replacement string
	}
	var config struct {
		Jobs []struct {
			Relabelings []relabeling `yaml:"relabel_configs"`
		} `yaml:"scrape_configs"`
	}
	var shared []relabeling
	for line, into := range map[string]any{"scrape_configs:": &config, "  target_label: job": &shared} {
		if err := yaml.Unmarshal([]byte(block(t, "docs/install.md", line)), into); err != nil {
			t.Fatal(err)
		}
	}
	want := relabeling{"cluster", clusterInTheDocs(t)}
	if !slices.Contains(shared, want) {
		t.Errorf("the shared job has the relabelings %v, want %v, too", shared, want)
	}
	if len(config.Jobs) != 1 || !slices.Contains(config.Jobs[0].Relabelings, want) {
		t.Errorf("the jobs are %v, want one with the relabeling %v", config.Jobs, want)
	}
}
