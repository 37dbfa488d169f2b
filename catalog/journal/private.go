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
	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
)

// Rows name namespaces, images and commands, which not every user of a machine may know; and a program that follows
// a symbolic link in a directory where others may make one writes where they want. So a directory of the tracker is
// its user's alone (0700), and with that everything in it; files are 0600 all the same, as copies keep their modes.

// MakePrivate makes a directory at path, or tightens the one that is there: nobody but this user may use it, nor reach
// what is in it. It logs that it tightens one. A directory that is another user's, or a symbolic link, is an error of one
// line that names the cure.
func MakePrivate(path string, logger log.Logger) error {
	err := os.Mkdir(path, 0o700)
	if err == nil {
		return SyncDirectory(path)
	}
	if !errors.Is(err, os.ErrExist) {
		return err
	}
	// The flags refuse a symbolic link. From here on the directory is known by d, whatever is put in its place.
	d, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		if info, failed := os.Lstat(path); failed == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a symbolic link, and what is written there would go elsewhere: name the directory itself, or mount it there", path)
		}
		return err
	}
	defer d.Close()
	return tighten(d, logger)
}

// tighten takes the rights of other users from a directory.
func tighten(d *os.File, logger log.Logger) error {
	info, err := d.Stat()
	if err != nil {
		return err
	}
	if err := checkOwner(d.Name(), info); err != nil {
		return err
	}
	wide := info.Mode().Perm()
	if wide&0o077 == 0 {
		return nil
	}
	if err := d.Chmod(wide &^ 0o077); err != nil {
		return fmt.Errorf("%s can be used by other users, and that cannot be changed: chmod it to 0700: %w", d.Name(), err)
	}
	level.Info(logger).Log("msg", "other users had rights to a directory of the tracker; it is private now", "path", d.Name(), "mode", fmt.Sprintf("%#o", wide))
	return nil
}

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
		if err := checkOwner(path, info); err != nil {
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

// checkOwner returns an error unless a file is this process's user's.
func checkOwner(path string, info fs.FileInfo) error {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to the user %d, and the tracker runs as %d: run it as that user, or chown it", path, s.Uid, os.Geteuid())
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
