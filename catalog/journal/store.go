package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/kubevoltracker/kubevoltracker/catalog/privatedir"
)

const (
	// memTableSize is how much the database collects in memory before it writes a table: 2 MiB. A
	// smaller size costs more compactions, a larger one more memory and a longer log.
	memTableSize = 2 << 20
	// blockSize is the unit of checksums and of compression: 16 KiB. A start reads everything in
	// order, and a commit reads nothing but the records that it may have to put back. See chunkBytes.
	blockSize = 16 << 10
	cacheSize = 1 << 20
	// maxOpenFiles is the number of tables open at once, of 2 MB or more each.
	maxOpenFiles = 100
)

// store is an open directory: locked, and, once verified, with an open database.
type store struct {
	path string
	fs   vfs.FS
	lock *pebble.Lock
	// db and committed are nil until the directory is open for writing.
	db        *pebble.DB
	committed *os.File
}

// lockPatience is how long lockStore waits for the lock: a tracker that is being replaced may still
// be ending.
const lockPatience = 2 * time.Second

// lockStore creates the directory if it is missing, makes it private, and locks it.
func lockStore(ctx context.Context, path string, fs vfs.FS, logger log.Logger) (*store, error) {
	err := privatedir.Make(path, logger)
	if err == nil {
		err = makeFilesPrivate(path)
	}
	if err != nil {
		return nil, openError(path, err)
	}
	for begun := time.Now(); ; {
		lock, err := pebble.LockDirectory(path, fs)
		if err == nil {
			return &store{path: path, fs: fs, lock: lock}, nil
		}
		var place *os.PathError
		if errors.As(err, &place) {
			return nil, openError(path, err)
		}
		if errors.Is(err, syscall.ENOLCK) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EINVAL) {
			return nil, fmt.Errorf("journal %s cannot be locked: put it on a local filesystem: %w", path, err)
		}
		if time.Since(begun) > lockPatience {
			return nil, inUseError(path)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// databaseOptions are those of the database, which may be opened with others later.
func (j *Journal) databaseOptions(s *store, readOnly bool) (_ *pebble.Options, done func()) {
	cache := pebble.NewCache(cacheSize)
	o := &pebble.Options{
		FS: s.fs, Lock: s.lock, ReadOnly: readOnly, Cache: cache,
		// In the newest format each chunk of the log records up to where the log was synced before.
		FormatMajorVersion: pebble.FormatNewest,
		MemTableSize:       memTableSize, MemTableStopWritesThreshold: 4,
		MaxOpenFiles: maxOpenFiles,
		Logger:       databaseLogger{j, readOnly},
		EventListener: &pebble.EventListener{
			// Pebble's default ends the process. After this function returns, Pebble tries the same
			// compaction again at once.
			DataCorruption: func(i pebble.DataCorruptionInfo) {
				_ = j.fail(corruptf("%s: %v", i.Path, i.Details))
				time.Sleep(100 * time.Millisecond)
			},
			BackgroundError: j.background,
		},
		// The space of acknowledged facts is freed only after that flush.
		FlushDelayDeleteRange:      time.Second,
		CompactionConcurrencyRange: func() (int, int) { return 1, 1 },
	}
	o.Experimental.EnableDeleteOnlyCompactionExcises = func() bool { return true }
	for i := range o.Levels {
		o.Levels[i].BlockSize = blockSize
		o.Levels[i].Compression = compression
	}
	return o, cache.Unref
}

func compression() *sstable.CompressionProfile { return sstable.SnappyCompression }

// databaseLogger takes what Pebble logs. Pebble calls Fatalf where it cannot go on, on any
// goroutine and with its locks held, and relies on it not to return.
type databaseLogger struct {
	j *Journal
	// verifying is set while nothing but the goroutine that verifies uses the database.
	verifying bool
}

func (databaseLogger) Infof(string, ...any) {}

func (l databaseLogger) Errorf(format string, args ...any) {
	level.Debug(l.j.options.Logger).Log("msg", "the journal's database", "err", fmt.Sprintf(format, args...))
}

func (l databaseLogger) Fatalf(format string, args ...any) {
	if l.verifying {
		panic(fmt.Sprintf(format, args...)) // verifyDatabase recovers
	}
	l.j.wreck(fmt.Sprintf(format, args...))
	select {} // all calls fail from now on, and the owner ends the process
}

// background handles an error of a flush or a compaction, which Pebble retries at once and without
// limit. A retry helps only if the operating system refused, as with a full disk.
func (j *Journal) background(err error) {
	level.Debug(j.options.Logger).Log("msg", "the journal's database failed in the background", "err", err)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, os.ErrNotExist), pebble.IsCorruptionError(err):
		_ = j.fail(corruptf("%v", err))
	case errors.Is(err, pebble.ErrClosed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), isRefused(err):
	default:
		j.wreck(err)
		select {} // keeps the database's lock, so that nothing is tried again
	}
}

// open opens the database of a directory.
func (j *Journal) open(s *store, readOnly bool) (*pebble.DB, error) {
	o, done := j.databaseOptions(s, readOnly)
	defer done()
	o.ErrorIfNotExists = readOnly
	return pebble.Open(s.path, o)
}

// openForWriting opens a directory that is new or has been verified.
func (j *Journal) openForWriting(s *store) (err error) {
	j.armed.Store(false)
	if s.db, err = j.open(s, false); err != nil {
		return openError(s.path, readError(err))
	}
	j.armed.Store(true)
	s.committed, err = os.OpenFile(filepath.Join(s.path, committedName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return openError(s.path, err)
	}
	return nil
}

// close closes the directory, and unlocks it.
func (s *store) close() error {
	var errs [3]error
	if s.db != nil {
		errs[0] = s.db.Close()
	}
	if s.committed != nil {
		errs[1] = errors.Join(s.committed.Sync(), s.committed.Close())
	}
	errs[2] = s.lock.Close()
	if err := errors.Join(errs[:]...); err != nil {
		return fmt.Errorf("closing journal %s: %w", s.path, err)
	}
	return nil
}
