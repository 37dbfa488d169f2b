package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
)

// store is an open file: locked, and, once it has been inspected, a database.
type store struct {
	path string
	file *os.File
	db   *bbolt.DB
	size atomic.Int64 // of the file, when last seen
	// wrecked is set once bbolt has panicked.
	wrecked atomic.Bool
}

// lockPatience is how long a lock is waited for: a tracker that is being replaced
// may still be ending.
const lockPatience = 2 * time.Second

// lockStore opens the file, creating it if need be, and locks it. The lock is the
// one that bbolt takes too, but held from before the file is inspected.
func lockStore(path string) (*store, error) {
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, openError(path, err)
		}
		if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
			return nil, errors.Join(fmt.Errorf("journal %s is no regular file: name one", path), err, file.Close())
		}
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && isFileAt(file, path) {
			return newStore(path, file)
		}
		_ = file.Close()
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("journal %s cannot be locked: put it on a local filesystem: %w", path, err)
		}
		if time.Since(begun) > lockPatience {
			return nil, inUseError(path)
		}
	}
}

// isFileAt reports whether the file still has its name: else another process has
// put a new one there, and the lock is of no use.
func isFileAt(file *os.File, path string) bool {
	mine, err1 := file.Stat()
	there, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(mine, there)
}

func newStore(path string, file *os.File) (*store, error) {
	s := &store{path: path, file: file}
	size, err := s.measure()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", path, err), file.Close())
	}
	s.size.Store(size)
	return s, nil
}

// open lets bbolt have the file, which is empty or has been inspected.
func (s *store) open(mapBytes int64) error {
	return s.guard(func() error {
		db, err := bbolt.Open(s.path, 0o600, &bbolt.Options{
			OpenFile: func(string, int, os.FileMode) (*os.File, error) { return s.file, nil },
			// Not the machine's, which may be 64 KiB: a record that changes costs a page,
			// as UIDs are random. 2 KiB and 8 KiB write 40% more, 16 KiB twice as much.
			PageSize: pageSize,
			// Writing the list of free pages is 15% of what a commit writes. Without it
			// bbolt walks the whole file at each open and after each failed commit, and
			// panics in a goroutine of its own if it does not like what it sees.
			NoFreelistSync: false,
			FreelistType:   bbolt.FreelistMapType,
			// Address space only. Growing the map would wait for readers.
			InitialMmapSize: int(mapBytes),
			Timeout:         lockPatience,
		})
		if err != nil {
			return fmt.Errorf("journal %s cannot be opened: %w", s.path, err)
		}
		db.AllocSize = 4 << 20 // grow by that: bbolt's 16 MiB are much for a quiet cluster
		s.db = db
		return nil
	})
}

// view and update run do in a transaction. Whatever bbolt does with a file that is
// damaged comes back as ErrCorrupt; then nothing more may be done with the store
// than close it.
func (s *store) view(do func(*bbolt.Tx) error) error {
	return s.guard(func() error { return s.db.View(do) })
}

func (s *store) update(do func(*bbolt.Tx) error) error {
	return s.guard(func() error {
		if err := s.db.Update(do); err != nil {
			return err
		}
		return s.db.View(letGo)
	})
}

// guard turns bbolt's panics, and faults of the memory map, into errors: reading the
// map behind the end of a file, or where the disk fails, is a fault, which would end
// the process. A file that got shorter is not read at all, as bbolt might loop on it.
func (s *store) guard(do func() error) (err error) {
	if s.wrecked.Load() {
		return corruptf("bbolt has failed on it before")
	}
	size, err := s.measure()
	if err != nil {
		return fmt.Errorf("journal %s: %w", s.path, err)
	}
	if size < s.size.Load() {
		return corruptf("it was cut short, to %d bytes, while it was open", size)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			s.wrecked.Store(true)
			err = corruptf("%v", p)
		} else if size, e := s.measure(); e == nil {
			s.size.Store(max(size, s.size.Load()))
		}
	}()
	return do()
}

func (s *store) measure() (int64, error) {
	info, err := s.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// close lets go of the file and its lock. After a panic it does not ask bbolt, which
// may hold locks of its own for ever; the memory map then stays until the process
// ends.
func (s *store) close() error {
	if s.db == nil || s.wrecked.Load() {
		return s.file.Close()
	}
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("closing journal %s: %w", s.path, err)
	}
	return nil
}

// keepBroken is how many files that were set aside are kept: they may be as big as
// the journal may be.
const keepBroken = 3

// setAside gives the file another name, PATH.broken-TIME, and returns that.
func (s *store) setAside(now time.Time) (string, error) {
	old, _ := filepath.Glob(s.path + ".broken-*")
	slices.Sort(old)
	for len(old) >= keepBroken {
		if err := os.Remove(old[0]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("journal %s is damaged, and there is no room to set it aside: %w", s.path, err)
		}
		old = old[1:]
	}
	name := s.path + ".broken-" + now.UTC().Format("20060102T150405.000000Z")
	if err := os.Rename(s.path, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("journal %s is damaged, and cannot be set aside: make its directory writable: %w", s.path, err)
	}
	return name, syncDirectory(s.path)
}

// syncDirectory makes sure that a new name in the directory of path is there after a
// crash of the machine.
func syncDirectory(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("journal %s: %w", path, err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("journal %s: syncing its directory: %w", path, err)
	}
	return nil
}
