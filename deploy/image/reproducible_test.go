package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTwoBuildsGiveOneDigest builds the tracker's image from the checkout and from a copy of it elsewhere, with caches
// of their own, and compares the archives. The copy's files are of another time.
func TestTwoBuildsGiveOneDigest(t *testing.T) {
	here, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "elsewhere")
	copyTracked(t, here, copied)
	sums := []string{}
	for _, root := range []string{here, copied} {
		s := &source{root: root, cache: t.TempDir(), version: "v1", revision: "abc", created: 1700000000}
		out := t.TempDir()
		if err := buildOne(s, kinds[0], "amd64", out, io.Discard); err != nil {
			t.Fatal(err)
		}
		image, err := openArchive(archiveName(out, kinds[0].name, "amd64"), filepath.Join(t.TempDir(), "layout"))
		if err != nil {
			t.Fatal(err)
		}
		digest, err := image.Digest()
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, digest.String())
	}
	if sums[0] != sums[1] {
		t.Errorf("the builds give %s and %s", sums[0], sums[1])
	}
}

// copyTracked copies the files that git knows of, with the changes that are not committed.
func copyTracked(t *testing.T, from, to string) {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = from
	names, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(from, name))
		if os.IsNotExist(err) {
			continue // removed, and not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
