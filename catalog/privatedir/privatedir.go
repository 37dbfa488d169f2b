// Package privatedir makes directories that nobody but this process's user may use.
//
// Rows name namespaces, images and commands, which not every user of a machine may know; and a program that follows
// a symbolic link in a directory where others may make one writes where they want. So a directory of the tracker is
// its user's alone (0700), and with that everything in it; files are 0600 all the same, as copies keep their modes.
package privatedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
)

// Make makes a directory at path, or tightens the one that is there: nobody but this user may use it, nor reach
// what is in it. It logs that it tightens one. A directory that is another user's, or a symbolic link, is an error of one
// line that names the cure.
func Make(path string, logger log.Logger) error {
	err := os.Mkdir(path, 0o700)
	if err == nil {
		return SyncParent(path)
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
	if err := CheckOwner(d.Name(), info); err != nil {
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

// CheckOwner returns an error unless a file is this process's user's.
func CheckOwner(path string, info fs.FileInfo) error {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to the user %d, and this program runs as %d: run it as that user, or chown it", path, s.Uid, os.Geteuid())
	}
	return nil
}

// SyncParent makes a new name in the directory of path survive a crash of the machine.
func SyncParent(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if err != nil {
		return fmt.Errorf("syncing the directory of %s: %w", path, err)
	}
	return nil
}
