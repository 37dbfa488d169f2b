package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/kubevoltracker/kubevoltracker/catalog/privatedir"
)

// journalDir and engineDir are the tracker's directories under --data-dir. Each is private: see package privatedir.
const (
	journalDir = "journal"
	engineDir  = "clickhouse"
)

// prepareDataDir makes the data directory, or checks the one that is there. One that has nothing but the tracker's files
// is made private. One with other files in it, such as /tmp, keeps its rights, which others may need. A directory that
// another user owns is refused, except root's: Kubernetes' volumes belong to root, and a pod has access by its group (fsGroup).
func prepareDataDir(dir string, logger log.Logger) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("--data-dir: %s cannot be made: %w", dir, err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	if err := checkDataDir(dir, info, os.Geteuid(), logger); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(dir, engineDir)); errors.Is(err, fs.ErrNotExist) {
		return nil // the engine makes it, if there is one
	}
	if err := privatedir.Make(filepath.Join(dir, engineDir), logger); err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	return nil
}

// delayedLog keeps log lines until flush. A start that fails writes its error alone.
type delayedLog struct{ lines [][]any }

func (d *delayedLog) Log(keyvals ...any) error {
	d.lines = append(d.lines, slices.Clone(keyvals))
	return nil
}

func (d *delayedLog) flush(logger log.Logger) {
	for _, line := range d.lines {
		logger.Log(line...)
	}
}

// checkDataDir returns an error if a tracker that runs as a user must not use the data directory.
func checkDataDir(dir string, info fs.FileInfo, user int, logger log.Logger) error {
	owner := user
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = int(s.Uid)
	}
	switch {
	case owner == user:
		return tightenDataDir(dir, info.Mode(), logger)
	case owner != 0:
		return fmt.Errorf("--data-dir: %s belongs to the user %d, and the tracker runs as %d: run it as that user, chown the directory, or name another one", dir, owner, user)
	case info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0:
		level.Warn(logger).Log("msg", "every user may rename what is in the data directory; only the tracker's own directories are private", "path", dir,
			"mode", fmt.Sprintf("%#o", info.Mode().Perm()), "cure", "name a directory of the tracker's user by --data-dir")
	}
	return nil
}

// tightenDataDir takes the rights of others from a data directory that has nothing but the tracker's files.
func tightenDataDir(dir string, mode fs.FileMode, logger log.Logger) error {
	if mode.Perm()&0o077 == 0 {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	for _, e := range entries {
		if name := e.Name(); name != engineDir && name != journalDir && !strings.HasPrefix(name, journalDir+".") && name != "lost+found" {
			level.Info(logger).Log("msg", "other users have rights to the data directory, which has more than the tracker's files; only the tracker's own directories are private",
				"path", dir, "mode", fmt.Sprintf("%#o", mode.Perm()), "other", name)
			return nil
		}
	}
	if err := os.Chmod(dir, mode.Perm()&^0o077); err != nil {
		return fmt.Errorf("--data-dir: %s can be used by other users, and that cannot be changed: chmod it to 0700: %w", dir, err)
	}
	level.Info(logger).Log("msg", "other users had rights to the data directory; it is private now", "path", dir, "mode", fmt.Sprintf("%#o", mode.Perm()))
	return nil
}
