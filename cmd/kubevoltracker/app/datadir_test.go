package app

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-kit/log"
)

func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestTheDataDirectoryIsPrivate(t *testing.T) {
	for name, test := range map[string]struct {
		mode fs.FileMode // before; 0 for no directory
		has  []string    // directories in it
		want fs.FileMode
		log  string
	}{
		"a new one":                 {0, nil, 0o700, ""},
		"a private one":             {0o700, []string{"journal"}, 0o700, ""},
		"an empty wide one":         {0o777, nil, 0o700, "it is private now"},
		"a wide one of the tracker": {0o755, []string{"journal", "journal.broken-1", "clickhouse"}, 0o700, "it is private now"},
		"a mount of its own":        {0o755, []string{"lost+found"}, 0o700, "it is private now"},
		"one with others' files":    {0o755, []string{"journal", "home"}, 0o755, "more than the tracker's files"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "parent", "data")
			if test.mode != 0 {
				for _, in := range append(test.has, ".") {
					if err := os.MkdirAll(filepath.Join(dir, in), 0o755); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.Chmod(dir, test.mode); err != nil {
					t.Fatal(err)
				}
			}
			var logged bytes.Buffer
			if err := prepareDataDir(dir, log.NewLogfmtLogger(&logged)); err != nil {
				t.Fatal(err)
			}
			if got := modeOf(t, dir); got != test.want || !strings.Contains(logged.String(), test.log) || test.log == "" && logged.Len() > 0 {
				t.Errorf("it has %s, and logs %q", got, &logged)
			}
			for _, in := range test.has {
				if got := modeOf(t, filepath.Join(dir, in)); in == engineDir && got != 0o700 {
					t.Errorf("%s has %s", in, got)
				}
			}
		})
	}
}

func TestALinkInTheDataDirectoryIsRefused(t *testing.T) {
	for _, name := range []string{journalDir, engineDir} {
		dir, elsewhere := t.TempDir(), t.TempDir()
		if err := os.Symlink(elsewhere, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		h := &history{logger: log.NewNopLogger()}
		err := prepareDataDir(dir, h.logger)
		if err == nil {
			err = h.openJournal(t.Context(), Options{DataDir: dir})
		}
		if err == nil || !strings.Contains(err.Error(), "symbolic link") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) > 0 {
			t.Errorf("%s: %v, %v", name, entries, err)
		}
	}
}

func TestTheDataDirectoryOfAnother(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	err = checkDataDir(dir, info, os.Geteuid()+1, log.NewLogfmtLogger(&logged))
	if os.Geteuid() == 0 { // a volume of Kubernetes
		if err != nil || !strings.Contains(logged.String(), "every user may rename") || modeOf(t, dir) != 0o777 {
			t.Errorf("%v, %s", err, &logged)
		}
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		err = prepareDataDir(dir, log.NewNopLogger())
	}
	if err == nil || !strings.Contains(err.Error(), "belongs to the user") || !strings.Contains(err.Error(), "--data-dir") {
		t.Error(err)
	}
}
