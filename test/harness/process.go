package harness

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Stat returns the fields of /proc/PID/stat after the program's name. The first is the state, the second the parent.
func Stat(pid int) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])), nil
}

// ChildOf returns a process that another one has started and that still runs, or 0.
func ChildOf(t testing.TB, pid int) int {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		child, _ := strconv.Atoi(filepath.Base(path))
		if fields, err := Stat(child); err == nil && fields[1] == strconv.Itoa(pid) && fields[0] != "Z" {
			return child
		}
	}
	return 0
}
