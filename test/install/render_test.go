package install

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

const chartDir = "deploy/charts/kubevoltracker"

// run runs a program of .cache/bin in the project's directory, and returns its standard output.
func run(t testing.TB, program string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(harness.Program(t, program), args...)
	cmd.Dir = harness.File(t, ".")
	// Of helm's own directories none is the user's.
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, stderr.String())
	}
	return out.String(), nil
}

func mustRun(t testing.TB, program string, args ...string) string {
	t.Helper()
	out, err := run(t, program, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// valuesFiles returns the ci/*-values.yaml of the chart by their names: "default", "external".
func valuesFiles(t testing.TB) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(harness.File(t, chartDir+"/ci/*-values.yaml"))
	if err != nil || len(paths) < 7 {
		t.Fatalf("the chart has too few examples of values: %v, %v", paths, err)
	}
	named := map[string]string{}
	for _, path := range paths {
		named[strings.TrimSuffix(filepath.Base(path), "-values.yaml")] = path
	}
	return named
}

// template renders the chart.
func template(t testing.TB, release, namespace string, args ...string) string {
	t.Helper()
	return mustRun(t, "helm", append([]string{"template", release, chartDir, "--namespace", namespace}, args...)...)
}

// object is one of Kubernetes' own kinds as its Go type, or one of a CustomResourceDefinition.
type object = runtime.Object

// strict decodes Kubernetes' own kinds, and refuses unknown fields.
var strict = serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

// decode decodes YAML documents.
func decode(t testing.TB, documents string) []object {
	t.Helper()
	var objects []object
	for _, document := range strings.Split("\n"+documents, "\n---") {
		text, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if string(text) == "null" {
			continue
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(text); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if strings.HasSuffix(o.GroupVersionKind().Group, "monitoring.coreos.com") {
			objects = append(objects, o)
			continue
		}
		typed, _, err := strict.Decode(text, nil, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		objects = append(objects, typed)
	}
	return objects
}

// only returns the object of a Go type, and fails if there is none or more than one.
func only[T object](t testing.TB, objects []object) T {
	t.Helper()
	found := all[T](objects)
	if len(found) != 1 {
		t.Fatalf("%d objects of the type %T, and one is expected", len(found), *new(T))
	}
	return found[0]
}

// all returns the objects of a Go type.
func all[T object](objects []object) []T {
	var found []T
	for _, o := range objects {
		if typed, ok := o.(T); ok {
			found = append(found, typed)
		}
	}
	return found
}

// env returns the variables of a container by name.
func env(c corev1.Container) map[string]string {
	variables := map[string]string{}
	for _, v := range c.Env {
		variables[v.Name] = v.Value
	}
	return variables
}
