package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// source is what the images are built from.
type source struct {
	root    string // the checkout
	cache   string // downloads and compressed layers
	library string // libchdb.so

	version, revision string
	created           int64 // seconds since 1970
}

// askGit completes version, revision and date, where the flags do not give them.
func (s *source) askGit() error {
	for _, ask := range []struct {
		value *string
		args  []string
	}{
		{&s.version, []string{"describe", "--tags", "--always", "--dirty"}},
		{&s.revision, []string{"rev-parse", "HEAD"}},
	} {
		if *ask.value != "" {
			continue
		}
		text, err := s.command("git", ask.args...)
		if err != nil {
			return fmt.Errorf("%w; outside a git checkout give --version, --revision and --created", err)
		}
		*ask.value = text
	}
	if s.created != 0 {
		return nil
	}
	text, err := s.command("git", "log", "-1", "--format=%ct")
	if err != nil {
		return fmt.Errorf("%w; outside a git checkout give --created", err)
	}
	s.created, err = strconv.ParseInt(text, 10, 64)
	return err
}

// program builds one of the project's programs and returns its path. Nothing of the machine gets into it:
// no path, no time, no state of the checkout but version and revision.
func (s *source) program(name, arch string) (string, error) {
	dir := filepath.Join(s.cache, "bin", arch)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	const pkg = "github.com/prometheus/common/version"
	ldflags := fmt.Sprintf("-s -w -buildid= -X %s.Version=%s -X %s.Revision=%s", pkg, s.version, pkg, s.revision)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", ldflags, "-o", path, "./cmd/"+name)
	cmd.Dir = s.root
	// The instruction sets are Go's defaults, whatever the builder's environment says.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s for %s: %w\n%s", name, arch, err, out)
	}
	return path, nil
}

// command runs a program in the checkout and returns its output, trimmed.
func (s *source) command(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), errors.Join(err, errors.New(strings.TrimSpace(stderr.String()))))
	}
	return strings.TrimSpace(string(out)), nil
}
