package journal

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// mapped is how much of a file is in this process's memory by its maps, in bytes.
func mapped(t *testing.T, path string) (bytes int) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	within := false
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		switch {
		case strings.HasSuffix(fields[0], ":"):
			if within && fields[0] == "Rss:" {
				kilobytes, err := strconv.Atoi(fields[1])
				if err != nil {
					t.Fatal(err)
				}
				bytes += kilobytes << 10
			}
		default:
			within = strings.HasSuffix(strings.TrimSpace(line), path)
		}
	}
	return bytes
}

func TestTheFileIsNotHeldInMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := open(t, path)
	big := strings.Repeat("x", 8<<20)
	commit(t, j, Batch{Facts: []byte(big), Rows: 1})
	entries := drain(t, j, 0)
	if len(entries) != 1 || string(entries[0].Facts) != big {
		t.Fatalf("%d entries", len(entries))
	}
	if got := mapped(t, path); got < len(big)/2 {
		t.Fatalf("reading has mapped %d bytes only: nothing is tested", got)
	}
	commit(t, j, Batch{State: []Record{{Kind: "Pod", UID: "1", Data: []byte("{}")}}})
	if got := mapped(t, path); got > len(big)/8 {
		t.Errorf("%d bytes of the file are held", got)
	}
	if again := drain(t, j, 0); len(again) != 1 || string(again[0].Facts) != big {
		t.Error("what was let go of does not come back")
	}
}
