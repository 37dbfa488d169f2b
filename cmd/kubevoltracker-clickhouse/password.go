package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/kubevoltracker/kubevoltracker/catalog/privatedir"
)

// makePassword makes the file of --writer-password-file with a random password, unless it exists. The file is complete
// as soon as it has its name: makePassword writes another one and links it. If two processes do so at once, the first
// one's password counts. An existing file that others may read or write is refused, as they would know or choose the
// password.
func makePassword(path string) error {
	if info, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return err
		}
		return checkOwn(path, info)
	}
	dir := filepath.Dir(path)
	// os.CreateTemp opens with O_EXCL and mode 0600, so that the file is this process's own.
	temporary, err := os.CreateTemp(dir, ".writer-password-")
	if err != nil {
		return fmt.Errorf("cannot be created: %w; name a file in a directory that this user may write", err)
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.WriteString(rand.Text() + "\n")
	if err := errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	if err := os.Link(temporary.Name(), path); errors.Is(err, fs.ErrExist) {
		return makePassword(path) // another process was faster
	} else if err != nil {
		return err
	}
	return privatedir.SyncParent(path)
}

// checkOwn returns an error unless a file is regular and only its owner, this user or root, may use it.
func checkOwn(path string, info fs.FileInfo) error {
	owner := info.Sys().(*syscall.Stat_t).Uid
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file; remove it, or name another", path)
	case owner != 0 && int(owner) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, who knows the password; remove it, or name another", path, owner)
	case int(owner) == os.Geteuid() && info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s may be used by others (mode %04o); make that 0600, and change the password", path, info.Mode().Perm())
	}
	return nil
}
