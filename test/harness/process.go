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

// stat returns the fields of /proc/PID/stat behind the program's name; the first is its state.
func Stat(pid int) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])), nil
}

// childOf returns the process that another one has started, 0 if it has none.
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
