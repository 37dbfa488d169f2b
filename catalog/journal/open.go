package journal

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/kubevoltracker/kubevoltracker/catalog/privatedir"
)

// Open opens the journal at Options.Path, or creates it. If a directory is damaged, Open sets it
// aside as PATH.broken-TIME, logs one line, and begins a new directory; Origin reports which
// happened. An error concerns the place: not writable, in use by another process (ErrInUse), or
// written by a newer version of the program (ErrNewerFormat); or it is ctx's, if ctx ends first.
//
// Open reads the whole directory.
func Open(ctx context.Context, o Options) (*Journal, error) { return openAt(ctx, o, vfs.Default) }

// openAt is Open on a filesystem, which may inject faults.
func openAt(ctx context.Context, o Options, fs vfs.FS) (*Journal, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = 4 << 30
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = log.NewNopLogger()
	}
	j := &Journal{
		options: o, changed: make(chan struct{}), wrecked: make(chan struct{}), writing: make(chan struct{}, 1),
	}
	full := vfs.OnDiskFull(privateFS{fs}, func() { diskFull(fs, o.Path) })
	j.fs = haltingFS{FS: full, armed: &j.armed, halt: j.wreck}
	err := j.run(ctx, func() error {
		s, err := lockStore(ctx, o.Path, j.fs, o.Logger)
		if err != nil {
			return err
		}
		return j.resume(ctx, s)
	})
	if err != nil {
		return nil, err
	}
	return j, nil
}

// resume opens a locked directory, or sets it aside and begins a new one.
func (j *Journal) resume(ctx context.Context, s *store) error {
	c, err := j.verifyClosed(ctx, s)
	if errors.Is(err, ErrCorrupt) {
		return j.begin(s, head{}, err)
	}
	if err == nil {
		err = j.openForWriting(s)
	}
	if err != nil {
		return errors.Join(openError(s.path, err), s.close())
	}
	if c == nil {
		return j.create(s, head{}, New)
	}
	j.adopt(s, c.head, c.waiting, Resumed)
	if c.lost != nil {
		level.Warn(j.options.Logger).Log("msg", "the journal's last commits may be lost", "path", s.path, "err", c.lost)
		if err := j.rename(s); err != nil {
			return err
		}
	}
	if err := j.undo(); err != nil {
		return errors.Join(err, s.close())
	}
	return nil
}

// adopt starts to use a directory.
func (j *Journal) adopt(s *store, h head, waiting []entry, origin Origin) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if most := j.options.MaxVersion; most > 0 && h.Version > most {
		level.Warn(j.options.Logger).Log("msg", "the journal's row version is ignored: no clock can have made it yet; rows in the catalog that have such versions hide newer ones",
			"path", s.path, "version", h.Version, "highest", most, "cure", "set the clock, or mend the rows as docs/catalog.md says under Row versions")
		h.Version = 0
	}
	j.store, j.head, j.origin = s, h, origin
	j.waiting, j.done, j.stats = waiting, nil, Stats{}
	for i := range waiting {
		j.stats.Rows += waiting[i].rows
		j.stats.Bytes += int64(waiting[i].bytes)
	}
	j.measured = time.Time{}
	j.err = nil
	j.wake()
}

// rename gives the journal a new ID, because the numbers of the commits that may be lost will be
// used again, for other facts.
func (j *Journal) rename(s *store) error {
	h := j.head
	h.ID = rand.Text()
	j.adopt(s, h, j.waiting, Rewound)
	if err := j.write(&Batch{}); err != nil {
		return errors.Join(err, s.close())
	}
	return nil
}

// begin sets the directory aside, logs the reason, and begins a new one that continues the numbers
// of the old one.
func (j *Journal) begin(s *store, before head, why error) error {
	// The database is closed first, so that it writes nothing to a directory that moves.
	db, committed := s.db, s.committed
	j.mu.Lock()
	j.store, s.db, s.committed = nil, nil, nil
	j.mu.Unlock()
	if db != nil {
		why = errors.Join(why, db.Close(), committed.Close())
	}
	name, err := s.setAside(j.options.Now())
	if err := errors.Join(err, s.close()); err != nil {
		return err
	}
	level.Error(j.options.Logger).Log("msg", "the journal was damaged: set aside, and a new one begun", "path", s.path, "aside", name, "err", why)
	next, err := lockStore(context.Background(), s.path, j.fs, j.options.Logger)
	if err != nil {
		return err
	}
	if err := j.openForWriting(next); err != nil {
		return errors.Join(err, next.close())
	}
	return j.create(next, before, SetAside)
}

// create makes a journal of an empty database.
func (j *Journal) create(s *store, before head, origin Origin) error {
	h := head{Format: format, ID: rand.Text(), Last: before.Last, Acknowledged: before.Last, Version: before.Version}
	j.adopt(s, h, nil, origin)
	err := j.write(&Batch{})
	if err == nil {
		err = errors.Join(s.committed.Sync(), privatedir.SyncParent(s.committed.Name()))
	}
	if err != nil {
		return errors.Join(writeError(s.path, err), s.close())
	}
	return nil
}

// contents is the verified content of a directory.
type contents struct {
	head    head
	waiting []entry // the batches from head.Acknowledged+1 to head.Last
	lost    error   // why the last commits may be missing
}

// verifyClosed reads a whole directory and returns its contents, or an error if any of it is
// damaged; nil if the directory is empty. It changes nothing.
func (j *Journal) verifyClosed(ctx context.Context, s *store) (*contents, error) {
	empty, err := s.look()
	if err != nil || empty {
		return nil, err
	}
	last, err := readCommitted(s.path)
	switch {
	case err != nil && !errors.Is(err, ErrCorrupt):
		return nil, err
	case last.damaged:
		return nil, corruptf("damage was found while it was in use")
	}
	c, verifyErr := j.verifyDatabase(ctx, s)
	if verifyErr != nil {
		return nil, verifyErr
	}
	switch {
	case err != nil:
		c.lost = err
	case last.id != c.head.ID:
		c.lost = corruptf("%s is of the journal %s", committedName, last.id)
	case last.commits > c.head.Commits:
		c.lost = corruptf("the last commit is %d, and should be %d", c.head.Commits, last.commits)
	}
	return c, nil
}

// verifyDatabase opens the database of a directory for reading, and verifies it. Pebble panics
// about some damages.
func (j *Journal) verifyDatabase(ctx context.Context, s *store) (c *contents, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = corruptf("%v", p)
		}
	}()
	db, err := j.open(s, true)
	if err != nil {
		return nil, readError(err)
	}
	defer func() { err = errors.Join(err, readError(db.Close())) }()
	return verify(ctx, db)
}

// look lists the directory. The error is ErrNewerFormat for a database of a newer Pebble.
func (s *store) look() (empty bool, err error) {
	files, err := os.ReadDir(s.path)
	if err != nil {
		return false, readError(err)
	}
	empty = true
	for _, f := range files {
		var n, version uint64
		if _, err := fmt.Sscanf(f.Name(), "marker.format-version.%d.%d", &n, &version); err == nil && version > uint64(pebble.FormatNewest) {
			return false, fmt.Errorf("%w: its database has format %d, this program knows %d", ErrNewerFormat, version, pebble.FormatNewest)
		}
		empty = empty && (f.Name() == "LOCK" || f.Name() == reserveName)
	}
	return empty, nil
}

// verify reads a whole database and returns its contents, or an error if any of it is damaged:
// every block must match its checksum, every key must be a journal's and in order, and no commit
// that keeps its key and no batch of facts may be missing. If ctx ends meanwhile, the error is ctx's.
func verify(ctx context.Context, db *pebble.DB) (_ *contents, err error) {
	it, err := db.NewIter(nil)
	if err != nil {
		return nil, readError(err)
	}
	v := verifier{c: &contents{}}
	for ok := it.First(); ok && err == nil && ctx.Err() == nil; ok = it.Next() {
		var value []byte
		if value, err = it.ValueAndErr(); err == nil {
			err = v.next(it.Key(), value)
		}
	}
	if err := errors.Join(readError(err), readError(it.Close()), ctx.Err()); err != nil {
		return nil, err
	}
	return v.c, v.judge()
}

type verifier struct {
	c             *contents
	last          []byte // key
	hasHead       bool
	first, end    uint64 // commits that were found
	chunks, bytes int    // of the last batch of facts, as far as read
	undo          uint64 // the last record to put back, as far as there is no gap before it
}

func (v *verifier) next(key, value []byte) (err error) {
	if v.last != nil && bytes.Compare(v.last, key) >= 0 {
		return corruptf("key %q is out of order", key)
	}
	v.last = append(v.last[:0], key...)
	switch key[0] {
	case headKeys:
		v.hasHead = len(key) == 1
		v.c.head, err = decodeHead(value)
	case stateKeys:
		if err = checkStateKey(key); bytes.HasPrefix(key, undoPrefix) && bytes.Equal(key, undoKey(v.undo+1)) {
			v.undo++
			_, err = decodeReplaced(value)
		}
	case commitKeys:
		err = v.commit(key)
	case factsKeys:
		err = v.facts(key, value)
	default:
		err = corruptf("it has a key %q", key)
	}
	return err
}

func (v *verifier) commit(key []byte) error {
	number, err := splitNumberKey(key)
	if v.first == 0 {
		v.first, v.end = number, number
	}
	if err == nil && number != v.end {
		err = corruptf("commit %d is missing", v.end)
	}
	v.end++
	return err
}

// facts checks that all pieces of the batches are present.
func (v *verifier) facts(key, value []byte) error {
	number, chunk, err := splitFactsKey(key)
	if err != nil {
		return err
	}
	if chunk == 0 {
		err := v.endOfBatch()
		e, err2 := decodeEntry(number, value)
		v.c.waiting = append(v.c.waiting, e)
		v.chunks, v.bytes = 1, len(value)-headerBytes
		return errors.Join(err, err2)
	}
	if n := len(v.c.waiting); n == 0 || v.c.waiting[n-1].number != number || chunk != v.chunks {
		return corruptf("batch %d of the facts has no piece before %d", number, chunk)
	}
	v.chunks++
	v.bytes += len(value)
	return nil
}

func (v *verifier) endOfBatch() error {
	if n := len(v.c.waiting); n > 0 && (v.c.waiting[n-1].bytes != v.bytes || v.c.waiting[n-1].chunks() != v.chunks) {
		return corruptf("batch %d of the facts is cut short", v.c.waiting[n-1].number)
	}
	return nil
}

// judge returns an error unless the keys are a complete journal.
func (v *verifier) judge() error {
	h := &v.c.head
	if !v.hasHead {
		return corruptf("it has no head")
	}
	if err := v.endOfBatch(); err != nil {
		return err
	}
	if first := max(h.Commits, commitsKept) - commitsKept + 1; v.first != first || v.end != h.Commits+1 {
		return corruptf("commits are missing: there are %d to %d, and should be %d to %d", v.first, v.end-1, first, h.Commits)
	}
	if v.undo < h.Undo {
		return corruptf("record %d of those to put back is missing; the last should be %d", v.undo+1, h.Undo)
	}
	for i, e := range v.c.waiting {
		if e.number != h.Acknowledged+1+uint64(i) {
			return corruptf("batch %d of the facts is missing", h.Acknowledged+1+uint64(i))
		}
	}
	if h.Acknowledged+uint64(len(v.c.waiting)) != h.Last {
		return corruptf("batches of the facts are missing: the last should be %d", h.Last)
	}
	return nil
}

// keepBroken is the number of directories set aside that are kept: three, because each may be as
// large as the journal.
const keepBroken = 3

// setAside renames the directory to PATH.broken-TIME, and returns the new name.
func (s *store) setAside(now time.Time) (string, error) {
	old, _ := filepath.Glob(s.path + ".broken-*")
	slices.Sort(old)
	for len(old) >= keepBroken {
		if err := os.RemoveAll(old[0]); err != nil {
			return "", fmt.Errorf("journal %s is damaged, and there is no room to set it aside: %w", s.path, err)
		}
		old = old[1:]
	}
	_ = os.Remove(filepath.Join(s.path, reserveName))
	name := s.path + ".broken-" + now.UTC().Format("20060102T150405.000000Z")
	if err := os.Rename(s.path, name); err != nil {
		return "", fmt.Errorf("journal %s is damaged, and cannot be set aside: make its directory writable: %w", s.path, err)
	}
	return name, privatedir.SyncParent(s.path)
}
