package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lockDirectory creates dir if it is missing and locks it for this process until the returned file
// is closed. The kernel releases the lock when the process ends, however it ends, so a crash never
// leaves a directory locked. gofrs/flock does the same, but hides the file, which contains the pid.
func lockDirectory(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("the data directory %s cannot be created: %w", dir, rootCause(err))
	}
	path := filepath.Join(dir, "kubevoltracker.lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, fmt.Errorf("the data directory %s cannot be written: %w", dir, rootCause(err))
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("the data directory %s cannot be locked: %w", dir, err)
		}
		holder, _ := io.ReadAll(io.LimitReader(f, 32))
		return nil, fmt.Errorf("the data directory %s is in use by another process (pid %s)", dir, strings.TrimSpace(string(holder)))
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("the data directory %s cannot be written: %w", dir, rootCause(err))
	}
	return f, nil
}
