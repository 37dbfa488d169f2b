package catalog_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// TestMountsLooksBackUntilItHasEnough has namespaces with many mounts of the past day, week and year, and with few: with a limit, the report
// reads only as far back as that takes, and shows what it shows without one.
func TestMountsLooksBackUntilItHasEnough(t *testing.T) {
	c := migrated(t)
	const many = 150 // more than the hundred that mounts-first.sql looks for beyond the limit
	now := day(3, 1).Time()
	facts := &fact.Facts{}
	mounted := func(namespace string, n int, created, started time.Time) {
		pod := fmt.Sprintf("%s-%d", namespace, n)
		m := fact.Mount{
			Version: 1, Namespace: namespace, PodCreatedAt: fact.At(created), PodUID: pod, Container: "main", Volume: "data", MountPath: "/data",
			StartedAt: fact.At(started), StartedNotBefore: fact.At(started), WorkloadKind: "Pod", WorkloadName: pod,
		}
		if n%3 > 0 {
			m.EndedAt = fact.At(started.Add(time.Minute))
			m.EndedNotBefore, m.EndReason = m.EndedAt, "Completed"
		}
		facts.Mounts = append(facts.Mounts, m)
		facts.Pods = append(facts.Pods, fact.Pod{Version: 1, UID: pod, Namespace: namespace, Name: pod, CreatedAt: fact.At(created)})
	}
	for namespace, apart := range map[string]time.Duration{"day": 5 * time.Minute, "weeks": 5 * time.Hour, "years": 5 * 24 * time.Hour} {
		for n := range many {
			at := now.Add(-time.Duration(n+1) * apart)
			mounted(namespace, n, at, at.Add(time.Second))
		}
	}
	for n := range 3 {
		mounted("few", n, now.AddDate(-1, 0, -n), now.AddDate(-1, 0, -n))
	}
	// A pod that waited for its node for months.
	mounted("day", many, now.AddDate(0, -6, 0), now.Add(-12*time.Minute))
	write(t, c, "east", facts)

	rows := func(flags map[string]string, limit string) (list [][]any) {
		t.Helper()
		flags["limit"] = limit
		result, err := c.RunReport(t.Context(), "mounts", flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer result.Close()
		for result.Next() {
			list = append(list, append([]any{}, result.Row()...))
		}
		if err := result.Err(); err != nil {
			t.Fatal(err)
		}
		return list
	}
	for _, namespace := range []string{"", "day", "weeks", "years", "few", "none"} {
		for _, more := range []map[string]string{{}, {"running": "true"}, {"ended": "true"}, {"until": "2026-01-15"}, {"since": "20d"}, {"at": "10d"}} {
			more["namespace"] = namespace
			all, first := rows(more, "0"), rows(more, "20")
			if want := all[:min(20, len(all))]; !reflect.DeepEqual(first, want) {
				t.Errorf("%v: got\n%v, want\n%v", more, first, want)
			}
		}
	}
	// The 120 latest mounts of each namespace, 20 rows and a hundred more.
	for namespace, earliest := range map[string]string{"day": "2026-03-01 02:00", "weeks": "2026-02-04", "years": "2024-07-09"} {
		bounds, err := c.BoundsOf(t.Context(), "mounts", map[string]string{"namespace": namespace, "limit": "20"})
		if err != nil || !strings.HasPrefix(bounds["earliest"], earliest) {
			t.Errorf("%s: mounts reads from %s on, want %s; %v", namespace, bounds["earliest"], earliest, err)
		}
	}
}

// TestAMountIsNotInUseBeforeItsPodIsCreated has a node whose clock is ten minutes behind: by it, a container started before the API server had
// its pod. All reports leave the mount out until then.
func TestAMountIsNotInUseBeforeItsPodIsCreated(t *testing.T) {
	c := migrated(t)
	pod := podOf("shop", "early", "Job", "early")
	pod.CreatedAt = day(2, 1)
	m := mountOf("early", "data", "data", "csi:1", "data", fact.At(day(2, 1).Time().Add(-10*time.Minute)))
	m.PodCreatedAt, m.WorkloadKind, m.WorkloadName = pod.CreatedAt, "Job", "early"
	write(t, c, "east", &fact.Facts{Pods: []fact.Pod{pod}, Mounts: []fact.Mount{m}})
	for _, test := range []struct{ report, column, what string }{
		{"counts", "kind", "mount"}, {"mounts", "pod", "early"}, {"history", "claim", "data"}, {"pods-per-volume", "claims", "data"}, {"volumes-per-pod", "pod", "early"},
	} {
		if got := column(t, c, test.report, test.column, "at=2026-02-01 11:55"); strings.Contains(got, test.what) {
			t.Errorf("%s before the pod: got %q", test.report, got)
		}
		if got := column(t, c, test.report, test.column, "at=2026-02-01 12:05"); !strings.Contains(got, test.what) {
			t.Errorf("%s with the pod: got %q", test.report, got)
		}
	}
}

// TestMountsOfOneSecond: a limit shows the first of the rows, also of pods that started together.
func TestMountsOfOneSecond(t *testing.T) {
	c := migrated(t)
	facts := &fact.Facts{Volumes: []fact.Volume{volumeOf("v", "fast", "csi:1", "claim-data", "Bound", 1)}, Claims: []fact.Claim{claimOf("data", "fast", "v", 1)}}
	for i, name := range []string{"web-c", "web-b", "web-a"} {
		pod, mount := podOf("shop", name, "Deployment", "web"), mountOf(name, "data", "data", "csi:1", "v", day(1, 3))
		pod.UID = fmt.Sprint(i)
		mount.PodUID = pod.UID
		facts.Pods, facts.Mounts = append(facts.Pods, pod), append(facts.Mounts, mount)
	}
	write(t, c, "east", facts)
	for limit, want := range map[string]string{"limit=0": "web-a,web-b,web-c", "limit=1": "web-a", "limit=2": "web-a,web-b"} {
		if got := column(t, c, "mounts", "pod", limit); got != want {
			t.Errorf("%s: %s, want %s", limit, got, want)
		}
	}
}
