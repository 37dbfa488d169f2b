package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/go-kit/log"
)

// files are the files of a directory, by name.
func files(t *testing.T, path string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]byte{}
	for _, e := range entries {
		if e.Name() == reserveName {
			continue
		}
		data, err := os.ReadFile(filepath.Join(path, e.Name()))
		if errors.Is(err, os.ErrNotExist) {
			continue // superseded meanwhile
		}
		if err != nil {
			t.Fatal(err)
		}
		found[e.Name()] = data
	}
	return found
}

func writeFiles(t *testing.T, path string, files map[string][]byte) {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(path, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// history is what a journal held after each of its commits.
type history []*model

// small is a journal with some of everything, as it is on disk: closed, or as a kill leaves
// it; and what it held after each commit.
func small(t *testing.T, closed bool) (map[string][]byte, history) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	m := newModel(42)
	h := history{nil, m.copy()}
	next := func() {
		commit(t, j, m.batch())
		h = append(h, m.copy())
	}
	for i := range 60 {
		next()
		if i%20 == 19 {
			if err := j.store.db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.Acknowledge(12); err != nil {
		t.Fatal(err)
	}
	m.acknowledge(12)
	for range 12 {
		next()
	}
	if closed {
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return files(t, path), h
}

func (m *model) copy() *model {
	return &model{state: maps.Clone(m.state), facts: maps.Clone(m.facts)}
}

// openDamaged opens a journal of these files, which must work: with all that was in it; or
// with all up to a commit, and Rewound; or set aside and empty.
func openDamaged(t *testing.T, damaged map[string][]byte, h history) Origin {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal")
	writeFiles(t, path, damaged)
	var logged bytes.Buffer
	j := openWith(t, Options{Path: path, Logger: log.NewLogfmtLogger(&logged)})
	defer j.Close()
	switch j.Origin() {
	case Resumed:
		h[len(h)-1].holds(t, j)
	case Rewound:
		h[j.head.Commits-1].holds(t, j) // one commit is for the new ID
		if !strings.Contains(logged.String(), "last commits may be lost") {
			t.Errorf("nothing was said about the commits that are lost: %s", &logged)
		}
	case SetAside:
		aside, err := filepath.Glob(path + ".broken-*")
		if err != nil || len(aside) != 1 {
			t.Fatalf("%q were set aside, %v", aside, err)
		}
		kept := files(t, aside[0])
		delete(kept, "LOCK")
		was := maps.Clone(damaged)
		delete(was, "LOCK")
		if !maps.EqualFunc(kept, was, bytes.Equal) {
			t.Errorf("what was set aside is not what was there: %q, was %q", slices.Sorted(maps.Keys(kept)), slices.Sorted(maps.Keys(was)))
		}
		if n := strings.Count(logged.String(), "\n"); n != 1 || !strings.Contains(logged.String(), aside[0]) {
			t.Errorf("logged %d lines: %s", n, &logged)
		}
	default:
		t.Errorf("it is %s", j.Origin())
	}
	commit(t, j, Batch{Facts: []byte("it works"), State: []Record{{Kind: "a", UID: "b", Data: []byte("c")}}})
	if err := j.check(); err != nil {
		t.Error(err)
	}
	return j.Origin()
}

// with returns the files with one of them changed; nil data takes it away.
func with(files map[string][]byte, name string, data []byte) map[string][]byte {
	changed := maps.Clone(files)
	if changed[name] = data; data == nil {
		delete(changed, name)
	}
	return changed
}

// tally counts what became of damages, by the kind of file.
type tally map[string]map[Origin]int

func (c tally) count(name string, o Origin) {
	switch {
	case strings.HasSuffix(name, ".log"):
		name = "log"
	case strings.HasSuffix(name, ".sst"):
		name = "tables"
	default:
		name, _, _ = strings.Cut(strings.TrimPrefix(name, "marker."), "-0")
	}
	if c[name] == nil {
		c[name] = map[Origin]int{}
	}
	c[name][o]++
}

// ends are the two ways in which a journal may have ended.
func ends(t *testing.T, do func(t *testing.T, whole map[string][]byte, h history)) {
	for name, closed := range map[string]bool{"closed": true, "killed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole, h := small(t, closed)
			if o := openDamaged(t, whole, h); o != Resumed {
				t.Fatalf("undamaged it is %s", o)
			}
			do(t, whole, h)
		})
	}
}

func TestAMissingFileIsNoticed(t *testing.T) {
	t.Parallel()
	ends(t, func(t *testing.T, whole map[string][]byte, h history) {
		found := tally{}
		for name := range whole {
			found.count(name, openDamaged(t, with(whole, name, nil), h))
		}
		t.Log(found)
		// A log or a table that was superseded may be missing.
		if found["MANIFEST"][Resumed]+found["COMMITTED"][Resumed] > 0 || found["tables"][SetAside] == 0 || found["log"][Rewound]+found["log"][SetAside] == 0 {
			t.Errorf("not all was noticed: %v", found)
		}
	})
}

func TestAFileCutShortIsResumedOrNoticed(t *testing.T) {
	t.Parallel()
	ends(t, func(t *testing.T, whole map[string][]byte, h history) {
		found := tally{}
		for name, data := range whole {
			if len(data) == 0 {
				continue
			}
			for i := range 12 {
				size := rand.IntN(len(data))
				switch {
				case i == 0:
					size = 0
				case i == 1:
					size = len(data) - 1
				case i < 6:
					size = max(0, len(data)-1-rand.IntN(min(len(data), 2000)))
				}
				found.count(name, openDamaged(t, with(whole, name, data[:size]), h))
			}
		}
		t.Log(found)
		if found["tables"][SetAside] == 0 || found["COMMITTED"][Resumed] > 0 {
			t.Errorf("not all was noticed: %v", found)
		}
	})
}

// TestNoBitThatFlipsIsTakenForData makes JOURNAL_TEST_FLIPS damages, or some.
func TestNoBitThatFlipsIsTakenForData(t *testing.T) {
	t.Parallel()
	flips := 60
	_, _ = fmt.Sscan(os.Getenv("JOURNAL_TEST_FLIPS"), &flips)
	ends(t, func(t *testing.T, whole map[string][]byte, h history) {
		var names []string
		for name, data := range whole {
			if len(data) > 0 {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		found := tally{}
		for i := range flips {
			name := names[i%len(names)]
			data := bytes.Clone(whole[name])
			switch at := rand.IntN(len(data)); i / len(names) % 4 {
			case 0, 1: // anywhere
				data[at] ^= 1 << rand.IntN(8)
			case 2: // a sector that was lost
				at = at / 512 * 512
				clear(data[at:min(at+512, len(data))])
			case 3: // a sector of another place
				from := rand.IntN(len(data)) / 512 * 512
				copy(data[at/512*512:], bytes.Clone(data[from:min(from+512, len(data))]))
			}
			found.count(name, openDamaged(t, with(whole, name, data), h))
		}
		t.Log(found)
		if found["tables"][SetAside] == 0 {
			t.Error("this should notice some")
		}
	})
}

// TestADamagedEndOfTheLogIsNotTakenForATornWrite damages the last commit on disk, for which
// the database has no proof that it was ever whole.
func TestADamagedEndOfTheLogIsNotTakenForATornWrite(t *testing.T) {
	t.Parallel()
	whole, h := small(t, false)
	for name, data := range whole {
		end := len(bytes.TrimRight(data, "\x00"))
		if !strings.HasSuffix(name, ".log") || end == 0 {
			continue
		}
		damaged := bytes.Clone(data)
		damaged[end-5] ^= 1
		path := filepath.Join(t.TempDir(), "journal")
		writeFiles(t, path, with(whole, name, damaged))
		j := open(t, path)
		if j.Origin() == Resumed {
			continue // an old log
		}
		if j.Origin() != Rewound || j.head.Commits-1 != uint64(len(h)-2) {
			t.Errorf("%s: %s, %d commits", name, j.Origin(), j.head.Commits)
		}
		h[len(h)-2].holds(t, j)
		id := j.ID()
		if bytes.Contains(whole[committedName], []byte(id)) {
			t.Error("numbers may be given out twice under one ID")
		}
		if j = reopen(t, j); j.ID() != id || j.Origin() != Resumed {
			t.Errorf("the new ID is not kept: %s", j.Origin())
		}
		return
	}
	t.Error("no log held the last commit")
}

// TestATornWriteIsNoDamage cuts off, or tears, a commit that was never acknowledged as done.
func TestATornWriteIsNoDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	m := newModel(7)
	for range 5 {
		commit(t, j, m.batch())
	}
	before, held := files(t, path), m.copy()
	commit(t, j, m.batch())
	after := files(t, path)
	for name, data := range after {
		if !strings.HasSuffix(name, ".log") || bytes.Equal(data, before[name]) {
			continue
		}
		whole := len(bytes.TrimRight(before[name], "\x00"))
		end := len(bytes.TrimRight(data, "\x00"))
		for _, size := range []int{whole, whole + 1, whole + 10, (whole + end) / 2, end - 1} {
			torn := with(before, name, slices.Concat(data[:size], make([]byte, 1000)))
			if o := openDamaged(t, torn, history{held}); o != Resumed {
				t.Errorf("torn at %d of %d to %d: %s", size, whole, end, o)
			}
		}
		return
	}
	t.Error("no log has grown")
}

// TestALostFlushIsNoticed takes the MANIFEST of before a flush, and the logs that the flush
// has made superfluous away: nothing is damaged then, and yet commits are missing in between.
func TestALostFlushIsNoticed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	m := newModel(7)
	next := func(n int) {
		for range n {
			commit(t, j, m.batch())
		}
	}
	next(10)
	if err := j.store.db.Flush(); err != nil {
		t.Fatal(err)
	}
	next(10)
	before := files(t, path)
	if err := j.store.db.Flush(); err != nil {
		t.Fatal(err)
	}
	next(10)
	damaged := files(t, path)
	for name, data := range damaged {
		if old := before[name]; strings.HasPrefix(name, "MANIFEST") {
			damaged[name] = old
		} else if strings.HasSuffix(name, ".log") && old != nil {
			delete(damaged, name)
		} else if strings.HasSuffix(name, ".log") {
			damaged[name] = data
		}
	}
	if o := openDamaged(t, damaged, nil); o != SetAside {
		t.Error(o)
	}
}

func TestWhatIsNoJournalIsSetAside(t *testing.T) {
	t.Parallel()
	foreign := filepath.Join(t.TempDir(), "foreign")
	db, err := pebble.Open(foreign, &pebble.Options{FormatMajorVersion: pebble.FormatNewest, Logger: databaseLogger{j: &Journal{options: Options{Logger: log.NewNopLogger()}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Set([]byte("key"), []byte("value"), pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
	for name, there := range map[string]map[string][]byte{
		"a text":            {"notes.txt": []byte("hello, world")},
		"zeros":             {"000004.log": make([]byte, 100_000), "MANIFEST-000001": make([]byte, 1000)},
		"noise":             {"000004.log": newModel(1).bytes(100_000), "marker.manifest.000001.MANIFEST-000001": nil, "MANIFEST-000001": newModel(2).bytes(1000)},
		"another database":  files(t, foreign),
		"a COMMITTED alone": {committedName: committed{format: format, id: "a", commits: 7}.encode()},
	} {
		if origin := openDamaged(t, there, nil); origin != SetAside {
			t.Errorf("%s: %s", name, origin)
		}
	}
}

func TestAnEmptyDirectoryIsTaken(t *testing.T) {
	t.Parallel()
	for range 2 {
		path := t.TempDir()
		j := open(t, path)
		if j.Origin() != New {
			t.Error(j.Origin())
		}
		commit(t, j, Batch{Facts: []byte("it works")})
		if j = reopen(t, j); j.Origin() != Resumed {
			t.Error(j.Origin())
		}
	}
}

func TestAJournalOfANewerFormatIsLeftAlone(t *testing.T) {
	t.Parallel()
	whole, _ := small(t, false)
	last := committed{format: format + 1, id: strings.Repeat("A", 26), commits: 7}
	for name, newer := range map[string]map[string][]byte{
		"ours":       with(whole, committedName, last.encode()),
		"database's": with(whole, fmt.Sprintf("marker.format-version.%06d.%03d", 99, pebble.FormatNewest+1), []byte{}),
	} {
		path := filepath.Join(t.TempDir(), "journal")
		writeFiles(t, path, newer)
		for range 2 {
			if _, err := Open(t.Context(), Options{Path: path}); !errors.Is(err, ErrNewerFormat) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if after := files(t, path); !maps.EqualFunc(after, newer, bytes.Equal) {
			t.Errorf("%s: it was changed", name)
		}
	}
}

// tableDamages returns ways to damage the bytes of a table, by name.
func tableDamages() map[string]func(data []byte) []byte {
	return map[string]func(data []byte) []byte{
		"cut to nothing": func([]byte) []byte { return nil },
		"cut in half":    func(data []byte) []byte { return data[:len(data)/2] },
		"overwritten": func(data []byte) []byte {
			for i := range data {
				data[i] ^= 1
			}
			return data
		},
	}
}

// tableReader is a use of an open journal that reads its tables.
type tableReader struct {
	read  func(t *testing.T, j *Journal) error
	times int // how often the test calls it before Reset
}

// tableReaders returns the uses of a journal that read its tables, by name.
func tableReaders() map[string]tableReader {
	return map[string]tableReader{
		"State": {times: 2, read: func(_ *testing.T, j *Journal) error {
			return j.State("Pod", func(string, []byte) error { return nil })
		}},
		"Get":   {times: 2, read: func(_ *testing.T, j *Journal) error { _, _, err := j.Get("Pod", "a"); return err }},
		"Next":  {times: 2, read: func(t *testing.T, j *Journal) error { _, err := j.Next(t.Context(), 0); return err }},
		"Check": {times: 2, read: func(_ *testing.T, j *Journal) error { return j.check() }},
		"a commit in several batches": {times: 2, read: func(t *testing.T, j *Journal) error {
			if err := j.Commit(t.Context(), Batch{Positions: []Position{{Kind: "Pod", ResourceVersion: "1"}}}); err != nil {
				return err
			}
			return j.Commit(t.Context(), Batch{More: true, State: []Record{{Kind: "Pod", UID: "a", Data: []byte("new")}}})
		}},
		"a compaction": {times: 1, read: compactThenCommit},
	}
}

// compactThenCommit compacts the tables until the journal fails, and returns the error of the next commit, which
// itself reads no table.
func compactThenCommit(t *testing.T, j *Journal) error {
	_ = j.Commit(t.Context(), Batch{State: []Record{{Kind: "Pod", UID: "b", Data: []byte("new")}}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- errors.Join(j.store.db.Flush(), j.store.db.Compact(ctx, []byte("a"), []byte("z"), false))
	}()
	for begun := time.Now(); j.failure() == nil && time.Since(begun) < time.Minute; {
		time.Sleep(soon)
	}
	cancel() // it would try again for ever
	<-done
	return j.Commit(t.Context(), Batch{})
}

// writeTables writes a journal of 30 batches whose data is in tables, and closes it.
func writeTables(t *testing.T, path string) {
	t.Helper()
	j := open(t, path)
	for range 30 {
		commit(t, j, Batch{Facts: []byte(strings.Repeat("precious facts", 500)), Version: 77, State: []Record{{Kind: "Pod", UID: "a", Data: []byte("precious state")}}})
	}
	if err := j.store.db.Flush(); err != nil {
		t.Fatal(err)
	}
	j.Close()
}

// damageTables damages each table in a directory.
func damageTables(t *testing.T, path string, damage func(data []byte) []byte) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(path, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	for _, name := range tables {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, damage(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamageWhileOpenIsAnErrorUntilReset damages the tables under an open journal.
func TestDamageWhileOpenIsAnErrorUntilReset(t *testing.T) {
	t.Parallel()
	for damageName, damage := range tableDamages() {
		for readerName, reader := range tableReaders() {
			t.Run(damageName+", "+readerName, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "journal")
				writeTables(t, path)
				var logged bytes.Buffer
				j := openWith(t, Options{Path: path, Logger: log.NewLogfmtLogger(&logged)})
				id := j.ID()
				damageTables(t, path, damage)
				for range reader.times {
					if err := reader.read(t, j); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) {
						t.Fatal(err)
					}
				}
				if err := j.Commit(t.Context(), Batch{}); !errors.Is(err, ErrCorrupt) {
					t.Error(err)
				}
				if err := j.Reset(); err != nil {
					t.Fatal(err)
				}
				if j.Origin() != SetAside || j.ID() == id || j.Version() != 77 || !strings.Contains(logged.String(), path+".broken-") {
					t.Errorf("%s, version %d, %s", j.Origin(), j.Version(), &logged)
				}
				checkWorksAfterReset(t, j, 30)
			})
		}
	}
}

// checkWorksAfterReset checks that a journal of n batches is empty after Reset or Clear, continues their numbers, and resumes.
func checkWorksAfterReset(t *testing.T, j *Journal, n uint64) {
	t.Helper()
	commit(t, j, Batch{Facts: []byte("anew")})
	if e := drain(t, j, n); len(e) != 1 || e[0].Number != n+1 || string(e[0].Facts) != "anew" || len(state(t, j)) != 0 {
		t.Errorf("%+v", e)
	}
	if j = reopen(t, j); j.Origin() != Resumed || len(drain(t, j, 0)) != 1 {
		t.Error(j.Origin())
	}
}

// TestDamageThatWasFoundIsNotForgotten: what Open might not find again is set aside by it.
func TestDamageThatWasFoundIsNotForgotten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	commit(t, j, Batch{Facts: []byte("facts")})
	if err := j.fail(corruptf("a table")); !errors.Is(err, ErrCorrupt) {
		t.Fatal(err)
	}
	j.Close()
	if j = open(t, path); j.Origin() != SetAside {
		t.Error(j.Origin())
	}
}

// TestAPanicOfTheDatabaseAtAStartSetsTheJournalAside: Pebble panics about some damages.
func TestAPanicOfTheDatabaseAtAStartSetsTheJournalAside(t *testing.T) {
	t.Parallel()
	j, f, logged := failing(t)
	commit(t, j, Batch{Facts: []byte("facts")})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	f.set(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpOpen && strings.Contains(op.Path, "MANIFEST") {
			once.Do(func() { panic("a bug or a damage") })
		}
		return nil
	})
	j, err := openAt(t.Context(), j.options, errorfs.Wrap(vfs.Default, f))
	if err != nil || j.Origin() != SetAside || !strings.Contains(logged.String(), "a bug or a damage") {
		t.Fatalf("%v, logged %s", err, logged)
	}
	commit(t, j, Batch{Facts: []byte("it works")})
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

func TestResetWhileOthersWait(t *testing.T) {
	t.Parallel()
	j := open(t, filepath.Join(t.TempDir(), "journal"))
	commit(t, j, Batch{Facts: []byte("lost")})
	id := j.ID()
	found := make(chan Entry)
	waiting := newWaiter(t)
	go func() {
		e, err := j.Next(waiting, 1)
		if err != nil {
			t.Error(err)
		}
		found <- e
	}()
	<-waiting.begun
	if err := j.Reset(); err != nil {
		t.Fatal(err)
	}
	if err := j.Acknowledge(1); err != nil {
		t.Error(err)
	}
	commit(t, j, Batch{Facts: []byte("anew")})
	if e := <-found; e.Number != 2 || e.ID == id || e.ID != j.ID() || string(e.Facts) != "anew" {
		t.Errorf("%+v", e)
	}
	if err := j.check(); err != nil {
		t.Error(err)
	}
}

// TestClearKeepsTheLock clears a journal on a full disk. Another process could open a directory that is unlocked for a moment.
func TestClearKeepsTheLock(t *testing.T) {
	t.Parallel()
	j, f, _ := failing(t)
	commit(t, j, Batch{
		Facts: []byte("former"), State: []Record{{Kind: "Pod", UID: "a", Data: []byte("former")}}, Version: 7,
		Positions: []Position{{Kind: "Pod", ResourceVersion: "1"}}, Meta: map[string][]byte{"a": []byte("former")},
	})
	id := j.ID()
	f.set(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpGetDiskUsage:
			return syscall.ENOSPC
		case errorfs.OpLock:
			t.Error("it locks the directory anew")
		}
		return nil
	})
	if err := j.Clear(); err != nil {
		t.Fatal(err)
	}
	f.set(func(errorfs.Op) error { return nil })
	if j.Origin() != New || j.ID() == id || j.Version() != 7 || len(j.Positions()) > 0 || len(j.Meta()) > 0 || j.Stats().Rows > 0 {
		t.Errorf("%s, version %d, positions %v, meta %v, %+v", j.Origin(), j.Version(), j.Positions(), j.Meta(), j.Stats())
	}
	checkWorksAfterReset(t, j, 1)
}

func TestDirectoriesThatWereSetAsideDoNotPileUp(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	for range keepBroken + 3 {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		writeFiles(t, path, map[string][]byte{"broken": []byte("broken")})
		open(t, path).Close()
	}
	if aside, err := filepath.Glob(path + ".broken-*"); err != nil || len(aside) != keepBroken {
		t.Errorf("%q, %v", aside, err)
	}
}
