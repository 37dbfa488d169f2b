package scale

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// progress remembers in a file beside the catalog which steps of its fill are done. A fill that was interrupted, which can take more than
// an hour, continues with the step that was cut off: it writes that step's rows again, and of rows with the same key the tables keep one.
type progress struct {
	path string
	done []string
}

// complete is the last step.
const complete = "complete"

// openProgress reads what is done of the fill of a directory, and when its history began. The first time, that is began.
func openProgress(t *testing.T, dir string, began time.Time) (*progress, time.Time) {
	t.Helper()
	p := &progress{path: filepath.Join(dir, "filled")}
	text, err := os.ReadFile(p.path)
	if os.IsNotExist(err) {
		p.add(t, strconv.FormatInt(began.Unix(), 10))
		return p, began
	}
	if err != nil {
		t.Fatal(err)
	}
	p.done = strings.Split(strings.TrimSpace(string(text)), "\n")
	seconds, err := strconv.ParseInt(p.done[0], 10, 64)
	if err != nil {
		t.Fatalf("%s: %v; remove %s to fill it anew", p.path, err, dir)
	}
	return p, time.Unix(seconds, 0).UTC()
}

// step runs a step unless it is done.
func (p *progress) step(t *testing.T, name string, run func()) {
	t.Helper()
	if slices.Contains(p.done, name) {
		return
	}
	began := time.Now()
	run()
	t.Logf("%s in %s", name, time.Since(began).Round(time.Second))
	p.add(t, name)
}

func (p *progress) add(t *testing.T, name string) {
	t.Helper()
	p.done = append(p.done, name)
	if err := os.WriteFile(p.path, []byte(strings.Join(p.done, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}
