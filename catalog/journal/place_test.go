package journal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/go-kit/log"
)

// The test binary is its own child: what these variables name is what the child does.
const (
	childEnv = "JOURNAL_TEST_CHILD"
	pathEnv  = "JOURNAL_TEST_PATH"
)

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "commits":
		os.Exit(commits(os.Getenv(pathEnv)))
	}
	os.Exit(m.Run())
}

func child(t *testing.T, does, path string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childEnv+"="+does, pathEnv+"="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

// commits writes until it is killed: batch n sets the position, an object and the
// facts to n, and deletes the object of the batch ten before. It prints n after that.
func commits(path string) int {
	j, err := Open(context.Background(), Options{Path: path})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for n := j.Version() + 1; ; n++ {
		b := Batch{
			Facts: bytes.Repeat([]byte(fmt.Sprint(n, " ")), 1+rand.IntN(3000)), Rows: 1, Version: n,
			State:     []Record{{Kind: "Pod", UID: fmt.Sprint(n), Data: []byte(fmt.Sprint(n))}, {Kind: "Pod", UID: fmt.Sprint(int(n) - 10)}},
			Positions: []Position{{Kind: "Pod", ResourceVersion: fmt.Sprint(n)}},
		}
		if err := j.Commit(context.Background(), b); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(n)
		if n > 20 {
			if err := j.Acknowledge(n - 20); err != nil {
				return 1
			}
		}
	}
}

func TestWhatWasCommittedOutlivesAKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	var last uint64
	var id string
	for range 8 {
		last = commitUntilKilled(t, path)
		j := open(t, path)
		n := j.Version()
		if n != last && n != last+1 || j.Origin() != Resumed || id != "" && j.ID() != id {
			t.Fatalf("version %d, want %d or one more; %s, id %s, was %s", n, last, j.Origin(), j.ID(), id)
		}
		id = j.ID()
		checkCommits(t, j, n)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d batches", last)
}

// startCommits starts a child that commits, and returns its standard output.
func startCommits(t *testing.T, path string) (*exec.Cmd, io.Reader) {
	t.Helper()
	cmd := child(t, "commits", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

// commitUntilKilled runs a child that commits, kills it within 100 ms, and returns the last commit that it printed.
func commitUntilKilled(t *testing.T, path string) (last uint64) {
	t.Helper()
	cmd, out := startCommits(t, path)
	lines := bufio.NewScanner(out)
	lines.Scan() // it is up
	time.AfterFunc(time.Duration(rand.IntN(100))*time.Millisecond, func() { cmd.Process.Kill() })
	text := lines.Text()
	for lines.Scan() {
		text = lines.Text()
	}
	cmd.Wait()
	if _, err := fmt.Sscan(text, &last); err != nil {
		t.Fatal(err)
	}
	return last
}

// checkCommits checks that a journal has all that a child committed up to commit n: see commits.
func checkCommits(t *testing.T, j *Journal, n uint64) {
	t.Helper()
	if p := j.Positions()["Pod"].ResourceVersion; p != fmt.Sprint(n) {
		t.Errorf("position %s, want %d", p, n)
	}
	found := state(t, j)
	for i := max(1, int(n)-9); i <= int(n); i++ {
		if found[fmt.Sprint("Pod/", i)] != fmt.Sprint(i) {
			t.Errorf("object %d is %q", i, found[fmt.Sprint("Pod/", i)])
		}
	}
	if len(found) != min(10, int(n)) {
		t.Errorf("%d objects", len(found))
	}
	entries := drain(t, j, 0)
	if len(entries) < min(int(n), 20) {
		t.Errorf("%d batches wait", len(entries))
	}
	for i, e := range entries {
		if e.Number != n-uint64(len(entries)-1-i) || !strings.HasPrefix(string(e.Facts), fmt.Sprint(e.Number, " ")) {
			t.Errorf("batch %d holds %.20q", e.Number, e.Facts)
		}
	}
}

func TestADirectoryInUseIsNamedWithTheCure(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	cmd, out := startCommits(t, path)
	bufio.NewScanner(out).Scan()
	go io.Copy(io.Discard, out)
	_, err := Open(t.Context(), Options{Path: path})
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "stop that tracker") {
		t.Error(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := Open(ended, Options{Path: path}); !errors.Is(err, context.Canceled) {
		t.Errorf("a stop while the journal waits for the directory: %v", err)
	}
	// A tracker that is being replaced is waited for.
	time.AfterFunc(lockPatience/4, func() { cmd.Process.Kill() })
	j, err := Open(t.Context(), Options{Path: path})
	if err != nil || j.Origin() != Resumed {
		t.Fatal(err)
	}
	j.Close()
	cmd.Wait()
}

func TestAPlaceThatWillNotDoIsNamedWithTheCure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	readOnly := filepath.Join(dir, "read-only")
	if err := os.Mkdir(readOnly, 0o500); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		readOnly = "/sys" // where not even root may
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file:                                 "is no directory",
		filepath.Join(file, "journal"):       "is no directory",
		filepath.Join(readOnly, "journal"):   "writable",
		filepath.Join(dir, "absent/journal"): "make the directory",
		"/dev/null":                          "is no directory",
	} {
		_, err := Open(t.Context(), Options{Path: path})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// smallDisk is a filesystem of so many MB.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", size)); err != nil {
		t.Skipf("no filesystem can be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// numbered is batch n of a test of the disk.
func numbered(n int) Batch {
	data := random(100_000)
	data[0] = byte(n)
	return Batch{Facts: data, State: []Record{{Kind: "Pod", UID: fmt.Sprint(n), Data: []byte("x")}}}
}

// fill commits batches, from n on, until there is no room, and returns the next n.
func fill(t *testing.T, j *Journal, n int) int {
	t.Helper()
	for ; n < 2000; n++ {
		if err := j.Commit(t.Context(), numbered(n)); err != nil {
			checkFull(t, j, err)
			return n
		}
	}
	t.Fatal("it never was full")
	return 0
}

func checkFull(t *testing.T, j *Journal, err error) {
	t.Helper()
	if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), j.options.Path) || !strings.Contains(err.Error(), "make room on the filesystem") {
		t.Fatal(err)
	}
}

func TestAFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, 64)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 20<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	j := open(t, filepath.Join(dir, "journal"))
	n := 0
	for range 4 { // it stays full, but for what a compaction gives back, and whole
		n = fill(t, j, n)
		if err := j.check(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		commit(t, j, numbered(n))
		n++
	}
	for range 2 {
		entries := drain(t, j, 0)
		if len(entries) != n {
			t.Fatalf("%d batches, want %d", len(entries), n)
		}
		for i, e := range entries {
			if e.Number != uint64(i+1) || len(e.Facts) != 100_000 || e.Facts[0] != byte(i) {
				t.Fatalf("batch %d: %d of %d bytes", i+1, e.Number, len(e.Facts))
			}
		}
		if err := j.check(); err != nil {
			t.Fatal(err)
		}
		if j = reopen(t, j); j.Origin() != Resumed {
			t.Fatal(j.Origin())
		}
	}
	t.Logf("%d batches", n)
}

// TestAFullDiskIsRelievedByAcknowledgements: what was acknowledged makes room,
// although deleting it needs room itself.
func TestAFullDiskIsRelievedByAcknowledgements(t *testing.T) {
	t.Parallel()
	j := open(t, filepath.Join(smallDisk(t, 48), "journal"))
	for range 3 {
		n := fill(t, j, 0)
		if err := j.Acknowledge(j.head.Last); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			commit(t, j, numbered(n+i))
		}
	}
	if err := j.check(); err != nil {
		t.Error(err)
	}
}

// TestADiskOrAQuotaWithoutRoomIsRelievedByAcknowledgements has no room for one commit.
func TestADiskOrAQuotaWithoutRoomIsRelievedByAcknowledgements(t *testing.T) {
	t.Parallel()
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		j, f, _ := failing(t)
		commit(t, j, Batch{Facts: []byte("written")})
		if err := j.Acknowledge(1); err != nil {
			t.Fatal(err)
		}
		var once sync.Once
		f.set(func(op errorfs.Op) (err error) {
			if op.Kind == errorfs.OpGetDiskUsage {
				once.Do(func() { err = full })
			}
			return err
		})
		if err := j.Commit(t.Context(), Batch{Facts: []byte("next")}); err != nil || j.head.Acknowledged != 1 {
			t.Errorf("%v: %v, acknowledged are %d", full, err, j.head.Acknowledged)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAJournalOpensOnAFullDisk: there is no room for one byte, but the reserve.
func TestAJournalOpensOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, 64)
	path := filepath.Join(dir, "journal")
	j := open(t, path)
	for n := range 30 {
		commit(t, j, numbered(n))
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	ballast, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	fill := func() {
		var err error
		for err == nil {
			_, err = ballast.Write(make([]byte, 512))
		}
	}
	fill()
	for range 3 {
		j = open(t, path)
		if j.Origin() != Resumed || len(drain(t, j, 0)) != 30 {
			t.Fatal(j.Origin())
		}
		// The logs of before are gone now, so there may be room for a batch.
		if err := j.Commit(t.Context(), Batch{State: numbered(1).State}); err != nil {
			checkFull(t, j, err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(ballast.Close(), os.Remove(ballast.Name())); err != nil {
		t.Fatal(err)
	}
	j = open(t, path)
	commit(t, j, numbered(30))
	if _, err := os.Stat(filepath.Join(path, reserveName)); err != nil {
		t.Errorf("there is no new reserve: %v", err)
	}
}

// TestADiskThatOthersFillLosesNothing takes all but the reserve away while commits go on.
func TestADiskThatOthersFillLosesNothing(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, 64)
	path := filepath.Join(dir, "journal")
	j := open(t, path)
	n := 0
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() { // others fill the disk to the last byte, and give some back, again and again
		defer close(done)
		for name := filepath.Join(dir, "theirs"); ; {
			select {
			case <-stop:
				return
			default:
			}
			f, err := os.Create(name)
			for err == nil {
				_, err = f.Write(make([]byte, 64<<10))
			}
			time.Sleep(soon)
			f.Close()
			os.Remove(name)
			time.Sleep(2 * soon)
		}
	}()
	for begun := time.Now(); time.Since(begun) < 5*time.Second; {
		err := j.Commit(t.Context(), numbered(n))
		if errors.Is(err, ErrFailed) {
			t.Logf("it failed after %d batches: %v", n, err)
			break
		}
		if err == nil {
			n++
			if err := j.Acknowledge(j.head.Last); err != nil {
				t.Fatal(err)
			}
		} else {
			checkFull(t, j, err)
		}
	}
	close(stop)
	<-done
	if err := j.failure(); err == nil {
		if err := j.check(); err != nil {
			t.Error(err)
		}
		j = reopen(t, j)
		if j.Origin() != Resumed || len(state(t, j)) != n {
			t.Errorf("%s, %d of %d", j.Origin(), len(state(t, j)), n)
		}
	}
	t.Logf("%d batches", n)
}

// faults fails the operations of the filesystem that a test chooses.
type faults struct {
	on atomic.Pointer[func(errorfs.Op) error]
}

func (f *faults) String() string { return "faults" }

func (f *faults) MaybeError(op errorfs.Op) error {
	if do := f.on.Load(); do != nil {
		return (*do)(op)
	}
	return nil
}

func (f *faults) set(do func(errorfs.Op) error) { f.on.Store(&do) }

// failing is a journal on a filesystem that makes faults.
func failing(t *testing.T) (*Journal, *faults, *bytes.Buffer) {
	t.Helper()
	var f faults
	var logged bytes.Buffer
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) // a database that has failed may write to it still
	o := Options{Path: filepath.Join(dir, "journal"), Logger: log.NewSyncLogger(log.NewLogfmtLogger(&logged))}
	j, err := openAt(t.Context(), o, errorfs.Wrap(vfs.Default, &f))
	if err != nil {
		t.Fatal(err)
	}
	return j, &f, &logged
}

// diskFaults returns the operations that fail on a bad disk, by name.
func diskFaults() map[string]func(op errorfs.Op) bool {
	is := func(op errorfs.Op, suffix string, kinds ...errorfs.OpKind) bool {
		return strings.Contains(filepath.Base(op.Path), suffix) && slices.Contains(kinds, op.Kind)
	}
	return map[string]func(op errorfs.Op) bool{
		"writing the log": func(op errorfs.Op) bool { return is(op, ".log", errorfs.OpFileWrite) },
		"syncing the log": func(op errorfs.Op) bool {
			return is(op, ".log", errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo)
		},
		"creating a log": func(op errorfs.Op) bool {
			return is(op, ".log", errorfs.OpCreate, errorfs.OpReuseForWrite)
		},
		"syncing the directory": func(op errorfs.Op) bool { return is(op, "journal", errorfs.OpFileSync) },
		"writing the MANIFEST":  func(op errorfs.Op) bool { return is(op, "MANIFEST", errorfs.OpFileWrite) },
		"syncing the MANIFEST":  func(op errorfs.Op) bool { return is(op, "MANIFEST", errorfs.OpFileSync) },
		"writing a table":       func(op errorfs.Op) bool { return is(op, ".sst", errorfs.OpFileWrite) },
	}
}

// TestADiskThatFailsEndsTheJournalAndNotTheProcess: where the database would end the process,
// every call says what to do; and the data is there when it is opened again.
func TestADiskThatFailsEndsTheJournalAndNotTheProcess(t *testing.T) {
	t.Parallel()
	for name, fault := range diskFaults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, f, logged := failing(t)
			m := newModel(3)
			for range 20 {
				commit(t, j, m.batch())
			}
			waits := make(chan error)
			go func() { _, err := j.Next(context.Background(), 1000); waits <- err }()
			f.set(func(op errorfs.Op) error {
				if fault(op) {
					return syscall.EIO
				}
				return nil
			})
			before, err := commitUntilError(t, j, m)
			for call, err := range map[string]error{
				"Commit": err, "Commit again": j.Commit(t.Context(), Batch{}), "Acknowledge": j.Acknowledge(1), "Check": j.check(),
				"State": j.State("Pod", func(string, []byte) error { return nil }), "Next": <-waits, "Reset": j.Reset(), "Close": j.Close(),
			} {
				if !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), j.options.Path) || !strings.Contains(err.Error(), "start the tracker again") {
					t.Errorf("%s: %v", call, err)
				}
			}
			j.Stats()
			if n := strings.Count(logged.String(), "level=error"); n != 1 {
				t.Errorf("logged %d errors: %s", n, logged)
			}
			checkOnDisk(t, j.options.Path, before, m)
		})
	}
}

// commitUntilError commits the model's batches, at most 2,000, until one fails. It returns the model before the
// commit that failed.
func commitUntilError(t *testing.T, j *Journal, m *model) (before *model, err error) {
	before = m.copy()
	for i := 0; i < 2000 && err == nil; i++ {
		before = m.copy()
		if err = j.Commit(t.Context(), m.batch()); err == nil {
			before = m.copy()
		}
	}
	return before, err
}

// checkOnDisk opens a copy of a failed journal's files, as another process would. The commit that failed may be on
// disk or not.
func checkOnDisk(t *testing.T, failed string, before, after *model) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal")
	writeFiles(t, path, files(t, failed))
	j := open(t, path)
	if j.Origin() != Resumed {
		t.Fatal(j.Origin())
	}
	if maps.Equal(state(t, j), before.state) && len(drain(t, j, 0)) == len(before.facts) {
		before.holds(t, j)
	} else {
		after.holds(t, j)
	}
}

// TestACommitRespectsItsContextWhileTheDiskBlocks has the log take no byte for a while.
func TestACommitRespectsItsContextWhileTheDiskBlocks(t *testing.T) {
	t.Parallel()
	j, f, _ := failing(t)
	commit(t, j, Batch{Facts: []byte("first")})
	blocked := make(chan struct{})
	f.set(func(op errorfs.Op) error {
		if strings.HasSuffix(op.Path, ".log") {
			<-blocked
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	begun := time.Now()
	for range 2 {
		err := j.Commit(ctx, Batch{Facts: []byte("second")})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > commitPatience+5*time.Second {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
	}
	close(blocked)
	commit(t, j, Batch{Facts: []byte("third")})
	if e := drain(t, j, 0); len(e) != 3 || string(e[2].Facts) != "third" {
		t.Errorf("%+v", e)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// TestWhatTheSystemRefusesSetsNothingAside opens a journal with too few file descriptors.
func TestWhatTheSystemRefusesSetsNothingAside(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{syscall.EMFILE, syscall.EACCES, syscall.ENOMEM} {
		j, f, _ := failing(t)
		commit(t, j, Batch{Facts: []byte("facts")})
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		f.set(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpOpen && strings.Contains(op.Path, "MANIFEST") {
				return refusal
			}
			return nil
		})
		if _, err := openAt(t.Context(), j.options, errorfs.Wrap(vfs.Default, f)); !errors.Is(err, refusal) || errors.Is(err, ErrCorrupt) {
			t.Error(err)
		}
		if j = open(t, j.options.Path); j.Origin() != Resumed {
			t.Error(j.Origin())
		}
	}
}

// TestAStopEndsTheReadingOfAJournal cancels as soon as the first table is read.
func TestAStopEndsTheReadingOfAJournal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	writeTables(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	var f faults
	f.set(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileReadAt && strings.HasSuffix(op.Path, ".sst") {
			cancel()
		}
		return nil
	})
	if _, err := openAt(ctx, Options{Path: path}, errorfs.Wrap(vfs.Default, &f)); !errors.Is(err, context.Canceled) {
		t.Errorf("opened, with %v", err)
	}
	if j := open(t, path); j.Origin() != Resumed {
		t.Error(j.Origin())
	}
}

// TestAStopEndsACommitThatWaitsForRoom: the commit has deleted the acknowledged facts, and waits until that frees space.
func TestAStopEndsACommitThatWaitsForRoom(t *testing.T) {
	t.Parallel()
	j, f, _ := failing(t)
	commit(t, j, Batch{Facts: []byte("acknowledged")})
	if err := j.Acknowledge(1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var asked atomic.Int32
	f.set(func(op errorfs.Op) error {
		if op.Kind != errorfs.OpGetDiskUsage {
			return nil
		}
		if asked.Add(1) == 3 { // the first time it has not waited yet
			cancel()
		}
		return syscall.ENOSPC
	})
	if err := j.Commit(ctx, Batch{Facts: []byte("too much")}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the commit waits on: %v", err)
	}
	f.set(func(errorfs.Op) error { return nil })
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// TestTheDirectoryIsSmallAgainOnceItIsDrained: an outage fills it, and the database gives the
// room back.
func TestTheDirectoryIsSmallAgainOnceItIsDrained(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	commit(t, j, Batch{State: []Record{{Kind: "Pod", UID: "a", Data: []byte("kept")}}})
	for range 60 {
		commit(t, j, Batch{Facts: random(1 << 20)})
	}
	commit(t, j, Batch{Facts: []byte("last")})
	full := j.Stats().FileBytes
	if err := j.Acknowledge(60); err != nil {
		t.Fatal(err)
	}
	size := func() (bytes int64) {
		for _, data := range files(t, path) {
			bytes += int64(len(data))
		}
		return bytes
	}
	for deadline := time.Now().Add(time.Minute); j.Stats().FileBytes > 16<<20; time.Sleep(4 * soon) {
		if time.Now().After(deadline) {
			t.Fatalf("%+v", j.Stats())
		}
	}
	t.Logf("%d bytes when full, then %d; on disk %d", full, j.Stats().FileBytes, size())
	if full < 60<<20 || size() > 24<<20 {
		t.Error("it did not shrink")
	}
	commit(t, j, Batch{Facts: []byte("after")})
	for range 2 {
		if e := drain(t, j, 0); len(e) != 2 || string(e[0].Facts) != "last" || string(e[1].Facts) != "after" || state(t, j)["Pod/a"] != "kept" {
			t.Errorf("%+v", e)
		}
		if err := j.check(); err != nil {
			t.Error(err)
		}
		j = reopen(t, j)
	}
}
