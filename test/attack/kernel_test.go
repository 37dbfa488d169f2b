package attack

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	seccomp "github.com/elastic/go-seccomp-bpf"

	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// withoutLandlock is the environment variable by which this test binary executes the program that it names, on a kernel
// that says that it has no Landlock.
const withoutLandlock = "ATTACK_WITHOUT_LANDLOCK"

func TestMain(m *testing.M) {
	if program := os.Getenv(withoutLandlock); program != "" {
		runtime.LockOSThread()
		err := seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Policy: seccomp.Policy{
			DefaultAction: seccomp.ActionAllow,
			Syscalls:      []seccomp.SyscallGroup{{Action: seccomp.ActionErrno | seccomp.Action(syscall.ENOSYS), Names: []string{"landlock_create_ruleset"}}},
		}})
		if err == nil {
			err = syscall.Exec(program, append([]string{program}, os.Args[1:]...), os.Environ())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(harness.Main(m, 1))
}

// engineWithoutLandlock starts kubevoltracker-clickhouse where the kernel has no Landlock, and returns its output once it serves or has
// ended.
func engineWithoutLandlock(t *testing.T, address string, flags ...string) (output func() string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0], append([]string{"--data-dir=" + t.TempDir(), "--listen-address=" + address, "--writer-password-stdin"}, flags...)...)
	c.Env = append(os.Environ(), withoutLandlock+"="+harness.Program(t, "kubevoltracker-clickhouse"))
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(catalogtest.Password+"\n"), out, out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = c.Wait(); close(ended) }()
	t.Cleanup(func() { _ = c.Process.Signal(syscall.SIGTERM); <-ended; out.Close() })
	output = func() string {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	harness.Eventually(t, "it serves or has ended", func() error {
		select {
		case <-ended:
			return nil
		default:
		}
		if !strings.Contains(output(), "serving ClickHouse") {
			return fmt.Errorf("%s", output())
		}
		return nil
	})
	return output
}

// TestAKernelThatCannotConfine serves by passwords only, on this machine only, and says so once.
func TestAKernelThatCannotConfine(t *testing.T) {
	address := "127.0.0.1:" + harness.FreePort(t)
	output := engineWithoutLandlock(t, address)
	ask := func(login string) (int, string) {
		at := &target{engine: &harness.ClickHouse{Address: address}}
		return at.send(t, nobody, get("query", "SELECT 1", "user", login, "password", catalogtest.Password))
	}
	if status, answer := ask("default"); status != http.StatusForbidden {
		t.Errorf("a reader without a password: %d %s", status, answer)
	}
	if status, answer := ask(catalogtest.User); answer != "1\n" {
		t.Errorf("the writer: %d %s", status, answer)
	}
	answer, err := http.Get("http://" + address + "/ping")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if said := answer.Header.Get("X-Kubevoltracker-Sandbox"); said != "none" {
		t.Errorf("the tracker hears that this confines it: %q", said)
	}
	if text := output(); strings.Count(text, "does not confine") != 1 || !strings.Contains(text, "sandbox=none") {
		t.Error(text)
	}
}

func TestAKernelThatCannotConfineServesNoOtherMachine(t *testing.T) {
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("readers\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	output := engineWithoutLandlock(t, "0.0.0.0:0", "--reader-password-file="+password)
	if text := output(); !strings.Contains(text, "no Landlock") || !strings.Contains(text, "reachable from other machines") {
		t.Error(text)
	}
}

// TestAForgedMark starts the program as if the sandbox had executed it already.
func TestAForgedMark(t *testing.T) {
	c := exec.Command(harness.Program(t, "kubevoltracker-clickhouse"), "--data-dir="+t.TempDir(), "--listen-address=127.0.0.1:0")
	c.Env = append(os.Environ(), "KUBEVOLTRACKER_SANDBOX=1")
	if out, err := c.CombinedOutput(); err == nil || strings.Contains(string(out), "serving") {
		t.Errorf("%v %s", err, out)
	}
}

// TestTheLibraryIsNotTakenFromTheWorkingDirectory plants a library where former versions looked for it.
func TestTheLibraryIsNotTakenFromTheWorkingDirectory(t *testing.T) {
	here, beside := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(here, ".cache", "lib"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(here, ".cache", "lib", "libchdb.so"), []byte("\x7fELF planted"), 0o700); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(beside, "kubevoltracker-clickhouse")
	text, err := os.ReadFile(harness.Program(t, "kubevoltracker-clickhouse"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, text, 0o700); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "--data-dir="+t.TempDir(), "--listen-address=127.0.0.1:0")
	c.Dir, c.Env = here, []string{"HOME=" + here} // without KUBEVOLTRACKER_CHDB_LIBRARY, which may name one
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "was not found") || strings.Contains(string(out), here) {
		t.Errorf("%v %s", err, out)
	}
}

// TestALibraryThatOthersCanChange must be the one that the project was tested with.
func TestALibraryThatOthersCanChange(t *testing.T) {
	library := filepath.Join(t.TempDir(), "libchdb.so")
	source, err := filepath.EvalSymlinks(harness.File(t, ".cache/lib/libchdb.so"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-1] ^= 1
	if err := os.WriteFile(library, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(library, 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(harness.Program(t, "kubevoltracker-clickhouse"), "--data-dir="+t.TempDir(), "--listen-address=127.0.0.1:0", "--library="+library).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "others can write "+library) || !strings.Contains(string(out), "SHA-256") {
		t.Errorf("%v %s", err, out)
	}
}

// TestTheProcessHasNothingToSteal looks at the running engine: its environment, its rights, its sockets.
func TestTheProcessHasNothingToSteal(t *testing.T) {
	at := newTarget(t)
	proc := fmt.Sprintf("/proc/%d/", at.engine.Pid())
	environment, err := os.ReadFile(proc + "environ")
	if err != nil {
		t.Fatal(err)
	}
	if text := string(environment); strings.Contains(text, secretOfEnvironment) || strings.Contains(text, catalogtest.Password) {
		t.Errorf("its environment: %q", text)
	}
	if _, text := at.send(t, programmer, sql("SELECT file('/proc/thread-self/environ')")); strings.Contains(text, secretOfEnvironment) || strings.Contains(text, catalogtest.Password) {
		t.Errorf("a statement reads its environment: %q", text)
	}
	if _, text := at.send(t, programmer, sql("SELECT file('/proc/thread-self/mem')")); text != "\n" {
		t.Errorf("a statement reads its memory: %.100q", text)
	}
	arguments, err := os.ReadFile(proc + "cmdline")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(arguments), catalogtest.Password) {
		t.Errorf("its arguments: %q", arguments)
	}
	status, err := os.ReadFile(proc + "status")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"NoNewPrivs:\t1\n", "Seccomp:\t2\n"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("no %q in %s", want, status)
		}
	}
	info, err := os.Stat(at.data)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// TestFlagsInTheEnvironmentReachTheConfinedProcess sets a flag by its variable, as every flag can be: the confined process
// does not see that.
func TestFlagsInTheEnvironmentReachTheConfinedProcess(t *testing.T) {
	t.Setenv("KUBEVOLTRACKER_CLICKHOUSE_MAX_MEMORY", "700MB")
	at := newTarget(t)
	if _, got := at.send(t, nobody, sql("SELECT value FROM system.server_settings WHERE name = 'max_server_memory_usage'")); got != "734003200\n" {
		t.Error(got)
	}
}
