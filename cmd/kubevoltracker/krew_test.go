package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// krewManifest is what krew reads of a plugin.
type krewManifest struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		Version, ShortDescription, Homepage, Description, Caveats string
		Platforms                                                 []krewPlatform
	}
}

type krewPlatform struct {
	Selector         struct{ MatchLabels struct{ OS, Arch string } }
	URI, SHA256, Bin string
}

func readKrewManifest(t *testing.T, path string) (m krewManifest) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.UnmarshalStrict(text, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// krewPlatforms are those for which `make krew` builds programs.
func krewPlatforms(t *testing.T) []string {
	t.Helper()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^KREW_PLATFORMS := (.*)$`).FindSubmatch(makefile)
	if found == nil {
		t.Fatal("the Makefile has no KREW_PLATFORMS")
	}
	return strings.Fields(string(found[1]))
}

// packKrew packs a directory, as `make krew` does.
func packKrew(version, dir string) (string, error) {
	out, err := exec.Command("../../deploy/krew/package.sh", version, dir).CombinedOutput()
	return string(out), err
}

// TestKrewTakesSemanticVersionsOnly gives package.sh versions that krew refuses, such as the commit that git describes without a tag.
func TestKrewTakesSemanticVersionsOnly(t *testing.T) {
	for _, version := range []string{"080b394", "080b394-dirty", "1.2.3", "v1.2", "v1.2.3.4", ""} {
		if out, err := packKrew(version, t.TempDir()); err == nil || !strings.Contains(out, "make krew VERSION=v0.1.0") {
			t.Errorf("%q: %v: %s", version, err, out)
		}
	}
	for _, version := range []string{"v0.1.0", "v1.2.3-rc.1", "v1.2.3-4-g080b394-dirty"} {
		if out, err := exec.Command("../../deploy/krew/package.sh", version).CombinedOutput(); err != nil {
			t.Errorf("%q: %v: %s", version, err, out)
		}
	}
}

// TestKrewManifestNamesWhatMakeBuilds packs a stand-in for each program that `make krew` builds, and reads the
// manifest that results.
func TestKrewManifestNamesWhatMakeBuilds(t *testing.T) {
	platforms, dir := krewPlatforms(t), t.TempDir()
	for _, platform := range platforms {
		if out, err := packKrew("v1.2.3", dir); err == nil || !strings.Contains(out, "@SHA256_"+platform+"@") {
			t.Errorf("without %s: %v: %s", platform, err, out)
		}
		program := filepath.Join(dir, platform, "kubevoltracker")
		if err := errors.Join(os.Mkdir(filepath.Dir(program), 0o750), os.WriteFile(program, []byte(platform), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := packKrew("v1.2.3", dir); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	m := readKrewManifest(t, filepath.Join(dir, "voltracker.yaml"))
	if m.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || m.Kind != "Plugin" || "kubectl-"+m.Metadata.Name != pluginName || m.Spec.Version != "v1.2.3" {
		t.Errorf("got %+v", m)
	}
	for _, p := range m.Spec.Platforms {
		platforms = slices.DeleteFunc(platforms, func(name string) bool { return name == p.name() })
		if err := p.check(dir); err != nil {
			t.Errorf("%s: %v", p.name(), err)
		}
	}
	if len(platforms) > 0 {
		t.Errorf("the manifest lacks %v", platforms)
	}
}

// name returns OS_ARCH.
func (p krewPlatform) name() string {
	return p.Selector.MatchLabels.OS + "_" + p.Selector.MatchLabels.Arch
}

// check compares the platform with its archive in a directory.
func (p krewPlatform) check(dir string) error {
	archive := filepath.Join(dir, "kubevoltracker_"+p.name()+".tar.gz")
	sum, err := exec.Command("sha256sum", archive).Output()
	if err != nil || !strings.HasPrefix(string(sum), p.SHA256+" ") {
		return fmt.Errorf("its checksum is %s, and not %s (%w)", p.SHA256, sum, err)
	}
	if contents, err := exec.Command("tar", "--extract", "--gzip", "--to-stdout", "--file", archive, p.Bin).Output(); err != nil || string(contents) != p.name() {
		return fmt.Errorf("%s in the archive is %s (%w)", p.Bin, contents, err)
	}
	if !strings.HasSuffix(p.URI, "/releases/download/v1.2.3/"+filepath.Base(archive)) {
		return fmt.Errorf("its address is %s", p.URI)
	}
	return nil
}
