package docs_test

import (
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/docs"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

func tests(t *testing.T) docs.Tests {
	t.Helper()
	read, err := docs.ReadTests(harness.File(t, "."))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func files(t *testing.T) docs.Files {
	t.Helper()
	read, err := docs.ReadFiles(harness.File(t, "."))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func chart(t *testing.T) *docs.Chart {
	t.Helper()
	c, err := docs.ReadChart(harness.File(t, "deploy/charts/kubevoltracker"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// kubectl is a kubectl with an API server of its own.
func kubectl(t *testing.T) *docs.Kubectl {
	t.Helper()
	c, err := harness.StartCluster(harness.Program(t, "localcluster"), "--bare")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	k, err := docs.NewKubectl(func(args ...string) (string, error) { return c.TryKubectl(t, args...) })
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestNamedTestsExist(t *testing.T) {
	known := tests(t)
	n := 0
	for _, p := range docs.Pages(t) {
		report(t, p.WrongTests(known))
		n += len(p.WrongTests(nil))
	}
	if n < 40 {
		t.Errorf("only %d names of tests are found", n)
	}
}

func TestNamedPathsExist(t *testing.T) {
	known := files(t)
	for _, p := range docs.Pages(t) {
		report(t, p.WrongPaths(known))
	}
	delete(known, "deploy/rbac.yaml")
	n := 0
	for _, p := range docs.Pages(t) {
		n += len(p.WrongPaths(known))
	}
	if n < 5 {
		t.Errorf("deploy/rbac.yaml is found %d times", n)
	}
}

func TestTablesOfFlagsAreRight(t *testing.T) {
	commands := docs.DefaultsOf(docs.Find(t, docs.ConfigurePage))
	n := 0
	for _, p := range docs.Pages(t) {
		if p.Name == docs.ConfigurePage {
			continue
		}
		findings, compared := p.WrongFlagTables(commands)
		report(t, findings)
		n += compared
	}
	if n < 9 {
		t.Errorf("only %d defaults are compared", n)
	}
}

func TestValuesOfTheChartExist(t *testing.T) {
	c := chart(t)
	n := map[string]int{}
	for _, p := range docs.Pages(t) {
		findings, found := p.WrongValues(c)
		report(t, findings)
		n[p.Name] = found
	}
	if n["docs/install.md"] < 20 || n["deploy/charts/kubevoltracker/README.md"] < 60 {
		t.Errorf("too few values are found: %v", n)
	}
}

// TestMistakesInNamesAreFound gives each check pieces of pages with a mistake, and without one.
func TestMistakesInNamesAreFound(t *testing.T) {
	knownTests, knownFiles, c := tests(t), files(t), chart(t)
	commands := docs.DefaultsOf(docs.Find(t, docs.ConfigurePage))
	named := func(p *docs.Page) []string { return p.WrongTests(knownTests) }
	paths := func(p *docs.Page) []string { return p.WrongPaths(knownFiles) }
	flags := func(p *docs.Page) []string { findings, _ := p.WrongFlagTables(commands); return findings }
	values := func(p *docs.Page) []string { findings, _ := p.WrongValues(c); return findings }
	const flagTable, valueTable = "| flag | default |\n|---|---|\n| `--rate` | 20 |\n", "| value | default |\n|---|---|\n"
	for _, sample := range []struct {
		text  string
		check func(*docs.Page) []string
		wrong int
	}{
		{"See `TestNamedTestsExist` and `FuzzGate`, `TestNoneGetsThrough/write`, and `Tests`.", named, 0},
		{"See `TestNamedTestsExists`.", named, 1},
		{"See `FuzzGates`, `BenchmarkNothing`.", named, 2},
		{"See `TestNoneGetsThrough/walls`.", named, 1},
		{"Run `go test ./test/docs -run Named -count=1`, `go test ./test/attack -run 'TestNone/write'`.", named, 0},
		{"Run `go test ./test/docs -run=NamedTestsExists`.", named, 1},
		{"    go test ./test/docs -v -run '^Named' # quickly", named, 1},

		{"See `catalog/embedded/`, `./cmd/...`, `catalog/reports/NAME.sql`, `app/history.go`, `paths.go`, `nodes/proxy`.", paths, 0},
		{"See `catalog/embedding`.", paths, 1},
		{"See `catalog/reports/NAME.sqll`.", paths, 1},
		{"See `application/history.go`, `pahts.go`.", paths, 2},
		{"```sh\nhelm install x ./deploy/chart --values=deploy/charts/kubevoltracker/values.yml\n```", paths, 2},

		{flagTable + "| `--pods`, `--volumes` | 100, 40 |\n| `--no-cleanup` | |\n| `--profile` | `steady` |", flags, 0},
		{flagTable + "| `--[no-]cleanup` | on |", flags, 0},
		{flagTable + "| `--pods`, `--volumes` | 100, 41 |", flags, 1},
		{flagTable + "| `--pods`, `--volumes` | 100 |", flags, 1},
		{flagTable + "| `--duration` | |", flags, 1},
		{flagTable + "| `--cleanup` | |", flags, 1},
		{flagTable + "| `--no-cleanup` | on |", flags, 1},
		{flagTable + "| `--no-profile` | |", flags, 1},
		{flagTable + "| `--duratoin` | 1m |", flags, 1},
		{flagTable + "| `--data-dir` | kubevoltracker-data |", flags, 1}, // of another command
		{"| flag | meaning |\n|---|---|\n| `--rate` | x |\n| `--rates` | x |", flags, 1},

		{"Set `image.tag`, `kubelet.enabled=false`, `replicas: 2`, `nodeSelector: {a: b}`, not `image.md` or `claims.uid`.", values, 0},
		{"Set `image.tags`.", values, 1},
		{"Set `kubelet.enabled=no-thanks`.", values, 1},
		{"Set `replicas: two`.", values, 1},
		{"```yaml\nimage: {registry: x}\nkubelets: {enabled: true}\n```", values, 1},
		{"```yaml\nmonitoring:\n  dashboards: {enabled: true, labels: {any: thing}, label: x}\n```", values, 1},
		{"```yaml\napiVersion: v1\nimage: {nothing: x}\n```", values, 0},
		{"```sh\nhelm install x y --set image.registry=z --set image.registri=z\n```", values, 1},
		{valueTable + "| `replicas` | `1` |\n| `log.level` | `info` |\n| `catalog.embedded` | |", values, 0},
		{valueTable + "| `replicas` | `2` |", values, 1},
		{valueTable + "| `replica` | `1` |", values, 1},
	} {
		if findings := sample.check(docs.Parse("page.md", []byte(sample.text))); len(findings) != sample.wrong {
			t.Errorf("%d findings instead of %d in %q: %v", len(findings), sample.wrong, sample.text, findings)
		}
	}
}

// TestKubectlKnowsItsCommands checks the command lines of kubectl, and that wrong ones are found.
func TestKubectlKnowsItsCommands(t *testing.T) {
	k := kubectl(t)
	n := 0
	for _, p := range docs.Pages(t) {
		findings, found := p.WrongKubectl(k)
		report(t, findings)
		n += found
	}
	if n < 12 {
		t.Errorf("only %d command lines are found", n)
	}
	for text, wrong := range map[string]int{
		"kubectl get pod":                                                   0,
		"kubectl get po,PersistentVolumeClaims -A":                          0,
		"kubectl get events.events.k8s.io -w x":                             0,
		"kubectl describe pvc/x":                                            0,
		"kubectl label namespace x a=b":                                     0,
		"kubectl rollout status --namespace x statefulset/y":                0,
		"kubectl exec pod -c main -- anything --flag":                       0,
		"kubectl port-forward pod-0 8123":                                   0,
		"kubectl auth can-i list pods":                                      0,
		"kubectl create secret generic x --namespace y --from-file=a=b":     0,
		"kubectl gett pods":                                                 1,
		"kubectl get podz":                                                  1,
		"kubectl get pods,podz":                                             1,
		"kubectl get pods --all":                                            1,
		"kubectl --namespace x describe pvcs":                               1,
		"kubectl rollout stats statefulset/y":                               1,
		"kubectl rollout restart deploymnt/x":                               1,
		"kubectl create secrets generic x":                                  1,
		"kubectl exec statefulsetz/x -- anything":                           1,
		"kubectl apply -k":                                                  1,
		"for i in 1 2; do kubectl scale --replicas=$i statefulsetz x; done": 1,
	} {
		findings, _ := docs.Parse("page.md", []byte("```sh\n"+text+"\n```\n\nThen `kubectl apply -k` it.")).WrongKubectl(k)
		if len(findings) != wrong {
			t.Errorf("%d findings instead of %d in %s: %v", len(findings), wrong, text, findings)
		}
	}
}
