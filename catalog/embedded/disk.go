package embedded

import (
	"fmt"
	"syscall"
)

// disk is the room on a filesystem, in bytes.
type disk struct{ size, free int64 }

// diskOf returns the disk that a directory is on.
func diskOf(dir string) (disk, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return disk{}, fmt.Errorf("the free space of %s is unknown: %w", dir, err)
	}
	block := int64(fs.Bsize)                                                         //nolint:unconvert // not an int64 on every system
	return disk{size: int64(fs.Blocks) * block, free: int64(fs.Bavail) * block}, nil //nolint:gosec // no disk has 2^63 bytes
}
