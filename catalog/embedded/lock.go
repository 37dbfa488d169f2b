package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-kit/log"

	"github.com/kubevoltracker/kubevoltracker/catalog/embedded/sandbox"
	"github.com/kubevoltracker/kubevoltracker/catalog/privatedir"
)

// MakeDataDir creates the data directory if it is missing, lets nobody else into it, and returns its
// absolute path, without symbolic links. The catalog says who uses what; and who could place a file or a link there would
// write with this program's rights.
func MakeDataDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("the data directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("the data directory %s cannot be created: %w", dir, rootCause(err))
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err == nil {
		err = privatedir.Make(resolved, log.NewNopLogger())
	}
	if err != nil {
		return "", fmt.Errorf("the data directory cannot be used: %w", err)
	}
	return resolved, nil
}

// Needs returns what the engine must be able to do: write its directory, and read its library and
// what it looks at in the system. There is no secret in these files, and no other process's.
func Needs(dataDir, library string) sandbox.Rules {
	return sandbox.Rules{
		ReadWrite: []string{dataDir},
		Read: []string{
			library,
			"/dev/null", "/dev/urandom", "/etc/localtime", "/etc/timezone", "/usr/share/zoneinfo",
			"/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/proc/sys/vm/overcommit_memory",
			"/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage",
		},
	}
}

// lockDirectory locks dir for this process until the caller closes the returned file. The kernel releases the lock when the process ends, however it ends, so a crash never
// leaves a directory locked. gofrs/flock does the same, but hides the file, which contains the pid.
func lockDirectory(dir string) (*os.File, error) {
	path := filepath.Join(dir, "kubevoltracker.lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
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
