package app

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestStartHeap(t *testing.T) {
	const mb = 1 << 20
	for name, c := range map[string]struct{ rest, live, want uint64 }{
		"nothing is known":                          {0, 40 * mb, 0},
		"on the way to what it has at rest":         {200 * mb, 40 * mb, 400 * mb},
		"the cluster has become larger: as by GOGC": {200 * mb, 300 * mb, 0},
	} {
		if got := startHeap(c.rest, c.live); got != c.want {
			t.Errorf("%s: %d MB, want %d", name, got/mb, c.want/mb)
		}
	}
}

// managed runs the part "memory" until it has noted a heap at rest, and returns what it noted and the limit that was in
// force during the start.
func managed(t *testing.T, rest uint64) (noted []uint64, limit int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	asked := 0
	m := memory{
		started: func() bool {
			limit = debug.SetMemoryLimit(-1)
			asked++
			return asked > 2
		},
		rest:    func() uint64 { return rest },
		resting: func() bool { return true },
		note: func(live uint64) {
			if noted = append(noted, live); len(noted) == 2 {
				cancel()
			}
		},
	}
	if err := m.run(ctx); err != nil {
		t.Error(err)
	}
	return noted, limit
}

func TestMemoryIsLimitedDuringTheStart(t *testing.T) {
	t.Setenv("GOGC", "")
	before, users := debug.SetGCPercent(garbage), debug.SetMemoryLimit(-1)
	defer debug.SetGCPercent(before)
	const rest = 1 << 30
	noted, limit := managed(t, rest)
	if limit <= 2*rest || limit > 2*rest+1<<28 {
		t.Errorf("a limit of %d", limit)
	}
	if noted[0] != rest || noted[1] == 0 || noted[1] >= rest {
		t.Errorf("noted %v: first what was expected, then what there is", noted)
	}
	if percent, after := reading("/gc/gogc:percent"), debug.SetMemoryLimit(-1); percent != garbage || after != users {
		t.Errorf("after the start GOGC is %d, the limit %d", percent, after)
	}

	debug.SetMemoryLimit(rest) // as by GOMEMLIMIT
	defer debug.SetMemoryLimit(users)
	if _, limit := managed(t, rest); limit != rest {
		t.Errorf("the user's limit is %d, and not %d", rest, limit)
	}
}

func TestOneProcessorAtRest(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	defer runtime.SetDefaultGOMAXPROCS()
	all := runtime.GOMAXPROCS(0)
	ctx, cancel := context.WithCancel(t.Context())
	var atRest int
	m := memory{
		started: func() bool { return true }, rest: func() uint64 { return 0 }, resting: func() bool { return true },
		note: func(live uint64) {
			if live != 0 {
				atRest = runtime.GOMAXPROCS(0)
				cancel()
			}
		},
	}
	if err := m.run(ctx); err != nil || atRest != 1 || runtime.GOMAXPROCS(0) != all {
		t.Errorf("%v; at rest %d processors, at the end %d, want 1 and %d", err, atRest, runtime.GOMAXPROCS(0), all)
	}
	spread(false)
	spread(true) // rows wait
	if got := runtime.GOMAXPROCS(0); got != all {
		t.Errorf("with work to do %d processors, want %d", got, all)
	}

	t.Setenv("GOMAXPROCS", "2")
	runtime.GOMAXPROCS(2) // as Go does by the variable
	if spread(false); runtime.GOMAXPROCS(0) != 2 {
		t.Errorf("the user asked for 2 processors, and has %d", runtime.GOMAXPROCS(0))
	}
}

func TestTheUsersGOGCStays(t *testing.T) {
	users := debug.SetMemoryLimit(-1)
	for _, percent := range []int{70, garbage} {
		t.Setenv("GOGC", fmt.Sprint(percent))
		defer debug.SetGCPercent(debug.SetGCPercent(percent)) // as Go does by the variable
		LimitGarbage()
		if _, limit := managed(t, 1<<30); limit != users || reading("/gc/gogc:percent") != uint64(percent) {
			t.Errorf("GOGC %d, limit %d", reading("/gc/gogc:percent"), limit)
		}
	}
}
