package journal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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
	case "fills a disk":
		os.Exit(fillsADisk(os.Getenv(pathEnv)))
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
	j, err := Open(Options{Path: path})
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
	path := filepath.Join(t.TempDir(), "journal.db")
	var last uint64
	var id string
	for range 8 {
		cmd := child(t, "commits", path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
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

		j := open(t, path)
		n := j.Version()
		if n != last && n != last+1 || j.Origin() != Resumed || id != "" && j.ID() != id {
			t.Fatalf("version %d, want %d or one more; %s, id %s, was %s", n, last, j.Origin(), j.ID(), id)
		}
		id = j.ID()
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
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d batches", last)
}

func TestAFileInUseIsNamedWithTheCure(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.db")
	cmd := child(t, "commits", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	bufio.NewScanner(out).Scan()
	go io.Copy(io.Discard, out)
	_, err = Open(Options{Path: path})
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "stop that tracker") {
		t.Error(err)
	}
	// A tracker that is being replaced is waited for.
	time.AfterFunc(lockPatience/4, func() { cmd.Process.Kill() })
	j, err := Open(Options{Path: path})
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
	for path, want := range map[string]string{
		dir:                                  "is a directory",
		filepath.Join(readOnly, "journal"):   "writable",
		filepath.Join(dir, "absent/journal"): "make the directory",
		"/dev/null":                          "no regular file",
	} {
		_, err := Open(Options{Path: path})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// fillDisk commits until there is no room, makes room, and goes on.
func fillDisk(path string, makeRoom func() error) error {
	j, err := Open(Options{Path: path})
	if err != nil {
		return err
	}
	defer j.Close()
	b := func(n int) Batch {
		return Batch{Facts: bytes.Repeat([]byte{byte(n)}, 100_000), State: []Record{{Kind: "Pod", UID: fmt.Sprint(n), Data: []byte("x")}}}
	}
	n := 0
	for ; n < 1000; n++ {
		if err = j.Commit(context.Background(), b(n)); err != nil {
			break
		}
	}
	if err == nil || errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "filesystem") {
		return fmt.Errorf("after %d batches: %w", n, err)
	}
	for range 3 { // it stays full, and whole
		if err := j.Commit(context.Background(), b(n)); err == nil || errors.Is(err, ErrCorrupt) {
			return fmt.Errorf("full again: %w", err)
		}
		if err := j.Check(); err != nil {
			return err
		}
	}
	if err := makeRoom(); err != nil {
		return err
	}
	for range 3 {
		if err := j.Commit(context.Background(), b(n)); err != nil {
			return err
		}
		n++
	}
	for i := range n {
		e, err := j.Next(context.Background(), uint64(i))
		if err != nil || e.Number != uint64(i+1) || len(e.Facts) != 100_000 || e.Facts[0] != byte(i) {
			return fmt.Errorf("batch %d: %d %w", i+1, e.Number, err)
		}
	}
	if err := errors.Join(j.Check(), j.Close()); err != nil {
		return err
	}
	if j, err = Open(Options{Path: path}); err != nil {
		return err
	}
	if j.Origin() != Resumed || j.Stats().Bytes != int64(n)*100_000 {
		return fmt.Errorf("%s, with %+v", j.Origin(), j.Stats())
	}
	return nil
}

func TestAFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=6m"); err != nil {
		t.Skipf("no filesystem can be mounted here: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := fillDisk(filepath.Join(dir, "journal.db"), func() error { return os.Remove(ballast) }); err != nil {
		t.Error(err)
	}
}

// TestAFullDiskIsRelievedByAcknowledgements: what was acknowledged makes room,
// although taking it out needs room itself.
func TestAFullDiskIsRelievedByAcknowledgements(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("no filesystem can be mounted here: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	j := open(t, filepath.Join(dir, "journal.db"))
	b := Batch{Facts: make([]byte, 300_000)}
	n := uint64(0)
	for j.Commit(t.Context(), b) == nil {
		n++
	}
	if err := j.Acknowledge(n); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		commit(t, j, b)
	}
	j.Close()
}

// fillsADisk is fillDisk where files may have 3 MB.
func fillsADisk(path string) int {
	signal.Ignore(syscall.SIGXFSZ)
	limit := func(n uint64) error {
		var was syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
			return err
		}
		was.Cur = n
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was)
	}
	if err := limit(9 << 20); err != nil {
		fmt.Println(err)
		return 1
	}
	if err := fillDisk(path, func() error { return limit(30 << 20) }); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func TestAFileThatMayNotGrowLosesNothing(t *testing.T) {
	t.Parallel()
	cmd := child(t, "fills a disk", filepath.Join(t.TempDir(), "journal.db"))
	if out, err := cmd.Output(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func openCompacting(t *testing.T, o Options) *Journal {
	t.Helper()
	j, err := openAt(o, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// mostlyFree is a closed journal with batches of 1 MB, all but the last acknowledged.
func mostlyFree(t *testing.T, path string) (size int64, id string) {
	t.Helper()
	j := open(t, path)
	commit(t, j, Batch{State: []Record{{Kind: "Pod", UID: "a", Data: []byte("kept")}}, Version: 5})
	for range 10 {
		commit(t, j, Batch{Facts: make([]byte, 1<<20)})
	}
	if err := j.Acknowledge(9); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return j.Stats().FileBytes, j.ID()
}

func TestAFileThatIsMostlyFreeIsMadeSmaller(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.db")
	size, id := mostlyFree(t, path)
	if err := os.WriteFile(compactName(path), []byte("left by a crash"), 0o600); err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	j := openCompacting(t, Options{Path: path, Logger: log.NewLogfmtLogger(&logged)})
	if s := j.Stats(); s.FileBytes > size/2 || !strings.Contains(logged.String(), "smaller") {
		t.Errorf("%d bytes, were %d; logged %s", s.FileBytes, size, &logged)
	}
	if e := drain(t, j, 0); len(e) != 1 || e[0].Number != 10 || len(e[0].Facts) != 1<<20 || state(t, j)["Pod/a"] != "kept" || j.ID() != id || j.Origin() != Resumed {
		t.Errorf("%d batches", len(e))
	}
	commit(t, j, Batch{State: []Record{{Kind: "Pod", UID: "b", Data: []byte("new")}}})
	if err := j.Check(); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(path + ".*"); err != nil || len(left) > 0 {
		t.Errorf("%q were left, %v", left, err)
	}
	if s, err := lockStore(path); !errors.Is(err, ErrInUse) {
		t.Errorf("the smaller file is not locked: %v", err)
		s.close()
	}
}

func TestAFileThatCannotBeMadeSmallerIsUsedAsItIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("no filesystem can be mounted here: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	path := filepath.Join(dir, "journal.db")
	_, id := mostlyFree(t, path)
	ballast, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = ballast.Write(make([]byte, 1<<10))
	}
	ballast.Close()
	var logged bytes.Buffer
	j := openCompacting(t, Options{Path: path, Logger: log.NewLogfmtLogger(&logged)})
	if j.Origin() != Resumed || j.ID() != id || !strings.Contains(logged.String(), "could not be made smaller") {
		t.Errorf("%s; logged %s", j.Origin(), &logged)
	}
	commit(t, j, Batch{Facts: []byte("next")})
	if e := drain(t, j, 0); len(e) != 2 || e[1].Number != 11 {
		t.Errorf("%d batches", len(e))
	}
	j.Close()
	if left, err := filepath.Glob(path + ".*"); err != nil || len(left) > 0 {
		t.Errorf("%q were left, %v", left, err)
	}
}

func TestAFileIsMadeSmallerOnceItIsDrained(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openCompacting(t, Options{Path: path})
	commit(t, j, Batch{State: []Record{{Kind: "Pod", UID: "a", Data: []byte("kept")}}})
	for range 30 {
		commit(t, j, Batch{Facts: make([]byte, 1<<20)})
	}
	commit(t, j, Batch{Facts: []byte("last")})
	if err := j.Acknowledge(30); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); j.Stats().FileBytes > 10<<20; time.Sleep(soon) {
		if time.Now().After(deadline) {
			t.Fatalf("%+v", j.Stats())
		}
	}
	commit(t, j, Batch{Facts: []byte("after")})
	for range 2 {
		if e := drain(t, j, 0); len(e) != 2 || string(e[0].Facts) != "last" || string(e[1].Facts) != "after" || state(t, j)["Pod/a"] != "kept" {
			t.Errorf("%+v", e)
		}
		if err := j.Check(); err != nil {
			t.Error(err)
		}
		j = reopen(t, j)
	}
}
