package journal

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-kit/log/level"
	"go.etcd.io/bbolt"
)

// bbolt never gives back what it took, and writes the list of free pages with every
// commit: after an outage that filled 4 GiB that list has 8 MB. So a file that is
// mostly free is copied into a smaller one: at Open, and once what waited is gone.
const (
	// compactAbove is the size from which on that is done at Open, if half is free,
	// and compactWaiting times that while commits wait, if three quarters are.
	compactAbove   = 64 << 20
	compactWaiting = 4
	// compactionBytes is how much one transaction of a compaction copies.
	compactionBytes = 16 << 20
	// compactAgain is how long after a compaction that failed the next is tried.
	compactAgain = 10 * time.Minute
)

func compactName(path string) string { return path + ".compact" }

// compactOpened compacts a file that was inspected, if that is worth it. It returns
// the store to go on with, which may be open or not.
func (j *Journal) compactOpened(s *store, c *contents) (*store, error) {
	if err := os.Remove(compactName(s.path)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return s, fmt.Errorf("removing what a compaction left: %w", err)
	}
	if s.size.Load() < j.compactAbove || c.free < c.pages/2 {
		return s, nil
	}
	if err := s.open(j.mapBytes()); err != nil {
		return s, err
	}
	return j.compact(s)
}

// compactWhenDrained is for after an outage. It needs writing.
func (j *Journal) compactWhenDrained() {
	s := j.store
	size, pages := s.size.Load(), s.db.Stats()
	free := int64(pages.FreePageN+pages.PendingPageN) * pageSize
	if size < compactWaiting*j.compactAbove || free < size/4*3 || j.options.Now().Before(j.compactAfter) {
		return
	}
	j.files.Lock()
	defer j.files.Unlock()
	next, err := j.compact(s)
	if err != nil || next == s {
		j.compactAfter = j.options.Now().Add(compactAgain)
	}
	j.store = next
	j.mu.Lock()
	j.stats.FileBytes = next.size.Load()
	j.mu.Unlock()
	if err != nil {
		level.Error(j.options.Logger).Log("msg", "making the journal smaller went wrong", "path", next.path, "err", j.fail(err))
	}
}

// compact puts a smaller file into the place of an open one, closes that and returns
// the new one. A crash meanwhile leaves the old one. So does what keeps it from being
// done, such as a disk that is full, which is logged. An error comes with the store
// to go on with.
func (j *Journal) compact(s *store) (*store, error) {
	begun := time.Now()
	next, err := j.copied(s)
	if errors.Is(err, ErrCorrupt) {
		return s, err
	}
	if err != nil {
		level.Warn(j.options.Logger).Log("msg", "the journal, which is mostly empty, could not be made smaller", "path", s.path, "err", err)
		return s, nil
	}
	level.Info(j.options.Logger).Log("msg", "made the journal smaller", "path", s.path, "from_bytes", s.size.Load(), "to_bytes", next.size.Load(), "took", time.Since(begun).Round(time.Millisecond))
	return next, errors.Join(syncDirectory(next.path), s.close())
}

// copied makes a copy of an open store, and gives it the store's name.
func (j *Journal) copied(s *store) (*store, error) {
	next, err := lockStore(compactName(s.path))
	if err != nil {
		return nil, err
	}
	if err := j.copyTo(next, s); err != nil {
		return nil, errors.Join(err, next.close(), os.Remove(compactName(s.path)))
	}
	next.path = s.path
	return next, nil
}

func (j *Journal) copyTo(next, s *store) error {
	if err := next.open(j.mapBytes()); err != nil {
		return err
	}
	next.db.NoSync = true // until it is whole
	if err := next.guard(func() error { return bbolt.Compact(next.db, s.db, compactionBytes) }); err != nil {
		return fmt.Errorf("copying: %w", err)
	}
	if err := next.db.Sync(); err != nil {
		return fmt.Errorf("syncing %s: %w", next.path, err)
	}
	next.db.NoSync = false
	return os.Rename(next.path, s.path)
}
