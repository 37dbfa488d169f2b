package harness

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Program returns the path of a program in .cache/bin, and fails the test if it is not built.
func Program(t testing.TB, name string) string {
	t.Helper()
	path := File(t, ".cache/bin/"+name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is not built: run `make build localcluster libchdb promtool prometheus helm image kube-state-metrics`, or make test", name)
	}
	return path
}

// File returns the absolute path of a file of the project, named relative to the directory of go.mod.
func File(t testing.TB, name string) string {
	t.Helper()
	path, err := fromRoot(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func fromRoot(name string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, filepath.FromSlash(name)), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("the test does not run inside the project")
		}
		dir = parent
	}
}
