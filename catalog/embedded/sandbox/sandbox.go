// Package sandbox lets the kernel confine this program, so that code which it loads afterwards can
// neither read nor write other files than it must, nor reach the network, nor run programs. Neither
// a statement nor a mistake in the loaded code can undo it.
//
// Landlock restricts the file system and TCP, seccomp the creation of sockets of every kind and
// other system calls that a database does not need. Both apply to the thread that asks for them and
// to the programs that it executes. A Go program has several threads, and go-landlock restricts all
// of them only in programs that link no C library. So Enter restricts one thread, which executes the
// same program again.
package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// inherited is the environment variable that says that this process was executed by Enter, and which
// descriptors it inherits: that of the message, and those of the files. It grants nothing: Confined
// looks whether the kernel really refuses.
const inherited = "KUBEVOLTRACKER_SANDBOX"

// ErrUnsupported means that the kernel has no Landlock (it came with Linux 5.13), or that it was
// not enabled when the machine started.
var ErrUnsupported = errors.New("the kernel has no Landlock")

// Rules are what the confined program may do. It may use its open files in any case.
type Rules struct {
	// ReadWrite are directories whose files it may read, write, create and remove.
	ReadWrite []string
	// Read are files, and directories whose files, it may read. Those that do not exist count for
	// nothing.
	Read []string
}

// keptVariables are the environment variables that the confined program keeps. The others may hold
// secrets, or change which code it loads.
var keptVariables = []string{"TZ", "LANG", "LC_ALL", "GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG", "GOTRACEBACK", "GOCOVERDIR"}

// environment returns the kept variables of an environment, and one that names the inherited
// descriptors.
func environment(all []string, descriptors []string) []string {
	kept := []string{inherited + "=" + strings.Join(descriptors, ",")}
	for _, variable := range all {
		if name, _, _ := strings.Cut(variable, "="); slices.Contains(keptVariables, name) {
			kept = append(kept, variable)
		}
	}
	return kept
}

// Entered reports whether Enter has executed this process.
func Entered() bool { return os.Getenv(inherited) != "" }

// Inherit returns what the caller of Enter has passed on: its open files, and its message, which is
// decoded into message. The files get these names. It can be called once.
func Inherit(message any, names ...string) (files []*os.File, err error) {
	descriptors := strings.Split(os.Getenv(inherited), ",")
	if len(descriptors) != 1+len(names) {
		return nil, fmt.Errorf("the sandbox has passed on %d files, not a message and %q", len(descriptors), names)
	}
	for i, name := range append([]string{"message"}, names...) {
		fd, err := strconv.Atoi(descriptors[i])
		if err != nil {
			return nil, fmt.Errorf("the sandbox's file %s: %w", name, err)
		}
		files = append(files, os.NewFile(uintptr(fd), name))
	}
	defer files[0].Close()
	if err := json.NewDecoder(files[0]).Decode(message); err != nil {
		return nil, fmt.Errorf("the sandbox's message: %w", err)
	}
	return files[1:], nil
}
