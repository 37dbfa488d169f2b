package journal

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-kit/log"
)

// modes returns the rights of a directory and of all that is in it.
func modes(t *testing.T, path string) map[string]fs.FileMode {
	t.Helper()
	found := map[string]fs.FileMode{}
	err := filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the database has deleted it meanwhile
		}
		if err == nil {
			found[name] = info.Mode()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func expectPrivate(t *testing.T, path string) {
	t.Helper()
	for name, mode := range modes(t, path) {
		want := fs.FileMode(0o600)
		if mode.IsDir() {
			want = 0o700
		}
		if mode.Perm() != want {
			t.Errorf("%s has %s", name, mode)
		}
	}
}

// TestOnlyItsUserReadsAJournal has no umask that would help.
func TestOnlyItsUserReadsAJournal(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	path := filepath.Join(t.TempDir(), "journal")
	writeTables(t, path) // logs, tables, a MANIFEST, and the journal's own files
	if n := len(modes(t, path)); n < 8 {
		t.Errorf("%d files", n)
	}
	expectPrivate(t, path)
	j := open(t, path)
	commit(t, j, Batch{Facts: []byte("more")})
	expectPrivate(t, path)
}

// TestAWideJournalIsTightened is one that an earlier version made, or a person who copied it.
func TestAWideJournalIsTightened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	writeTables(t, path)
	for name, mode := range modes(t, path) {
		if err := os.Chmod(name, mode.Perm()|0o077); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{1, 0} {
		var logged bytes.Buffer
		j := openWith(t, Options{Path: path, Logger: log.NewLogfmtLogger(&logged)})
		expectPrivate(t, path)
		if n := strings.Count(logged.String(), "it is private now"); n != want || j.Origin() != Resumed {
			t.Errorf("%s, and %d lines: %s", j.Origin(), n, &logged)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestALinkLeadsNowhere puts symbolic links where another user could when the directory had wide rights: in place of
// the directory, and of each file that the journal writes.
func TestALinkLeadsNowhere(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "LOCK", "COMMITTED", "RESERVE", "000001.log", "000002.log", "MANIFEST-000001", "OPTIONS-000003", "marker.manifest.000001.MANIFEST-000001"} {
		path := filepath.Join(t.TempDir(), "journal")
		link := filepath.Join(path, name)
		target := victim
		if name == "" {
			target = dir
		} else if err := os.Mkdir(path, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, strings.TrimSuffix(link, "/")); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), Options{Path: path})
		if err == nil || !strings.Contains(err.Error(), "symbolic link") || !strings.Contains(err.Error(), link) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if data, err := os.ReadFile(victim); err != nil || string(data) != "precious" || len(modes(t, dir)) != 2 {
		t.Errorf("the victim says %q, %v", data, err)
	}
}

func TestTheJournalOfAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const nobody = 65534
	for _, name := range []string{"", "COMMITTED"} {
		path := filepath.Join(t.TempDir(), "journal")
		writeTables(t, path)
		if err := os.Chown(filepath.Join(path, name), nobody, nobody); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), Options{Path: path}); err == nil || !strings.Contains(err.Error(), "belongs to the user 65534") || !strings.Contains(err.Error(), "chown") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
