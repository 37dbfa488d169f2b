package app

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// unload has the kernel take the program's own pages out of this process's memory, of which
// the start needs twice as many as what comes after it: they stay otherwise for as long as
// there is room. Those that are needed come back from the page cache in microseconds: it has
// them all the same, so this spares the process's RSS, not the machine. That a kernel may
// refuse is no matter.
func unload() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range bytes.Lines(maps) {
		var from, to uintptr
		var may string
		if !bytes.HasSuffix(bytes.TrimSpace(line), []byte(" "+program)) {
			continue
		}
		if _, err := fmt.Sscanf(string(line), "%x-%x %s", &from, &to, &may); err == nil && may[1] == '-' { // not what it writes to
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED)
		}
	}
}
