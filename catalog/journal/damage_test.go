package journal

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"go.etcd.io/bbolt"
)

// small is a journal with some of everything, closed, and what it holds after its
// last transaction and after the one before.
func small(t *testing.T) (path string, last, before *model) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "journal.db")
	j := open(t, path)
	m := newModel(42)
	for range 30 {
		commit(t, j, m.batch())
	}
	if err := j.Acknowledge(12); err != nil {
		t.Fatal(err)
	}
	m.acknowledge(12)
	commit(t, j, m.batch())
	before = &model{state: maps.Clone(m.state), facts: maps.Clone(m.facts)}
	commit(t, j, m.batch())
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return path, m, before
}

// openDamaged opens a journal of these bytes, which must work: with all that was in
// it, or all up to the transaction before, or set aside and empty.
func openDamaged(t *testing.T, data []byte, last, before *model) Origin {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "journal.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	j := openWith(t, Options{Path: path, Logger: log.NewLogfmtLogger(&logged)})
	defer j.Close()
	if j.Origin() == Resumed || j.Origin() == Rewound {
		if len(state(t, j)) == len(last.state) && len(drain(t, j, 0)) == len(last.facts) {
			last.holds(t, j)
		} else {
			before.holds(t, j)
			if j.Origin() != Rewound || !strings.Contains(logged.String(), "last transaction may be lost") {
				t.Errorf("nothing was said about the transaction that is lost: %s", &logged)
			}
		}
	} else if len(data) > 0 {
		aside, err := filepath.Glob(path + ".broken-*")
		if err != nil || len(aside) != 1 || j.Origin() != SetAside {
			t.Fatalf("%s: %q were set aside, %v", j.Origin(), aside, err)
		}
		if kept, err := os.ReadFile(aside[0]); err != nil || !bytes.Equal(kept, data) {
			t.Errorf("what was set aside is not what was there: %v", err)
		}
		if n := strings.Count(logged.String(), "\n"); n != 1 || !strings.Contains(logged.String(), aside[0]) {
			t.Errorf("logged %d lines: %s", n, &logged)
		}
	}
	commit(t, j, Batch{Facts: []byte("it works"), State: []Record{{Kind: "a", UID: "b", Data: []byte("c")}}})
	if err := j.Check(); err != nil {
		t.Error(err)
	}
	return j.Origin()
}

func TestAFileCutShortIsResumedOrSetAside(t *testing.T) {
	t.Parallel()
	path, last, before := small(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := inspect(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	aside := 0
	for n := range c.pages {
		// At the page's beginning, a byte before, and within.
		for _, size := range []int64{n*pageSize - 1, n * pageSize, n*pageSize + rand.Int64N(pageSize)} {
			if size < 0 {
				continue
			}
			_, err := inspect(bytes.NewReader(whole[:size]), size)
			if err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			if err != nil {
				aside++
			}
			if rand.IntN(40) == 0 || n < 5 {
				origin := openDamaged(t, whole[:size], last, before)
				if (origin == Resumed || origin == Rewound) != (err == nil) && size > 0 {
					t.Errorf("at %d bytes the journal is %s, after %v", size, origin, err)
				}
			}
		}
	}
	if aside < int(c.pages) {
		t.Errorf("only %d of the cuts were noticed", aside)
	}
}

func TestNoBitThatFlipsIsTakenForData(t *testing.T) {
	t.Parallel()
	path, last, before := small(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := inspect(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	whole = whole[:(c.pages+1)*pageSize]
	noticed, unnoticed := 0, 0
	for i := range 350 {
		damaged := bytes.Clone(whole)
		switch at := rand.IntN(len(damaged)); i % 4 {
		case 0: // anywhere
			damaged[at] ^= 1 << rand.IntN(8)
		case 1: // in what a page begins with
			at = at/pageSize*pageSize + rand.IntN(100)
			damaged[at] ^= 1 << rand.IntN(8)
		case 2: // a sector that was lost
			at = at / 512 * 512
			clear(damaged[at : at+512])
		case 3: // a page of another place
			from := rand.IntN(len(damaged)/pageSize) * pageSize
			copy(damaged[at/pageSize*pageSize:], damaged[from:from+pageSize])
		}
		_, err := inspect(bytes.NewReader(damaged), int64(len(damaged)))
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		if err != nil {
			noticed++
		} else {
			unnoticed++
		}
		if i < 15 || err == nil && unnoticed < 30 {
			openDamaged(t, damaged, last, before)
		}
	}
	t.Logf("%d noticed, %d in what is free", noticed, unnoticed)
	if noticed == 0 || unnoticed == 0 {
		t.Error("this should have both")
	}
}

// TestADamagedBeginningCostsTheLastTransactionAtMost damages one of the two meta
// pages. Which of them was the newer cannot be told then.
func TestADamagedBeginningCostsTheLastTransactionAtMost(t *testing.T) {
	t.Parallel()
	path, last, before := small(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := inspect(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	var held []*model
	for page := range 2 {
		damaged := bytes.Clone(whole)
		damaged[page*pageSize+pageHeader+30] ^= 4
		if origin := openDamaged(t, damaged, last, before); origin != Rewound {
			t.Errorf("page %d: %s", page, origin)
		}
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		j := open(t, path)
		if j.ID() == c.head.ID {
			t.Error("numbers may be given out twice under one ID")
		}
		if j.head.Commits == c.head.Commits+1 { // and one for the ID
			held = append(held, last)
			last.holds(t, j)
		} else {
			held = append(held, before)
			before.holds(t, j)
		}
		id := j.ID()
		if j = reopen(t, j); j.ID() != id {
			t.Error("the new ID is not kept")
		}
		j.Close()
	}
	if held[0] == held[1] {
		t.Error("one of them should be older")
	}
}

// TestARecordOfAnEarlierTimeIsNoticed puts an old record, which is right by itself,
// into the place of its successor.
func TestARecordOfAnEarlierTimeIsNoticed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.db")
	j := open(t, path)
	commit(t, j, Batch{State: []Record{{Kind: "Pod", UID: "a", Data: []byte("old")}}})
	var old []byte
	key := appendStateKey(nil, "Pod", "a")
	if err := j.store.view(func(tx *bbolt.Tx) error {
		old = bytes.Clone(tx.Bucket(stateBucket).Get(key))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	commit(t, j, Batch{State: []Record{{Kind: "Pod", UID: "a", Data: []byte("new")}}})
	if err := j.store.update(func(tx *bbolt.Tx) error { return tx.Bucket(stateBucket).Put(key, old) }); err != nil {
		t.Fatal(err)
	}
	if err := j.State(func(string, string, []byte) error { return nil }); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	j.Close()
	if j = open(t, path); j.Origin() != SetAside {
		t.Error(j.Origin())
	}
}

func TestWhatIsNoJournalIsSetAside(t *testing.T) {
	t.Parallel()
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	db, err := bbolt.Open(foreign, 0o600, &bbolt.Options{PageSize: pageSize})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte("theirs"))
		if err != nil {
			return err
		}
		return b.Put([]byte("key"), []byte("value"))
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	theirs, err := os.ReadFile(foreign)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"a text":                 []byte("hello, world"),
		"zeros":                  make([]byte, 100_000),
		"noise":                  newModel(1).bytes(100_000),
		"another bbolt database": theirs,
	} {
		if origin := openDamaged(t, data, nil, nil); origin != SetAside {
			t.Errorf("%s: %s", name, origin)
		}
	}
}

func TestAJournalOfANewerFormatIsLeftAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.db")
	j := open(t, path)
	h := j.head
	h.Format = format + 1
	if err := j.store.update(func(tx *bbolt.Tx) error {
		if _, err := tx.CreateBucket([]byte("of the future")); err != nil {
			return err
		}
		return putHead(tx, &h)
	}); err != nil {
		t.Fatal(err)
	}
	j.store.close()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Path: path}); !errors.Is(err, ErrNewerFormat) || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("it was changed: %v", err)
	}
}

// TestDamageWhileOpenIsAnErrorUntilReset spoils the file under an open journal.
func TestDamageWhileOpenIsAnErrorUntilReset(t *testing.T) {
	t.Parallel()
	damages := map[string]func(t *testing.T, f *os.File){
		"cut to nothing": func(_ *testing.T, f *os.File) { f.Truncate(0) },
		"cut in half": func(_ *testing.T, f *os.File) {
			info, _ := f.Stat()
			f.Truncate(info.Size() / 2)
		},
		"facts and state overwritten": func(t *testing.T, f *os.File) {
			data, err := io.ReadAll(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, mark := range []string{"precious facts", "precious state"} {
				for at := 0; ; at++ {
					i := bytes.Index(data[at:], []byte(mark))
					if i < 0 {
						break
					}
					at += i
					f.WriteAt([]byte("X"), int64(at+len(mark)-1))
				}
			}
		},
	}
	calls := map[string]func(j *Journal) error{
		"State":  func(j *Journal) error { return j.State(func(string, string, []byte) error { return nil }) },
		"Next":   func(j *Journal) error { _, err := j.Next(t.Context(), 0); return err },
		"Check":  func(j *Journal) error { return j.Check() },
		"Commit": func(j *Journal) error { return j.Commit(t.Context(), Batch{Facts: []byte("more")}) },
	}
	for damage, do := range damages {
		for call, make := range calls {
			if call == "Commit" && strings.Contains(damage, "overwritten") {
				continue // it does not look there
			}
			t.Run(damage+", "+call, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "journal.db")
				var logged bytes.Buffer
				j := openWith(t, Options{Path: path, Logger: log.NewLogfmtLogger(&logged)})
				for range 30 {
					commit(t, j, Batch{Facts: bytes.Repeat([]byte("precious facts"), 500), Version: 77, State: []Record{{Kind: "Pod", UID: "a", Data: []byte("precious state")}}})
				}
				id := j.ID()
				f, err := os.OpenFile(path, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				do(t, f)
				for range 2 {
					if err := make(j); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) {
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
				commit(t, j, Batch{Facts: []byte("anew")})
				if e := drain(t, j, 30); len(e) != 1 || e[0].Number != 31 || string(e[0].Facts) != "anew" || len(state(t, j)) != 0 {
					t.Errorf("%+v", e)
				}
				if j = reopen(t, j); j.Origin() != Resumed || len(drain(t, j, 0)) != 1 {
					t.Error(j.Origin())
				}
			})
		}
	}
}

func TestResetWhileOthersWait(t *testing.T) {
	t.Parallel()
	j := open(t, filepath.Join(t.TempDir(), "journal.db"))
	commit(t, j, Batch{Facts: []byte("lost")})
	id := j.ID()
	found := make(chan Entry)
	go func() {
		e, err := j.Next(t.Context(), 1)
		if err != nil {
			t.Error(err)
		}
		found <- e
	}()
	time.Sleep(soon)
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
	if err := j.Check(); err != nil {
		t.Error(err)
	}
}

// TestATransactionThatFailedAtItsVeryEndIsCounted pretends that the last sync failed:
// then all who read the file see the transaction.
func TestATransactionThatFailedAtItsVeryEndIsCounted(t *testing.T) {
	t.Parallel()
	j := open(t, filepath.Join(t.TempDir(), "journal.db"))
	commit(t, j, Batch{Facts: []byte("first"), Rows: 1})
	b := Batch{Facts: []byte("second"), Rows: 1, State: []Record{{Kind: "Pod", UID: "a", Data: []byte("x")}}}
	tried := transaction{batch: &b, head: j.head, now: time.Now()}
	tried.head.Commits++
	if err := j.failedWrite(&tried, io.ErrShortWrite); !errors.Is(err, io.ErrShortWrite) || j.Stats().Rows != 1 {
		t.Errorf("%v, %+v", err, j.Stats())
	}
	if err := j.store.update(tried.run); err != nil {
		t.Fatal(err)
	}
	if err := j.failedWrite(&tried, io.ErrShortWrite); !errors.Is(err, io.ErrShortWrite) || j.Stats().Rows != 2 {
		t.Errorf("%v, %+v", err, j.Stats())
	}
	commit(t, j, b)
	if e := drain(t, j, 0); len(e) != 3 || e[2].Number != 3 {
		t.Errorf("%+v", e)
	}
	if err := j.Check(); err != nil {
		t.Error(err)
	}
}

// TestAFaultOfTheMapIsAnError cuts the file short behind the look at its size, so
// that bbolt reads where there is nothing any more: a SIGBUS.
func TestAFaultOfTheMapIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.db")
	j := open(t, path)
	for range 30 {
		commit(t, j, Batch{Facts: make([]byte, 10_000)})
	}
	err := j.store.update(func(tx *bbolt.Tx) error {
		if err := os.Truncate(path, 2*pageSize); err != nil {
			return err
		}
		return tx.Bucket(factsBucket).Put([]byte("key"), []byte("value"))
	})
	if !errors.Is(err, ErrCorrupt) {
		t.Fatal(err)
	}
	if err := j.Commit(t.Context(), Batch{}); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	if err := j.Reset(); err != nil {
		t.Fatal(err)
	}
	commit(t, j, Batch{Facts: []byte("anew")})
}

func TestFilesThatWereSetAsideDoNotPileUp(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.db")
	for range keepBroken + 3 {
		if err := os.WriteFile(path, []byte("broken"), 0o600); err != nil {
			t.Fatal(err)
		}
		open(t, path).Close()
	}
	if aside, err := filepath.Glob(path + ".broken-*"); err != nil || len(aside) != keepBroken {
		t.Errorf("%q, %v", aside, err)
	}
}
