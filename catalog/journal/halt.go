package journal

import (
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// haltingFS is a filesystem whose log never fails. When a write of the log fails nevertheless,
// halt is told, and the goroutine stops there for ever. Pebble panics on such an error while
// its log is changed for the next one, and unlocks a mutex then that it does not hold: Go ends
// the process at once, and no recover helps.
type haltingFS struct {
	vfs.FS
	armed *atomic.Bool // once the database is open: before, an error is an answer to Open
	halt  func(why any)
}

func (fs haltingFS) stop(name string, err error) {
	if err != nil && fs.armed.Load() {
		fs.halt(fmt.Errorf("%s: %w", name, err))
		select {}
	}
}

func (fs haltingFS) file(name string, f vfs.File, err error) (vfs.File, error) {
	if filepath.Ext(name) != ".log" {
		return f, err
	}
	fs.stop(name, err)
	if err != nil {
		return nil, err
	}
	return haltingFile{File: f, name: name, fs: fs}, nil
}

// OpenDir is vfs.FS's; the directory is synced when it has a new log.
func (fs haltingFS) OpenDir(name string) (vfs.File, error) {
	f, err := fs.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return haltingFile{File: f, name: name, fs: fs}, nil
}

// Create is vfs.FS's.
func (fs haltingFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.Create(name, c)
	return fs.file(name, f, err)
}

// ReuseForWrite is vfs.FS's.
func (fs haltingFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.ReuseForWrite(oldname, newname, c)
	return fs.file(newname, f, err)
}

// haltingFile is a log or the directory.
type haltingFile struct {
	vfs.File
	name string
	fs   haltingFS
}

func (f haltingFile) check(err error) error {
	f.fs.stop(f.name, err)
	return err
}

// Write is vfs.File's, as are the others.
func (f haltingFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, f.check(err)
}

// Sync is vfs.File's.
func (f haltingFile) Sync() error { return f.check(f.File.Sync()) }

// SyncData is vfs.File's.
func (f haltingFile) SyncData() error { return f.check(f.File.SyncData()) }

// SyncTo is vfs.File's.
func (f haltingFile) SyncTo(length int64) (bool, error) {
	full, err := f.File.SyncTo(length)
	return full, f.check(err)
}

// Close is vfs.File's.
func (f haltingFile) Close() error { return f.check(f.File.Close()) }
