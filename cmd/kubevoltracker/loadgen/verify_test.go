package loadgen

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
)

func TestWantsAreExact(t *testing.T) {
	epoch := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }
	dated, watched := exactly(&epoch).after(at(-100)), within(at(-1), at(1)).after(at(-100))
	unproven := watched
	unproven.unproven = true
	type row struct {
		name         string
		want         want
		value, bound any
		judgement    judgement
	}
	judge := func(away absence, rows []row) {
		t.Helper()
		for _, c := range rows {
			if got := c.want.judge(c.value, c.bound, away); got != c.judgement {
				t.Errorf("%s: %d, want %d: %s from %v", c.name, got, c.judgement, c.value, c.bound)
			}
		}
	}
	elsewhere := absence{now: at(2000), gaps: []catalog.Gap{{From: at(-1040), To: at(-1010)}, {From: at(1010), To: at(1040)}}}
	judge(elsewhere, []row{
		{"same text", text("nfs"), "nfs", "nfs", right},
		{"other text", text("nfs"), "csi", "csi", wrong},
		{"no text", text(""), "", "", right},
		{"a number", text(int64(5)), int64(5), int64(5), right},
		{"NULL", absent, nil, nil, right},
		{"not NULL", absent, at(0), nil, wrong},
		{"NULL with a bound", absent, nil, at(0), wrong},
		{"a missing moment", dated, nil, nil, wrong},
		{"a missing bound", dated, at(0), nil, wrong},
		{"the moment", dated, at(0), at(0), right},
		{"within its second", dated, at(0.9), at(0.9), right},
		{"a second off", dated, at(1), at(1), wrong},
		{"a second early", dated, at(-1), at(-1), wrong},
		{"14 seconds late", dated, at(14), at(0), wrong},
		{"bounds since 1970", dated, at(0), time.Unix(0, 0), wrong},
		{"bounds around it", dated, at(5), at(-5), wrong},
		{"bounds around it, over another gap", dated, at(1050), at(-5), wrong},
		{"bounds before it, over another gap", dated, at(-4), at(-1050), wrong},
		{"watched", watched, at(2), at(2), right},
		{"watched as late as may be", watched, at(4.9), at(4.9), right},
		{"watched later", watched, at(5.1), at(5.1), wrong},
		{"watched 14 seconds late", watched, at(14), at(14), wrong},
		{"watched, with bounds", watched, at(14), at(-3), bounded},
		{"watched, with bounds until now", watched, at(2000), at(-3), bounded},
		{"watched, with bounds in the future", watched, at(2002), at(-3), wrong},
		{"watched, with bounds after it", watched, at(14), at(3), wrong},
		{"watched, with bounds since before it was made", watched, at(14), at(-102), wrong},
		{"watched, with bounds since 1970", watched, at(1), time.Unix(0, 0), wrong},
		{"the bound is later", watched, at(1), at(1.1), wrong},
		{"nobody reports it", unproven, at(1), at(-90), right},
		{"nobody reports it, and yet it is exact", unproven, at(1), at(1), wrong},
		{"nobody reports it, with bounds since 1970", unproven, at(1), time.Unix(0, 0), wrong},
		{"nobody reports it, with bounds in the future", unproven, at(2002), at(-90), wrong},
	})
	judge(absence{now: at(2000), gaps: []catalog.Gap{{From: at(-10), To: at(20)}}}, []row{
		{"bounds around it, over its gap", dated, at(21), at(-12), bounded},
		{"bounds later than its gap", dated, at(25), at(-12), wrong},
		{"bounds after it, over its gap", dated, at(21), at(4), wrong},
		{"bounds before it, over its gap", dated, at(-4), at(-12), wrong},
	})
	judge(absence{now: at(2000), gaps: []catalog.Gap{{From: at(-10)}}}, []row{
		{"bounds until now, over a gap that has not ended", dated, at(1999), at(-12), bounded},
		{"bounds in the future, over a gap that has not ended", dated, at(2005), at(-12), wrong},
	})
	for _, c := range []struct {
		name      string
		want      want
		value     any
		judgement judgement
	}{
		{"dated", dated, at(0.5), right},
		{"dated, late", dated, at(14), wrong},
		{"watched, late", watched, at(14), bounded},
		{"watched, in the future", watched, at(2002), wrong},
		{"watched, early", watched, at(-3), wrong},
		{"NULL", absent, nil, right},
		{"not NULL", absent, at(0), wrong},
		{"missing", unproven, nil, wrong},
		{"nobody reports it", unproven, at(1), right},
	} {
		if got := c.want.judgeAlone(c.value, elsewhere); got != c.judgement {
			t.Errorf("alone, %s: %d, want %d: %v", c.name, got, c.judgement, c.value)
		}
	}
}

// TestARefusedDeletionProvesNothing has a deletion that the API server refused, and one that it granted.
func TestARefusedDeletionProvesNothing(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 5, 1, 12, 0, second, 0, time.UTC) }
	truth := &truth{life: map[string]*life{}}
	for _, line := range []Line{
		{At: at(10), Action: Delete, Kind: ClaimKind, UID: "c1", Error: "conflict"},
		{At: at(20), Action: Delete, Kind: ClaimKind, UID: "c1"},
		{At: at(30), Action: Delete, Kind: ClaimKind, UID: "c1"},
	} {
		if err := truth.note(&line); err != nil {
			t.Fatal(err)
		}
	}
	if got := truth.life["c1"].asked; !got.Equal(at(20)) {
		t.Errorf("asked at %s", got)
	}
}

// TestOnlyWholeAccountsProveAnything reads files that are no account, or lack a part.
func TestOnlyWholeAccountsProveAnything(t *testing.T) {
	const began, seen = `{"action":"began","plan":{"run":"r1"}}` + "\n", `{"action":"observed","kind":"Pod","name":"lg-r1-p","uid":"p1","pod":{}}` + "\n"
	ended := func(lines int) string { return fmt.Sprintf(`{"action":"ended","totals":{"lines":%d}}`+"\n", lines) }
	for _, c := range []struct{ name, text, mention string }{
		{"empty", "", "not a whole account"},
		{"cut off", began + seen, "not a whole account"},
		{"no JSON", began + "hello\n", "line 2"},
		{"a hole", began + `{"action":"lost","error":"too old"}` + "\n" + ended(2), "too old"},
		{"two accounts", began + seen + ended(2) + began + seen + ended(2), "line 3 is another"},
		{"two runs in one", began + seen + began + seen + ended(4), "line 3 is another"},
		{"a line less", began + ended(2), "says 2"},
		{"nothing happened", began + ended(1), "proves nothing"},
		{"an observation of nothing", began + `{"action":"observed"}` + "\n" + ended(2), "line 2"},
		{"an observation of no kind", began + `{"action":"observed","name":"a","uid":"p1","pod":{}}` + "\n" + ended(2), "line 2"},
		{"a pod with the state of a claim", began + `{"action":"observed","kind":"Pod","name":"a","uid":"p1","claim":{}}` + "\n" + ended(2), "line 2"},
		{"an observation without a state", began + `{"action":"observed","uid":"p1"}` + "\n" + ended(2), "line 2"},
		{"whole", began + seen + ended(2), ""},
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
	restarts := false
	follow := func(gone bool, states ...ContainerState) use {
		l := &life{kind: PodKind}
		for i := range states {
			states[i].Name = "main"
			line := &Line{At: *at(50), Created: at(10), Gone: gone && i == len(states)-1, Pod: &PodState{Containers: states[i : i+1], Restarts: restarts}}
			l.versions = append(l.versions, version{line, uint64(i + 1)})
			if line.Gone {
				l.gone = line
			}
		}
		return useOf(l, "main")
	}
	again := func(gone bool, states ...ContainerState) use {
		restarts = true
		defer func() { restarts = false }()
		return follow(gone, states...)
	}
	byForce := within(*at(12), *at(50)).after(*at(12))
	byForce.unproven = true
	for _, c := range []struct {
		name string
		got  use
		want use
	}{
		{"never started", follow(true, ContainerState{}), use{end: absent}},
		{"runs", follow(false, ContainerState{}, ContainerState{Started: at(12)}), use{2, at(12), absent}},
		{"ended", follow(true, ContainerState{Started: at(12)}, ContainerState{Started: at(12), Finished: at(20)}), use{1, at(12), exactly(at(20)).after(*at(12))}},
		{"dates written twice", follow(false, ContainerState{Started: at(14)}, ContainerState{Started: at(13), Finished: at(20)}, ContainerState{Started: at(13), Finished: at(21)}), use{1, at(13), exactly(at(21)).after(*at(13))}},
		{"an earlier end written later", follow(false, ContainerState{Started: at(13), Finished: at(21)}, ContainerState{Started: at(13), Finished: at(20)}), use{1, at(13), exactly(at(20)).after(*at(13))}},
		{"a former pod's dates", follow(false, ContainerState{Started: at(5), Finished: at(7)}), use{1, at(10), within(*at(10), *at(50)).after(*at(10))}},
		{"a former pod's start", follow(false, ContainerState{Started: at(5), Finished: at(12)}), use{1, at(10), within(*at(10), *at(50)).after(*at(10))}},
		{"runs again", follow(false, ContainerState{Started: at(12)}, ContainerState{Started: at(12), Finished: at(20)}, ContainerState{Started: at(21)}), use{1, at(12), absent}},
		{"waits to run again", follow(false, ContainerState{Started: at(12), Finished: at(20)}, ContainerState{}), use{1, at(12), absent}},
		{"ran again and ended", follow(true, ContainerState{Started: at(12), Finished: at(20)}, ContainerState{Started: at(21)}, ContainerState{Started: at(21), Finished: at(25)}), use{1, at(12), exactly(at(25)).after(*at(12))}},
		{"deleted by force", follow(true, ContainerState{Started: at(12)}), use{1, at(12), byForce}},
		{"an end without a start", follow(true, ContainerState{Finished: at(20)}), use{end: absent}},
		{"ended, and is to run again", again(false, ContainerState{Started: at(12), Finished: at(20)}), use{1, at(12), absent}},
		{"deleted between two runs", again(true, ContainerState{Started: at(12), Finished: at(20)}, ContainerState{Started: at(12), Former: at(20)}), use{1, at(12), within(*at(20), *at(50)).after(*at(12))}},
	} {
		if c.got.number != c.want.number || c.got.end != c.want.end || (c.got.start == nil) != (c.want.start == nil) || c.got.start != nil && !c.got.start.Equal(*c.want.start) {
			t.Errorf("%s: %+v, want %+v", c.name, c.got, c.want)
		}
	}
	// An end without a date of its own came before it was first observed, and not before it was observed again.
	stale := &PodState{Containers: []ContainerState{{Name: "main", Started: at(5), Finished: at(7)}}}
	l := &life{kind: PodKind}
	for i, second := range []int{30, 50} {
		l.versions = append(l.versions, version{&Line{At: *at(second), Created: at(10), Pod: stale}, uint64(i + 1)})
	}
	if got, want := useOf(l, "main").end, within(*at(10), *at(30)).after(*at(10)); got != want {
		t.Errorf("an end observed twice: %+v, want %+v", got, want)
	}
}
