package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kubevoltracker/kubevoltracker/catalog/privatedir"
)

// makeFilesPrivate takes the rights of other users from the files of a directory that is private already, and refuses
// what others may have put there before.
func makeFilesPrivate(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // a tracker that is still ending has deleted it
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a symbolic link, and no tracker has made it: see who has, and remove it", path)
		}
		if err := privatedir.CheckOwner(path, info); err != nil {
			return err
		}
		if perm := info.Mode().Perm(); info.Mode().IsRegular() && perm&0o077 != 0 {
			if err := os.Chmod(path, perm&^0o077); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// privateFS makes files that nobody but their user may read: Pebble itself leaves that to the umask.
type privateFS struct{ vfs.FS }

func private(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	if fd := f.Fd(); fd != vfs.InvalidFd {
		if err := syscall.Fchmod(int(fd), 0o600); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// Create implements vfs.FS.
func (p privateFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return private(p.FS.Create(name, c))
}

// OpenReadWrite implements vfs.FS. It creates a file that is missing.
func (p privateFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return private(p.FS.OpenReadWrite(name, c, o...))
}

// Lock implements vfs.FS. It creates the file.
func (p privateFS) Lock(name string) (lock io.Closer, err error) {
	if lock, err = p.FS.Lock(name); err == nil {
		err = os.Chmod(name, 0o600)
	}
	return lock, err
}
