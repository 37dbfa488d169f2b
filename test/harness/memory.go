package harness

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// PeakMB returns the most memory that a process has had resident, in MB.
func PeakMB(t testing.TB, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kB int
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kB); err == nil {
			return kB / 1024
		}
	}
	t.Fatalf("/proc/%d/status has no VmHWM", pid)
	return 0
}
