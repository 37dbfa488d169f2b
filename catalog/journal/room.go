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

// The database cannot survive a full disk when it writes its log or its MANIFEST. So the
// journal keeps a file that holds room and no data. When the disk is full, the file is given
// up, and the database goes on in its room; Commit refuses batches from then on, until there
// is room for the file again.
const (
	reserveName  = "RESERVE"
	reserveBytes = 16 << 20
	// roomPatience is how long a write of the database waits for room when there is no reserve
	// any more. A compaction that fails gives its room back.
	roomPatience = 5 * time.Second
)

// room returns ENOSPC if there is no room for so many bytes beside the reserve.
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
	if int64(usage.AvailBytes) < bytes {
		return fmt.Errorf("%d MB are free and %d are needed: %w", usage.AvailBytes>>20, bytes>>20, syscall.ENOSPC)
	}
	if !missing {
		return err
	}
	f, err := vfs.Default.Create(reserve, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	// A filesystem that cannot do so leaves the file empty: there is no reserve then.
	if err := errors.Join(f.Preallocate(0, reserveBytes), f.Close()); err != nil {
		return errors.Join(err, os.Remove(reserve))
	}
	return nil
}

// diskFull makes room on a disk that is full, or waits for it for a while.
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
