package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"
)

// The errors that a caller may distinguish with errors.Is. The error around them names the
// directory and the cure.
var (
	// ErrCorrupt means that a directory is torn, damaged or no journal. Open handles it by itself.
	// If damage is found later, every call fails with ErrCorrupt until Reset.
	ErrCorrupt = errors.New("the journal is damaged")
	// ErrFailed means that the disk failed at a moment that leaves it unknown what was written. The
	// data is safe on disk: end the process and open the journal again.
	ErrFailed = errors.New("the journal has failed")
	// ErrInUse means that another process has the directory open.
	ErrInUse = errors.New("the journal is in use")
	// ErrNewerFormat means that a later version of this program wrote the directory.
	ErrNewerFormat = errors.New("the journal is of a newer version")
	// ErrClosed is the error of all calls after Close.
	ErrClosed = errors.New("the journal is closed")
)

func corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// refused are the errors with which the operating system refuses a request of the database. They
// say nothing about the data, so none of them may set a journal aside.
var refused = []error{fs.ErrPermission, syscall.EROFS, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOSPC, syscall.EDQUOT}

// readError turns an error of the database into ErrCorrupt, unless the operating system refused to
// read. A missing file, a wrong checksum and a bad sector (EIO) are all damage.
func readError(err error) error {
	if err == nil || errors.Is(err, ErrCorrupt) || errors.Is(err, ErrFailed) || errors.Is(err, ErrNewerFormat) {
		return err
	}
	if isRefused(err) {
		return err
	}
	return corruptf("%v", err)
}

func isRefused(err error) bool {
	return slices.ContainsFunc(refused, func(r error) bool { return errors.Is(err, r) })
}

// isFull reports whether the filesystem has no room, or none within the quota of this user.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// openError explains why the directory cannot be opened at all.
func openError(path string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("journal %s is no directory: name one, or a new one: %w", path, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("journal %s cannot be written: make it and its directory %s writable for this user: %w", path, filepath.Dir(path), err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("journal %s cannot be created: make the directory %s: %w", path, filepath.Dir(path), err)
	case isFull(err), errors.Is(err, ErrCorrupt), errors.Is(err, ErrFailed):
		return writeError(path, err)
	}
	return fmt.Errorf("journal %s cannot be opened: %w", path, err)
}

func inUseError(path string) error {
	return fmt.Errorf("%w: another process has %s open: stop that tracker, or give this one a data directory of its own", ErrInUse, path)
}

// failedError names the cure for a journal whose database has failed.
func failedError(path string, why any) error {
	return fmt.Errorf("%w: journal %s: see to the filesystem of %s, then start the tracker again: %v", ErrFailed, path, filepath.Dir(path), why)
}

// writeError explains why a transaction failed. The caller still has its batch.
func writeError(path string, err error) error {
	switch {
	case errors.Is(err, ErrCorrupt), errors.Is(err, ErrClosed), errors.Is(err, ErrFailed):
		return err
	case isFull(err):
		return fmt.Errorf("journal %s cannot grow: make room on the filesystem of %s: %w", path, filepath.Dir(path), err)
	}
	return fmt.Errorf("journal %s cannot be written: see to the filesystem of %s: %w", path, filepath.Dir(path), err)
}
