package loadgen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWantsAreExact(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name         string
		want         want
		value, since any
		holds        bool
	}{
		{"same text", text("nfs"), "nfs", nil, true},
		{"other text", text("nfs"), "csi", nil, false},
		{"no text", text(""), "", nil, true},
		{"a number", text(int64(5)), int64(5), nil, true},
		{"NULL", absent, nil, nil, true},
		{"not NULL", absent, at, nil, false},
		{"a missing moment", exactly(&at), nil, nil, false},
		{"the moment", exactly(&at), at, nil, true},
		{"within its second", exactly(&at), at.Add(900 * time.Millisecond), nil, true},
		{"a second off", exactly(&at), at.Add(time.Second), nil, false},
		{"a second early", exactly(&at), at.Add(-time.Second), nil, false},
		{"bounds around it", exactly(&at), at.Add(5 * time.Second), at.Add(-5 * time.Second), true},
		{"bounds after it", exactly(&at), at.Add(5 * time.Second), at.Add(4 * time.Second), false},
		{"bounds before it", exactly(&at), at.Add(-4 * time.Second), at.Add(-5 * time.Second), false},
		{"observed", within(at, at.Add(time.Second)), at.Add(2 * time.Second), nil, true},
		{"observed much later", within(at, at.Add(time.Second)), at.Add(time.Minute), nil, false},
	} {
		if c.want.holds(c.value, c.since) != c.holds {
			t.Errorf("%s: %v for %s since %v", c.name, !c.holds, c.value, c.since)
		}
	}
}

// TestOnlyWholeAccountsProveAnything reads files that are no account, or lack a part.
func TestOnlyWholeAccountsProveAnything(t *testing.T) {
	const began, ended = `{"action":"began","plan":{"run":"r1"}}`, `{"action":"ended"}`
	for _, c := range []struct{ name, text, mention string }{
		{"empty", "", "not a whole account"},
		{"cut off", began + "\n", "not a whole account"},
		{"no JSON", began + "\nhello\n", "line 2"},
		{"a hole", began + "\n" + `{"action":"lost","error":"too old"}` + "\n" + ended + "\n", "too old"},
		{"whole", began + "\n" + ended + "\n", ""},
	} {
		path := filepath.Join(t.TempDir(), "account")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readAccount(path)
		if c.mention == "" && err != nil || c.mention != "" && (err == nil || !strings.Contains(err.Error(), c.mention)) {
			t.Errorf("%s: want an error with %q, got %v", c.name, c.mention, err)
		}
	}
	if _, err := readAccount(filepath.Join(t.TempDir(), "missing")); err == nil || !strings.Contains(err.Error(), "--file") {
		t.Errorf("no error for a file that does not exist: %v", err)
	}
}

// TestUseLastsFromTheFirstStartToTheLastEnd follows containers whose status is written more than once, or has the dates
// of a former pod of the name.
func TestUseLastsFromTheFirstStartToTheLastEnd(t *testing.T) {
	at := func(second int) *time.Time {
		moment := time.Date(2026, 5, 1, 12, 0, second, 0, time.UTC)
		return &moment
	}
	follow := func(gone bool, states ...ContainerState) use {
		l := &life{kind: PodKind}
		for i := range states {
			states[i].Name = "main"
			line := &Line{At: *at(50), Created: at(10), Gone: gone && i == len(states)-1, Pod: &PodState{Containers: states[i : i+1]}}
			l.versions = append(l.versions, version{line, uint64(i + 1)})
			if line.Gone {
				l.gone = line
			}
		}
		return useOf(l, "main")
	}
	for _, c := range []struct {
		name string
		got  use
		want use
	}{
		{"never started", follow(true, ContainerState{}), use{end: absent}},
		{"runs", follow(false, ContainerState{}, ContainerState{Started: at(12)}), use{2, at(12), absent}},
		{"ended", follow(true, ContainerState{Started: at(12)}, ContainerState{Started: at(12), Finished: at(20)}), use{1, at(12), exactly(at(20))}},
		{"dates written twice", follow(false, ContainerState{Started: at(14)}, ContainerState{Started: at(13), Finished: at(20)}, ContainerState{Started: at(13), Finished: at(21)}), use{1, at(13), exactly(at(21))}},
		{"a former pod's dates", follow(false, ContainerState{Started: at(5), Finished: at(7)}), use{1, at(10), exactly(at(10))}},
		{"deleted by force", follow(true, ContainerState{Started: at(12)}), use{1, at(12), within(*at(12), *at(50))}},
	} {
		if c.got.number != c.want.number || c.got.end != c.want.end || (c.got.start == nil) != (c.want.start == nil) || c.got.start != nil && !c.got.start.Equal(*c.want.start) {
			t.Errorf("%s: %+v, want %+v", c.name, c.got, c.want)
		}
	}
}
