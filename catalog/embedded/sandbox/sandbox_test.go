//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// message is what the test passes on to the confined process.
type message struct{ Inside, Outside string }

// TestMain is the confined process, too: Enter executes this test binary.
func TestMain(m *testing.M) {
	switch {
	case Entered():
		if err := confined(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("confined")
	case os.Getenv("SANDBOX_TEST") != "":
		inside, outside, _ := strings.Cut(os.Getenv("SANDBOX_TEST"), ":")
		file, err := os.Open(filepath.Join(outside, "passed on"))
		if err == nil {
			err = Enter(Rules{ReadWrite: []string{inside}, Read: []string{"/nowhere"}}, message{Inside: inside, Outside: outside}, file)
		}
		fmt.Println(err)
		os.Exit(1)
	default:
		os.Exit(m.Run())
	}
}

// confined returns what the kernel lets this process do and should not, or the other way round.
func confined() error {
	var m message
	files, err := Inherit(&m, "passed on")
	if err != nil {
		return err
	}
	text := make([]byte, 4)
	if _, err := files[0].Read(text); err != nil || string(text) != "open" {
		return fmt.Errorf("the file that was passed on: %q %w", text, err)
	}
	if !Confined() {
		return errors.New("not confined")
	}
	if variables := os.Environ(); len(variables) != 2 {
		return fmt.Errorf("its environment is %q", variables)
	}
	if err := os.WriteFile(filepath.Join(m.Inside, "new"), nil, 0o600); err != nil {
		return err
	}
	var refused []string
	try := func(what string, err error) {
		if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.EPERM) {
			refused = append(refused, what)
		}
	}
	_, err = os.ReadFile(filepath.Join(m.Outside, "secret"))
	try("read", err)
	try("write", os.WriteFile(filepath.Join(m.Outside, "secret"), nil, 0o600))
	try("create", os.WriteFile(filepath.Join(m.Outside, "new"), nil, 0o600))
	try("truncate", os.Truncate(filepath.Join(m.Outside, "secret"), 0))
	try("rename", os.Rename(filepath.Join(m.Inside, "new"), filepath.Join(m.Outside, "new")))
	_, err = os.ReadFile(filepath.Join(m.Inside, "link"))
	try("link", err)
	_, err = os.ReadFile("/proc/self/environ")
	try("proc", err)
	try("execute", exec.Command("/bin/true").Run())
	_, err = net.Listen("tcp", "127.0.0.1:0")
	try("tcp", err)
	_, err = net.Dial("udp", "127.0.0.1:9")
	try("udp", err)
	_, err = net.Dial("unix", "/nowhere")
	try("unix", err)
	try("mode", os.Chmod(m.Outside, 0o777))
	try("owner", os.Chown(m.Outside, os.Getuid(), os.Getgid()))
	try("attribute", unix.Setxattr(m.Outside, "user.x", nil, 0))
	try("limits", unix.Prlimit(os.Getppid(), unix.RLIMIT_CORE, nil, &unix.Rlimit{}))
	try("terminal", unix.IoctlSetInt(0, unix.TIOCSTI, 0))
	try("signal", unix.Kill(os.Getppid(), 0))
	want := []string{"read", "write", "create", "truncate", "rename", "link", "proc", "execute", "tcp", "udp", "unix", "mode", "owner", "attribute", "limits", "terminal"}
	if Version() >= 6 {
		want = append(want, "signal")
	}
	if !slices.Equal(refused, want) {
		return fmt.Errorf("the kernel refuses %v, not %v", refused, want)
	}
	return nil
}

func TestAConfinedProcess(t *testing.T) {
	if Version() == 0 {
		t.Skip("the kernel has no Landlock")
	}
	inside, outside := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"secret": "secret", "passed on": "open"} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(inside, "link")); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0])
	c.Env = []string{"SANDBOX_TEST=" + inside + ":" + outside, "PASSWORD=secret", "LD_PRELOAD=", "TZ=UTC"}
	if out, err := c.CombinedOutput(); err != nil || string(out) != "confined\n" {
		t.Errorf("%v %s", err, out)
	}
	if text, err := os.ReadFile(filepath.Join(outside, "secret")); string(text) != "secret" {
		t.Errorf("%q %v", text, err)
	}
}

// TestWhatIsPassedOnClosesNothing: Go's own descriptor for network events, above all, must stay what it is until the program
// is replaced. It dies otherwise, if it asks for events in between.
func TestWhatIsPassedOnClosesNothing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // Go has the descriptor for events from now on
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	before := openFiles(t)
	descriptors, err := inherit([]*os.File{file, file})
	if err != nil {
		t.Fatal(err)
	}
	after := openFiles(t)
	for fd, opened := range before {
		if after[fd] != opened {
			t.Errorf("descriptor %s was %s and is %q", fd, opened, after[fd])
		}
	}
	for _, fd := range descriptors {
		if after[fd] != before[strconv.Itoa(int(file.Fd()))] || before[fd] != "" {
			t.Errorf("descriptor %s is %q, which was passed on as %v", fd, after[fd], descriptors)
		}
		n, _ := strconv.Atoi(fd)
		_ = unix.Close(n)
	}
}

// openFiles returns what each descriptor of this process is open on, by number.
func openFiles(t *testing.T) map[string]string {
	t.Helper()
	const dir = "/proc/self/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]string{}
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil { // the directory itself is closed again
			open[e.Name()] = to
		}
	}
	return open
}

func TestWhatEachVersionOfLandlockCanForbid(t *testing.T) {
	for version, want := range map[int]struct {
		fs, net, scoped uint64
	}{
		1: {1<<13 - 1, 0, 0}, 2: {1<<14 - 1, 0, 0}, 3: {1<<15 - 1, 0, 0}, 4: {1<<15 - 1, 3, 0}, 5: {1<<16 - 1, 3, 0}, 6: {1<<16 - 1, 3, 3}, 99: {1<<16 - 1, 3, 3},
	} {
		if got := handled(version); got.HandledAccessFS != want.fs || got.HandledAccessNet != want.net || got.Scoped != want.scoped {
			t.Errorf("version %d: %+v", version, got)
		}
	}
}
