package install

import (
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

const composeDir = "deploy/compose"

// composeFile is the part of a compose file that the tests look at.
type composeFile struct {
	Services map[string]struct {
		Image       string
		Command     []string
		Ports       []string
		Volumes     []string
		Environment map[string]string
	}
	Volumes map[string]any
}

func readCompose(t *testing.T) (f composeFile) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.File(t, composeDir), "compose.yaml"))
	if err == nil {
		err = yaml.UnmarshalStrict(text, &map[string]any{})
	}
	if err == nil {
		err = yaml.Unmarshal(text, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var pinned = regexp.MustCompile(`^[a-z/-]+:v?\d+\.\d+(\.\d+)?$`)

// TestComposeIsWhole checks what can be checked without a container engine: images are pinned, ports are open on this machine alone,
// what is mounted exists, and no password is written down.
func TestComposeIsWhole(t *testing.T) {
	t.Parallel()
	f := readCompose(t)
	for _, name := range []string{"clickhouse", "prometheus", "alertmanager", "grafana"} {
		if _, ok := f.Services[name]; !ok {
			t.Errorf("there is no service %s", name)
		}
	}
	for name, s := range f.Services {
		if !pinned.MatchString(s.Image) {
			t.Errorf("%s: the image %s has no version", name, s.Image)
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s: port %s is open to others", name, port)
			}
		}
		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if !strings.HasPrefix(source, ".") {
				if _, ok := f.Volumes[source]; !ok {
					t.Errorf("%s: no volume %s is declared", name, source)
				}
				continue
			}
			if _, err := os.Stat(filepath.Join(harness.File(t, composeDir), source)); err != nil {
				t.Errorf("%s mounts %s: %v", name, source, err)
			}
			if !strings.HasSuffix(volume, ":ro") {
				t.Errorf("%s can write to %s", name, source)
			}
		}
		for key, value := range s.Environment {
			if strings.Contains(key, "PASSWORD") && !strings.HasPrefix(value, "${"+key+":?") {
				t.Errorf("%s: %s is %s", name, key, value)
			}
		}
	}
}

// composed replaces the paths in the containers by those of the files that are mounted there.
func composed(t *testing.T, file string) string {
	t.Helper()
	dir := harness.File(t, composeDir)
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	out := string(text)
	for _, s := range readCompose(t).Services {
		for _, volume := range s.Volumes {
			parts := strings.Split(volume, ":")
			if len(parts) > 1 && strings.HasPrefix(parts[0], ".") {
				out = strings.ReplaceAll(out, parts[1]+"/", filepath.Join(dir, parts[0])+"/")
			}
		}
	}
	path := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestComposeConfigurations lets promtool and amtool read the configurations, and looks for each rule file.
func TestComposeConfigurations(t *testing.T) {
	t.Parallel()
	path := composed(t, "prometheus.yml")
	if out := mustRun(t, "promtool", "check", "config", path); !strings.Contains(out, "4 rule files found") {
		t.Errorf("promtool: %s", out)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(harness.File(t, "alerts"), "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.yaml") && !strings.Contains(string(text), file) {
			t.Errorf("prometheus.yml does not have %s", filepath.Base(file))
		}
	}
	mustRun(t, "amtool", "check-config", composed(t, "alertmanager.yml"))
}

// TestComposeProvisionsGrafana compares Grafana's data sources with the services.
func TestComposeProvisionsGrafana(t *testing.T) {
	t.Parallel()
	var sources struct {
		Datasources []struct {
			UID, Type, URL string
			JSONData       struct{ Host string }
		}
	}
	var providers struct {
		Providers []struct{ Options struct{ Path string } }
	}
	for name, into := range map[string]any{"datasources.yaml": &sources, "dashboards.yaml": &providers} {
		text, err := os.ReadFile(filepath.Join(harness.File(t, composeDir), "grafana", name))
		if err == nil {
			err = yaml.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	services := readCompose(t).Services
	var kinds []string
	for _, s := range sources.Datasources {
		kinds = append(kinds, s.Type)
		host := s.JSONData.Host
		if s.URL != "" {
			host, _, _ = strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
		}
		if _, ok := services[host]; !ok || !strings.HasPrefix(s.UID, "kubevoltracker-") {
			t.Errorf("the data source %s is at %q, which is no service", s.UID, host)
		}
	}
	slices.Sort(kinds)
	if !slices.Equal(kinds, []string{"alertmanager", "grafana-clickhouse-datasource", "prometheus"}) {
		t.Errorf("the data sources are %v", kinds)
	}
	if len(providers.Providers) != 1 || !slices.ContainsFunc(services["grafana"].Volumes, func(v string) bool {
		return strings.Contains(v, "../../dashboards:"+providers.Providers[0].Options.Path+":")
	}) {
		t.Errorf("the dashboards are not where Grafana looks: %+v", providers)
	}
}

// TestComposeLetsGrafanaOnlyRead compares the user of Grafana's data source with those that reader.xml defines.
func TestComposeLetsGrafanaOnlyRead(t *testing.T) {
	t.Parallel()
	var sources struct {
		Datasources []struct{ JSONData struct{ Username string } }
	}
	dir := harness.File(t, composeDir)
	text, err := os.ReadFile(filepath.Join(dir, "grafana", "datasources.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &sources)
	}
	reader, readError := os.ReadFile(filepath.Join(dir, "clickhouse", "reader.xml"))
	if err := errors.Join(err, readError, xml.Unmarshal(reader, new(struct{ XMLName xml.Name }))); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(reader), "<readonly>2</readonly>") {
		t.Error("reader.xml lets its user write")
	}
	for _, s := range sources.Datasources {
		if name := s.JSONData.Username; name != "" && !strings.Contains(string(reader), "<"+name+">") {
			t.Errorf("Grafana asks as %s, who can do more than read", name)
		}
	}
}
