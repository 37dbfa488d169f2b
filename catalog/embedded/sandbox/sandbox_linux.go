package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

const (
	accessRead = landlock.AccessFSReadFile | landlock.AccessFSReadDir
	// accessWrite lacks what no database needs: devices and sockets. It has symbolic links, which
	// ClickHouse's databases consist of: the kernel checks what a link leads to.
	accessWrite = accessRead | landlock.AccessFSWriteFile | landlock.AccessFSTruncate | landlock.AccessFSRefer |
		landlock.AccessFSMakeReg | landlock.AccessFSMakeDir | landlock.AccessFSMakeSym | landlock.AccessFSMakeFifo |
		landlock.AccessFSRemoveFile | landlock.AccessFSRemoveDir
	// accessFile are the rights that a rule for a file, not a directory, may have.
	accessFile = landlock.AccessFSExecute | landlock.AccessFSReadFile
)

// handled returns all that a version of Landlock's interface can forbid.
// See https://docs.kernel.org/userspace-api/landlock.html#previous-limitations.
func handled(version int) landlock.RulesetAttr {
	attr := landlock.RulesetAttr{HandledAccessFS: landlock.AccessFSMakeSym<<1 - 1}
	for _, since := range []struct {
		version         int
		fs, net, scoped uint64
	}{
		{version: 2, fs: landlock.AccessFSRefer},
		{version: 3, fs: landlock.AccessFSTruncate},
		{version: 4, net: landlock.AccessNetBindTCP | landlock.AccessNetConnectTCP},
		{version: 5, fs: landlock.AccessFSIoctlDev},
		{version: 6, scoped: landlock.ScopeAbstractUnixSocket | landlock.ScopeSignal},
	} {
		if version >= since.version {
			attr.HandledAccessFS |= since.fs
			attr.HandledAccessNet |= since.net
			attr.Scoped |= since.scoped
		}
	}
	return attr
}

// forbiddenCalls are system calls that the confined program fails to make. The first line is the
// network: the program serves on a socket that it inherits. The others are ways around Landlock, or
// into other processes and the kernel.
var forbiddenCalls = []string{
	"socket", "socketpair", "connect", "bind", "listen",
	"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp",
	"io_uring_setup", "open_by_handle_at", "userfaultfd", "bpf", "perf_event_open",
	"mount", "umount2", "pivot_root", "chroot", "unshare", "setns", "move_mount", "fsopen", "open_tree",
	"add_key", "request_key", "keyctl", "init_module", "finit_module", "delete_module", "kexec_load",
	// Landlock does not know the rights of files.
	"chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchown", "fchownat",
	"setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "setpriority",
}

// Some calls are forbidden in part.
var forbiddenArguments = []seccomp.NameWithConditions{
	// the limits of other processes
	{Name: "prlimit64", Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.NotEqual, Value: 0}}},
	// to type into the administrator's terminal
	{Name: "ioctl", Conditions: seccomp.ArgumentConditions{{Argument: 1, Operation: seccomp.Equal, Value: unix.TIOCSTI}}},
	{Name: "ioctl", Conditions: seccomp.ArgumentConditions{{Argument: 1, Operation: seccomp.Equal, Value: unix.TIOCLINUX}}},
}

// Version returns the version of the kernel's Landlock interface, or 0 if it has none.
func Version() int {
	version, err := landlock.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return version
}

// Confined reports whether the kernel confines this process: whether it refuses to list the root
// directory, which Rules should never allow.
func Confined() bool {
	_, err := os.ReadDir("/")
	return errors.Is(err, os.ErrPermission)
}

// Enter executes this program again, confined by the rules, with the same arguments, an environment
// without secrets, and with the message and files, for Inherit. It returns only an error:
// ErrUnsupported, or what failed; the process is then not confined.
func Enter(rules Rules, message any, files ...*os.File) error {
	version := Version()
	if version == 0 {
		return ErrUnsupported
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	pipe, err := pipeWith(message)
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	defer pipe.Close()
	// The thread is restricted for good, and must not run anything else if Enter fails.
	runtime.LockOSThread()
	if err := restrict(version, program, rules); err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	descriptors, err := inherit(append([]*os.File{pipe}, files...))
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	return fmt.Errorf("sandbox: execute %s: %w", program, unix.Exec(program, os.Args, environment(os.Environ(), descriptors)))
}

// pipeWith returns a pipe that holds the message: less than the 64 KiB that a pipe takes without a
// reader.
func pipeWith(message any) (*os.File, error) {
	text, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	if len(text) > 32<<10 {
		return nil, fmt.Errorf("the message has %d bytes", len(text))
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, errors.Join(err, r.Close(), w.Close())
	}
	return r, w.Close()
}

// inherit returns copies of the files that stay open in the program which is executed next. Each is a
// new descriptor: to put them at known numbers could close one of Go's own, which knows no end of its
// descriptor for network events.
func inherit(files []*os.File) (descriptors []string, err error) {
	for _, f := range files {
		fd, err := unix.Dup(int(f.Fd()))
		if err != nil {
			return nil, fmt.Errorf("pass on %s: %w", f.Name(), err)
		}
		descriptors = append(descriptors, strconv.Itoa(fd))
	}
	return descriptors, nil
}

// restrict confines the calling thread.
func restrict(version int, program string, rules Rules) error {
	attr := handled(version)
	ruleset, err := landlock.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return fmt.Errorf("create a Landlock ruleset: %w", err)
	}
	defer unix.Close(ruleset)
	allow := func(path string, access uint64) error {
		return allowBeneath(ruleset, path, access&attr.HandledAccessFS)
	}
	for _, dir := range rules.ReadWrite {
		if err := allow(dir, accessWrite); err != nil {
			return err
		}
	}
	if err := allowTasks(ruleset, accessRead&attr.HandledAccessFS); err != nil {
		return err
	}
	linked, err := linkedFiles()
	if err != nil {
		return err
	}
	for _, path := range slices.Concat(rules.Read, linked) {
		if err := allow(path, accessRead); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	for _, path := range append(slices.DeleteFunc(slices.Clone(linked), isDirectory), program) {
		if err := allow(path, accessRead|landlock.AccessFSExecute); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := forbidCalls(); err != nil { // it sets no_new_privs, too, which Landlock needs
		return fmt.Errorf("load the seccomp filter: %w", err)
	}
	if err := landlock.LandlockRestrictSelf(ruleset, 0); err != nil {
		return fmt.Errorf("restrict by Landlock: %w", err)
	}
	return nil
}

// forbidCalls makes the forbidden system calls fail by EPERM, and all those of another architecture:
// a 64-bit kernel serves 32-bit calls as well, which go-seccomp-bpf lets pass.
func forbidCalls() error {
	native, err := arch.GetInfo("")
	if err != nil {
		return err
	}
	known := func(name string) bool { _, ok := native.SyscallNames[name]; return ok }
	group := seccomp.SyscallGroup{Action: seccomp.ActionErrno, NamesWithCondtions: forbiddenArguments}
	for _, name := range forbiddenCalls { // newer architectures lack the older calls
		if known(name) {
			group.Names = append(group.Names, name)
		}
	}
	filter := seccomp.Filter{NoNewPrivs: true, Policy: seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{group}}}
	if err := seccomp.LoadFilter(filter); err != nil {
		return err
	}
	const (
		offsetCall, offsetArch = 0, 4 // in the kernel's struct seccomp_data
		x32                    = 1 << 30
	)
	refuse := uint32(seccomp.ActionErrno) | uint32(unix.EPERM)
	program, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(native.ID), SkipTrue: 3},
		bpf.LoadAbsolute{Off: offsetCall, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32, SkipTrue: 1},
		bpf.RetConstant{Val: uint32(seccomp.ActionAllow)},
		bpf.RetConstant{Val: refuse},
	})
	if err != nil {
		return err
	}
	instructions := make([]unix.SockFilter, len(program))
	for i, p := range program {
		instructions[i] = unix.SockFilter{Code: p.Op, Jt: p.Jt, Jf: p.Jf, K: p.K}
	}
	loaded := unix.SockFprog{Len: uint16(len(instructions)), Filter: &instructions[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&loaded)), 0, 0)
}

// allowTasks lets threads read their own counters: ClickHouse asks for those of each of its threads, and
// a refusal costs it more than a small statement. There is no secret in these files, as the environment
// is clean. The descriptor stays open in the executed program: a rule holds as long as the kernel
// remembers the directory.
func allowTasks(ruleset int, access uint64) error {
	const path = "/proc/self/task"
	fd, err := unix.Open(path, unix.O_PATH, 0)
	if err != nil {
		return &os.PathError{Op: "allow", Path: path, Err: err}
	}
	return addRule(ruleset, path, fd, access)
}

// allowBeneath allows access to a file, or to a directory and all beneath it.
func allowBeneath(ruleset int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "allow", Path: path, Err: err}
	}
	defer unix.Close(fd)
	if !isDirectory(path) {
		access &= accessFile
	}
	return addRule(ruleset, path, fd, access)
}

// addRule allows access to what is open as fd, and to all beneath it; path is its name in an error.
func addRule(ruleset int, path string, fd int, access uint64) error {
	rule := landlock.PathBeneathAttr{AllowedAccess: access, ParentFd: fd}
	if err := landlock.LandlockAddPathBeneathRule(ruleset, &rule, 0); err != nil {
		return &os.PathError{Op: "allow", Path: path, Err: err}
	}
	return nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// linkedFiles returns the files that this program was linked with: C library and dynamic linker;
// and their directories, in which the linker finds the libraries of what is loaded later.
func linkedFiles() ([]string, error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	found := []string{"/etc/ld.so.cache"}
	for line := range strings.Lines(string(maps)) {
		_, path, ok := strings.Cut(strings.TrimSpace(line), "/")
		if path = "/" + path; ok && strings.Contains(filepath.Base(path), ".so") {
			found = append(found, path, filepath.Dir(path))
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}
