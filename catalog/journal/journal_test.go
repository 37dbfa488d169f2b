package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

func open(t testing.TB, path string) *Journal {
	t.Helper()
	return openWith(t, Options{Path: path})
}

func openWith(t testing.TB, o Options) *Journal {
	t.Helper()
	j, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func commit(t testing.TB, j *Journal, b Batch) {
	t.Helper()
	if err := j.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// drain returns the batches that wait after a number.
func drain(t testing.TB, j *Journal, after uint64) (entries []Entry) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // what is there is returned even so
	for {
		e, err := j.Next(ctx, after)
		if errors.Is(err, context.Canceled) {
			return entries
		}
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
		after = e.Number
	}
}

// check reads the whole directory and returns an error if any of it is damaged; commits wait
// meanwhile.
func (j *Journal) check() error {
	if err := j.lock(context.Background()); err != nil {
		return err
	}
	defer j.unlock()
	j.files.RLock()
	defer j.files.RUnlock()
	return j.read(func(db *pebble.DB) error {
		c, err := verify(context.Background(), db)
		if err == nil && c.head.Commits != j.head.Commits {
			err = corruptf("its last commit is %d, and should be %d", c.head.Commits, j.head.Commits)
		}
		return err
	})
}

func state(t testing.TB, j *Journal) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, kind := range []string{"Pod", "PersistentVolume", "PersistentVolumeClaim"} {
		last := ""
		err := j.State(kind, func(uid string, data []byte) error {
			if uid <= last {
				t.Errorf("%s %s comes after %s", kind, uid, last)
			}
			last = uid
			found[kind+"/"+uid] = string(data)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func reopen(t testing.TB, j *Journal) *Journal {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, j.options.Path)
}

// fiftyBatches is a journal's content after 50 commits. The first commit has no facts, which leaves 49 batches.
type fiftyBatches struct {
	facts []string // of batch 1 and up
	at    time.Time
	id    string
}

// commitFifty commits 50 batches to a new journal. Each commit writes the state of one pod and deletes an earlier one,
// which leaves three pods.
func commitFifty(t *testing.T, j *Journal) *fiftyBatches {
	t.Helper()
	want := &fiftyBatches{at: time.Now(), id: j.ID()}
	for i := range 50 {
		facts := make([]byte, i*997)
		for k := range facts {
			facts[k] = byte(i + k)
		}
		if len(facts) > 0 {
			want.facts = append(want.facts, string(facts))
		}
		commit(t, j, Batch{Facts: facts, Rows: i, State: []Record{
			{Kind: "Pod", UID: fmt.Sprint(i), Data: []byte(fmt.Sprint("pod ", i))},
			{Kind: "Pod", UID: fmt.Sprint(i - 3)},
		}, Positions: []Position{{Kind: "Pod", ResourceVersion: fmt.Sprint(1000 + i), At: want.at}}, Version: uint64(7 * i), Meta: map[string][]byte{"coverage": {byte(i)}}})
	}
	return want
}

// check compares a journal with what was committed, of which the first batches are acknowledged.
func (want *fiftyBatches) check(t *testing.T, j *Journal, acknowledged int) {
	t.Helper()
	want.checkEntries(t, j, acknowledged)
	if got := state(t, j); len(got) != 3 || got["Pod/49"] != "pod 49" {
		t.Errorf("state %q", got)
	}
	if p := j.Positions()["Pod"]; p.ResourceVersion != "1049" || !p.At.Equal(want.at) {
		t.Errorf("position %+v", p)
	}
	if j.Version() != 7*49 || !slices.Equal(j.Meta()["coverage"], []byte{49}) || j.ID() != want.id {
		t.Errorf("version %d, meta %v, id %s", j.Version(), j.Meta(), j.ID())
	}
	if err := j.check(); err != nil {
		t.Error(err)
	}
}

// checkEntries compares the batches that wait in a journal, and the statistics of these batches, with what was
// committed.
func (want *fiftyBatches) checkEntries(t *testing.T, j *Journal, acknowledged int) {
	t.Helper()
	entries := drain(t, j, 0)
	if len(entries) != len(want.facts)-acknowledged {
		t.Fatalf("%d batches wait, want %d", len(entries), len(want.facts)-acknowledged)
	}
	rows := 0
	for i, e := range entries {
		n := acknowledged + i
		if e.Number != uint64(n+1) || string(e.Facts) != want.facts[n] || e.Rows != n+1 || e.ID != want.id {
			t.Fatalf("entry %d is %d, of %d rows and %d bytes", n, e.Number, e.Rows, len(e.Facts))
		}
		rows += e.Rows
	}
	if s := j.Stats(); s.Rows != rows || s.FileBytes == 0 || len(entries) > 0 && !s.Oldest.Equal(entries[0].At) {
		t.Errorf("stats %+v, want %d rows", s, rows)
	}
}

func TestBatchesComeBackInOrderAndWholeAfterARestart(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal"))
	if j.Origin() != New {
		t.Error(j.Origin())
	}
	want := commitFifty(t, j)
	want.check(t, j, 0)
	j = reopen(t, j)
	if j.Origin() != Resumed {
		t.Error(j.Origin())
	}
	want.check(t, j, 0)
	for _, n := range []uint64{10, 10, 3, 49} {
		if err := j.Acknowledge(n); err != nil {
			t.Fatal(err)
		}
		want.check(t, j, max(int(n), 10))
		j = reopen(t, j)
		want.check(t, j, max(int(n), 10))
	}
	commit(t, j, Batch{Facts: []byte("next")})
	if e := drain(t, j, 0); len(e) != 1 || e[0].Number != 50 {
		t.Error(e)
	}
}

func TestARecordIsFoundByItsKey(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal"))
	commit(t, j, Batch{State: []Record{
		{Kind: "Pod", UID: "a", Data: []byte("pod a")}, {Kind: "Pod", UID: "b", Data: []byte{}}, {Kind: "Pod.memory", UID: "a", Data: []byte("memory")},
	}})
	for range 2 {
		for key, want := range map[[2]string]string{{"Pod", "a"}: "pod a", {"Pod", "b"}: "", {"Pod.memory", "a"}: "memory", {"Pod", "c"}: "none", {"Po", "a"}: "none"} {
			data, ok, err := j.Get(key[0], key[1])
			if err != nil || ok != (want != "none") || ok && string(data) != want {
				t.Errorf("%v: %q %v %v", key, data, ok, err)
			}
		}
		if got := state(t, j); len(got) != 2 {
			t.Errorf("the kind Pod has %q", got)
		}
		j = reopen(t, j)
	}
}

// TestTheStateOfACommitThatIsCutOffIsUndone ends between the batches of a commit. The state is as it was before them, and the facts are there.
// The same batches with a last one stay.
func TestTheStateOfACommitThatIsCutOffIsUndone(t *testing.T) {
	large := func(c byte) []byte { return bytes.Repeat([]byte{c}, 400<<10) } // several transactions undo these
	before := map[string]string{"Pod/a": "old", "Pod/b": "", "Pod/d": "old"}
	b := Batch{Facts: []byte("zero"), Positions: []Position{{Kind: "Pod", ResourceVersion: "1"}}, State: []Record{
		{Kind: "Pod", UID: "a", Data: []byte("old")}, {Kind: "Pod", UID: "b", Data: []byte{}}, {Kind: "Pod", UID: "d", Data: []byte("old")},
	}}
	for i := range 5 {
		b.State = append(b.State, Record{Kind: "Pod", UID: fmt.Sprint(i), Data: large('-')})
		before[fmt.Sprint("Pod/", i)] = string(large('-'))
	}
	j := open(t, filepath.Join(t.TempDir(), "journal"))
	commit(t, j, b)
	after := map[string]string{"Pod/a": "newest", "Pod/c": "new", "Pod/d": "old"}
	first := Batch{Facts: []byte("one"), Version: 9, More: true, State: []Record{{Kind: "Pod", UID: "a", Data: []byte("new")}, {Kind: "Pod", UID: "b"}, {Kind: "Pod", UID: "d"}}}
	second := Batch{Facts: []byte("two"), More: true, State: []Record{
		{Kind: "Pod", UID: "c", Data: []byte("newer")}, {Kind: "Pod", UID: "c", Data: []byte("new")}, {Kind: "Pod", UID: "a", Data: []byte("newest")}, {Kind: "Pod", UID: "d", Data: []byte("old")},
	}}
	for i := range 5 {
		second.State = append(second.State, Record{Kind: "Pod", UID: fmt.Sprint(i), Data: large('+')})
		after[fmt.Sprint("Pod/", i)] = string(large('+'))
	}
	expect := func(when string, want map[string]string, position string, facts int) {
		t.Helper()
		if got := state(t, j); !maps.Equal(got, want) {
			t.Errorf("%s: the state has %d records: %q %q %q", when, len(got), got["Pod/a"], got["Pod/b"], got["Pod/c"])
		}
		if p := j.Positions()["Pod"].ResourceVersion; p != position {
			t.Errorf("%s: the position is %s, want %s", when, p, position)
		}
		if n := len(drain(t, j, 0)); n != facts {
			t.Errorf("%s: %d batches of facts, want %d", when, n, facts)
		}
		if err := j.check(); err != nil {
			t.Error(err)
		}
	}
	commit(t, j, first)
	commit(t, j, second)
	if err := j.Acknowledge(1); err != nil { // Close commits it, which does not complete the other commit
		t.Fatal(err)
	}
	expect("before the end", after, "1", 2)
	j = reopen(t, j)
	expect("after the end", before, "1", 2)
	if j.Origin() != Resumed || j.Version() != 9 {
		t.Errorf("it is %s, at version %d", j.Origin(), j.Version())
	}
	commit(t, j, first)
	commit(t, j, second)
	commit(t, j, Batch{Positions: []Position{{Kind: "Pod", ResourceVersion: "2"}}})
	expect("after a whole commit", after, "2", 4)
	j = reopen(t, j)
	expect("after a restart", after, "2", 4)
	err := j.State(undoKind, func(string, []byte) error {
		t.Error("a record to put back is left")
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// fullDisk has no room but the reserve.
type fullDisk struct{ vfs.FS }

func (fullDisk) GetDiskUsage(string) (vfs.DiskUsage, error) { return vfs.DiskUsage{}, nil }

// TestTheUndoingOfACommitGoesOn ends while the journal puts back what a commit has replaced. The next start does the rest, also on a full disk.
func TestTheUndoingOfACommitGoesOn(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal"))
	commit(t, j, Batch{Positions: []Position{{Kind: "Pod", ResourceVersion: "1"}}, State: []Record{{Kind: "Pod", UID: "a", Data: []byte("old")}, {Kind: "Pod", UID: "b", Data: []byte("old")}}})
	for _, data := range []string{"new", "newer"} {
		commit(t, j, Batch{More: true, State: []Record{{Kind: "Pod", UID: "a", Data: []byte(data)}, {Kind: "Pod", UID: "b", Data: []byte(data)}}})
	}
	records, err := j.replaced(j.head.Undo)
	if err != nil || len(records) != 4 {
		t.Fatalf("%v, %v", records, err)
	}
	if err := j.write(&Batch{State: records[:3], undone: 3}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j.options.UndoMeta = map[string][]byte{"undone": []byte("yes")}
	if j, err = openAt(t.Context(), j.options, fullDisk{vfs.Default}); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if got := j.Meta(); string(got["undone"]) != "yes" {
		t.Errorf("the Meta is %q", got)
	}
	if got := state(t, j); got["Pod/a"] != "old" || got["Pod/b"] != "old" || j.head.Undo != 0 {
		t.Errorf("%v, and %d records are to be put back", got, j.head.Undo)
	}
}

func TestARecordToPutBackIsReadWholeOrNotAtAll(t *testing.T) {
	whole := appendReplaced(nil, stateKey(nil, "Pod", "a"), nil, true)
	if r, err := decodeReplaced(whole); err != nil || r.Kind != "Pod" || r.UID != "a" || r.Data == nil {
		t.Errorf("%+v, %v", r, err)
	}
	for n := range whole {
		if r, err := decodeReplaced(whole[:n]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("of its first %d bytes: %+v, %v", n, r, err)
		}
	}
}

func TestAMissingRecordToPutBackIsNoticed(t *testing.T) {
	for missing, want := range map[uint64]Origin{1: SetAside, 2: SetAside, 3: Resumed} { // there are two
		j := open(t, filepath.Join(t.TempDir(), "journal"))
		commit(t, j, Batch{Positions: []Position{{Kind: "Pod", ResourceVersion: "1"}}})
		commit(t, j, Batch{More: true, State: []Record{{Kind: "Pod", UID: "a", Data: []byte("new")}, {Kind: "Pod", UID: "b", Data: []byte("new")}}})
		if err := j.store.db.Delete(undoKey(missing), pebble.Sync); err != nil {
			t.Fatal(err)
		}
		if j = reopen(t, j); j.Origin() != want {
			t.Errorf("without record %d it is %s, want %s", missing, j.Origin(), want)
		}
	}
}

// TestTheFirstCommitsOfAJournalAreNotUndone: no watch resumes from them, and the first lists are large.
func TestTheFirstCommitsOfAJournalAreNotUndone(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal"))
	commit(t, j, Batch{More: true, State: []Record{{Kind: "Pod", UID: "a", Data: []byte("new")}}})
	j = reopen(t, j)
	if got := state(t, j); got["Pod/a"] != "new" {
		t.Errorf("%v", got)
	}
}

// TestStateIsOfOneMomentAndStopsNoCommits commits while the state is read.
func TestStateIsOfOneMomentAndStopsNoCommits(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal"))
	put := func(value string) {
		b := Batch{}
		for i := range 3000 {
			b.State = append(b.State, Record{Kind: "Pod", UID: fmt.Sprintf("%04d", i), Data: []byte(strings.Repeat(value, 1000))})
		}
		commit(t, j, b)
	}
	put("1")
	n := 0
	err := j.State("Pod", func(uid string, data []byte) error {
		if n++; n == 1 {
			put("2")
		}
		if data[0] != '1' {
			t.Fatalf("%s is of another moment", uid)
		}
		return nil
	})
	if err != nil || n != 3000 {
		t.Errorf("%d records, %v", n, err)
	}
	want := errors.New("enough")
	if err := j.State("Pod", func(string, []byte) error { return want }); !errors.Is(err, want) {
		t.Error(err)
	}
	if data, ok, err := j.Get("Pod", "0000"); err != nil || !ok || data[0] != '2' {
		t.Errorf("%.5s %v %v", data, ok, err)
	}
}
