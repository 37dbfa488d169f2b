package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
)

// Options configure the place and the size of the journal.
type Options struct {
	// Path is the directory, which the journal creates and owns. Its parent directory must exist,
	// be writable, and be on a local filesystem.
	Path string
	// MaxBytes bounds the unacknowledged facts, in bytes as they were passed to Commit; at the
	// bound Commit waits. Zero means 4 GiB. The directory grows to that, plus about the size of the
	// state.
	MaxBytes int64
	// MaxVersion is the highest Version that the journal returns and keeps: Open forgets a higher one, and logs that,
	// because nothing but a wrong clock can have made it. Zero means no bound.
	MaxVersion uint64
	// UndoMeta is put into the Meta when Open undoes a commit that was cut off (Batch.More), in the same transactions: its
	// Facts stay, and may say what nothing ends any more.
	UndoMeta map[string][]byte
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Logger receives a line when a directory is set aside; nil for no log.
	Logger log.Logger
}

// Origin says where the content of a Journal comes from.
type Origin string

// The origins.
const (
	New      Origin = "new"       // there was no directory, or Clear has emptied it
	Resumed  Origin = "resumed"   // from an existing directory, complete
	Rewound  Origin = "rewound"   // from an existing directory whose last commits may be lost: it has a new ID
	SetAside Origin = "set aside" // the existing directory was damaged, and this one is new
)

// Batch is the content of one transaction. Every part may be empty.
type Batch struct {
	// Facts are stored under the next number until they are acknowledged; empty Facts use no
	// number. Rows is the number of rows in them, for Stats.
	Facts []byte
	Rows  int
	// State are records to put or delete, in that order.
	State []Record
	// Positions replace the positions of their kinds.
	Positions []Position
	// Version is the highest row version in use, if higher than before.
	Version uint64
	// Meta are small values of the owner, put by key; nil deletes. Every commit writes all of them,
	// so they must be a few kilobytes at most.
	Meta map[string][]byte
	// More says that the commit takes further batches, and that the last of them has its Positions. If the process ends before
	// that batch is on disk, Open undoes the State of those before. Their Facts stay.
	More bool

	clear     bool   // delete the former state, positions and meta first, under a new ID
	completes bool   // the last batch of a commit
	undone    uint64 // State puts back so many of the records that a commit has replaced
}

// Record is the compact state of an object. Kind and UID are its key, which may not
// be empty; nil Data deletes it.
type Record struct {
	Kind, UID string
	Data      []byte
}

// Position is how far a kind has been watched: the journal contains all of it up to
// ResourceVersion, which was reached at At.
type Position struct {
	Kind            string
	ResourceVersion string
	At              time.Time
}

// Entry is a batch of facts. The journal's ID and its Number identify it forever: no other batch
// has both.
type Entry struct {
	ID     string
	Number uint64
	Rows   int
	At     time.Time // when it was committed
	Facts  []byte
}

// Stats are the gauges of a journal.
type Stats struct {
	Rows      int       // unacknowledged
	Bytes     int64     // size of the unacknowledged facts
	Oldest    time.Time // when the oldest of them was committed; zero if there are none
	FileBytes int64
}

// acknowledgeAfter is how long an acknowledgement waits for a commit to be part of.
const acknowledgeAfter = time.Second

// Journal is an open journal. Its methods may be called from any goroutine; commits run one at a
// time.
type Journal struct {
	options Options
	fs      vfs.FS
	armed   atomic.Bool // the armed flag of haltingFS

	// wrecked is closed when the database has failed for good. The database may then keep its locks
	// forever, so every call to it goes through run.
	wrecked chan struct{}
	once    sync.Once

	// writing has one slot, for the writer.
	writing chan struct{}
	// files is locked while the directory is replaced, and read-locked while it is read.
	files sync.RWMutex
	store *store // guarded by writing or files

	mu       sync.Mutex // guards the fields below; taken last, for a short time, and never during a call to the database
	changed  chan struct{}
	head     head    // as in the database
	waiting  []entry // unacknowledged, in order
	done     []entry // acknowledged, but not deleted from the database yet
	stats    Stats
	measured time.Time // when stats.FileBytes was measured
	origin   Origin
	err      error // why all calls fail: ErrClosed, ErrCorrupt, ErrFailed
	flushes  *time.Timer
}

// commitPatience is how long run waits for a commit in progress after its context ended.
const commitPatience = time.Second

// run calls do, which calls the database, on a goroutine of its own, and returns its error. It
// returns before do if the database fails, or commitPatience after ctx ended.
func (j *Journal) run(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				j.wreck(p)
			}
		}()
		done <- do()
	}()
	ended := ctx.Done()
	var patience <-chan time.Time
	for {
		select {
		case err := <-done:
			return err
		case <-j.wrecked:
			return j.failure()
		case <-patience:
			return fmt.Errorf("journal %s: the disk is full, or too slow; see to the filesystem of %s: %w", j.options.Path, filepath.Dir(j.options.Path), ctx.Err())
		case <-ended:
			ended, patience = nil, time.After(commitPatience)
		}
	}
}

// wreck makes all calls fail, because the database has failed. Its data is safe on disk.
func (j *Journal) wreck(why any) {
	j.once.Do(func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.err == nil {
			j.err = failedError(j.options.Path, why)
			level.Error(j.options.Logger).Log("msg", "the journal has failed", "err", j.err)
		}
		close(j.wrecked)
		j.wake()
	})
}

// failure returns why all calls fail, or nil.
func (j *Journal) failure() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// fail stores an error after which all calls fail, and returns it.
func (j *Journal) fail(err error) error {
	if !errors.Is(err, ErrCorrupt) {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	j.err = fmt.Errorf("journal %s: %w", j.options.Path, err)
	if j.store != nil && j.store.committed != nil {
		// Open might not read the damaged part, so the file COMMITTED says that there is one.
		_ = committed{format: format, id: j.head.ID, commits: j.head.Commits, damaged: true}.write(j.store.committed)
	}
	j.wake()
	return j.err
}

// Origin returns where the content of the journal comes from.
func (j *Journal) Origin() Origin {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.origin
}

// ID returns the journal's ID: random, created with the directory, the same after a restart.
func (j *Journal) ID() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.head.ID
}

// Version returns the highest Batch.Version so far; see Options.MaxVersion.
func (j *Journal) Version() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.head.Version
}

// Positions returns how far the kinds have been watched, by kind.
func (j *Journal) Positions() map[string]Position {
	j.mu.Lock()
	defer j.mu.Unlock()
	positions := make(map[string]Position, len(j.head.Positions))
	for kind, p := range j.head.Positions {
		positions[kind] = Position{Kind: kind, ResourceVersion: p.ResourceVersion, At: p.At}
	}
	return positions
}

// Meta returns the small values of the owner. The values must not be written to.
func (j *Journal) Meta() map[string][]byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	return maps.Clone(j.head.Meta)
}

// measureEvery is how often Stats measures the directory.
const measureEvery = time.Second

// Stats returns the gauges, without touching the disk.
func (j *Journal) Stats() Stats {
	j.mu.Lock()
	measure := j.err == nil && time.Since(j.measured) > measureEvery
	if measure {
		j.measured = time.Now()
	}
	j.mu.Unlock()
	if measure {
		j.measure()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	stats := j.stats
	if len(j.waiting) > 0 {
		stats.Oldest = j.waiting[0].at
	}
	return stats
}

// measure asks the database how big the directory is.
func (j *Journal) measure() {
	if !j.files.TryRLock() {
		return // the directory is being replaced
	}
	defer j.files.RUnlock()
	_ = j.read(func(db *pebble.DB) error {
		size := int64(db.Metrics().DiskSpaceUsage()) //nolint:gosec // no disk has 2^63 bytes
		j.mu.Lock()
		defer j.mu.Unlock()
		j.stats.FileBytes = size
		return nil
	})
}

// Next returns the first unacknowledged batch of facts whose number is higher than
// after. It blocks until there is one, or ctx ends.
func (j *Journal) Next(ctx context.Context, after uint64) (Entry, error) {
	for {
		e, ok, changed, err := j.find(after)
		if err != nil {
			return Entry{}, err
		}
		if !ok {
			select {
			case <-ctx.Done():
				return Entry{}, ctx.Err()
			case <-changed:
				continue
			}
		}
		facts, id, err := j.facts(&e)
		if err == nil {
			return Entry{ID: id, Number: e.number, Rows: e.rows, At: e.at, Facts: facts}, nil
		}
		if j.isWaiting(e.number) {
			return Entry{}, j.fail(readError(err))
		}
		// The batch was acknowledged and deleted, or the directory was replaced, meanwhile.
	}
}

func (j *Journal) find(after uint64) (e entry, ok bool, changed chan struct{}, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return entry{}, false, nil, j.err
	}
	i, _ := slices.BinarySearchFunc(j.waiting, after+1, func(e entry, number uint64) int {
		if e.number < number {
			return -1
		}
		return 1
	})
	if i == len(j.waiting) {
		return entry{}, false, j.changed, nil
	}
	return j.waiting[i], true, nil, nil
}

func (j *Journal) isWaiting(number uint64) bool {
	e, ok, _, err := j.find(number - 1)
	return err == nil && ok && e.number == number
}

// facts returns the facts of a batch, and the ID of the journal they are in.
func (j *Journal) facts(e *entry) (facts []byte, id string, err error) {
	j.files.RLock()
	defer j.files.RUnlock()
	var read []byte
	err = j.read(func(db *pebble.DB) error {
		it, err := db.NewIter(&pebble.IterOptions{LowerBound: factsKey(e.number, 0), UpperBound: factsKey(e.number+1, 0)})
		if err != nil {
			return err
		}
		data := make([]byte, 0, headerBytes+e.bytes)
		for ok := it.First(); ok && err == nil; ok = it.Next() {
			var value []byte
			value, err = it.ValueAndErr()
			data = append(data, value...)
		}
		if err := errors.Join(err, it.Close()); err != nil {
			return err
		}
		read = data
		return nil
	})
	switch {
	case err != nil:
		return nil, "", err
	case len(read) != headerBytes+e.bytes:
		return nil, "", corruptf("batch %d of the facts has %d bytes, and should have %d", e.number, len(read), headerBytes+e.bytes)
	}
	return read[headerBytes:], j.ID(), nil
}

// Acknowledge marks all batches up to number as acknowledged: Stats and the bound no longer count
// them. The next commit deletes them, or, acknowledgeAfter later, a commit of its own. After a
// crash before that, Next returns them once more, under the same numbers.
func (j *Journal) Acknowledge(number uint64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	n := 0
	for n < len(j.waiting) && j.waiting[n].number <= number {
		j.stats.Rows -= j.waiting[n].rows
		j.stats.Bytes -= int64(j.waiting[n].bytes)
		n++
	}
	if n == 0 {
		return nil
	}
	j.done = append(j.done, j.waiting[:n]...)
	j.waiting = j.waiting[n:]
	j.wake()
	if j.flushes == nil {
		j.flushes = time.AfterFunc(acknowledgeAfter, j.flush)
	}
	return nil
}

// wake wakes all goroutines that wait for a change. The caller has mu.
func (j *Journal) wake() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// lock waits until the caller is the writer, or ctx ends, or the database fails.
func (j *Journal) lock(ctx context.Context) error {
	select {
	case j.writing <- struct{}{}:
		return nil
	case <-j.wrecked:
		return j.failure()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (j *Journal) unlock() { <-j.writing }

// exclusively calls do while no other goroutine reads or writes.
func (j *Journal) exclusively(do func() error) error {
	if err := j.lock(context.Background()); err != nil {
		return err
	}
	return j.run(context.Background(), func() error {
		defer j.unlock()
		j.files.Lock()
		defer j.files.Unlock()
		return do()
	})
}

// Reset sets the directory aside and begins a new one in its place; it is the cure for ErrCorrupt.
// The facts and the state are lost; numbers continue, under a new ID, and so does Version.
func (j *Journal) Reset() error {
	return j.exclusively(func() error {
		why := j.failure()
		if why == nil {
			why = errors.New("asked for")
		} else if !errors.Is(why, ErrCorrupt) || j.store == nil {
			return why
		}
		err := j.begin(j.store, j.head, why)
		if err != nil {
			_ = j.fail(corruptf("%v", err))
		}
		return err
	})
}

// Clear deletes the facts, the state, the positions and Meta in one transaction: the directory stays locked, so no other
// process can open it meanwhile. Numbers continue, under a new ID, and so does Version.
func (j *Journal) Clear() error {
	return j.exclusively(func() error {
		if err := j.Acknowledge(math.MaxUint64); err != nil {
			return err
		}
		if err := j.write(&Batch{clear: true}); err != nil {
			return err
		}
		j.mu.Lock()
		defer j.mu.Unlock()
		j.origin = New
		return nil
	})
}

// Close persists the acknowledgements and closes the directory. All waiting and all later calls
// fail with ErrClosed.
func (j *Journal) Close() error {
	return j.exclusively(func() error {
		failure := j.failure()
		if errors.Is(failure, ErrClosed) {
			return nil
		}
		var err error
		if failure == nil {
			err = j.takeOut()
		}
		j.mu.Lock()
		j.err = ErrClosed
		if j.flushes != nil {
			j.flushes.Stop()
		}
		j.wake()
		j.mu.Unlock()
		if j.store == nil { // a reset failed
			return failure
		}
		return errors.Join(err, j.store.close())
	})
}
