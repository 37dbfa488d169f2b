package journal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"go.etcd.io/bbolt"
)

// Options say where the journal is and how much it holds.
type Options struct {
	// Path is the file. Its directory must be there, and on a local filesystem.
	Path string
	// MaxBytes is how much of unacknowledged facts may wait, as they were given to
	// Commit, before Commit waits too; 4 GiB if zero. The file grows to that, plus
	// one to two times the state.
	MaxBytes int64
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Logger takes a line when a file is set aside or compacted; none if nil.
	Logger log.Logger
}

// Origin tells where what a Journal holds comes from.
type Origin string

// The origins.
const (
	New      Origin = "new"       // there was no file
	Resumed  Origin = "resumed"   // from the file that was there
	Rewound  Origin = "rewound"   // the same, but its last transaction may be lost
	SetAside Origin = "set aside" // the file that was there could not be trusted, so this one is new
)

// Batch is what one transaction takes. Every part may be left out.
type Batch struct {
	// Facts are kept, under the next number, until they are acknowledged; no number
	// is given out where they are empty. Rows is how many rows they are, for Stats.
	Facts []byte
	Rows  int
	// State are records to put or delete, in that order.
	State []Record
	// Positions replace those of their kinds.
	Positions []Position
	// Version is the highest row version in use, if higher than before.
	Version uint64
	// Meta are small things of the owner, put by key; nil deletes. Every commit
	// writes all of them: a few kilobytes at most.
	Meta map[string][]byte
}

// Record is the compact state of an object. Kind and UID are its key, which may not
// be empty; nil Data deletes it.
type Record struct {
	Kind, UID string
	Data      []byte
}

// Position is how far a kind has been watched: all of it up to ResourceVersion, which
// was reached at At, is in the journal.
type Position struct {
	Kind            string
	ResourceVersion string
	At              time.Time
}

// Entry is a batch of facts. The journal's ID and its Number name it for ever: no
// other batch has both.
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
	Bytes     int64     // of their facts
	Oldest    time.Time // when the oldest of them was committed; zero if there is none
	FileBytes int64
}

// acknowledgeAfter is how long an acknowledgement waits for a commit to ride with.
const acknowledgeAfter = time.Second

// Journal is an open journal. Its methods may be called from any goroutine; commits
// take turns.
type Journal struct {
	options      Options
	compactAbove int64 // bytes

	// writing is held while a transaction writes, and by State.
	writing sync.Mutex
	// files is locked while the file is exchanged, and read-locked while it is used.
	files sync.RWMutex
	store *store
	// compactAfter is when a compaction may be tried; it goes with writing.
	compactAfter time.Time

	mu      sync.Mutex // of what follows; taken last, held briefly
	changed chan struct{}
	head    head    // as the file has it
	waiting []entry // unacknowledged, in order
	done    []entry // acknowledged, but still in the file
	stats   Stats
	origin  Origin
	err     error // why nothing works any more: ErrClosed, ErrCorrupt
	flushes *time.Timer
}

// Open opens the journal at Options.Path, or creates it. A file that cannot be
// trusted is set aside as PATH.broken-TIME, with one line in the log, and a new one
// begun; Origin tells. The error is about the place: not writable, in use by another
// process (ErrInUse), or of a newer version of the program (ErrNewerFormat).
//
// It reads the whole file.
func Open(o Options) (*Journal, error) { return openAt(o, compactAbove) }

func openAt(o Options, compactAbove int64) (*Journal, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = 4 << 30
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = log.NewNopLogger()
	}
	j := &Journal{options: o, compactAbove: compactAbove, changed: make(chan struct{})}
	s, err := lockStore(o.Path)
	if err != nil {
		return nil, err
	}
	if err := j.resume(s); err != nil {
		return nil, err
	}
	return j, nil
}

// resume takes over a locked file: it opens it, or sets it aside and begins anew.
func (j *Journal) resume(s *store) error {
	c, err := &contents{empty: true}, error(nil)
	if size := s.size.Load(); size > 0 {
		c, err = inspect(s.file, size)
	}
	if err == nil {
		s, err = j.compactOpened(s, c)
	}
	if err == nil && s.db == nil {
		err = s.open(j.mapBytes())
	}
	switch {
	case errors.Is(err, ErrCorrupt):
		return j.begin(s, head{}, err)
	case err != nil:
		_ = s.close()
		return fmt.Errorf("journal %s: %w", j.options.Path, err)
	case c.empty:
		return j.create(s, head{}, New)
	}
	j.store, j.head, j.origin = s, c.head, Resumed
	j.setWaiting(c.waiting)
	if !c.doubtful {
		return nil
	}
	j.origin = Rewound
	level.Warn(j.options.Logger).Log("msg", "the journal's last transaction may be lost: one of its two beginnings was damaged", "path", j.options.Path)
	return j.rename()
}

// rename gives the journal a new ID: the last number may have been given out before,
// with other facts.
func (j *Journal) rename() error {
	h := j.head
	h.ID = rand.Text()
	h.Commits++
	if err := j.store.update(func(tx *bbolt.Tx) error { return putHead(tx, &h) }); err != nil {
		_ = j.store.close()
		return writeError(j.options.Path, err)
	}
	j.head = h
	return nil
}

// begin sets the file aside, says why, and begins a new one whose numbers go on from
// those of before.
func (j *Journal) begin(s *store, before head, why error) error {
	defer s.close()
	name, err := s.setAside(j.options.Now())
	if err != nil {
		return err
	}
	level.Error(j.options.Logger).Log("msg", "the journal was damaged: set aside, and a new one begun", "path", j.options.Path, "aside", name, "err", why)
	next, err := lockStore(j.options.Path)
	if err != nil {
		return err
	}
	if err := next.open(j.mapBytes()); err != nil {
		_ = next.close()
		return err
	}
	return j.create(next, before, SetAside)
}

// create makes a journal of an empty database.
func (j *Journal) create(s *store, before head, origin Origin) error {
	h := head{Format: format, ID: rand.Text(), Last: before.Last, Acknowledged: before.Last, Version: before.Version}
	err := s.update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{headBucket, factsBucket, stateBucket} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return putHead(tx, &h)
	})
	if err == nil {
		err = syncDirectory(j.options.Path)
	}
	if err != nil {
		_ = s.close()
		return writeError(j.options.Path, err)
	}
	j.store, j.head, j.origin = s, h, origin
	j.setWaiting(nil)
	return nil
}

// mapBytes is the address space for a full journal, with room to spare.
func (j *Journal) mapBytes() int64 { return 2*j.options.MaxBytes + 1<<30 }

func putHead(tx *bbolt.Tx, h *head) error {
	value, err := sealHead(h)
	if err != nil {
		return err
	}
	return tx.Bucket(headBucket).Put(headKey, value)
}

// setWaiting says which facts the file holds, all unacknowledged.
func (j *Journal) setWaiting(entries []entry) {
	j.waiting, j.done, j.stats = entries, nil, Stats{FileBytes: j.store.size.Load()}
	for i := range entries {
		j.stats.Rows += entries[i].Rows
		j.stats.Bytes += int64(entries[i].Bytes)
	}
}

// Origin tells where what the journal holds comes from.
func (j *Journal) Origin() Origin {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.origin
}

// ID is the journal's name: random, made with the file, the same after a restart.
func (j *Journal) ID() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.head.ID
}

// Version is the highest Batch.Version so far.
func (j *Journal) Version() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.head.Version
}

// Positions are how far the kinds have been watched, by kind.
func (j *Journal) Positions() map[string]Position {
	j.mu.Lock()
	defer j.mu.Unlock()
	positions := make(map[string]Position, len(j.head.Positions))
	for kind, p := range j.head.Positions {
		positions[kind] = Position{Kind: kind, ResourceVersion: p.ResourceVersion, At: p.At}
	}
	return positions
}

// Meta are the small things of the owner. The values must not be written to.
func (j *Journal) Meta() map[string][]byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	return maps.Clone(j.head.Meta)
}

// Stats returns the gauges, without touching the file.
func (j *Journal) Stats() Stats {
	j.mu.Lock()
	defer j.mu.Unlock()
	stats := j.stats
	if len(j.waiting) > 0 {
		stats.Oldest = j.waiting[0].At
	}
	return stats
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
		facts, id, err := j.read(e)
		if err == nil {
			return Entry{ID: id, Number: e.number, Rows: e.Rows, At: e.At, Facts: facts}, nil
		}
		if j.isWaiting(e.number) {
			return Entry{}, j.fail(err)
		}
		// It was acknowledged and taken out, or the file was exchanged, meanwhile.
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

// read returns the facts of a batch, and the ID of the journal they are in.
func (j *Journal) read(e entry) (facts []byte, id string, err error) {
	j.files.RLock()
	defer j.files.RUnlock()
	id = j.ID()
	facts = make([]byte, 0, e.Bytes+sealBytes)
	err = j.store.view(func(tx *bbolt.Tx) error {
		records := tx.Bucket(factsBucket).Cursor()
		key := factsKey(e.number, 1)
		k, v := records.Seek(key)
		for i := range e.Chunks {
			key = factsKey(e.number, i+1)
			if string(k) != string(key) {
				return corruptf("batch %d of the facts has no record %d", e.number, i+1)
			}
			// Copied first, so that what is checked is what is handed out.
			from := len(facts)
			facts = append(facts, v...)
			data, err := unseal(factsBucket, key, facts[from:])
			if err != nil {
				return err
			}
			facts = facts[:from+len(data)]
			k, v = records.Next()
		}
		if len(facts) != e.Bytes {
			return corruptf("batch %d of the facts is cut short", e.number)
		}
		return nil
	})
	return facts, id, err
}

// Acknowledge lets go of all batches up to number: Stats and the bound count them no
// more. They leave the file with the next commit, or a moment later if none comes.
// After a crash before that, Next returns them once more, under the same numbers.
func (j *Journal) Acknowledge(number uint64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	n := 0
	for n < len(j.waiting) && j.waiting[n].number <= number {
		j.stats.Rows -= j.waiting[n].Rows
		j.stats.Bytes -= int64(j.waiting[n].Bytes)
		n++
	}
	if n == 0 {
		return nil
	}
	j.done = append(j.done, j.waiting[:n]...)
	j.waiting = j.waiting[n:]
	j.tell()
	if j.flushes == nil {
		j.flushes = time.AfterFunc(acknowledgeAfter, j.flush)
	}
	return nil
}

// tell wakes all who wait for a change. It needs mu.
func (j *Journal) tell() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// fail keeps an error that ends everything, and passes it on.
func (j *Journal) fail(err error) error {
	if !errors.Is(err, ErrCorrupt) {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = fmt.Errorf("journal %s: %w", j.options.Path, err)
		j.tell()
	}
	return j.err
}

// Check reads the whole file and tells whether all of it is right; commits wait
// meanwhile.
func (j *Journal) Check() error {
	j.writing.Lock()
	defer j.writing.Unlock()
	if err := j.failed(); err != nil {
		return err
	}
	return j.fail(j.store.guard(func() error {
		_, err := inspect(j.store.file, j.store.size.Load())
		return err
	}))
}

func (j *Journal) failed() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Reset sets the file aside and begins a new one in its place: what to do about
// ErrCorrupt. The facts and the state are gone then; numbers go on from where they
// were, under a new ID, and so does Version.
func (j *Journal) Reset() error {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.files.Lock()
	defer j.files.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if errors.Is(j.err, ErrClosed) {
		return j.err
	}
	why := j.err
	if why == nil {
		why = errors.New("asked for")
	}
	if err := j.begin(j.store, j.head, why); err != nil {
		return err
	}
	j.err = nil
	j.tell()
	return nil
}

// Close makes the acknowledgements durable and lets go of the file. All calls that
// wait, and all that come, fail with ErrClosed.
func (j *Journal) Close() error {
	j.writing.Lock()
	defer j.writing.Unlock()
	err := j.failed()
	if errors.Is(err, ErrClosed) {
		return nil
	}
	if err == nil {
		err = j.takeOut()
	}
	j.mu.Lock()
	j.err = ErrClosed
	if j.flushes != nil {
		j.flushes.Stop()
	}
	j.tell()
	j.mu.Unlock()
	j.files.Lock()
	defer j.files.Unlock()
	return errors.Join(err, j.store.close())
}
