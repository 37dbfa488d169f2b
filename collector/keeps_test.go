package collector

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-kit/log"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// An annotation that cannot be read is logged once, and again when its text changes or when it comes back.
func TestUnreadableKeepsAreLoggedOnce(t *testing.T) {
	var out bytes.Buffer
	k := keeps{logger: log.NewLogfmtLogger(&out), unreadable: map[string]string{}}
	for i, step := range []struct {
		volume fact.VolumeState
		lines  int
	}{
		{fact.VolumeState{UID: "v1", Name: "pv-1", Namespace: "shop", Claim: "data", KeepUnreadable: "for ever"}, 1},
		{fact.VolumeState{UID: "v1", Name: "pv-1", Mounts: 1, KeepUnreadable: "for ever"}, 0},
		{fact.VolumeState{UID: "v1", Name: "pv-1", KeepUnreadable: "until Friday"}, 1},
		{fact.VolumeState{UID: "v1", Name: "pv-1", KeepUntil: 1}, 0},
		{fact.VolumeState{UID: "v1", Name: "pv-1", KeepUnreadable: "until Friday"}, 1},
		{fact.VolumeState{UID: "v1", Name: "pv-1", KeepUnreadable: strings.Repeat("x", 2000)}, 1},
		{fact.VolumeState{UID: "v1", Name: "pv-1", KeepUnreadable: "until Friday", Gone: true}, 0},
	} {
		out.Reset()
		k.report(&fact.Update{Volumes: []fact.VolumeState{step.volume}})
		if got := strings.Count(out.String(), "\n"); got != step.lines {
			t.Errorf("step %d: %d lines, want %d:\n%s", i, got, step.lines, &out)
		}
		if out.Len() > 1000 {
			t.Errorf("step %d: the line has %d bytes", i, out.Len())
		}
		if step.lines > 0 && (!strings.Contains(out.String(), "name=pv-1") || !strings.Contains(out.String(), fmt.Sprintf("%.200s", step.volume.KeepUnreadable)) || !strings.Contains(out.String(), "hint=")) {
			t.Errorf("step %d: the line lacks the volume, the text or the hint: %s", i, &out)
		}
	}
	if len(k.unreadable) != 0 {
		t.Errorf("a deleted volume is remembered: %v", k.unreadable)
	}
}
