package journal

import (
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// haltingFS is a filesystem whose log writes never return an error to Pebble. When one fails,
// haltingFS calls halt and blocks the goroutine forever. Otherwise Pebble would panic if the error
// comes while it switches to the next log file, and would then unlock a mutex that it has not
// locked: Go ends the process at once, and recover does not help.
type haltingFS struct {
	vfs.FS
	armed *atomic.Bool // set once the database is open: before, Open returns the error
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

// OpenDir implements vfs.FS. The directory is synced when it has a new log.
func (fs haltingFS) OpenDir(name string) (vfs.File, error) {
	f, err := fs.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return haltingFile{File: f, name: name, fs: fs}, nil
}

// Create implements vfs.FS.
func (fs haltingFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.Create(name, c)
	return fs.file(name, f, err)
}

// ReuseForWrite implements vfs.FS.
func (fs haltingFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.ReuseForWrite(oldname, newname, c)
	return fs.file(newname, f, err)
}

// haltingFile is a log file or the directory.
type haltingFile struct {
	vfs.File
	name string
	fs   haltingFS
}

func (f haltingFile) check(err error) error {
	f.fs.stop(f.name, err)
	return err
}

// Write and the methods below implement vfs.File.
func (f haltingFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, f.check(err)
}

// Sync implements vfs.File.
func (f haltingFile) Sync() error { return f.check(f.File.Sync()) }

// SyncData implements vfs.File.
func (f haltingFile) SyncData() error { return f.check(f.File.SyncData()) }

// SyncTo implements vfs.File.
func (f haltingFile) SyncTo(length int64) (bool, error) {
	full, err := f.File.SyncTo(length)
	return full, f.check(err)
}

// Close implements vfs.File.
func (f haltingFile) Close() error { return f.check(f.File.Close()) }
