package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The database cannot survive a full disk when it writes its log or its MANIFEST. So the journal
// keeps a reserve: a file of 16 MiB without data. When the disk is full, the journal deletes the
// file, and the database continues in the freed space. Commit then refuses batches until there is
// space for the file again.
const (
	reserveName  = "RESERVE"
	reserveBytes = 16 << 20
	// roomPatience is how long a write of the database waits for disk space once the reserve is
	// used up. A compaction that fails frees its space.
	roomPatience = 5 * time.Second
)

// room returns ENOSPC if the disk lacks space for bytes beside the reserve.
func (j *Journal) room(bytes int64) error {
	usage, err := j.fs.GetDiskUsage(j.options.Path)
	if err != nil {
		return err
	}
	reserve := filepath.Join(j.options.Path, reserveName)
	_, err = os.Stat(reserve)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing {
		bytes += reserveBytes
	}
	if int64(usage.AvailBytes) < bytes { //nolint:gosec // no disk has 2^63 bytes
		return fmt.Errorf("%d MB are free and %d are needed: %w", usage.AvailBytes>>20, bytes>>20, syscall.ENOSPC)
	}
	if !missing {
		return err
	}
	f, err := privateFS{vfs.Default}.Create(reserve, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	// A filesystem that cannot do so leaves the file empty: there is no reserve then.
	if err := errors.Join(f.Preallocate(0, reserveBytes), f.Close()); err != nil {
		return errors.Join(err, os.Remove(reserve))
	}
	return nil
}

// diskFull frees space on a full disk, or waits up to roomPatience for it.
func diskFull(fs vfs.FS, path string) {
	if os.Remove(filepath.Join(path, reserveName)) == nil {
		return
	}
	for begun := time.Now(); time.Since(begun) < roomPatience; time.Sleep(50 * time.Millisecond) {
		if usage, err := fs.GetDiskUsage(path); err == nil && usage.AvailBytes > memTableSize {
			return
		}
	}
}
