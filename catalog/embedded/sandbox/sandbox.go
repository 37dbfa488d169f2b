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
	"strings"
)

// marker is the environment variable that says that this process was executed by Enter. It grants
// nothing: Confined looks whether the kernel really refuses.
const marker = "KUBEVOLTRACKER_SANDBOX"

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

// environment returns the kept variables of an environment.
func environment(all []string) []string {
	kept := []string{marker + "=1"}
	for _, variable := range all {
		if name, _, _ := strings.Cut(variable, "="); slices.Contains(keptVariables, name) {
			kept = append(kept, variable)
		}
	}
	return kept
}

// Entered reports whether Enter has executed this process.
func Entered() bool { return os.Getenv(marker) != "" }

// Inherit returns what the caller of Enter has passed on: its open files, and its message, which is
// decoded into message. It can be called once.
func Inherit(message any, names ...string) (files []*os.File, err error) {
	pipe := os.NewFile(firstFile, "message")
	if pipe == nil {
		return nil, errors.New("the sandbox has passed on no message")
	}
	defer pipe.Close()
	if err := json.NewDecoder(pipe).Decode(message); err != nil {
		return nil, fmt.Errorf("the sandbox's message: %w", err)
	}
	for i, name := range names {
		files = append(files, os.NewFile(uintptr(firstFile+1+i), name))
	}
	return files, nil
}

// firstFile is the descriptor of the message's pipe; the files follow it.
const firstFile = 3
