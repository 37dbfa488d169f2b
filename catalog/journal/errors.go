package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

// What an owner may want to tell apart with errors.Is. The error around it names
// the file and the cure.
var (
	// ErrCorrupt is a file that is torn, cut short, damaged or no journal. Open
	// deals with it by itself; found later, every call fails with it until Reset.
	ErrCorrupt = errors.New("the journal is damaged")
	// ErrInUse is a file that another process has open.
	ErrInUse = errors.New("the journal is in use")
	// ErrNewerFormat is a file of a later version of this program.
	ErrNewerFormat = errors.New("the journal is of a newer version")
	// ErrClosed is the answer of a Journal after Close.
	ErrClosed = errors.New("the journal is closed")
)

func corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// openError explains why the file cannot be opened at all.
func openError(path string, err error) error {
	switch {
	case errors.Is(err, syscall.EISDIR):
		return fmt.Errorf("journal %s is a directory: name a file", path)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("journal %s cannot be written: make the file and its directory %s writable for this user: %w", path, filepath.Dir(path), err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("journal %s cannot be created: make the directory %s: %w", path, filepath.Dir(path), err)
	}
	return fmt.Errorf("journal %s cannot be opened: %w", path, err)
}

func inUseError(path string) error {
	return fmt.Errorf("%w: another process has %s open: stop that tracker, or give this one a data directory of its own", ErrInUse, path)
}

// writeError explains why a transaction failed. The caller still has its batch.
func writeError(path string, err error) error {
	switch {
	case errors.Is(err, ErrCorrupt), errors.Is(err, ErrClosed):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("journal %s cannot grow: make room on the filesystem of %s: %w", path, filepath.Dir(path), err)
	}
	return fmt.Errorf("journal %s cannot be written: see to the filesystem of %s: %w", path, filepath.Dir(path), err)
}
