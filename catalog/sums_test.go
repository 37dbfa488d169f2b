package catalog_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// TestSumsOfSpaceDoNotOverflow: two claims of 8Ei do not fit into 64 bits.
func TestSumsOfSpaceDoNotOverflow(t *testing.T) {
	c := migrated(t)
	facts := &fact.Facts{}
	for i := range 4 {
		uid := fmt.Sprint(i)
		facts.Volumes = append(facts.Volumes, fact.Volume{Version: 1, UID: uid, Name: uid, ClaimUID: uid, ClaimNamespace: fmt.Sprint("ns-", i/2), ClaimName: uid, Phase: "Bound", CapacityBytes: math.MaxInt64, CreatedAt: day(1, 1)})
		facts.Claims = append(facts.Claims, fact.Claim{Version: 1, UID: uid, Namespace: fmt.Sprint("ns-", i/2), Name: uid, VolumeUID: uid, RequestedBytes: math.MaxInt64, Phase: "Bound", CreatedAt: day(1, 1)})
		facts.Usage = append(facts.Usage, fact.Usage{At: day(1, 5), Namespace: fmt.Sprint("ns-", i/2), VolumeUID: uid, Space: fact.Space{UsedBytes: math.MaxInt64}})
	}
	write(t, c, "east", facts)
	golden(t, "space_huge.txt", report(t, c, "space", catalog.CSVFormat)+report(t, c, "space", catalog.JSONFormat)+report(t, c, "space", catalog.TableFormat))
}

// TestSpaceOfWholeDays asks for a week of which the rollup has all days, of a volume that was first measured within it.
func TestSpaceOfWholeDays(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", &fact.Facts{
		Volumes: []fact.Volume{volumeOf("v", "fast", "csi:1", "claim-data", "Bound", 1)},
		Claims:  []fact.Claim{claimOf("data", "fast", "v", 1)},
		Usage:   []fact.Usage{{At: day(1, 7), Namespace: "shop", VolumeUID: "v", Space: fact.Space{UsedBytes: 1 << 30}}},
	})
	rows(t, c, `INSERT INTO coverage (cluster, instance, kind, started_at, seen_at, version)
		SELECT 'east', 'a', arrayJoin(['Pod', 'PersistentVolumeClaim', 'PersistentVolume']), '2026-01-05 00:00:00', '2026-01-12 00:00:00', 1`)
	if days, err := c.RollUp(t.Context(), "east"); err != nil || days != 7 {
		t.Fatalf("summed up %d days: %v", days, err)
	}
	if got, want := column(t, c, "space", "used_byte_hours", "since=2026-01-05", "until=2026-01-12"), fmt.Sprint((4*24+12)<<30); got != want {
		t.Errorf("used byte-hours are %s, want %s", got, want)
	}
}

// TestDaysWithoutSpaceAreDone has a claim that was deleted by force while its pod went on, and the next one of the cluster ten days later: the days
// between have uses, but no space. They are summed up once, and use-hours does not count them twice.
func TestDaysWithoutSpaceAreDone(t *testing.T) {
	c := migrated(t)
	forced, next := volumeOf("forced", "fast", "csi:1", "claim-forced", "Bound", 1), volumeOf("next", "fast", "csi:1", "claim-next", "Bound", 1)
	old, young := claimOf("forced", "fast", "forced", 1), claimOf("next", "fast", "next", 1)
	forced.DeletedAt, forced.DeletedNotBefore, old.DeletedAt, old.DeletedNotBefore = day(1, 10), day(1, 10), day(1, 10), day(1, 10)
	next.CreatedAt, young.CreatedAt, young.BoundAt = day(1, 20), day(1, 20), day(1, 20)
	used := endedMount(mountOf("web", "forced", "forced", "csi:1", "forced", day(1, 5)), day(1, 25), day(1, 25), "Deleted")
	write(t, c, "east", &fact.Facts{
		Volumes: []fact.Volume{forced, next}, Claims: []fact.Claim{old, young}, Pods: []fact.Pod{podOf("shop", "web", "Deployment", "web")}, Mounts: []fact.Mount{used},
	})
	rows(t, c, `INSERT INTO coverage (cluster, instance, kind, started_at, seen_at, version)
		SELECT 'east', 'a', arrayJoin(['Pod', 'PersistentVolumeClaim', 'PersistentVolume']), '2026-01-08 00:00:00', '2026-01-30 00:00:00', 1`)
	ask := func() string {
		return column(t, c, "use-hours", "used_seconds", "since=2026-01-12", "until=2026-01-30") + " " + column(t, c, "use-hours", "used_seconds", "since=1970-01-01")
	}
	want := fmt.Sprint((13*24+12)*3600, 20*24*3600)
	if got := ask(); got != want {
		t.Errorf("from the mounts, %s seconds of use, want %s", got, want)
	}
	for _, want := range []int{22, 0} {
		if days, err := c.RollUp(t.Context(), "east"); err != nil || days != want {
			t.Errorf("summed up %d days, want %d: %v", days, want, err)
		}
	}
	if got := ask(); got != want {
		t.Errorf("from the sums, %s seconds of use, want %s", got, want)
	}
}

// TestAClusterWithoutClaimsIsSummedUp beside one that has some and is not: what the sums do not have of that one is still read.
func TestAClusterWithoutClaimsIsSummedUp(t *testing.T) {
	c := migrated(t)
	used := endedMount(mountOf("web", "data", "data", "csi:1", "v", day(1, 13)), day(1, 15), day(1, 15), "Deleted")
	write(t, c, "east", &fact.Facts{
		Volumes: []fact.Volume{volumeOf("v", "fast", "csi:1", "claim-data", "Bound", 1)}, Claims: []fact.Claim{claimOf("data", "fast", "v", 1)},
		Pods: []fact.Pod{podOf("shop", "web", "Deployment", "web")}, Mounts: []fact.Mount{used},
		Usage: []fact.Usage{{At: day(1, 14), Namespace: "shop", VolumeUID: "v", Space: fact.Space{UsedBytes: 1 << 30}}},
	})
	ask := func() (answers []string) {
		for _, of := range []string{"use-hours used_seconds", "space idle_byte_hours", "space used_byte_hours"} {
			name, of, _ := strings.Cut(of, " ")
			answers = append(answers, column(t, c, name, of, "since=2026-01-10", "until=2026-01-20"))
		}
		return answers
	}
	want := ask()
	rows(t, c, `INSERT INTO coverage (cluster, instance, kind, started_at, seen_at, version)
		SELECT 'west', 'a', arrayJoin(['Pod', 'PersistentVolumeClaim', 'PersistentVolume']), '2026-01-08 00:00:00', '2026-01-22 00:00:00', 1`)
	if days, err := c.RollUp(t.Context(), "west"); err != nil || days != 14 {
		t.Fatalf("summed up %d days: %v", days, err)
	}
	if got := ask(); !slices.Equal(got, want) || slices.Contains(got, "") {
		t.Errorf("got %q, want %q as before", got, want)
	}
}

// TestClustersAreSummedUpForOtherDays asks for a window of which one cluster is summed up, and others for its beginning, for its end, or not at
// all: of each, the report reads what its own sums do not have.
func TestClustersAreSummedUpForOtherDays(t *testing.T) {
	c := migrated(t)
	for _, cluster := range []string{"none", "retired", "whole", "young"} {
		f := &fact.Facts{
			Volumes: []fact.Volume{volumeOf("v", "fast", "csi:1", "claim-data", "Bound", 1)}, Claims: []fact.Claim{claimOf("data", "fast", "v", 1)},
			Pods: []fact.Pod{podOf("shop", "web", "Deployment", "web")}, Usage: []fact.Usage{{At: day(1, 14), Namespace: "shop", VolumeUID: "v", Space: fact.Space{UsedBytes: 1 << 30}}},
		}
		for n, days := range [][2]int{{9, 11}, {12, 14}, {17, 18}, {21, 24}} {
			pod := fmt.Sprint("web-", n)
			f.Pods = append(f.Pods, podOf("shop", pod, "Deployment", "web"))
			m := endedMount(mountOf(pod, "data", "data", "csi:1", "v", day(1, days[0])), day(1, days[1]), day(1, days[1]), "Deleted")
			m.PodCreatedAt = day(1, days[0])
			f.Mounts = append(f.Mounts, m)
		}
		write(t, c, cluster, f)
	}
	ask := func() string {
		return report(t, c, "use-hours", catalog.CSVFormat, "since=2026-01-10T06:00", "until=2026-01-23T07:00") + report(t, c, "space", catalog.CSVFormat, "since=2026-01-10T06:00", "until=2026-01-23T07:00")
	}
	want := ask()
	for cluster, watched := range map[string][2]string{"retired": {"2026-01-08", "2026-01-13"}, "whole": {"2026-01-08", "2026-01-26"}, "young": {"2026-01-16", "2026-01-26"}} {
		rows(t, c, fmt.Sprintf(`INSERT INTO coverage (cluster, instance, kind, started_at, seen_at, version)
			SELECT '%s', 'a', arrayJoin(['Pod', 'PersistentVolumeClaim', 'PersistentVolume']), '%s', '%s', 1`, cluster, watched[0], watched[1]))
		if days, err := c.RollUp(t.Context(), cluster); err != nil || days == 0 {
			t.Fatalf("summed up %d days of %s: %v", days, cluster, err)
		}
	}
	if got := ask(); got != want || strings.Count(got, "Deployment/web") != 4 {
		t.Errorf("got\n%s\nwant as from the mounts\n%s", got, want)
	}
}

// TestDaysThatAreLearntLate has a node that was cut off for a week and reports then when a container had ended, and a pod that starts after it has
// waited for its volume for a week. The days are summed up by then.
func TestDaysThatAreLearntLate(t *testing.T) {
	c := migrated(t)
	midnight := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) // it is noon of that day
	ago := func(days int, hours time.Duration) fact.Time {
		return fact.At(midnight.AddDate(0, 0, -days).Add(hours * time.Hour))
	}
	mount := func(pod, claim string, created, started, written fact.Time) fact.Mount {
		m := mountOf(pod, claim, claim, "csi:1", claim, started)
		m.PodCreatedAt, m.Version, m.WorkloadKind, m.WorkloadName = created, uint64(written), "Job", pod
		return m
	}
	f := &fact.Facts{Mounts: []fact.Mount{mount("cut", "data", ago(10, 0), ago(10, 0), ago(10, 0))}}
	for _, name := range []string{"data", "late"} {
		v, claim := volumeOf(name, "fast", "csi:1", "claim-"+name, "Bound", 1), claimOf(name, "fast", name, 1)
		v.CreatedAt, claim.CreatedAt, claim.BoundAt, claim.Owner = ago(12, 0), ago(12, 0), ago(12, 0), name
		f.Volumes, f.Claims = append(f.Volumes, v), append(f.Claims, claim)
	}
	write(t, c, "east", f)
	rollUp := func(seen, want int) {
		t.Helper()
		rows(t, c, fmt.Sprintf(`INSERT INTO coverage (cluster, instance, kind, started_at, seen_at, version)
			SELECT 'east', 'a', arrayJoin(['Pod', 'PersistentVolumeClaim', 'PersistentVolume']), fromUnixTimestamp64Micro(%d), fromUnixTimestamp64Micro(%d), %d`, ago(12, 0), ago(seen, 0), 10-seen))
		if days, err := c.RollUp(t.Context(), "east"); err != nil || days != want {
			t.Errorf("summed up %d days, want %d: %v", days, want, err)
		}
	}
	window := []string{"since=" + ago(9, 0).Time().UTC().Format(time.DateOnly), "until=" + ago(4, 0).Time().UTC().Format(time.DateOnly)}
	expect := func(hours, data, late string) {
		t.Helper()
		if got := column(t, c, "use-hours", "used_seconds", window...); got != hours {
			t.Errorf("used for %s seconds, want %s", got, hours)
		}
		for owner, want := range map[string]string{"data": data, "late": late} {
			if got := column(t, c, "space", "idle_byte_hours", append(window, "owner="+owner)...); got != want {
				t.Errorf("%s: idle for %s byte-hours, want %s", owner, got, want)
			}
		}
	}
	all := fmt.Sprint(int64(5*24) << 30) // 1 GiB, for 5 days
	// This mount ended before the first watched day: no day before that one is summed up.
	write(t, c, "east", &fact.Facts{Mounts: []fact.Mount{endedMount(mount("former", "former", ago(20, 0), ago(20, 0), ago(4, 1)), ago(19, 0), ago(19, 0), "Completed")}})
	rollUp(4, 8)
	rollUp(3, 9)
	expect("432000", "0", all)
	write(t, c, "east", &fact.Facts{Mounts: []fact.Mount{
		endedMount(mount("cut", "data", ago(10, 0), ago(10, 0), ago(3, 2)), ago(10, 6), ago(10, 6), "Completed"),
		mount("waits", "late", ago(9, 0), ago(3, 1), ago(3, 1)),
	}})
	rollUp(2, 10) // each once more, as the day on which they were written is the last one then
	expect("", all, "0")
	rollUp(1, 9)
	expect("", all, "0")
	rollUp(0, 4)
	expect("", all, "0")
}

// TestDaysThatAreNotOverAreNotSummedUp: a tracker whose clock is ahead writes coverage of days that have not come.
func TestDaysThatAreNotOverAreNotSummedUp(t *testing.T) {
	c := migrated(t)
	watched := func(kind fact.Kind) fact.Coverage {
		return fact.Coverage{Version: 1, Instance: "a", Kind: kind, StartedAt: fact.At(time.Now().AddDate(0, 0, -3)), SeenAt: fact.At(time.Now().AddDate(0, 0, 5))}
	}
	write(t, c, "east", &fact.Facts{Coverage: []fact.Coverage{watched(fact.Pods), watched(fact.Claims), watched(fact.Volumes)}})
	if days, err := c.RollUp(t.Context(), "east"); err != nil || days != 3 && days != 4 { // four if it is midnight now
		t.Errorf("%d days, %v", days, err)
	}
}
